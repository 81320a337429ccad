"""Vector versions of `sin` and `cos` of float32 for x86, which gcc's loops call by libmvec's names. Pure text.

libmvec's leave their vectors for each number that is NaN, infinite or beyond 10,000. `scripts/fit_sines.py` derives the
numbers here and tries every float32. Largest error in units of the last place, libmvec's in brackets: sin 1.77 (2.11),
cos 1.79 (1.92); beyond 2^17, where double precision takes over, 0.501. No result is beyond 1, and cos(0) is 1.
"""

from __future__ import annotations

from termgraph.backends.c.build import compilers

# sin(r) = r + r^3 * (c0 + c1*r^2 + ...), |r| <= pi/2 and a little more. It is nearly the best such polynomial, and one
# of which no value, rounded as here, is beyond 1.
SINE = ("-0x1.555548p-3", "0x1.110e66p-7", "-0x1.9f5fa4p-13", "0x1.5cedf4p-19")
LESS = ("-0x1.921fb6p+1", "0x1.777a5cp-24", "0x1.ee59dap-49")  # of which the sum is -pi
# Modulo 2^23, 2^(8j) / pi in three parts: products of a float32 below 2^9 with the first two are exact.
TURNS = """
    {0x1.4p-2, 0x1.45fp+6, 0x1.45f3p+14, 0x1.45f306ep+22, 0x1.f306dcap+22, 0x1.06dc9c9p+22, 0x1.b939106p+21,
     0x1.391054ap+21, 0x1.1054a8p+21, 0x1.529fc28p+19, 0x1.4fe13acp+20, 0x1.f84eafap+22, 0x1.3abe8fcp+20,
     0x1.5f47d4ep+21, 0x1.a3ea69cp+22, 0x1.ea69bb8p+22},
    {0x1.7cc1b72p-8, 0x1.836e4e4p-9, 0x1.b72722p-8, -0x1.b1bbeacp-9, -0x1.bbead6p-9, -0x1.f56b01ep-8,
     -0x1.6b01ec6p-8, 0x1.fc2757cp-9, -0x1.ec5417p-8, -0x1.505c158p-10, -0x1.70565ap-12, 0x1.f534ddcp-9,
     -0x1.65911fap-8, -0x1.911f924p-8, -0x1.1f924ecp-8, 0x1.b6c52bp-10},
    {0x1.c882a53f84ebp-38, 0x1.054a7f09d5f48p-39, 0x1.529fc2757d1f5p-37, -0x1.603d8a82e0acbp-37,
     -0x1.ec54170565912p-40, -0x1.8a82e0acb223fp-37, 0x1.7d1f534ddc0dbp-37, 0x1.1f534ddc0db63p-37,
     -0x1.596447e493ad5p-38, -0x1.6447e493ad4cep-38, 0x1.dc0db6295993cp-37, 0x1.b6c52b3278872p-42,
     0x1.b6295993c439p-37, -0x1.d6a66c3bc6fbep-37, 0x1.5993c439041fep-37, 0x1.93c439041fe51p-37}"""
# sin(pi*f) = f * (c0 + c1*f^2 + ...), |f| <= 1/2
TURNED = ("0x1.921fb5441e314p+1", "-0x1.4abbce4f0fa42p+2", "0x1.466bbfbf6f292p+1", "-0x1.32d1117538c51p-1",
          "0x1.500fe2299e9fap-4", "-0x1.cc31fff6e672ep-8")  # fmt: skip
NEAR = "0x1p17f"
KNOWN = {"8": ("vfmaddps256", "cmpps256", "movmskps256"), "16": ("vfmaddps512_mask", "cmpps512_mask")}

# Hidden and weak: objects that are linked together may both hold them. Comparisons: 30 is "more", 17 "less", both false
# for NaN. Infinities are NaN as they come; what is far away besides is done in a loop of its own.
_SINES = """#if defined(__has_builtin) && defined(__x86_64__) && !defined(__clang__) && !defined(__cplusplus)
#if defined(__AVX512F__)
#if $KNOWN16
#define TG_SINES
typedef float tg_sines __attribute__((vector_size(64)));
typedef int32_t tg_sine_bits __attribute__((vector_size(64)));
#define TG_SINE_NAME(name) _ZGVeN16v_##name
#define TG_SINE_FMA(a, b, c) __builtin_ia32_vfmaddps512_mask(a, b, c, (unsigned short)-1, 4)
#define TG_SINE_WHICH(a, how, b) __builtin_ia32_cmpps512_mask(a, b, how, (unsigned short)-1, 4)
#endif
#elif defined(__AVX2__) && defined(__FMA__)
#if $KNOWN8
#define TG_SINES
typedef float tg_sines __attribute__((vector_size(32)));
typedef int32_t tg_sine_bits __attribute__((vector_size(32)));
#define TG_SINE_NAME(name) _ZGVdN8v_##name
#define TG_SINE_FMA(a, b, c) __builtin_ia32_vfmaddps256(a, b, c)
#define TG_SINE_WHICH(a, how, b) __builtin_ia32_movmskps256(__builtin_ia32_cmpps256(a, b, how))
#endif
#endif
#endif
#ifdef TG_SINES
#define TG_SINE_VARIANT __attribute__((weak, visibility("hidden")))
#define TG_SINE_ALL(c) ((tg_sines){0} + (c))
static const double tg_sine_turns[3][16] = {$TURNS};
static inline __attribute__((always_inline)) float tg_sine_turned(float x, double half) /* sin(x + half*pi), |x| >= 2 */
{
    uint32_t bits;
    __builtin_memcpy(&bits, &x, 4);
    const int j = bits >> 26 & 15;
    bits = (bits & 0x83ffffff) | 0x40000000;
    __builtin_memcpy(&x, &bits, 4); /* now times 2^(-8j) */
    const double a = tg_sine_turns[0][j], b = tg_sine_turns[1][j], c = tg_sine_turns[2][j], g = x * a + half;
    const double shift = 0x1.8p52, t = __builtin_fma(x, b, g) + shift, n = t - shift;
    const double f = __builtin_fma(x, c, __builtin_fma(x, b, g - n)), z = f * f;
    double y = $TURNED5;
    y = __builtin_fma(z, y, $TURNED4);
    y = __builtin_fma(z, y, $TURNED3);
    y = __builtin_fma(z, y, $TURNED2);
    y = __builtin_fma(z, y, $TURNED1);
    y = __builtin_fma(z, y, $TURNED0) * f;
    uint64_t odd, all;
    __builtin_memcpy(&odd, &t, 8), __builtin_memcpy(&all, &y, 8);
    all ^= odd << 63; /* a choice would be no vector code */
    __builtin_memcpy(&y, &all, 8);
    return (float)y;
}
static __attribute__((noinline)) tg_sines tg_sine_far(tg_sines x, tg_sines y, double half, int which)
{
    float in[sizeof(x) / 4], out[sizeof(x) / 4];
    __builtin_memcpy(in, &x, sizeof(x)), __builtin_memcpy(out, &y, sizeof(y));
    for (unsigned l = 0; l < sizeof(x) / 4; l++) {
        const float one = tg_sine_turned(in[l], half);
        out[l] = which >> l & 1 ? one : out[l];
    }
    __builtin_memcpy(&y, out, sizeof(y));
    return y;
}
TG_SINE_INLINE tg_sines tg_sine_mended(tg_sines x, tg_sines a, tg_sines y, double half)
{
    const int far = TG_SINE_WHICH(a, 30, TG_SINE_ALL($NEAR));
    const int which = far ? far & TG_SINE_WHICH(a, 17, TG_SINE_ALL(__builtin_inff())) : 0;
    return __builtin_expect(which, 0) ? tg_sine_far(x, y, half, which) : y;
}
TG_SINE_INLINE tg_sines tg_sine_near(tg_sines a, tg_sines k) /* sin(a - k*pi) */
{
    tg_sines r = TG_SINE_FMA(k, TG_SINE_ALL($LESS0f), a);
    r = TG_SINE_FMA(k, TG_SINE_ALL($LESS2f), TG_SINE_FMA(k, TG_SINE_ALL($LESS1f), r));
    const tg_sines z = r * r;
    tg_sines q = TG_SINE_FMA(z, TG_SINE_ALL($SINE3f), TG_SINE_ALL($SINE2f));
    q = TG_SINE_FMA(z, TG_SINE_FMA(z, q, TG_SINE_ALL($SINE1f)), TG_SINE_ALL($SINE0f));
    return TG_SINE_FMA(r * z, q, r);
}
#endif"""
# The sign of sin(x) is that of x, turned where the number of half turns is odd; cos(x) begins half a half turn earlier.
# Products of subnormal numbers take the processor 100 cycles, so cos has none.
_VARIANTS = {
    "sinf": """TG_SINE_VARIANT tg_sines TG_SINE_NAME(sinf)(tg_sines x)
{
    const tg_sines a = (tg_sines)((tg_sine_bits)x & 0x7fffffff), shift = TG_SINE_ALL(0x1.8p23f);
    const tg_sines t = TG_SINE_FMA(a, TG_SINE_ALL(0x1.45f306p-2f), shift), y = tg_sine_near(a, t - shift);
    const tg_sine_bits sign = (tg_sine_bits)x ^ (tg_sine_bits)a ^ (tg_sine_bits)t << 31;
    return tg_sine_mended(x, a, (tg_sines)((tg_sine_bits)y ^ sign), 0);
}""",
    "cosf": """TG_SINE_VARIANT tg_sines TG_SINE_NAME(cosf)(tg_sines x)
{
    const tg_sines a = (tg_sines)((tg_sine_bits)x & 0x7fffffff) + 0x1p-100f, shift = TG_SINE_ALL(0x1.8p23f);
    const tg_sines t = TG_SINE_FMA(a, TG_SINE_ALL(0x1.45f306p-2f), TG_SINE_ALL(-0.5f)) + shift;
    const tg_sines y = tg_sine_near(a, t - shift + 0.5f);
    return tg_sine_mended(a, a, (tg_sines)((tg_sine_bits)y ^ ~(tg_sine_bits)t << 31), 0.5);
}""",
}

# What is left of a loop of vectors of 64 bytes goes in one of 32: the same bits wherever an element stands.
_REST = """#ifdef __AVX512F__
typedef float tg_sines_$F __attribute__((vector_size(32)));
TG_SINE_VARIANT tg_sines_$F _ZGVdN8v_$F(tg_sines_$F x)
{
    tg_sines wide = {0};
    __builtin_memcpy(&wide, &x, sizeof(x));
    wide = TG_SINE_NAME($F)(wide);
    __builtin_memcpy(&x, &wide, sizeof(x));
    return x;
}
#endif"""


def functions(inline: str) -> dict[str, str]:
    """The helper by name; it says itself how it is written in."""
    words = {f"$KNOWN{n}": " && ".join([f"__has_builtin(__builtin_ia32_{b})" for b in KNOWN[n]]) for n in KNOWN}
    words |= {"$NEAR": NEAR, "$TURNS": TURNS} | {f"$TURNED{k}": c for k, c in enumerate(TURNED)}
    words |= {f"$SINE{k}": c for k, c in enumerate(SINE)} | {f"$LESS{k}": c for k, c in enumerate(LESS)}
    text = _SINES.replace("TG_SINE_INLINE", "static inline __attribute__((always_inline))")
    for word, number in words.items():
        text = text.replace(word, number)
    return {"tg_sines": text}


def variant(name: str) -> str:
    """The version of a function that libmvec has, if there is one here for this processor's vectors; else nothing."""
    if name not in _VARIANTS or not compilers.processor_flags() >= {"avx2", "fma"}:
        return ""
    return f"\n#ifdef TG_SINES /* by tg_sines */\n{_VARIANTS[name]}\n{_REST.replace('$F', name)}\n#endif"
