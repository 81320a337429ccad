"""C text of a sort of unsigned whole numbers by vectors of 64 or 32 bytes: quicksort, parts are packed in registers.

NumPy's stores what it compresses by one instruction, which on AMD's processors takes as long as 30 others. Pure text.
"""

from __future__ import annotations

from collections.abc import Iterator

from termgraph.backends.c.apart import section
from termgraph.backends.c.text.dialect import filled

ROWS = (4, 8, 16)  # vectors of the blocks that are sorted at once
SHORT_ROWS = (4, 8, 16)  # the same of 32 bytes


def network(rows: int) -> Iterator[tuple[int, int]]:
    """Which rows are exchanged, in order, where the second one is less than the first: Batcher's odd-even merges."""
    p = 1
    while p < rows:
        k = p
        while k:
            for first in range(k % p, rows - k, 2 * k):
                for i in range(first, min(first + k, rows - k)):
                    if i // (2 * p) == (i + k) // (2 * p):
                        yield i, i + k
            k //= 2
        p *= 2


def halves(rows: int, distance: int) -> Iterator[tuple[int, int]]:
    """The exchanges that sort a row of numbers which rise and then fall."""
    while distance:
        yield from ((r, r ^ distance) for r in range(rows) if not r & distance)
        distance //= 2


def block(rows: int, lanes: int) -> str:
    """A function that sorts rows * lanes numbers: columns first, then columns are merged, and rows become columns."""
    steps = [f"S({a}, {b})" for a, b in network(rows)]
    size = 1
    while size < lanes:
        steps += [f"M({r}, {rows - 1 - r}, {2 * size - 1}, {size})" for r in range(rows // 2)]
        distance = size // 2
        while distance:
            steps += [f"L({r}, {distance})" for r in range(rows)]
            distance //= 2
        steps += [f"S({a}, {b})" for a, b in halves(rows, rows // 2)]
        size *= 2
    name = f"tg_sort_block_{rows}_$N"
    lines = [f"static __attribute__((noinline)) void {name}(tg_key_$N *a)", "{"]
    lines += [f"    tg_keys_$N {', '.join(f'x{r}' for r in range(rows))};"]
    lines += [f"    x{r} = *(const tg_keys_$N *)(a + {r * lanes});" for r in range(rows)]
    lines += wrapped(steps)
    lines += _transposed(rows, lanes)
    return "\n".join([*lines, "}"])


def wrapped(steps: list[str]) -> list[str]:
    return ["    " + " ".join(steps[k : k + 8]) for k in range(0, len(steps), 8)]


def _transposed(rows: int, lanes: int) -> list[str]:
    """Stores of the columns, one after the other: squares of rows change places with their transposes."""
    if rows < lanes:  # few: element by element
        return [
            f"    $T columns[{rows}][{lanes}];",
            *[f"    *(tg_keys_$N *)columns[{r}] = x{r};" for r in range(rows)],
            f"    for (int u = 0; u < {lanes}; u++)",
            f"        for (int r = 0; r < {rows}; r++) a[u * {rows} + r] = columns[r][u];",
        ]
    stores = [
        f"    *(tg_keys_$N *)(a + {u * rows + first}) = x{first + u};"
        for first in range(0, rows, lanes)
        for u in range(lanes)
    ]
    return [*wrapped(turns(rows, lanes)), *stores]


def turns(rows: int, lanes: int) -> list[str]:
    """Squares of rows become their transposes: corners of squares of twice the side by and by change places."""
    bits = [1 << k for k in range(lanes.bit_length() - 1)]
    return [f"T({r}, {r | bit}, {bit})" for bit in bits for r in range(rows) if not r & bit]


def corners(lanes: int) -> dict[str, str]:
    """Which elements of two rows, one behind the other, each of them has when their corners have changed places."""
    low, high = f"@ & (bit) ? {lanes} + (@ ^ (bit)) : @", f"@ & (bit) ? {lanes} + @ : @ ^ (bit)"
    return {"$LOW": _lanes(lanes, low), "$HIGH": _lanes(lanes, high)}


def _lanes(lanes: int, element: str) -> str:
    return "{" + ", ".join(element.replace("@", str(u)) for u in range(lanes)) + "}"


def _long(bits: int) -> dict[str, str]:
    """What AVX-512 has: numbers without signs are compared, vectors compressed by masks."""
    letter, kind, mask = ("q", "di", "long long") if bits == 64 else ("d", "si", "int")
    pack = f"(tg_signed_{bits})"

    def call(name: str, *given: str) -> str:
        return f"(tg_keys_$N)__builtin_ia32_{name}512_mask({', '.join(given)})"

    upper = " | ".join(f"(({u} & (bit)) != 0) << {u}" for u in range(512 // bits))
    return {
        "$SIGNED": mask,
        "$LAST": "-1",
        "$FLIP": "0",
        "$HELPERS": f"#define TG_UPPER(bit) ({upper})\n"
        f"#define TG_LEAST(a, b) {call(f'pminu{letter}', f'{pack}(a)', f'{pack}(b)', f'{pack}(a)', '-1')}\n"
        f"#define TG_MOST(a, b) {call(f'pmaxu{letter}', f'{pack}(a)', f'{pack}(b)', f'{pack}(a)', '-1')}\n"
        "#define TG_BLEND(bit, a, b) "
        f"(tg_keys_$N)__builtin_ia32_blendm{letter}_512_mask({pack}(a), {pack}(b), TG_UPPER(bit))",
        "$REST": f"""    const uint32_t there = (1u << (n - i)) - 1;
    const tg_signed_$N most = (tg_signed_$N){{0}} - 1;
    const tg_signed_$N v = __builtin_ia32_loaddqu{kind}512_mask((const void *)(from + i), most, there);
    if (fill) *(tg_keys_$N *)(to + i) = (tg_keys_$N)v;
    else __builtin_ia32_storedqu{kind}512_mask((void *)(to + i), v, there);""",
        "$PARTS": f"""        const tg_signed_$N v = (tg_signed_$N)*(const tg_keys_$N *)(a + i);
        const uint32_t below = all & (uint32_t)(equal ? __builtin_ia32_ucmp{letter}512_mask(v, middle, 2, -1)
                                                      : __builtin_ia32_ucmp{letter}512_mask(v, middle, 1, -1));
        const int count = __builtin_popcount(below);
        *(tg_keys_$N *)(a + low) = (tg_keys_$N)__builtin_ia32_compress{kind}512_mask(v, v, below);
        *(tg_keys_$N *)(other + high) = (tg_keys_$N)__builtin_ia32_compress{kind}512_mask(v, v, all & ~below);""",
        "$OTHERS": "other",
        "$NEXT": "high",
    }


def packing(bits: int, name: str) -> tuple[str, str]:
    """A table of orders of a vector's elements: those whose bit is set in `@` first. And one of them, in halves."""
    lanes = 256 // bits
    orders = [sorted(range(lanes), key=lambda u: not mask >> u & 1) for mask in range(1 << lanes)]
    if bits == 64:
        rows = ", ".join("{" + ", ".join(f"{2 * u}, {2 * u + 1}" for u in order) + "}" for order in orders)
        return f"{_HALVES}static const int {name}[16][8] = {{{rows}}};", f"*(const tg_halves *){name}[@]"
    words = ", ".join(f"0x{sum(u << 8 * k for k, u in enumerate(order)):x}" for order in orders)
    table = f"{_HALVES}static const uint64_t {name}[256] = {{{words}}};"
    return table, f"(tg_halves)__builtin_ia32_pmovzxbd256((tg_bytes)(tg_pair){{(long long){name}[@]}})"


_HALVES = """#ifndef TG_HALVES
#define TG_HALVES
typedef int tg_halves __attribute__((vector_size(32), aligned(4), may_alias));
typedef long long tg_pair __attribute__((vector_size(16)));
typedef char tg_bytes __attribute__((vector_size(16)));
#endif
"""


def _short(bits: int) -> dict[str, str]:
    """What AVX2 has: 64 bits are compared with signs, and a table says how a vector is packed: what is below first, the
    others last, which are written from the end of their room.
    """
    lanes = 256 // bits
    table, turned = packing(bits, "tg_packed_$N")
    turned = turned.replace("@", "below")
    if bits == 64:  # moved as halves
        larger = "(tg_signed_$N)(a) > (tg_signed_$N)(b)"
        least, most = (f"(tg_keys_$N)TG_PICKED_$N({x}, {y}, {larger})" for x, y in ("ab", "ba"))
        below = "(equal ? ~(v > middle) : middle > v)"
        mask = f"(uint32_t)__builtin_ia32_movmskpd256((tg_floats_$N){below})"
    else:
        both = "((tg_signed_$N)(a), (tg_signed_$N)(b))"
        least, most = (f"(tg_keys_$N)__builtin_ia32_p{f}ud256{both}" for f in ("min", "max"))
        larger = "(tg_signed_$N)TG_MOST(v, middle)"
        mask = f"(uint32_t)__builtin_ia32_movmskps256((tg_floats_$N)(equal ? {larger} == middle : ~({larger} == v)))"
    kept = _lanes(lanes, f"@ & (bit) ? {lanes} + @ : @")
    return {
        "$SIGNED": "long long" if bits == 64 else "int",
        "$LAST": "((tg_signed_$N){0} + INT64_MAX)" if bits == 64 else "((tg_signed_$N){0} - 1)",
        "$FLIP": "(uint64_t)1 << 63" if bits == 64 else "0",
        "$HELPERS": f"""typedef {"double" if bits == 64 else "float"} tg_floats_$N __attribute__((vector_size(32)));
{table}
#define TG_PICKED_$N(a, b, m) __builtin_ia32_blendvpd256((tg_floats_$N)(a), (tg_floats_$N)(b), (tg_floats_$N)(m))
#define TG_LEAST(a, b) {least}
#define TG_MOST(a, b) {most}
#define TG_BLEND(bit, a, b) __builtin_shuffle(a, b, (tg_keys_$N){kept})""",
        "$REST": """    for (int64_t k = 0; k < n - i; k++) to[i + k] = from[i + k];
    for (int64_t k = n - i; fill && k < TG_KEYS_$N; k++) to[i + k] = (($T)-1) ^ TG_FLIP_$N;""",
        "$PARTS": f"""        const tg_signed_$N v = (tg_signed_$N)*(const tg_keys_$N *)(a + i);
        const uint32_t below = {mask};
        const int count = __builtin_popcount(below);
        const tg_halves packed = __builtin_ia32_permvarsi256((tg_halves)v, {turned});
        *(tg_keys_$N *)(a + low) = (tg_keys_$N)packed;
        *(tg_keys_$N *)(other + n - high) = (tg_keys_$N)packed;""",
        "$OTHERS": "other + n + TG_KEYS_$N - high",
        "$NEXT": "n + TG_KEYS_$N - 1 - high",
    }


def _sorter(bits: int, long: bool) -> str:
    width = 512 if long else 256
    lanes = width // bits
    rows = ROWS if long else SHORT_ROWS
    pieces = {
        **(_long if long else _short)(bits),
        "$BLOCKS": "\n\n".join(block(r, lanes) for r in rows),
        "$LANES": str(lanes),
        "$WIDTH": str(width // 8),
        "$MOSTROWS": str(rows[-1]),
        "$FEW": " : ".join([*[f"n <= {r} * TG_KEYS_$N ? {r}" for r in rows[:-1]], str(rows[-1])]),
        "$SORTED": "\n    else ".join(
            [
                *[f"if (rows == {r}) tg_sort_block_{r}_$N(room);" for r in rows[:-1]],
                f"tg_sort_block_{rows[-1]}_$N(room);",
            ]
        ),
        "$TURN": _lanes(lanes, "@ ^ (turn)"),
        **corners(lanes),
    }
    return filled(filled(_SORTER, pieces), pieces)


_SORTER = """
void *malloc(size_t);
void free(void *);
typedef $T tg_key_$N __attribute__((may_alias));
typedef $T tg_keys_$N __attribute__((vector_size($WIDTH), aligned($N / 8), may_alias));
typedef $SIGNED tg_signed_$N __attribute__((vector_size($WIDTH)));
enum { TG_KEYS_$N = $LANES, TG_BLOCK_$N = $MOSTROWS * $LANES };
#define TG_FLIP_$N ($FLIP) /* what makes numbers without signs those that are compared */
$HELPERS
#define TG_TURNED(x, turn) __builtin_shuffle(x, (tg_keys_$N)$TURN)
#define S(p, q) { const tg_keys_$N v = x##p, w = x##q; x##p = TG_LEAST(v, w); x##q = TG_MOST(v, w); }
#define L(p, bit) { const tg_keys_$N v = x##p, w = TG_TURNED(v, bit); \\
    x##p = TG_BLEND(bit, TG_LEAST(v, w), TG_MOST(v, w)); }
#define M(p, q, turn, bit) { const tg_keys_$N v = x##p, w = TG_TURNED(x##q, turn); \\
    const tg_keys_$N low = TG_LEAST(v, w), high = TG_MOST(v, w), other = TG_BLEND(bit, high, low); \\
    x##p = TG_BLEND(bit, low, high); x##q = TG_TURNED(other, turn); }
#define T(p, q, bit) { const tg_keys_$N v = x##p, w = x##q; \\
    x##p = __builtin_shuffle(v, w, (tg_keys_$N)$LOW); \\
    x##q = __builtin_shuffle(v, w, (tg_keys_$N)$HIGH); }
$BLOCKS
#undef S
#undef L
#undef M
#undef T

/* Copy n numbers; without `fill` nothing is written behind them, with it whole vectors, of the largest number. */
static inline void tg_keys_copied_$N(tg_key_$N *to, const tg_key_$N *from, int64_t n, int fill)
{
    int64_t i = 0;
    for (; i + TG_KEYS_$N <= n; i += TG_KEYS_$N) *(tg_keys_$N *)(to + i) = *(const tg_keys_$N *)(from + i);
    if (i == n) return;
$REST
}

/* Sort at most a block: what is missing is larger than all. */
static inline void tg_sort_few_$N(tg_key_$N *a, int64_t n)
{
    $T room[TG_BLOCK_$N];
    const int64_t rows = $FEW;
    tg_keys_copied_$N(room, a, n, 1);
    for (int64_t i = (n + TG_KEYS_$N - 1) / TG_KEYS_$N * TG_KEYS_$N; i < rows * TG_KEYS_$N; i += TG_KEYS_$N)
        *(tg_keys_$N *)(room + i) = (tg_keys_$N){0} + ((($T)-1) ^ TG_FLIP_$N);
    $SORTED
    tg_keys_copied_$N(a, room, n, 0);
}

/* Bring what is below a pivot, or with `equal` also what is equal to it, to the front: how much that is. */
static inline __attribute__((always_inline)) int64_t tg_sort_parted_$N(tg_key_$N *a, tg_key_$N *other, int64_t n,
                                                                       $T pivot, int equal)
{
    const tg_signed_$N middle = (tg_signed_$N)((tg_keys_$N){0} + pivot);
    const uint32_t all = (1u << (TG_KEYS_$N - 1)) * 2 - 1;
    int64_t low = 0, high = 0, i = 0;
    for (; i + TG_KEYS_$N <= n; i += TG_KEYS_$N) {
$PARTS
        low += count;
        high += TG_KEYS_$N - count;
    }
    for (; i < n; i++) {
        const $T v = a[i];
        const int below = equal ? (v ^ TG_FLIP_$N) <= (pivot ^ TG_FLIP_$N) : (v ^ TG_FLIP_$N) < (pivot ^ TG_FLIP_$N);
        a[low] = v, other[$NEXT] = v;
        low += below, high += !below;
    }
    (void)all;
    tg_keys_copied_$N(a + low, $OTHERS, high, 0);
    return low;
}

/* Sort n numbers, with room for a vector more than as many. Zero: not done, as pivots were bad too often. */
static int tg_sort_compared_$N(tg_key_$N *a, tg_key_$N *other, int64_t n)
{
    enum { SAMPLE = 4 * TG_KEYS_$N };
    struct { int64_t begin, end; } waiting[64];
    int count = 0;
    int64_t begin = 0, end = n, work = 0;
    uint64_t random = 0x9E3779B97F4A7C15u;
    for (;;) {
        const int64_t size = end - begin;
        if (size <= TG_BLOCK_$N) {
            tg_sort_few_$N(a + begin, size);
            if (!count) return 1;
            begin = waiting[--count].begin, end = waiting[count].end;
            continue;
        }
        $T sample[SAMPLE];
        for (int k = 0; k < SAMPLE; k++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            sample[k] = a[begin + (int64_t)((random >> 32) * (uint64_t)size >> 32)];
        }
        tg_sort_block_4_$N(sample);
        const $T pivot = sample[SAMPLE / 2];
        if ((work += size) > 100 * n) return 0;
        int64_t low = tg_sort_parted_$N(a + begin, other, size, pivot, 0);
        if (low == 0) { /* the least one: all that are equal to it are in their places */
            begin += tg_sort_parted_$N(a + begin, other, size, pivot, 1);
            continue;
        }
        if (low > size - low) waiting[count].begin = begin, waiting[count++].end = begin + low, begin += low;
        else waiting[count].begin = begin + low, waiting[count++].end = end, end = begin + low;
    }
}
TG_APART int tg_sort_keys_$N($T *given, $T *more, int64_t n)
{
    tg_key_$N *const a = given;
    for (int64_t i = 0; TG_FLIP_$N && i < n; i++) a[i] ^= TG_FLIP_$N;
    const int done = tg_sort_compared_$N(a, more, n);
    for (int64_t i = 0; TG_FLIP_$N && i < n; i++) a[i] ^= TG_FLIP_$N;
    return done;
}
#undef TG_LEAST
#undef TG_MOST
#undef TG_BLEND
#undef TG_UPPER
#undef TG_TURNED
"""


_NUMBERS = """
#if TG_SORTS_NUMBERS_$N
/* Sort n elements as unsigned numbers in the same order, of kinds as in tg_sort_key, but zeros by their signs; NaN lose
   theirs. Zero: not done. */
TG_APART int tg_sort_numbers_$N(void *given, int kind, int64_t n)
{
    const $T sign = ($T)1 << ($N - 1), infinite = (sign - 1) >> ($N == 64 ? 52 : 23) << ($N == 64 ? 52 : 23);
    enum { FEW = 1024, MANY = 10000, LONG = TG_KEYS_$N * $N == 512, BLOCK = 16384 / $N };
    if (kind > 2 || (!LONG && n > (kind < 2 ? FEW : MANY))) return 0; /* NumPy's is as fast */
    if (LONG && kind < 2 && n <= BLOCK) return 0; /* it sorts these in registers */
    if (LONG && __builtin_cpu_is("intel")) { /* packs into memory as fast as into a register: NumPy's is faster */
        $T odd = 0; /* but loses the signs of zeros, and what NaN hold */
        for (int64_t i = 0; kind == 2 && i < n; i++) {
            const $T size = ($T)(((const $T *)given)[i] & (sign - 1));
            odd |= ($T)(size == 0) | ($T)(size > infinite);
        }
        if (!odd) return 0;
    }
    tg_key_$N room[FEW + TG_KEYS_$N], *a = given, *other = n > FEW ? malloc((n + TG_KEYS_$N) * sizeof *a) : room;
    if (!other) return 0;
    const $T flip = TG_FLIP_$N, turn = sign ^ flip;
    if (kind == 0 && flip) for (int64_t i = 0; i < n; i++) a[i] ^= flip;
    if (kind == 1 && turn) for (int64_t i = 0; i < n; i++) a[i] ^= turn;
    if (kind == 2)
        for (int64_t i = 0; i < n; i++) {
            const $T u = a[i], size = u & (sign - 1), v = size > infinite ? size : u;
            a[i] = v ^ ((sign | -(v >> ($N - 1))) ^ flip);
        }
    const int done = tg_sort_compared_$N(a, other, n);
    if (kind == 0 && flip) for (int64_t i = 0; i < n; i++) a[i] ^= flip;
    if (kind == 1 && turn) for (int64_t i = 0; i < n; i++) a[i] ^= turn;
    if (kind == 2)
        for (int64_t i = 0; i < n; i++) {
            const $T v = a[i] ^ flip;
            a[i] = v ^ (sign | ((v >> ($N - 1)) - 1));
        }
    if (other != room) free(other);
    return done;
}
#endif
"""
# What callers know.
HEAD = """
#ifndef TG_VECTOR_SORT
#if defined(__AVX512F__) && !defined(__clang__) /* beyond so many elements sorting by digits is faster */
#define TG_VECTOR_SORT 1
#define TG_SORTS_BY_VECTORS(n, kind) ((n) < ((kind) == 2 ? 8000 : 1500))
#elif defined(__AVX2__) && !defined(__clang__)
#define TG_VECTOR_SORT 1
#define TG_SORTS_BY_VECTORS(n, kind) ((n) < ((kind) == 2 ? 2000 : 1500))
#else
#define TG_VECTOR_SORT 0
#define TG_SORTS_BY_VECTORS(n, kind) 0
#endif
/* Numbers of 64 bits, which AVX2 compares in three instructions, NumPy sorts faster there. */
#if TG_VECTOR_SORT && defined(__AVX512F__)
#define TG_SORTS_NUMBERS_64 1
#else
#define TG_SORTS_NUMBERS_64 0
#endif
#define TG_SORTS_NUMBERS_32 TG_VECTOR_SORT
#define TG_SORTS_NUMBERS_16 0
#define TG_SORTS_NUMBERS_8 0
#endif
"""


def functions(source: str) -> str:
    """The sorts by vectors that a source uses, of 64 bits for places, too, and of 32 for those in buckets."""
    used = {bits for bits in (64, 32) if f"tg_sort_{bits}(" in source}
    used |= {64, 32} if "tg_argsort_" in source or "tg_argtopk_" in source else set()
    out = []
    for bits in (64, 32):
        if bits in used:
            long, short = (_sorter(bits, width) for width in (True, False))
            text = f"#if TG_VECTOR_SORT\n#ifdef __AVX512F__\n{long}\n#else\n{short}\n#endif\n{_NUMBERS}\n#endif"
            out.append(section(HEAD, text.replace("$T", f"uint{bits}_t").replace("$N", str(bits))))
    return "\n".join(out)
