/* libcublasLt.so.13 without a GPU: products with epilogues on the memory of the host, with the library's own checks of
   sizes and alignment. Work goes through the queue of emucuda.c, so it is late and recorded like kernels. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "emunumbers.h"

#define API __attribute__((visibility("default")))
extern int emucuda_call(void *stream, void (*call)(const void *), const void *data, size_t size);

typedef struct { int compute, scale, ta, tb; unsigned epilogue; const char *bias; } Operation;
typedef struct { int type; uint64_t rows, columns; int64_t lead; } Layout;
typedef struct { uint64_t workspace; uint32_t aligned[4]; } Preference;
typedef struct { uint64_t algorithm[8]; size_t workspace; int state; float waves; int reserved[4]; } Found;
enum { RELU = 2, BIAS = 4, GELU = 32 };

typedef struct {
    Operation what;
    Layout a, b, d;
    double alpha;
    const char *x, *y;
    char *z;
} Product;

static double finished(double v, unsigned epilogue)
{
    if (epilogue & RELU) return v > 0 || v != v ? v : 0;
    if (epilogue & GELU) return 0.5 * v * (1 + tanh(0.7978845608028654 * (v + 0.044715 * v * v * v)));
    return v;
}

static void run(const void *data)
{
    const Product *p = data;
    const uint64_t depth = p->what.ta ? p->a.rows : p->a.columns;
    for (uint64_t j = 0; j < p->d.columns; j++)
        for (uint64_t i = 0; i < p->d.rows; i++) {
            double sum = 0;
            for (uint64_t q = 0; q < depth; q++)
                sum += (double)operand(p->what.compute, p->a.type, p->x, p->what.ta ? q + i * p->a.lead : i + q * p->a.lead) *
                       (double)operand(p->what.compute, p->b.type, p->y, p->what.tb ? j + q * p->b.lead : q + j * p->b.lead);
            sum *= p->alpha;
            if (p->what.epilogue & BIAS) sum += (double)get(p->d.type, p->what.bias, i);
            put(p->d.type, p->z, i + j * p->d.lead, finished(sum, p->what.epilogue));
        }
}

API int cublasLtCreate(void **h) { return *h = malloc(1), SUCCESS; }
API int cublasLtDestroy(void *h) { return free(h), SUCCESS; }
API const char *cublasLtGetStatusName(int s) { return s ? "CUBLAS_STATUS_OTHER" : "CUBLAS_STATUS_SUCCESS"; }
API const char *cublasLtGetStatusString(int s) { return s ? "an error of the emulated cuBLASLt" : "no error"; }
API size_t cublasLtGetVersion(void) { return 130000; }

API int cublasLtMatmulDescCreate(Operation **out, int compute, int scale)
{
    *out = calloc(1, sizeof **out);
    **out = (Operation){compute, scale, 0, 0, 1, 0};
    return SUCCESS;
}
API int cublasLtMatmulDescDestroy(Operation *what) { return free(what), SUCCESS; }
API int cublasLtMatmulDescSetAttribute(Operation *what, int attribute, const void *value, size_t size)
{
    if (size != (attribute == 8 ? 8 : 4)) return INVALID_VALUE;
    switch (attribute) {
    case 3: return what->ta = *(const int *)value, SUCCESS;
    case 4: return what->tb = *(const int *)value, SUCCESS;
    case 7: return what->epilogue = *(const unsigned *)value, SUCCESS;
    case 8: return what->bias = *(const char *const *)value, SUCCESS;
    }
    return NOT_SUPPORTED;
}
API int cublasLtMatrixLayoutCreate(Layout **out, int type, uint64_t rows, uint64_t columns, int64_t lead)
{
    *out = malloc(sizeof **out);
    **out = (Layout){type, rows, columns, lead};
    return lead < (int64_t)rows ? INVALID_VALUE : SUCCESS;
}
API int cublasLtMatrixLayoutDestroy(Layout *layout) { return free(layout), SUCCESS; }
API int cublasLtMatmulPreferenceCreate(Preference **out)
{
    *out = malloc(sizeof **out);
    **out = (Preference){0, {256, 256, 256, 256}};
    return SUCCESS;
}
API int cublasLtMatmulPreferenceDestroy(Preference *p) { return free(p), SUCCESS; }
API int cublasLtMatmulPreferenceSetAttribute(Preference *p, int attribute, const void *value, size_t size)
{
    if (attribute == 1 && size == 8) return p->workspace = *(const uint64_t *)value, SUCCESS;
    if (attribute >= 5 && attribute <= 8 && size == 4)
        return p->aligned[attribute - 5] = *(const uint32_t *)value, SUCCESS;
    return INVALID_VALUE;
}

static int fits(const Operation *w, const Layout *a, const Layout *b, const Layout *d)
{
    const uint64_t m = w->ta ? a->columns : a->rows, k = w->ta ? a->rows : a->columns;
    const uint64_t n = w->tb ? b->rows : b->columns, other = w->tb ? b->columns : b->rows;
    const int wide = d->type == R_64F, scale = wide ? R_64F : R_32F;
    if (m != d->rows || n != d->columns || k != other) return INVALID_VALUE;
    if (a->type != d->type || b->type != d->type || !can_compute(d->type, w->compute) || w->scale != scale) return NOT_SUPPORTED;
    return wide && w->epilogue & GELU ? NOT_SUPPORTED : SUCCESS;
}

/* An algorithm is told apart by the alignment it counts on. */
API int cublasLtMatmulAlgoGetHeuristic(void *h, const Operation *what, const Layout *a, const Layout *b, const Layout *c,
                                       const Layout *d, const Preference *p, int wanted, Found *found, int *count)
{
    const int status = h && wanted > 0 ? fits(what, a, b, d) : INVALID_VALUE;
    *count = 0;
    if (status) return status;
    memset(found, 0, sizeof *found);
    for (int k = 0; k < 4; k++) found->algorithm[k] = p->aligned[k];
    return *count = 1, SUCCESS;
}

API int cublasLtMatmul(void *h, const Operation *what, const void *alpha, const char *a, const Layout *la, const char *b,
                       const Layout *lb, const void *beta, const char *c, const Layout *lc, char *d, const Layout *ld,
                       const uint64_t *algorithm, void *workspace, size_t room, void *stream)
{
    const int status = h && algorithm ? fits(what, la, lb, ld) : INVALID_VALUE;
    if (status) return status;
    if ((uintptr_t)a % algorithm[0] || (uintptr_t)b % algorithm[1] || (uintptr_t)d % algorithm[3]) return INVALID_VALUE;
    if ((what->epilogue & BIAS) && !what->bias) return INVALID_VALUE;
    if (what->scale == R_64F ? *(const double *)beta != 0 : *(const float *)beta != 0) return NOT_SUPPORTED;
    const double one = what->scale == R_64F ? *(const double *)alpha : *(const float *)alpha;
    const Product p = {*what, *la, *lb, *ld, one, a, b, d};
    return emucuda_call(stream, run, &p, sizeof p) ? EXECUTION_FAILED : SUCCESS;
}
