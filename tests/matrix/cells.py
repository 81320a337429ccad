"""The cells of the matrix: which there are, and how one is built, called and judged.

A `Unit` is what is compiled: a row in one dtype, rank and mode. It covers one cell for each layout and kind of value.
"""

from __future__ import annotations

import zlib
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

import termgraph as tg
import termgraph.tensor as T
from termgraph import sparse as S
from termgraph.terms.dtypes import finfo, kind_of

from .compare import disagreement, largest
from .draw import FLOATING, Draw, layouts_of
from .table import ROUNDING, ROWS, Row

RULES = {"None": "None", "FAST_COMPILE": "fast_compile", "FAST_RUN": "fast_run", "STRICT": "fast_run"}
MODES = tuple((rules, linker) for linker in ("py", "auto") for rules in RULES) + (("FAST_RUN", "cuda"),)
GRADIENTS = (*FLOATING, "complex64", "complex128")
REFUSALS = (TypeError, ValueError, NotImplementedError, ArithmeticError, LookupError, np.linalg.LinAlgError)


def mode(rules: str, linker: str) -> tg.Mode:
    """The mode of two names."""
    return tg.Mode(optimizer=RULES[rules], linker=linker, strict=rules == "STRICT")


class Unit(NamedTuple):
    """A row in one dtype, rank and mode, with its value or its gradient."""

    row: str
    dtype: str
    rank: int
    rules: str
    linker: str
    gradient: bool = False

    @property
    def cells(self) -> list[tuple[str, bool]]:
        """The (layout, special values) it covers."""
        layouts = layouts_of(self.rank)
        if self.gradient:
            return [(layout, False) for layout in layouts if layout != "0-stride"]
        return [(layout, special) for special in ((False, True) if ROWS[self.row].special else (False,))
                for layout in layouts]  # fmt: skip

    def structure(self, seed: int) -> int:
        """The seed of its structure: the same in all modes."""
        return zlib.crc32(f"{self.row} {self.dtype} {self.rank} {seed}".encode())

    def draw(self, seed: int, values: int = 0, layout: str = "C", special: bool = False) -> Draw:
        return Draw(self.dtype, self.rank, self.structure(seed), values, layout, special, self.gradient)

    def __str__(self) -> str:
        what = "gradient of " if self.gradient else ""
        return f"{what}{self.row}, {self.dtype}, rank {self.rank}, {self.rules}, {self.linker}"


def all_units(only: str = "") -> list[Unit]:
    """Every unit of the matrix, or those of rows whose name begins with `only`."""
    made = []
    for row in ROWS.values():
        if row.name.startswith(only):
            made += [Unit(row.name, d, r, *m) for d in row.dtypes for r in row.ranks for m in MODES]
            if row.smooth:
                floats = [d for d in row.dtypes if d in GRADIENTS]
                made += [Unit(row.name, d, r, *m, True) for d in floats for r in row.ranks for m in MODES]
    return made


class Refused(Exception):
    """NumPy has no such function of such operands; neither have we, or we have more than NumPy."""


class Wrong(Exception):
    """A disagreement."""


class Built(NamedTuple):
    """A unit with its variables: what goes into a program."""

    unit: Unit
    row: Row
    inputs: list
    outputs: list
    known: list


def build(unit: Unit, seed: int) -> Built:
    """Variables and results of a unit. Raises Refused or Wrong where there is nothing to compile."""
    row = ROWS[unit.row]
    operands, params = row.drawn(unit.draw(seed, 1))
    values = [o.value for o in operands]
    try:
        row.expected(values, params)
        numpys = None
    except REFUSALS as error:
        numpys = error
    inputs = [variable(o.value, o.known) for o in operands]
    try:
        made = row.ours(*inputs, **params)
        outputs = list(made) if isinstance(made, (list, tuple)) else [made]
        outputs = [T.as_tensor(o) if not hasattr(o, "term") else o for o in outputs]
        if unit.gradient and numpys is None:
            inputs, outputs = differentiated(inputs, outputs)
    except REFUSALS as error:
        if numpys is not None:
            raise Refused from None
        raise Wrong(f"refused: {type(error).__name__}: {str(error).splitlines()[0]:.150}") from error
    if numpys is not None:
        raise Refused
    return Built(unit, row, inputs, outputs, [o.known for o in operands])


def variable(value, known):
    """An input for an operand."""
    if sp.issparse(value):
        return S.matrix(value.format, dtype=value.dtype)
    return T.tensor(dtype=value.dtype.name, shape=known)


def differentiated(inputs: list, outputs: list) -> tuple[list, list]:
    """Weights of the float results beside the inputs, and the gradients of their weighted sum by the float inputs."""
    floats = [o for o in outputs if o.type.kind in "fc"]
    wrt = [v for v in inputs if v.type.kind in "fc"]
    if not floats or not wrt:
        raise Refused
    weights = [o.type.make_variable() for o in floats]
    parts = [T.real(T.conj(w) * o) if o.type.kind == "c" else T.cast(w, _wide(o)) * o for w, o in zip(weights, floats)]
    gradients = tg.grad(sum(p.sum(dtype="float64") for p in parts), wrt, disconnected_inputs="ignore")
    return [*inputs, *weights], [*floats, *gradients]


def _wide(v) -> str:
    return "float64" if v.type.dtype in ("float16", "bfloat16") else v.type.dtype


# ---------------------------------------------------------------------- one call
class Call(NamedTuple):
    """The operands of a unit in one layout, and what the results should be."""

    built: Built
    layout: str
    special: bool
    values: list
    params: dict
    expected: list


def prepare(built: Built, seed: int, number: int, layout: str, special: bool) -> Call | None:
    """The call of a cell; None if the reference refuses these values (nothing to be compared)."""
    unit, row = built.unit, built.row
    operands, params = row.drawn(unit.draw(seed, number, layout, special))
    values = [o.value for o in operands]
    try:
        expected = row.expected(values, params)
    except REFUSALS:
        return None
    if unit.gradient:
        rng = np.random.default_rng(number)
        floats = [e for e in expected if e.dtype.kind in "fc"]
        outs = built.outputs[: len(floats)]
        values = values + [weights(rng, e.shape, o.type) for e, o in zip(floats, outs)]
    return Call(built, layout, special, values, params, expected)


def weights(rng, shape, type_) -> np.ndarray:
    made = rng.uniform(0.5, 1.5, shape)
    made = made + 1j * rng.uniform(0.5, 1.5, shape) if type_.kind == "c" else made
    return np.asarray(made).astype(type_.np_dtype)


def judge(call: Call, results: list) -> str | None:
    """What is wrong with the results of a call, in words."""
    built = call.built
    if built.unit.gradient:
        return judge_gradient(call, results)
    if len(results) != len(call.expected):
        return f"{len(results)} results instead of {len(call.expected)}"
    for got, expected in zip(results, call.expected):
        wrong = disagreement(built.row, built.unit, call.values, got, expected)
        if wrong:
            return wrong
    return None


def max_of(gradients: list) -> float:
    """The largest number of the dtypes of gradients."""
    return min(float(finfo(g.real.dtype if g.dtype.kind == "c" else g.dtype).max) for g in gradients)


def judge_gradient(call: Call, results: list) -> str | None:
    """The derivative of the reference along a random direction against the gradient's product with it."""
    row = call.built.row
    n_floats = sum(e.dtype.kind in "fc" for e in call.expected)
    operands, w, gradients = call.values[:-n_floats], call.values[-n_floats:], results[n_floats:]
    rng = np.random.default_rng(7)
    wrt = [i for i, v in enumerate(operands) if kind_of(v.dtype) in "fc"]
    wide = [v.astype("complex128" if v.dtype.kind == "c" else "float64") if i in wrt else v
            for i, v in enumerate(operands)]  # fmt: skip
    way = {i: rng.uniform(0.3, 1, wide[i].shape) * rng.choice([-1, 1], wide[i].shape) for i in wrt}
    for i in wrt:
        if wide[i].dtype.kind == "c":
            way[i] = way[i] + 1j * rng.uniform(-1, 1, wide[i].shape)
    for i, g in zip(wrt, gradients):
        if g.shape != wide[i].shape:
            return f"the gradient of operand {i} has shape {g.shape}, the operand {wide[i].shape}"

    def cost(h: float) -> float:
        moved = [v + h * way[i] if i in way else v for i, v in enumerate(wide)]
        floats = [e for e in row.expected(moved, call.params) if e.dtype.kind in "fc"]
        return float(sum(np.real(np.conj(a.astype("complex128")) * e).sum() for a, e in zip(w, floats)))

    h = 1e-4
    at = [cost(k * h) for k in (-2, -1, 0, 1, 2)]
    slopes = np.diff(at) / h
    numeric = (8 * (at[3] - at[1]) - (at[4] - at[0])) / (12 * h)
    ours = float(sum(np.real(np.conj(g.astype("complex128")) * way[i]).sum() for i, g in zip(wrt, gradients)))
    if np.isnan(ours) and "std at zero" in row.differs:
        return None
    if (
        abs(numeric) > 1e-3 * max_of(gradients)
        or not np.all(np.isfinite(at))
        or np.ptp(slopes) > 3e-3 * (1 + abs(ours))
    ):
        return None  # a kink, a step or a pole, or no room for the derivative in its dtype
    size = 1 + abs(numeric) + largest(gradients) + abs(at[2])
    coarsest = max(ROUNDING[operands[i].dtype.name] for i in wrt)
    allowed = max(coarsest * 30, 1e-6) * max(row.loose**0.5, 1)
    if abs(ours - numeric) <= allowed * size:
        return None
    return f"the derivative along a direction is {ours:.6g}, finite differences give {numeric:.6g}"
