"""C text of remainders of floats and whole quotients, with versions for the vectors of loops, which gcc calls there.

The quotient rounded down (`mod`) or cut off (`fmod`) is right, or one too large where it was rounded up to a whole
number: the remainder is exact in both cases. Large quotients, of which NumPy loses digits, infinities and zeros are
left to `fmod`, one by one. Pure text.
"""

from __future__ import annotations

# Each gives what is right for all but rare numbers, and says whether it is.
_DOWN = """_Bool tg_remainder_by_{N}({T} a, {T} b, {T} *q, {T} *r)
{{
    *q = floor{S}(a / b);
    *r = __builtin_fma{S}(-*q, b, a);
    const _Bool off = *r != 0 && (b < 0) != (*r < 0);
    *q = off ? *q - 1 : *q;
    *r = off ? *r + b : *r;
    return (fabs{S}(*q) < ({T})(sizeof({T}) == 8 ? 0x1p50 : 0x1p21)) & (*r == *r);
}}"""
_QUICK = {
    "mod": """_Bool tg_mod_quick_{N}({T} a, {T} b, {T} *out)
{{
    {T} q, r;
    const _Bool good = tg_remainder_by_{N}(a, b, &q, &r);
    *out = copysign{S}(r, b);
    return good;
}}""",
    "floordiv": """_Bool tg_floordiv_quick_{N}({T} a, {T} b, {T} *out)
{{
    {T} r;
    return tg_remainder_by_{N}(a, b, out, &r);
}}""",
    "fmod": """_Bool tg_fmod_quick_{N}({T} a, {T} b, {T} *out)
{{
    const {T} q = trunc{S}(a / b);
    {T} r = __builtin_fma{S}(-q, b, a);
    r = r != 0 && (r < 0) != (a < 0) ? r + copysign{S}(b, a) : r; /* too large: the other sign */
    *out = copysign{S}(r, a);
    return (fabs{S}(q) < ({T})(sizeof({T}) == 8 ? 0x1p50 : 0x1p21)) & (r == r);
}}""",
}
_RARE = {
    "mod": """{T} tg_mod_rare_{N}({T} a, {T} b)
{{
    const {T} r = fmod{S}(a, b);
    if (b == 0) return r;
    return r == 0 ? copysign{S}(0, b) : (b < 0) != (r < 0) ? r + b : r;
}}""",
    "floordiv": """{T} tg_floordiv_rare_{N}({T} a, {T} b)
{{
    if (b == 0) return a / b;
    const {T} r = fmod{S}(a, b);
    {T} q = (a - r) / b;
    if (r != 0 && (b < 0) != (r < 0)) q -= 1;
    if (q == 0) return copysign{S}(0, a / b);
    const {T} f = floor{S}(q);
    return q - f > ({T})0.5 ? f + 1 : f;
}}""",
    "fmod": "{T} tg_fmod_rare_{N}({T} a, {T} b) {{ return fmod{S}(a, b); }}",
}
# Hidden and weak: objects that are linked together may both hold them. Kernels for a GPU, which are C++, have none.
# Symbols are named as in C where objects are ELF; elsewhere an underscore may stand before them.
_VARIANT = """#if defined(__x86_64__) && defined(__ELF__) && defined(__FMA__) \\
    && !defined(__clang__) && !defined(__cplusplus)
#define TG_REST_VECTORS
#define TG_REST_HIDDEN __attribute__((weak, visibility("hidden")))
#define TG_REST_VARIANT(what, type, kind, bits, letter, n) \\
    typedef type tg_rest_##kind##_##letter __attribute__((vector_size(n * sizeof(type)))); \\
    TG_REST_HIDDEN tg_rest_##kind##_##letter _ZGV##letter##N##n##vv_tg_##what##_##kind( \\
        tg_rest_##kind##_##letter a, tg_rest_##kind##_##letter b) \\
    { \\
        type x[n] __attribute__((aligned(64))), y[n] __attribute__((aligned(64))), r[n] __attribute__((aligned(64))); \\
        bits good[n], all = -1; \\
        *(tg_rest_##kind##_##letter *)x = a, *(tg_rest_##kind##_##letter *)y = b; \\
        for (int l = 0; l < n; l++) all &= good[l] = -(bits)tg_##what##_quick_##kind(x[l], y[l], r + l); \\
        if (__builtin_expect(!all, 0)) \\
            for (int l = 0; l < n; l++) \\
                if (!good[l]) r[l] = tg_##what##_rare_##kind(x[l], y[l]); \\
        return *(tg_rest_##kind##_##letter *)r; \\
    }
#endif"""
_FUNCTION = """#ifdef TG_REST_VECTORS /* by tg_rest_vectors */
__attribute__((simd("notinbranch"), const)) {T} tg_{WHAT}_{N}({T} a, {T} b);
TG_REST_HIDDEN {T} tg_{WHAT}_one_{N}({T} a, {T} b) __asm__("tg_{WHAT}_{N}"); /* of which gcc is not to make variants */
TG_REST_HIDDEN {T} tg_{WHAT}_one_{N}({T} a, {T} b)
#else
static inline __attribute__((always_inline)) {T} tg_{WHAT}_{N}({T} a, {T} b)
#endif
{{
    {T} r;
    return tg_{WHAT}_quick_{N}(a, b, &r) ? r : tg_{WHAT}_rare_{N}(a, b);
}}
#ifdef TG_REST_VECTORS
TG_REST_VARIANT({WHAT}, {T}, {N}, int{W}_t, b, {B})
#ifdef __AVX2__
TG_REST_VARIANT({WHAT}, {T}, {N}, int{W}_t, d, {D})
#else
TG_REST_VARIANT({WHAT}, {T}, {N}, int{W}_t, c, {D})
#endif
#ifdef __AVX512F__
TG_REST_VARIANT({WHAT}, {T}, {N}, int{W}_t, e, {E})
#endif
#endif"""


def functions(inline: str) -> dict[str, str]:
    """The helpers by name."""
    out = {"tg_rest_vectors": _VARIANT}
    for name, c, suffix, bits in (("f64", "double", "", 64), ("f32", "float", "f", 32)):
        words = {"N": name, "T": c, "S": suffix, "W": bits, "B": 128 // bits, "D": 256 // bits, "E": 512 // bits}
        out[f"tg_remainder_by_{name}"] = inline + _DOWN.format(**words)
        for what, text in _QUICK.items():
            out[f"tg_{what}_quick_{name}"] = inline + text.format(**words)
            out[f"tg_{what}_rare_{name}"] = inline + _RARE[what].format(**words)
            out[f"tg_{what}_{name}"] = _FUNCTION.format(WHAT=what, **words)
    return out
