"""C functions over vectors as wide as the processor has them, for loops in which each element is apart. Text."""

from __future__ import annotations

_INLINE = "static inline __attribute__((always_inline)) "
_BYTES = """#if defined(__AVX512F__)
enum { tg_wide_bytes = 64 };
#elif defined(__AVX__)
enum { tg_wide_bytes = 32 };
#else
enum { tg_wide_bytes = 16 };
#endif"""
_ABS = """tg_wide_{N} tg_wide_abs_{N}(tg_wide_{N} x)
{{
    return (tg_wide_{N})((tg_wide_mask_{N})x & {most}); /* all but the sign */
}}"""
_PICK = """tg_wide_{N} tg_wide_pick_{N}(tg_wide_mask_{N} take, tg_wide_{N} x, tg_wide_{N} y)
{{
    return (tg_wide_{N})(((tg_wide_mask_{N})x & take) | ((tg_wide_mask_{N})y & ~take));
}}"""
_EXTREME = """tg_wide_{N} tg_wide_{name}_{N}(tg_wide_{N} x, tg_wide_{N} y) /* a NaN wins, the first of two */
{{
    return tg_wide_pick_{N}((tg_wide_mask_{N})(x {sign} y) | (tg_wide_mask_{N})(x != x), x, y);
}}"""
_SQRT = """tg_wide_{N} tg_wide_sqrt_{N}(tg_wide_{N} x)
{{
    typedef {T} whole __attribute__((vector_size(tg_wide_bytes)));
#if defined(__AVX512F__) && !defined(__clang__)
    return (tg_wide_{N})__builtin_ia32_sqrtp{S}512_mask((whole)x, (whole)x, -1, 4);
#elif defined(__AVX__) && !defined(__clang__)
    return (tg_wide_{N})__builtin_ia32_sqrtp{S}256((whole)x);
#else
    for (int u = 0; u < (int)(tg_wide_bytes / sizeof({T})); u++) x[u] = __builtin_sqrt{F}(x[u]);
    return x;
#endif
}}"""


def wide_functions() -> dict[str, str]:
    """The vectors of these loops, as wide as the processor has them, and functions of them."""
    out = {"tg_wide_bytes": _BYTES}
    for n, c, mask, letter in (("f64", "double", "int64_t", "d"), ("f32", "float", "int32_t", "s")):
        shape = f"__attribute__((vector_size(tg_wide_bytes), aligned(sizeof({c})), may_alias))"
        out[f"tg_wide_{n}"] = f"typedef {c} tg_wide_{n} {shape};"
        out[f"tg_wide_mask_{n}"] = f"typedef {mask} tg_wide_mask_{n} {shape};"
        out[f"tg_wide_abs_{n}"] = _INLINE + _ABS.format(N=n, most=f"__{mask[:-2].upper()}_MAX__")
        out[f"tg_wide_pick_{n}"] = _INLINE + _PICK.format(N=n)
        out[f"tg_wide_sqrt_{n}"] = _INLINE + _SQRT.format(N=n, T=c, S=letter, F="f" if letter == "s" else "")
        for name, sign in (("maximum", ">"), ("minimum", "<")):
            out[f"tg_wide_{name}_{n}"] = _INLINE + _EXTREME.format(N=n, name=name, sign=sign)
    return out
