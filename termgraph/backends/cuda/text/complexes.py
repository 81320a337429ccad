"""Complex numbers in CUDA text: a structure of our own with NumPy's arithmetic.

What has no text here runs on the CPU.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

CTYPES = {"complex64": "tg_complex<float>", "complex128": "tg_complex<double>"}
_INLINE = "__device__ __forceinline__ "


def is_complex(dtype: str) -> bool:
    """Whether a dtype's numbers are complex."""
    return dtype in CTYPES


def literal(value: Any, dtype: str, real: Callable[[Any, str], str]) -> str:
    """A complex number; `real` writes its parts."""
    x, part = complex(np.asarray(value).item()), "float32" if dtype == "complex64" else "float64"
    return f"{CTYPES[dtype]}{{{real(x.real, part)}, {real(x.imag, part)}}}"


_HEAD = f"template <class R> {_INLINE}tg_complex<R> "
_ORDER = "\n".join([
    f"template <class R> {_INLINE}bool operator{sign}(tg_complex<R> a, tg_complex<R> b)\n"
    "{\n"
    f"    return (a.re {sign[0]} b.re && a.im == a.im && b.im == b.im) || (a.re == b.re && a.im {sign} b.im);\n"
    "}"
    for sign in ("<", ">", "<=", ">=")
])  # fmt: skip
PRELUDE = {
    # no constructors: arrays of it may stand in shared memory
    "tg_complex": f"""template <class R> struct __align__(2 * sizeof(R)) tg_complex {{ R re, im; }};
{_HEAD}operator+(tg_complex<R> a, tg_complex<R> b) {{ return {{a.re + b.re, a.im + b.im}}; }}
{_HEAD}operator-(tg_complex<R> a, tg_complex<R> b) {{ return {{a.re - b.re, a.im - b.im}}; }}
{_HEAD}operator-(tg_complex<R> a) {{ return {{-a.re, -a.im}}; }}
{_HEAD}operator*(tg_complex<R> a, tg_complex<R> b)
{{
    return {{a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}};
}}
{_HEAD}operator*(R a, tg_complex<R> b) {{ return {{a * b.re, a * b.im}}; }}
{_HEAD}operator/(tg_complex<R> a, tg_complex<R> b) /* by the larger part, so that nothing overflows on the way */
{{
    if (fabs(b.re) >= fabs(b.im)) {{
        if (b.re == 0 && b.im == 0) return {{a.re / fabs(b.re), a.im / fabs(b.re)}};
        R r = b.im / b.re, d = b.re + b.im * r;
        return {{(a.re + a.im * r) / d, (a.im - a.re * r) / d}};
    }}
    R r = b.re / b.im, d = b.re * r + b.im;
    return {{(a.re * r + a.im) / d, (a.im * r - a.re) / d}};
}}
template <class R> {_INLINE}tg_complex<R> &operator+=(tg_complex<R> &a, tg_complex<R> b) {{ return a = a + b; }}
template <class R> {_INLINE}tg_complex<R> &operator*=(tg_complex<R> &a, tg_complex<R> b) {{ return a = a * b; }}
template <class R> {_INLINE}bool operator==(tg_complex<R> a, tg_complex<R> b) {{ return a.re == b.re && a.im == b.im; }}
{_ORDER}
{_HEAD}tg_shuffle(tg_complex<R> v, int step) {{ return {{tg_shuffle(v.re, step), tg_shuffle(v.im, step)}}; }}
{_HEAD}tg_shuffle_up(tg_complex<R> v, int step)
{{
    return {{tg_shuffle_up(v.re, step), tg_shuffle_up(v.im, step)}};
}}""",
    "tg_to_complex": f"""template <class C, class T> {_INLINE}C tg_to_complex(T x)
{{
    C out = {{}};
    out.re = x;
    return out;
}}
template <class C, class R> {_INLINE}C tg_to_complex(tg_complex<R> x)
{{
    C out = {{}};
    out.re = x.re, out.im = x.im;
    return out;
}}""",
    "tg_nonzero": f"template <class R> {_INLINE}bool tg_nonzero(tg_complex<R> a) {{ return a.re != 0 || a.im != 0; }}",
    "tg_conj": _HEAD + "tg_conj(tg_complex<R> a) { return {a.re, -a.im}; }",
    # Not CUDA's hypot, which overflows before its result does.
    "tg_modulus": f"""{_INLINE}float tg_modulus(tg_complex<float> a) {{ return tg_hypot_f32(a.re, a.im); }}
{_INLINE}double tg_modulus(tg_complex<double> a) {{ return tg_hypot_f64(a.re, a.im); }}""",
    # exp(inf + 0i) is inf + 0i, not inf + nan i
    "tg_cexp": _HEAD
    + """tg_cexp(tg_complex<R> a)
{
    R m = exp(a.re);
    if (a.im == 0) return {m, a.im};
    if (m == 0 && isinf(a.re)) return {m * copysign((R)1, cos(a.im)), m * copysign((R)1, sin(a.im))};
    return {m * cos(a.im), m * sin(a.im)};
}""",
    # Near 1 the logarithm of the modulus loses digits, beyond the largest number and among the smallest it is moved.
    "tg_clog": _HEAD
    + """tg_clog(tg_complex<R> a)
{
    const R x = fabs(a.re), y = fabs(a.im), most = x > y ? x : y, least = x > y ? y : x, angle = atan2(a.im, a.re);
    if (most > (R)0.5 && most < 2) return {log1p(fma(least, least, (most - 1) * (most + 1))) / 2, angle};
    const bool large = most > (R)(sizeof(R) == 8 ? 1e300 : 1e38), small = most < (R)(sizeof(R) == 8 ? 1e-290 : 1e-30);
    const R by = large ? (R)0.5 : small ? (R)0x1p100 : 1;
    const R moved = large ? (R)0.69314718055994530942 : small ? (R)-69.314718055994530942 : 0;
    return {log(tg_modulus(by * a)) + moved, angle};
}""",
    "tg_csqrt": _HEAD
    + """tg_csqrt(tg_complex<R> a)
{
    R m = tg_modulus(a);
    if (m == 0) return {0, a.im};
    if (isinf(a.im)) return {m, a.im};
    if (isinf(a.re)) return a.re > 0 ? tg_complex<R>{a.re, copysign((R)0, a.im)} : tg_complex<R>{0, copysign(m, a.im)};
    /* sums of the largest numbers overflow, halves of the smallest are 0: those are scaled by powers of 4 */
    R up = m < (R)1e-30 ? (R)0x1p80 : m > (R)1e30 ? (R)0x1p-80 : 1;
    R down = m < (R)1e-30 ? (R)0x1p-40 : m > (R)1e30 ? (R)0x1p40 : 1;
    R x = fabs(a.re) * up, y = fabs(a.im) * up;
    R s = sqrt((tg_modulus(tg_complex<R>{x, y}) + x) / 2), t = y / (2 * s) * down;
    s *= down;
    return a.re >= 0 ? tg_complex<R>{s, copysign(t, a.im)} : tg_complex<R>{t, copysign(s, a.im)};
}""",
    "tg_csin": _HEAD
    + """tg_csin(tg_complex<R> a)
{
    return {sin(a.re) * cosh(a.im), a.im == 0 ? a.im : cos(a.re) * sinh(a.im)};
}""",
    "tg_ccos": _HEAD
    + """tg_ccos(tg_complex<R> a)
{
    return {cos(a.re) * cosh(a.im), a.im == 0 ? -a.im * a.re : -sin(a.re) * sinh(a.im)};
}""",
    "tg_csinh": _HEAD
    + """tg_csinh(tg_complex<R> a)
{
    return {sinh(a.re) * cos(a.im), a.im == 0 ? a.im : cosh(a.re) * sin(a.im)};
}""",
    "tg_ccosh": _HEAD
    + """tg_ccosh(tg_complex<R> a)
{
    return {cosh(a.re) * cos(a.im), a.im == 0 ? a.im * a.re : sinh(a.re) * sin(a.im)};
}""",
    "tg_ctanh": _HEAD
    + """tg_ctanh(tg_complex<R> a)
{
    R t = tanh(a.re), u = tan(a.im), h = cosh(a.re), d = 1 + t * t * u * u;
    return {t * (1 + u * u) / d, u / h / h / d};
}""",
    "tg_ctan": _HEAD
    + """tg_ctan(tg_complex<R> a)
{
    tg_complex<R> t = tg_ctanh(tg_complex<R>{-a.im, a.re});
    return {t.im, -t.re};
}""",
    "tg_cexp2": _HEAD + "tg_cexp2(tg_complex<R> a) { return tg_cexp((R)0.69314718055994530942 * a); }",
    "tg_cexpm1": _HEAD
    + """tg_cexpm1(tg_complex<R> a)
{
    R s = sin(a.im / 2);
    return {expm1(a.re) * cos(a.im) - 2 * s * s, exp(a.re) * sin(a.im)};
}""",
    "tg_clog2": _HEAD + "tg_clog2(tg_complex<R> a) { return (R)1.44269504088896340736 * tg_clog(a); }",
    "tg_clog10": _HEAD + "tg_clog10(tg_complex<R> a) { return (R)0.43429448190325182765 * tg_clog(a); }",
    "tg_clog1p": _HEAD  # as NumPy: infinite where the modulus is
    + "tg_clog1p(tg_complex<R> a) { return {log(tg_modulus(tg_complex<R>{a.re + 1, a.im})), atan2(a.im, a.re + 1)}; }",
    "tg_csign": _HEAD
    + """tg_csign(tg_complex<R> a)
{
    R m = tg_modulus(a);
    if (isinf(m)) { /* of one infinite part the direction is known */
        const R far = isinf(a.re) && isinf(a.im) ? (R)TG_NAN : (R)1;
        return isinf(a.re) ? tg_complex<R>{copysign(far, a.re), isinf(a.im) ? far : 0}
                           : tg_complex<R>{0, copysign(far, a.im)};
    }
    return m == 0 ? tg_complex<R>{0, 0} : tg_complex<R>{a.re / m, a.im / m};
}""",
    "tg_cround": _HEAD + "tg_cround(tg_complex<R> a) { return {rint(a.re), rint(a.im)}; }",
    "tg_cisnan": f"""template <class R>
{_INLINE}bool tg_cisnan(tg_complex<R> a) {{ return isnan(a.re) || isnan(a.im); }}""",
    "tg_cisinf": f"""template <class R>
{_INLINE}bool tg_cisinf(tg_complex<R> a) {{ return isinf(a.re) || isinf(a.im); }}""",
    # Small whole numbers by squaring, as NumPy does it.
    "tg_cpow": _HEAD
    + """tg_cpow(tg_complex<R> a, tg_complex<R> b)
{
    const tg_complex<R> one = {1, 0};
    if (b.re == 0 && b.im == 0) return one;
    if (a.re == 0 && a.im == 0)
        return b.re > 0 ? tg_complex<R>{0, 0} : tg_complex<R>{(R)TG_NAN, (R)TG_NAN};
    if (b.im == 0 && b.re == rint(b.re) && fabs(b.re) < 100) {
        tg_complex<R> out = one, square = a;
        for (int n = (int)fabs(b.re); n; n >>= 1) {
            if (n & 1) out = out * square;
            square = square * square;
        }
        return b.re < 0 ? one / out : out;
    }
    return tg_cexp(b * tg_clog(a));
}""",
    # Kahan's formulas: products of square roots, in which nothing cancels. Far from 0, where they overflow, these
    # functions are logarithms.
    "tg_is_far": f"""template <class R>
{_INLINE}bool tg_is_far(tg_complex<R> a) {{ return fabs(a.re) > (R)1e8 || fabs(a.im) > (R)1e8; }}""",
    "tg_log_twice": f"""template <class R>
{_INLINE}R tg_log_twice(tg_complex<R> a) {{ return log(tg_modulus((R)0.5 * a)) + (R)1.3862943611198906; }}""",
    "tg_casin": _HEAD
    + """tg_casin(tg_complex<R> a)
{
    if (tg_is_far(a)) return {atan2(a.re, fabs(a.im)), copysign(tg_log_twice(a), a.im)};
    tg_complex<R> s = tg_csqrt(tg_complex<R>{1 - a.re, -a.im}), t = tg_csqrt(tg_complex<R>{1 + a.re, a.im});
    return {atan2(a.re, s.re * t.re - s.im * t.im), asinh(s.re * t.im - s.im * t.re)};
}""",
    "tg_cacos": _HEAD
    + """tg_cacos(tg_complex<R> a)
{
    if (tg_is_far(a)) return {atan2(fabs(a.im), a.re), copysign(tg_log_twice(a), -a.im)};
    tg_complex<R> s = tg_csqrt(tg_complex<R>{1 - a.re, -a.im}), t = tg_csqrt(tg_complex<R>{1 + a.re, a.im});
    return {2 * atan2(s.re, t.re), asinh(t.re * s.im - t.im * s.re)};
}""",
    "tg_cacosh": _HEAD
    + """tg_cacosh(tg_complex<R> a)
{
    if (tg_is_far(a)) return {tg_log_twice(a), atan2(a.im, a.re)};
    tg_complex<R> s = tg_csqrt(tg_complex<R>{a.re - 1, a.im}), t = tg_csqrt(tg_complex<R>{a.re + 1, a.im});
    return {asinh(s.re * t.re + s.im * t.im), 2 * atan2(s.im, t.re)};
}""",
    "tg_casinh": _HEAD
    + """tg_casinh(tg_complex<R> a)
{
    tg_complex<R> t = tg_casin(tg_complex<R>{-a.im, a.re});
    return {t.im, -t.re};
}""",
    "tg_catanh": _HEAD
    + """tg_catanh(tg_complex<R> a)
{
    if (tg_is_far(a)) {
        R m = tg_modulus(a);
        R quarter = isnan(a.im) ? a.im : copysign((R)1.5707963267948966, a.im);
        return {isinf(m) ? copysign((R)0, a.re) : a.re / m / m, quarter};
    }
    R x = fabs(a.re), far = (1 - x) * (1 - x) + a.im * a.im;
    R depth = log1p(4 * x / far) / 4;
    if (far < (R)1e-30) /* the squares underflow */
        depth = ((R)0.6931471805599453 - log(tg_modulus(tg_complex<R>{1 - x, a.im}))) / 2;
    return {copysign(depth, a.re), atan2(2 * a.im, (1 - x) * (1 + x) - a.im * a.im) / 2};
}""",
    "tg_catan": _HEAD
    + """tg_catan(tg_complex<R> a)
{
    tg_complex<R> t = tg_catanh(tg_complex<R>{-a.im, a.re});
    return {t.im, -t.re};
}""",
}
