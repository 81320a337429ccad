"""Small C functions that generated code may call, and declarations of the mathematical ones. Text.

`needed(source)` gives exactly what a source uses. A helper is named `tg_<name>_<type>`, its text is a template over
`{T}` (C type) and others. Mathematical functions are declared here, not by <math.h>, so that they can carry the simd
attribute where glibc has vector versions: gcc then calls them without -ffast-math.
"""

from __future__ import annotations

import functools
import re
from typing import Any

from termgraph._lazy import lazy, pattern
from termgraph.backends.c.build import compilers
from termgraph.backends.c.text import float32, moved_bits
from termgraph.backends.c.text.wide_texts import wide_functions
from termgraph.terms.op import OPS, Op
from termgraph.terms.ops import elementwise  # noqa: F401  the rows of the table
from termgraph.terms.ops.special import CALLED
from termgraph.terms.traverse import parts_first

avx512 = lazy("termgraph.backends.c.text.avx512")
complexes: Any = lazy("termgraph.backends.c.text.complexes")
sines = lazy("termgraph.backends.c.text.sines")
PAIR = """
#ifndef TG_PAIR
#define TG_PAIR
typedef struct { uint64_t a, b; } tg_pair; /* 16 bytes that are only moved */
#endif
"""
TYPES = {
    "b": "_Bool",
    "i8": "int8_t",
    "i16": "int16_t",
    "i32": "int32_t",
    "i64": "int64_t",
    "u8": "uint8_t",
    "u16": "uint16_t",
    "u32": "uint32_t",
    "u64": "uint64_t",
    "f32": "float",
    "f64": "double",
    "c64": "float _Complex",
    "c128": "double _Complex",
}


def _named(arity: int, vector: bool | None = None, numbers: str = "f") -> frozenset[str]:
    """The functions of libm, of so many operands of a kind, that the op table names."""
    ops = [op for op in OPS.values() if op.arity == arity and vector in (op.vector, None)]
    return frozenset([w for op in ops for w in _words(op, numbers) if not w.startswith("tg_")])


def _words(op: Op, numbers: str = "f") -> list[str]:
    """The functions by which an op of numbers of a kind is spelled."""
    found = op.c.texts if op.c is not None else {}
    return [text for key, text in found.items() if key[0] == numbers and text and text.isidentifier()]


VECTOR, VECTOR_2 = _named(1, vector=True), _named(2, vector=True)  # glibc 2.35 and later have vector versions
SCALAR, SCALAR_2 = _named(1, vector=False), _named(2, vector=False) | {"fmod"}  # in a helper only
COMPLEX, COMPLEX_2 = _named(1, numbers="c"), _named(2, numbers="c")
VECTOR_HELPERS = frozenset([w for op in OPS.values() if op.vector for w in _words(op) if w.startswith("tg_")])
_INLINE = "static inline __attribute__((always_inline)) "

# {T}: the type, {S}: suffix of libm functions, {R}: real type of a complex one, {B}: bits
_FLOAT = {
    "maximum": "{T} tg_maximum_{N}({T} a, {T} b) {{ return a > b || a != a ? a : b; }}",
    "minimum": "{T} tg_minimum_{N}({T} a, {T} b) {{ return a < b || a != a ? a : b; }}",
    "at_least": "{T} tg_at_least_{N}({T} a, {T} b) {{ return a <= b ? b : a; }}",
    "at_most": "{T} tg_at_most_{N}({T} a, {T} b) {{ return a >= b ? b : a; }}",
    "fmax": "{T} tg_fmax_{N}({T} a, {T} b) {{ return a > b || b != b ? a : b; }}",
    "fmin": "{T} tg_fmin_{N}({T} a, {T} b) {{ return a < b || b != b ? a : b; }}",
    "first_maximum": "{T} tg_first_maximum_{N}({T} a, {T} b) {{ return a >= b || a != a ? a : b; }}",
    "first_minimum": "{T} tg_first_minimum_{N}({T} a, {T} b) {{ return a <= b || a != a ? a : b; }}",
    "first_fmax": "{T} tg_first_fmax_{N}({T} a, {T} b) {{ return a >= b || b != b ? a : b; }}",
    "first_fmin": "{T} tg_first_fmin_{N}({T} a, {T} b) {{ return a <= b || b != b ? a : b; }}",
    # Whole numbers of 64 bits become floats slowly where there is no AVX-512, those of 32 bits fast.
    "sign": """{T} tg_sign_{N}({T} x)
{{
    if (sizeof x == 4) return x != x ? x : ({T})((x > 0) - (x < 0));
    return __builtin_islessgreater(x, 0) ? __builtin_copysign{S}(1, x) : x + 0;
}}""",
    # The numbers of a sign follow each other as their bits do, read as whole numbers.
    "nextafter": """{T} tg_nextafter_{N}({T} a, {T} b)
{{
    int{W}_t bits;
    {T} next;
    __builtin_memcpy(&bits, &a, sizeof(a));
    bits += (a < b) == (a > 0) ? 1 : -1;
    bits = a == 0 ? 1 : bits;
    __builtin_memcpy(&next, &bits, sizeof(next));
    next = a == 0 ? copysign{S}(next, b) : next;
    next = a == b ? b : next;
    return a != a || b != b ? a + b : next;
}}""",
    # By the bits of the exponent, in vectors. Twice a factor may be needed before the last one; those for small results
    # leave all digits beside the last factor, which alone rounds. Further ones change nothing.
    "ldexp": """{T} tg_ldexp_{N}({T} x, int64_t by)
{{
    enum {{ DIGITS = sizeof({T}) == 8 ? 52 : 23, MOST = sizeof({T}) == 8 ? 1023 : 127, LESS = MOST - 1 - DIGITS - 1 }};
    const {T} up = sizeof({T}) == 8 ? ({T})0x1p1023 : ({T})0x1p127;
    const {T} down = sizeof({T}) == 8 ? ({T})0x1p-969 : ({T})0x1p-102;
    int{W}_t n = by > 4 * MOST ? 4 * MOST : by < -4 * MOST ? -4 * MOST : by;
    for (int k = 0; k < 2; k++) {{
        x *= n > MOST ? up : n < 1 - MOST ? down : 1;
        n -= n > MOST ? MOST : n < 1 - MOST ? -LESS : 0;
    }}
    n = n > MOST ? MOST : n < 1 - MOST ? 1 - MOST : n;
    n = (n + MOST) << DIGITS;
    {T} factor;
    __builtin_memcpy(&factor, &n, sizeof(n));
    return x * factor;
}}""",
    # Bits alone say whether x is a number other than 0: a comparison of floats costs more beside them.
    "frexp_bits": """int{W}_t tg_frexp_bits_{N}({T} x, int{W}_t *small, int{W}_t *number)
{{
    enum {{ DIGITS = sizeof({T}) == 8 ? 52 : 23, MOST = sizeof({T}) == 8 ? 1023 : 127 }};
    int{W}_t bits, rest;
    __builtin_memcpy(&bits, &x, sizeof(x));
    rest = bits & (int{W}_t)((uint{W}_t)-1 >> 1);
    *number = (uint{W}_t)(rest - 1) < ((uint{W}_t)(2 * MOST + 1) << DIGITS) - 1;
    *small = rest < (int{W}_t)1 << DIGITS;
    const {T} z = x * (*small ? sizeof({T}) == 8 ? ({T})0x1p54 : ({T})0x1p25 : 1);
    __builtin_memcpy(&bits, &z, sizeof(z));
    return bits;
}}""",
    "frexp_exponent": """int32_t tg_frexp_exponent_{N}({T} x)
{{
    enum {{ DIGITS = sizeof({T}) == 8 ? 52 : 23, MOST = sizeof({T}) == 8 ? 1023 : 127 }};
    int{W}_t small, number;
    const int{W}_t bits = tg_frexp_bits_{N}(x, &small, &number) >> DIGITS & (2 * MOST + 1);
    return (int32_t)(number ? bits - (small ? MOST + 1 + DIGITS : MOST - 1) : 0);
}}""",
    "frexp_mantissa": """{T} tg_frexp_mantissa_{N}({T} x)
{{
    enum {{ DIGITS = sizeof({T}) == 8 ? 52 : 23, MOST = sizeof({T}) == 8 ? 1023 : 127 }};
    int{W}_t small, number, bits = tg_frexp_bits_{N}(x, &small, &number);
    {T} part;
    bits = (bits & ~((int{W}_t)(2 * MOST + 1) << DIGITS)) | (int{W}_t)(MOST - 1) << DIGITS;
    __builtin_memcpy(&part, &bits, sizeof(part));
    return number ? part : x;
}}""",
    # Large and small numbers are moved to where squares are exact enough: at most 0.9 ulps, in vectors anywhere.
    "hypot": """{T} tg_hypot_{N}({T} a, {T} b)
{{
    const {T} x = fabs{S}(a), y = fabs{S}(b), most = x > y ? x : y, least = x > y ? y : x;
    const {T} far = sizeof({T}) == 8 ? 0x1p500 : 0x1p60, by = sizeof({T}) == 8 ? 0x1p600 : 0x1p90;
    const {T} in = most > far ? 1 / by : most < 1 / far ? by : 1, out = most > far ? by : most < 1 / far ? 1 / by : 1;
    const {T} r = sqrt{S}(__builtin_fma{S}(most * in, most * in, (least * in) * (least * in))) * out;
    return x == __builtin_inf{S}() || y == __builtin_inf{S}() ? __builtin_inf{S}() : r;
}}""",
    "isinf": "_Bool tg_isinf_{N}({T} x) {{ return fabs{S}(x) == __builtin_inf{S}(); }}",
    "isfinite": "_Bool tg_isfinite_{N}({T} x) {{ return fabs{S}(x) < __builtin_inf{S}(); }}",
    "isnan": "_Bool tg_isnan_{N}({T} x) {{ return x != x; }}",
    "signbit": """_Bool tg_signbit_{N}({T} x)
{{
    int{W}_t bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    return bits < 0;
}}""",
    "tanh": "{T} tg_tanh_{N}({T} x) {{ {T} e = expm1{S}(-2 * fabs{S}(x)); return copysign{S}(-e / (2 + e), x); }}",
    "sigmoid": "{T} tg_sigmoid_{N}({T} x) {{ {T} e = exp{S}(-fabs{S}(x)); return (x < 0 ? e : 1) / (1 + e); }}",
    "exp_below_zero": """{T} tg_exp_below_zero_{N}({T} x)
{{
    const {T} least = ({T})-708; /* below, libmvec computes vectors one element at a time */
    const {T} e = exp{S}(x < least ? least : x);
    return x < least ? 0 : e;
}}""",
    "softplus": "{T} tg_softplus_{N}({T} x) {{ return tg_maximum_{N}(x, 0) + log1p{S}(exp{S}(-fabs{S}(x))); }}",
    "logaddexp": """{T} tg_logaddexp_{N}({T} a, {T} b)
{{
    {T} m = tg_maximum_{N}(a, b);
    return a == b ? a + ({T})0.693147180559945309417232121458176568 : m + log1p{S}(exp{S}(-fabs{S}(a - b)));
}}""",
    "logaddexp2": """{T} tg_logaddexp2_{N}({T} a, {T} b)
{{
    const {T} ln2 = ({T})0.693147180559945309417232121458176568;
    {T} m = tg_maximum_{N}(a, b);
    return a == b ? a + 1 : m + log1p{S}(exp{S}(-fabs{S}(a - b) * ln2)) / ln2;
}}""",
    "heaviside": "{T} tg_heaviside_{N}({T} x, {T} h) {{ return x != x ? x : x == 0 ? h : ({T})(x > 0); }}",
}
_INTEGER = {
    "popcount": """uint8_t tg_popcount_{N}({T} x)
{{
    const uint{B}_t bits = x < 0 ? -(uint{B}_t)x : (uint{B}_t)x; /* as narrow as vectors count them */
    return sizeof({T}) < 8 ? __builtin_popcount(bits) : __builtin_popcountll(bits);
}}""",
    "maximum": "{T} tg_maximum_{N}({T} a, {T} b) {{ return a > b ? a : b; }}",
    "minimum": "{T} tg_minimum_{N}({T} a, {T} b) {{ return a < b ? a : b; }}",
    "sign": "{T} tg_sign_{N}({T} x) {{ return (x > 0) - (x < 0); }}",
    "abs": "{T} tg_abs_{N}({T} x) {{ return x < 0 ? -x : x; }}",
    # x / 0 and x / -1 would stop the process: they are computed without dividing. What is below 2**32 is divided in a
    # third of the time; whether something is left over no branch can foresee.
    "floordiv": """{T} tg_floordiv_{N}({T} a, {T} b)
{{
    {T} d = b == 0 || b == ({T})-1 ? 1 : b, q;
    if (sizeof({T}) == 8 && ((uint64_t)a | (uint64_t)d) >> 32 == 0) q = (uint32_t)a / (uint32_t)d;
    else q = a / d;
    q -= (q * d != a) & ((a < 0) != (d < 0));
    return b == 0 ? 0 : b == ({T})-1 && ({T})-1 < 0 ? ({T})-a : b == ({T})-1 ? a / b : q;
}}""",
    "mod": """{T} tg_mod_{N}({T} a, {T} b)
{{
    {T} d = b == 0 || (b == ({T})-1 && ({T})-1 < 0) ? 1 : b, r;
    if (sizeof({T}) == 8 && ((uint64_t)a | (uint64_t)d) >> 32 == 0) r = (uint32_t)a % (uint32_t)d;
    else r = a % d;
    return r + (d & -({T})((r != 0) & ((r < 0) != (d < 0))));
}}""",
    "fmod": """{T} tg_fmod_{N}({T} a, {T} b)
{{
    {T} d = b == 0 || (b == ({T})-1 && ({T})-1 < 0) ? 1 : b;
    if (sizeof({T}) == 8 && ((uint64_t)a | (uint64_t)d) >> 32 == 0) return (uint32_t)a % (uint32_t)d;
    return a % d;
}}""",
    # Vectors of narrow numbers have no shifts, or compilers make them wide: by 1, 2, 4 and 8 in turn, as told.
    "shl": """{T} tg_shl_{N}({T} a, {T} b)
{{
    const uint{B}_t by = b;
    uint{B}_t x = a;
    if ({B} > 16) return by < {B} ? ({T})(x << by) : 0;
    x = by & 1 ? x << 1 : x, x = by & 2 ? x << 2 : x, x = by & 4 ? x << 4 : x;
    if ({B} > 8) x = by & 8 ? x << 8 : x;
    return by < {B} ? x : 0;
}}""",
    "shr": """{T} tg_shr_{N}({T} a, {T} b)
{{
    const uint{B}_t by = b;
    if ({B} > 16) return by < {B} ? a >> by : a < 0 ? -1 : 0;
    return a >> (by < {B} ? by : {B} - (({T})-1 < 0));
}}""",
    "gcd": """{T} tg_gcd_{N}({T} a, {T} b)
{{
    uint64_t u = a < 0 ? -(uint64_t)a : (uint64_t)a, v = b < 0 ? -(uint64_t)b : (uint64_t)b, x = u, y = v;
    while (y) {{ uint64_t r = (x | y) >> 32 ? x % y : (uint32_t)x % (uint32_t)y; x = y, y = r; }}
    return ({T})x;
}}""",
    "lcm": """{T} tg_lcm_{N}({T} a, {T} b)
{{
    uint64_t u = a < 0 ? -(uint64_t)a : (uint64_t)a, v = b < 0 ? -(uint64_t)b : (uint64_t)b, x = u, y = v;
    while (y) {{ uint64_t r = (x | y) >> 32 ? x % y : (uint32_t)x % (uint32_t)y; x = y, y = r; }}
    return x ? ({T})(u / x * v) : 0;
}}""",
    "ipow": """{T} tg_ipow_{N}({T} a, {T} b)
{{
    {T} out = 1;
    for (; b > 0; b >>= 1, a = ({T})(a * a))
        if (b & 1) out = ({T})(out * a);
    return out;
}}""",
    "max": "{T} tg_max_{N}({T} a, {T} b) {{ return a > b ? a : b; }}",
    "min": "{T} tg_min_{N}({T} a, {T} b) {{ return a < b ? a : b; }}",
    "wrap": "{T} tg_wrap_{N}({T} s, {T} n) {{ return s < 0 ? s + n : s; }}",
}
_PHILOX_ROUND = """
    a = 0xD2511F53ul * c0, b = 0xCD9E8D57ul * c2;
    c0 = (uint32_t)(b >> 32) ^ c1 ^ (k0 + {w0}u), c1 = (uint32_t)b;
    c2 = (uint32_t)(a >> 32) ^ c3 ^ (k1 + {w1}u), c3 = (uint32_t)a;"""


def _philox() -> str:
    """Philox 4x32-10, written out: the compiler then makes vectors of the loop around it."""
    rounds = [_PHILOX_ROUND.format(w0=r * 0x9E3779B9 % 2**32, w1=r * 0xBB67AE85 % 2**32) for r in range(10)]
    return f"""{_INLINE}uint64_t tg_philox(uint64_t key, uint64_t step, uint64_t index, int half)
{{
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32), c0 = (uint32_t)index, c1 = (uint32_t)(index >> 32);
    uint32_t c2 = (uint32_t)step, c3 = (uint32_t)(step >> 32);
    uint64_t a, b;{"".join(rounds)}
    return half == 0 ? c0 | (uint64_t)c1 << 32 : c2 | (uint64_t)c3 << 32;
}}"""


def _whole_as_double() -> dict[str, str]:
    """Whole numbers of 64 bits as floats, rounded once: AVX2 has no vectors of it, so both halves get an exponent."""
    out = {}
    for name, c, shift, most in (("i64", "int64_t", "^ 0x4530000080000000", "0x1.00000801p+84"),
                                 ("u64", "uint64_t", "| 0x4530000000000000", "0x1.00000001p+84")):  # fmt: skip
        out[f"tg_double_{name}"] = f"""{_INLINE}double tg_double_{name}({c} v)
{{
#if defined(__AVX2__) && !defined(__AVX512DQ__)
    const uint64_t few = (v & 0xffffffff) | 0x4330000000000000, many = ((uint64_t)v >> 32) {shift};
    double low, high;
    __builtin_memcpy(&low, &few, 8);
    __builtin_memcpy(&high, &many, 8);
    return (high - {most}) + low;
#else
    return (double)v;
#endif
}}"""
    return out


# The upper half of a product of 64 bits, by halves: vectors have no products of 64 bits by 64.
_SCALE_BITS = """uint64_t tg_scale_bits_u64(uint64_t a, uint64_t b)
{
    const uint64_t low = (uint32_t)a, high = a >> 32, few = (uint32_t)b, many = b >> 32;
    const uint64_t middle = high * few + (low * few >> 32);
    return high * many + (middle >> 32) + ((low * many + (uint32_t)middle) >> 32);
}"""

_TYPES = {
    "tg_pair": PAIR.strip(),
    "tg_taken": "#define tg_taken(condition, x, other) ((condition) ? (x) : (other))",
    "tg_loop": "typedef void (*tg_loop)(char **args, const int64_t *lengths, const int64_t *steps, void *data);",
}
_FIXED = {
    **_TYPES,
    **moved_bits.TYPES,
    **moved_bits.CHOICES,
    **wide_functions(),
    "tg_philox": _philox(),
    **_whole_as_double(),
    "tg_scale_bits_u64": _INLINE + _SCALE_BITS,
    **float32.functions(_INLINE),
}
log1mexp: Any = lazy("termgraph.backends.c.text.log1mexp")
# Few programs fold in vectors, draw numbers or compute these functions: by the beginnings of names, where texts are.
LATER = {
    ("tg_vector_", "tg_moved", "tg_mixed", "tg_mask_", "tg_any_", "tg_hits_", "tg_below_", "tg_fold_", "tg_halved_"):
        lazy("termgraph.backends.c.text.fold_texts"),
    ("tg_unordered_", "tg_whole_f", "tg_whole_known", "tg_among_", "tg_is_among_", "tg_place_", "tg_most_", "tg_arg"):
        lazy("termgraph.backends.c.text.extreme_places"),
    ("tg_truth_",): lazy("termgraph.backends.c.text.truth_texts"),
    ("tg_to_odd", "tg_from_half", "tg_to_half", "tg_from_bfloat", "tg_round_", "tg_cut_bfloat", "tg_sign_bits"):
        lazy("termgraph.backends.c.text.halves"),
    ("tg_rest_vectors", "tg_remainder_by_", "tg_mod_", "tg_floordiv_", "tg_fmod_"):
        lazy("termgraph.backends.c.text.remainders"),
    ("tg_philox_fill",): lazy("termgraph.backends.c.text.random_bits"),
    ("tg_eight", "tg_sixteen"): avx512,
    ("tg_sines",): sines,
    ("tg_scipy", "tg_polygamma_far_", "tg_lambertw_", "tg_hyp1f1_", *[f"tg_{name}_" for name in CALLED]):
        lazy("termgraph.backends.c.text.special"),
    ("tg_apart", "tg_words", "tg_next_", "tg_normal_", "tg_raised_", "tg_gamma_draw", "tg_beta_draw", "tg_log_",
     "tg_stirling", "tg_poisson_", "tg_binomial_"): lazy("termgraph.backends.c.text.draws"),
    ("tg_i0", "tg_i1", "tg_j0_", "tg_j1_", "tg_own_fma_f64"): lazy("termgraph.backends.c.text.bessel"),
    ("tg_dawsn_", "tg_spence_", "tg_expi_", "tg_exp1_", "tg_sinint_", "tg_cosint_"):
        lazy("termgraph.backends.c.text.integrals"),
    ("tg_beta_f", "tg_poch_", "tg_ratio_"): lazy("termgraph.backends.c.text.gamma_ratios"),
    ("tg_owens_t_",): lazy("termgraph.backends.c.text.owens_t"),
    ("tg_erfinv_", "tg_erfcinv_", "tg_erfcx_"): lazy("termgraph.backends.c.text.erfinv"),
    ("tg_gamma", "tg_log_parts_", "tg_digamma_", "tg_trigamma_", "tg_polygamma_"):
        lazy("termgraph.backends.c.text.gammas"),
    ("tg_incomplete_gamma", "tg_gammainc"): lazy("termgraph.backends.c.text.incomplete_gamma"),
    ("tg_whole_i", "tg_whole_u"): lazy("termgraph.backends.c.text.whole_casts"),
    ("tg_whole",): lazy("termgraph.backends.c.text.whole_vectors"),
    ("tg_log1mexp_",): log1mexp,
}  # fmt: skip
# What gcc takes for declared is an error elsewhere, and in later ones of gcc.
MEMORY = {
    "malloc": "void *malloc(size_t);", "calloc": "void *calloc(size_t, size_t);", "free": "void free(void *);",
    "aligned_alloc": "void *aligned_alloc(size_t, size_t);",
}  # fmt: skip
_WORD = pattern(r"[A-Za-z_]\w*")
_COMMENT = pattern(r"/\*.*?\*/", re.DOTALL)


# What the library of mathematics is linked for: functions that are declared here, and what a compiler may turn into a
# call. Reading that library is a third of the linker's time. Optimised text has roots, signs and sizes in place, and
# one multiply-add that asks whether the processor has it before it returns it.
_MATHEMATICS = pattern(
    r"\b(?:double|float)(?: _Complex)? (?!tg_|(?:sqrt|fabs|copysign)f?\()[a-z]\w*\("
    r"|(?<!return )__builtin_(?:fma|sin|cos|log|exp(?!ect)|cpow)|\bfe[a-z]+except\("
)


def libraries(source: str) -> tuple[str, ...]:
    """The libraries that a program is linked with."""
    return ("-lmvec", "-lm") if _MATHEMATICS.search(source) else ()


def needed(source: str) -> str:
    """The declarations and helpers that a source uses, those they use themselves first."""
    texts: dict[str, str | None] = {}

    def parts(name: str) -> list[str]:
        text = texts[name] = text_of(name)
        return _names_of_helper(text)[::-1] if text else []

    used = parts_first(_names(source), parts)
    return "\n".join(text for name in used if (text := texts[name]) is not None)


def _names(text: str) -> list[str]:
    """What a text may call, each once. Helpers count in comments, too; mathematics there would cost gcc its time."""
    called = set(_WORD.findall(_COMMENT.sub("", text)))
    return [w for w in dict.fromkeys(_WORD.findall(text)) if w in called or w.startswith("tg_")]


_names_of_helper = functools.lru_cache(maxsize=1024)(_names)  # the same ones for all programs


def text_of(name: str) -> str | None:
    """The declaration or the text of a function that generated code may call."""
    if name == "tg_log1mexp_f64":
        return log1mexp.by_eight(fixed(name))
    if name.startswith("tg_"):
        return fixed(name) or _helper(name)
    return _declaration(name)


def fixed(name: str) -> str | None:
    """The text of a helper that is written for one type."""
    if name in _FIXED:
        return _FIXED[name]
    for beginnings, texts in LATER.items():
        if name.startswith(beginnings) and (found := texts_of(texts).get(name)):
            return found
    return None


@functools.cache
def texts_of(module: Any) -> dict[str, str]:
    """All helpers of a module."""
    found: dict[str, str] = module.functions(_INLINE)
    return found


_EXTREME = pattern(r"(maximum|minimum)(\d+)")


def _extreme(which: str, n: int, kind: str) -> str:
    """The largest or smallest of n numbers: one comparison for each, and a test for NaN at the end."""
    sign, floating = ">" if which == "maximum" else "<", kind[0] == "f"
    operands = ", ".join([f"{TYPES[kind]} x{k}" for k in range(n)])
    steps = [f"a = x{k} {sign} a ? x{k} : a;" for k in range(1, n)]
    if floating:  # of two numbers at a time: gcc makes vectors of that
        pairs = [f"__builtin_isunordered(x{k}, x{min(k + 1, n - 1)})" for k in range(0, n, 2)]
        nan = '__builtin_nan("")' if kind == "f64" else '__builtin_nanf("")'
        steps.append(f"a = {' | '.join(pairs)} ? {nan} : a;")
    body = "\n    ".join([f"{TYPES[kind]} a = x0;", *steps, "return a;"])
    return f"{TYPES[kind]} tg_{which}{n}_{kind}({operands})\n{{\n    {body}\n}}"


def _helper(name: str) -> str | None:
    base, _, kind = name[3:].rpartition("_")
    if kind not in TYPES:
        return None
    several = _EXTREME.fullmatch(base)
    if several and kind[0] in "fiu":
        return _INLINE + _extreme(several[1], int(several[2]), kind)
    table = _FLOAT if kind[0] == "f" else complexes.TABLE if kind[0] == "c" else _INTEGER
    if base not in table:
        return None
    single = kind in ("f32", "c64")
    text = table[base].format(
        T=TYPES[kind],
        N=kind,
        S="f" if single else "",
        R="float" if single else "double",
        P="f32" if single else "f64",
        B=kind[1:] or "8",
        W=kind[1:],
    )
    return _INLINE + text


def _in_vectors(declared: str, name: str, stem: str) -> str:
    """Says that there is a vector version, where that is so: older C libraries have few, others none."""
    if stem not in compilers.libmvec():
        return f"__attribute__((const)) {declared}"
    return f'__attribute__((simd("notinbranch"), const)) {declared}{_variant(name)}'


def _variant(name: str) -> str:
    return sines.variant(name) if name in ("sinf", "cosf") else avx512.variant(name)


def _declaration(name: str) -> str | None:
    if name in MEMORY:
        return MEMORY[name]
    for c, stem in (("double", name), ("float", name[:-1] if name.endswith("f") else "")):
        if stem in VECTOR:
            return _in_vectors(f"{c} {name}({c});", name, stem)
        if stem in VECTOR_2:
            return _in_vectors(f"{c} {name}({c}, {c});", name, stem)
        if stem in SCALAR:
            return f"{c} {name}({c});"
        if stem in SCALAR_2:
            return f"{c} {name}({c}, {c});"
        if stem in COMPLEX:
            return f"{c} _Complex {name}({c} _Complex);"
        if stem in COMPLEX_2:
            return f"{c} _Complex {name}({c} _Complex, {c} _Complex);"
    return None
