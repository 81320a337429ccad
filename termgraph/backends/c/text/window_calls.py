"""The calls of what moves windows over arrays: convolutions, pooling, vectors laid over each other.

`x` is the text of a routine's statement (`routines._Text`). Pure text.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from termgraph.backends.c.text import convolution, plain_routines, pooling
from termgraph.backends.c.text.dialect import SHORT


def convolved(x: Any) -> None:
    """A convolution, or its filters' gradient; the largest thing that it needs room for are the images."""
    with_room(x, convolution.call(x), x.n.spec.ins[0])


def lines(x: Any) -> None:
    """Two vectors laid over each other."""
    (a, b), (out,) = x.n.reads, x.n.results
    given = [f"{x.pointer(v)}, {x.size(n)}, {x.p.poly(v.core[0])}" for v, n in ((a, "n"), (b, "k"))]
    name = "tg_convolve" if x.n.spec.text == "convolve_lines" else "tg_correlate"
    x.p.add(f"if ({name}_{SHORT[out.buf.dtype]}({', '.join(given)}, {x.pointer(out)})) {x.no_memory()}")


def pool(x: Any) -> None:
    """Pooling of one plane, or its gradient."""
    with_room(x, pooling.call(x), x.n.spec.ins[0][-1:])


def with_room(x: Any, call: str, lengths: Iterable[str]) -> None:
    """A call that needs memory. Where there is none it fails; if nothing may fail any more, plain loops do it."""
    x.p.add(f"{plain_routines.surely(call)};" if x.quiet else f"if ({call}) {x.no_memory(lengths)}")
