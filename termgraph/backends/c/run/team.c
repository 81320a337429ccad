/* A team of threads for compiled loops, safe across fork. Needs abi.h in front; knows nothing of Python.

   A job is cut into parts in a way that depends on the loop and the size of the team only. Who runs a part is open:
   the caller and the workers take the next free one. A worker that the system does not wake in time therefore costs
   nothing, and a caller that finds the team busy runs its parts alone, in order, with the same result. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

enum { SPIN_NS = 10000, PARTS_PER_THREAD = 4, MAX_THREADS = TG_MAX_PARTS / PARTS_PER_THREAD };

typedef struct {
    tg_body body;
    void *context;
    int64_t n, parts;
} Job;

static struct {
    pthread_mutex_t in_use;        /* held by the caller whose job the team runs */
    pthread_mutex_t mutex;         /* guards job and generation, and the two conditions */
    pthread_cond_t work, finished;
    Job job;
    _Atomic uint32_t generation;   /* number of the current job */
    _Atomic uint64_t ticket;       /* generation in the upper half, next free part in the lower */
    _Atomic int64_t left;          /* parts not finished yet */
    _Atomic int size;              /* read by callers that do not hold the team */
    int workers;
} team = {.in_use = PTHREAD_MUTEX_INITIALIZER,
          .mutex = PTHREAD_MUTEX_INITIALIZER,
          .work = PTHREAD_COND_INITIALIZER,
          .finished = PTHREAD_COND_INITIALIZER,
          .size = 1};

static int64_t clock_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static inline void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static void run_part(const Job *job, int64_t part)
{
    int64_t base = job->n / job->parts, extra = job->n % job->parts;
    int64_t begin = part * base + (part < extra ? part : extra);
    job->body(job->context, begin, begin + base + (part < extra), part);
}

/* Take free parts of one job until there are none. The ticket names the job: a late worker cannot take a later job's. */
static void run_free_parts(const Job *job, uint32_t generation)
{
    uint64_t ticket = atomic_load(&team.ticket);
    while ((uint32_t)(ticket >> 32) == generation && (int64_t)(uint32_t)ticket < job->parts) {
        if (!atomic_compare_exchange_weak(&team.ticket, &ticket, ticket + 1)) continue;
        run_part(job, (int64_t)(uint32_t)ticket);
        if (atomic_fetch_sub(&team.left, 1) == 1) {
            pthread_mutex_lock(&team.mutex);
            pthread_cond_signal(&team.finished);
            pthread_mutex_unlock(&team.mutex);
        }
        ticket = atomic_load(&team.ticket);
    }
}

static void *worker(void *unused)
{
    (void)unused;
    uint32_t seen = 0;
    for (;;) {
        for (int64_t until = clock_ns() + SPIN_NS; atomic_load(&team.generation) == seen && clock_ns() < until;) relax();
        pthread_mutex_lock(&team.mutex);
        while (atomic_load(&team.generation) == seen) pthread_cond_wait(&team.work, &team.mutex);
        seen = atomic_load(&team.generation);
        Job job = team.job;
        pthread_mutex_unlock(&team.mutex);
        run_free_parts(&job, seen);
    }
    return NULL;
}

static tg_runtime runtime; /* see below */

/* Held while a library's count of threads changes: it holds a lock of its own then, which a child that is forked
   meanwhile would wait for without end. So a fork waits until it has changed. */
static pthread_mutex_t cores = PTHREAD_MUTEX_INITIALIZER;
static int takers[2]; /* how many have a library's cores: the first takes them, the last gives them back */
static void before_fork(void) { pthread_mutex_lock(&cores); }
static void after_fork(void) { pthread_mutex_unlock(&cores); }

/* A forked child has none of the threads and may have inherited a lock held by one of them. What a library has to be
   given back there waits for the next that takes its cores: to ask the library now could wait for another thread's lock
   in it. */
static void forget_team(void)
{
    pthread_mutex_init(&cores, NULL);
    takers[0] = takers[1] = 0;
    team.workers = 0;
    atomic_store(&team.generation, 0);
    atomic_store(&team.ticket, 0);
    pthread_mutex_init(&team.in_use, NULL);
    pthread_mutex_init(&team.mutex, NULL);
    pthread_cond_init(&team.work, NULL);
    pthread_cond_init(&team.finished, NULL);
}

__attribute__((constructor)) static void mind_forks(void) { pthread_atfork(before_fork, after_fork, forget_team); }

/* Start the workers that are missing. If the system refuses, the caller does more of the work itself. */
static void hire(void)
{
    sigset_t all, before;
    sigfillset(&all); /* signals are for Python's threads */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (team.workers < team.size - 1) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, worker, NULL)) break;
        pthread_detach(thread);
        team.workers++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static int64_t parts(int64_t n, int64_t grain)
{
    if (grain < 1) grain = 1;
    int size = atomic_load(&team.size);
    int64_t most = size > 1 ? size * PARTS_PER_THREAD : 1, wanted = n / grain;
    return wanted < 1 ? 1 : wanted < most ? wanted : most;
}

static int64_t idle(void)
{
    const int size = atomic_load(&team.size);
    if (size == 1 || pthread_mutex_trylock(&team.in_use)) return 1;
    pthread_mutex_unlock(&team.in_use);
    return size;
}

static void wait_until_finished(void)
{
    for (int64_t until = clock_ns() + SPIN_NS; atomic_load(&team.left) && clock_ns() < until;) relax();
    if (!atomic_load(&team.left)) return;
    pthread_mutex_lock(&team.mutex);
    while (atomic_load(&team.left)) pthread_cond_wait(&team.finished, &team.mutex);
    pthread_mutex_unlock(&team.mutex);
}

static void take_cores(int library)
{
    pthread_mutex_lock(&cores);
    if (!takers[library]++ && runtime.libraries[library].get) {
        const int64_t before = runtime.libraries[library].before;
        const int count = before ? (int)before : runtime.libraries[library].get();
        if (count > 1) {
            runtime.libraries[library].before = count;
            runtime.libraries[library].set(1);
        }
    }
    pthread_mutex_unlock(&cores);
}

static void give_cores(int library)
{
    pthread_mutex_lock(&cores);
    if (!--takers[library] && runtime.libraries[library].before) {
        runtime.libraries[library].set((int)runtime.libraries[library].before);
        runtime.libraries[library].before = 0;
    }
    pthread_mutex_unlock(&cores);
}

static void parallel_for(tg_body body, void *context, int64_t n, int64_t grain)
{
    Job job = {body, context, n, parts(n, grain)};
    if (n <= 0) return;
    if (job.parts == 1 || pthread_mutex_trylock(&team.in_use)) { /* small, nested, or the team is busy */
        for (int64_t part = 0; part < job.parts; part++) run_part(&job, part);
        return;
    }
    for (int k = 0; k < 2; k++) take_cores(k); /* a library called from a part has the core of the part */
    if (team.workers < team.size - 1) hire();
    pthread_mutex_lock(&team.mutex);
    uint32_t generation = atomic_load(&team.generation) + 1;
    team.job = job;
    atomic_store(&team.left, job.parts);
    atomic_store(&team.ticket, (uint64_t)generation << 32);
    atomic_store(&team.generation, generation);
    pthread_cond_broadcast(&team.work);
    pthread_mutex_unlock(&team.mutex);
    run_free_parts(&job, generation);
    wait_until_finished();
    for (int k = 0; k < 2; k++) give_cores(k);
    pthread_mutex_unlock(&team.in_use);
}

enum { DENSE, REPEATED, BACKWARDS, SECOND, ROWS, ANY };

/* How an argument lies in memory, six bits per axis from the slowest to the fastest: which axis, and its stride as a
   kind of termgraph/lower/memory/strides.py. 0 if it lies in row-major order, or there is nothing to tell. */
static int64_t layout_code(const int64_t *env, int nd)
{
    int64_t key[8], step = 1, code = 0;
    int axis[8], odd = 0, open = 0;
    if (nd > 8) return 0;
    for (int d = 0; d < nd; d++) {
        int64_t n = env[d], s = env[nd + d];
        if (n == 0) return 0;
        key[d] = n > 1 && s ? (s < 0 ? -s : s) : d ? key[d - 1] : __INT64_MAX__; /* other strides order nothing */
        int k = d;
        for (; k > 0 && key[axis[k - 1]] < key[d]; k--) axis[k] = axis[k - 1];
        axis[k] = d;
        odd |= k != d;
    }
    for (int k = nd - 1; k >= 0; k--) {
        int64_t n = env[axis[k]], s = env[nd + axis[k]];
        int kind = n == 1 || (s == step && !open) ? DENSE
                   : s == 0                       ? REPEATED
                   : s == -step && !open          ? BACKWARDS
                   : s == 2 && step == 1 && !open ? SECOND
                   : s >= step                    ? ROWS
                                                  : ANY;
        int64_t span = (s < 0 ? -s : s) * n;
        if (n > 1 && span > step) step = span;
        open |= kind == ANY;
        odd |= kind;
        code |= (int64_t)(axis[k] | kind << 3) << 6 * k;
    }
    return odd ? code | 1ll << 48 : 0;
}
static int relayout(int64_t *seen, const int64_t *env, const int32_t *places, int count, int64_t bytes)
{
    uint64_t code = 0;
    for (int i = 0; i < count; i++) code = code * 31 + (uint64_t)layout_code(env + places[2 * i], places[2 * i + 1]);
    if (!code) return 0;
    for (int k = 0; k < TG_ORDERS; k++) {
        int64_t none = 0;
        __atomic_compare_exchange_n(&seen[k], &none, (int64_t)code, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
        if (__atomic_load_n(&seen[k], __ATOMIC_RELAXED) != (int64_t)code) continue;
        int64_t before = __atomic_load_n(&seen[TG_ORDERS + k], __ATOMIC_RELAXED);
        if (before < 0 || before >= TG_COPIED_MOST) return before > 0;
        __atomic_store_n(&seen[TG_ORDERS + k], before + bytes, __ATOMIC_RELAXED);
        return 0;
    }
    return 0;
}

static tg_runtime runtime = {TG_ABI, parallel_for, parts, clock_ns, relayout, NULL, take_cores, give_cores,
                             {{NULL, NULL, 0}, {NULL, NULL, 0}}, NULL, 3 << 23, idle};

TG_EXPORT tg_runtime *tg_get_runtime(void);
TG_EXPORT void tg_set_threads(int64_t count);
TG_EXPORT int tg_stopped(tg_status *st);
TG_EXPORT int tg_stopped(tg_status *st) { return st->stop; } /* a poll for callers that stop programs from outside */
TG_EXPORT tg_runtime *tg_get_runtime(void) { return &runtime; }
TG_EXPORT void tg_set_threads(int64_t count)
{
    pthread_mutex_lock(&team.in_use); /* not in the middle of a job */
    team.size = count < 1 ? 1 : count > MAX_THREADS ? MAX_THREADS : (int)count;
    pthread_mutex_unlock(&team.in_use);
}
