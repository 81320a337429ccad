"""Scan: recurrences become carries of `tg.loop`, accumulators of gradients carried arrays, traces stacked results.

PyTensor passes each recurrence as a buffer with its start values in front, as long as the kept part of the trace.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import termgraph as tg
import termgraph.tensor as T
from termgraph.pytensor.conversion import Conversion, converts, is_array, is_constant

if TYPE_CHECKING:
    from pytensor.graph.basic import Apply

    from termgraph.tensor.likes import ShapeLike, TensorLike
    from termgraph.tensor.variable import TensorVariable


@converts("Scan", reads="info mode mode_instance profile truncate_gradient allow_gc output_types fgraph strict")
def _scan(c: Conversion, node: Apply, *outer: TensorVariable) -> Any:
    if not all(is_array(v.type) for v in (*node.inputs, *node.op.fgraph.inputs)):
        return NotImplemented  # steps that draw random numbers
    return _Scan(c, node, list(outer)).results()


class _Scan:
    """One Scan: its operands sorted by what they are."""

    def __init__(self, c: Conversion, node: Apply, outer: list[Any]) -> None:
        op = node.op
        self.c, self.node, self.op, self.info = c, node, op, op.info
        self.static = int(node.inputs[0].data) if is_constant(node.inputs[0]) else None
        self.steps = self.static if self.static is not None else outer[0]
        self.sequences = [self._rows(s) for s in op.outer_seqs(outer)]
        self.accumulators = list(op.outer_mitmot(outer))
        self.windows = list(op.outer_mitsot(outer))
        self.states = list(op.outer_sitsot(outer))
        self.rest = list(self._untraced(outer))
        self.kept = list(op.outer_nitsot(outer))
        self.constants = list(op.outer_non_seqs(outer))
        self.reach = [-min(taps) for taps in self.info.mit_sot_in_slices]

    def _untraced(self, outer: Sequence[Any]) -> Sequence[Any]:
        named = getattr(self.op, "outer_untraced_sit_sot", None) or self.op.outer_shared
        return named(outer)

    def _untraced_outs(self, made: Sequence[Any]) -> Sequence[Any]:
        named = getattr(self.op, "inner_untraced_sit_sot_outs", None) or self.op.inner_shared_outs
        return named(made)

    def _rows(self, s: TensorVariable) -> Any:
        exact = self.static is not None and s.type.shape[0] == self.static
        return s if exact else s[: self.steps]

    def start(self) -> dict[str, Any]:
        """The first carry: how far the loop is, accumulators, last rows of each window, last values."""
        return {
            "at": T.constant(np.int64(0)),
            "accumulators": self.accumulators,
            "windows": [[w[k] for k in range(r)] for w, r in zip(self.windows, self.reach)],
            "states": [b[0] for b in self.states],
            "rest": self.rest,
        }

    def step(self, carry: dict[str, Any], rows: list[Any]) -> tuple:
        """PyTensor's inner graph on one row."""
        info, op = self.info, self.op
        at, accumulators = carry["at"], carry["accumulators"]
        read = [b[at + t] for b, taps in zip(accumulators, info.normalized_mit_mot_in_slices) for t in taps]
        past = [w[r + t] for w, taps, r in zip(carry["windows"], info.mit_sot_in_slices, self.reach) for t in taps]
        made = self.c.inner(op.fgraph, [*rows, *read, *past, *carry["states"], *carry["rest"], *self.constants])
        written = self._written(at, accumulators, made)
        new, last, stacked = op.inner_mitsot_outs(made), op.inner_sitsot_outs(made), op.inner_nitsot_outs(made)
        after = {
            "at": at + 1,
            "accumulators": written,
            "windows": [[*w[1:], v] for w, v in zip(carry["windows"], new)],
            "states": list(last),
            "rest": list(self._untraced_outs(made)),
        }
        ends = [tg.until(made[-1])] if info.as_while else []
        return (after, [*new, *last, *stacked], *ends)

    def _written(self, at: TensorLike, accumulators: list[Any], made: Sequence[Any]) -> list[Any]:
        """The accumulators of a gradient, with what this step adds."""
        grouped = _grouped(made, [len(s) for s in self.info.mit_mot_out_slices])
        for i, (values, taps) in enumerate(zip(grouped, self.info.normalized_mit_mot_out_slices)):
            for v, t in zip(values, taps):
                accumulators = [T.set_subtensor(b[at + t], v) if j == i else b for j, b in enumerate(accumulators)]
        return accumulators

    def results(self) -> list[Any]:
        """PyTensor's outputs, in its order."""
        last, traces = tg.loop(self.step, self.start(), self.sequences, length=self.steps)
        recurrent = [*zip(self.windows, self.reach), *[(b, 1) for b in self.states]]
        found = list(last["accumulators"])
        for (buffer, reach), trace in zip(recurrent, traces):
            found.append(self._kept(T.concatenate([buffer[:reach], trace], axis=0), buffer.shape[0], buffer, reach))
        for trace, size in zip(traces[len(recurrent) :], self.kept):
            found.append(self._last(trace, size))
        return [*found, *last["rest"]]

    def _kept(self, whole: Any, size: ShapeLike, buffer: TensorVariable, reach: int) -> Any:
        """The last rows of a trace, as many as the buffer has."""
        n = buffer.type.shape[0]
        if n is not None and self.static is not None and not self.info.as_while:
            return whole if n == self.static + reach else whole[self.static + reach - n :]
        return whole[T.maximum(whole.shape[0] - size, 0) :]

    def _last(self, trace: Any, size: ShapeLike) -> Any:
        n = int(size.data) if isinstance(size, tg.Constant) else None
        if n is not None and n == self.static and not self.info.as_while:
            return trace
        return trace[T.maximum(trace.shape[0] - size, 0) :]


def _grouped(values: Sequence[Any], sizes: list[int]) -> list[Sequence[Any]]:
    ends = np.cumsum([0, *sizes]).tolist()
    return [values[a:b] for a, b in zip(ends, ends[1:])]
