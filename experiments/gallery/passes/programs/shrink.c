/* A stream compressed and expanded in pieces: atomicobject/heatshrink. */
#define HEATSHRINK_DYNAMIC_ALLOC 0
#include <stdio.h>
#include "heatshrink_encoder.c"
/* Both files have static parts with these names. */
#undef LOG
#undef ASSERT
#define state_names decoder_state_names
#define output_info decoder_output_info
#define st_yield_literal decoder_st_yield_literal
#include "heatshrink_decoder.c"

int main(void) {
    static uint8_t text[3000], packed[6000], again[3100];
    static heatshrink_encoder encoder;
    static heatshrink_decoder decoder;
    size_t sunk = 0, at = 0, small = 0, count = 0;
    uint32_t seed = 7;
    for (int i = 0; i < 3000; i++) {
        seed = seed * 1664525u + 1013904223u;
        text[i] = (seed >> 28) < 12 ? (uint8_t)("pack my box with five dozen jugs "[i % 33]) : (uint8_t)(seed >> 24);
    }
    heatshrink_encoder_reset(&encoder);
    while (at < 3000) {
        heatshrink_encoder_sink(&encoder, text + at, 3000 - at, &sunk);
        at += sunk;
        while (heatshrink_encoder_poll(&encoder, packed + small, 6000 - small, &count) == HSER_POLL_MORE)
            small += count;
        small += count;
    }
    while (heatshrink_encoder_finish(&encoder) == HSER_FINISH_MORE) {
        heatshrink_encoder_poll(&encoder, packed + small, 6000 - small, &count);
        small += count;
    }
    uint32_t sum = 0;
    for (size_t i = 0; i < small; i++)
        sum = sum * 31u + packed[i];
    printf("%zu %08x\n", small, (unsigned)sum);
    heatshrink_decoder_reset(&decoder);
    size_t back = 0;
    for (at = 0; at < small;) {
        heatshrink_decoder_sink(&decoder, packed + at, small - at, &sunk);
        at += sunk;
        while (heatshrink_decoder_poll(&decoder, again + back, 3100 - back, &count) == HSDR_POLL_MORE)
            back += count;
        back += count;
    }
    printf("%zu %d\n", back, memcmp(text, again, 3000) == 0);
    return 0;
}
