/* Records sorted in four ways: introspective quicksort, merge sort, heap sort, radix sort; all must agree. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct record { uint32_t key; uint16_t place; int16_t weight; };
enum { COUNT = 20000 };

static int before(const struct record *x, const struct record *y) {
    return x->key != y->key ? x->key < y->key : x->place < y->place;
}
static void swap(struct record *x, struct record *y) { struct record t = *x; *x = *y; *y = t; }

static void insertion(struct record *a, long n) {
    for (long i = 1; i < n; i++) {
        struct record x = a[i];
        long j = i;
        for (; j > 0 && before(&x, &a[j - 1]); j--) a[j] = a[j - 1];
        a[j] = x;
    }
}

static void sift(struct record *a, long i, long n) {
    for (long child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && before(&a[child], &a[child + 1])) child++;
        if (!before(&a[i], &a[child])) return;
        swap(&a[i], &a[child]);
    }
}

static void heap(struct record *a, long n) {
    for (long i = n / 2; i-- > 0;) sift(a, i, n);
    while (n-- > 1) { swap(&a[0], &a[n]); sift(a, 0, n); }
}

static void quick(struct record *a, long n, int depth) {
    while (n > 16) {
        if (depth-- == 0) { heap(a, n); return; }
        long middle = n / 2;
        if (before(&a[middle], &a[0])) swap(&a[middle], &a[0]);
        if (before(&a[n - 1], &a[0])) swap(&a[n - 1], &a[0]);
        if (before(&a[n - 1], &a[middle])) swap(&a[n - 1], &a[middle]);
        struct record pivot = a[middle];
        long i = 0, j = n - 1;
        while (i <= j) {
            while (before(&a[i], &pivot)) i++;
            while (before(&pivot, &a[j])) j--;
            if (i <= j) swap(&a[i++], &a[j--]);
        }
        quick(a, j + 1, depth);
        a += i; n -= i;
    }
    insertion(a, n);
}

static void merge(struct record *a, struct record *spare, long n) {
    if (n <= 8) { insertion(a, n); return; }
    long half = n / 2, i = 0, j = half, k = 0;
    merge(a, spare, half); merge(a + half, spare + half, n - half);
    memcpy(spare, a, (size_t)n * sizeof *a);
    while (i < half && j < n) a[k++] = before(&spare[j], &spare[i]) ? spare[j++] : spare[i++];
    while (i < half) a[k++] = spare[i++];
    while (j < n) a[k++] = spare[j++];
}

static void radix(struct record *a, struct record *spare, long n) {
    for (int shift = 0; shift < 32; shift += 8) {
        long starts[257] = {0};
        for (long i = 0; i < n; i++) starts[(a[i].key >> shift & 255) + 1]++;
        for (int b = 0; b < 256; b++) starts[b + 1] += starts[b];
        for (long i = 0; i < n; i++) spare[starts[a[i].key >> shift & 255]++] = a[i];
        memcpy(a, spare, (size_t)n * sizeof *a);
    }
}

static int work(int print) {
    static struct record given[COUNT], a[4][COUNT], spare[COUNT];
    uint32_t state = 2463534242u;
    for (int i = 0; i < COUNT; i++) {
        state ^= state << 13; state ^= state >> 17; state ^= state << 5;
        given[i] = (struct record){state % 50021, (uint16_t)i, (int16_t)(state >> 20)};
    }
    for (int way = 0; way < 4; way++) memcpy(a[way], given, sizeof given);
    quick(a[0], COUNT, 30); merge(a[1], spare, COUNT); heap(a[2], COUNT); radix(a[3], spare, COUNT);
    for (int way = 1; way < 4; way++) if (memcmp(a[0], a[way], sizeof given)) { printf("way %d differs\n", way); return 1; }
    unsigned long digest = 0;
    for (int i = 0; i < COUNT; i++) digest = digest * 31 + a[0][i].key + (unsigned long)a[0][i].weight * a[0][i].place;
    if (print) printf("%lu\n", digest);
    return 0;
}

int main(int argc, char **argv) {
    for (int left = argc > 1 ? atoi(argv[1]) : 1; left > 1; left--) work(0);
    return work(1);
}
