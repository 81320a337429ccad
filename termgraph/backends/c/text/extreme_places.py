"""C functions that find where the largest or smallest element of some is that lie side by side in memory. Pure text.

First the extreme, by whole vectors (`fold_texts`), then the first element that is equal to it.
"""

from __future__ import annotations

from termgraph.backends.c.text.fold_texts import COMPARED, INLINE

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
# The last vector holds elements of the one before again, which changes nothing.
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
    for (uint32_t hits = 0; !hits && from + one <= n; from += hits ? __builtin_ctz(hits) / {bits} : one)
        hits = tg_hits_{N}((tg_mask_{N})(*(const tg_vector_{N} *)(x + from) == all));
    while (x[from] != wanted) from++;
    return from;
}}"""
# The first truth value of a kind ends the search.
_FIRST_TRUTH = """void tg_arg{K}_b(const void *x, int64_t n, int64_t at, _Bool *best, int64_t *place)
{{
    enum {{ group = 256, one = tg_vector_bytes }};
    const uint8_t *v = x;
    int64_t i = 0;
    if ({no}*best) return;
    for (; i + group <= n; i += group) {{
        tg_mask_u8 hit = {{0}};
        _Pragma("GCC unroll 16") for (int w = 0; w < group / one; w++)
            hit |= (tg_mask_u8)(*(const tg_vector_u8 *)(v + i + w * one) {sign} 0);
        if (tg_any_u8(hit)) break;
    }}
    for (uint32_t hits = 0; !hits && i + one <= n; i += hits ? __builtin_ctz(hits) : one)
        hits = tg_hits_u8((tg_mask_u8)(*(const tg_vector_u8 *)(v + i) {sign} 0));
    while (i < n && {no}!v[i]) i++;
    if (i < n) *best = !*best, *place = at + i;
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


def functions(inline: str) -> dict[str, str]:
    """The functions for numbers of each type, and for truth values, whose first one of a kind is all that is wanted."""
    used = [f"{k}p{s}512_mask" for k in ("max", "min", "cmp") for s in "ds"]
    known = " \\\n    && ".join([f"__has_builtin(__builtin_ia32_{name})" for name in used])
    out = {"tg_whole_known": _KNOWN.replace("$BUILTINS", known)}
    for n, c in COMPARED.items():
        out |= _places(n, c)
        for kind, sign in (("max", ">"), ("min", "<")):
            out[f"tg_most_{kind}_{n}"] = INLINE + _most(kind, n, c, sign)
            out[f"tg_arg{kind}_{n}"] = "static " + _PLACE.format(K=kind, N=n, T=c, sign=sign)
    for kind, no, sign in (("max", "", "!="), ("min", "!", "==")):
        out[f"tg_arg{kind}_b"] = "static " + _FIRST_TRUTH.format(K=kind, no=no, sign=sign)
    return out


def _most(kind: str, n: str, c: str, sign: str) -> str:
    """The function that finds the largest or smallest number of some that lie side by side, NaN if one is."""
    floating = n[0] == "f"
    long = _MOST_LONG.format(T=c, K=kind, N=n, S="d" if n == "f64" else "s") if floating else ""
    return _MOST.format(
        T=c, K=kind, N=n, sign=sign, long=long,
        nan=f"\n        tg_mask_{n} nan = {{0}};" if floating else "",
        seen=f"\n            nan |= (tg_mask_{n})(e != e);" if floating else "",
        both_seen=f"\n                    nan |= tg_unordered_{n}(e, f);" if floating else "",
        given=", nan" if floating else "",
    )  # fmt: skip


def _places(n: str, c: str) -> dict[str, str]:
    """The functions that find an element."""
    if n[0] != "f":
        return {f"tg_place_{n}": "static inline " + _WHOLE_FOUND.format(N=n, T=c, bits=2 if n[1:] == "16" else 1)}
    letter = "d" if n == "f64" else "s"
    return {
        f"tg_unordered_{n}": INLINE + _UNORDERED.format(N=n, T=c, S=letter),
        f"tg_whole_{n}": f"typedef {c} tg_whole_{n} __attribute__((vector_size(64)));",
        f"tg_among_{n}": INLINE + _AMONG.format(N=n, T=c, S=letter, W=8 if n == "f64" else 16),
        f"tg_is_among_{n}": INLINE + _IS_AMONG.format(N=n, T=c),
        f"tg_place_{n}": "static inline " + _FOUND.format(N=n, T=c),
    }
