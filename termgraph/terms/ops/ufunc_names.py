"""Keywords and methods of NumPy's ufuncs that the element-wise ops do not have, and what to write instead.

For error messages only; imports nothing of termgraph.
"""

from __future__ import annotations

from typing import Any

KEYWORDS = {
    "casting": "x.astype(dtype)",
    "dtype": "x.astype(dtype) for operands or the result",
    "out": "nothing for it: results are new arrays",
    "where": "T.where(condition, result, otherwise)",
}
METHODS = {
    "accumulate": "T.cumsum(x, axis), T.cumprod(x, axis), or a tg.scan",
    "at": "T.inc_subtensor(x[index], values)",
    "outer": "the op with operands x[:, None] and y",
    "reduce": "T.sum(x, axis), T.prod, T.max, T.min, T.all or T.any, or tg.reduce",
    "reduceat": "T.sum of each part x[i:j]",
}


class NotHere:
    """In the place of a method of NumPy's ufuncs: an AttributeError that says what to write."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, op: Any, owner: type) -> Any:
        if op is None:
            return self
        text = f"{op.name} is no ufunc and has no {self.name!r}; write {METHODS[self.name]}"
        raise AttributeError(text, name=self.name, obj=op)
