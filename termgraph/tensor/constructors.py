"""Ready-made types and the variables they make: `dmatrix`, `ivector`, `scalar`, ...

Letters: b, w, i, l signed integers of 8 to 64 bits, f, d floats, c, z complex; a plain name uses `config.floatX`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from termgraph.config import config
from termgraph.tensor.likes import DTypeLike
from termgraph.tensor.variable import TensorVariable, make_input
from termgraph.terms.types import TensorType, dtype_name

LETTERS = {
    "b": "int8", "w": "int16", "i": "int32", "l": "int64",
    "f": "float32", "d": "float64", "c": "complex64", "z": "complex128",
}  # fmt: skip
SHAPES: dict[str, tuple] = {
    "scalar": (), "vector": (None,), "row": (1, None), "col": (None, 1), "matrix": (None, None),
    **{f"tensor{n}": (None,) * n for n in range(3, 8)},
}  # fmt: skip


def tensor(
    name: str | None = None,
    dtype: DTypeLike = None,
    shape: Any = None,
    broadcastable: Any = None,
    ndim: int | None = None,
) -> TensorVariable:
    """A fresh input. `shape` holds a length or None per dimension.

    >>> import termgraph.tensor as T
    >>> T.tensor("v", dtype="float32", shape=(None, 3)).type
    TensorType(float32, (?, 3))
    """
    if name is not None and not isinstance(name, str):
        raise TypeError(
            f"tensor() makes an input and takes its name first, not {type(name).__name__}; an array of known values is "
            "T.constant(values), one that is kept and updated tg.shared(values)"
        )
    if shape is None and broadcastable is None:
        if ndim is None:
            dtype_name(dtype)  # a misspelt one is the first thing to say
            raise TypeError("tensor() needs shape=, broadcastable= or ndim=, such as shape=(None, 3)")
        shape = (None,) * ndim
    return make_input(TensorType(_float_x(dtype), shape, broadcastable), name)


def _float_x(dtype: DTypeLike) -> Any:
    if dtype is not None:
        return dtype
    return config.floatX


def _plain(kind: str, lengths: tuple) -> Callable:
    def make(name: str | None = None, dtype: str | None = None, shape: Any = None) -> Any:
        known = lengths if shape is None else tuple(shape)
        if len(known) != len(lengths):
            raise ValueError(f"{kind}() takes {len(lengths)} lengths, not shape={known}")
        return make_input(TensorType(_float_x(dtype), known), name)

    make.__name__ = make.__qualname__ = kind
    make.__doc__ = f"A fresh {kind} of dtype `config.floatX` (or `dtype`); `shape` may say lengths, None where unknown."
    return make


def _plural(make: Callable, kind: str) -> Callable:
    def several(*names: str) -> list:
        if len(names) == 1 and isinstance(names[0], int):
            return [make() for _ in range(names[0])]
        if len(names) == 1 and isinstance(names[0], str):
            names = tuple(names[0])
        return [make(n) for n in names]

    several.__name__ = several.__qualname__ = kind
    several.__doc__ = f"Several at once: `{kind}('xy')` or `{kind}('first', 'second')`."
    return several


_PLURALS: dict[str, str] = {
    "scalar": "scalars",
    "vector": "vectors",
    "row": "rows",
    "col": "cols",
    "matrix": "matrices",
}
SEVERAL = [letter + _PLURALS.get(kind, kind + "s") for kind in SHAPES for letter in ("", *LETTERS)]


def _family() -> dict[str, Any]:
    made: dict[str, Any] = {}
    for kind, shape in SHAPES.items():
        made[kind] = _plain(kind, shape)
        made[_PLURALS.get(kind, kind + "s")] = _plural(made[kind], _PLURALS.get(kind, kind + "s"))
        for letter, dtype in LETTERS.items():
            type_ = made[letter + kind] = TensorType(dtype, shape)
            plural = letter + _PLURALS.get(kind, kind + "s")
            made[plural] = _plural(type_, plural)
    return made


FAMILY = _family()
globals().update(FAMILY)
EXPORTS = ["tensor", *FAMILY]
