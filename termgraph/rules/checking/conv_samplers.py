"""Samplers of convolutions and pooling: images, filters and cotangents that fit."""

from __future__ import annotations

from typing import Any

from termgraph.rules.checking.draw import Draw, Head, Want
from termgraph.rules.checking.families import sampler
from termgraph.terms.errors import ShapeError
from termgraph.terms.ops.convolution import FORWARD, INPUTS, WEIGHTS, result_lengths
from termgraph.terms.ops.pooling import MAX_GRAD, POOL, SUM_GRAD, places

DTYPES = ("float64", "float64", "float32", "int64")


def _form(d: Draw, h: Head) -> tuple[tuple[Any, ...], tuple[Any, ...], tuple[Any, ...]]:
    """Shapes of images, filters and results for the parameters of a head, which are chosen."""
    algo = h.settle("algo", lambda: d.rng.choice((None, None, "gemm", "direct", "fft", "winograd", "cudnn")))
    h.settle("vectors", lambda: d.rng.choice((None, 32, 64)))
    few = algo == "winograd"  # which knows squares of 3x3 that move by one
    line = algo is None and d.chance(0.3)  # one line and one filter, at all places where they overlap
    plain = few or line
    n = 2 if few else 1 if line else d.rng.choice((1, 1, 2))
    h.settle("stride", lambda: tuple([1 if plain else d.rng.choice((1, 1, 2)) for _ in range(n)]))
    h.settle("dilation", lambda: tuple([1 if plain else d.rng.choice((1, 1, 2)) for _ in range(n)]))
    pairs = tuple([(d.rng.randint(0, 2), d.rng.randint(0, 2)) for _ in range(n)])
    h.settle("border", lambda: "full" if line else d.rng.choice(("valid", "full", "half", "same", pairs)))
    groups = h.settle("groups", lambda: 1 if plain else d.rng.choice((1, 1, 2)))
    h.settle("flip", lambda: d.chance(0.5))
    image = tuple([d.rng.randint(5, 6) for _ in range(n)])
    taps = tuple([3 if few else d.rng.randint(1, 3) for _ in range(n)])
    names = ("stride", "border", "dilation")
    try:
        places = result_lengths(h.family.name, image, taps, {name: h.known(name) for name in names})
    except (ShapeError, IndexError, ValueError):
        places = taps
    batch, channels, filters = (1 if line else d.rng.choice((1, 2)) for _ in range(3))
    return (
        (batch, channels * groups, *image), (filters * groups, channels, *taps), (batch, filters * groups, *places),
    )  # fmt: skip


def _lengths(shape: tuple[int, ...]) -> list[Want]:
    return [Want((), "int64", (n, n)) for n in shape[2:]]


@sampler(FORWARD, INPUTS, WEIGHTS)
def _convolutions(d: Draw, h: Head, args: list[Any], want: Want) -> list[Any]:
    image, filters, result = _form(d, h)
    dtype = d.rng.choice(DTYPES)
    takes, lengths = {
        FORWARD: ((image, filters), []),
        INPUTS: ((filters, result), _lengths(image)),
        WEIGHTS: ((image, result), _lengths(filters)),
    }[h.family.name]
    return d.fill(args, [*[Want(shape, dtype) for shape in takes], *lengths])


@sampler(POOL, MAX_GRAD, SUM_GRAD)
def _pooling(d: Draw, h: Head, args: list[Any], want: Want) -> list[Any]:
    n = d.rng.choice((1, 2))
    if "kind" in h.family.defaults:
        h.settle("kind", lambda: d.rng.choice(("max", "max", "sum")))
    size = h.settle("size", lambda: tuple([d.rng.randint(1, 3) for _ in range(n)]))
    h.settle("stride", lambda: tuple([d.rng.randint(1, 3) for _ in size]))
    border = h.settle("ignore_border", lambda: d.chance(0.6))
    h.settle("short", lambda: d.chance(0.3))
    h.settle("pad", lambda: tuple([d.rng.randint(0, k - 1) if border else 0 for k in size]))
    image = tuple([d.rng.randint(3, 6) for _ in size])
    shape = (2, *image) if want.shape is None or len(want.shape) < len(image) else want.shape
    if len(args) == 1:
        return d.fill(args, [Want(shape, want.dtype)])
    p = {name: h.known(name) for name in ("size", "stride", "pad", "ignore_border", "short")}
    try:
        result = (2, *places(h.family.name, image, p))
    except (ShapeError, ValueError):
        result = (2, *image)
    dtype = d.rng.choice(DTYPES)
    if h.family.name == MAX_GRAD:
        return d.fill(args, [Want((2, *image), dtype), Want(result, dtype), Want(result, dtype)])
    return d.fill(args, [Want(result, dtype), *[Want((), "int64", (m, m)) for m in image]])
