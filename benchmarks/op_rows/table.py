"""What a row of the table of speeds is: an expression, its operands, and what other libraries write instead.

A row says what is computed once, in the words of `termgraph.tensor`; NumPy, JAX and PyTorch read the same words through
`dialects.py`, and a row names another expression only where a library says it differently. Uses NumPy only.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

SIZES = ("small", "middle", "large")  # bound by the call, by caches, by memory
# name of a family: the lengths that its operands name, for each size
FAMILIES: dict[str, dict[str, tuple[int, int, int]]] = {
    "matrix": {"n": (3, 300, 2000), "m": (4, 300, 2000), "k": (2, 10, 10)},
    "costly": {"n": (3, 100, 500), "m": (4, 200, 500), "k": (2, 10, 10)},
    "vector": {"n": (10, 100_000, 4_000_000), "m": (6, 1000, 10_000), "k": (3, 100, 1000)},
    "product": {"n": (4, 100, 700), "m": (5, 100, 700), "k": (3, 100, 700)},
    "square": {"n": (4, 60, 400), "m": (3, 20, 100), "b": (2, 50, 20)},
    "batch": {"b": (3, 1000, 20_000), "n": (3, 8, 8), "m": (4, 8, 8), "k": (2, 8, 8)},
    "cube": {"b": (2, 30, 100), "n": (3, 50, 200), "m": (4, 60, 200), "k": (2, 8, 10)},
    "transform": {"b": (2, 100, 1000), "n": (8, 256, 1024)},
    "images": {"b": (1, 8, 32), "c": (2, 8, 32), "f": (3, 16, 32), "n": (8, 32, 56), "w": (3, 3, 3)},
    "volumes": {"b": (1, 2, 4), "c": (2, 4, 8), "f": (3, 8, 16), "n": (5, 12, 24), "w": (3, 3, 3)},
    "signals": {"b": (1, 16, 64), "c": (2, 8, 32), "f": (3, 16, 32), "n": (20, 256, 2048), "w": (3, 5, 5)},
    "sparse": {"n": (10, 1000, 50_000), "m": (10, 1000, 50_000), "k": (2, 32, 32), "z": (3, 10, 10)},
    "draws": {"n": (4, 200, 2000), "m": (5, 250, 1000), "k": (3, 10, 10)},
    "attention": {"b": (1, 4, 8), "t": (4, 64, 256), "d": (4, 32, 64), "f": (8, 128, 256)},
    "steps": {"n": (4, 1000, 1_000_000), "m": (2, 10, 10)},
}
OPERAND = re.compile(r"(\w+):(\w+)\[([\w,]*)\](?:<(\w+))?")
INTEGERS = "int64"


@dataclass(frozen=True)
class Operand:
    """An argument: its name, the kind of its values, its dimensions by name, and a bound of whole numbers."""

    name: str
    kind: str
    dims: tuple[str, ...]
    bound: str

    @property
    def known(self) -> tuple[int | None, ...]:
        """The lengths that are written as numbers; the others are not told when compiling."""
        return tuple(int(d) if d.isdigit() else None for d in self.dims)

    @property
    def differentiable(self) -> bool:
        return self.kind in DIFFERENTIABLE


@dataclass(frozen=True)
class Row:
    """An expression over operands; `peers` holds what a library writes instead, or None where it takes no part.

    `flops` is an expression of the lengths, for the physical limit. `grad`: rows for the gradient of half the sum of
    squares of all float results are made too. `unchecked`: results are not unique (draws, signs of eigenvectors);
    `unlike`: gradients are not (conjugates, which triangle of a symmetric matrix gets them, nothing but rounding).
    `view`: NumPy and PyTorch give a view of the operand, which is copied, as ours and JAX's results own their memory.
    """

    name: str
    text: str
    operands: tuple[Operand, ...]
    family: str = "matrix"
    dtypes: tuple[str, ...] = ("float64", "float32")
    sizes: tuple[str, ...] = SIZES
    grad: bool = False
    flops: str = ""
    unchecked: bool = False
    unlike: bool = False
    view: bool = False
    peers: dict[str, str | None] = field(default_factory=dict)

    def lengths(self, size: str) -> dict[str, int]:
        """The lengths of the named dimensions."""
        at = SIZES.index(size)
        return {name: sizes[at] for name, sizes in FAMILIES[self.family].items()}

    def written(self, who: str) -> str:
        """The expression of a library. NotImplementedError where it takes no part."""
        text = self.peers.get(who, self.text)
        if text is None:
            raise NotImplementedError("it has no such function")
        return f"T.owned({text})" if self.view and who in ("numpy", "torch") else text

    def values(self, size: str, dtype: str) -> list[Any]:
        """The operands, the same for every library."""
        lengths = self.lengths(size)
        return [made(o, lengths, dtype, zlib.crc32(f"{self.name} {o.name}".encode())) for o in self.operands]


ROWS: dict[str, Row] = {}


def op(names: str, operands: str = "x", text: str = "", **more: Any) -> None:
    """Enter a row for each of some functions; a remark in brackets follows the name where one has several.

    `operands` are written `name:kind[dims]<bound`, separated by blanks; `x` alone is a float matrix. Without a text the
    function is called with all operands. Keywords numpy, jax and torch are what these libraries write instead.
    """
    peers = {who: more.pop(who) for who in ("numpy", "jax", "torch") if who in more}
    arguments = tuple(operand(word) for word in operands.split())
    for name in [names] if "(" in names or ":" in names else names.split():
        plain = name.partition(" (")[0]
        called = text or f"T.{plain}({', '.join(o.name for o in arguments)})"
        texts = {who: said and said.replace("NAME", plain) for who, said in peers.items()}
        if name in ROWS:
            raise ValueError(f"two rows named {name}")
        ROWS[name] = Row(name, called.replace("NAME", plain), arguments, peers=texts, **more)


def operand(word: str) -> Operand:
    found = OPERAND.fullmatch(word if ":" in word else f"{word}:f[n,m]")
    if found is None:
        raise ValueError(f"operand {word}: write name:kind[dims]<bound")
    name, kind, dims, bound = found.groups()
    return Operand(name, kind, tuple(d for d in dims.split(",") if d), bound or "")


# ---------------------------------------------------------------------- values
def made(o: Operand, lengths: dict[str, int], dtype: str, seed: int) -> Any:
    """The value of an operand."""
    rng = np.random.default_rng(seed)
    shape = tuple(int(d) if d.isdigit() else lengths[d] for d in o.dims)
    if o.kind in WHOLE:
        high = int(o.bound) if o.bound.isdigit() else lengths.get(o.bound, 100)
        return WHOLE[o.kind](rng, shape, high)
    if o.kind.startswith("cs"):
        return sparse(rng, o.kind, shape, lengths["z"], dtype)
    return np.ascontiguousarray(FLOATS[o.kind](rng, shape), dtype={"c": complex_of(dtype)}.get(o.kind, dtype))


def complex_of(dtype: str) -> str:
    return {"float32": "complex64", "float64": "complex128"}.get(dtype, dtype)


def sparse(rng: Any, format: str, shape: tuple[int, ...], per_row: int, dtype: str) -> Any:
    """A matrix with about `per_row` elements in each row, sorted, no two at a place."""
    import scipy.sparse as sp

    rows, columns = shape
    indices = np.concatenate([np.sort(rng.choice(columns, per_row, replace=False)) for _ in range(rows)])
    indptr = np.arange(rows + 1) * per_row
    data = (rng.uniform(0.1, 0.9, len(indices))).astype(dtype)
    return sp.csr_matrix((data, indices.astype("int32"), indptr.astype("int32")), shape=shape).asformat(format)


def _conditioned(rng: Any, shape: tuple[int, ...]) -> np.ndarray:
    return rng.uniform(-1, 1, shape) / shape[-1] + np.eye(shape[-2], shape[-1])


def _positive_definite(rng: Any, shape: tuple[int, ...]) -> np.ndarray:
    a = _conditioned(rng, shape)
    return a @ np.swapaxes(a, -1, -2) + np.diag(np.arange(shape[-1]) / shape[-1])


FLOATS: dict[str, Callable] = {
    "f": lambda rng, s: rng.standard_normal(s),
    "p": lambda rng, s: rng.uniform(0.2, 4, s),
    "o": lambda rng, s: rng.uniform(1.1, 4, s),  # above one
    "u": lambda rng, s: rng.uniform(-0.95, 0.95, s),
    "q": lambda rng, s: rng.uniform(0.05, 0.95, s),  # probabilities
    "r": lambda rng, s: rng.dirichlet(np.ones(s[-1]), s[:-1]),  # rows that add up to one
    "s": lambda rng, s: np.sort(rng.standard_normal(s)),
    "w": _conditioned,
    "h": _positive_definite,
    "t": lambda rng, s: np.tril(_conditioned(rng, s)),
    "d": lambda rng, s: rng.uniform(-1, 1, s) + (np.arange(s[0]) == s[0] // 2)[:, None] * s[0],  # bands of a matrix
    "c": lambda rng, s: rng.standard_normal(s) + 1j * rng.standard_normal(s),
    "e": lambda rng, s: np.rint(rng.uniform(1, 4, s)),  # whole numbers as floats
}
WHOLE: dict[str, Callable] = {
    "i": lambda rng, s, high: rng.integers(0, high, s),
    "b": lambda rng, s, high: rng.random(s) < 0.5,
}
DIFFERENTIABLE = frozenset("fpouqrswhtdc") | {"csr", "csc"}
