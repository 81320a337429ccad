"""`map`, `reduce`, `foldl`, `foldr` and `scan_checkpoints`: loops with simpler signatures, made of scan and loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from termgraph.loops.arguments import LoopArguments, output_infos, sequence_infos
from termgraph.loops.loop import loop
from termgraph.loops.scan import run_scan, scan, variables_in
from termgraph.loops.step_results import sort_returned
from termgraph.loops.steps import call_step, common_length, steps_variable
from termgraph.tensor.joining import concatenate
from termgraph.tensor.updates import OrderedUpdates
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.ops.elementwise import cast, ceil, maximum, sqrt

if TYPE_CHECKING:
    from termgraph.tensor.likes import TensorLike
    from termgraph.tensor.variable import TensorVariable


def map(
    fn: Callable,
    sequences: LoopArguments,
    non_sequences: LoopArguments | None = None,
    truncate_gradient: int = -1,
    go_backwards: bool = False,
    mode: object = None,
    name: str | None = None,
) -> tuple[Any, OrderedUpdates]:
    """Apply `fn` to each row of the sequences: a scan whose steps do not depend on each other.

    >>> import termgraph as tg, termgraph.tensor as T
    >>> x = T.dvector("x")
    >>> squares, updates = tg.map(lambda item: item ** 2, x)
    >>> tg.function([x], squares)([1.0, 2.0, 3.0])
    array([1., 4., 9.])
    """
    return scan(
        fn, sequences=sequences, non_sequences=non_sequences, truncate_gradient=truncate_gradient,
        go_backwards=go_backwards, mode=mode, name=name,
    )  # fmt: skip


def reduce(
    fn: Callable,
    sequences: LoopArguments,
    outputs_info: LoopArguments,
    non_sequences: LoopArguments | None = None,
    go_backwards: bool = False,
    mode: object = None,
    name: str | None = None,
) -> tuple[Any, OrderedUpdates]:
    """The last value of a scan: `fn(row, value_so_far)` for each row, starting from `outputs_info`.

    >>> import termgraph as tg, termgraph.tensor as T
    >>> x = T.dvector("x")
    >>> product, updates = tg.reduce(lambda item, so_far: so_far * item, x, 1.0)
    >>> float(tg.function([x], product)([2.0, 3.0, 4.0]))
    24.0
    """
    finals, outputs, updates = run_scan(
        fn, sequences=sequences, outputs_info=outputs_info, non_sequences=non_sequences, go_backwards=go_backwards,
        name=name, stacked=False,
    )  # fmt: skip
    last = [y[-1] if final is None else final for final, y in zip(finals, outputs)]
    return (last[0] if len(last) == 1 else last), updates


def foldl(
    fn: Callable,
    sequences: LoopArguments,
    outputs_info: LoopArguments,
    non_sequences: LoopArguments | None = None,
    mode: object = None,
    name: str | None = None,
) -> tuple[Any, OrderedUpdates]:
    """`reduce` from the first row to the last."""
    return reduce(fn, sequences, outputs_info, non_sequences, go_backwards=False, mode=mode, name=name)


def foldr(
    fn: Callable,
    sequences: LoopArguments,
    outputs_info: LoopArguments,
    non_sequences: LoopArguments | None = None,
    mode: object = None,
    name: str | None = None,
) -> tuple[Any, OrderedUpdates]:
    """`reduce` from the last row to the first."""
    return reduce(fn, sequences, outputs_info, non_sequences, go_backwards=True, mode=mode, name=name)


# ---------------------------------------------------------------------- checkpoints
def scan_checkpoints(
    fn: Callable,
    sequences: LoopArguments | None = None,
    outputs_info: LoopArguments | None = None,
    non_sequences: LoopArguments | None = None,
    name: str | None = "checkpoints",
    n_steps: TensorLike | None = None,
    save_every_N: int | str = "sqrt",
    padding: bool = True,
) -> tuple[Any, OrderedUpdates]:
    """A scan that keeps only every N-th step; its gradient computes the steps between again. Saves memory.

    Row i of an output is its value after `(i + 1) * N` steps, the last row that after the last step. By default N is
    the square root of the number of steps, which needs the least memory of all. The number of steps need not be a
    multiple of N (`padding` is accepted for old programs). Outputs may look one step back only; no updates.

    >>> import termgraph as tg, termgraph.tensor as T
    >>> x = T.dvector("x")
    >>> sums, updates = tg.scan_checkpoints(lambda item, total: total + item, x, 0.0, save_every_N=2)
    >>> tg.function([x], sums)([1.0, 2.0, 3.0, 4.0, 5.0])
    array([ 3., 10., 15.])
    """
    seqs, outs = sequence_infos(sequences, False), output_infos(outputs_info)
    if any(s.taps != [0] for s in seqs) or any(o.taps not in ([], [-1]) for o in outs):
        raise ValueError("scan_checkpoints: sequences have no taps and outputs look one step back only; use scan")
    given = variables_in(non_sequences)
    xs = [s.input for s in seqs]
    n = steps_variable(n_steps, common_length([(s.label(0), s.input) for s in seqs]), "n_steps")
    every = _chunk_length(n, save_every_N)
    step = _Step(fn, outs, given)
    start = [o.initial for o in outs if o.taps]
    chunks = n // every
    whole = chunks * every
    parts = [x[:whole].reshape((chunks, every, *[x.shape[i] for i in range(1, x.type.ndim)])) for x in xs]

    def chunk(carry: Any, rows: Any) -> tuple:
        return step.run(carry, rows, every, name)

    carry, kept = loop(chunk, start, parts or None, length=chunks, name=name, recompute=True)
    _, last = step.run(carry, [x[whole:n] for x in xs], n - whole, name)
    some = (n > whole).astype("int64")
    outputs = [_append(rows, row, some) for rows, row in zip(kept, last)]
    return (outputs[0] if len(outputs) == 1 else outputs), OrderedUpdates()


class _Step:
    """The user's step function as the body of `loop`."""

    def __init__(self, fn: Callable, outs: Sequence[Any], given: Sequence[Any]) -> None:
        self.fn, self.outs, self.given = fn, outs, given

    def __call__(self, carry: Any, rows: Any) -> tuple:
        returned = call_step(self.fn, [*(rows or []), *carry, *self.given], {}, "scan_checkpoints")
        values, updates, stop = sort_returned(self.fn, returned, len(self.outs) or None)
        if updates or stop is not None:
            raise ValueError("scan_checkpoints: the step must not return updates or until(); use scan")
        fed = [v for v, o in zip(values, self.outs) if o.taps]
        return fed, [v for i, v in enumerate(values) if i >= len(self.outs) or not self.outs[i].taps]

    def run(self, carry: Any, rows: Any, n: TensorLike, name: str | None) -> tuple:
        """The carry and the outputs after n steps."""
        final, unfed = loop(self, list(carry), rows or None, length=n, name=name)
        values, rest = iter(final), iter([y[-1:] for y in unfed])
        count = max(len(self.outs), len(final) + len(unfed))
        fed = [i < len(self.outs) and bool(self.outs[i].taps) for i in range(count)]
        return final, [_row(next(values)) if f else next(rest) for f in fed]


def _row(v: TensorVariable) -> Any:
    return v.dimshuffle("x", *range(v.type.ndim))


def _append(rows: Any, row: Any, some: TensorVariable) -> Any:
    """The rows of whole chunks (each of one row), and the last row if there is a rest."""
    flat = rows.reshape((rows.shape[0] * rows.shape[1], *[rows.shape[i] for i in range(2, rows.type.ndim)]))
    return concatenate([flat, row[:some]])


def _chunk_length(n: TensorLike, asked: Any) -> Any:
    if asked == "sqrt":
        return maximum(cast(ceil(sqrt(cast(n, dtype="float64"))), dtype="int64"), 1)
    if isinstance(asked, bool) or not hasattr(asked, "__index__") or int(asked) < 1:
        raise ValueError(f"save_every_N must be a positive integer or 'sqrt', got {asked!r}")
    return as_tensor(int(asked))
