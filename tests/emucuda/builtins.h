/* What CUDA C++ offers to a kernel without any header. Part of cuda_on_cpu.h, not to be included alone. */
#ifdef TG_WATCHED
namespace tg { /* read through functions, which are not watched */
TG_RUNTIME uint3 thread_index() { return g.current->index; }
TG_RUNTIME uint3 block_index() { return g.block_index; }
TG_RUNTIME dim3 block_size() { return g.block; }
TG_RUNTIME dim3 grid_size() { return g.grid; }
} // namespace tg
#define threadIdx (tg::thread_index())
#define blockIdx (tg::block_index())
#define blockDim (tg::block_size())
#define gridDim (tg::grid_size())
#else
#define threadIdx (tg::g.current->index)
#define blockIdx (tg::g.block_index)
#define blockDim (tg::g.block)
#define gridDim (tg::g.grid)
#endif
#define warpSize 32

/* ------------------------------------------------------------------ waiting */
static inline void __syncthreads() { tg::block_barrier(); }
static inline int __syncthreads_or(int p) { return tg::block_barrier(p != 0), tg::g.result[0]; }
static inline int __syncthreads_and(int p) { return tg::block_barrier(p != 0), tg::g.result[1]; }
static inline int __syncthreads_count(int p) { return tg::block_barrier(p != 0), tg::g.result[2]; }
static inline void __syncwarp(unsigned mask = 0xffffffffu) { tg::warp_barrier(tg::checked(mask)); }
static inline void __threadfence() {}
static inline void __threadfence_block() {}

/* ------------------------------------------------------------------ between lanes */
namespace tg {
struct Exchange {
    Warp *warp;
    unsigned mask, part;
};
/* All lanes of a mask publish 8 bytes; then each may read those of the others. */
TG_RUNTIME Exchange publish(unsigned mask, uint64_t value)
{
    const Fiber *me = g.current;
    Warp &w = warp[me->warp];
    mask = checked(mask);
    const unsigned part = mask == w.members ? w.generation & 1 : 2;
    w.slot[part][me->lane] = value;
    warp_barrier(mask);
    return {&w, mask, part};
}
TG_RUNTIME void finish(const Exchange &e)
{
    if (e.part == 2) warp_barrier(e.mask); /* whole warps have two sets of slots in turn */
}
template <class T> TG_RUNTIME T shuffle(unsigned mask, T value, int from, bool inside)
{
    static_assert(sizeof(T) <= 8, "a shuffle moves 8 bytes at most");
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof value);
    const Exchange e = publish(mask, bits);
    if (inside && !(e.mask >> from & 1)) fail("a shuffle reads a lane outside the mask");
    if (inside) memcpy(&value, &e.warp->slot[e.part][from], sizeof value);
    finish(e);
    return value;
}
TG_RUNTIME int lane() { return g.current->lane; }
} // namespace tg
template <class T> static inline T __shfl_sync(unsigned mask, T v, int from, int width = 32)
{
    return tg::shuffle(mask, v, (tg::lane() & ~(width - 1)) + (from & (width - 1)), true);
}
template <class T> static inline T __shfl_xor_sync(unsigned mask, T v, int x, int width = 32)
{
    const int to = tg::lane() ^ x;
    return tg::shuffle(mask, v, to & 31, (to & ~(width - 1)) <= (tg::lane() & ~(width - 1)));
}
template <class T> static inline T __shfl_down_sync(unsigned mask, T v, unsigned d, int width = 32)
{
    return tg::shuffle(mask, v, (tg::lane() + (int)d) & 31, (tg::lane() & (width - 1)) + (int)d < width);
}
template <class T> static inline T __shfl_up_sync(unsigned mask, T v, unsigned d, int width = 32)
{
    return tg::shuffle(mask, v, (tg::lane() - (int)d) & 31, (tg::lane() & (width - 1)) >= (int)d);
}
TG_RUNTIME unsigned __ballot_sync(unsigned mask, int p)
{
    unsigned votes = 0;
    const tg::Exchange e = tg::publish(mask, p != 0);
    for (int i = 0; i < 32; i++)
        if (e.mask >> i & 1) votes |= (unsigned)e.warp->slot[e.part][i] << i;
    tg::finish(e);
    return votes;
}
static inline int __any_sync(unsigned mask, int p) { return __ballot_sync(mask, p) != 0; }
static inline int __all_sync(unsigned mask, int p) { return __ballot_sync(mask, !p) == 0; }

/* ------------------------------------------------------------------ atomics: real ones, which are no races */
namespace tg {
template <size_t N> struct word;
template <> struct word<4> {
    typedef uint32_t type;
};
template <> struct word<8> {
    typedef uint64_t type;
};
template <class T, class F> static inline T change(T *p, F f)
{
    typedef typename word<sizeof(T)>::type W;
    W old = __atomic_load_n((W *)p, __ATOMIC_RELAXED), now;
    T value, next;
    do {
        memcpy(&value, &old, sizeof value);
        next = f(value);
        memcpy(&now, &next, sizeof now);
    } while (!__atomic_compare_exchange_n((W *)p, &old, now, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return value;
}
} // namespace tg
#define TG_ATOMIC(name, expression)                                           \
    template <class T> static inline T name(T *p, T v)                        \
    {                                                                         \
        return tg::change(p, [=](T old) { return (T)(expression); });         \
    }
TG_ATOMIC(atomicAdd, old + v)
TG_ATOMIC(atomicSub, old - v)
TG_ATOMIC(atomicMax, old > v ? old : v)
TG_ATOMIC(atomicMin, old < v ? old : v)
TG_ATOMIC(atomicExch, v)
TG_ATOMIC(atomicOr, old | v)
TG_ATOMIC(atomicAnd, old &v)
template <class T> static inline T atomicCAS(T *p, T compare, T value)
{
    __atomic_compare_exchange_n(p, &compare, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return compare;
}

/* ------------------------------------------------------------------ numbers */
namespace tg {
template <class To, class From> static inline To bits_of(From x)
{
    To y;
    static_assert(sizeof x == sizeof y, "the same bits");
    memcpy(&y, &x, sizeof y);
    return y;
}
} // namespace tg
static inline float __int_as_float(int x) { return tg::bits_of<float>(x); }
static inline int __float_as_int(float x) { return tg::bits_of<int>(x); }
static inline float __uint_as_float(unsigned x) { return tg::bits_of<float>(x); }
static inline unsigned __float_as_uint(float x) { return tg::bits_of<unsigned>(x); }
static inline double __longlong_as_double(long long x) { return tg::bits_of<double>(x); }
static inline long long __double_as_longlong(double x) { return tg::bits_of<long long>(x); }
static inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((unsigned long long)a * b >> 32); }
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b)
{
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}
static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
static inline int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
static inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
static inline double rsqrt(double x) { return 1.0 / sqrt(x); }
static inline float __fdividef(float a, float b) { return a / b; }
#define __expf expf /* the C library declares functions of these names itself */
#define __logf logf
template <class T> static inline T __ldg(const T *p) { return *p; }
#define TG_EXTREMES(T)                                      \
    static inline T min(T a, T b) { return a < b ? a : b; } \
    static inline T max(T a, T b) { return a > b ? a : b; }
TG_EXTREMES(int)
TG_EXTREMES(unsigned)
TG_EXTREMES(long)
TG_EXTREMES(unsigned long)
TG_EXTREMES(long long)
TG_EXTREMES(unsigned long long)
static inline float min(float a, float b) { return fminf(a, b); }
static inline float max(float a, float b) { return fmaxf(a, b); }
static inline double min(double a, double b) { return fmin(a, b); }
static inline double max(double a, double b) { return fmax(a, b); }
