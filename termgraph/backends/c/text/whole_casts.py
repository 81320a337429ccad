"""C text of casts of floats to whole numbers, as NumPy makes them. Pure text.

They are functions of their own, which programs bring along that cast.
"""

from __future__ import annotations

import itertools

# What floats become first: NumPy's shorter integers are the last bits of these.
_WHOLE = {"i8": "int32_t", "i16": "int32_t", "i32": "int32_t", "i64": "int64_t",
          "u8": "int32_t", "u16": "int32_t", "u32": "int64_t", "u64": "uint64_t"}  # fmt: skip


# AVX2 has no vectors of 64 bits for it: the upper and the lower half of the number, each the last bits of a float.
_BY_HALVES = """#if defined(__AVX2__) && !defined(__AVX512DQ__)
    const double whole = __builtin_trunc((double)x), upper = __builtin_floor(whole * 0x1p-32);
    const double few = (whole - upper * 0x1p32) + 0x1p52, many = upper + 0x1.8p52;
    int64_t low, high;
    __builtin_memcpy(&low, &few, 8);
    __builtin_memcpy(&high, &many, 8);
    const int64_t v = __builtin_fabs(whole) < 0x1p63 ? (low & 0xffffffff) | high << 32 : (int64_t)1 << 63;
#else
    const int64_t v = (int64_t)x;
#endif"""


def functions(inline: str) -> dict[str, str]:
    """Floats as whole numbers, those outside the type as NumPy makes them.

    Of such a number that becomes a float again gcc makes `trunc` from version 12 on, for which -0.5 is -0.0 and 300
    fits into 8 bits. What it may not move other operands across stays a whole number.
    """
    out = {}
    for (name, over), (n, real) in itertools.product(_WHOLE.items(), (("f64", "double"), ("f32", "float"))):
        c = f"{'u' if name[0] == 'u' else ''}int{name[1:]}_t"
        narrow, bounded = f"({c}){{}}" if c != over else "{}", ""
        if name == "u32":  # AVX2 has no vectors of 64 bits for it, and needs none; AVX-512's are bounded
            bounded = f"#ifndef __AVX512F__\n    const {c} v = ({c})x;\n#else\n    const {over} v = ({over})x;\n#endif"
        if name == "i64":
            bounded = _BY_HALVES
        if name == "u64":
            bounded = f"    const {over} v = x < ({real})0x1p63 ? ({over})(int64_t)x : ({over})x;"
        out[f"tg_whole_{name}_{n}"] = f"""{inline}{c} tg_whole_{name}_{n}({real} x)
{{
{bounded or f"    const {over} v = ({over})x;"}
#if __GNUC__ >= 12
    return {narrow.format("__builtin_assoc_barrier(v)")};
#else
    return {narrow.format("v")};
#endif
}}"""
    return out
