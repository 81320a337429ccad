"""C text of casts of floats to whole numbers, as NumPy makes them. Pure text.

They are functions of their own, which programs bring along that cast.
"""

from __future__ import annotations

import itertools

# What floats become first: NumPy's shorter integers are the last bits of these.
_WHOLE = {"i8": "int32_t", "i16": "int32_t", "i32": "int32_t", "i64": "int64_t",
          "u8": "int32_t", "u16": "int32_t", "u32": "int64_t", "u64": "uint64_t"}  # fmt: skip


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
