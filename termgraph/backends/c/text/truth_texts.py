"""C functions of truth values as masks of vectors: bytes in memory, of which the last ones may be few. Text."""

from __future__ import annotations

_TRUTH = """tg_mask_{N} tg_truth_{N}(const uint8_t *from)
{{
    enum {{ lanes = tg_vector_bytes / {size} }};
    typedef uint8_t bytes __attribute__((vector_size(lanes), aligned(1), may_alias));
    return (tg_mask_{N}){{0}} - __builtin_convertvector(*(const bytes *)from, tg_mask_{N});
}}"""
_PART = """tg_mask_{N} tg_truth_part_{N}(const uint8_t *from, int64_t count)
{{
    enum {{ lanes = tg_vector_bytes / {size} }};
    uint64_t bits = 0;
    if (count >= lanes) return tg_truth_{N}(from);
    if (count > 0) {{
        int at = 0;
        if (count & 4) {{
            uint32_t some;
            __builtin_memcpy(&some, from, 4);
            bits = some, at = 4;
        }}
        if (count & 2) {{
            uint16_t some;
            __builtin_memcpy(&some, from + at, 2);
            bits |= (uint64_t)some << 8 * at, at += 2;
        }}
        if (count & 1) bits |= (uint64_t)from[at] << 8 * at;
    }}
    return tg_truth_{N}((const uint8_t *)&bits);
}}"""
_PICK = """tg_vector_{N} tg_truth_pick_{N}(tg_mask_{N} take, tg_vector_{N} x, tg_vector_{N} y)
{{
    return (tg_vector_{N})(((tg_mask_{N})x & take) | ((tg_mask_{N})y & ~take));
}}"""


def functions(inline: str) -> dict[str, str]:
    """The functions by name."""
    out = {}
    for n, size in (("f64", 8), ("f32", 4)):
        for name, text in (("truth", _TRUTH), ("truth_part", _PART), ("truth_pick", _PICK)):
            out[f"tg_{name}_{n}"] = inline + text.format(N=n, size=size)
    return out
