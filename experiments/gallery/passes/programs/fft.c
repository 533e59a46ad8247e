/* Fourier transforms of several lengths there and back: mborgerding/kissfft. */
#include <stdio.h>
#include "kiss_fft.c"

int main(void) {
    static const int lengths[] = {8, 12, 30, 49, 64};
    kiss_fft_cpx in[64], out[64], back[64];
    for (int n = 0; n < 5; n++) {
        int length = lengths[n];
        kiss_fft_cfg there = kiss_fft_alloc(length, 0, NULL, NULL), again = kiss_fft_alloc(length, 1, NULL, NULL);
        for (int i = 0; i < length; i++) {
            in[i].r = (float)((i * 37) % 11) - 5.0f;
            in[i].i = (float)((i * 17) % 7);
        }
        kiss_fft(there, in, out);
        kiss_fft(again, out, back);
        for (int i = 0; i < length; i += 7)
            printf("%d: %.2f %.2f %.2f\n", i, out[i].r, out[i].i, back[i].r / (float)length);
        printf("%d\n", kiss_fft_next_fast_size(length * 7 + 1));
        kiss_fft_free(there);
        kiss_fft_free(again);
    }
    return 0;
}
