"""What decides how each convolution is computed that does not say so itself: flags `dnn.conv.*`, and the processor.

Rules choose among the ways that are left, by prices that depend on the processor's vectors.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from termgraph._lazy import lazy
from termgraph._records import replace
from termgraph.compile.values import Rewritten
from termgraph.config import config
from termgraph.tensor.lifting import handle
from termgraph.tensor.shaping import specify_shape
from termgraph.tensor.trace import placed
from termgraph.terms.moved import rebuild_moved
from termgraph.terms.ops.convolution import FORWARD, INPUTS, WEIGHTS
from termgraph.terms.term import AnyTerm, Const, mk
from termgraph.terms.traverse import children_first

_timing: Any = lazy("termgraph.compile.conv_timing")
_compilers: Any = lazy("termgraph.backends.c.build.compilers")
_cudnn: Any = lazy("termgraph.backends.cuda.run.cudnn")

FLAG = {FORWARD: "algo_fwd", INPUTS: "algo_bwd_data", WEIGHTS: "algo_bwd_filter"}
FILTERS = {FORWARD: 1, INPUTS: 0, WEIGHTS: -1}  # which operand filters are
TIMED = ("time_once", "time_on_shape_change")
# Names of ours, and those of Theano by what they mean. Guessing leaves it to the rules and their prices, as does timing
# where lengths are not known.
WAYS = {
    **dict.fromkeys(("guess_once", "guess_on_shape_change", *TIMED)),
    **dict.fromkeys(("gemm", "none", "small", "large", "deterministic"), "gemm"),
    **dict.fromkeys(("fft", "fft_tiling"), "fft"),
    "direct": "direct",
    "cudnn": "cudnn",
    "panels": "panels",
    **dict.fromkeys(("winograd", "winograd_non_fused"), "winograd"),
}

# What the rules are told where compiled code has no routines: on the host NumPy has one for vectors.
WITHOUT_ROUTINES = {"vm": "host"}
ROUTINES = ("panels", "winograd")  # what is one kernel on a GPU


def convolutions(value: Rewritten) -> Rewritten:
    """Write into each convolution the algorithm that its flag names, or else for which vectors it is compiled.

    And into filters that they have one tap.
    """
    if not value.options.rewrites or not any(t.op.kind == "conv" for t in children_first(value.roots) if t.args):
        return value
    return replace(value, roots=tuple(rebuild_moved(value.roots, lambda t, args: _chosen(value, t, args))))


def _chosen(value: Rewritten, t: AnyTerm, args: tuple) -> AnyTerm:
    op = t.op
    if t.args and op.kind == "conv":
        args = _with_ones(value, t, args)
        way = op.params["algo"] or _by_flag(value, t)
        way = _on_gpu(value, t, way) if value.options.backend == "cuda" else None if way == "cudnn" else way
        way = way or WITHOUT_ROUTINES.get(value.options.backend)
        op = op if way == op.params["algo"] else op.bind(algo=way)
        if way is None and value.options.backend == "c":
            op = op.bind(vectors=_compilers.vector_bytes())
    return t if op is t.op and all(map(operator.is_, args, t.args)) else mk(op, args)


def _on_gpu(value: Rewritten, t: AnyTerm, way: str | None) -> str:
    """The way on a GPU: cuDNN where it is installed, else kernels of our own."""
    if way == "cudnn" and (why := _cudnn.why_not()) is not None:
        raise ValueError(placed(value.lookup(t)[1], f"a convolution asks for algo='cudnn': {why}"))
    if way is None and t.type.kind == "f" and "conv_dnn" not in value.options.excluded and _cudnn.why_not() is None:
        return "cudnn"
    return "device" if way is None or way in ROUTINES else way


def _by_flag(value: Rewritten, t: AnyTerm) -> str | None:
    """The way that a flag names, or that was the fastest; None leaves it to the rules."""
    flag = FLAG[t.op.family.name]
    wanted = getattr(config.dnn.conv, flag)
    timed = _timing.fastest(t, value.options) if wanted in TIMED else None
    way: str | None = timed.way if timed is not None else WAYS[wanted]
    if way == "fft" and any(None in a.type.shape for a in (t, *t.args)):
        text = f"dnn.conv.{flag}={wanted} needs lengths that are known: give input_shape and filter_shape"
        raise ValueError(placed(value.lookup(t)[1], text))
    return way


def _with_ones(value: Rewritten, t: AnyTerm, args: tuple) -> tuple:
    """Operands of which the filters say that they have one tap, where that is so in all calls.

    The type of a shared variable says it of no other length, so that nothing else takes the 1 for one to be stretched.
    """
    given = value.captured.lengths
    if not given:
        return args
    k = FILTERS[t.op.family.name]
    args = tuple([_number(a, given) for a in args])
    ones = [n if n == 1 and d > 1 else None for d, n in enumerate(given.get(args[k], ()) if k >= 0 else ())]
    return (*args[:k], specify_shape(handle(args[k]), ones).term, *args[k + 1 :]) if 1 in ones else args


def _number(t: AnyTerm, given: Mapping[Any, Sequence[int | None]]) -> AnyTerm:
    """A length operand as a number, if it is one in all calls."""
    if not t.args or t.op.family.name != "shape_i" or t.args[0] not in given:
        return t
    n = given[t.args[0]][t.op.params["axis"]]
    return t if n is None else Const(np.int64(n))
