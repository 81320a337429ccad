/* Ceilings for scan.py: the plain loop of AR(1), and recurrent layers as one big product of the inputs before the loop,
   then per step one sgemm that adds to it and one fused element-wise loop. */
#include <math.h>
#include <stdint.h>

enum { ROWS = 101, PLAIN = 111 };
void scipy_cblas_sgemm(int, int, int, int, int, int, float, const float *, int, const float *, int, float, float *, int);

void ar1(double *o, const double *e, double a, double y, int64_t n) {
    for (int64_t t = 0; t < n; t++) o[t] = y = a * y + e[t];
}

static inline float tanh32(float x) {
    float e = expf(-2.0f * fabsf(x));
    return copysignf((1.0f - e) / (1.0f + e), x);
}
static inline float sigmoid32(float x) { return 1.0f / (1.0f + expf(-x)); }

/* x: steps * batch * d, w: d * n, u: n * n, h0: batch * n, o: steps * batch * n */
void elman(float *o, const float *x, const float *w, const float *u, const float *b, const float *h0, int steps, int batch, int d,
           int n) {
    const int size = batch * n;
    scipy_cblas_sgemm(ROWS, PLAIN, PLAIN, steps * batch, n, d, 1, x, d, w, n, 0, o, n);
    for (int t = 0; t < steps; t++, o += size) {
        scipy_cblas_sgemm(ROWS, PLAIN, PLAIN, batch, n, n, 1, t ? o - size : h0, n, u, n, 1, o, n);
        for (int i = 0; i < batch; i++)
#pragma omp simd
            for (int j = 0; j < n; j++) o[i * n + j] = tanh32(o[i * n + j] + b[j]);
    }
}

/* gates i, f, g, o side by side: w is d * 4n, u is n * 4n; z is scratch for steps * batch * 4n, c for batch * n */
void lstm(float *o, float *z, float *c, const float *x, const float *w, const float *u, const float *b, const float *h0,
          const float *c0, int steps, int batch, int d, int n) {
    const int size = batch * n, m = 4 * n;
    for (int k = 0; k < size; k++) c[k] = c0[k];
    scipy_cblas_sgemm(ROWS, PLAIN, PLAIN, steps * batch, m, d, 1, x, d, w, m, 0, z, m);
    for (int t = 0; t < steps; t++, o += size, z += 4 * size) {
        scipy_cblas_sgemm(ROWS, PLAIN, PLAIN, batch, m, n, 1, t ? o - size : h0, n, u, m, 1, z, m);
        for (int i = 0; i < batch; i++) {
            const float *g = z + i * m;
            float *s = c + i * n, *h = o + i * n;
#pragma omp simd
            for (int j = 0; j < n; j++) {
                s[j] = sigmoid32(g[n + j] + b[n + j]) * s[j]
                       + sigmoid32(g[j] + b[j]) * tanh32(g[2 * n + j] + b[2 * n + j]);
                h[j] = sigmoid32(g[3 * n + j] + b[3 * n + j]) * tanh32(s[j]);
            }
        }
    }
}
