/* libcublas.so.13 without a GPU: products on the memory of the host, with cuBLAS's checks of its arguments.

   Work goes through the queue of emucuda.c, so it is late and recorded like kernels. With TG_BLAS_SLOW set each product
   takes 10 ms longer. */
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include "emunumbers.h"

#define API __attribute__((visibility("default")))

extern int emucuda_call(void *stream, void (*call)(const void *), const void *data, size_t size);

typedef struct { void *stream, *workspace; int on_device; } Handle;
typedef struct {
    int ta, tb, m, n, k, lda, ldb, ldc, batch, type, compute;
    long long jump_a, jump_b, jump_c;
    double _Complex alpha, beta;
    const char *alpha_at, *beta_at; /* where they are, if they are on the device; read when the product runs */
    int factors;
    const char *a, *b;
    char *c;
} Product;

static void run(const void *data)
{
    const Product *p = data;
    if (getenv("TG_BLAS_SLOW")) usleep(10000);
    const double _Complex alpha = p->alpha_at ? get(p->factors, p->alpha_at, 0) : p->alpha;
    const double _Complex beta = p->beta_at ? get(p->factors, p->beta_at, 0) : p->beta;
    for (int b = 0; b < p->batch; b++)
        for (int j = 0; j < p->n; j++)
            for (int i = 0; i < p->m; i++) {
                const long long at = b * p->jump_c + i + (long long)j * p->ldc;
                double _Complex sum = 0;
                for (int q = 0; q < p->k; q++) {
                    const long long x = p->ta ? q + (long long)i * p->lda : i + (long long)q * p->lda;
                    const long long y = p->tb ? j + (long long)q * p->ldb : q + (long long)j * p->ldb;
                    sum += operand(p->compute, p->type, p->a, b * p->jump_a + x) *
                           operand(p->compute, p->type, p->b, b * p->jump_b + y);
                }
                put(p->type, p->c, at, alpha * sum + (beta != 0 ? beta * get(p->type, p->c, at) : 0));
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
API int cublasSetPointerMode_v2(Handle *h, int mode) { return h->on_device = mode, SUCCESS; }
API int cublasGetPointerMode_v2(Handle *h, int *mode) { return *mode = h->on_device, SUCCESS; }
API int cublasGetVersion_v2(Handle *h, int *v) { return *v = 130000, SUCCESS; }
API const char *cublasGetStatusName(int s) { return s ? "CUBLAS_STATUS_OTHER" : "CUBLAS_STATUS_SUCCESS"; }
API const char *cublasGetStatusString(int s) { return s ? "an error of the emulated cuBLAS" : "no error"; }
/* Operands of one type, added up in single or, for the types of 64 bits, double precision. */
API int cublasGemmStridedBatchedEx(Handle *h, int ta, int tb, int m, int n, int k, const void *alpha, const void *a,
                                   int type_a, int lda, long long sa, const void *b, int type_b, int ldb,
                                   long long sb, const void *beta, void *c, int type_c, int ldc, long long sc,
                                   int batch, int compute, int algorithm)
{
    const int wide = type_c == R_64F || type_c == C_64F;
    const int factors = type_c == C_32F || type_c == C_64F ? type_c : wide ? R_64F : R_32F;
    if (type_a != type_c || type_b != type_c || !can_compute(type_c, compute)) return NOT_SUPPORTED;
    Product p = {ta, tb, m, n, k, lda, ldb, ldc, batch, type_c, compute, sa, sb, sc, .factors = factors};
    p.a = a, p.b = b, p.c = c;
    if (h && h->on_device) p.alpha_at = alpha, p.beta_at = beta;
    else p.alpha = get(factors, alpha, 0), p.beta = get(factors, beta, 0);
    return queue(h, p);
}
