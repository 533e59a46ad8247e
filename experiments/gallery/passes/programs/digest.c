/* SHA-256 of a few texts: B-Con/crypto-algorithms. */
#include <stdio.h>
#include "sha256.c"

int main(void) {
    static const char *texts[] = {"", "abc", "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"};
    BYTE digest[SHA256_BLOCK_SIZE];
    for (int text = 0; text < 3; text++) {
        SHA256_CTX context;
        sha256_init(&context);
        for (int again = 0; again < 20; again++)
            sha256_update(&context, (const BYTE *)texts[text], strlen(texts[text]));
        sha256_final(&context, digest);
        for (int i = 0; i < SHA256_BLOCK_SIZE; i++)
            printf("%02x", digest[i]);
        puts("");
    }
    return 0;
}
