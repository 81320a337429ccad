"""Convolutions and their gradients as products of matrices: which numbers the kernels get, and their launches.

The images' gradient of filters that move by more than one is a product for each place modulo the steps: the taps that
meet there. Everything is decided by lengths, so results repeat to the last bit.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import gcd, prod
from typing import Any

import numpy as np

from termgraph._records import NamedTuple
from termgraph.backends.cuda.text.conv_texts import AXES, COLUMNS, INTS, ROWS, SUM, THIN, tiled
from termgraph.backends.cuda.text.dialect import STORED, reader, writer
from termgraph.backends.cuda.text.gemm import ROUNDED
from termgraph.lower.loops.tree import Place, Routine
from termgraph.terms.dtypes import HALVES

NAMES = ("conv_panels", "conv_spread", "conv_taps")
FEW = 768  # elements of a tile up to which each is computed by a thread of its own
BLOCKS, THREADS = 256, 1 << 16  # that a sum is divided into parts for
LONG, SHORT = 256, 64  # the least terms of a part, of tiles and of single elements
GRID = 65535
LIBRARY_DTYPES = ("float16", "bfloat16", "float32", "float64")
Number = Callable[[Any], int]  # a polynomial -> its value
_COMPUTED = {"float64": "double", "int64": "uint64_t", "uint64": "uint64_t"}  # others are below
_CORES = {"float16": ("half", "tg_to_half"), "bfloat16": ("bfloat", "tg_to_bfloat")}


def computed(dtype: str) -> str:
    """The type in which products are added up; whole numbers wrap around."""
    return _COMPUTED.get(dtype, "float" if "float" in dtype else "uint32_t")


# ---------------------------------------------------------------------- text
def text(n: Routine, precision: str) -> str:
    """The kernels for a dtype; `precision` is the value of the flag cuda.products."""
    dtype = n.results[0].buf.dtype
    rounded = ROUNDED[precision] if dtype == "float32" else ""
    narrow = dtype if dtype in HALVES else precision if dtype == "float32" and precision in HALVES else None
    mma, bits = _CORES[narrow] if narrow is not None else ("", "")
    marks = {
        "$NAME": dtype,
        "$INTS": ", ".join(f"tg_int {name}" for name in INTS),
        "$BITWISE": "" if dtype in HALVES else bits,
        "$PLAIN": rounded or reader(dtype),
        "$MMA": f"tg_mma_{mma}",
        "$WRITE": writer(dtype) or f"({STORED[dtype]})",
        "$T": STORED[dtype],
        "$C": computed(dtype),
    }
    found = "\n\n".join([tiled(narrow is not None), THIN, SUM])
    for mark, meaning in marks.items():
        found = found.replace(mark, meaning)
    return found


# ---------------------------------------------------------------------- the products
class Steps(NamedTuple):
    """The strides of an array: over its first two dimensions, and over the three spatial ones."""

    first: int
    second: int
    spatial: tuple[int, ...]


class Product(NamedTuple):
    """One product of matrices: its numbers by name, and where its operands and its result begin, in elements."""

    numbers: dict[str, int]
    a: int
    y: int


class Form(NamedTuple):
    """A convolution in numbers. Spatial lengths and steps are three, of dimensions that are missing 1 and 0."""

    sizes: dict[str, int]
    image: tuple[int, ...]
    taps: tuple[int, ...]
    places: tuple[int, ...]
    stride: tuple[int, ...]
    gaps: tuple[int, ...]
    before: tuple[int, ...]
    groups: int

    @property
    def channels(self) -> int:
        """Channels of a group."""
        return self.sizes["each"]

    @property
    def filters(self) -> int:
        """Filters of a group."""
        return self.sizes["filters"] // self.groups


def form_of(n: Routine, number: Number) -> Form:
    """The numbers of a routine."""
    p, sizes = n.term.op.params, {name: number(size) for name, size in n.sizes.items()}
    dims = len(p["stride"])
    image, taps, places = [_three([sizes[f"{letter}{d}"] for d in range(dims)], 1) for letter in "nko"]
    before = _three([pair[0] for pair in p["border"]], 0)
    return Form(sizes, image, taps, places, _three(p["stride"], 1), _three(p["dilation"], 1), before, p["groups"])


def _three(values: Sequence[int], missing: int) -> tuple[int, ...]:
    return (*[missing] * (3 - len(values)), *map(int, values))


def _steps(place: Place, number: Number) -> Steps:
    first, second, *spatial = [number(step) for step in place.core]
    return Steps(first, second, _three(spatial, 0))


def products(n: Routine, number: Number) -> Iterator[Product]:
    """The products that a routine is."""
    f, (one, two), out = form_of(n, number), n.reads, n.results[0]
    x, z, y = (_steps(place, number) for place in (one, two, out))
    name = n.term.op.family.name
    make: Any = {"conv_panels": _forward, "conv_spread": _spread, "conv_taps": _taps}[name]
    for found in make(f, x, z, y):
        if min(found.numbers["m"], found.numbers["n"], f.groups) > 0:
            yield found


def operands(n: Routine) -> tuple[Place, Place]:
    """What is `a` and `b` in the products: filters and images, filters and cotangents, cotangents and images."""
    one, two = n.reads
    return (one, two) if n.term.op.family.name == "conv_spread" else (two, one)


def _forward(f: Form, x: Steps, w: Steps, y: Steps) -> Iterator[Product]:
    """Rows are filters, columns images and places, terms channels and taps."""
    yield Product({
        "m": f.filters, "n": f.sizes["batch"] * prod(f.places), "k": f.channels * prod(f.taps), "along": 0,
        "a_m": w.first, "y_m": y.second,
        "a_group": f.filters * w.first, "b_group": f.channels * x.second, "y_group": f.filters * y.second,
        "b_n": x.first, "y_n": y.first, "a_k": w.second, "b_k": x.second,
        **_axes("n", f.places), **_axes("at", f.stride), **_axes("from", [-p for p in f.before]),
        **_axes("y", y.spatial), **_axes("k", f.taps), **_axes("a", w.spatial), **_axes("by", f.gaps),
        **_axes("l", f.image), **_axes("b", x.spatial),
    }, 0, 0)  # fmt: skip


def _taps(f: Form, x: Steps, g: Steps, y: Steps) -> Iterator[Product]:
    """Rows are filters, columns channels and taps, terms images and places."""
    yield Product({
        "m": f.filters, "n": f.channels * prod(f.taps), "k": f.sizes["batch"] * prod(f.places), "along": 1,
        "a_m": g.second, "y_m": y.first,
        "a_group": f.filters * g.second, "b_group": f.channels * x.second, "y_group": f.filters * y.first,
        "b_n": x.second, "y_n": y.second, "a_k": g.first, "b_k": x.first,
        **_axes("n", f.taps), **_axes("at", f.gaps), **_axes("from", [-p for p in f.before]),
        **_axes("y", y.spatial), **_axes("k", f.places), **_axes("a", g.spatial), **_axes("by", f.stride),
        **_axes("l", f.image), **_axes("b", x.spatial),
    }, 0, 0)  # fmt: skip


class _Phase(NamedTuple):
    """Of one dimension the elements that lie at one place modulo the stride, and the taps that meet there.

    Element `start + s * j` of the image, for the first `elements` of j, gets of tap `tap + each * u` of the filter the
    cotangent at `place + j - back * u`.
    """

    elements: int
    start: int
    taps: int
    tap: int
    each: int
    place: int
    back: int


def _phases(n: int, k: int, s: int, e: int, pad: int) -> list[_Phase]:
    """All phases of a dimension."""
    common = gcd(s, e)
    each, back, out = s // common, e // common, []
    for r in range(s):
        start = (r - pad) % s  # the first element with (start + pad) % s == r
        tap = next((t for t in range(each) if (start + pad - t * e) % s == 0), k)
        taps = max(-(-(k - tap) // each), 0)
        out.append(_Phase(max(-(-(n - start) // s), 0), start, taps, tap, each, (start + pad - tap * e) // s, back))
    return out


def _spread(f: Form, w: Steps, g: Steps, y: Steps) -> Iterator[Product]:
    """Rows are channels, columns images and their elements in a phase, terms filters and the taps of the phase."""
    of = [_phases(*numbers) for numbers in zip(f.image, f.taps, f.stride, f.gaps, f.before)]
    for phase in itertools.product(*of):
        counts, taps = [p.elements for p in phase], [p.taps for p in phase]
        yield Product({
            "m": f.channels, "n": f.sizes["batch"] * prod(counts), "k": f.filters * prod(taps), "along": 0,
            "a_m": w.second, "y_m": y.second,
            "a_group": f.filters * w.first, "b_group": f.filters * g.second, "y_group": f.channels * y.second,
            "b_n": g.first, "y_n": y.first, "a_k": w.first, "b_k": g.second,
            **_axes("n", counts), **_axes("at", (1, 1, 1)), **_axes("from", [p.place for p in phase]),
            **_axes("y", [step * s for step, s in zip(y.spatial, f.stride)]),
            **_axes("k", taps), **_axes("a", [step * p.each for step, p in zip(w.spatial, phase)]),
            **_axes("by", [-p.back for p in phase]), **_axes("l", f.places), **_axes("b", g.spatial),
        }, sum(step * p.tap for step, p in zip(w.spatial, phase) if p.taps),
           sum(step * p.start for step, p in zip(y.spatial, phase)))  # fmt: skip


def _axes(name: str, values: Sequence[int]) -> dict[str, int]:
    return {f"{name}_{d}": value for d, value in zip(AXES, values)}


# ---------------------------------------------------------------------- libraries
def library_call(n: Routine, number: Number) -> dict[str, Any] | None:
    """What cuDNN is told of a routine that asks for it; None for what it does not know.

    Its arrays lie one element after the other, filters perhaps turned; zeros are as many before as behind.
    """
    p, dtype = n.term.op.params, n.results[0].buf.dtype
    even = all(before == behind >= 0 for before, behind in p["border"])
    if p["algo"] != "cudnn" or not even or dtype not in LIBRARY_DTYPES:
        return None
    f, name, n_axes = form_of(n, number), n.term.op.family.name, max(len(p["stride"]), 2)
    lead = {
        "x": (f.sizes["batch"], f.channels * f.groups), "w": (f.sizes["filters"], f.channels),
        "y": (f.sizes["batch"], f.sizes["filters"]),
    }  # fmt: skip
    spatial = {"x": f.image, "w": f.taps, "y": f.places}
    shapes = {role: (*lead[role], *spatial[role][-n_axes:]) for role in lead}
    if 0 in (length for shape in shapes.values() for length in shape):
        return None
    roles = {"conv_panels": "xwy", "conv_spread": "wyx", "conv_taps": "xyw"}[name]
    places, turned = [], False
    for place, role in zip((*n.reads, *n.results), roles):
        found = _dense(place, shapes[role], number)
        if found is None or (found[1] and role != "w"):
            return None
        turned |= found[1]
        places.append((place.buf, found[0] * np.dtype(dtype).itemsize))
    how = {"pad": f.before[-n_axes:], "stride": f.stride[-n_axes:], "dilation": f.gaps[-n_axes:], "groups": f.groups}
    key = (*shapes.values(), *how.values(), turned)
    return {"name": name, "dtype": dtype, "places": places, "turned": turned, "key": key, **shapes, **how}


def _dense(place: Place, shape: Sequence[int], number: Number) -> tuple[int, bool] | None:
    """Where an array begins whose elements lie one after the other, and whether spatial dimensions are all reversed."""
    steps = [number(step) for step in place.core]
    steps = [*steps[:2], *[0] * (len(shape) - len(steps)), *steps[2:]]
    wanted = [prod(shape[d + 1 :]) for d in range(len(shape))]
    base, long = number(place.base), [d for d, length in enumerate(shape) if length > 1]
    if all(steps[d] == wanted[d] for d in long):
        return base, False
    turned = [d for d in long if d > 1]
    if all(steps[d] == (-wanted[d] if d > 1 else wanted[d]) for d in long):
        return base - sum(wanted[d] * (shape[d] - 1) for d in turned), True
    return None


# ---------------------------------------------------------------------- launches
def launches(n: Routine, number: Number, processors: int) -> Iterator[tuple[str, tuple, list[tuple[str, Any]], int]]:
    """(kernel, grid, parameters, bytes of room) of each launch."""
    a, b = operands(n)
    dtype, groups = n.results[0].buf.dtype, n.term.op.params["groups"]
    for found in products(n, number):
        numbers = found.numbers | _parts(found.numbers, groups)
        m, columns, parts = numbers["m"], numbers["n"], numbers["parts"]
        room = groups * parts * m * columns * (8 if "64" in dtype else 4) if parts > 1 else 0
        arrays = [_at(a, found.a, number), _at(b, 0, number), _at(n.results[0], found.y, number)]
        arrays.append(("room", 0) if room else ("null", None))
        if is_thin(m, columns, groups):
            numbers["along"] = groups * parts * m * columns
            yield f"tg_conv_thin_{dtype}", _flat(numbers["along"], processors), [*_ints(numbers), *arrays], room
        else:
            grid = (-(-columns // COLUMNS), -(-m // ROWS), groups * parts)
            yield f"tg_conv_{dtype}", grid, [*_ints(numbers), *arrays], room
        if parts > 1:
            numbers["along"] = groups * m * columns
            yield f"tg_conv_sum_{dtype}", _flat(numbers["along"], processors), [*_ints(numbers), *arrays], room


def is_thin(m: int, n: int, groups: int) -> bool:
    """Whether a tile would be nearly empty."""
    return min(m, ROWS) * min(n, COLUMNS) <= FEW or groups > GRID or -(-m // ROWS) > GRID


def _parts(p: Mapping[str, int], groups: int) -> dict[str, int]:
    """In how many parts sums are added up, and how many terms a part has."""
    m, n, k = p["m"], p["n"], p["k"]
    if is_thin(m, n, groups):
        wanted, least, most = THREADS // (groups * m * n), SHORT, 256
    else:
        tiles = -(-m // ROWS) * -(-n // COLUMNS) * groups
        wanted, least, most = BLOCKS // tiles, LONG, min(64, GRID // groups)
    parts = max(1, min(wanted, k // least, most))
    each = -(-max(k, 1) // parts)
    each = -(-each // 32) * 32 if parts > 1 else each
    return {"parts": max(1, -(-k // each)), "each": each}


def _flat(count: int, processors: int) -> tuple[int, int, int]:
    return (min(-(-count // 256), processors * 16), 1, 1)


def _ints(numbers: Mapping[str, int]) -> list[tuple[str, Any]]:
    return [("int", numbers[name]) for name in INTS]


def _at(place: Place, offset: int, number: Number) -> tuple[str, Any]:
    """Where an array begins: its buffer, and bytes."""
    return "at", (place.buf, (number(place.base) + offset) * np.dtype(place.buf.dtype).itemsize)
