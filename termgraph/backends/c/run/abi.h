/* What generated code and the run-time glue agree on. This text stands in front of every generated source (see
   docs/dev/c-abi.md); change TG_ABI when anything here changes, it is part of every cache key. */
#ifndef TG_ABI
#define TG_ABI 8

typedef __INT8_TYPE__ int8_t;
typedef __INT16_TYPE__ int16_t;
typedef __INT32_TYPE__ int32_t;
typedef __INT64_TYPE__ int64_t;
typedef __UINT8_TYPE__ uint8_t;
typedef __UINT16_TYPE__ uint16_t;
typedef __UINT32_TYPE__ uint32_t;
typedef __UINT64_TYPE__ uint64_t;
typedef __UINTPTR_TYPE__ uintptr_t;
typedef __SIZE_TYPE__ size_t;
#ifndef NULL
#define NULL ((void *)0)
#endif

#define TG_EXPORT __attribute__((visibility("default")))
#define TG_HIDDEN __attribute__((visibility("hidden")))

/* Codes that a program may put into tg_status.code. Positive ones are between the generator and its `fail` function. */
enum {
    TG_OK = 0,
    TG_INTERRUPT = -1, /* a Python exception is set (a signal handler raised) */
    TG_NOMEM = -2,     /* v[0]: bytes wanted, v[1]: number of the output or -1, v[2]: number of the workspace or -1 */
    TG_CELL = -3,      /* v[0]: number of the shared variable whose value has the wrong type */
    TG_LENGTH = -4,    /* v[0]: number of the output, v[1]: axis, v[2]: its negative length */
    TG_LAYOUT = -5     /* from tg_plan: the method _with_layout shall answer this call */
};

/* One per call. A failing program fills code, op and v and returns nonzero. */
typedef struct tg_status {
    int64_t code, op, v[4];
    int (*poll)(struct tg_status *); /* nonzero: stop, return TG_INTERRUPT */
    int64_t *timers;                 /* room for timings, or NULL when nobody looks */
    volatile int stop;               /* nonzero once the call must end: loops in other threads look at this */
    void *who;                       /* the glue's own */
    /* For who looks on: which loop over steps runs, counted from 1 (those inside another are part of it), how many of its
       steps are made, and of how many. steps is negative where it may stop before, 0 while no such loop runs. */
    int64_t loop, step, steps;
} tg_status;

typedef void (*tg_body)(void *context, int64_t begin, int64_t end, int64_t part);

/* A kernel over [0, n) whose results may be longer than the caches. `context` has `size` bytes, of which the addresses
   of buffers begin at `buffers`; a thread gets `grain` of work, of which an iteration takes `cost`. results: of each its
   buffer, the bytes of an element, and the first element. */
typedef struct tg_past {
    void *context;
    int64_t size, buffers;
    tg_body kernel;
    int64_t n, cost, grain, count;
    const int64_t *results;
} tg_past;

/* Services handed over by tg_bind when a library is loaded. */
typedef struct tg_runtime {
    int64_t abi;
    /* Run body over [0, n) in parts; which part gets what depends on n, grain and the number of threads only. */
    void (*parallel_for)(tg_body body, void *context, int64_t n, int64_t grain);
    /* How many parts that will be: room for one partial result each. At most TG_MAX_PARTS. */
    int64_t (*parts)(int64_t n, int64_t grain);
    int64_t (*clock_ns)(void);
    /* Whether arguments in another order than row-major have been copied so often that _with_layout shall be called.
       places: for each argument where its lengths begin in env, and its rank; bytes: what copying them takes now. */
    int (*relayout)(int64_t *seen, const int64_t *env, const int32_t *places, int count, int64_t bytes);
    const void *blas; /* tg_blas *, NULL unless the library was built with needs_blas */
    /* Leave a library one thread of its own until all who took its cores have given them back. */
    void (*take_cores)(int library);
    void (*give_cores)(int library);
    /* Of the BLAS that products call, and of NumPy's LAPACK, if they can be asked: threads of one call. That is one while
       the team works: two teams at once would wait for each other's cores. `before`: what it will be again, or 0. */
    struct {
        int (*get)(void);
        void (*set)(int);
        int64_t before;
    } libraries[2];
    /* Run a kernel; results that take more bytes than `cached` are written past the caches. */
    void (*each_past)(const tg_past *past);
    int64_t cached;
    /* How many threads a job would have now: one while the team is busy. For work that is better whole than in parts
       that one thread makes. */
    int64_t (*idle)(void);
} tg_runtime;

enum { TG_MAX_PARTS = 256 };

/* What a program has seen of other orders: their names, then the bytes copied for each, negative: always copy. */
enum { TG_ORDERS = 8, TG_COPIED_MOST = 1 << 27 };

/* Between kernels and every thousand rows or so: if (TG_POLL(st)) return TG_INTERRUPT; */
#define TG_POLL(st) __builtin_expect((st)->poll && (st)->poll(st), 0)
/* The same inside a kernel, which then ends half-done: the call has failed, so nothing of it may be kept. If another
   thread's failure is why it ends, that one stays. */
#define TG_STOP(st) (TG_POLL(st) && tg_interrupted(st))

/* Report a failure; the first one stays. Safe in several threads. Returns the code, to be returned. */
static inline int tg_fail(tg_status *st, int64_t code, int64_t op, int64_t v0, int64_t v1, int64_t v2, int64_t v3)
{
    int64_t none = 0;
    if (__atomic_compare_exchange_n(&st->code, &none, code, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
        st->op = op;
        st->v[0] = v0, st->v[1] = v1, st->v[2] = v2, st->v[3] = v3;
    }
    __atomic_store_n(&st->stop, 1, __ATOMIC_RELEASE); /* whoever sees it finds the code */
    return (int)code;
}

/* A function of its own: there is a TG_STOP in nearly every kernel, and written out each takes compilers a millisecond. */
static __attribute__((noinline, cold, unused)) int tg_interrupted(tg_status *st)
{
    return tg_fail(st, TG_INTERRUPT, 0, 0, 0, 0, 0);
}

/* The two entry points of a program. */
TG_EXPORT int tg_plan(int64_t *env, char *const *buf, tg_status *st);
TG_EXPORT int tg_run(char **buf, const int64_t *env, tg_status *st);
#endif
