"""What the rows of the matrix draw their operands with: arrays of every dtype, rank, layout and kind of value.

The structure of a cell (ranks, which dimensions broadcast, axes, dtypes) comes from one generator and is the same in
every draw; lengths and values come from another. So one compiled program serves many draws.
"""

from __future__ import annotations

import random
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from termgraph.terms.dtypes import DTYPES, finfo, kind_of, numpy_dtype

LAYOUTS = ("C", "F", "strided", "negative", "0-stride", "empty", "size 1")
FLOATING = ("bfloat16", "float16", "float32", "float64")
INTEGERS = tuple(d for d in DTYPES if "int" in d)
WIDE_INTEGERS = ("int16", "uint16", "int32", "uint32", "int64", "uint64")


def layouts_of(rank: int) -> tuple[str, ...]:
    """The layouts that differ for arrays of a rank."""
    return LAYOUTS if rank > 1 else tuple(name for name in LAYOUTS if name != "F") if rank else ("C",)


class Operand(NamedTuple):
    """An array and what is known of its lengths when the graph is built."""

    value: np.ndarray
    known: tuple


class Draw:
    """One draw of the operands of a cell. `smooth`: values for finite differences, no two of them alike."""

    def __init__(
        self, dtype: str, rank: int, structure: int, values: int = 0, layout: str = "C", special: bool = False,
        smooth: bool = False,
    ) -> None:  # fmt: skip
        self.dtype, self.rank, self.layout, self.special, self.smooth = dtype, rank, layout, special, smooth
        self.structure = random.Random(structure)
        self.fixed = self.structure.random() < 0.2  # all lengths are known when the graph is built
        if self.fixed:
            self.layout = self.structure.choice(["C", "strided", "C", "size 1", "empty"]) if rank else "C"
        self.sizes = random.Random(structure if self.fixed else values)
        self.values = np.random.default_rng([structure, values])
        self.lengths: dict[object, int] = {}
        self.operands: list[Operand] = []
        self.shortest, self.may_be_empty, self.longest = 1, True, 5
        self.hollow: object = None
        self.huge = True  # special values include the largest finite numbers

    # ------------------------------------------------------------------ structure: the same in every draw
    def flip(self, share: float = 0.5) -> bool:
        return self.structure.random() < share

    def pick(self, *choices):
        return self.structure.choice(choices)

    def axis(self, rank: int | None = None) -> int:
        rank = self.rank if rank is None else rank
        return self.structure.randrange(-rank, rank) if rank else 0

    def axes(self):
        """An argument `axis` of a reduction: none, one or several."""
        if not self.rank or self.flip(0.25):
            return None
        if self.rank == 1 or self.flip(0.6):
            return self.axis()
        some = self.structure.sample(range(self.rank), self.structure.randint(1, self.rank))
        return tuple(a - self.rank * self.flip() for a in some)

    def other_dtype(self, dtypes=DTYPES) -> str:
        """The dtype of a second operand: often the first one's. Large integers beside bfloat16 test nothing."""
        wide = {"bfloat16": WIDE_INTEGERS}.get(self.dtype, ("bfloat16",) if self.dtype in WIDE_INTEGERS else ())
        dtypes = [d for d in dtypes if d not in wide]
        return self.dtype if self.dtype in dtypes and self.flip(0.5) else self.structure.choice(dtypes)

    def mild(self) -> Draw:
        """Special values without the largest finite numbers, whose sums depend on the order."""
        self.huge = False
        return self

    # ------------------------------------------------------------------ lengths
    def at_least(self, n: int, may_be_empty: bool = True) -> Draw:
        """Lengths from n on; `may_be_empty` still admits the layout of empty arrays."""
        self.shortest, self.may_be_empty = n, may_be_empty
        self.longest = max(self.longest, n + 3)
        return self

    def n(self, name: object) -> int:
        """The length of a named dimension; the first one asked for is 0 where the layout is `empty`."""
        if name not in self.lengths:
            drawn = self.sizes.randint(max(self.shortest, 1), self.longest)
            if self.layout == "size 1":
                drawn = max(self.shortest, 1)
            if self.layout == "empty" and self.may_be_empty and (self.hollow is None or self.sizes.random() < 0.3):
                self.hollow, drawn = name, 0
            self.lengths[name] = drawn
        return self.lengths[name]

    def shape(self, rank: int | None = None) -> tuple[int, ...]:
        return tuple(self.n(k) for k in range(self.rank if rank is None else rank))

    # ------------------------------------------------------------------ operands
    def x(self, low: float | None = None, high: float | None = None, dtype: str | None = None, shape=None,
          known=None, special: bool = True, integral: bool = False) -> np.ndarray:  # fmt: skip
        """An operand of the cell's dtype and shape, with values from low to high."""
        dtype, shape = dtype or self.dtype, self.shape() if shape is None else tuple(shape)
        made = self.laid_out(lambda s: self.numbers(dtype, s, low, high, special and self.special, integral), shape)
        return self.given(made, known)

    def given(self, value: np.ndarray, known=None) -> np.ndarray:
        """An operand with these values."""
        known = (None,) * value.ndim if known is None else tuple(known)
        self.operands.append(Operand(value, value.shape if self.fixed else known))
        return value

    def partner(self, low: float | None = None, high: float | None = None, dtype: str | None = None, **more):
        """An operand that broadcasts against the cell's shape: some lengths 1, some dimensions missing in front."""
        missing = self.structure.randrange(self.rank + 1) if self.flip(0.3) else 0
        ones = [self.flip(0.2) for _ in range(self.rank)][missing:]
        shape = tuple(1 if one else n for one, n in zip(ones, self.shape()[missing:]))
        known = tuple(1 if one else None for one in ones)
        return self.x(low, high, dtype or self.other_dtype(), shape, known, **more)

    def index(self, length: int, shape, low: int | None = None) -> np.ndarray:
        """Indices below a length, some of them negative; for an empty dimension there are none."""
        dtype = self.pick("int64", "int32", "int64", "uint8", "int16")
        low = (0 if dtype[0] == "u" else -length) if low is None else low
        shape = tuple(shape) if length else tuple(0 for _ in shape)
        return self.given(self.values.integers(low, max(length, 1), shape).astype(dtype))

    def matrix(self, n, m, kind: str = "any", batch: int | None = None, dtype: str | None = None) -> np.ndarray:
        """Matrices of named or given lengths with the cell's other dimensions before them; conditioned well."""
        batch = max(self.rank - 2, 0) if batch is None else batch
        dtype = dtype or self.dtype
        rows, columns = (k if isinstance(k, int) else self.n(k) for k in (n, m))
        shape = (*self.shape(batch), rows, columns)

        def make(s):
            a = np.asarray(self.numbers(dtype, s, -1, 1, False)).astype(_wide(dtype))
            if kind in ("positive", "symmetric"):
                a = (a + np.conj(np.swapaxes(a, -1, -2))) / 2
            lift = np.eye(a.shape[-2], a.shape[-1]) * (np.arange(a.shape[-1]) + 2.0 + a.shape[-1])
            a = a if kind == "any" else a + lift
            if kind == "triangular":
                a = np.tril(a)
            return np.rint(a).astype(dtype) if kind_of(dtype) in "iub" else a.astype(numpy_dtype(dtype))

        return self.given(make(shape) if kind != "any" else self.laid_out(make, shape))

    # ------------------------------------------------------------------ values
    def numbers(self, dtype: str, shape, low=None, high=None, special=False, integral=False) -> np.ndarray:
        kind, np_dtype = kind_of(dtype), numpy_dtype(dtype)
        if kind == "b":
            return self.values.random(shape) < 0.5
        if kind in "iu":
            return self._whole(np_dtype, shape, low, high, special)
        bounded = low is not None or high is not None
        low, high = -3.0 if low is None else low, 3.0 if high is None else high
        drawn = self.values.uniform(low, high, shape)
        if kind == "c":
            drawn = drawn + 1j * self.values.uniform(low, high, shape)
        elif integral or not (bounded or self.smooth):
            drawn = np.where(self.values.random(shape) < (1.0 if integral else 0.3), np.rint(drawn), drawn)
        drawn = np.asarray(drawn).astype(np_dtype)
        return self._with_specials(drawn, dtype) if special else drawn

    def _whole(self, dtype, shape, low, high, special) -> np.ndarray:
        info = np.iinfo(dtype)
        low = max(info.min, -6 if low is None else int(np.ceil(low)))
        high = max(min(info.max, 6 if high is None else int(np.floor(high))), low)
        drawn = self.values.integers(low, high, shape, endpoint=True).astype(dtype)
        if not special:
            return drawn
        edges = np.array([info.min, info.max, info.min + 1, info.max - 1, 0, 1, info.max // 2 + 1], dtype)
        return np.where(self.values.random(shape) < 0.4, self.values.choice(edges, shape), drawn).astype(dtype)

    def _with_specials(self, drawn: np.ndarray, dtype: str) -> np.ndarray:
        info = finfo({"complex64": "float32", "complex128": "float64"}.get(dtype, dtype))
        small, tiny = float(info.smallest_subnormal), float(info.tiny)
        some = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, small, -tiny, tiny / 2, float(info.eps)]
        some += [float(info.max), -float(info.max)] if self.huge else []

        def mixed(part):
            odd = self.values.choice(some, drawn.shape)
            return np.where(self.values.random(drawn.shape) < 0.5, odd, part)

        if kind_of(dtype) != "c":
            return np.asarray(mixed(drawn)).astype(drawn.dtype)
        made = np.empty(drawn.shape, drawn.dtype)
        made.real, made.imag = mixed(drawn.real), mixed(drawn.imag)
        return made

    # ------------------------------------------------------------------ layouts
    def laid_out(self, make, shape) -> np.ndarray:
        """An array of this shape, made by `make(shape)`, that lies in memory as the layout says."""
        shape = tuple(shape)
        if not shape:
            return np.asarray(make(()))
        if self.layout == "F":
            return np.asfortranarray(make(shape))
        if self.layout == "strided":
            return make(tuple(2 * n + 1 for n in shape))[tuple(slice(1, None, 2) for _ in shape)]
        if self.layout == "negative":
            back = tuple(slice(None, None, -1) for _ in shape)
            return make(shape)[back]
        if self.layout == "0-stride" and not self.smooth:
            along = self.sizes.randrange(len(shape))
            return np.broadcast_to(make((*shape[:along], 1, *shape[along + 1 :])), shape)
        return make(shape)

    def sparse(self, format: str | None = None, shape=None, special: bool = False):
        """A sparse matrix with empty rows, elements out of order, stored twice, or zero."""
        rows, columns = shape or (self.n(0), self.n(1))
        format = format or self.pick("csr", "csc")
        major, minor = (rows, columns) if format == "csr" else (columns, rows)
        counts = self.values.integers(0, (2 if minor > 1 else 1) + 1, major) if minor else np.zeros(major, int)
        tidy = self.layout in ("C", "F")
        parts = [self.values.choice(minor, c, replace=not tidy) for c in counts]
        parts = [np.sort(p) if tidy else p for p in parts]
        indices = np.concatenate([*parts, np.zeros(0, int)]).astype("int32")
        data = self.numbers(self.dtype, (len(indices),), special=special and self.special)
        indptr = np.concatenate([[0], np.cumsum(counts)]).astype("int32")
        made = (sp.csr_matrix if format == "csr" else sp.csc_matrix)((data, indices, indptr), shape=(rows, columns))
        self.operands.append(Operand(made, (None, None)))
        return made


def _wide(dtype: str):
    return "complex128" if kind_of(dtype) == "c" else "float64"
