"""Long straight-line loops in C, cut into parts: a function for each, which run one after the other over blocks.

Values go from part to part in arrays as long as a block. May import the dialect and the loop tree.
"""

from __future__ import annotations

from typing import Any

from termgraph.lower.loops.tree import Let, Tiles, Write


def write_tiles(writer: Any, loop: Tiles, name: str, outside: dict[Any, str], final: bool) -> None:
    """One function per part, and a loop over blocks that calls them in turn."""
    parts, d = [], writer.d
    for k, body in enumerate(loop.parts):
        p = writer.printer(body, outside)
        p.named = {}
        i = f"i{loop.var.level}"
        if all(isinstance(n, (Let, Write)) for n in body):
            p.add(d.simd)
        with p.block("for (int64_t u = 0; u < count; u++)"):
            p.add(f"const int64_t {i} = begin + u;")
            p.body(body)
        slots = "".join(f", {d.ctype(b.dtype)} *restrict {b.name}" for b in p.bufs if b.kind == "tile")
        given = "".join(f", {b.name}" for b in p.bufs if b.kind == "tile")
        writer.function(f"{name}_{k}", p, f"int64_t begin, int64_t count{slots}", noinline=True)
        parts.append(f"{name}_{k}(c, begin, begin + {loop.width} < end ? {loop.width} : end - begin{given});")
    p = writer.printer([])
    for b in loop.slots:
        p.add(f"{d.ctype(b.dtype)} {b.name}[{loop.width}]{d.aligned};")
    with p.block(f"for (; begin < end; begin += {loop.width})"):
        p.add(*([] if final else ["if (TG_STOP(c->st)) break;"]), *parts)
    writer.function(name, p, "int64_t begin, int64_t end")
