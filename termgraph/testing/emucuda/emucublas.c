/* libcublas.so.13 without a GPU: products on the memory of the host, with cuBLAS's checks of its arguments.

   Work goes through the queue of emucuda.c, so it is late and recorded like kernels. */
#include <stddef.h>
#include <stdlib.h>

#define API __attribute__((visibility("default")))
enum { SUCCESS = 0, NOT_INITIALIZED = 1, INVALID_VALUE = 7, EXECUTION_FAILED = 13 };

extern int emucuda_call(void *stream, void (*call)(const void *), const void *data, size_t size);

typedef struct { void *stream, *workspace; } Handle;
typedef struct {
    int ta, tb, m, n, k, lda, ldb, ldc, batch, is_double;
    long long jump_a, jump_b, jump_c;
    double alpha, beta;
    const char *a, *b;
    char *c;
} Product;

static double get(const Product *p, const char *x, long long i)
{
    return p->is_double ? ((const double *)x)[i] : ((const float *)x)[i];
}
static void put(const Product *p, long long i, double v)
{
    if (p->is_double) ((double *)p->c)[i] = v;
    else ((float *)p->c)[i] = (float)v;
}

static void run(const void *data)
{
    const Product *p = data;
    for (int b = 0; b < p->batch; b++)
        for (int j = 0; j < p->n; j++)
            for (int i = 0; i < p->m; i++) {
                const long long at = b * p->jump_c + i + (long long)j * p->ldc;
                double sum = 0;
                for (int q = 0; q < p->k; q++) {
                    const long long x = p->ta ? q + (long long)i * p->lda : i + (long long)q * p->lda;
                    const long long y = p->tb ? j + (long long)q * p->ldb : q + (long long)j * p->ldb;
                    sum += get(p, p->a, b * p->jump_a + x) * get(p, p->b, b * p->jump_b + y);
                }
                put(p, at, p->alpha * sum + (p->beta != 0 ? p->beta * get(p, p->c, at) : 0));
            }
}

static int at_least_one(int n) { return n > 1 ? n : 1; }

static int queue(Handle *h, Product p)
{
    if (!h) return NOT_INITIALIZED;
    if (p.m < 0 || p.n < 0 || p.k < 0 || p.batch < 0 || p.lda < at_least_one(p.ta ? p.k : p.m) ||
        p.ldb < at_least_one(p.tb ? p.n : p.k) || p.ldc < at_least_one(p.m))
        return INVALID_VALUE;
    return emucuda_call(h->stream, run, &p, sizeof p) ? EXECUTION_FAILED : SUCCESS;
}

API int cublasCreate_v2(Handle **h) { return *h = calloc(1, sizeof **h), SUCCESS; }
API int cublasDestroy_v2(Handle *h) { return free(h), SUCCESS; }
API int cublasSetStream_v2(Handle *h, void *s) { return h->stream = s, SUCCESS; }
API int cublasSetWorkspace_v2(Handle *h, void *w, size_t n) { return h->workspace = w, SUCCESS; }
API int cublasGetVersion_v2(Handle *h, int *v) { return *v = 130000, SUCCESS; }
API const char *cublasGetStatusName(int s) { return s ? "CUBLAS_STATUS_OTHER" : "CUBLAS_STATUS_SUCCESS"; }
API const char *cublasGetStatusString(int s) { return s ? "an error of the emulated cuBLAS" : "no error"; }
#define GEMM(letter, type, wide)                                                                                     \
    API int cublas##letter##gemmStridedBatched(Handle *h, int ta, int tb, int m, int n, int k, const type *alpha,   \
                                               const void *a, int lda, long long sa, const void *b, int ldb,        \
                                               long long sb, const type *beta, void *c, int ldc, long long sc,      \
                                               int batch)                                                           \
    {                                                                                                               \
        return queue(h, (Product){ta, tb, m, n, k, lda, ldb, ldc, batch, wide, sa, sb, sc, *alpha, *beta, a, b, c}); \
    }
GEMM(S, float, 0)
GEMM(D, double, 1)
