/* Pooling as one would write it by hand: windows written out, the largest element's place stored for the gradient. */
#include <stdint.h>
#include <string.h>

#define DEFINE(T, NAME, K, S)                                                                                          \
    void max_##NAME##_##K##_##S(const T *x, T *y, int32_t *at, int64_t planes, int64_t n, int64_t m)                    \
    {                                                                                                                  \
        for (int64_t p = 0; p < planes; p++)                                                                           \
            for (int64_t i = 0; i < m; i++) {                                                                          \
                const T *restrict r = x + (p * n + i * S) * n;                                                         \
                T *restrict o = y + (p * m + i) * m;                                                                   \
                for (int64_t j = 0; j < m; j++) {                                                                      \
                    T a = r[j * S];                                                                                    \
                    for (int u = 0; u < K; u++)                                                                        \
                        for (int v = 0; v < K; v++) a = r[u * n + j * S + v] > a ? r[u * n + j * S + v] : a;           \
                    o[j] = a;                                                                                          \
                }                                                                                                      \
            }                                                                                                          \
    }                                                                                                                  \
    void places_##NAME##_##K##_##S(const T *x, T *y, int32_t *at, int64_t planes, int64_t n, int64_t m)                \
    {                                                                                                                  \
        for (int64_t p = 0; p < planes; p++)                                                                           \
            for (int64_t i = 0; i < m; i++)                                                                            \
                for (int64_t j = 0; j < m; j++) {                                                                      \
                    int64_t best = i * S * n + j * S;                                                                  \
                    const T *r = x + p * n * n;                                                                        \
                    for (int u = 0; u < K; u++)                                                                        \
                        for (int v = 0; v < K; v++) {                                                                  \
                            const int64_t here = (i * S + u) * n + j * S + v;                                          \
                            best = r[here] > r[best] ? here : best;                                                    \
                        }                                                                                              \
                    at[(p * m + i) * m + j] = (int32_t)best;                                                           \
                }                                                                                                      \
    }                                                                                                                  \
    void mean_##NAME##_##K##_##S(const T *x, T *y, int32_t *at, int64_t planes, int64_t n, int64_t m)                   \
    {                                                                                                                  \
        for (int64_t p = 0; p < planes; p++)                                                                           \
            for (int64_t i = 0; i < m; i++) {                                                                          \
                const T *restrict r = x + (p * n + i * S) * n;                                                         \
                T *restrict o = y + (p * m + i) * m;                                                                   \
                for (int64_t j = 0; j < m; j++) {                                                                      \
                    T a = 0;                                                                                           \
                    for (int u = 0; u < K; u++)                                                                        \
                        for (int v = 0; v < K; v++) a += r[u * n + j * S + v];                                         \
                    o[j] = a * (T)(1.0 / (K * K));                                                                     \
                }                                                                                                      \
            }                                                                                                          \
    }                                                                                                                  \
    void mean_back_##NAME##_##K##_##S(T *out, const T *g, const int32_t *at, int64_t planes, int64_t n, int64_t m)      \
    {                                                                                                                  \
        memset(out, 0, planes * n * n * sizeof(T));                                                                    \
        for (int64_t p = 0; p < planes; p++)                                                                           \
            for (int64_t i = 0; i < m; i++)                                                                            \
                for (int u = 0; u < K; u++) {                                                                          \
                    T *restrict o = out + (p * n + i * S + u) * n;                                                     \
                    const T *restrict from = g + (p * m + i) * m;                                                      \
                    for (int64_t j = 0; j < m; j++)                                                                    \
                        for (int v = 0; v < K; v++) o[j * S + v] += from[j] * (T)(1.0 / (K * K));                      \
                }                                                                                                      \
    }
#define BOTH(K, S) DEFINE(float, float32, K, S) DEFINE(double, float64, K, S)
BOTH(2, 2) BOTH(3, 2) BOTH(3, 1)

#define BACK(T, NAME)                                                                                                  \
    void max_back_##NAME(T *out, const T *g, const int32_t *at, int64_t planes, int64_t n, int64_t m)                   \
    {                                                                                                                  \
        memset(out, 0, planes * n * n * sizeof(T));                                                                    \
        for (int64_t p = 0; p < planes; p++)                                                                           \
            for (int64_t i = 0; i < m * m; i++) out[p * n * n + at[p * m * m + i]] += g[p * m * m + i];                \
    }
BACK(float, float32)
BACK(double, float64)
