/* Ceilings for elementwise.py: one fused loop per expression; gcc vectorises tanh, exp and log1p through libmvec. */
#include <math.h>
#include <stdint.h>

/* tanh through exp: libmvec's own tanh is slower. Exact enough for |x| in the tested range, saturates beyond it. */
static inline double tanh64(double x) {
    double e = exp(-2.0 * fabs(x));
    return copysign((1.0 - e) / (1.0 + e), x);
}
static inline float tanh32(float x) {
    float e = expf(-2.0f * fabsf(x));
    return copysignf((1.0f - e) / (1.0f + e), x);
}

/* `parallel:` in the if clause: a plain if would switch the simd off as well. */
#define LOOP _Pragma("omp parallel for simd if(parallel: n > 50000)") for (int64_t i = 0; i < n; i++)

void heavy_float64(double *o, const double *a, const double *x, const double *y, double b, int64_t n) {
    const double s = *a;
    LOOP o[i] = tanh64(s * x[i] + b) * exp(-x[i] * x[i]) + log1p(fabs(y[i]));
}
void heavy_float32(float *o, const float *a, const float *x, const float *y, float b, int64_t n) {
    const float s = *a;
    LOOP o[i] = tanh32(s * x[i] + b) * expf(-x[i] * x[i]) + log1pf(fabsf(y[i]));
}
void cheap_float64(double *o, const double *a, const double *b, const double *c, int64_t n) {
    LOOP o[i] = 2.0 * a[i] + 3.0 * b[i] - c[i];
}
void cheap_float32(float *o, const float *a, const float *b, const float *c, int64_t n) {
    LOOP o[i] = 2.0f * a[i] + 3.0f * b[i] - c[i];
}
