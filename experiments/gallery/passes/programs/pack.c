/* Both levels of compression there and back: ariya/FastLZ. */
#include <stdio.h>
#include <string.h>
#include "fastlz.c"

int main(void) {
    static unsigned char text[6000], packed[8000], again[6000];
    unsigned seed = 1;
    for (int i = 0; i < 6000; i++) {
        seed = seed * 1103515245u + 12345u;
        text[i] = (seed >> 20) % 5 ? (unsigned char)("the quick brown fox "[i % 20]) : (unsigned char)(seed >> 24);
    }
    for (int level = 1; level <= 2; level++)
        for (int length = 100; length <= 6000; length += 1475) {
            int small = fastlz_compress_level(level, text, length, packed);
            unsigned sum = 0;
            for (int i = 0; i < small; i++)
                sum = sum * 31u + packed[i];
            int back = fastlz_decompress(packed, small, again, 6000);
            printf("%d %d: %d %08x %d %d\n", level, length, small, sum, back, memcmp(text, again, (size_t)length) == 0);
        }
    return 0;
}
