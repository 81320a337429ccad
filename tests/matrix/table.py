"""What a row of the matrix is: a public function, how its operands are drawn, and what computes the reference."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from termgraph.terms.dtypes import DTYPES, is_bfloat16, promote

from .draw import Draw

RANKS = range(5)
ROUNDING = {"bfloat16": 2e-2, "float16": 3e-3, "float32": 4e-6, "float64": 2e-12}
ROUNDING |= {"complex64": ROUNDING["float32"], "complex128": ROUNDING["float64"]}


@dataclass(frozen=True)
class Row:
    """One public function.

    `draw(c)` makes the operands and may return a dictionary of parameters, which go to both `ours` and `numpys`.
    `loose` multiplies the tolerance; `scaled` measures errors by the largest number in sight rather than element by
    element; `special` says whether NaN, infinities, extremes and the like are drawn; `smooth` whether the gradient is
    compared with finite differences; `differs` names entries of docs/differences.md that excuse some of the elements.
    """

    name: str
    ours: Callable
    numpys: Callable
    draw: Callable[[Draw], Any]
    ranks: tuple = tuple(RANKS)
    dtypes: tuple = DTYPES
    loose: float = 1.0
    scaled: bool = False
    special: bool = True
    smooth: bool = True
    differs: tuple = ()
    signs: bool = True  # zeros have their sign

    def drawn(self, c: Draw) -> tuple[list, dict]:
        """Operands and parameters."""
        params = self.draw(c)
        return c.operands, params if isinstance(params, dict) else {}

    def expected(self, values: list, params: dict) -> list[np.ndarray]:
        """The reference's results. Raises what NumPy raises."""
        with np.errstate(all="ignore"):
            found = self.numpys(*[widened(v) for v in values], **params)
        return [np.asarray(f) for f in found] if isinstance(found, (list, tuple)) else [np.asarray(found)]


def widened(value: Any) -> Any:
    """An operand as NumPy's functions know it: bfloat16 as float32."""
    return value.astype(np.float32) if isinstance(value, np.ndarray) and is_bfloat16(value.dtype) else value


def common_dtype(values: list) -> np.dtype | None:
    """The dtype that operands have in common, None where there are none."""
    dtypes = [v.dtype for v in values if hasattr(v, "dtype")]
    return promote(*dtypes) if dtypes else None


ROWS: dict[str, Row] = {}


def row(name: str, ours: Callable, numpys: Callable, draw: Callable, **more: Any) -> None:
    """Enter a row; names are those of the public function, with a remark in brackets where it has several rows."""
    if name in ROWS:
        raise ValueError(f"two rows named {name}")
    ROWS[name] = Row(name, ours, numpys, draw, **more)


# ---------------------------------------------------------------------- common ways to draw
def one(c: Draw) -> None:
    c.x()


def two(c: Draw) -> None:
    c.x()
    c.partner()


def params(draw: Callable, **made: Callable) -> Callable:
    """What `draw` draws, and parameters made by functions of the Draw."""

    def run(c: Draw) -> dict:
        found = draw(c)
        return {**(found if isinstance(found, dict) else {}), **{name: make(c) for name, make in made.items()}}

    return run
