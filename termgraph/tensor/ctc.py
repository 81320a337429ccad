"""The loss of connectionist temporal classification, for T.nnet: labels whose places in time are not known."""

from __future__ import annotations

import numpy as np

from termgraph.tensor.creation import arange
from termgraph.tensor.elemwise import cast
from termgraph.tensor.joining import concatenate
from termgraph.tensor.lengths import length
from termgraph.tensor.likes import TensorLike
from termgraph.tensor.reductions import log_softmax
from termgraph.tensor.reductions import sum as total
from termgraph.tensor.running import ABOVE
from termgraph.tensor.shaping import dimshuffle
from termgraph.tensor.variable import TensorVariable
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.ops import elementwise as ew

NEVER = -1e30  # the logarithm of no chance, finite: differences of two of them are numbers, and so are gradients


def ctc_loss(
    activations: TensorLike,
    labels: TensorLike,
    input_lengths: TensorLike | None = None,
    label_lengths: TensorLike | None = None,
    blank: int = 0,
) -> TensorVariable:
    """-log of the chance that labels are read, in this order, at places in time that are not known: one for each row.

    `activations` are (time, batch, classes), of which the softmax is taken; logarithms of probabilities, which
    PyTorch's `ctc_loss` wants, are their own log-softmax and do as well. `labels` are integers (batch, most labels):
    what is negative, or lies behind `label_lengths`, is none. `input_lengths` says how many steps each row has.
    Between two labels may stand any number of `blank`, between two equal ones must stand one. Where there is not time
    enough for all labels the loss is infinite, and its gradient zero.

    >>> import numpy as np, termgraph.tensor as T
    >>> even = np.zeros((2, 1, 3))                                       # two steps, three classes, all as likely
    >>> chance = T.exp(-T.nnet.ctc_loss(even, [[1]]))                    # read as 11, 10 or 01
    >>> (chance * 9).eval().round(6)
    array([3.])
    """
    x, marks = as_tensor(activations), as_tensor(labels)
    _check(x, marks, blank)
    known = ew.ge(marks, 0)
    if label_lengths is not None:
        most = as_tensor(arange(length(marks, 1)))
        known = ew.lt(dimshuffle(most, "x", 0), dimshuffle(as_tensor(label_lengths), 0, "x"))
    marks = cast(ew.switch(known, marks, blank), "int64")
    result = x.dtype
    chances = log_softmax(cast(x, "float32") if result in ("float16", "bfloat16") else x, axis=-1)
    lost = ew.neg(
        _log_chance(ew.maximum(chances, NEVER), marks, total(cast(known, "int64"), axis=1), input_lengths, blank)
    )
    return cast(ew.switch(ew.gt(lost, -NEVER / 2), np.asarray(np.inf, lost.dtype), lost), result)


def _check(x: TensorVariable, marks: TensorVariable, blank: int) -> None:
    if x.ndim != 3 or x.type.kind != "f":
        raise TypeError(f"ctc_loss: activations must be floats (time, batch, classes), got {x} of type {x.type}")
    if marks.ndim != 2 or marks.type.kind not in "iu":
        raise TypeError(f"ctc_loss: labels must be integers (batch, most labels), got {marks} of type {marks.type}")
    classes = x.type.shape[2]
    if not hasattr(blank, "__index__") or blank < 0 or (classes is not None and blank >= classes):
        raise ValueError(f"ctc_loss: blank must be one of the {classes or ''} classes, got {blank!r}")


def _log_chance(
    chances: TensorVariable, marks: TensorVariable, counts: TensorVariable, steps: TensorLike | None, blank: int
) -> TensorVariable:
    """The logarithm of the sum over all ways to read the labels, step by step.

    After each step, for each row: `between[j]` is that of having read j labels and standing on a blank, `on[j]` of
    standing on label j.
    """
    rows = arange(length(chances, 1))
    column = dimshuffle(rows, 0, "x")
    of_labels = chances[:, column, marks]
    never = ew.mul(cast(column, chances.dtype), 0) + np.asarray(NEVER, chances.dtype)
    repeated = concatenate([ew.lt(column, 0), ew.eq(marks[:, 1:], marks[:, :-1])], axis=1)[:, : length(marks, 1)]
    on = dimshuffle(never[:, 0], 0, "x") + ew.mul(cast(marks, chances.dtype), 0)
    between = concatenate([never * 0, on], axis=1)

    def step(carry: tuple, now: tuple) -> tuple:
        between, on = carry
        blanks, here, time = now
        before = concatenate([never, on], axis=1)
        entered = ew.switch(repeated, np.asarray(NEVER, chances.dtype), before[:, :-1])
        new = (
            ew.logaddexp(between, before) + dimshuffle(blanks, 0, "x"),
            ew.logaddexp(ew.logaddexp(on, between[:, :-1]), entered) + here,
        )
        if steps is not None:
            running = dimshuffle(ew.lt(time, as_tensor(steps)), 0, "x")
            new = (ew.switch(running, new[0], between), ew.switch(running, new[1], on))
        return new, None

    sequences = (chances[:, :, blank], of_labels, arange(length(chances, 0)))
    (between, on), _ = ABOVE["loop"]()(step, (between, on), sequences)
    return ew.logaddexp(between[rows, counts], concatenate([never, on], axis=1)[rows, counts])
