"""The ops of the matrix in the steps of loops, mapped over examples, in checkpoints and in branches, with gradients.

What they should give is what the op alone gives for one example after the other, without rules on the virtual machine.
`python -m tests.matrix --wrapped --seconds 60` runs a part of it.
"""

from __future__ import annotations

import random
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

import termgraph as tg
import termgraph.tensor as T
from termgraph.terms.dtypes import is_bfloat16, kind_of
from termgraph.terms.errors import GraphError

from . import rows  # noqa: F401  entered in the table
from .cells import REFUSALS
from .compare import differing
from .draw import Draw
from .table import ROWS, Row

EXAMPLES = 3
DTYPES = ("float64", "int64", "float32", "complex128", "bool", "uint8", "float16", "int32")
LAYOUTS = ("C", "C", "size 1", "empty")
PLAIN = tg.Mode(optimizer="None", linker="py")
OWN_LENGTH = "depends on the example"  # what `vmap` says of results that do not fit one array
LEFT_OUT = ("random.", "nnet.rrelu")  # draws give other numbers in each step


class Case(NamedTuple):
    """A row in one dtype and rank, with the operands of each example and what the op alone gives for them."""

    row: Row
    dtype: str
    rank: int
    variables: list
    operands: list[list]  # of each example
    params: dict
    expected: list[list[np.ndarray]]
    slopes: list[list[np.ndarray]]  # by the operands that are `smooth`; none where it has no gradient

    @property
    def arrays(self) -> list[int]:
        return [k for k, v in enumerate(self.operands[0]) if not sp.issparse(v)]

    @property
    def smooth(self) -> list[int]:
        return [k for k in self.arrays if kind_of(self.operands[0][k].dtype) in "fc"] if self.slopes else []

    def __str__(self) -> str:
        return f"{self.row.name}, {self.dtype}, rank {self.rank}"


def case(row: Row, dtype: str, rank: int, seed: int) -> Case | None:
    """A few examples of the same shapes; None where NumPy or the op alone refuses them, or shapes differ."""
    drawn, layout = [], random.Random(seed).choice(LAYOUTS)
    for k in range(EXAMPLES):
        c = Draw(dtype, rank, seed, values=k + 1, layout=layout, smooth=row.smooth)
        c.sizes = random.Random(seed)
        drawn.append(row.drawn(c))
    operands, params = [[o.value for o in found] for found, _ in drawn], drawn[0][1]
    shapes = {tuple(np.shape(v) for v in values) for values in operands}
    if len(shapes) > 1 or any(repr(p) != repr(params) for _, p in drawn):
        return None
    variables = [variable(o.value, o.known) for o in drawn[0][0]]
    made = Case(row, dtype, rank, variables, operands, params, [], [])
    try:
        row.expected(operands[0], params)
        expected, slopes = alone(made, operands)
    except REFUSALS:
        return None
    return made._replace(expected=expected, slopes=slopes)


def variable(value: Any, known: Sequence) -> Any:
    if sp.issparse(value):
        return tg.sparse.matrix(value.format, dtype=value.dtype)
    return T.tensor(dtype=value.dtype.name, shape=known)


def alone(case: Case, operands: list[list]) -> tuple[list, list]:
    """What the op gives for each of the operands, and the slopes of its cost by those that are floats."""
    outputs = outputs_of(case, case.variables)
    wrt = [case.variables[k] for k in case.arrays if kind_of(case.operands[0][k].dtype) in "fc"]
    f = tg.function(case.variables, outputs, mode=PLAIN, on_unused_input="ignore")
    expected, cost = [f(*v) for v in operands], cost_of(outputs)
    if not case.row.smooth or not wrt or cost is None:
        return expected, []
    slopes = tg.grad(cost, wrt, disconnected_inputs="ignore")
    g = tg.function(case.variables, slopes, mode=PLAIN, on_unused_input="ignore")
    return expected, [g(*v) for v in operands]


def outputs_of(case: Case, operands: Sequence) -> list:
    found = case.row.ours(*operands, **case.params)
    found = list(found) if isinstance(found, (list, tuple)) else [found]
    return [o if hasattr(o, "term") else T.as_tensor(o) for o in found]


def cost_of(outputs: Sequence) -> Any:
    """A number that all elements of floats go into, each with a weight of its own; None where there are none."""
    total: Any = None
    for k, o in enumerate(outputs):
        if hasattr(o.type, "format") or o.type.kind not in "fc":
            continue
        w = T.cos(T.arange(o.size) * 0.7 + k).reshape(o.shape)
        part = (T.real(o).astype("float64") * w).sum()
        part = part + (T.imag(o) * T.sin(w)).sum() if o.type.kind == "c" else part
        total = part if total is None else total + part
    return total


# ---------------------------------------------------------------------- the wraps
class Given(NamedTuple):
    """What a wrap has: `what` makes results of operands; of these some are stacked examples, the others shared."""

    what: Callable[[Sequence], list]
    stacked: dict[int, Any]
    shared: dict[int, Any]
    zero: Any
    count: int  # of results

    def results(self, examples: Sequence) -> list:
        here = {**self.shared, **dict(zip(self.stacked, examples, strict=True))}
        return self.what([here[k] for k in range(len(here))])


def moved(x: Any, zero: Any) -> Any:
    """The operand, in a way that keeps what is made of it in its loop."""
    return T.xor(x, T.neq(zero, 0)) if x.type.kind == "b" else x + T.cast(zero, x.type.dtype)


def steps(given: Given) -> list:
    """One example in each step of a loop; the operands need what the step before left."""

    def step(*args: Any) -> list:
        *examples, zero = args
        return [*given.results([moved(x, zero) for x in examples]), zero * 2]

    info = [*[None] * given.count, given.zero]
    found, _ = tg.scan(step, sequences=list(given.stacked.values()), outputs_info=info, return_list=True)
    return found[:-1]


def mapped(given: Given) -> list:
    """The examples lie along the first dimensions, or the last."""
    last = [x.type.ndim > 1 and x.type.ndim % 2 == 1 for x in given.stacked.values()]
    turned = [T.moveaxis(x, 0, -1) if far else x for x, far in zip(given.stacked.values(), last)]
    return list(tg.vmap(lambda *x: given.results(x), tuple(-1 if far else 0 for far in last))(*turned))


def map_of_steps(given: Given) -> list:
    """Each example in a loop of one step of its own."""

    def one(*examples: Any) -> list:
        alone = given._replace(stacked={k: x[None] for k, x in zip(given.stacked, examples)})
        return [o[0] for o in steps(alone)]

    return list(tg.vmap(one)(*given.stacked.values()))


def steps_of_maps(given: Given) -> list:
    """All examples in each of two steps."""

    def step(*args: Any) -> list:
        *stacks, zero = args
        here = given._replace(stacked={k: moved(x, zero) for k, x in zip(given.stacked, stacks)})
        return [*mapped(here), zero * 2]

    info = [*[None] * given.count, given.zero]
    twice = [T.stack([x, x]) for x in given.stacked.values()]
    found, _ = tg.scan(step, sequences=twice, outputs_info=info, return_list=True)
    return [o[1] for o in found[:-1]]


def in_checkpoints(given: Given) -> list:
    """Each example by itself."""
    found = []
    for i in range(EXAMPLES):
        results = tg.checkpoint(lambda *x: given.results(x))(*[x[i] for x in given.stacked.values()])
        found.append(results if isinstance(results, (list, tuple)) else [results])
    return [T.stack(list(column)) for column in zip(*found)]


def in_branches(given: Given) -> list:
    """In the steps of a loop, in a branch that is taken."""

    def chosen(operands: Sequence) -> list:
        found = given.what(operands)
        taken = tg.ifelse(T.eq(given.zero, 0), found, [T.zeros_like(o) for o in found])
        return list(taken) if isinstance(taken, (list, tuple)) else [taken]

    return steps(given._replace(what=chosen))


SLOPES = "slopes "  # how names of wraps begin inside of which the gradient is taken
WRAPS = {
    "in steps": steps,
    "mapped": mapped,
    "some operands mapped": mapped,
    "in checkpoints": in_checkpoints,
    "in branches": in_branches,
    "map of steps": map_of_steps,
    "steps of maps": steps_of_maps,
    SLOPES + "in steps": steps,
    SLOPES + "mapped": mapped,
}


# ---------------------------------------------------------------------- a case in a wrap
class Wrapped(NamedTuple):
    """A case in a wrap: what goes into a program, and what should come out."""

    case: Case
    wrap: str
    inputs: list
    values: list
    outputs: list
    expected: list

    def __str__(self) -> str:
        return f"{self.case}, {self.wrap}"

    def disagreement(self, results: Sequence) -> str | None:
        """What differs, in words."""
        row = replace(self.case.row, loose=self.case.row.loose * 10, scaled=True)
        operands = [v for v in self.values[:-1] if isinstance(v, np.ndarray)]
        for k, (got, wanted) in enumerate(zip(results, self.expected, strict=True)):
            slope = k >= len(self.case.expected[0])
            what = "a gradient" if slope else f"result {k}"
            if got.shape != wanted.shape or got.dtype != wanted.dtype:
                return f"{what} is {got.dtype}{got.shape} instead of {wanted.dtype}{wanted.shape}"
            if is_bfloat16(got.dtype):
                got, wanted = got.astype(np.float32), wanted.astype(np.float32)
            with np.errstate(all="ignore"):
                bad = differing(row, operands, got, wanted, signs=False)
            bad &= np.isfinite(wanted) | (not slope)  # what has no slope alone need have none
            if bad.any():
                at = tuple(int(i) for i in np.argwhere(bad)[0])
                return f"{what} is {got[at]!r} instead of {wanted[at]!r} at {at}; {int(bad.sum())} of {bad.size} differ"
        return None


class Refused(Exception):
    """Results of the examples do not fit one array, or there is nothing to wrap."""


def wrapped(case: Case, wrap: str) -> Wrapped:
    some = case.arrays
    if wrap.startswith("some"):
        some = [k for k in some if random.Random(f"{case} {k}").random() < 0.5] or some[:1]
    inside, smooth = wrap.startswith(SLOPES), [k for k in case.smooth if k in some]
    if not some or (inside and not smooth):
        raise Refused
    stacked, shared, values = {}, {}, []
    for k, (old, first) in enumerate(zip(case.variables, case.operands[0], strict=True)):
        if k in some:
            stacked[k] = T.tensor(dtype=first.dtype.name, shape=(None, *old.type.shape))
            values.append(lying_otherwise(np.stack([v[k] for v in case.operands])))
        else:
            shared[k] = variable(first, () if sp.issparse(first) else old.type.shape)
            values.append(first)
    expected, slopes = case.expected, case.slopes
    if shared:
        first_of = [[v[k] if k in some else case.operands[0][k] for k in range(len(v))] for v in case.operands]
        expected, slopes = alone(case, first_of)
    ragged = len({tuple(o.shape for o in found) for found in expected}) > 1 or any(map(sp.issparse, expected[0]))
    zero = T.lscalar("zero")
    given = Given(lambda operands: results_of(case, operands, smooth if inside else []), stacked, shared, zero,
                  len(expected[0]) + len(smooth) * inside)  # fmt: skip
    try:
        outputs = WRAPS[wrap](given)
    except GraphError as error:
        if ragged or OWN_LENGTH in str(error):
            raise Refused from None
        raise
    if ragged:
        raise Refused
    if smooth and not inside:
        cost = sum(cost_of([o[i] for o in outputs]) for i in range(EXAMPLES))
        outputs += tg.grad(cost, [stacked[k] for k in smooth], disconnected_inputs="ignore")
    wanted = [np.stack(column) for column in zip(*expected)]
    wanted += [np.stack([s[case.smooth.index(k)] for s in slopes]) for k in smooth]
    inputs = [{**stacked, **shared}[k] for k in range(len(values))]
    return Wrapped(case, wrap, [*inputs, zero], [*values, 0], outputs, wanted)


def results_of(case: Case, operands: Sequence, smooth: Sequence[int]) -> list:
    outputs = outputs_of(case, operands)
    wrt = [operands[k] for k in smooth]
    return [*outputs, *(tg.grad(cost_of(outputs), wrt, disconnected_inputs="ignore") if wrt else [])]


def lying_otherwise(v: np.ndarray) -> np.ndarray:
    """The same values, the last of which lie first in memory."""
    back = tuple(slice(None, None, -1) for _ in v.shape)
    return v[back].copy()[back]


# ---------------------------------------------------------------------- many
@dataclass
class Report:
    """How many programs ran, how many cases have no such program, which rows had no examples, and what is wrong."""

    seed: int
    ran: int = 0
    refused: int = 0
    skipped: list[str] = field(default_factory=list)
    wrong: list[tuple[str, str]] = field(default_factory=list)

    def __str__(self) -> str:
        head = f"seed {self.seed}: {self.ran} ran, {self.refused} refused, {len(self.wrong)} wrong"
        return "\n".join([head, f"no examples: {', '.join(self.skipped)}", *[f"  {a}: {b}" for a, b in self.wrong]])


def cases(seed: int, only: str = "") -> Iterator[tuple[str, Case | None]]:
    """Each row in a dtype and rank that are drawn; later again in others, without end."""
    rng = random.Random(seed)
    some = [r for r in ROWS.values() if r.name.startswith(only) and not r.name.startswith(LEFT_OUT)]
    while some:
        rng.shuffle(some)
        for row in some:
            found = None
            for _ in range(8):
                dtype = rng.choice([d for d in DTYPES if d in row.dtypes] or list(row.dtypes))
                rank = rng.choice([r for r in row.ranks if r < 4] or list(row.ranks))
                found = found or case(row, dtype, rank, rng.randrange(10**6))
            yield row.name, found


def run(seconds: float, seed: int, only: str = "", limit: int = 10**9, together: int = 1,
        mode: tg.Mode | str = "FAST_RUN") -> Report:  # fmt: skip
    """Cases in every wrap until the time is up or `limit` of them are done, several programs in one."""
    report, end, waiting = Report(seed), time.monotonic() + seconds, []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for k, (name, found) in enumerate(cases(seed, only)):
            if k == limit or time.monotonic() > end:
                break
            if found is None:
                report.skipped.append(name)
                continue
            for wrap in WRAPS:
                try:
                    waiting.append(wrapped(found, wrap))
                except Refused:
                    report.refused += 1
                except Exception as error:
                    report.wrong.append((f"{found}, {wrap}", f"{type(error).__name__}: {str(error)[:300]}"))
            if len(waiting) >= together:
                divide(waiting, mode, report)
                waiting = []
        divide(waiting, mode, report)
    return report


def divide(programs: list[Wrapped], mode: Any, report: Report) -> None:
    """Several programs in one; if that raises, in halves."""
    if not programs:
        return
    inputs, outputs = [v for p in programs for v in p.inputs], [o for p in programs for o in p.outputs]
    try:
        results = tg.function(inputs, outputs, mode=mode, on_unused_input="ignore")(
            *[v for p in programs for v in p.values]
        )
    except Exception as error:
        if len(programs) > 1:
            divide(programs[: len(programs) // 2], mode, report)
            divide(programs[len(programs) // 2 :], mode, report)
        else:
            report.wrong.append((str(programs[0]), f"{type(error).__name__}: {str(error)[:300]}"))
        return
    for p in programs:
        mine, results = results[: len(p.outputs)], results[len(p.outputs) :]
        report.ran += 1
        wrong = p.disagreement(mine)
        if wrong:
            report.wrong.append((str(p), wrong))
