"""C text of Fourier transforms of many rows or columns at once: one in each lane of a vector. Pure text.

A plan (factors, roots, places) is made once per length and kept by the program. Lengths with prime factors
above 97, very long and few transforms are left to NumPy's loops, which get all of them in one call.
"""

from __future__ import annotations

from termgraph.backends.c.apart import declared, section
from termgraph.backends.c.text import transform_lanes as lanes
from termgraph.backends.c.text.dialect import filled
from termgraph.backends.c.text.sort_texts import MEMORY

FEW = 4  # transforms that NumPy's loop is as fast for, one after the other

# The passes work in place: element k of the result ends at at[k]. `unit` are the roots of 2 n, `turn` what the parts of
# each pass are multiplied by.
# What all texts know.
SHAPE = """
#ifndef TG_FFT
typedef struct { /* steps in numbers, of which complex ones have two; `inner` goes from one transform to the next */
    int64_t count, given, n, points, inner, step, out_inner, out_step;
} tg_fft_shape;
#if defined(__GNUC__) && !defined(__clang__)
#define TG_FFT __attribute__((noinline, optimize("O2", "tree-vectorize", "fp-contract=fast")))
#else
#define TG_FFT __attribute__((noinline))
#endif
enum { TG_FFT_PLANS = 8, TG_FFT_BLOCK = 8, TG_FFT_PRIME = 97 };
#endif
"""
HERE = """
/* Whether transforms are computed here, many at once. */
TG_APART int tg_fft_here(int64_t n, int64_t many)
{
    if (n < 2 || n > 1 << 15 || many < FEW) return 0;
    for (int r = 2; r <= TG_FFT_PRIME && r * r <= n; r++) while (n % r == 0) n /= r;
    return n <= TG_FFT_PRIME;
}
"""
ROOT = """
/* e^(-2 pi i k / n), from an angle of at most an eighth of the circle. */
static void tg_fft_root(int64_t k, int64_t n, double *to)
{
    const double whole = 6.283185307179586476925 / (double)n;
    const int64_t eighth = 8 * k / n;
    double c, s;
    if (eighth == 0) c = __builtin_cos(whole * k), s = __builtin_sin(whole * k);
    else if (eighth < 3) c = __builtin_sin(whole * (0.25 * n - k)), s = __builtin_cos(whole * (0.25 * n - k));
    else if (eighth < 5) c = -__builtin_cos(whole * (0.5 * n - k)), s = __builtin_sin(whole * (0.5 * n - k));
    else if (eighth < 7) c = -__builtin_sin(whole * (0.75 * n - k)), s = -__builtin_cos(whole * (0.75 * n - k));
    else c = __builtin_cos(whole * (n - k)), s = -__builtin_sin(whole * (n - k));
    to[0] = c, to[1] = -s;
}
"""
TYPES = """
#ifndef TG_FFT_$N
#define TG_FFT_$N
typedef struct { int64_t n; int count, radix[16]; $T *unit, *turn; int32_t *at; } tg_fft_plan_$N;
#ifdef __AVX512F__
enum { TG_FFT_LANES_$N = 64 / sizeof($T) };
#elif defined(__AVX__)
enum { TG_FFT_LANES_$N = 32 / sizeof($T) };
#else
enum { TG_FFT_LANES_$N = 16 / sizeof($T) };
#endif
typedef $T tg_fv_$N __attribute__((vector_size(TG_FFT_LANES_$N * sizeof($T)), may_alias));
typedef struct { tg_fv_$N re, im; } tg_fc_$N;

static inline __attribute__((always_inline)) tg_fc_$N tg_fft_turned_$N(tg_fc_$N x, const $T *w)
{
    const $T c = w[0], s = w[1];
    return (tg_fc_$N){x.re * c - x.im * s, x.re * s + x.im * c};
}
#endif
"""
PLAN = """
static tg_fft_plan_$N *tg_fft_plans_$N[TG_FFT_PLANS];

static void tg_fft_forget_$N(tg_fft_plan_$N *p)
{
    if (p) free(p->unit), free(p->turn), free(p->at), free(p);
}

static tg_fft_plan_$N *tg_fft_made_$N(int64_t n)
{
    tg_fft_plan_$N *p = calloc(1, sizeof *p);
    if (!p) return NULL;
    int64_t rest = p->n = n, length = n, turns = 0; /* of the parts that a pass divides */
    while (rest % 4 == 0) p->radix[p->count++] = 4, rest /= 4;
    for (int r = 2; r <= TG_FFT_PRIME; r++) while (rest % r == 0) p->radix[p->count++] = r, rest /= r;
    p->unit = malloc(sizeof($T) * 4 * n);
    p->turn = malloc(sizeof($T) * 2 * n);
    p->at = malloc(sizeof(int32_t) * n);
    if (!p->unit || !p->turn || !p->at) return tg_fft_forget_$N(p), NULL;
    for (int64_t k = 0; k < 2 * n; k++) {
        double root[2];
        tg_fft_root(k, 2 * n, root);
        p->unit[2 * k] = ($T)root[0], p->unit[2 * k + 1] = ($T)root[1];
    }
    for (int f = 0; f < p->count; f++) {
        const int64_t part = length / p->radix[f];
        for (int64_t j = 0; j < part; j++)
            for (int q = 1; q < p->radix[f]; q++, turns++)
                for (int c = 0; c < 2; c++) p->turn[2 * turns + c] = p->unit[4 * (j * q * (n / length) % n) + c];
        length = part;
    }
    for (int64_t k = 0; k < n; k++) { /* digits of k, from the last; the first radix has the largest places */
        int64_t left = k, size = n, place = 0;
        for (int f = 0; f < p->count; f++) {
            size /= p->radix[f];
            place += left % p->radix[f] * size;
            left /= p->radix[f];
        }
        p->at[k] = (int32_t)place;
    }
    return p;
}

/* The plan of a length: one that is kept, or one that `tg_fft_done` forgets where all places are taken. */
TG_APART tg_fft_plan_$N *tg_fft_plan_of_$N(int64_t n)
{
    for (int i = 0; i < TG_FFT_PLANS; i++) {
        tg_fft_plan_$N *p = __atomic_load_n(&tg_fft_plans_$N[i], __ATOMIC_ACQUIRE), *none = NULL;
        if (p && p->n == n) return p;
        if (p) continue;
        p = tg_fft_made_$N(n);
        if (!p || __atomic_compare_exchange_n(&tg_fft_plans_$N[i], &none, p, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            return p;
        tg_fft_forget_$N(p);
        i--; /* another thread was faster: look again */
    }
    return tg_fft_made_$N(n);
}

TG_APART void tg_fft_done_$N(tg_fft_plan_$N *p)
{
    for (int i = 0; i < TG_FFT_PLANS; i++) if (p == __atomic_load_n(&tg_fft_plans_$N[i], __ATOMIC_ACQUIRE)) return;
    tg_fft_forget_$N(p);
}
"""

# The lanes of a vector are transforms of their own.
CORE = """
static TG_FFT void tg_fft_pass4_$N(tg_fc_$N *x, int64_t n, int64_t length, const $T *w)
{
    const int64_t m = length / 4;
    for (int64_t b = 0; b < n; b += length)
        for (int64_t j = 0; j < m; j++) {
            tg_fc_$N *at = x + b + j;
            const $T *t = w + 6 * j;
            const tg_fc_$N a0 = at[0], a1 = at[m], a2 = at[2 * m], a3 = at[3 * m];
            const tg_fc_$N s0 = {a0.re + a2.re, a0.im + a2.im}, d0 = {a0.re - a2.re, a0.im - a2.im};
            const tg_fc_$N s1 = {a1.re + a3.re, a1.im + a3.im}, d1 = {a1.re - a3.re, a1.im - a3.im};
            at[0] = (tg_fc_$N){s0.re + s1.re, s0.im + s1.im};
            at[m] = tg_fft_turned_$N((tg_fc_$N){d0.re + d1.im, d0.im - d1.re}, t);
            at[2 * m] = tg_fft_turned_$N((tg_fc_$N){s0.re - s1.re, s0.im - s1.im}, t + 2);
            at[3 * m] = tg_fft_turned_$N((tg_fc_$N){d0.re - d1.im, d0.im + d1.re}, t + 4);
        }
}

static TG_FFT void tg_fft_pass2_$N(tg_fc_$N *x, int64_t n, int64_t length, const $T *w)
{
    const int64_t m = length / 2;
    for (int64_t b = 0; b < n; b += length)
        for (int64_t j = 0; j < m; j++) {
            const tg_fc_$N a = x[b + j], c = x[b + j + m];
            x[b + j] = (tg_fc_$N){a.re + c.re, a.im + c.im};
            x[b + j + m] = tg_fft_turned_$N((tg_fc_$N){a.re - c.re, a.im - c.im}, w + 2 * j);
        }
}

/* An odd radix: sums and differences of the elements k and r - k, times cosines and sines. */
static inline __attribute__((always_inline)) void tg_fft_odd_$N(tg_fc_$N *x, int64_t n, int64_t length, const int r,
                                                                const $T *w, const $T *unit)
{
    const int64_t m = length / r, whole = n / r;
    const int half = (r - 1) / 2;
    enum { HALF = TG_FFT_PRIME / 2 };
    $T cosine[HALF], sine[HALF];
    for (int k = 0; k < half; k++) cosine[k] = unit[4 * (k + 1) * whole], sine[k] = unit[4 * (k + 1) * whole + 1];
    for (int64_t b = 0; b < n; b += length)
        for (int64_t j = 0; j < m; j++) {
            tg_fc_$N *at = x + b + j, sum[HALF], rest[HALF];
            const tg_fc_$N first = at[0];
            tg_fc_$N all = first;
            for (int k = 0; k < half; k++) {
                const tg_fc_$N a = at[(k + 1) * m], c = at[(r - 1 - k) * m];
                sum[k] = (tg_fc_$N){a.re + c.re, a.im + c.im};
                rest[k] = (tg_fc_$N){a.re - c.re, a.im - c.im};
                all.re += sum[k].re, all.im += sum[k].im;
            }
            at[0] = all;
            for (int q = 1; q <= half; q++) {
                tg_fc_$N even = first, odd = {0};
                for (int k = 0, i = q; k < half; k++, i += i + q < r ? q : q - r) {
                    const $T c = cosine[(i <= half ? i : r - i) - 1];
                    const $T s = i <= half ? sine[i - 1] : -sine[r - i - 1];
                    even.re += sum[k].re * c, even.im += sum[k].im * c;
                    odd.re += rest[k].re * s, odd.im += rest[k].im * s;
                }
                const tg_fc_$N one = {even.re - odd.im, even.im + odd.re}, two = {even.re + odd.im, even.im - odd.re};
                at[q * m] = tg_fft_turned_$N(one, w + 2 * ((r - 1) * j + q - 1));
                at[(r - q) * m] = tg_fft_turned_$N(two, w + 2 * ((r - 1) * j + r - q - 1));
            }
        }
}
static TG_FFT void tg_fft_pass3_$N(tg_fc_$N *x, int64_t n, int64_t length, const $T *w, const $T *unit)
{
    tg_fft_odd_$N(x, n, length, 3, w, unit);
}
static TG_FFT void tg_fft_pass5_$N(tg_fc_$N *x, int64_t n, int64_t length, const $T *w, const $T *unit)
{
    tg_fft_odd_$N(x, n, length, 5, w, unit);
}
static TG_FFT void tg_fft_pass_$N(tg_fc_$N *x, int64_t n, int64_t length, int r, const $T *w, const $T *unit)
{
    tg_fft_odd_$N(x, n, length, r, w, unit);
}

TG_APART void tg_fft_run_$N(const tg_fft_plan_$N *p, tg_fc_$N *x)
{
    const $T *w = p->turn;
    int64_t length = p->n;
    for (int f = 0; f < p->count; f++) {
        const int r = p->radix[f];
        if (r == 4) tg_fft_pass4_$N(x, p->n, length, w);
        else if (r == 2) tg_fft_pass2_$N(x, p->n, length, w);
        else if (r == 3) tg_fft_pass3_$N(x, p->n, length, w, p->unit);
        else if (r == 5) tg_fft_pass5_$N(x, p->n, length, w, p->unit);
        else tg_fft_pass_$N(x, p->n, length, r, w, p->unit);
        length /= r;
        w += 2 * (r - 1) * length;
    }
}
"""

# ---------------------------------------------------------------------- transforms of blocks of lanes
# $BEFORE loads a block into `room`, $AFTER stores it.
DRIVER = """
/* $WHAT Nonzero: no memory. */
TG_APART int tg_fft_$KIND_$N(const tg_fft_shape *s, const $T *x, $T *out, $T scale, int inverse)
{
    enum { L = TG_FFT_LANES_$N };
    const int by = $BY;
    const int64_t h = s->n / by, all = $ALL, m = s->given < all ? s->given : all;
    tg_fft_plan_$N *p = tg_fft_plan_of_$N(h);
    tg_fc_$N *room = p ? aligned_alloc(64, (sizeof *room * (2 * h + 2) + 63) / 64 * 64) : NULL;
    tg_fc_$N *more = room ? room + h : NULL;
    for (int64_t b = 0; room && b < s->count; b += L) {
        const int64_t lanes = s->count - b < L ? s->count - b : L;
        const $T *from = x + b * s->inner;
        $T *to = out + b * s->out_inner;
        $BEFORE
        tg_fft_run_$N(p, room);
        $AFTER
    }
    const int failed = !room;
    free(room);
    if (p) tg_fft_done_$N(p);
    return failed;
}
"""
_CLEAR = "if (m < all || lanes < L) __builtin_memset(WHERE, 0, sizeof *room * WHOLE);"
_COMPLEX = {
    "WHAT": "Transforms of complex numbers.", "BY": "1", "ALL": "s->n",
    "BEFORE": _CLEAR.replace("WHERE", "room").replace("WHOLE", "h") + """
        tg_fft_load_both_$N(from, s->inner, s->step, lanes, m, inverse, ($T *)room);""",
    "AFTER": "tg_fft_store_both_$N(room, p->at, s->out_inner, s->out_step, lanes, s->n, inverse, scale, to);",
}  # fmt: skip
_REAL = {
    "WHAT": "Transforms of real numbers: frequencies from 0. Even and odd places are parts of half as many numbers.",
    "BY": "s->n % 2 ? 1 : 2", "ALL": "s->n",
    "BEFORE": """if (m < all || lanes < L || by == 1) __builtin_memset(room, 0, sizeof *room * h);
        tg_fft_load_$N(from, s->inner, s->step, lanes, m, ($T *)room, 3 - by);""",
    "AFTER": """if (by == 2) tg_fft_halves_$N(room, p->at, h, p->unit, more);
        tg_fft_store_both_$N(by == 2 ? more : room, by == 2 ? NULL : p->at, s->out_inner, s->out_step, lanes, s->points,
                             0, scale, to);""",
}  # fmt: skip
_BACK = {
    "WHAT": "The inverse: frequencies from 0 to real numbers.", "BY": "s->n % 2 ? 1 : 2", "ALL": "s->n / 2 + 1",
    "BEFORE": _CLEAR.replace("WHERE", "more").replace("WHOLE", "all") + """
        tg_fft_load_both_$N(from, s->inner, s->step, lanes, m, 0, ($T *)more);
        tg_fft_joined_$N(more, s->n, p->unit, room);""",
    "AFTER": "tg_fft_store_$N(room, p->at, s->out_inner, s->out_step, lanes, h, by, 1, scale, to);",
}  # fmt: skip
HALVES = """
/* The transform of 2 h real numbers from that of h complex ones. */
static TG_FFT void tg_fft_halves_$N(const tg_fc_$N *x, const int32_t *at, int64_t h, const $T *unit, tg_fc_$N *to)
{
    const $T half = ($T)0.5;
    for (int64_t k = 0; k <= h; k++) {
        const tg_fc_$N a = x[at[k == h ? 0 : k]], b = x[at[k == 0 ? 0 : h - k]];
        const tg_fc_$N odd = {(a.im + b.im) * half, (b.re - a.re) * half};
        const tg_fc_$N turned = tg_fft_turned_$N(odd, unit + 2 * k);
        to[k] = (tg_fc_$N){(a.re + b.re) * half + turned.re, (a.im - b.im) * half + turned.im};
    }
}
"""
JOINED = """
/* What the inverse starts from, with exchanged parts; numbers at both ends are taken to be real. */
static TG_FFT void tg_fft_joined_$N(tg_fc_$N *x, int64_t n, const $T *unit, tg_fc_$N *to)
{
    const int64_t h = n / 2;
    x[0].im = (tg_fv_$N){0};
    if (n % 2) {
        for (int64_t k = 0; k <= h; k++) to[k] = (tg_fc_$N){x[k].im, x[k].re};
        for (int64_t k = h + 1; k < n; k++) to[k] = (tg_fc_$N){-x[n - k].im, x[n - k].re};
        return;
    }
    x[h].im = (tg_fv_$N){0};
    for (int64_t k = 0; k < h; k++) {
        const tg_fc_$N a = x[k], b = x[h - k], even = {a.re + b.re, a.im - b.im}, odd = {a.re - b.re, a.im + b.im};
        const $T c = unit[2 * k], s = -unit[2 * k + 1];
        to[k] = (tg_fc_$N){even.im + (odd.re * c - odd.im * s), even.re - (odd.re * s + odd.im * c)};
    }
}
"""
KINDS = {"complex": (_COMPLEX, ""), "real": (_REAL, HALVES), "back": (_BACK, JOINED)}


def functions(source: str) -> str:
    """The functions that a source calls: what all transforms of a dtype share, and each kind, are compiled once."""
    out = [section(SHAPE, HERE.replace("FEW", str(FEW)))] if "tg_fft_here(" in source else []
    for short, ctype in (("f32", "float"), ("f64", "double")):
        used = [kind for kind in KINDS if f"tg_fft_{kind}_{short}(" in source]
        core = "\n".join([MEMORY.strip(), ROOT.strip(), PLAN.strip(), CORE.strip(), lanes.text(short)])
        texts = [core, *["\n".join([declared(core), MEMORY.strip(), KINDS[k][1], _driver(k)]) for k in used]]
        texts = [section(SHAPE + TYPES, text) for text in texts] if used else []
        out += [text.replace("$T", ctype).replace("$N", short) for text in texts]
    return "\n".join(out)


def _driver(kind: str) -> str:
    return filled(DRIVER, {"$KIND": kind, **{f"${name}": piece for name, piece in KINDS[kind][0].items()}})
