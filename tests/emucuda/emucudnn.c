/* libcudnn.so.9 without a GPU: convolutions and their gradients on the memory of the host, as the NumPy meaning has
   them, with the library's checks of its descriptors. Work goes through the queue of emucuda.c, so it is late and
   recorded like kernels.

   Of the algorithms that are offered the first does not repeat its results, the second wants too much memory, and the
   third writes into its workspace: whoever takes the first two, or gives too little room, is refused or seen. Engines,
   and how long each of them works, are in emuengines.h. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emunumbers.h"

#define API __attribute__((visibility("default")))
extern int emucuda_call(void *stream, void (*call)(const void *), const void *data, size_t size);

enum { BAD_PARAM = 2000, REFUSED = 3000, FAILED = 5000, MOST = 5, ROOM = 64, USUAL = 1000 };
enum { FLOAT, DOUBLE, HALF, BFLOAT = 9 };

typedef struct { void *stream; } Handle;
typedef struct { int dtype, n, dims[MOST], strides[MOST], filters; } Array;
typedef struct { int n, pad[3], stride[3], gaps[3], mode, computed, groups, math; } Conv;
typedef struct { int algo, status; float time; size_t memory; int determinism, math, reserved[3]; } Performance;
typedef struct { Array x, w, y; Conv c; int kind; double alpha; const char *a, *b; char *out; char *room; int pause; } Job;

static int type_of(int dtype) { return dtype == HALF ? R_16F : dtype == BFLOAT ? R_16BF : dtype; }

API int cudnnCreate(Handle **h) { return *h = calloc(1, sizeof **h), SUCCESS; }
API int cudnnSetStream(Handle *h, void *s) { return h->stream = s, SUCCESS; }
API int cudnnCreateTensorDescriptor(Array **d) { return *d = calloc(1, sizeof **d), SUCCESS; }
API int cudnnCreateFilterDescriptor(Array **d) { return *d = calloc(1, sizeof **d), SUCCESS; }
API int cudnnCreateConvolutionDescriptor(Conv **d) { return *d = calloc(1, sizeof **d), (*d)->groups = 1, SUCCESS; }

static int known(int dtype) { return dtype == FLOAT || dtype == DOUBLE || dtype == HALF || dtype == BFLOAT; }

API int cudnnSetTensorNdDescriptor(Array *d, int dtype, int n, const int *dims, const int *strides)
{
    if (!known(dtype) || n < 4 || n > MOST) return BAD_PARAM;
    *d = (Array){.dtype = dtype, .n = n};
    for (int k = 0; k < n; k++) {
        if (dims[k] < 1 || strides[k] < 1) return BAD_PARAM;
        d->dims[k] = dims[k], d->strides[k] = strides[k];
    }
    return SUCCESS;
}
API int cudnnSetFilterNdDescriptor(Array *d, int dtype, int format, int n, const int *dims)
{
    int strides[MOST] = {1, 1, 1, 1, 1};
    if (format || n < 4 || n > MOST) return BAD_PARAM;
    for (int k = n - 2; k >= 0; k--) strides[k] = strides[k + 1] * dims[k + 1];
    const int status = cudnnSetTensorNdDescriptor(d, dtype, n, dims, strides);
    return d->filters = 1, status;
}
API int cudnnSetConvolutionNdDescriptor(Conv *c, int n, const int *pad, const int *stride, const int *gaps, int mode,
                                        int computed)
{
    if (n < 2 || n > 3 || mode < 0 || mode > 1 || (computed != FLOAT && computed != DOUBLE)) return BAD_PARAM;
    *c = (Conv){.n = n, .mode = mode, .computed = computed, .groups = 1};
    for (int k = 0; k < n; k++) {
        if (pad[k] < 0 || stride[k] < 1 || gaps[k] < 1) return BAD_PARAM;
        c->pad[k] = pad[k], c->stride[k] = stride[k], c->gaps[k] = gaps[k];
    }
    return SUCCESS;
}
API int cudnnSetConvolutionGroupCount(Conv *c, int groups) { return groups < 1 ? BAD_PARAM : (c->groups = groups, SUCCESS); }
API int cudnnSetConvolutionMathType(Conv *c, int math) { return math < 0 || math > 3 ? BAD_PARAM : (c->math = math, SUCCESS); }

/* Whether arrays fit together. `kind` is 0 forward, 1 for images, 2 for filters. */
static int fits(const Array *x, const Array *w, const Array *y, const Conv *c)
{
    if (x->filters || !w->filters || y->filters || x->n != c->n + 2 || w->n != x->n || y->n != x->n) return BAD_PARAM;
    if (x->dtype != w->dtype || x->dtype != y->dtype || (x->dtype == DOUBLE) != (c->computed == DOUBLE)) return BAD_PARAM;
    if (x->dims[0] != y->dims[0] || x->dims[1] != w->dims[1] * c->groups || y->dims[1] != w->dims[0]) return BAD_PARAM;
    if (w->dims[0] % c->groups) return BAD_PARAM;
    for (int k = 0; k < c->n; k++) {
        const int reach = (w->dims[k + 2] - 1) * c->gaps[k] + 1;
        if (y->dims[k + 2] != (x->dims[k + 2] + 2 * c->pad[k] - reach) / c->stride[k] + 1) return BAD_PARAM;
    }
    return SUCCESS;
}

static long long place(const Array *a, int i, int j, const int *at)
{
    long long out = (long long)i * a->strides[0] + (long long)j * a->strides[1];
    for (int k = 0; k < a->n - 2; k++) out += (long long)at[k] * a->strides[k + 2];
    return out;
}
static int next(int *at, const int *dims, int n)
{
    for (int k = n - 1; k >= 0; at[k--] = 0)
        if (++at[k] < dims[k]) return 1;
    return 0;
}
static long long count(const Array *a)
{
    long long out = 1;
    for (int k = 0; k < a->n; k++) out *= a->dims[k];
    return out;
}

/* All products of an element of images, one of filters and one of results, added up where they belong. */
static void run(const void *data)
{
    const Job *p = data;
    const Array *out = p->kind == 0 ? &p->y : p->kind == 1 ? &p->x : &p->w;
    const int n = p->c.n, type = type_of(out->dtype), each = p->w.dims[1], part = p->w.dims[0] / p->c.groups;
    double *sums = calloc(count(out), sizeof *sums);
    memset(p->room, 0x5a, ROOM);
    if (p->pause) usleep(p->pause);
    for (int b = 0; b < p->x.dims[0]; b++)
        for (int f = 0; f < p->w.dims[0]; f++)
            for (int e = 0; e < each; e++) {
                int q[3] = {0}, t[3] = {0}, i[3], u[3];
                do do {
                    int in = 1;
                    for (int k = 0; k < n; k++) {
                        i[k] = q[k] * p->c.stride[k] - p->c.pad[k] + t[k] * p->c.gaps[k];
                        u[k] = p->c.mode ? t[k] : p->w.dims[k + 2] - 1 - t[k];
                        in = in && i[k] >= 0 && i[k] < p->x.dims[k + 2];
                    }
                    if (!in) continue;
                    const long long x = place(&p->x, b, f / part * each + e, i), w = place(&p->w, f, e, u);
                    const long long y = place(&p->y, b, f, q), to = p->kind == 0 ? y : p->kind == 1 ? x : w;
                    sums[to] += (double)get(type, p->a, p->kind == 1 ? w : x) * (double)get(type, p->b, p->kind ? y : w);
                } while (next(t, p->w.dims + 2, n));
                while (next(q, p->y.dims + 2, n));
            }
    for (long long k = 0; k < count(out); k++) put(type, p->out, k, p->alpha * sums[k]);
    free(sums);
}

static int offer(const Array *x, const Array *w, const Array *y, const Conv *c, int wanted, int *got, Performance *found)
{
    const int status = fits(x, w, y, c);
    if (status) return status;
    if (c->n == 3 && c->gaps[0] > 1) return REFUSED; /* something that it does not know */
    *got = wanted < 3 ? wanted : 3;
    for (int k = 0; k < *got; k++)
        found[k] = (Performance){.algo = k, .memory = k == 1 ? (size_t)1 << 40 : ROOM, .determinism = k > 0, .math = c->math};
    return SUCCESS;
}
static int room_of(const Array *x, const Array *w, const Array *y, const Conv *c, int algo, size_t *size)
{
    const int status = fits(x, w, y, c);
    return status ? status : algo != 2 ? BAD_PARAM : (*size = ROOM, SUCCESS);
}
static int queue(Handle *h, Job p, const void *alpha, const void *beta, int algo, void *room, size_t size)
{
    const int status = fits(&p.x, &p.w, &p.y, &p.c);
    const int wide = p.x.dtype == DOUBLE;
    if (status || algo != 2 || !room || size < ROOM) return status ? status : BAD_PARAM;
    if (wide ? *(const double *)beta : *(const float *)beta) return BAD_PARAM;
    p.alpha = wide ? *(const double *)alpha : *(const float *)alpha, p.room = room, p.pause = USUAL;
    return emucuda_call(h->stream, run, &p, sizeof p) ? FAILED : SUCCESS;
}

#define FUNCTIONS(NAME, KIND, X, W, Y, FIRST, SECOND, OUT)                                                              \
    API int cudnnGetConvolution##NAME##Algorithm_v7(Handle *h, const Array *FIRST, const Array *SECOND, const Conv *c, \
                                                    const Array *OUT, int wanted, int *got, Performance *found)        \
    {                                                                                                                   \
        return offer(X, W, Y, c, wanted, got, found);                                                                   \
    }                                                                                                                   \
    API int cudnnGetConvolution##NAME##WorkspaceSize(Handle *h, const Array *FIRST, const Array *SECOND, const Conv *c, \
                                                     const Array *OUT, int algo, size_t *size)                          \
    {                                                                                                                   \
        return room_of(X, W, Y, c, algo, size);                                                                         \
    }                                                                                                                   \
    API int cudnnConvolution##NAME(Handle *h, const void *alpha, const Array *FIRST, const char *a, const Array *SECOND, \
                                   const char *b, const Conv *c, int algo, void *room, size_t size, const void *beta,   \
                                   const Array *OUT, char *out)                                                         \
    {                                                                                                                   \
        return queue(h, (Job){*X, *W, *Y, *c, KIND, .a = a, .b = b, .out = out}, alpha, beta, algo, room, size);       \
    }
FUNCTIONS(Forward, 0, x, w, y, x, w, y)
FUNCTIONS(BackwardData, 1, x, w, y, w, y, x)
FUNCTIONS(BackwardFilter, 2, x, w, y, x, y, w)

#include "emuengines.h"
