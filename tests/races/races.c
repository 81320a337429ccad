/* Which bytes the parts of a job read and write: what two of them touch, one of them to write, is a race.

   gcc's -fsanitize=thread puts a call before each access; this library answers them in the place of ThreadSanitizer's. A
   round is a job whose parts could all run at once: they run one after the other here, so what is found never depends on
   luck. Two accesses that are atomic are no race, nor is what comes before a release, and what after its acquisition.
   Each part's own stack is left out.
   Build: gcc -O2 -shared -fPIC -I../../termgraph/backends/c/run races.c -o libraces.so -lpthread -ldl */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi.h" /* tg_body, tg_past, TG_MAX_PARTS */

#define API __attribute__((visibility("default")))

/* ------------------------------------------------------------------ what is known of a byte in this round */
typedef enum { READ, WRITE, ATOMIC, KINDS } Kind;
enum { PAGE = 4096, BUCKETS = 1 << 16, MOST_FOUND = 200, MOST_RELEASED = 4096 };
typedef struct {
    uint32_t round;
    int32_t first[KINDS], second[KINDS]; /* two parts that did so: no third can matter */
    uint32_t when[KINDS][2];             /* by the count of releases */
    const void *at[KINDS];               /* the code of the last one */
} Byte;
typedef struct Page {
    uintptr_t number;
    struct Page *next;
    Byte byte[PAGE];
} Page;
typedef struct {
    const void *now, *before;
    Kind kind, other;
    int32_t part, with;
} Found;
typedef struct { char *begin, *end; } Region;
typedef struct {
    const volatile void *at;
    int32_t part;
    uint32_t when;
} Release;

static Page *bucket[BUCKETS];
static uint32_t rounds;
static pthread_mutex_t one_round = PTHREAD_MUTEX_INITIALIZER;
static Found found[MOST_FOUND];
static int count;
static Release released[MOST_RELEASED];
static uint32_t releases;
static uint32_t after[TG_MAX_PARTS]; /* this part comes after what another did before its release of this number */
static __thread struct {
    int on;
    int32_t part;
    char *stack; /* what lies below it, down to where the stack is now, belongs to the part */
    Region own[4];
} job;

static Byte *byte_of(uintptr_t address)
{
    static Page *last;
    const uintptr_t number = address / PAGE;
    if (!last || last->number != number) {
        Page **at = &bucket[number % BUCKETS];
        while (*at && (*at)->number != number) at = &(*at)->next;
        if (!*at) {
            *at = calloc(1, sizeof **at);
            if (!*at) abort();
            (*at)->number = number;
        }
        last = *at;
    }
    Byte *b = &last->byte[address % PAGE];
    if (b->round != rounds) {
        b->round = rounds;
        for (int k = 0; k < KINDS; k++) b->first[k] = b->second[k] = -1;
    }
    return b;
}

static void note(Found f)
{
    for (int k = 0; k < count; k++)
        if (found[k].now == f.now && found[k].before == f.before) return;
    if (count < MOST_FOUND) found[count++] = f;
}

static int is_own(const char *p)
{
    if (p < job.stack && p >= (char *)__builtin_frame_address(0)) return 1;
    for (int k = 0; k < 4; k++)
        if (p >= job.own[k].begin && p < job.own[k].end) return 1;
    return 0;
}

static int runs_at_once(int32_t with, uint32_t when)
{
    return with >= 0 && with != job.part && !(with < TG_MAX_PARTS && when < after[with]);
}

static void see(const void *p, size_t n, Kind kind, const void *code)
{
    if (!job.on || is_own(p)) return;
    for (size_t i = 0; i < n; i++) {
        Byte *b = byte_of((uintptr_t)p + i);
        for (Kind other = READ; other < KINDS; other++) {
            if (other == kind && kind != WRITE) continue;
            const int32_t first = b->first[other], second = b->second[other];
            const int one = runs_at_once(first, b->when[other][0]), two = runs_at_once(second, b->when[other][1]);
            if (one || two) note((Found){code, b->at[other], kind, other, job.part, one ? first : second});
        }
        b->at[kind] = code;
        if (b->first[kind] < 0) b->first[kind] = job.part;
        if (b->first[kind] == job.part) b->when[kind][0] = releases;
        else if (b->second[kind] < 0) b->second[kind] = job.part;
        if (b->second[kind] == job.part) b->when[kind][1] = releases;
    }
}

static void see_atomic(const volatile void *p, size_t n, int order, const void *code)
{
    see((const void *)p, n, ATOMIC, code);
    if (!job.on || order == __ATOMIC_RELAXED || job.part >= TG_MAX_PARTS) return;
    for (uint32_t k = 0; k < releases; k++)
        if (released[k].at == p) after[released[k].part] = released[k].when;
    if (releases < MOST_RELEASED && order != __ATOMIC_ACQUIRE && order != __ATOMIC_CONSUME) {
        released[releases] = (Release){p, job.part, releases + 1};
        releases++;
    }
}

static void forget(const char *p, size_t n)
{
    if (job.on && p)
        for (size_t i = 0; i < n; i++) byte_of((uintptr_t)p + i)->round = 0;
}

/* ------------------------------------------------------------------ rounds, for whoever runs parts */
API void races_begin(void *stack)
{
    pthread_mutex_lock(&one_round);
    rounds++, releases = 0;
    memset(after, 0, sizeof after);
    memset(&job, 0, sizeof job);
    job.stack = stack;
}
API void races_part(int64_t part)
{
    job.part = (int32_t)part, job.on = 1;
    if (releases) memset(after, 0, sizeof after);
}
API void races_own(int which, void *begin, void *end) { job.own[which] = (Region){begin, end}; }
API void races_end(void)
{
    job.on = 0;
    pthread_mutex_unlock(&one_round);
}
API int races_count(void) { return count; }
API void races_clear(void) { count = 0; }

static void place(char *to, size_t room, const void *code)
{
    Dl_info info;
    if (dladdr(code, &info)) snprintf(to, room, "%s %#zx", info.dli_fname, (size_t)((char *)code - (char *)info.dli_fbase - 1));
    else snprintf(to, room, "? 0");
}
/* One line of a finding: what, the library and the offset, its part; the same of the access before. */
API void races_told(int k, char *to, size_t room)
{
    static const char *const words[] = {"reads", "writes", "writes atomically"};
    char now[600], before[600];
    place(now, sizeof now, found[k].now), place(before, sizeof before, found[k].before);
    snprintf(to, room, "%s\t%s\t%d\t%s\t%s\t%d", words[found[k].kind], now, found[k].part, words[found[k].other], before,
             found[k].with);
}

/* ------------------------------------------------------------------ the runtime of compiled C */

API int64_t races_parts(int64_t n, int64_t grain)
{
    (void)grain;
    return n < 1 ? 1 : n < TG_MAX_PARTS ? n : TG_MAX_PARTS;
}
API int64_t races_idle(void) { return 4; }
/* From the last part to the first: what one leaves for the next is missed, besides. */
API void races_parallel_for(tg_body body, void *context, int64_t n, int64_t grain)
{
    const int64_t parts = races_parts(n, grain), base = n / parts, extra = n % parts;
    const int inside = job.on; /* of a part: its own business */
    if (n <= 0) return;
    if (!inside) races_begin(__builtin_frame_address(0));
    for (int64_t part = parts - 1; part >= 0; part--) {
        const int64_t begin = part * base + (part < extra ? part : extra);
        if (!inside) races_part(part);
        body(context, begin, begin + base + (part < extra), part);
    }
    if (!inside) races_end();
}
API void races_each_past(const tg_past *p) { races_parallel_for(p->kernel, p->context, p->n, 1); }

API void *races_malloc(size_t n)
{
    void *p = malloc(n);
    return forget(p, n), p;
}
API void *races_calloc(size_t n, size_t size)
{
    void *p = calloc(n, size);
    return forget(p, n * size), p;
}
API void *races_aligned(size_t to, size_t n)
{
    void *p = aligned_alloc(to, n);
    return forget(p, n), p;
}
API void *races_copy(void *to, const void *from, size_t n)
{
    see(from, n, READ, __builtin_return_address(0)), see(to, n, WRITE, __builtin_return_address(0));
    return memcpy(to, from, n);
}
API void *races_move(void *to, const void *from, size_t n)
{
    see(from, n, READ, __builtin_return_address(0)), see(to, n, WRITE, __builtin_return_address(0));
    return memmove(to, from, n);
}
API void *races_set(void *to, int value, size_t n)
{
    see(to, n, WRITE, __builtin_return_address(0));
    return memset(to, value, n);
}

/* ------------------------------------------------------------------ what gcc calls */
API void __tsan_init(void) {}
API void __tsan_func_entry(void *caller) { (void)caller; }
API void __tsan_func_exit(void) {}
API void __tsan_vptr_update(void **p, void *v) { (void)p, (void)v; }
API void __tsan_vptr_read(void **p) { (void)p; }
API void __tsan_read_range(void *p, size_t n) { see(p, n, READ, __builtin_return_address(0)); }
API void __tsan_write_range(void *p, size_t n) { see(p, n, WRITE, __builtin_return_address(0)); }
#define ACCESS(n)                                                                                    \
    API void __tsan_read##n(void *p) { see(p, n, READ, __builtin_return_address(0)); }               \
    API void __tsan_write##n(void *p) { see(p, n, WRITE, __builtin_return_address(0)); }             \
    API void __tsan_unaligned_read##n(void *p) { see(p, n, READ, __builtin_return_address(0)); }     \
    API void __tsan_unaligned_write##n(void *p) { see(p, n, WRITE, __builtin_return_address(0)); }   \
    API void __tsan_volatile_read##n(void *p) { see(p, n, READ, __builtin_return_address(0)); }      \
    API void __tsan_volatile_write##n(void *p) { see(p, n, WRITE, __builtin_return_address(0)); }
ACCESS(1) ACCESS(2) ACCESS(4) ACCESS(8) ACCESS(16)

#define SEEN see_atomic(p, sizeof *p, order, __builtin_return_address(0))
#define CHANGE(bits, name, how)                                                                  \
    API uint##bits##_t __tsan_atomic##bits##_##name(volatile uint##bits##_t *p, uint##bits##_t v, int order) \
    {                                                                                            \
        SEEN;                                                                       \
        return how(p, v, __ATOMIC_SEQ_CST);                                                      \
    }
#define ATOMICS(bits)                                                                            \
    CHANGE(bits, exchange, __atomic_exchange_n) CHANGE(bits, fetch_add, __atomic_fetch_add)      \
    CHANGE(bits, fetch_sub, __atomic_fetch_sub) CHANGE(bits, fetch_and, __atomic_fetch_and)      \
    CHANGE(bits, fetch_or, __atomic_fetch_or) CHANGE(bits, fetch_xor, __atomic_fetch_xor)        \
    API uint##bits##_t __tsan_atomic##bits##_load(const volatile uint##bits##_t *p, int order)   \
    {                                                                                            \
        SEEN;                                                                       \
        return __atomic_load_n(p, __ATOMIC_SEQ_CST);                                             \
    }                                                                                            \
    API void __tsan_atomic##bits##_store(volatile uint##bits##_t *p, uint##bits##_t v, int order) \
    {                                                                                            \
        SEEN;                                                                       \
        __atomic_store_n(p, v, __ATOMIC_SEQ_CST);                                                \
    }                                                                                            \
    API int __tsan_atomic##bits##_compare_exchange_strong(volatile uint##bits##_t *p, uint##bits##_t *old, \
                                                          uint##bits##_t v, int order, int otherwise)      \
    {                                                                                            \
        (void)otherwise, SEEN;                                                      \
        return __atomic_compare_exchange_n(p, old, v, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);    \
    }                                                                                            \
    API int __tsan_atomic##bits##_compare_exchange_weak(volatile uint##bits##_t *p, uint##bits##_t *old,   \
                                                        uint##bits##_t v, int order, int otherwise)        \
    {                                                                                            \
        (void)otherwise, SEEN;                                                      \
        return __atomic_compare_exchange_n(p, old, v, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);    \
    }
ATOMICS(8) ATOMICS(16) ATOMICS(32) ATOMICS(64)
API void __tsan_atomic_thread_fence(int order) { (void)order; }
API void __tsan_atomic_signal_fence(int order) { (void)order; }
