"""Gradients of random programs against differences of their costs, along a random direction through all inputs.

The derivative is taken from three steps, each half of the last. Where these do not come closer to each other, or the
two sides do not agree, the cost has a kink or a jump there, and nothing is compared.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

import termgraph as tg
import termgraph.tensor as T
from termgraph.terms.errors import GradNotImplementedError, NullTypeGradError
from termgraph.terms.evaluate import evaluate

from .judge import MODES, REFERENCE, mode_of
from .programs import Program, Variable, grow, noisy
from .shrink import shrunk, trimmed

COSTS = ("T.sum({0})", "T.sum(T.sin({0}))", "T.mean(T.sqr({0}))")
STEP = 4e-4
UNDEFINED = (NullTypeGradError, GradNotImplementedError)
GRADIENT_MODES = ("FAST_RUN, VM", "STRICT, VM")
DTYPES = (("float64",), ("float64", "float64", "float64", "int64", "bool", "complex128"))


class Slope(NamedTuple):
    """What differences say: the derivative of the cost along a direction, and how far it may be off."""

    direction: dict[str, np.ndarray]
    value: float
    error: float


@dataclass
class Gradients:
    """How many gradients were compared, and what failed."""

    seed: int
    ran: int = 0
    judged: int = 0
    zero: int = 0
    nan: int = 0
    refused: int = 0
    failures: list[tuple[int, str, str, Program]] = field(default_factory=list)  # seed, mode, what, program

    def __str__(self) -> str:
        return (
            f"seed {self.seed}: {self.ran} gradients of random programs, {self.judged} compared with differences "
            f"({self.zero} of them zero, {self.nan} NaN), "
            f"{self.refused} of ops without a derivative, {len(self.failures)} failed"
        )


def fuzz_gradients(
    seconds: float,
    seed: int,
    modes: tuple[str, ...] = GRADIENT_MODES,
    limit: int = 10**9,
    batch: int = 24,
    say: Callable[[str], None] = lambda text: None,
    most: int = 20,
) -> Gradients:
    """Gradients from a seed on, until the time is up, `limit` are done, or `most` failures are found."""
    report, end, next_one = Gradients(seed), time.monotonic() + seconds, 0
    while time.monotonic() < end and next_one < limit and len(report.failures) < most:
        first, count = seed * 1_000_000 + next_one, min(batch, limit - next_one)
        next_one += count
        programs = [(s, p) for s in range(first, first + count) if (p := with_cost(s)) is not None]
        mode = modes[next_one // batch % len(modes)]
        before = len(report.failures)
        _try_all([(s, p, slope(p, s)) for s, p in programs], mode, report)
        for _, mode, what, program in report.failures[before:]:
            say(f"\n# gradient {_}, {mode}: {what}\n{printed(program).source((REFERENCE, MODES[mode]))}")
    return report


# ---------------------------------------------------------------------- programs with a cost
def with_cost(seed: int) -> Program | None:
    """The program of a seed, with a cost of its last value that is a float; None if it has none."""
    program = grow(seed, 2 + seed % 6, dtypes=DTYPES)
    smooth = [v for v in program.variables if v.text and v.kind in "fc" and v.value.size]
    if not smooth or any(v.dtype in ("float32", "float16", "bfloat16", "complex64") for v in program.variables):
        return None  # differences of short floats say little
    last = smooth[-1]
    of = f"T.abs({last.name})" if last.kind == "c" else last.name
    name = f"v{len(program.variables)}"
    cost = Variable(name, np.asarray(0.0), COSTS[seed % len(COSTS)].format(of))
    return trimmed(Program([*program.variables, cost], [name]))


def _points(program: Program) -> list[Variable]:
    return [v for v in program.inputs if v.dtype == "float64"]


def slope(program: Program, seed: int = 0, step: float = STEP) -> Slope | None:
    """The derivative along a random direction; None where differences do not tell."""
    rng = np.random.default_rng(seed)
    direction = {v.name: rng.normal(size=v.shape) for v in _points(program)}
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            made = program.build()
            cost = made[program.outputs[0]]
            if cost.ndim or cost.dtype != "float64":
                return None
            at = {h: _value(program, cost, direction, h) for k in (0, 1, 2) for h in (step / 2**k, -step / 2**k)}
            here = _value(program, cost, direction, 0.0)
            rounding = max(abs(float(noisy(program, k)[program.outputs[0]]) - here) for k in range(2))
    except Exception:
        return None  # no value there: a length that follows from the numbers, say
    if not np.isfinite([here, rounding, *at.values()]).all():
        return None
    return _told(direction, here, at, rounding + 1e-16 * abs(here), step)


def _told(
    direction: dict[str, np.ndarray], here: float, at: dict[float, float], rounding: float, step: float
) -> Slope | None:
    """What the values near a point say of the derivative there."""
    steps = [step / 2**k for k in range(3)]
    central = [(at[h] - at[-h]) / (2 * h) for h in steps]
    sides = [abs(at[h] - 2 * here + at[-h]) / h for h in steps]  # halves with h, but not at a kink
    noise = 30 * rounding / steps[-1]
    better, best = ((4 * b - a) / 3 for a, b in zip(central, central[1:]))
    error = 10 * abs(best - better) + noise + 1e-7 * abs(best)
    kink = sides[2] > 0.7 * sides[1] + noise and sides[2] > noise
    if kink or not error <= 1e-2 * max(abs(best), 1e-3):
        return None
    return Slope(direction, best, error + 1e-9)


def _value(program: Program, cost: object, direction: dict[str, np.ndarray], h: float) -> float:
    moved = {name: h * d for name, d in direction.items()}
    given = {v.symbolic.term: v.value + moved[v.name] if v.name in moved else v.value for v in program.inputs}
    for leaf in T.graph_inputs([cost]):
        if hasattr(leaf, "get_value"):
            given[leaf.term] = leaf.get_value()
    return float(evaluate([cost.term], given)[0])  # type: ignore[attr-defined]


# ---------------------------------------------------------------------- comparing
def derivatives(programs: list[Program], mode: str) -> list[list[np.ndarray]]:
    """The gradients of each program by its float64 inputs, computed by one function."""
    inputs, outputs, counts = [], [], []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for p in programs:
            made = p.build()
            wrt = [made[v.name] for v in _points(p)]
            inputs += [made[v.name] for v in p.inputs]
            outputs += tg.grad(made[p.outputs[0]], wrt, disconnected_inputs="ignore")
            counts.append(len(wrt))
        f = tg.function(inputs, outputs, mode=mode_of(mode), on_unused_input="ignore")
        found = iter(f(*[v.value for p in programs for v in p.inputs]))
    return [[np.asarray(next(found)) for _ in range(n)] for n in counts]


def wrong(program: Program, found: list[np.ndarray], told: Slope) -> str | None:
    """What is wrong with gradients, in words."""
    terms = [g * told.direction[v.name] for v, g in zip(_points(program), found)]
    along = float(sum(t.sum() for t in terms))
    size = sum(float(np.abs(t).sum()) for t in terms)
    if abs(along - told.value) <= told.error + 1e-9 * size:
        return None
    return f"the derivative is {along!r}, by differences {told.value!r} +- {told.error:.1g}"


def check(program: Program, mode: str) -> str | None:
    """What is wrong with the gradients of one program, in words."""
    told = slope(program) if len(program.outputs) == 1 else None
    nearer = slope(program, step=STEP / 50) if told else None
    if told is None or nearer is None or abs(told.value - nearer.value) > told.error + nearer.error:
        return None  # a jump that three steps did not show: x % y of a small y has thousands
    try:
        (found,) = derivatives([program], mode)
    except UNDEFINED:
        return None
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:300]
    what = wrong(program, found, told)
    if what and mode != REFERENCE and _is_nan(found) and _is_nan(derivatives([program], REFERENCE)[0]):
        return None  # without any rules too: the cube root of x - x, or what else has no slope where it stands
    return what


def _is_nan(found: list[np.ndarray]) -> bool:
    return any(np.isnan(g).any() for g in found)


def _try_all(programs: list[tuple[int, Program, Slope | None]], mode: str, report: Gradients) -> None:
    """Programs in one function; if it raises, in halves; one that fails is shrunk."""
    if not programs:
        return
    try:
        found = derivatives([p for _, p, _ in programs], mode)
    except Exception as error:
        if len(programs) > 1:
            middle = len(programs) // 2
            _try_all(programs[:middle], mode, report)
            _try_all(programs[middle:], mode, report)
            return
        report.refused += isinstance(error, UNDEFINED)
        found = [None]  # type: ignore[list-item]
    for (seed, program, told), gradients in zip(programs, found):
        report.ran += gradients is not None
        report.judged += gradients is not None and told is not None
        report.nan += gradients is not None and told is not None and _is_nan(gradients)
        report.zero += gradients is not None and told is not None and not any(np.any(g) for g in gradients)
        if (
            told is not None
            and (gradients is None or wrong(program, gradients, told))
            and (what := check(program, mode))
        ):
            kind = what.partition(":")[0]
            small = shrunk(
                program, lambda p, k=kind: no_ties(p) and (check(p, mode) or "").startswith(k.split(" is ")[0])
            )
            report.failures.append((seed, mode, check(small, mode) or what, small))


def no_ties(program: Program) -> bool:
    """Whether no two numbers are equal: a median of ones has a kink that no line through them shows."""
    numbers = [v.value.ravel() for v in _points(program)]
    every = np.concatenate(numbers) if numbers else np.zeros(0)
    return len(np.unique(every)) == every.size


def printed(program: Program) -> Program:
    """The program with its gradients as results, to be printed."""
    cost = program.outputs[0]
    text = [f"tg.grad({cost}, {v.name}, disconnected_inputs='ignore')" for v in _points(program)]
    made = [Variable(f"g{i}", np.zeros(()), t) for i, t in enumerate(text)]
    return Program([*map(replace, program.variables), *made], [cost, *[v.name for v in made]])


__all__ = ["GRADIENT_MODES", "Gradients", "check", "fuzz_gradients", "printed", "slope", "with_cost"]
