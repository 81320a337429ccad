"""What stands in front of generated kernels: types, reductions of a team of threads, and the C helpers that are used.

Self-contained: no header of the toolkit is included, so that a kernel compiles in a few hundredths of a second. The
same text compiles with NVRTC, nvcc and, in `emucuda`, with g++.
"""

from __future__ import annotations

import re

from termgraph.backends.c.text import prelude as c
from termgraph.backends.c.text.halves import ODD
from termgraph.backends.cuda.text import complexes
from termgraph.backends.cuda.text.from_c import HELPERS, device_text
from termgraph.backends.cuda.text.from_c import INLINE as _INLINE
from termgraph.terms.traverse import parts_first

_WORD = re.compile(r"[A-Za-z_]\w*")

BASE = """\
#ifndef __CUDA_ON_CPU__
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned uint32_t;
typedef long int64_t;
typedef unsigned long uint64_t;
#endif
#ifndef TG_DYN_SHARED
#define TG_DYN_SHARED(T, name) extern __shared__ T name[]
#endif
#define TG_INF __longlong_as_double(0x7ff0000000000000ll)
#define TG_NAN __longlong_as_double(0x7ff8000000000000ll)
#define TG_INFF __int_as_float(0x7f800000)
#define TG_NANF __int_as_float(0x7fc00000)
#ifdef TG_WIDE
typedef int64_t tg_int; /* some array has more elements than 32 bits count */
#else
typedef int tg_int;
#endif
"""


def _mma(name: str, kind: str) -> str:
    """The function that adds a product to d: registers hold rows and columns as the instruction wants them."""
    return f"""#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800 && !defined(TG_TENSOR_CORES)
#define TG_TENSOR_CORES
#endif
#ifdef TG_TENSOR_CORES
{_INLINE}void tg_mma_{name}(float *d, const uint32_t *a, const uint32_t *b)
{{
#ifdef __CUDA_ON_CPU__
    const int row = (threadIdx.x & 31) >> 2, column = (threadIdx.x & 3) * 2;
    for (int e = 0; e < 4; e++)
        for (int k = 0; k < 16; k++) {{
            const uint32_t x = __shfl_sync(0xffffffffu, a[(e >> 1) + (k >> 3) * 2], row * 4 + (k & 7) / 2);
            const uint32_t y = __shfl_sync(0xffffffffu, b[k >> 3], (column + (e & 1)) * 4 + (k & 7) / 2);
            d[e] += tg_from_{name}(x >> (k & 1) * 16) * tg_from_{name}(y >> (k & 1) * 16);
        }}
#else
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.{kind}.{kind}.f32 "
                 "{{%0, %1, %2, %3}}, {{%4, %5, %6, %7}}, {{%8, %9}}, {{%0, %1, %2, %3}};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
}}
#endif"""


TEXTS = {
    **HELPERS,
    # Where this is used nothing is joined: programs with it are compiled so.
    "tg_apart": f"{_INLINE}double tg_apart(double x) {{ return x; }}",
    "tg_vec": "template <class T, int N> struct __align__(sizeof(T) * N > 16 ? 16 : sizeof(T) * N) tg_vec { T v[N]; };",
    "tg_sqr": f"template <class T> {_INLINE}T tg_sqr(T x) {{ return x * x; }}",
    "tg_sum": f"struct tg_sum {{ template <class T> {_INLINE}T operator()(T a, T b) const {{ return a + b; }} }};",
    "tg_prod": f"struct tg_prod {{ template <class T> {_INLINE}T operator()(T a, T b) const {{ return a * b; }} }};",
    # a NaN wins, as in NumPy
    "tg_max": f"""struct tg_max {{
    template <class T> {_INLINE}T operator()(T a, T b) const {{ return a > b || a != a ? a : b; }}
}};""",
    "tg_min": f"""struct tg_min {{
    template <class T> {_INLINE}T operator()(T a, T b) const {{ return a < b || a != a ? a : b; }}
}};""",
    # What an element was decides whether the new one is written, until nobody came between. The first exchange says
    # what that is, unless it is 0: a plain read beside atomic writes of others is a race.
    "tg_atomic_fold": f"""template <int N> struct tg_word {{ typedef unsigned type; }};
template <> struct tg_word<8> {{ typedef unsigned long long type; }};
template <class T, class F> {_INLINE}void tg_atomic_fold(T *p, T value, F fold)
{{
    typedef typename tg_word<sizeof(T)>::type word;
    union {{ word bits; T number; }} seen, next;
    word there = 0;
    do {{
        seen.bits = there;
        next.number = fold(seen.number, value);
        there = atomicCAS((word *)p, seen.bits, next.bits);
    }} while (there != seen.bits);
}}""",
    "tg_any": f"struct tg_any {{ template <class T> {_INLINE}T operator()(T a, T b) const {{ return a | b; }} }};",
    "tg_all": f"struct tg_all {{ template <class T> {_INLINE}T operator()(T a, T b) const {{ return a & b; }} }};",
    "tg_shuffle": f"""template <class T> {_INLINE}T tg_shuffle(T v, int step)
{{
    return __shfl_xor_sync(0xffffffffu, v, step);
}}
template <> {_INLINE}bool tg_shuffle(bool v, int s) {{ return __shfl_xor_sync(0xffffffffu, (int)v, s); }}
template <> {_INLINE}int8_t tg_shuffle(int8_t v, int s) {{ return __shfl_xor_sync(0xffffffffu, (int)v, s); }}
template <> {_INLINE}uint8_t tg_shuffle(uint8_t v, int s) {{ return __shfl_xor_sync(0xffffffffu, (int)v, s); }}
template <> {_INLINE}int16_t tg_shuffle(int16_t v, int s) {{ return __shfl_xor_sync(0xffffffffu, (int)v, s); }}
template <> {_INLINE}uint16_t tg_shuffle(uint16_t v, int s) {{ return __shfl_xor_sync(0xffffffffu, (int)v, s); }}""",
    # By a multiplication, of numbers below 2^31: (m x / 2^32 + x) / 2^h.
    "tg_quotient": f"""{_INLINE}tg_int tg_quotient(tg_int x, tg_int d, tg_int m, tg_int h)
{{
#ifdef TG_WIDE
    return x / d;
#else
    return (int)((__umulhi((unsigned)x, (unsigned)m) + (unsigned)x) >> h);
#endif
}}""",
    # relu and gelu (the one by tanh)
    "tg_finished": f"""template <class T> {_INLINE}T tg_finished(T v, int act)
{{
    if (act == 1) return v > 0 || v != v ? v : (T)0;
    return act == 2 ? v / (1 + exp((T)-1.5957691216057308 * (v + (T)0.044715 * v * v * v))) : v;
}}""",
    "tg_shuffle_up": f"""template <class T> {_INLINE}T tg_shuffle_up(T v, int step)
{{
    if constexpr (sizeof(T) < 4) return (T)__shfl_up_sync(0xffffffffu, (int)v, step);
    else return __shfl_up_sync(0xffffffffu, v, step);
}}""",
    # What goes before the value of this thread in its block, and the total of the block.
    "tg_running": f"""template <class Op, class T> {_INLINE}T tg_running(T v, Op op, T unit, T &total, char *room)
{{
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    T *part = (T *)room;
#pragma unroll
    for (int step = 1; step < 32; step <<= 1) {{
        const T other = tg_shuffle_up(v, step);
        if (lane >= step) v = op(other, v);
    }}
    __syncthreads(); /* the room may still be read */
    if (lane == 31) part[warp] = v;
    __syncthreads();
    T before = unit;
    total = unit;
    for (int k = 0; k < blockDim.x >> 5; k++) {{
        if (k == warp) before = total;
        total = op(total, part[k]);
    }}
    v = tg_shuffle_up(v, 1);
    return lane ? op(before, v) : before;
}}""",
    # NaN goes last, and of equal numbers the one that stood further on.
    "tg_less": f"template <class T> {_INLINE}bool tg_less(T a, T b) {{ return a < b || (a == a && b != b); }}",
    "tg_after": f"""template <class T> {_INLINE}bool tg_after(T a, int ia, T b, int ib)
{{
    if (ia == 0x7fffffff || ib == 0x7fffffff) return ib != 0x7fffffff;
    return tg_less(b, a) || (!tg_less(a, b) && ia > ib);
}}""",
    "tg_barrier": f"""{_INLINE}void tg_barrier(int team)
{{
    if (team > 32) __syncthreads();
    else if (team > 1) __syncwarp();
}}""",
    # Every thread gets the result. The order is fixed by the size of the team, so results repeat to the last bit.
    "tg_fold": f"""template <class Op, class T> {_INLINE}T tg_fold(T v, Op op, int team, char *room)
{{
    if (team == 1) return v;
#pragma unroll
    for (int step = 16; step; step >>= 1) v = op(v, tg_shuffle(v, step));
    if (team == 32) return v;
    T *part = (T *)room;
    __syncthreads(); /* the room may still be read */
    if (!(threadIdx.x & 31)) part[threadIdx.x >> 5] = v;
    __syncthreads();
    v = part[0];
    for (int k = 1; k < team >> 5; k++) v = op(v, part[k]);
    return v;
}}""",
    # The same across the rows of a block of 32 columns; the rows lie 33 elements apart, so that banks do not collide.
    "tg_column_fold": f"""template <class Op, class T> {_INLINE}T tg_column_fold(T v, Op op, char *room)
{{
    T *part = (T *)room + threadIdx.x;
    __syncthreads(); /* the room may still be read */
    part[threadIdx.y * 33] = v;
    __syncthreads();
    v = part[0];
    for (int k = 1; k < blockDim.y; k++) v = op(v, part[k * 33]);
    return v;
}}""",
    # The larger value, and of equal ones the first; a NaN is larger than everything.
    "tg_better": f"""template <class T> {_INLINE}bool tg_better(bool smallest, T a, int64_t ia, T b, int64_t ib)
{{
    if (a != a || b != b) return a != a && (b == b || ia < ib);
    return a == b ? ia < ib : smallest ? a < b : a > b;
}}""",
    "tg_arg_fold": f"""template <class T>
{_INLINE}void tg_arg_fold(T &best, int64_t &at, bool smallest, int team, char *room)
{{
    if (team == 1) return;
#pragma unroll
    for (int step = 16; step; step >>= 1) {{
        T b = tg_shuffle(best, step);
        int64_t ib = tg_shuffle(at, step);
        if (tg_better(smallest, b, ib, best, at)) best = b, at = ib;
    }}
    if (team == 32) return;
    int64_t *places = (int64_t *)room;
    T *part = (T *)(room + 256);
    __syncthreads();
    if (!(threadIdx.x & 31)) part[threadIdx.x >> 5] = best, places[threadIdx.x >> 5] = at;
    __syncthreads();
    best = part[0], at = places[0];
    for (int k = 1; k < team >> 5; k++)
        if (tg_better(smallest, part[k], places[k], best, at)) best = part[k], at = places[k];
}}""",
    # Only the first failure is kept; the host asks for it when it waits for the results.
    "tg_fail": f"""{_INLINE}void tg_fail(int64_t *status, int64_t site, int64_t index, int64_t length, int64_t step)
{{
    if (atomicCAS((unsigned long long *)status, 0ull, 3ull) != 0ull) return;
    status[1] = site, status[2] = index, status[3] = length, status[4] = step;
}}""",
    "tg_from_half": f"""{_INLINE}float tg_from_half(uint16_t h)
{{
#ifdef __CUDA_ON_CPU__
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, rest = h & 0x7fff;
    if (rest >= 0x7c00) return __uint_as_float(sign | 0x7f800000u | (rest & 0x3ff) << 13);
    float x = __uint_as_float((rest << 13)) * __uint_as_float(0x77800000u); /* times 2^112 */
    return __uint_as_float(sign | __float_as_uint(x));
#else
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(h));
    return x;
#endif
}}""",
    "tg_to_half": f"""{_INLINE}uint16_t tg_to_half(float f)
{{
#ifdef __CUDA_ON_CPU__
    uint32_t x = __float_as_uint(f), sign = x >> 16 & 0x8000, rest = x & 0x7fffffff;
    if (rest > 0x7f800000) return sign | 0x7e00;
    if (rest >= 0x477ff000) return sign | 0x7c00; /* rounds to more than 65504 */
    if (rest < 0x38800000) /* below the smallest normal number: adding 0.5 rounds at the right bit */
        return sign | (__float_as_uint(__uint_as_float(rest) + 0.5f) - 0x3f000000u);
    return sign | ((rest + 0xfff + (rest >> 13 & 1)) - 0x38000000u) >> 13;
#else
    uint16_t h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f));
    return h;
#endif
}}""",
    "tg_to_odd": _INLINE
    + ODD.replace("$BITS", "uint64_t bits = __double_as_longlong(d);").replace(
        "$DOUBLE", "return (float)__longlong_as_double(bits);"
    ),
    # Operands of products: to the nearest number with 10 or 7 bits behind the point, ties to even.
    "tg_round_tf32": f"""{_INLINE}float tg_round_tf32(float f)
{{
    const uint32_t x = __float_as_uint(f);
    return f - f == 0 ? __uint_as_float((x + 0xfff + (x >> 13 & 1)) & 0xffffe000u) : f;
}}""",
    # bfloat16 is the upper half of float32: bits suffice, also where the device has no arithmetic for it.
    "tg_from_bfloat": f"{_INLINE}float tg_from_bfloat(uint16_t h) {{ return __uint_as_float((uint32_t)h << 16); }}",
    "tg_to_bfloat": f"""{_INLINE}uint16_t tg_to_bfloat(float f)
{{
    const uint32_t x = __float_as_uint(f);
    return (f == f ? x + 0x7fff + (x >> 16 & 1) : (x | 0x7fffffff) & 0xffc00000u) >> 16;
}}""",
    # Products of 16 x 16 and 16 x 8 numbers of 16 bits by a warp, as tensor cores of compute capability 8.0 make them.
    **{f"tg_mma_{name}": _mma(name, kind) for name, kind in (("half", "f16"), ("bfloat", "bf16"))},
    "tg_round_bfloat": f"{_INLINE}float tg_round_bfloat(float f) {{ return tg_from_bfloat(tg_to_bfloat(f)); }}",
    # Of a number that is rounded already.
    "tg_cut_bfloat": f"{_INLINE}uint16_t tg_cut_bfloat(float f) {{ return __float_as_uint(f) >> 16; }}",
    "tg_round_half": f"{_INLINE}float tg_round_half(float f) {{ return tg_from_half(tg_to_half(f)); }}",
}


def needed(source: str) -> str:
    """The base, and the helpers that a source uses, those they use themselves first."""
    used = parts_first(_words(source), lambda name: _words(_text(name) or "")[::-1])
    return BASE + "\n".join(text for name in used if (text := _text(name)) is not None)


def _words(source: str) -> list[str]:
    return [w for w in dict.fromkeys(_WORD.findall(source)) if w.startswith("tg_")]


def _text(name: str) -> str | None:
    if name in TEXTS:
        return TEXTS[name]
    if name in complexes.PRELUDE:
        return complexes.PRELUDE[name]
    text = c.fixed(name) or c._helper(name)
    if text is None or "_Complex" in text:
        return None
    return device_text(text)
