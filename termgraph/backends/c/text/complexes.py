"""C text of functions of complex numbers, one number a call, as templates over the width of their parts. Pure text.

`{T}` is the complex type, `{R}` that of its parts; `prelude.py` says what else stands for what.
"""

# Of NumPy's order, where a NaN is not before or behind anything.
_ORDER = """_Bool tg_$NAME_{N}({T} a, {T} b)
{{
    const {R} x = __real__ a, y = __imag__ a, u = __real__ b, v = __imag__ b;
    return ((x $FIRST u) & !__builtin_isunordered(y, v)) | ((x == u) & (y $SIGN v));
}}"""
_SIGNS = {"lt": "<", "gt": ">", "le": "<=", "ge": ">="}

TABLE = {
    **{n: _ORDER.replace("$NAME", n).replace("$FIRST", s[0]).replace("$SIGN", s) for n, s in _SIGNS.items()},
    "isnan": "_Bool tg_isnan_{N}({T} a) {{ return (__real__ a != __real__ a) | (__imag__ a != __imag__ a); }}",
    "isinf": """_Bool tg_isinf_{N}({T} a)
{{
    return (fabs{S}(__real__ a) == __builtin_inf{S}()) | (fabs{S}(__imag__ a) == __builtin_inf{S}());
}}""",
    "isfinite": """_Bool tg_isfinite_{N}({T} a)
{{
    return (fabs{S}(__real__ a) < __builtin_inf{S}()) & (fabs{S}(__imag__ a) < __builtin_inf{S}());
}}""",
    "abs": "{R} tg_abs_{N}({T} a) {{ return tg_hypot_{P}(__real__ a, __imag__ a); }}",
    "mul": """{T} tg_mul_{N}({T} a, {T} b)
{{
    {R} ar = __real__ a, ai = __imag__ a, br = __real__ b, bi = __imag__ b;
    return __builtin_complex(({R})(ar * br - ai * bi), ({R})(ar * bi + ai * br));
}}""",
    "div": """{T} tg_div_{N}({T} a, {T} b)
{{
    {R} ar = __real__ a, ai = __imag__ a, br = __real__ b, bi = __imag__ b, r, d;
    if (fabs{S}(br) >= fabs{S}(bi)) {{
        if (br == 0 && bi == 0) return __builtin_complex(({R})(ar / fabs{S}(br)), ({R})(ai / fabs{S}(br)));
        r = bi / br, d = br + bi * r;
        return __builtin_complex(({R})((ar + ai * r) / d), ({R})((ai - ar * r) / d));
    }}
    r = br / bi, d = br * r + bi;
    return __builtin_complex(({R})((ar * r + ai) / d), ({R})((ai * r - ar) / d));
}}""",
    # In vectors, which cexp has none of: nothing is chosen by branches, into which gcc would move a call. What
    # overflows by itself but not times a small sine has its rest for a second factor. Infinity has a direction if the
    # imaginary part is finite.
    "exp": """{T} tg_exp_{N}({T} a)
{{
    const {R} x = __real__ a, most = sizeof(x) == 8 ? 700 : 80, infinity = ({R})__builtin_inf();
    const {R} near = __builtin_copysign{S}(fabs{S}(x) > most ? most : fabs{S}(x), x);
    const {R} y = (x == -infinity) & (__imag__ a - __imag__ a != 0) ? __builtin_copysign{S}(0, __imag__ a) : __imag__ a;
    const {R} r = exp{S}(near), by = exp{S}(x - near), s = sin{S}(y), c = cos{S}(y), whole = y == 0;
    const {R} real = r * ((x == infinity) & (c != c) ? 1 : c) * by;
    return __builtin_complex(real, (whole ? 1 : r) * s * (whole ? 1 : by));
}}""",
    # The 0th power of anything is 1, and small whole powers are products, as in NumPy; cpow gives NaN for 0 ** 0.
    "pow": """{T} tg_pow_{N}({T} a, {T} b)
{{
    const {T} one = __builtin_complex(({R})1, ({R})0);
    {R} br = __real__ b, bi = __imag__ b, nan = ({R})__builtin_nan("");
    if (br == 0 && bi == 0) return one;
    if (__real__ a == 0 && __imag__ a == 0)
        return br > 0 ? __builtin_complex(({R})0, ({R})0) : __builtin_complex(nan, nan);
    if (bi == 0 && br == rint{S}(br) && fabs{S}(br) < 100) {{
        {T} out = one, square = a;
        for (int n = (int)fabs{S}(br); n; n >>= 1) {{
            if (n & 1) out = out == one ? square : tg_mul_{N}(out, square);
            square = tg_mul_{N}(square, square);
        }}
        return br < 0 ? tg_div_{N}(one, out) : out;
    }}
    return __builtin_cpow{S}(a, b);
}}""",
    # As NumPy: infinite where the modulus is, and near -1 + 0i no closer than it.
    "log1p": """{T} tg_log1p_{N}({T} a)
{{
    const {R} x = __real__ a + 1, y = __imag__ a;
    return __builtin_complex(log{S}(tg_hypot_{P}(x, y)), atan2{S}(y, x));
}}""",
    "expm1": """{T} tg_expm1_{N}({T} a)
{{
    const {R} x = __real__ a, y = __imag__ a, s = sin{S}(y / 2);
    return __builtin_complex(({R})(expm1{S}(x) * cos{S}(y) - 2 * s * s), ({R})(exp{S}(x) * sin{S}(y)));
}}""",
    "exp2": """{T} tg_exp2_{N}({T} a)
{{
    const {R} by = ({R})0.69314718055994530942;
    return tg_exp_{N}(__builtin_complex(({R})(by * __real__ a), ({R})(by * __imag__ a)));
}}""",
    "log2": """{T} tg_log2_{N}({T} a)
{{
    const {T} w = clog{S}(a);
    const {R} by = ({R})1.44269504088896340736;
    return __builtin_complex(({R})(by * __real__ w), ({R})(by * __imag__ w));
}}""",
    "log10": """{T} tg_log10_{N}({T} a)
{{
    const {T} w = clog{S}(a);
    const {R} by = ({R})0.43429448190325182765;
    return __builtin_complex(({R})(by * __real__ w), ({R})(by * __imag__ w));
}}""",
    # Of one infinite part the direction is known, of two it is not. Choices, no branches: loops of it become vectors.
    "sign": """{T} tg_sign_{N}({T} a)
{{
    const {R} x = __real__ a, y = __imag__ a, m = tg_hypot_{P}(x, y), infinity = ({R})__builtin_inf();
    const _Bool wide = fabs{S}(x) == infinity, high = fabs{S}(y) == infinity, far = m == infinity;
    const {R} by = far ? (wide & high ? ({R})__builtin_nan("") : 1) : m == 0 ? 1 : m;
    const {R} u = far ? (wide ? __builtin_copysign{S}(1, x) : 0) : m == 0 ? 0 : x;
    const {R} v = far ? (high ? __builtin_copysign{S}(1, y) : 0) : m == 0 ? 0 : y;
    return __builtin_complex(u / by, v / by);
}}""",
}
