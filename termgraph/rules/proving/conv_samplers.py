"""Samplers of convolutions and windows: images, filters and cotangents that fit."""

from __future__ import annotations

from termgraph.rules.proving.draw import Draw, Head, Want
from termgraph.rules.proving.samplers import sampler
from termgraph.terms.errors import ShapeError
from termgraph.terms.ops.convolution import FORWARD, INPUTS, WEIGHTS, result_lengths

DTYPES = ("float64", "float64", "float32", "int64")


def _form(d: Draw, h: Head) -> tuple[tuple, tuple, tuple]:
    """Shapes of images, filters and results for the parameters of a head, which are chosen."""
    n = d.rng.choice((1, 1, 2))
    h.settle("stride", lambda: tuple([d.rng.choice((1, 1, 2)) for _ in range(n)]))
    h.settle("dilation", lambda: tuple([d.rng.choice((1, 1, 2)) for _ in range(n)]))
    pairs = tuple([(d.rng.randint(0, 2), d.rng.randint(0, 2)) for _ in range(n)])
    h.settle("border", lambda: d.rng.choice(("valid", "full", "half", "same", pairs)))
    groups = h.settle("groups", lambda: d.rng.choice((1, 1, 2)))
    h.settle("flip", lambda: d.chance(0.5))
    h.settle("algo", lambda: d.rng.choice((None, None, "gemm", "direct", "fft")))
    image = tuple([d.rng.randint(5, 6) for _ in range(n)])
    taps = tuple([d.rng.randint(1, 3) for _ in range(n)])
    names = ("stride", "border", "dilation")
    try:
        places = result_lengths(h.family.name, image, taps, {name: h.known(name) for name in names})
    except (ShapeError, IndexError, ValueError):
        places = taps
    batch, channels, filters = (d.rng.choice((1, 2)) for _ in range(3))
    return (
        (batch, channels * groups, *image), (filters * groups, channels, *taps), (batch, filters * groups, *places),
    )  # fmt: skip


def _lengths(shape: tuple) -> list[Want]:
    return [Want((), "int64", (n, n)) for n in shape[2:]]


@sampler(FORWARD)
def _forward(d: Draw, h: Head, args: list, want: Want) -> list:
    image, filters, _ = _form(d, h)
    dtype = d.rng.choice(DTYPES)
    return d.fill(args, [Want(image, dtype), Want(filters, dtype)])


@sampler(INPUTS)
def _inputs(d: Draw, h: Head, args: list, want: Want) -> list:
    image, filters, result = _form(d, h)
    dtype = d.rng.choice(DTYPES)
    return d.fill(args, [Want(filters, dtype), Want(result, dtype), *_lengths(image)])


@sampler(WEIGHTS)
def _weights(d: Draw, h: Head, args: list, want: Want) -> list:
    image, filters, result = _form(d, h)
    dtype = d.rng.choice(DTYPES)
    return d.fill(args, [Want(image, dtype), Want(result, dtype), *_lengths(filters)])
