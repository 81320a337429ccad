/* Fibers, barriers and launches: the engine below cuda_on_cpu.h. Part of cuda_on_cpu.h, not to be included alone. */
#if defined(TG_TSAN) || defined(TG_RACES)
#define TG_WATCHED
#define TG_RUNTIME __attribute__((no_sanitize_thread, noinline)) static /* the emulator itself is not under test */
#else
#define TG_RUNTIME static inline
#endif
#ifdef TG_TSAN
extern "C" {
void *__tsan_get_current_fiber(void);
void *__tsan_create_fiber(unsigned);
void __tsan_destroy_fiber(void *);
void __tsan_switch_to_fiber(void *, unsigned);
void __tsan_acquire(void *);
void __tsan_release(void *);
}
#endif
#ifdef TG_RACES
extern "C" { /* of tests/races: who runs now, and which memory is nobody else's */
void races_begin(void *stack);
void races_part(int64_t part);
void races_own(int which, void *begin, void *end);
void races_end(void);
}
#else
static inline void races_begin(void *) {}
static inline void races_part(int64_t) {}
static inline void races_own(int, void *, void *) {}
static inline void races_end(void) {}
#endif
#define TG_UNCHECKED __attribute__((noinline, no_sanitize_thread)) static

extern "C" char __start_tg_shared[] __attribute__((weak, visibility("hidden")));
extern "C" char __stop_tg_shared[] __attribute__((weak, visibility("hidden")));

/* tg_switch(&my_stack, other_stack): leave this fiber, go on with another one. */
extern "C" void tg_switch(void **save, void *load);
#if defined(__x86_64__)
asm(R"(
.text
.type tg_switch,@function
tg_switch:
    pushq %rbp; pushq %rbx; pushq %r12; pushq %r13; pushq %r14; pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15; popq %r14; popq %r13; popq %r12; popq %rbx; popq %rbp
    ret
.size tg_switch,.-tg_switch
)");
#elif defined(__aarch64__)
asm(R"(
.text
.type tg_switch,%function
tg_switch:
    sub sp, sp, #160
    stp x19, x20, [sp]; stp x21, x22, [sp, #16]; stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]; stp x27, x28, [sp, #64]; stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]; stp d10, d11, [sp, #112]; stp d12, d13, [sp, #128]; stp d14, d15, [sp, #144]
    mov x9, sp; str x9, [x0]; mov sp, x1
    ldp x19, x20, [sp]; ldp x21, x22, [sp, #16]; ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]; ldp x27, x28, [sp, #64]; ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96]; ldp d10, d11, [sp, #112]; ldp d12, d13, [sp, #128]; ldp d14, d15, [sp, #144]
    add sp, sp, #160
    ret
)");
#else
#error "the emulation switches stacks by hand: x86-64 and aarch64 only"
#endif

namespace tg {
enum { THREADS = 1024, WARPS = THREADS / 32, STACK = 64 * 1024, DYNAMIC_SHARED = 227 * 1024 };

struct Fiber {
    void *stack;
    uint3 index;
    unsigned lane, warp, next, previous;
    void *tsan;
};
struct Warp {
    unsigned members, left, arrived, generation, waits_for[32];
    uint64_t slot[3][32]; /* what lanes publish: 0 and 1 for whole-warp operations in turn, 2 for parts of a warp */
};
struct State {
    uint3 block_index;
    dim3 block, grid;
    Fiber *current;
    unsigned threads, alive, arrived, generation, stuck;
    unsigned any, all, count, result[3]; /* of __syncthreads_or, _and, _count */
    void *main_stack, *main_tsan;
    char *dynamic, *stacks;
    size_t dynamic_size;
    void (*entry)(void **);
    void **arguments;
    char error[256];
    bool failed;
};
static State g;
static Fiber fiber[THREADS];
static Warp warp[WARPS];
#ifdef TG_TSAN
static char meeting[2 + WARPS * 4]; /* what ThreadSanitizer knows as the places where threads meet */
static inline void arrive(void *at) { __tsan_release(at); }
static inline void leave(void *at) { __tsan_acquire(at); }
static inline void announce(void *f) { __tsan_switch_to_fiber(f, 1); }
#else
static char meeting[2 + WARPS * 4];
static inline void arrive(void *) {}
static inline void leave(void *) {}
static inline void announce(void *) {}
#endif

TG_RUNTIME void fail(const char *what)
{
    const uint3 b = g.block_index, t = g.current->index;
    if (!g.failed)
        snprintf(g.error, sizeof g.error, "%s (block %u,%u,%u thread %u,%u,%u)", what, b.x, b.y, b.z, t.x, t.y, t.z);
    g.failed = true;
}

TG_UNCHECKED void go_to(Fiber *f)
{
    Fiber *me = g.current;
    g.current = f;
    announce(f->tsan);
    tg_switch(&me->stack, f->stack);
}

TG_RUNTIME void go_home()
{
    void *nowhere;
    announce(g.main_tsan);
    tg_switch(&nowhere, g.main_stack);
}

/* One step of waiting: somebody else runs. Once around without progress means that nobody ever will. */
TG_RUNTIME void wait()
{
    if (++g.stuck > 2 * g.alive + 2) {
        fail("deadlock: threads wait at different barriers");
        go_home();
    }
    go_to(&fiber[g.current->next]);
}

TG_RUNTIME void open_barrier()
{
    g.generation++;
    g.arrived = g.stuck = 0;
    g.result[0] = g.any, g.result[1] = g.all, g.result[2] = g.count;
    g.any = 0, g.all = 1, g.count = 0;
}

TG_RUNTIME void block_barrier(bool vote = true)
{
    const unsigned now = g.generation;
    char *at = &meeting[now & 1]; /* two in turn: an early arrival at the next barrier must not hide a race */
    arrive(at);
    g.any |= vote, g.all &= vote, g.count += vote;
    if (g.alive != g.threads) fail("__syncthreads after some threads of the block returned");
    if (++g.arrived == g.alive)
        open_barrier();
    else
        while (g.generation == now) wait();
    leave(at);
}

/* The lanes of a mask that exist; all of them must be there. */
TG_RUNTIME unsigned checked(unsigned mask)
{
    const Fiber *me = g.current;
    const Warp &w = warp[me->warp];
    mask &= w.members;
    const char *bad = !(mask >> me->lane & 1) ? "the calling lane is not in its own mask"
                      : mask & w.left         ? "the mask names a lane that has returned"
                                              : 0;
    if (bad) {
        fail(bad);
        go_home();
    }
    return mask;
}

/* Wait for the lanes of a checked mask. Disjoint parts of a warp may meet independently. */
TG_RUNTIME void warp_barrier(unsigned mask)
{
    const Fiber *me = g.current;
    Warp &w = warp[me->warp];
    const bool whole = mask == w.members;
    const unsigned now = w.generation;
    char *at = &meeting[2 + me->warp * 4 + (whole ? now & 1 : 2)];
    arrive(at);
    if (whole) {
        w.arrived |= 1u << me->lane;
        if (w.arrived == mask)
            w.generation++, w.arrived = 0, g.stuck = 0;
        else
            while (w.generation == now) wait();
    } else {
        w.waits_for[me->lane] = mask;
        bool all = true;
        for (unsigned m = mask; m; m &= m - 1) all &= w.waits_for[__builtin_ctz(m)] == mask;
        if (all)
            for (unsigned m = mask; m; m &= m - 1) w.waits_for[__builtin_ctz(m)] = 0, g.stuck = 0;
        else
            while (w.waits_for[me->lane]) wait();
    }
    leave(at);
}

TG_UNCHECKED void fiber_main()
{
    leave(&g.main_stack);
    g.entry(g.arguments);
    arrive(&g.main_tsan);
    Fiber *me = g.current;
    warp[me->warp].left |= 1u << me->lane;
    g.alive--, g.stuck = 0;
    fiber[me->previous].next = me->next;
    fiber[me->next].previous = me->previous;
    if (g.arrived) fail("a thread returned while others wait in __syncthreads");
    if (g.arrived && g.arrived == g.alive) open_barrier();
    if (!g.alive) go_home();
    go_to(&fiber[me->next]);
    __builtin_trap();
}

/* ------------------------------------------------------------------ launching */
template <size_t... I> struct numbers {};
template <size_t N, size_t... I> struct upto : upto<N - 1, N - 1, I...> {};
template <size_t... I> struct upto<0, I...> {
    typedef numbers<I...> type;
};
template <class... A, size_t... I> TG_RUNTIME void apply(void (*k)(A...), void **a, numbers<I...>)
{
    k(*(A *)a[I]...);
}
template <class... A> static inline void apply(void (*k)(A...), void **a)
{
    apply(k, a, typename upto<sizeof...(A)>::type());
}
template <class... A> static inline int params(void (*)(A...), size_t *sizes)
{
    const size_t all[] = {sizeof(A)..., 0};
    for (size_t i = 0; i < sizeof...(A); i++) sizes[i] = all[i];
    return sizeof...(A);
}

__attribute__((no_sanitize_thread, noinline, optimize("no-tree-loop-distribute-patterns"))) static void
poison(char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) p[i] = (char)0xff; /* not memset, which ThreadSanitizer would watch */
}

static const char *refused(const unsigned *grid, const unsigned *block, size_t dynamic)
{
    const size_t threads = (size_t)block[0] * block[1] * block[2];
    if (!threads || threads > THREADS || block[2] > 64) return "invalid block size";
    if (!grid[0] || !grid[1] || !grid[2] || grid[0] > 2147483647u || grid[1] > 65535u || grid[2] > 65535u)
        return "invalid grid size";
    return dynamic > DYNAMIC_SHARED ? "dynamic shared memory over 227 KB" : 0;
}

static bool make_room(size_t dynamic, bool fibers)
{
#ifdef TG_WATCHED
    if (!g.dynamic)
        g.dynamic = (char *)mmap(0, 256 * 1024, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
#else
    if (dynamic != g.dynamic_size) { /* of the exact size: AddressSanitizer then sees its end */
        void *p = 0;
        free(g.dynamic);
        if (dynamic && posix_memalign(&p, 128, dynamic)) return false;
        g.dynamic = (char *)p, g.dynamic_size = dynamic;
    }
#endif
    if (fibers && !g.stacks)
        g.stacks = (char *)mmap(0, (size_t)THREADS * STACK, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return true;
}

static unsigned setting(const char *name)
{
    const char *text = getenv(name);
    return text ? (unsigned)atoi(text) : 0;
}

TG_RUNTIME void in_order(unsigned *order, unsigned n, unsigned how, unsigned *seed)
{
    for (unsigned i = 0; i < n; i++) order[i] = how == 1 ? n - 1 - i : i;
    for (unsigned i = n - 1; how == 2 && i; i--) {
        *seed = *seed * 1664525u + 1013904223u;
        const unsigned j = (*seed >> 8) % (i + 1), t = order[i];
        order[i] = order[j], order[j] = t;
    }
}

/* A stack on which switching to the fiber enters fiber_main; shifted, so that stacks do not share cache sets. */
TG_RUNTIME void *new_stack(unsigned i)
{
    const uintptr_t top = (uintptr_t)(g.stacks + (size_t)(i + 1) * STACK) - i % 61 * 320;
    void **at = (void **)(top & ~(uintptr_t)15);
#if defined(__x86_64__)
    *--at = 0;
    *--at = (void *)fiber_main;
    for (int k = 0; k < 6; k++) *--at = 0;
#else
    at -= 20;
    memset(at, 0, 160);
    at[11] = (void *)fiber_main;
#endif
    return at;
}

__attribute__((no_sanitize_thread)) static void run_block(const unsigned *order, unsigned n)
{
    for (unsigned w = 0; w < (n + 31) / 32; w++) {
        memset(&warp[w], 0, sizeof(Warp));
        warp[w].members = n - w * 32 >= 32 ? ~0u : (1u << (n - w * 32)) - 1;
    }
    for (unsigned i = 0; i < n; i++) {
        fiber[order[i]].next = order[(i + 1) % n];
        fiber[order[(i + 1) % n]].previous = order[i];
        fiber[i].stack = new_stack(i);
#ifdef TG_TSAN
        static void *made[THREADS]; /* making one takes long, so they are kept */
        if (!made[i]) made[i] = __tsan_create_fiber(0);
        fiber[i].tsan = made[i];
#endif
    }
    g.threads = g.alive = n;
    g.arrived = g.stuck = g.any = g.count = 0, g.all = 1;
    g.current = &fiber[order[0]];
#ifdef TG_TSAN
    g.main_tsan = __tsan_get_current_fiber();
#endif
    arrive(&g.main_stack);
    announce(g.current->tsan);
    tg_switch(&g.main_stack, g.current->stack);
    leave(&g.main_tsan);
}

/* All blocks of a launch, one after another: 0, or 1 with a message. */
__attribute__((no_sanitize_thread)) static int launch(void (*entry)(void **), bool fibers, const unsigned *grid,
                                                      const unsigned *block, size_t dynamic, void **arguments,
                                                      char *error, size_t room)
{
    const size_t fixed = __stop_tg_shared - __start_tg_shared;
    const char *bad = refused(grid, block, dynamic);
    if (!bad && !make_room(dynamic, fibers)) bad = "no memory";
    if (bad) {
        snprintf(error, room, "launch: %s", bad);
        return 1;
    }
    static unsigned order[THREADS];
    const unsigned how = setting("TG_ORDER"), n = block[0] * block[1] * block[2];
    unsigned seed = setting("TG_SEED") * 2654435761u + 1;
    g.grid = dim3(grid[0], grid[1], grid[2]), g.block = dim3(block[0], block[1], block[2]);
    g.entry = entry, g.arguments = arguments, g.failed = false;
    const size_t blocks = (size_t)grid[0] * grid[1] * grid[2];
    races_begin(fibers ? 0 : __builtin_frame_address(0));
    races_own(0, __start_tg_shared, __stop_tg_shared);
    races_own(1, g.dynamic, g.dynamic + dynamic);
    races_own(2, g.stacks, g.stacks + (fibers ? (size_t)THREADS * STACK : 0));
    for (size_t k = 0; k < blocks; k++) {
        const size_t b = how == 1 ? blocks - 1 - k : k;
        g.block_index = {(unsigned)(b % grid[0]), (unsigned)(b / grid[0] % grid[1]), (unsigned)(b / grid[0] / grid[1])};
        poison(__start_tg_shared, fixed);
        poison(g.dynamic, dynamic);
        in_order(order, n, how, &seed);
        for (unsigned i = 0; i < n; i++) {
            fiber[i].index = {i % block[0], i / block[0] % block[1], i / (block[0] * block[1])};
            fiber[i].lane = i & 31, fiber[i].warp = i >> 5;
        }
        races_part((int64_t)k); /* threads of a block that wait for each other: ThreadSanitizer's business */
        if (fibers)
            run_block(order, n);
        else
            for (unsigned i = 0; i < n; i++)
                races_part((int64_t)k * n + i), g.current = &fiber[order[i]], entry(arguments);
        if (g.failed) {
            snprintf(error, room, "%s", g.error);
            break;
        }
    }
    races_end();
    return g.failed;
}
} // namespace tg
