"""What a compiled program takes and gives, and where it finds it: the Python half of the ABI in abi.h.

May touch: nothing. A generator makes a `Signature`, asks it for positions in `buf` and `env` while it writes C text,
and hands the same signature to `glue.bind`. docs/dev/c-abi.md explains the two arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from itertools import accumulate
from typing import Any, Literal

from termgraph._records import record
from termgraph.terms.dtypes import DTYPES, kind_of, name_of, numpy_dtype

NO_DEFAULT: Any = type("NoDefault", (), {"__repr__": lambda self: "NO_DEFAULT"})()
RETURNS = ("one", "list", "tuple", "none", "wrapped")
MODES = ("fresh", "overwrite", "accumulate")


@record(frozen=True)
class Input:
    """An argument: `Input("x", "float64", (None, 3))`. Lengths that are given are checked at every call.

    `numbers` says which Python numbers a 0-d argument takes without asking the filter: any of "float", "int".
    """

    name: str | None
    dtype: str
    shape: tuple[int | None, ...] = ()
    default: Any = NO_DEFAULT
    numbers: frozenset[str] | None = None

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    def accepted(self) -> frozenset[str]:
        """The Python numbers taken as they are; if nothing was said, those that lose nothing by it."""
        if self.numbers is not None or self.shape:
            return self.numbers or frozenset()
        kind = kind_of(self.dtype)
        if self.dtype in ("float64", "complex128"):
            return frozenset(("float", "int"))
        return frozenset(("int",)) if kind in "iuf" else frozenset()


@record(frozen=True)
class CellInput:
    """A shared variable that the program reads, updates or both."""

    dtype: str
    shape: tuple[int | None, ...] = ()

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)


@record(frozen=True)
class Output:
    """A result: an array whose lengths the plan computes, C-contiguous unless there is an `order`.

    Then the lengths are those of the array as it lies in memory, axis k of which is axis `order[k]` of the result.

    `scalar` returns a NumPy scalar instead of a 0-d array. `donor` is the number of an input that nobody needs after
    the call: where its storage is its own and fits, the output takes it over; then `buf` holds one address twice.
    """

    dtype: str
    ndim: int
    scalar: bool = False
    donor: int | None = None
    order: tuple[int, ...] | None = None


@record(frozen=True)
class Update:
    """The new value of a cell; lengths as for an output.

    mode "fresh": written to storage of its own. "overwrite": into the old value's storage if nobody else sees it, else
    to storage of its own with any content. "accumulate": the same, but the storage holds the old value at the start.
    """

    cell: int
    dtype: str
    ndim: int
    mode: Literal["fresh", "overwrite", "accumulate"] = "fresh"


@record(frozen=True)
class Signature:
    """Everything the glue has to know about a program.

    `buf` holds, in this order: inputs, cells, constants, outputs, updates, workspaces. `env` holds: for each input and
    cell its lengths and then its strides (in elements); for each output and update its lengths; the bytes of each
    workspace; the estimated work in nanoseconds; `extra` words for the program's own use.

    >>> s = Signature([Input("x", "float64", (None, None))], outputs=[Output("float64", 2)], workspaces=1)
    >>> s.input_env(0), s.output_env(0), s.workspace_env(0), s.work_env, s.env_size
    (0, 4, 6, 7, 8)
    >>> s.output_buf(0), s.workspace_buf(0)
    (1, 2)
    """

    inputs: Sequence[Input] = ()
    cells: Sequence[CellInput] = ()
    constants: int = 0
    outputs: Sequence[Output] = ()
    updates: Sequence[Update] = ()
    workspaces: int = 0
    extra: int = 0
    returns: Literal["one", "list", "tuple", "none", "wrapped"] = "list"
    _offsets: tuple[int, ...] = field(init=False, repr=False, compare=False, default=())

    def __post_init__(self) -> None:
        self._check()
        sizes = [2 * port.ndim for port in self.inputs] + [2 * port.ndim for port in self.cells]
        sizes += [out.ndim for out in self.outputs] + [update.ndim for update in self.updates]
        object.__setattr__(self, "_offsets", (0, *accumulate(sizes)))

    def _check(self) -> None:
        if self.returns not in RETURNS:
            raise ValueError(f"returns is one of {RETURNS}, not {self.returns!r}")
        if self.returns == "one" and len(self.outputs) != 1:
            raise ValueError(f'returns="one" needs exactly one output, there are {len(self.outputs)}')
        updated = [update.cell for update in self.updates]
        if sorted(updated) != list(range(len(updated))):
            raise ValueError(f"updated cells come first and are updated once; there are updates of cells {updated}")
        parts: list[Any] = [*self.inputs, *self.cells, *self.outputs, *self.updates]
        for part in parts:
            if name_of(numpy_dtype(part.dtype)) not in DTYPES:
                raise ValueError(f"{part} has a dtype that compiled code does not know")
        for update in self.updates:
            if update.mode not in MODES:
                raise ValueError(f"{update}: mode is one of {MODES}")
        for out in self.outputs:
            if out.scalar and out.ndim:
                raise ValueError(f"{out}: only a 0-d output can be returned as a scalar")
            if out.donor is not None and not 0 <= out.donor < len(self.inputs):
                raise ValueError(f"{out}: there is no input number {out.donor}")
            if out.order is not None and sorted(out.order) != list(range(out.ndim)):
                raise ValueError(f"{out}: its order has to name each of its axes once")

    # positions in env

    def input_env(self, i: int) -> int:
        """Where the lengths of input `i` begin in `env`; its strides follow them."""
        return self._offsets[i]

    def cell_env(self, i: int) -> int:
        """Where the lengths of cell `i` begin in `env`; its strides follow them."""
        return self._offsets[len(self.inputs) + i]

    def output_env(self, i: int) -> int:
        """Where the plan puts the lengths of output `i`."""
        return self._offsets[len(self.inputs) + len(self.cells) + i]

    def update_env(self, i: int) -> int:
        """Where the plan puts the lengths of update `i`."""
        return self.output_env(len(self.outputs) + i)

    def workspace_env(self, i: int) -> int:
        """Where the plan puts the number of bytes of workspace `i`."""
        return self._offsets[-1] + i

    @property
    def work_env(self) -> int:
        """Where the plan puts the estimated work in nanoseconds; the GIL is released when it is large."""
        return self._offsets[-1] + self.workspaces

    def extra_env(self, i: int) -> int:
        """Word `i` of those that are the program's own."""
        return self.work_env + 1 + i

    @property
    def env_size(self) -> int:
        """Number of words of `env`."""
        return self.work_env + 1 + self.extra

    # positions in buf

    def input_buf(self, i: int) -> int:
        """Position of input `i` in `buf`."""
        return i

    def cell_buf(self, i: int) -> int:
        """Position of the present value of cell `i` in `buf`."""
        return len(self.inputs) + i

    def constant_buf(self, i: int) -> int:
        """Position of constant `i` in `buf`."""
        return len(self.inputs) + len(self.cells) + i

    def output_buf(self, i: int) -> int:
        """Position of output `i` in `buf`."""
        return self.constant_buf(self.constants) + i

    def update_buf(self, i: int) -> int:
        """Position of the new value of update `i` in `buf`."""
        return self.output_buf(len(self.outputs) + i)

    def workspace_buf(self, i: int) -> int:
        """Position of workspace `i` in `buf`; it is aligned to 64 bytes."""
        return self.update_buf(len(self.updates) + i)

    @property
    def buf_size(self) -> int:
        """Number of pointers in `buf`."""
        return self.workspace_buf(self.workspaces)
