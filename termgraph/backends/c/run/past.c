/* Results that are longer than the last cache go past it: a store that waits for its line reads what it overwrites, a
   third of all that `y = 2 * x` moves. A kernel writes to a small block, which is then stored line by line; so no kernel
   has a second text, and what it computes has the same bits. Needs team.c in front; knows nothing of Python. */
#include <stdio.h>
#include <string.h>

enum { PAST_BLOCK = 1024, PAST_RESULTS = 4, PAST_CONTEXT = 1 << 15 };

/* One store for a whole line where there is one: parts of a line are put together in few places, and go to memory
   as parts when another takes their place. */
#if defined(__AVX512F__)
#define PAST_WIDE 64
#define PAST_STORE_GCC __builtin_ia32_movntdq512
#elif defined(__AVX__)
#define PAST_WIDE 32
#define PAST_STORE_GCC __builtin_ia32_movntdq256
#elif defined(__SSE2__)
#define PAST_WIDE 16
#define PAST_STORE_GCC __builtin_ia32_movntdq
#endif
#if defined(PAST_WIDE)
typedef long long past_part __attribute__((vector_size(PAST_WIDE)));
typedef long long past_from __attribute__((vector_size(PAST_WIDE), aligned(1), may_alias));
#if defined(__clang__)
#define PAST_STORE(to, x) __builtin_nontemporal_store(x, (past_part *)(to))
#else
#define PAST_STORE(to, x) PAST_STORE_GCC((past_part *)(to), x)
#endif
__attribute__((optimize("O1"))) static void store_past(char *to, const char *from, size_t bytes)
{
    size_t k = -(uintptr_t)to & 63;
    if (k > bytes) k = bytes;
    if (k) memcpy(to, from, k);
    for (; k + 64 <= bytes; k += 64)
        for (int q = 0; q < 64; q += PAST_WIDE) PAST_STORE(to + k + q, *(const past_from *)(from + k + q));
    if (k < bytes) memcpy(to + k, from + k, bytes - k);
}
static void end_of_stores(void) { __builtin_ia32_sfence(); }
#else
static void store_past(char *to, const char *from, size_t bytes) { memcpy(to, from, bytes); }
static void end_of_stores(void) {}
#endif

/* The bytes of the last cache, as Linux tells them; 0 where that is not known. */
static int64_t last_cache(void)
{
    long kilobytes = 0;
    FILE *file = fopen("/sys/devices/system/cpu/cpu0/cache/index3/size", "r");
    if (!file) return 0;
    if (fscanf(file, "%ldK", &kilobytes) != 1) kilobytes = 0;
    fclose(file);
    return (int64_t)kilobytes << 10;
}

/* Blocks are whole vectors of every kind, so that the same elements are left over as without blocks. */
__attribute__((optimize("O1"))) static void run_past(void *given, int64_t begin, int64_t end, int64_t part)
{
    const tg_past *p = given;
    char room[PAST_RESULTS][PAST_BLOCK] __attribute__((aligned(64))), copy[p->size] __attribute__((aligned(64)));
    memcpy(copy, p->context, (size_t)p->size);
    char **buf = (char **)(copy + p->buffers), *to[PAST_RESULTS];
    int64_t widest = 1;
    for (int k = 0; k < p->count; k++) {
        const int64_t *r = p->results + 3 * k;
        to[k] = buf[r[0]];
        if (r[1] > widest) widest = r[1];
    }
    const int64_t steps = PAST_BLOCK / widest / 64 * 64;
    for (int64_t at = begin; at < end; at += steps) {
        const int64_t some = end - at < steps ? end - at : steps;
        for (int k = 0; k < p->count; k++) {
            const int64_t *r = p->results + 3 * k;
            buf[r[0]] = (char *)((uintptr_t)room[k] - (uintptr_t)((at + r[2]) * r[1]));
        }
        p->kernel(copy, at, at + some, part);
        for (int k = 0; k < p->count; k++) {
            const int64_t *r = p->results + 3 * k;
            store_past(to[k] + (at + r[2]) * r[1], room[k], (size_t)(some * r[1]));
        }
    }
    end_of_stores();
}

/* How many bytes of results go past the caches: of less than three quarters of the last one some may still be there when
   it is read. Asked when there are so many for the first time. */
static int64_t most_cached(int64_t bytes)
{
    static _Atomic int known;
    if (bytes >= runtime.cached && !atomic_load(&known)) {
        const int64_t most = last_cache() / 4 * 3;
        if (most > runtime.cached) runtime.cached = most;
        atomic_store(&known, 1);
    }
    return runtime.cached;
}

static void each_past(const tg_past *p)
{
    int64_t bytes = 0;
    for (int k = 0; k < p->count; k++) bytes += p->results[3 * k + 1];
    const int past = p->n >= runtime.cached / bytes && p->count <= PAST_RESULTS && p->size <= PAST_CONTEXT &&
                     p->n >= most_cached(p->n * bytes) / bytes;
    const tg_body body = past ? run_past : p->kernel;
    void *const context = past ? (void *)p : p->context;
    if (p->n > 1 && p->n > 2 * p->grain / (p->cost + 1)) parallel_for(body, context, p->n, p->grain / (p->cost + 1) + 1);
    else if (p->n > 0) body(context, 0, p->n, 0);
}
__attribute__((constructor)) static void offer_past(void)
{
    runtime.each_past = each_past;
#if !defined(PAST_WIDE)
    runtime.cached = INT64_MAX;
#endif
}
