/* What is queued in the streams of the emulated driver, and the memory that it knows of. Part of emucuda.c, not to be
   included alone. A stream's work runs when somebody waits for that stream, and not before. */
enum { MOST = 1024 }; /* parameters of a kernel, kernels of an image */
typedef int (*launch_function)(const unsigned *, const unsigned *, size_t, void **, char *, size_t);
typedef struct {
    launch_function run;
    int count;
    size_t size[MOST], place[MOST], total;
    char name[128];
    void *library;
} Kernel;
typedef struct {
    void *handle;
    Kernel *kernel[MOST];
    int count;
    CUcontext context;
} Library;

/* ------------------------------------------------------------------ queued work */
typedef enum { KERNEL, COPY, SET, FREE, CALL, WAIT } Kind;
typedef struct {
    Kind kind;
    Kernel *kernel;
    unsigned grid[3], block[3], value;
    size_t dynamic, size, width;
    int device; /* that runs a kernel */
    char *arguments; /* of a kernel */
    void *to;
    const void *from;
    void (*call)(const void *); /* of a library above this one, with `from` */
    CUstream stream; /* to wait for, up to the piece of work with this number */
    unsigned long long number;
    int owns; /* what `arguments` or `from` point to belongs to this piece of work */
} Work;
typedef struct {
    Work *item;
    int count, room;
} List;
struct CUctx_st { int device; };
struct CUstream_st {
    int capturing, invalid, apart; /* apart: it does not wait for the default stream, nor that one for it */
    List recorded, queue;
    int head; /* what comes next in the queue */
    unsigned long long id, done, added;
    CUcontext context;
    struct CUstream_st *next;
};
struct CUgraph_st { List work; };
struct CUgraphExec_st { List work; };
struct CUevent_st { CUstream stream; unsigned long long number; };
typedef struct { char *begin; size_t size; int device; } Range; /* device -1: memory of the host that is page-locked */

static pthread_mutex_t one = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP; /* thread at a time, as in the real driver */
static CUresult broken; /* once a kernel has failed, everything fails */
static int lazy = 1;
static __thread CUcontext current; /* each thread has its own */
static __thread CUstream recording;
static struct CUctx_st primary[16];
static int the_pool;
static struct CUstream_st default_stream;
static CUstream all = &default_stream;
static Range *range;
static int ranges, range_room;
static size_t held, limit = (size_t)4 << 30;
static unsigned long long launches, allocations, streams, graph_launches;

static void append(List *l, Work w)
{
    if (l->count == l->room) l->item = realloc(l->item, sizeof w * (l->room = l->room ? 2 * l->room : 64));
    l->item[l->count++] = w;
}

static void known(void *p, size_t n, int device)
{
    pthread_mutex_lock(&one);
    if (ranges == range_room) range = realloc(range, sizeof *range * (range_room = range_room ? 2 * range_room : 64));
    range[ranges++] = (Range){p, n, device};
    pthread_mutex_unlock(&one);
}
static void unknown(void *p)
{
    pthread_mutex_lock(&one);
    for (int i = 0; i < ranges; i++)
        if (range[i].begin == p) range[i--] = range[--ranges];
    pthread_mutex_unlock(&one);
}
static Range *range_of(const void *p)
{
    for (int i = ranges - 1; i >= 0; i--)
        if ((char *)p >= range[i].begin && (char *)p < range[i].begin + range[i].size) return &range[i];
    return 0;
}

static void give_back(void *p)
{
    if (!p) return;
    size_t *block = (size_t *)((char *)p - 256);
    unknown(p);
    held -= block[0];
    free((void *)block[1]);
}

static void run_kernel(const Work *w)
{
    void *place[MOST];
    char error[256] = "";
    for (int i = 0; i < w->kernel->count; i++) {
        place[i] = w->arguments + w->kernel->place[i];
        const Range *r = w->kernel->size[i] == 8 ? range_of(*(void **)place[i]) : 0;
        if (r && r->device >= 0 && r->device != w->device) {
            fprintf(stderr, "emucuda: kernel %s: memory of another device\n", w->kernel->name);
            broken = CUDA_ERROR_ILLEGAL_ADDRESS;
            return;
        }
    }
    if (w->kernel->run(w->grid, w->block, w->dynamic, place, error, sizeof error)) {
        fprintf(stderr, "emucuda: kernel %s: %s\n", w->kernel->name, error);
        broken = CUDA_ERROR_LAUNCH_FAILED;
    }
}

static CUresult flush_to(CUstream s, unsigned long long number);

static void run(const Work *w)
{
    if (w->kind == WAIT) flush_to(w->stream, w->number);
    if (broken) return;
    switch (w->kind) {
    case KERNEL: run_kernel(w); break;
    case COPY: memmove(w->to, w->from, w->size); break;
    case FREE: give_back(w->to); break;
    case CALL: w->call(w->from); break;
    case WAIT: break;
    case SET:
        for (size_t i = 0; i < w->size; i++) memcpy((char *)w->to + i * w->width, &w->value, w->width);
        break;
    }
}

/* Run a stream's work up to some piece of it. */
static CUresult flush_to(CUstream s, unsigned long long number)
{
    pthread_mutex_lock(&one);
    while (s->done < number && s->head < s->queue.count) {
        Work w = s->queue.item[s->head++];
        s->done++;
        run(&w);
        if (w.owns) free(w.kind == KERNEL ? (void *)w.arguments : (void *)w.from);
    }
    if (s->head == s->queue.count) s->head = s->queue.count = 0;
    pthread_mutex_unlock(&one);
    return broken;
}

static CUresult flush(void)
{
    pthread_mutex_lock(&one);
    for (CUstream s = all; s; s = s->next) flush_to(s, s->added);
    pthread_mutex_unlock(&one);
    return broken;
}

static CUstream stream_of(CUstream s)
{
    return s == 0 || s == CU_STREAM_LEGACY || s == CU_STREAM_PER_THREAD ? &default_stream : s;
}
/* Streams that wait for the default one have its queue. */
static CUstream queue_of(CUstream s) { return stream_of(s)->apart ? s : &default_stream; }
static CUresult finish(CUstream s) { return flush_to(queue_of(s), queue_of(s)->added); }

/* What a thread may not do while it captures; the recording is lost then. */
static CUresult not_now(void)
{
    if (!recording) return CUDA_SUCCESS;
    recording->invalid = 1;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}
static int elsewhere(CUstream s) { return !current || (stream_of(s) != &default_stream && s->context != current); }

static CUresult add(CUstream s, Work w)
{
    CUstream stream = stream_of(s), line = queue_of(s);
    CUresult result = CUDA_SUCCESS;
    pthread_mutex_lock(&one);
    append(stream->capturing ? &stream->recorded : &line->queue, w);
    if (!stream->capturing) {
        line->added++;
        result = lazy ? broken : flush();
    }
    pthread_mutex_unlock(&one);
    return result;
}
