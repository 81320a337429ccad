"""Ops that a routine computes as a whole: one statement reads the operands where they lie and writes all results.

What there is stands in `routine_table`, the C text in `backends/c/text/routines.py`.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

from termgraph.lower.lengths.checks import NotLowerable
from termgraph.lower.lengths.index import ONE, ZERO, Poly, divide, minimum, poly, product
from termgraph.lower.lengths.shapes import RESULTS, SHAPES, Lengths, Shape
from termgraph.lower.loops.tree import Place, Routine
from termgraph.lower.memory.operand_places import place_of
from termgraph.lower.push.kernel import Buf
from termgraph.lower.storage import (  # noqa: F401  they declare theirs
    conv_routines,
    counted_routines,
    pool_routines,
    sparse_routines,
    structured_routines,
)  # fmt: skip
from termgraph.lower.storage.policy import Storage, cut_rule
from termgraph.lower.storage.routine_table import LOOPED, SIZES, SPECS, UNEQUAL, Core, Spec, spec_of
from termgraph.terms.ops.basic import nth
from termgraph.terms.term import AnyTerm
from termgraph.terms.types import TensorType, TupleType


# ---------------------------------------------------------------------- lengths
def result_shapes(s: Lengths, t: AnyTerm) -> list[Shape]:
    """The lengths of all results of a routine; what its operands must agree in becomes an equation."""
    spec = _spec(t)
    sizes = core_lengths(s, t, spec)
    return _result_shapes(spec, sizes, _batch(s, t, spec))


def _result_shapes(spec: Spec, sizes: Mapping[str, Poly], batch: Shape) -> list[Shape]:
    out: list[Shape] = []
    for core in spec.outs:
        own = [sizes[name] for name in core]
        at = len(batch) if spec.axis is None else spec.axis
        out.append((*batch[:at], *own, *batch[at:]))
    return out


def core_lengths(s: Lengths, t: AnyTerm, spec: Spec) -> dict[str, Poly]:
    """The lengths that a routine works on, by name."""
    if t.op.kind != "conv_routine":
        return _core_lengths(s, t, spec)
    numbers = [s.as_length(n, t) for n in t.args[2:]]
    asked = (t.op, *s[t.args[0]], *s[t.args[1]], *numbers)
    if not all(n.const is not None for n in asked[1:]):
        return _core_lengths(s, t, spec)
    found = s.fitting.get(asked)
    if found is None:
        checks = len(s.checks)
        found = _core_lengths(s, t, spec)
        if len(s.checks) == checks:
            s.fitting[asked] = found
    return dict(found)


def _core_lengths(s: Lengths, t: AnyTerm, spec: Spec) -> dict[str, Poly]:
    name = t.op.family.name
    sizes: dict[str, Poly] = {}
    for k, (a, core) in enumerate(zip(t.args, spec.ins)):
        for letter, axis in zip(core, core_axes(a.type, core, spec)):
            n = s[a][axis]
            if letter in sizes:
                square = k == 0
                text = f"{name} needs square matrices, got one of {{0}} rows and {{1}} columns"
                text = text if square else f"{name}: the matrix has {{0}} rows, the right side has {{1}}"
                text = f"{name}: lengths {{0}} and {{1}} differ" if spec.text in SIZES else text
                text = UNEQUAL.get(letter, text)
                n = s.equal(t, sizes[letter], n, text)
            sizes[letter] = n
    if {"m", "n"} <= set(sizes):
        sizes["p"] = minimum(sizes["m"], sizes["n"])
    if spec.text in SIZES:
        SIZES[spec.text](s, t, sizes)
    if spec.text == "fft":
        sizes["whole"] = whole = _points(s, t, sizes["n"])
        sizes["points"] = divide(whole, 2)[0] + 1 if name == "rfft" else whole
    return sizes


def _points(s: Lengths, t: AnyTerm, n: Poly) -> Poly:
    """The length of a transform along its axis."""
    name, wanted = t.op.family.name, t.op.params["n"]
    whole = poly(wanted) if wanted is not None else 2 * (n - 1) if name == "irfft" else n
    s.require(t, "ge", whole, ONE, "Invalid number of FFT data points ({0}) specified.")
    return whole


def _batch(s: Lengths, t: AnyTerm, spec: Spec) -> Shape:
    """The lengths of the dimensions over which a routine is repeated; those of all operands broadcast."""
    leads = [_lead(a.type, core, spec) for a, core in zip(t.args, spec.ins)]
    out: list[Poly | None] = [None] * max(len(axes) for axes in leads)
    for a, axes in zip(t.args, leads):
        for d, axis in enumerate(axes, len(out) - len(axes)):
            if a.type.shape[axis] != 1:
                out[d] = s.agreed(t, out[d], s[a][axis], "batch lengths {0} and {1} differ")
    return tuple([ONE if n is None else n for n in out])


def core_axes(type_: TensorType, core: Core, spec: Spec) -> list[int]:
    """The dimensions that a routine works on."""
    return [spec.axis] if spec.axis is not None and core else list(range(type_.ndim - len(core), type_.ndim))


def _lead(type_: TensorType, core: Core, spec: Spec) -> list[int]:
    own = core_axes(type_, core, spec)
    return [d for d in range(type_.ndim) if d not in own]


def _spec(t: AnyTerm) -> Spec:
    spec = spec_of(t)
    assert spec is not None, f"there is no routine for {t!r:.200}"
    return spec


# ---------------------------------------------------------------------- storage
def _single(s: Storage, t: AnyTerm, buf: Buf) -> None:
    call_routine(s, t)


def call_routine(s: Storage, t: AnyTerm) -> None:
    """The statement that computes all results of a routine; operands that lie nowhere are stored first.

    Operands that say how long its result is are among its sizes, and lie nowhere.
    """
    arrays = [a for a in t.args if a.type.ndim] if t.op.family.by_value else t.args
    views = [place_of(s, a) for a in arrays]
    spec = _spec(t)
    batch = _batch(s.lengths, t, spec)
    reads = []
    for (buf, base, strides), a, core in zip(views, arrays, spec.ins):
        reads.append(_place(buf, base, strides, a.type, core, spec, len(batch)))
    sizes = core_lengths(s.lengths, t, spec)
    bufs, rooms, results = _results(s, t, spec, _result_shapes(spec, sizes, batch), len(batch))
    sites = [s.lengths.site(t, text) if text else -1 for text in (spec.fails, spec.finite, spec.broken)]
    s.add(Routine(t, spec, batch, sizes, reads, results, tuple(bufs), sites, [[b] for b in rooms]))


def _results(
    s: Storage, t: AnyTerm, spec: Spec, shapes: Sequence[Shape], batch: int
) -> tuple[list[Buf], list[Buf], list[Place]]:
    """The buffers of the results that are wanted, those of the others, and where all results lie."""
    types = t.type.types if isinstance(t.type, TupleType) else (t.type,)
    if isinstance(t.type, TupleType):
        found = {r.op.params["i"]: s.push.bufs[r] for r in s.order if r.args and r.op.family is nth and r.args[0] is t}
    else:
        found = {0: s.push.bufs[t]}
    bufs: list[Buf] = []
    rooms: list[Buf] = []
    places = []
    for k, (type_, shape, core) in enumerate(zip(types, shapes, spec.outs)):
        buf = found.get(k) or _room(s, t, str(k), type_.dtype, shape)
        (bufs if k in found else rooms).append(buf)
        places.append(_place(buf, ZERO, _dense(shape), type_, core, spec, batch))
    return bufs, rooms, places


def _room(s: Storage, t: AnyTerm, name: str, dtype: str, shape: Shape) -> Buf:
    return Buf(f"{s.prefix}r{s.order.index(t)}_{name}", dtype, shape, "temp")


def _dense(shape: Shape) -> tuple[Poly, ...]:
    return tuple([product(shape[d + 1 :]) for d in range(len(shape))])


def _place(
    buf: Buf, base: Poly, strides: Sequence[Poly], type_: TensorType, core: Core, spec: Spec, batch: int
) -> Place:
    """Where an operand or result lies: its steps over the batches, and over the lengths that the routine works on."""
    own = core_axes(type_, core, spec)
    lead = [ZERO if type_.shape[d] == 1 else strides[d] for d in _lead(type_, core, spec)]
    return Place(buf, base, (*[ZERO] * (batch - len(lead)), *lead), tuple([strides[d] for d in own]))


# ---------------------------------------------------------------------- all of them
def _one_of_several(s: Lengths, t: AnyTerm, i: int) -> Shape:
    if t.op.family.name == "lstsq" and i == 1:
        raise NotLowerable(t, "how many residuals there are depends on the rank")
    return result_shapes(s, t)[i]


# Results as long as an operand, also of dtypes without a routine.
LIKE = {"sort": 0, "argsort": 0, "searchsorted": 1, "isin": 0}


def _as_operand(s: Lengths, t: AnyTerm, number: int) -> Shape:
    return s[t.args[number]]


def _as_specified(s: Lengths, t: AnyTerm) -> Shape:
    return result_shapes(s, t)[0]


def _declare() -> None:
    for name in SPECS.keys() - LOOPED.keys():
        cut_rule(name)(_single)
        SHAPES[name] = functools.partial(_as_operand, number=LIKE[name]) if name in LIKE else _as_specified
        RESULTS[name] = _one_of_several


_declare()
