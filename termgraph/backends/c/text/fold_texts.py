"""C functions over whole vectors, for folds: partial results side by side, and what they are folded to. Pure text."""

from __future__ import annotations

_TYPES = {"f64": "double", "f32": "float", "i64": "int64_t", "i32": "int32_t"}
# What is compared by whole vectors: of most whole numbers only places of extremes are looked for.
COMPARED = _TYPES | {f"{s}{bits}": f"{s.strip('i')}int{bits}_t" for s in "iu" for bits in (8, 16, 32, 64)}
INLINE = "static inline __attribute__((always_inline)) "

_VECTOR_BYTES = """#ifdef __AVX__
enum { tg_vector_bytes = 32 };
#else
enum { tg_vector_bytes = 16 };
#endif"""
_MOVED = """#ifdef __clang__
#define tg_moved(mask, x, ...) __builtin_shufflevector(x, x, __VA_ARGS__)
#else
#define tg_moved(mask, x, ...) __builtin_shuffle(x, (mask){__VA_ARGS__})
#endif"""
_ANY = """int tg_any_{N}(tg_mask_{N} m)
{{
#ifdef __AVX__
    typedef long long bits __attribute__((vector_size(32)));
    return !__builtin_ia32_ptestz256((bits)m, (bits)m);
#else
    {M} any = 0;
    for (int u = 0; u < (int)(tg_vector_bytes / sizeof any); u++) any |= m[u];
    return any != 0;
#endif
}}"""
_PICK = """tg_vector_{N} tg_vector_{K}_{N}(tg_vector_{N} x, tg_vector_{N} y)
{{
#ifdef __AVX__ /* one instruction that gcc does not find by itself */
    return __builtin_ia32_{K}p{S}256(x, y);
#else
    tg_mask_{N} take = (tg_mask_{N})(x {sign} y);
    return (tg_vector_{N})(((tg_mask_{N})x & take) | ((tg_mask_{N})y & ~take));
#endif
}}"""
_PICK_WHOLE = """tg_vector_{N} tg_vector_{K}_{N}(tg_vector_{N} x, tg_vector_{N} y)
{{
{quick}    const tg_vector_{N} take = (tg_vector_{N})(x {sign} y);
    return (x & take) | (y & ~take);
}}"""
_QUICK = """#if defined(__AVX2__) && !defined(__clang__)
    typedef {whole} ints __attribute__((vector_size(32)));
    if (tg_vector_bytes == 32) return (tg_vector_{N})__builtin_ia32_p{K}{S}256((ints)x, (ints)y);
#endif
"""
_HITS = """uint32_t tg_hits_{N}(tg_mask_{N} m)
{{
#ifdef __AVX__ /* a bit for each element */
    typedef {F} lanes __attribute__((vector_size(32)));
    return __builtin_ia32_movmskp{S}256((lanes)m);
#else
    uint32_t hits = 0;
    for (int u = 0; u < (int)(tg_vector_bytes / sizeof({M})); u++) hits |= (uint32_t)(m[u] & 1) << u;
    return hits;
#endif
}}"""
_QUICK_LONG = """#if defined(__AVX512VL__) && !defined(__clang__)
    typedef long long longs __attribute__((vector_size(32)));
    if (tg_vector_bytes == 32)
        return (tg_vector_{N})__builtin_ia32_p{K}{S}256_mask((longs)x, (longs)y, (longs)y, 255);
#endif
"""
# Bits for the bytes of elements.
_HITS_OF_BYTES = """uint32_t tg_hits_{N}(tg_mask_{N} m)
{{
    typedef char bytes __attribute__((vector_size(tg_vector_bytes)));
#ifdef __AVX2__
    return (uint32_t)__builtin_ia32_pmovmskb256((bytes)m);
#elif defined(__SSE2__) && !defined(__AVX__)
    return (uint32_t)__builtin_ia32_pmovmskb128((bytes)m);
#else
    const bytes all = (bytes)m;
    uint32_t hits = 0;
    for (int u = 0; u < tg_vector_bytes; u++) hits |= (uint32_t)(all[u] & 1) << u;
    return hits;
#endif
}}"""
_ABS = """tg_vector_{N} tg_vector_abs_{N}(tg_vector_{N} x)
{{
    return (tg_vector_{N})((tg_mask_{N})x & {bits}); /* all but the sign */
}}"""
_SPREAD = """tg_vector_{N} tg_vector_spread_{N}(const {T} *from, int64_t step)
{{
#ifdef __AVX__
    return (tg_vector_{N}){{{first}, {second}}};
#else
    return (tg_vector_{N}){{{first}}};
#endif
}}"""
_WIDENED = """static inline __attribute__((always_inline)) tg_vector_f32 tg_vector_half_f32(const uint16_t *from)
{
#if defined(__AVX__) && defined(__F16C__) && !defined(__clang__)
    typedef short halves __attribute__((vector_size(16), aligned(2), may_alias));
    return (tg_vector_f32)__builtin_ia32_vcvtph2ps256(*(const halves *)from);
#else
    tg_vector_f32 out;
    for (int u = 0; u < tg_vector_bytes / 4; u++) out[u] = tg_from_half(from[u]);
    return out;
#endif
}"""
_BELOW = """tg_mask_{N} tg_below_{N}(int64_t count)
{{
    const {M} n = count < 32 ? ({M})count : 32;
#ifdef __AVX__
    return (tg_mask_{N})((tg_mask_{N}){{{lanes}}} < n);
#else
    return (tg_mask_{N})((tg_mask_{N}){{{half}}} < n);
#endif
}}"""
_KEPT = """tg_vector_{N} tg_vector_kept_{N}(tg_vector_{N} x, tg_mask_{N} take, {T} other)
{{
    return (tg_vector_{N})(((tg_mask_{N})x & take) | ((tg_mask_{N})((tg_vector_{N}){{0}} + other) & ~take));
}}"""
_PART = """tg_vector_{N} tg_vector_part_{N}(const {T} *from, tg_mask_{N} take)
{{
#ifdef __AVX__ /* reads nothing where the mask is 0 */
    typedef {F} whole __attribute__((vector_size(32)));
    typedef {L} mask __attribute__((vector_size(32)));
    return (tg_vector_{N})__builtin_ia32_maskloadp{S}256((const whole *)from, (mask)take);
#else
    return (tg_vector_{N}){{{half}}};
#endif
}}"""
_PUT_PART = """void tg_vector_put_part_{N}({T} *to, tg_vector_{N} x, tg_mask_{N} take)
{{
    if (take[tg_vector_bytes / sizeof({T}) - 1]) *(tg_vector_{N} *)to = x;
    else {{
#if defined(__AVX512VL__) && !defined(__clang__)
        typedef {F} whole __attribute__((vector_size(32)));
        __builtin_ia32_storeup{S}256_mask(({F} *)to, (whole)x, tg_hits_{N}(take));
#else
        for (int u = 0; u < (int)(tg_vector_bytes / sizeof({T})); u++)
            if (take[u]) to[u] = x[u];
#endif
    }}
}}"""
_SPREAD_PART = """tg_vector_{N} tg_vector_spread_part_{N}(const {T} *from, int64_t step, tg_mask_{N} take)
{{
#ifdef __AVX__
    return (tg_vector_{N}){{{first}, {second}}};
#else
    return (tg_vector_{N}){{{first}}};
#endif
}}"""
_WIDENED_PART = """static inline tg_vector_f32 tg_vector_half_part_f32(const uint16_t *from, tg_mask_f32 take)
{
    tg_vector_f32 out;
    for (int u = 0; u < tg_vector_bytes / 4; u++) out[u] = take[u] ? tg_from_half(from[u]) : 0;
    return out;
}"""
_TREE = """{T} tg_fold_{K}_{N}(tg_vector_{N} *a, const int count{nan})
{{{nans}
    if (count > 8) for (int v = 0; v < 8; v++) {vector8};
    if (count > 4) _Pragma("GCC unroll 4") for (int v = 0; v < 4; v++) {vector4};
    if (count > 2) {vector2}, {vector1};
    if (count > 1) {vector0};
#ifdef __AVX__
{wide}
#else
{narrow}
#endif
    return {result};
}}"""


# A row of up to eight elements for each lane: what is added is what `_TREE` adds in one row after the other.
_ROWS_TREE = """void tg_fold_rows_{K}_{N}(tg_vector_{N} *a, {T} *out)
{{
#ifdef __AVX__
{steps}
    *(tg_vector_{N} *)out = a[0];
#else
    for (int r = 0; r < {rows}; r++) out[r] = tg_fold_{K}_{N}(a + r * {vectors}, {vectors});
#endif
}}"""
_MIXED = _MOVED.replace("tg_moved(mask, x, ...)", "tg_mixed(mask, x, y, ...)").replace("(x, x,", "(x, y,")
_MIXED = _MIXED.replace("(x, (mask)", "(x, y, (mask)")


# Partial results added up as a tree, in their place. Once for all folds of a program: written out it is two loops each.
_HALVED = """static __attribute__((noinline)) {T} tg_halved_{K}_{N}({T} *a, int64_t h)
{{
    for (; h; h >>= 1) for (int64_t u = 0; u < h; u++) a[u] {sign}= a[u + h];
    return a[0];
}}"""


def _rows_tree(kind: str, n: str, c: str) -> str:
    """The function that folds as many short rows as a vector has lanes, of which each is left with one."""
    sign, rows = {"sum": "+", "prod": "*"}[kind], 4 if n == "f64" else 8
    steps = [f"a[{r}] = a[{2 * r}] {sign} a[{2 * r + 1}];" for r in range(rows)] if n == "f64" else []
    half = rows // 2
    while half:
        one = ", ".join(str(rows + (u ^ half) if u & half else u) for u in range(rows))
        two = ", ".join(str(rows + u if u & half else u ^ half) for u in range(rows))
        for r in range(half):
            given = f"tg_mask_{n}, a[{r}], a[{r + half}]"
            steps.append(f"a[{r}] = tg_mixed({given}, {one}) {sign} tg_mixed({given}, {two});")
        half //= 2
    text = "\n".join(f"    {step}" for step in steps)
    return INLINE + _ROWS_TREE.format(K=kind, N=n, T=c, rows=rows, vectors=16 // rows, steps=text)


def functions(inline: str) -> dict[str, str]:
    """Vectors of the width that the processor adds at once, and what folds do with them."""
    out = {"tg_vector_bytes": _VECTOR_BYTES, "tg_moved": _MOVED, "tg_mixed": _MIXED}
    out |= {"tg_vector_half_f32": _WIDENED, "tg_vector_half_part_f32": _WIDENED_PART}
    for n, c, mask, letter in (("f64", "double", "int64_t", "d"), ("f32", "float", "int32_t", "s")):
        shape = f"__attribute__((vector_size(tg_vector_bytes), aligned(sizeof({c})), may_alias))"
        out[f"tg_vector_{n}"] = f"typedef {c} tg_vector_{n} {shape};"
        out[f"tg_mask_{n}"] = f"typedef {mask} tg_mask_{n} {shape};"
        out[f"tg_any_{n}"] = INLINE + _ANY.format(N=n, M=mask)
        out[f"tg_hits_{n}"] = INLINE + _HITS.format(N=n, M=mask, F=c, S=letter)
        out.update(_parts(n, c, mask))
        out[f"tg_vector_abs_{n}"] = INLINE + _ABS.format(N=n, bits=f"__{mask[:-2].upper()}_MAX__")
        out[f"tg_vector_spread_{n}"] = INLINE + _spread(n, c)
        for kind, sign in (("max", ">"), ("min", "<")):
            out[f"tg_vector_{kind}_{n}"] = INLINE + _PICK.format(N=n, K=kind, S=letter, sign=sign)
        for kind in ("sum", "prod", "max", "min"):
            out[f"tg_fold_{kind}_{n}"] = _tree(kind, n, c)
        for kind in ("sum", "prod"):
            out[f"tg_fold_rows_{kind}_{n}"] = _rows_tree(kind, n, c)
            out[f"tg_halved_{kind}_{n}"] = _HALVED.format(K=kind, N=n, T=c, sign={"sum": "+", "prod": "*"}[kind])
    for n in ("i64", "i32"):
        out.update(_parts(n, _TYPES[n], _TYPES[n]))
        out[f"tg_vector_spread_{n}"] = INLINE + _spread(n, _TYPES[n])
    for n, c in COMPARED.items():
        if n[0] != "f":
            out |= _whole_numbers(n, c)
    return out


def _whole_numbers(n: str, c: str) -> dict[str, str]:
    """The functions that compare vectors of whole numbers."""
    bits = int(n[1:])
    shape = f"__attribute__((vector_size(tg_vector_bytes), aligned({bits // 8}), may_alias))"
    mask = f"int{bits}_t"
    out = {
        f"tg_vector_{n}": f"typedef {c} tg_vector_{n} {shape};",
        f"tg_mask_{n}": f"typedef {mask} tg_mask_{n} {shape};",
        f"tg_any_{n}": INLINE + _ANY.format(N=n, M=mask),
    }
    same = ("double", "d") if bits == 64 else ("float", "s")
    hits = _HITS_OF_BYTES if bits < 32 else _HITS
    out[f"tg_hits_{n}"] = INLINE + hits.format(N=n, M=mask, F=same[0], S=same[1])
    sort = ("u" if n[0] == "u" else "s") + {8: "b", 16: "w", 32: "d", 64: "q"}[bits]
    whole = {8: "char", 16: "short", 32: "int"}.get(bits, "")
    for kind, sign in (("max", ">"), ("min", "<")):
        quick = (_QUICK if bits < 64 else _QUICK_LONG).format(N=n, K=kind, S=sort, whole=whole)
        out[f"tg_vector_{kind}_{n}"] = INLINE + _PICK_WHOLE.format(N=n, K=kind, sign=sign, quick=quick)
        out[f"tg_fold_{kind}_{n}"] = _tree(kind, n, c)
    return out


def _spread(n: str, c: str) -> str:
    """The function that makes a vector of elements at equal distances."""
    size = 2 if n in ("f64", "i64") else 4
    each = [f"from[{u} * step]" for u in range(2 * size)]
    return _SPREAD.format(N=n, T=c, first=", ".join(each[:size]), second=", ".join(each[size:]))


def _parts(n: str, c: str, mask: str) -> dict[str, str]:
    """The functions for a vector of which not all elements exist."""
    size = 2 if n[1:] == "64" else 4
    each = [f"take[{u}] ? from[{u} * step] : 0" for u in range(2 * size)]
    lanes, near = [str(u) for u in range(2 * size)], [f"take[{u}] ? from[{u}] : 0" for u in range(size)]
    floating = ("double", "d") if n[1:] == "64" else ("float", "s")
    names = {"N": n, "T": c, "M": mask, "F": floating[0], "S": floating[1], "L": "long long" if size == 2 else "int"}
    return {
        f"tg_below_{n}": INLINE + _BELOW.format(lanes=", ".join(lanes), half=", ".join(lanes[:size]), **names),
        f"tg_vector_kept_{n}": INLINE + _KEPT.format(**names),
        f"tg_vector_part_{n}": INLINE + _PART.format(half=", ".join(near), **names),
        f"tg_vector_put_part_{n}": INLINE + _PUT_PART.format(**names),
        f"tg_vector_spread_part_{n}": INLINE
        + _SPREAD_PART.format(first=", ".join(each[:size]), second=", ".join(each[size:]), **names),
    }


def _tree(kind: str, n: str, c: str) -> str:
    """The function that folds the partial results of vectors into one number, always in the same order."""
    sign = {"sum": "+=", "prod": "*=", "max": ">", "min": "<"}[kind]
    compared = kind in ("max", "min")
    with_nan = compared and n[0] == "f"

    def vector(x: str, y: str) -> str:
        return f"{x} = tg_vector_{kind}_{n}({y}, {x})" if compared else f"{x} {sign} {y}"

    def lanes(count: int) -> str:
        """The upper half onto the lower one, in registers, until one lane is left: through memory each half waits."""
        halves = [h for h in (16, 8, 4, 2, 1) if h < count]
        moved = [", ".join(str(u ^ h) for u in range(count)) for h in halves]
        return "\n".join(f"    {vector('a[0]', f'tg_moved(tg_mask_{n}, a[0], {order})')};" for order in moved)

    suffix, unequal = "" if n == "f64" else "f", f"(tg_mask_{n})(a[v] != a[v])"
    return INLINE + _TREE.format(
        T=c, N=n, K=kind,
        nan=f", tg_mask_{n} nan" if with_nan else "",
        nans=f"\n    for (int v = 0; v < count; v++) nan |= {unequal};" if with_nan else "",
        vector8=vector("a[v]", "a[v + 8]"), vector4=vector("a[v]", "a[v + 4]"),
        vector2=vector("a[0]", "a[2]"), vector1=vector("a[1]", "a[3]"), vector0=vector("a[0]", "a[1]"),
        wide=lanes(256 // int(n[1:])), narrow=lanes(128 // int(n[1:])),
        result=f"tg_any_{n}(nan) ? __builtin_nan{suffix}(\"\") : a[0][0]" if with_nan else "a[0][0]",
    )  # fmt: skip
