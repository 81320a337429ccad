"""The flags `dnn.conv.*`: which way each convolution is computed that does not say so itself."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from termgraph.compile.conv_timing import fastest
from termgraph.compile.values import Rewritten
from termgraph.config import config
from termgraph.tensor.trace import placed
from termgraph.terms.moved import rebuild_moved
from termgraph.terms.ops.convolution import FORWARD, INPUTS, WEIGHTS
from termgraph.terms.term import mk
from termgraph.terms.traverse import subterms

if TYPE_CHECKING:
    from termgraph.terms.term import AnyTerm

FLAG = {FORWARD: "algo_fwd", INPUTS: "algo_bwd_data", WEIGHTS: "algo_bwd_filter"}
TIMED = ("time_once", "time_on_shape_change")
# Names of ours, and those of Theano by what they mean. Guessing leaves it to the rules and their prices, as does timing
# where lengths are not known.
WAYS = {
    **dict.fromkeys(("guess_once", "guess_on_shape_change", *TIMED)),
    **dict.fromkeys(("gemm", "none", "small", "large", "deterministic"), "gemm"),
    **dict.fromkeys(("fft", "fft_tiling"), "fft"),
    "direct": "direct",
    "panels": "panels",
    **dict.fromkeys(("winograd", "winograd_non_fused"), "winograd"),
}


def convolutions(value: Rewritten) -> Rewritten:
    """Write into each convolution the algorithm that its flag names."""
    if not value.options.rewrites or not any(_is_open(t) for t in subterms(value.roots)):
        return value
    return replace(value, roots=tuple(rebuild_moved(value.roots, lambda t, args: _chosen(value, t, args))))


def _is_open(t: AnyTerm) -> bool:
    return bool(t.args) and t.op.kind == "conv" and t.op.params["algo"] is None


def _chosen(value: Rewritten, t: AnyTerm, args: tuple) -> AnyTerm:
    op = t.op
    if _is_open(t):
        flag = FLAG[op.family.name]
        wanted = getattr(config.dnn.conv, flag)
        timed = fastest(t, value.options) if wanted in TIMED else None
        way = timed.way if timed is not None else WAYS[wanted]
        way = way or (None if value.options.backend == "c" else "plain")  # the others have no routines
        if way == "fft" and any(None in a.type.shape for a in (t, *t.args)):
            text = f"dnn.conv.{flag}={wanted} needs lengths that are known: give input_shape and filter_shape"
            raise ValueError(placed(value.lookup(t)[1], text))
        op = op if way is None else op.bind(algo=way)
    return mk(op, args) if args and (op is not t.op or any(a is not b for a, b in zip(args, t.args))) else t


__all__ = ["convolutions"]
