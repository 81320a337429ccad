"""C text of the incomplete gamma functions, for a vector of numbers at once until the last is done. Pure text.

Loops of unknown length are no vector loops, so there is a function of whole vectors, which gcc calls in loops as it
calls libmvec's: the names are those of its `simd` attribute. Some numbers are left to SciPy's loop, one by one.
"""

from __future__ import annotations

from termgraph.backends.c.text.gammas import of

# Of x^a e^-x / gamma(a) the exponent is a sum of two numbers. The series is that of the lower function, for x up to a;
# the continued fraction that of the upper one, as in Cephes; below 1.1 the upper one is 1 - x^a / gamma(1 + a) and a
# series. Large ones near each other, for which Temme's expansion is better, what under- or overflows, and what is no
# positive number are SciPy's. What a lane has found stays while others go on: results depend on no neighbours.
_LANES = """#ifdef __AVX512F__
enum { TG_GAMMA_LANES = 8 };
#elif defined(__AVX__)
enum { TG_GAMMA_LANES = 4 };
#else
enum { TG_GAMMA_LANES = 2 };
#endif
typedef double tg_gammas __attribute__((vector_size(8 * TG_GAMMA_LANES)));
typedef int64_t tg_gamma_bits __attribute__((vector_size(8 * TG_GAMMA_LANES)));
#define TG_GAMMA_PICK(m, x, y) ((tg_gammas)(((m) & (tg_gamma_bits)(x)) | (~(m) & (tg_gamma_bits)(y))))
#define TG_GAMMA_ABS(x) ((tg_gammas)((tg_gamma_bits)(x) & __INT64_MAX__))

static inline int tg_gamma_any(tg_gamma_bits mask)
{
#ifdef __AVX512F__
    typedef long long longs __attribute__((vector_size(64)));
    return __builtin_ia32_cmpq512_mask((longs)mask, (longs){0}, 4, -1) != 0;
#elif defined(__AVX__)
    return __builtin_ia32_movmskpd256((tg_gammas)mask) != 0;
#else
    int64_t any = 0;
    for (int l = 0; l < TG_GAMMA_LANES; l++) any |= mask[l];
    return any != 0;
#endif
}

/* x^a e^-x / gamma(a), and its exponent: a vector loop of scalar functions. */
static __attribute__((noinline)) void
tg_gamma_factors(const double *restrict a, const double *restrict x, double *restrict exponent, double *restrict factor)
{
#pragma GCC ivdep
    for (int l = 0; l < TG_GAMMA_LANES; l++) {
        double rest;
        const double log_x = tg_log_parts_f64(x[l], 0, &rest), high = log_x + rest, low = rest - (high - log_x);
        const double product = a[l] * high, sum = product - x[l], back = sum - product;
        const double lost = (product - (sum - back)) - (x[l] + back);
        const double less = lost + tg_own_fma_f64(a[l], high, -product) + a[l] * low, power = exp(sum);
        exponent[l] = sum;
        factor[l] = tg_own_fma_f64(power, less, power) / tg_gamma_lanes_f64(a[l]);
    }
}

/* 1 - x^a / gamma(1 + a), and e^x, for a up to 1.1. */
static __attribute__((noinline)) void
tg_gamma_near(const double *restrict a, const double *restrict x, double *restrict out, double *restrict power)
{
#pragma GCC ivdep
    for (int l = 0; l < TG_GAMMA_LANES; l++) {
        const double z = a[l], first = z * $AT_1, second = (z - 1) * $AT_2, low = log(x[l]);
        out[l] = -expm1(z * low - (z < 0.5 ? first : second));
        power[l] = exp(x[l]);
    }
}

/* gammainc or, if `upper`, gammaincc; `fine` is what counts beside 1. */
static __attribute__((noinline)) tg_gammas tg_incomplete_gamma(tg_gammas a, tg_gammas x, int upper, double fine)
{
    const tg_gammas none = {0}, one = none + 1, gap = x - a, far = TG_GAMMA_ABS(gap);
    const tg_gamma_bits positive = (a > 0x1p-900) & (x > 0x1p-900) & (a <= 100) & (x <= 600);
    const tg_gamma_bits little = x <= 1.1;
    const tg_gamma_bits left = upper ? (gap <= 0) & ~(little & (a <= 0.5)) : (gap <= 0) | little;
    const tg_gamma_bits known = positive & ((a <= 20) | (far > 0.3 * a));
    const tg_gammas orders = TG_GAMMA_PICK(known, a, one), places = TG_GAMMA_PICK(known, x, one);
    tg_gammas exponent, factor;
    tg_gamma_factors((double *)&orders, (double *)&places, (double *)&exponent, (double *)&factor);
    const tg_gamma_bits good = known & (exponent > -700), series = good & left;
    const tg_gamma_bits fraction = good & ~left & ~little, near = good & ~left & little;
    tg_gammas lower = {0}, rest = {0};
    if (tg_gamma_any(series)) {
        const tg_gammas u = TG_GAMMA_PICK(series, x, none);
        tg_gammas n = orders, term = one, sum = one;
        for (tg_gamma_bits open = series; tg_gamma_any(open); open &= term > fine * sum)
            for (int k = 0; k < 4; k++) n += 1, term *= u / n, sum += TG_GAMMA_PICK(open, term, none);
        lower = factor * sum / orders;
    }
    if (tg_gamma_any(fraction)) {
        const tg_gammas u = TG_GAMMA_PICK(fraction, x, one * 90), v = TG_GAMMA_PICK(fraction, a, one);
        tg_gammas y = 1 - v, z = u + y + 1, c = {0}, p2 = one, q2 = u, p1 = u + 1, q1 = z * u, found = p1 / q1;
        tg_gamma_bits open = fraction;
        for (int steps = 0; steps < 500 && tg_gamma_any(open); steps++) {
            for (int k = 0; k < 4; k++) {
                c += 1, y += 1, z += 2;
                const tg_gammas b = y * c, p = p1 * z - p2 * b, q = q1 * z - q2 * b;
                p2 = p1, p1 = p, q2 = q1, q1 = q;
            }
            const tg_gammas scale = TG_GAMMA_PICK(q1 > 0x1p200, one * 0x1p-200, one);
            p1 *= scale, p2 *= scale, q1 *= scale, q2 *= scale;
            const tg_gammas next = p1 / q1, change = next - found;
            found = TG_GAMMA_PICK(open, next, found);
            open &= (change > 8 * fine * found) | (-change > 8 * fine * found);
        }
        rest = factor * found;
    }
    if (tg_gamma_any(near)) {
        const tg_gammas u = TG_GAMMA_PICK(near, x, one), v = TG_GAMMA_PICK(near, a, one);
        tg_gammas n = {0}, term, power = one, sum = {0}, begin, grown;
        tg_gamma_near((double *)&v, (double *)&u, (double *)&begin, (double *)&grown);
        for (tg_gamma_bits open = near; tg_gamma_any(open); open &= TG_GAMMA_ABS(term) > fine * TG_GAMMA_ABS(sum))
            for (int k = 0; k < 4; k++)
                n += 1, power *= u / -n, term = power / (v + n), sum += TG_GAMMA_PICK(open, term, none);
        rest = TG_GAMMA_PICK(near, begin - factor * grown * sum, rest);
    }
    tg_gammas out = upper ? TG_GAMMA_PICK(left, 1 - lower, rest) : TG_GAMMA_PICK(left, lower, 1 - rest);
    if (tg_gamma_any(~good))
        for (int l = 0; l < TG_GAMMA_LANES; l++)
            if (!good[l])
                out[l] = upper ? tg_scipy(TG_NATIVE_special__gammaincc__dd_d, a[l], x[l], 0, 2)
                               : tg_scipy(TG_NATIVE_special__gammainc__dd_d, a[l], x[l], 0, 2);
    return out;
}"""
# gcc calls the variant for the vectors of a loop; a scalar call is one of a vector with the same number in all lanes.
# Hidden and weak, as objects that are linked together may both hold them.
_VARIANTS = """
#define TG_HIDDEN __attribute__((weak, visibility("hidden")))
#define TG_GAMMA_VARIANT(name, letter, n, upper, fine) \\
    TG_HIDDEN tg_gammas_##n _ZGV##letter##N##n##vv_##name(tg_gammas_##n a, tg_gammas_##n x) \\
    { \\
        tg_gammas order, at, found; \\
        tg_gammas_##n out; \\
        for (int l = 0; l < TG_GAMMA_LANES; l++) order[l] = a[l % n], at[l] = x[l % n]; \\
        found = tg_incomplete_gamma(order, at, upper, fine); \\
        for (int l = 0; l < n; l++) out[l] = found[l]; \\
        return out; \\
    }
typedef double tg_gammas_2 __attribute__((vector_size(16)));
typedef double tg_gammas_4 __attribute__((vector_size(32)));
typedef double tg_gammas_8 __attribute__((vector_size(64)));
"""
_FUNCTION = """#if defined(__x86_64__) && !defined(__clang__)
__attribute__((simd("notinbranch"), const)) double $NAME(double a, double x);
TG_HIDDEN double $NAME_one(double a, double x) __asm__("$NAME"); /* of which gcc is not to make variants */
TG_HIDDEN double $NAME_one(double a, double x)
#else
TG_HIDDEN double $NAME(double a, double x)
#endif
{
    const tg_gammas zero = {0};
    return tg_incomplete_gamma(a + zero, x + zero, $UPPER, $FINE)[0];
}
#if defined(__x86_64__) && !defined(__clang__)
TG_GAMMA_VARIANT($NAME, b, 2, $UPPER, $FINE)
#ifdef __AVX__
TG_GAMMA_VARIANT($NAME, c, 4, $UPPER, $FINE)
TG_GAMMA_VARIANT($NAME, d, 4, $UPPER, $FINE)
#endif
#ifdef __AVX512F__
TG_GAMMA_VARIANT($NAME, e, 8, $UPPER, $FINE)
#endif
#endif"""
FINE = {"f64": "0x1p-54", "single": "0x1p-33"}  # relative to the sum


def functions(inline: str) -> dict[str, str]:
    """The helpers by name, for both widths: those of float32 compute in double, with fewer terms."""
    lanes = _LANES.replace("$AT_1", of("gammaln_at_1", "(z - 0.125)", True))
    out = {"tg_incomplete_gamma": lanes.replace("$AT_2", of("gammaln_at_2", "(z - 1)", True)) + _VARIANTS}
    for upper, name in enumerate(("gammainc", "gammaincc")):
        for kind, fine in FINE.items():
            text = _FUNCTION.replace("$NAME", f"tg_{name}_{kind}")
            out[f"tg_{name}_{kind}"] = text.replace("$UPPER", str(upper)).replace("$FINE", fine)
        narrow = f"float tg_{name}_f32(float a, float x) {{ return (float)tg_{name}_single(a, x); }}"
        out[f"tg_{name}_f32"] = inline + narrow
    return out
