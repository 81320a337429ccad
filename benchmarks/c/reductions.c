/* Ceilings for the sums of reductions.py: how fast the matrix can be read. Eight vectors of partial sums and nothing else. */
#include <stdint.h>

#define SUMS(T, NAME)                                                                                                  \
    typedef T vector_##NAME __attribute__((vector_size(32), aligned(8), may_alias));                                   \
    static inline T total_##NAME(const T *x, int64_t n) {                                                              \
        enum { each = 32 / sizeof(T) };                                                                                \
        vector_##NAME a[8] = {{0}};                                                                                    \
        int64_t i = 0;                                                                                                 \
        for (; i + 8 * each <= n; i += 8 * each)                                                                       \
            _Pragma("GCC unroll 8") for (int k = 0; k < 8; k++) a[k] += *(const vector_##NAME *)(x + i + k * each);    \
        vector_##NAME s = ((a[0] + a[1]) + (a[2] + a[3])) + ((a[4] + a[5]) + (a[6] + a[7]));                           \
        T out = 0;                                                                                                     \
        for (int k = 0; k < each; k++) out += s[k];                                                                    \
        for (; i < n; i++) out += x[i];                                                                                \
        return out;                                                                                                    \
    }                                                                                                                  \
    void all_##NAME(T *o, const T *x, int64_t n) { *o = total_##NAME(x, n * n); }                                      \
    void axis1_##NAME(T *o, const T *x, int64_t n) {                                                                   \
        for (int64_t i = 0; i < n; i++) o[i] = total_##NAME(x + i * n, n);                                             \
    }                                                                                                                  \
    void axis0_##NAME(T *restrict o, const T *restrict x, int64_t n) {                                                 \
        for (int64_t j = 0; j < n; j++) o[j] = 0;                                                                      \
        for (int64_t i = 0; i + 4 <= n; i += 4)                                                                        \
            for (int64_t j = 0; j < n; j++)                                                                            \
                o[j] += (x[i * n + j] + x[(i + 1) * n + j]) + (x[(i + 2) * n + j] + x[(i + 3) * n + j]);               \
        for (int64_t i = n / 4 * 4; i < n; i++)                                                                        \
            for (int64_t j = 0; j < n; j++) o[j] += x[i * n + j];                                                      \
    }

SUMS(double, float64)
SUMS(float, float32)
