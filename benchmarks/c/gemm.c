/* Ceilings for batched.py: plain BLAS calls, and for a batch one call per matrix with the epilogue right after it. */
#include <stdint.h>

enum { ROWS = 101, PLAIN = 111 };
void scipy_cblas_sgemm(int, int, int, int, int, int, float, const float *, int, const float *, int, float, float *, int);
void scipy_cblas_dgemm(int, int, int, int, int, int, double, const double *, int, const double *, int, double, double *, int);

#define DEFINE(T, NAME, GEMM)                                                                                          \
    void NAME(T *o, const T *a, const T *b, const T *bias, int epilogue, int64_t batch, int n) {                       \
        for (int64_t k = 0; k < batch; k++, o += n * n, a += n * n, b += n * n) {                                      \
            GEMM(ROWS, PLAIN, PLAIN, n, n, n, 1, a, n, b, n, 0, o, n);                                                 \
            for (int i = 0; epilogue && i < n; i++)                                                                    \
                for (int j = 0; j < n; j++) {                                                                          \
                    T v = o[i * n + j] + bias[j];                                                                      \
                    o[i * n + j] = v > 0 ? v : 0;                                                                      \
                }                                                                                                      \
        }                                                                                                              \
    }
DEFINE(float, gemm_float32, scipy_cblas_sgemm)
DEFINE(double, gemm_float64, scipy_cblas_dgemm)
