"""`scan` with Theano's signature, translated to the loop op: taps become slices of sequences and chains of carries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from termgraph._arguments import named
from termgraph.loops.arguments import LoopArguments, OutputInfo, SequenceInfo, check_name, output_infos, sequence_infos
from termgraph.loops.carries import Carry
from termgraph.loops.close_body import Traced, close, walk
from termgraph.loops.step_results import sort_returned
from termgraph.loops.steps import Until, call_step, scalar_condition, shortest, steps_variable
from termgraph.tensor.sharedvar import is_shared, label
from termgraph.tensor.streams import advanced, loops_in
from termgraph.tensor.testvalues import stand_in
from termgraph.tensor.updates import OrderedUpdates
from termgraph.tensor.variable import Constant, TensorVariable, Variable
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.errors import MissingInputError
from termgraph.terms.op import INPUT
from termgraph.terms.traverse import children_first_until


@named
def scan(
    fn: Callable,
    sequences: LoopArguments | None = None,
    outputs_info: LoopArguments | None = None,
    non_sequences: LoopArguments | None = None,
    n_steps: Any = None,
    truncate_gradient: int = -1,
    go_backwards: bool = False,
    mode: object = None,
    name: str | None = None,
    profile: bool | str = False,
    allow_gc: bool | None = None,
    strict: bool = False,
    return_list: bool = False,
) -> tuple[Any, OrderedUpdates]:
    """Call `fn` for each step of a loop; gives `(outputs, updates)`, each output stacked over the steps.

    `fn` gets, in this order: for each of the `sequences` its row at this step (one per tap), for each of the
    `outputs_info` with an initial value its results of earlier steps (one per tap), then the `non_sequences`. It
    returns the outputs, or a dictionary of updates of shared variables, or both; `tg.until(condition)` as last item
    ends the loop after this step.

    sequences: arrays, or `dict(input=x, taps=[-1, 0])`. outputs_info: per output an initial value, None (not fed
    back), or `dict(initial=x, taps=[-2, -1])`, where `initial` holds as many rows as the oldest tap goes back. n_steps:
    an integer or integer scalar; None for as many as the sequences have. truncate_gradient: how many steps the gradient
    goes back. go_backwards: take the sequences from their ends. strict: refuse variables from outside that are not in
    `non_sequences`. return_list: a list also for a single output. `updates` must be given to `tg.function` if `fn`
    updates shared variables. mode, profile and allow_gc are accepted for old programs: a loop is compiled, profiled and
    freed as its function is.

    >>> import termgraph as tg, termgraph.tensor as T
    >>> A, k = T.dvector("A"), T.lscalar("k")
    >>> powers, updates = tg.scan(lambda p, A: p * A, outputs_info=T.ones_like(A), non_sequences=A, n_steps=k)
    >>> tg.function([A, k], powers[-1], updates=updates)([2.0, 3.0], 3)
    array([ 8., 27.])
    """
    _, outputs, updates = run_scan(
        fn, sequences, outputs_info, non_sequences, n_steps, truncate_gradient, go_backwards, name, strict
    )
    if not outputs:
        return ([] if return_list else None), updates
    return (outputs if return_list or len(outputs) > 1 else outputs[0]), updates


class Scanned(NamedTuple):
    """What a scan gives: per output its final value (None if it is not fed back) and its rows; the updates."""

    finals: list[Any]
    outputs: list[Any]
    updates: OrderedUpdates


def run_scan(
    fn: Callable,
    sequences: LoopArguments | None = None,
    outputs_info: LoopArguments | None = None,
    non_sequences: LoopArguments | None = None,
    n_steps: Any = None,
    truncate_gradient: int = -1,
    go_backwards: bool = False,
    name: str | None = None,
    strict: bool = False,
    stacked: bool = True,
) -> Scanned:
    """`scan` with all that its loop gives, always in lists; without `stacked` no steps of what is fed back."""
    check_name(name, truncate_gradient)
    seqs, outs = sequence_infos(sequences, go_backwards), output_infos(outputs_info)
    given = variables_in(non_sequences)
    n = steps_variable(n_steps, shortest([n for s in seqs for n in s.steps()]), "n_steps")
    for _ in range(1 + len(outs)):
        call = _Call(seqs, outs)
        returned = call_step(fn, (*call.arguments(), *given), {}, "scan")
        values, updates, stop = sort_returned(fn, returned, len(outs) or None)
        outs = outs or [OutputInfo.unfed(i) for i in range(len(values))]
        fed = call.take(values, outs)
        changed = [c.adapt() for c in fed]
        if not any(changed):
            break
        for o, registers in zip(outs, call.registers):
            o.adapted(registers)
    updates = _with_default_updates(values, updates, stop, given)
    carried = [_shared_carry(v, new) for v, new in updates.items()]
    condition = None if stop is None else scalar_condition(stop)
    newest = [sum(map(len, call.registers[:i])) if r else None for i, r in enumerate(call.registers)]
    newest += [None] * (len(values) - len(newest))
    rows = [v for v, j in zip(values, newest) if stacked or j is None]
    traced = Traced([*[c for r in call.registers for c in r], *carried], call.rows, rows, condition)
    if strict:
        _refuse_unlisted(traced, given)
    params = {"name": name, "truncate": int(truncate_gradient)}
    results = close(traced, n, fn, **params)
    k = len(traced.carries)
    final = results[k - len(carried) : k]
    made = iter(results[k : k + len(rows)])
    outputs = [next(made) if stacked or j is None else None for j in newest]
    changed = OrderedUpdates(zip(updates, final))
    return Scanned([None if j is None else results[j] for j in newest], outputs, changed)


class _Call:
    """One call of the step function: fresh leaves for rows and for results of earlier steps."""

    def __init__(self, seqs: Sequence[SequenceInfo], outs: Sequence[OutputInfo]) -> None:
        self.seqs, self.outs = seqs, outs
        self.rows: list[tuple[Variable, Variable]] = []
        for s in seqs:
            for tap, x in zip(s.taps, s.slices):
                row_type = x.type.clone(shape=x.type.shape[1:])
                self.rows.append((stand_in(row_type.make_variable(s.label(tap)), x, 0), x))
        self.registers = [o.registers([s.input for s in seqs]) for o in outs]

    def arguments(self) -> list[Variable]:
        """What the step function gets before the non_sequences."""
        earlier = [registers[-tap - 1].leaf for o, registers in zip(self.outs, self.registers) for tap in o.taps]
        return [*[leaf for leaf, _ in self.rows], *earlier]

    def take(self, values: Sequence[Variable], outs: Sequence[OutputInfo]) -> list[Carry]:
        """Chain the registers: the newest takes the new value, each older one what the one before it held."""
        newest = []
        for i, registers in enumerate(self.registers):
            for older, younger in zip(registers[1:], registers):
                older.take(younger.leaf)
            if registers:
                registers[0].take(values[i])
                values[i] = registers[0].new  # type: ignore[index]
                newest.append(registers[0])
        return newest


def variables_in(value: Any) -> list[Any]:
    """None, one value or a list of them as a list of variables."""
    if value is None:
        return []
    items = list(value) if isinstance(value, (list, tuple)) else [value]
    return [v if isinstance(v, Variable) else as_tensor(v) for v in items]


# ---------------------------------------------------------------------- shared variables
def _with_default_updates(
    values: Sequence[Any], updates: Mapping, stop: Until | None, given: Sequence[Any]
) -> dict[Any, Any]:
    """The updates, with the default updates of shared variables (random streams) that the step uses.

    What was computed outside and is given in non_sequences stays as it is.
    """
    outside = {id(v.term): v for v in given if v.owner is not None}
    updates = dict(updates)
    searched = [*values, *updates.values(), *([stop.condition] if stop is not None else [])]
    while searched:
        leaves = [t.shared for t in children_first_until([v.term for v in searched], outside) if t.op is INPUT]
        random = [v for v in leaves if v is not None and v.default_update is not None]
        loops = loops_in(searched) if random else []
        new = {v: advanced(v, loops) for v in random if v not in updates}
        updates.update(new)
        searched = list(new.values())
    return updates


def _shared_carry(variable: TensorVariable, new: TensorVariable) -> Carry:
    """A shared variable that the step updates: the step sees it as it is at this step."""
    carry = Carry(f"the update of {label(variable)}", variable, variable.name)
    carry.leaf = variable
    carry.take(new)
    return carry


def _refuse_unlisted(traced: Traced, given: Sequence[Variable]) -> None:
    """With strict=True: an error that lists every outer variable the step uses without getting it as an argument."""
    known = {v.term for v in (*given, *traced.leaves)}
    missing = {}
    for v in walk(traced.roots, lambda v: v.term in known):
        if v.owner is None and not isinstance(v, Constant) and v.term not in known:
            missing[v.term] = v
    if missing:
        shown = ", ".join(label(v) if is_shared(v) else (v.name or f"<{v.type}>") for v in missing.values())
        raise MissingInputError(
            f"scan(strict=True): the step function uses variables that are not in non_sequences: {shown}. Add them to "
            "non_sequences (and to the step's arguments), or pass strict=False"
        )
