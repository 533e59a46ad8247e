/* Dense matrices: blocked product, LU decomposition with pivots, and the power method. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 96, BLOCK = 16 };
static double a[N][N], b[N][N], c[N][N];

static void product(void) {
    memset(c, 0, sizeof c);
    for (int ii = 0; ii < N; ii += BLOCK)
        for (int kk = 0; kk < N; kk += BLOCK)
            for (int jj = 0; jj < N; jj += BLOCK)
                for (int i = ii; i < ii + BLOCK; i++)
                    for (int k = kk; k < kk + BLOCK; k++)
                        for (int j = jj; j < jj + BLOCK; j++) c[i][j] += a[i][k] * b[k][j];
}

static double determinant(double m[N][N]) {
    double log_det = 0.0;
    for (int k = 0; k < N; k++) {
        int pivot = k;
        for (int i = k + 1; i < N; i++) if (fabs(m[i][k]) > fabs(m[pivot][k])) pivot = i;
        if (pivot != k) for (int j = 0; j < N; j++) { double t = m[k][j]; m[k][j] = m[pivot][j]; m[pivot][j] = t; }
        if (m[k][k] == 0.0) return -HUGE_VAL;
        log_det += log(fabs(m[k][k]));
        for (int i = k + 1; i < N; i++) {
            double f = m[i][k] / m[k][k];
            for (int j = k + 1; j < N; j++) m[i][j] -= f * m[k][j];
        }
    }
    return log_det;
}

static double power(void) {
    double x[N], y[N], norm = 1.0;
    for (int i = 0; i < N; i++) x[i] = 1.0;
    for (int step = 0; step < 60; step++) {
        norm = 0.0;
        for (int i = 0; i < N; i++) {
            y[i] = 0.0;
            for (int j = 0; j < N; j++) y[i] += b[i][j] * x[j];
            norm += y[i] * y[i];
        }
        norm = sqrt(norm);
        for (int i = 0; i < N; i++) x[i] = y[i] / norm;
    }
    return norm;
}

static int work(int print) {
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            a[i][j] = (double)((i * 37 + j * 101) % 211) / 211.0 + (i == j);
            b[i][j] = 1.0 / (1.0 + (i > j ? i - j : j - i));
        }
    double trace = 0.0;
    for (int round = 0; round < 8; round++) {
        product();
        for (int i = 0; i < N; i++) trace += c[i][i];
        memcpy(a, c, sizeof a);
        for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) a[i][j] = a[i][j] / 40.0 + (i == j);
    }
    double strongest = power();
    if (isnan(trace)) return 2;
    if (print) printf("%.9g %.9g %.9g\n", trace, strongest, determinant(a));
    return 0;
}

int main(int argc, char **argv) {
    for (int left = argc > 1 ? atoi(argv[1]) : 1; left > 1; left--) work(0);
    return work(1);
}
