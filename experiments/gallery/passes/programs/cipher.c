/* DES and triple DES there and back: B-Con/crypto-algorithms. */
#include <stdio.h>
#include "des.c"

static void show(const BYTE *block) {
    for (int i = 0; i < DES_BLOCK_SIZE; i++)
        printf("%02x", block[i]);
    puts("");
}

int main(void) {
    BYTE block[DES_BLOCK_SIZE] = {0x01, 0x23, 0x45, 0x67, 0x89, 0xAB, 0xCD, 0xE7};
    BYTE out[DES_BLOCK_SIZE], one[16][6], three[3][16][6];
    const BYTE key[24] = {0x01, 0x23, 0x45, 0x67, 0x89, 0xAB, 0xCD, 0xEF, 0x11, 0x33, 0x55, 0x77,
                          0x99, 0xBB, 0xDD, 0xFF, 0x13, 0x34, 0x57, 0x79, 0x9B, 0xBC, 0xDF, 0xF1};
    for (int round = 0; round < 10; round++) {
        des_key_setup(key + round % 8, one, DES_ENCRYPT);
        des_crypt(block, out, one);
        show(out);
        three_des_key_setup(key, three, round % 2 ? DES_DECRYPT : DES_ENCRYPT);
        three_des_crypt(out, block, three);
        show(block);
    }
    return 0;
}
