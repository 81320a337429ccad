"""C functions over whole vectors, for folds: partial results side by side, and where the largest element is. Text."""

from __future__ import annotations

_TYPES = {"f64": "double", "f32": "float", "i64": "int64_t", "i32": "int32_t"}
_INLINE = "static inline __attribute__((always_inline)) "

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
{quick}    tg_mask_{N} take = x {sign} y;
    return (x & take) | (y & ~take);
}}"""
_QUICK = """#if defined(__AVX2__) && !defined(__clang__)
    typedef int ints __attribute__((vector_size(32)));
    if (tg_vector_bytes == 32) return (tg_vector_i32)__builtin_ia32_p{K}sd256((ints)x, (ints)y);
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
# The last vector holds elements of the one before again, which changes nothing.
_QUICK_LONG = """#if defined(__AVX512VL__) && !defined(__clang__)
    typedef long long longs __attribute__((vector_size(32)));
    if (tg_vector_bytes == 32) return (tg_vector_i64)__builtin_ia32_p{K}sq256_mask((longs)x, (longs)y, (longs)y, 255);
#endif
"""
# Vectors of 64 bytes, two of which are asked for NaN at once.
_MOST_LONG = """
#ifdef TG_WHOLE /* by tg_whole_known */
    enum {{ each = 64 / sizeof({T}) }};
    typedef {T} whole __attribute__((vector_size(64), aligned(sizeof({T})), may_alias));
    if (n >= each) {{
        whole a[4] = {{*(const whole *)x}};
        unsigned nan = __builtin_ia32_cmpp{S}512_mask(a[0], a[0], 3, -1, 4);
        int64_t i = each;
        if (n >= 4 * each) {{
            _Pragma("GCC unroll 4") for (int v = 1; v < 4; v++) a[v] = *(const whole *)(x + v * each);
            nan |= __builtin_ia32_cmpp{S}512_mask(a[1], a[2], 3, -1, 4);
            nan |= __builtin_ia32_cmpp{S}512_mask(a[3], a[3], 3, -1, 4);
            for (i = 4 * each; i + 4 * each <= n; i += 4 * each)
                _Pragma("GCC unroll 2") for (int v = 0; v < 4; v += 2) {{
                    const whole e = *(const whole *)(x + i + v * each), f = *(const whole *)(x + i + v * each + each);
                    nan |= __builtin_ia32_cmpp{S}512_mask(e, f, 3, -1, 4);
                    a[v] = __builtin_ia32_{K}p{S}512_mask(e, a[v], e, -1, 4);
                    a[v + 1] = __builtin_ia32_{K}p{S}512_mask(f, a[v + 1], f, -1, 4);
                }}
            a[0] = __builtin_ia32_{K}p{S}512_mask(a[0], a[1], a[0], -1, 4);
            a[2] = __builtin_ia32_{K}p{S}512_mask(a[2], a[3], a[2], -1, 4);
            a[0] = __builtin_ia32_{K}p{S}512_mask(a[0], a[2], a[0], -1, 4);
        }}
        for (; i < n; i += each) {{
            const whole e = *(const whole *)(x + (i + each <= n ? i : n - each));
            nan |= __builtin_ia32_cmpp{S}512_mask(e, e, 3, -1, 4);
            a[0] = __builtin_ia32_{K}p{S}512_mask(e, a[0], e, -1, 4);
        }}
        if (nan) return __builtin_nan("");
        return tg_fold_{K}_{N}((tg_vector_{N} *)a, 2, (tg_mask_{N}){{0}});
    }}
#endif"""
_MOST = """{T} tg_most_{K}_{N}(const {T} *x, int64_t n)
{{{long}
    enum {{ group = 256 / sizeof({T}), one = tg_vector_bytes / sizeof({T}) }};
    if (n >= one) {{
        tg_vector_{N} a[256 / tg_vector_bytes];{nan}
        int64_t i = one;
        a[0] = *(const tg_vector_{N} *)x;
        if (n >= group) {{
            _Pragma("GCC unroll 16") for (int v = 1; v < 256 / tg_vector_bytes; v++)
                a[v] = *(const tg_vector_{N} *)(x + v * one);
            for (i = group; i + group <= n; i += group)
                _Pragma("GCC unroll 8") for (int v = 0; v < 256 / tg_vector_bytes; v += 2) {{
                    const tg_vector_{N} e = *(const tg_vector_{N} *)(x + i + v * one);
                    const tg_vector_{N} f = *(const tg_vector_{N} *)(x + i + v * one + one);
                    a[v] = tg_vector_{K}_{N}(e, a[v]), a[v + 1] = tg_vector_{K}_{N}(f, a[v + 1]);{both_seen}
                }}
        }}
        for (; i < n; i += one) {{
            const tg_vector_{N} e = *(const tg_vector_{N} *)(x + (i + one <= n ? i : n - one));
            a[0] = tg_vector_{K}_{N}(e, a[0]);{seen}
        }}
        return n >= group ? tg_fold_{K}_{N}(a, 256 / tg_vector_bytes{given}) : tg_fold_{K}_{N}(a, 1{given});
    }}
    {T} most = x[0];
    for (int64_t i = 1; i < n; i++) most = x[i] {sign} most || x[i] != x[i] ? x[i] : most;
    return most;
}}"""
# gcc knows the builtins where the processor does, and may name them anew.
_KNOWN = """#ifdef __has_builtin
#if !defined(__clang__) && $BUILTINS
#define TG_WHOLE
#endif
#endif"""
# Elements of either that are no numbers.
_UNORDERED = """tg_mask_{N} tg_unordered_{N}(tg_vector_{N} e, tg_vector_{N} f)
{{
#if defined(__AVX__) && !defined(__clang__)
    typedef {T} whole __attribute__((vector_size(32)));
    if (tg_vector_bytes == 32) return (tg_mask_{N})__builtin_ia32_cmpp{S}256((whole)e, (whole)f, 3);
#endif
    return (tg_mask_{N})(e != e) | (tg_mask_{N})(f != f);
}}"""
# A bit for each of 256 bytes' elements that is the one wanted.
_AMONG = """uint64_t tg_among_{N}(const {T} *x, {T} wanted)
{{
    uint64_t hits = 0;
#ifdef TG_WHOLE /* by tg_whole_known */
    enum {{ each = 64 / sizeof({T}) }};
    typedef {T} whole __attribute__((vector_size(64), aligned(sizeof({T})), may_alias));
    const whole all = (whole)((tg_whole_{N}){{0}} + wanted);
    _Pragma("GCC unroll 4") for (int v = 0; v < 4; v++)
        hits |= (uint64_t)(uint{W}_t)__builtin_ia32_cmpp{S}512_mask(*(const whole *)(x + v * each), all, 0, -1, 4)
                << v * each;
#else
    enum {{ one = tg_vector_bytes / sizeof({T}) }};
    const tg_vector_{N} all = (tg_vector_{N}){{0}} + wanted;
    _Pragma("GCC unroll 16") for (int v = 0; v < 256 / tg_vector_bytes; v++)
        hits |= (uint64_t)tg_hits_{N}((tg_mask_{N})(*(const tg_vector_{N} *)(x + v * one) == all)) << v * one;
#endif
    return hits;
}}"""
_IS_AMONG = """int tg_is_among_{N}(const {T} *x, {T} wanted)
{{
    enum {{ one = tg_vector_bytes / sizeof({T}) }};
    const tg_vector_{N} all = (tg_vector_{N}){{0}} + wanted;
    tg_mask_{N} hit = {{0}};
    _Pragma("GCC unroll 16") for (int v = 0; v < 256 / tg_vector_bytes; v++)
        hit |= (tg_mask_{N})(*(const tg_vector_{N} *)(x + v * one) == all);
    return tg_any_{N}(hit);
}}"""
# Of whole numbers; rows of 100 numbers of 32 bits take 0.7 of the time of what is below.
_WHOLE_FOUND = """int64_t tg_place_{N}(const {T} *x, int64_t from, int64_t n, {T} wanted)
{{
    enum {{ group = 256 / sizeof({T}), one = tg_vector_bytes / sizeof({T}) }};
    const tg_vector_{N} all = (tg_vector_{N}){{0}} + wanted;
    for (; from + group <= n; from += group) {{
        tg_mask_{N} hit = {{0}};
        _Pragma("GCC unroll 16") for (int v = 0; v < 256 / tg_vector_bytes; v++)
            hit |= (tg_mask_{N})(*(const tg_vector_{N} *)(x + from + v * one) == all);
        if (tg_any_{N}(hit)) break;
    }}
    for (uint32_t hits = 0; !hits && from + one <= n; from += hits ? __builtin_ctz(hits) : one)
        hits = tg_hits_{N}((tg_mask_{N})(*(const tg_vector_{N} *)(x + from) == all));
    while (x[from] != wanted) from++;
    return from;
}}"""
# Of short rows all is looked at, from the end: where the first one stands no branch can foresee.
_FOUND = """int64_t tg_place_{N}(const {T} *x, int64_t from, int64_t n, {T} wanted)
{{
    enum {{ group = 256 / sizeof({T}), few = 4096 / sizeof({T}), one = tg_vector_bytes / sizeof({T}) }};
    if (n < group) {{
        for (; from + one <= n; from += one) {{
            const tg_mask_{N} equal = *(const tg_vector_{N} *)(x + from) == (tg_vector_{N}){{0}} + wanted;
            const uint32_t hits = tg_hits_{N}(equal);
            if (hits) return from + __builtin_ctz(hits);
        }}
        while (x[from] != wanted) from++;
        return from;
    }}
    if (n <= few) {{
        for (int64_t at = n - group, last = 0; !last; at = at > group ? at - group : 0) {{
#ifdef TG_WHOLE /* by tg_whole_known */
            const uint64_t hits = tg_among_{N}(x + at, wanted);
            from = hits ? at + __builtin_ctzll(hits) : from;
#else
            from = tg_is_among_{N}(x + at, wanted) ? at : from;
#endif
            last = at == 0;
        }}
#ifndef TG_WHOLE
        from += __builtin_ctzll(tg_among_{N}(x + from, wanted));
#endif
        return from;
    }}
    while (from + group <= n && !tg_is_among_{N}(x + from, wanted)) from += group;
    from = from + group <= n ? from : n - group;
    return from + __builtin_ctzll(tg_among_{N}(x + from, wanted));
}}"""
_PLACE = """void tg_arg{K}_{N}(const {T} *x, int64_t n, int64_t at, {T} *best, int64_t *place)
{{
    enum {{ block = 8192 / sizeof({T}), group = 256 / sizeof({T}), one = tg_vector_bytes / sizeof({T}) }};
    {T} top = *best;
    int64_t from = -1;
    if (top != top) return; /* the first NaN is the answer */
    for (int64_t b = 0; b < n && top == top; b += block) {{
        const {T} most = tg_most_{K}_{N}(x + b, n - b < block ? n - b : block);
        if (!(top {sign}= most)) top = most, from = b;
    }}
    if (from < 0) return;
    if (top == top) from = tg_place_{N}(x, from, n, top);
    else while (x[from] == x[from]) from++;
    *best = x[from], *place = at + from;
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
    return _INLINE + _ROWS_TREE.format(K=kind, N=n, T=c, rows=rows, vectors=16 // rows, steps=text)


def functions(inline: str) -> dict[str, str]:
    """Vectors of the width that the processor adds at once, and what folds do with them."""
    out = {"tg_vector_bytes": _VECTOR_BYTES, "tg_moved": _MOVED, "tg_mixed": _MIXED}
    out |= {"tg_vector_half_f32": _WIDENED, "tg_vector_half_part_f32": _WIDENED_PART}
    for n, c, mask, letter in (("f64", "double", "int64_t", "d"), ("f32", "float", "int32_t", "s")):
        shape = f"__attribute__((vector_size(tg_vector_bytes), aligned(sizeof({c})), may_alias))"
        out[f"tg_vector_{n}"] = f"typedef {c} tg_vector_{n} {shape};"
        out[f"tg_mask_{n}"] = f"typedef {mask} tg_mask_{n} {shape};"
        out[f"tg_any_{n}"] = _INLINE + _ANY.format(N=n, M=mask)
        out[f"tg_hits_{n}"] = _INLINE + _HITS.format(N=n, M=mask, F=c, S=letter)
        out.update(_parts(n, c, mask))
        out[f"tg_vector_abs_{n}"] = _INLINE + _ABS.format(N=n, bits=f"__{mask[:-2].upper()}_MAX__")
        out[f"tg_vector_spread_{n}"] = _INLINE + _spread(n, c)
        for kind, sign in (("max", ">"), ("min", "<")):
            out[f"tg_vector_{kind}_{n}"] = _INLINE + _PICK.format(N=n, K=kind, S=letter, sign=sign)
        for kind in ("sum", "prod", "max", "min"):
            out[f"tg_fold_{kind}_{n}"] = _tree(kind, n, c)
        for kind in ("sum", "prod"):
            out[f"tg_fold_rows_{kind}_{n}"] = _rows_tree(kind, n, c)
            out[f"tg_halved_{kind}_{n}"] = _HALVED.format(K=kind, N=n, T=c, sign={"sum": "+", "prod": "*"}[kind])
    for n in ("i64", "i32"):
        shape = f"__attribute__((vector_size(tg_vector_bytes), aligned({int(n[1:]) // 8}), may_alias))"
        out[f"tg_vector_{n}"] = f"typedef {_TYPES[n]} tg_vector_{n} {shape};"
        out[f"tg_mask_{n}"] = f"typedef {_TYPES[n]} tg_mask_{n} {shape};"
        out.update(_parts(n, _TYPES[n], _TYPES[n]))
        out[f"tg_any_{n}"] = _INLINE + _ANY.format(N=n, M=_TYPES[n])
        same = ("double", "d") if n == "i64" else ("float", "s")
        out[f"tg_hits_{n}"] = _INLINE + _HITS.format(N=n, M=_TYPES[n], F=same[0], S=same[1])
        out[f"tg_vector_spread_{n}"] = _INLINE + _spread(n, _TYPES[n])
        for kind, sign in (("max", ">"), ("min", "<")):
            out[f"tg_vector_{kind}_{n}"] = _INLINE + _PICK_WHOLE.format(
                N=n, K=kind, sign=sign, quick=(_QUICK if n == "i32" else _QUICK_LONG).format(K=kind)
            )
            out[f"tg_fold_{kind}_{n}"] = _tree(kind, n, _TYPES[n])
    used = [f"{k}p{s}512_mask" for k in ("max", "min", "cmp") for s in "ds"]
    known = " \\\n    && ".join([f"__has_builtin(__builtin_ia32_{name})" for name in used])
    out["tg_whole_known"] = _KNOWN.replace("$BUILTINS", known)
    for n in ("f64", "f32", "i64", "i32"):
        out |= _places(n)
        for kind, sign in (("max", ">"), ("min", "<")):
            out[f"tg_most_{kind}_{n}"] = _INLINE + _most(kind, n, sign)
            out[f"tg_arg{kind}_{n}"] = "static " + _PLACE.format(K=kind, N=n, T=_TYPES[n], sign=sign)
    return out


def _most(kind: str, n: str, sign: str) -> str:
    """The function that finds the largest or smallest number of some that lie side by side, NaN if one is."""
    floating = n[0] == "f"
    long = _MOST_LONG.format(T=_TYPES[n], K=kind, N=n, S="d" if n == "f64" else "s") if floating else ""
    return _MOST.format(
        T=_TYPES[n], K=kind, N=n, sign=sign, long=long,
        nan=f"\n        tg_mask_{n} nan = {{0}};" if floating else "",
        seen=f"\n            nan |= (tg_mask_{n})(e != e);" if floating else "",
        both_seen=f"\n                    nan |= tg_unordered_{n}(e, f);" if floating else "",
        given=", nan" if floating else "",
    )  # fmt: skip


def _places(n: str) -> dict[str, str]:
    """The functions that find an element."""
    c = _TYPES[n]
    if n[0] == "i":
        return {f"tg_place_{n}": "static inline " + _WHOLE_FOUND.format(N=n, T=c)}
    letter = "d" if n == "f64" else "s"
    return {
        f"tg_unordered_{n}": _INLINE + _UNORDERED.format(N=n, T=c, S=letter),
        f"tg_whole_{n}": f"typedef {c} tg_whole_{n} __attribute__((vector_size(64)));",
        f"tg_among_{n}": _INLINE + _AMONG.format(N=n, T=c, S=letter, W=8 if n == "f64" else 16),
        f"tg_is_among_{n}": _INLINE + _IS_AMONG.format(N=n, T=c),
        f"tg_place_{n}": "static inline " + _FOUND.format(N=n, T=c),
    }


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
        f"tg_below_{n}": _INLINE + _BELOW.format(lanes=", ".join(lanes), half=", ".join(lanes[:size]), **names),
        f"tg_vector_kept_{n}": _INLINE + _KEPT.format(**names),
        f"tg_vector_part_{n}": _INLINE + _PART.format(half=", ".join(near), **names),
        f"tg_vector_put_part_{n}": _INLINE + _PUT_PART.format(**names),
        f"tg_vector_spread_part_{n}": _INLINE
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
        halves = [h for h in (4, 2, 1) if h < count]
        moved = [", ".join(str(u ^ h) for u in range(count)) for h in halves]
        return "\n".join(f"    {vector('a[0]', f'tg_moved(tg_mask_{n}, a[0], {order})')};" for order in moved)

    suffix, unequal = "" if n == "f64" else "f", f"(tg_mask_{n})(a[v] != a[v])"
    return _INLINE + _TREE.format(
        T=c, N=n, K=kind,
        nan=f", tg_mask_{n} nan" if with_nan else "",
        nans=f"\n    for (int v = 0; v < count; v++) nan |= {unequal};" if with_nan else "",
        vector8=vector("a[v]", "a[v + 8]"), vector4=vector("a[v]", "a[v + 4]"),
        vector2=vector("a[0]", "a[2]"), vector1=vector("a[1]", "a[3]"), vector0=vector("a[0]", "a[1]"),
        wide=lanes(256 // int(n[1:])), narrow=lanes(128 // int(n[1:])),
        result=f"tg_any_{n}(nan) ? __builtin_nan{suffix}(\"\") : a[0][0]" if with_nan else "a[0][0]",
    )  # fmt: skip
