"""C text of floats of 16 bits, which are numbers of 32 bits while they are computed with. Pure text."""

from __future__ import annotations

# Processors round to them in one instruction, of which gcc 12 makes no vectors by itself: it calls these variants, for
# the vectors that a loop of 16-bit numbers has. Hidden and weak: objects that are linked together may both hold them.
# The C type _Float16 is not used, also where processors compute in it (AVX512-FP16): gcc 12 makes no vectors of casts
# between it and float, which is 2 to 36 times slower, and joins rounded products to sums.
_IN_ONE_STEP = """#if defined(__F16C__) && defined(__x86_64__) && !defined(__clang__)
typedef float tg_floats_4 __attribute__((vector_size(16)));
typedef float tg_floats_8 __attribute__((vector_size(32)));
typedef short tg_halves_8 __attribute__((vector_size(16)));
typedef short tg_halves_16 __attribute__((vector_size(32)));
typedef short tg_halves_32 __attribute__((vector_size(64)));
/* Two vectors one behind the other. gcc 11 has no __builtin_shufflevector. */
#if __GNUC__ >= 12
#define tg_joined_16(a, b) __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
#define tg_joined_32(a, b) \\
    __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, \\
                            23, 24, 25, 26, 27, 28, 29, 30, 31)
#else
#define tg_joined_16(a, b) ((union { tg_halves_8 parts[2]; tg_halves_16 whole; }){{a, b}}.whole)
#define tg_joined_32(a, b) ((union { tg_halves_16 parts[2]; tg_halves_32 whole; }){{a, b}}.whole)
#endif
#define TG_HALF_VARIANT __attribute__((weak, visibility("hidden")))
__attribute__((simd("notinbranch"), const)) uint16_t tg_to_half(float f);
TG_HALF_VARIANT uint16_t tg_to_half_one(float f) __asm__("tg_to_half"); /* of which gcc is not to make variants */
TG_HALF_VARIANT uint16_t tg_to_half_one(float f)
{
    return (uint16_t)__builtin_ia32_vcvtps2ph((tg_floats_4){f}, 0)[0];
}
TG_HALF_VARIANT tg_halves_8 _ZGVbN8v_tg_to_half(tg_floats_4 a, tg_floats_4 b)
{
    const tg_halves_8 low = __builtin_ia32_vcvtps2ph(a, 0), high = __builtin_ia32_vcvtps2ph(b, 0);
    return __builtin_shuffle(low, high, (tg_halves_8){0, 1, 2, 3, 8, 9, 10, 11});
}
TG_HALF_VARIANT tg_halves_8 _ZGVcN8v_tg_to_half(tg_floats_8 a) { return __builtin_ia32_vcvtps2ph256(a, 0); }
TG_HALF_VARIANT tg_halves_16 _ZGVdN16v_tg_to_half(tg_floats_8 a, tg_floats_8 b)
{
    const tg_halves_8 low = __builtin_ia32_vcvtps2ph256(a, 0), high = __builtin_ia32_vcvtps2ph256(b, 0);
    return tg_joined_16(low, high);
}
#ifdef __AVX512F__
typedef float tg_floats_16 __attribute__((vector_size(64)));
TG_HALF_VARIANT tg_halves_32 _ZGVeN32v_tg_to_half(tg_floats_16 a, tg_floats_16 b)
{
    const tg_halves_16 none = {0};
    const tg_halves_16 low = __builtin_ia32_vcvtps2ph512_mask(a, 0, none, (short)-1);
    const tg_halves_16 high = __builtin_ia32_vcvtps2ph512_mask(b, 0, none, (short)-1);
    return tg_joined_32(low, high);
}
#endif
#else
"""
# Cut off after the digits of a float, the last of which is odd if anything was lost: it says on which side of all
# numbers with fewer digits the number lies, so that rounding it again is right.
ODD = """float tg_to_odd(double d)
{
    const uint64_t rest = 0x1fffffff;
    $BITS
    bits = (bits & ~rest) | (((bits & rest) + rest) & (rest + 1));
    $DOUBLE
}"""
_BITS = "uint64_t bits;\n    __builtin_memcpy(&bits, &d, 8);"
_DOUBLE = "__builtin_memcpy(&d, &bits, 8);\n    return (float)d;"
TEXTS = {
    "tg_to_odd": "static inline " + ODD.replace("$BITS", _BITS).replace("$DOUBLE", _DOUBLE),
    "tg_from_half": """static inline float tg_from_half(uint16_t h)
{
    /* move the bits, and let a product put the exponent right */
    uint32_t m = h & 0x7fff, bits = m << 13;
    float f;
    __builtin_memcpy(&f, &bits, 4);
    f *= 0x1p112f;
    __builtin_memcpy(&bits, &f, 4);
    bits = (m >= 0x7c00 ? 0x7f800000 | m << 13 : bits) | (uint32_t)(h & 0x8000) << 16;
    __builtin_memcpy(&f, &bits, 4);
    return f;
}""",
    "tg_to_half": f"""{_IN_ONE_STEP}static inline uint16_t tg_to_half(float f)
{{
    uint32_t bits, small, sign, out;
    __builtin_memcpy(&bits, &f, 4);
    sign = bits >> 16 & 0x8000, bits &= 0x7fffffff;
    float g;
    __builtin_memcpy(&g, &bits, 4);
    g += 0.5f; /* rounds to what a subnormal number can hold */
    __builtin_memcpy(&small, &g, 4);
    out = (bits - 0x38000000 + 0xfff + (bits >> 13 & 1)) >> 13;
    out = bits < 0x38800000 ? small - 0x3f000000 : out; /* selections, no branches: loops of them become vectors */
    out = bits >= 0x47800000 ? 0x7c00 : out;
    out = bits > 0x7f800000 ? 0x7e00 : out;
    return (uint16_t)(sign | out);
}}
#endif""",
    "tg_from_bfloat": """static inline float tg_from_bfloat(uint16_t h)
{
    uint32_t bits = (uint32_t)h << 16;
    float f;
    __builtin_memcpy(&f, &bits, 4);
    return f;
}""",
    "tg_round_bfloat": """static inline float tg_round_bfloat(float f) /* to the nearest, ties to even; NaN stays NaN */
{
    uint32_t bits, near;
    __builtin_memcpy(&bits, &f, 4);
    near = bits + 0x7fff + (bits >> 16 & 1);
    near = (f == f ? near : 0x7fc00000) & 0xffff0000;
    __builtin_memcpy(&f, &near, 4);
    return f;
}""",
    "tg_cut_bfloat": """static inline uint16_t tg_cut_bfloat(float f) /* of a number that is rounded already */
{
    uint32_t bits;
    __builtin_memcpy(&bits, &f, 4);
    return (uint16_t)(bits >> 16);
}""",
    "tg_round_half": """static inline float tg_round_half(float f) /* tg_from_half(tg_to_half(f)), in half the steps */
{
    uint32_t bits, small, sign, out;
    __builtin_memcpy(&bits, &f, 4);
    sign = bits & 0x80000000, bits &= 0x7fffffff;
    float g;
    __builtin_memcpy(&g, &bits, 4);
    g = g + 0.5f - 0.5f;
    __builtin_memcpy(&small, &g, 4);
    out = (bits + 0xfff + (bits >> 13 & 1)) & ~0x1fffu;
    out = bits < 0x38800000 ? small : out;
    out = out >= 0x47800000 ? 0x7f800000 : out;
    out = sign | (bits > 0x7f800000 ? bits : out);
    __builtin_memcpy(&f, &out, 4);
    return f;
}""",
}


_SIGN = """uint16_t tg_sign_bits(uint16_t x, uint16_t one, uint16_t infinity)
{
    const uint16_t size = x & 0x7fff, of_number = size ? (x & 0x8000) | one : 0;
    return size > infinity ? x : of_number;
}"""


def functions(inline: str) -> dict[str, str]:
    """The texts by name; most say themselves how they are written in."""
    return {**TEXTS, "tg_sign_bits": inline + _SIGN}
