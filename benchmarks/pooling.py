"""Pooling and its gradient on planes of 7x7 to 112x112: maxima and means, with and without a border of padding.

Random numbers; about as many of them whatever the planes' size. A gradient gets what a training step has by then: the
images and the pooled ones, PyTorch and C the places of the maxima. Finding these is no part of it, and for C none of
"forward": "both" is a forward pass and the gradient after it. `handc` writes windows without padding out.
"""

from typing import Any, NamedTuple

import numpy as np
from contenders import torch_arrays
from harness import Case, Statement, Suite, Target

PLANES = {7: 4096, 14: 2048, 28: 512, 56: 128, 112: 32}  # how many of each size
WINDOWS = {"max": ((2, 2, 0), (3, 2, 0), (3, 2, 1), (3, 1, 1)), "mean": ((2, 2, 0), (3, 2, 0), (3, 2, 1), (3, 1, 1))}


class Pool(NamedTuple):
    """The kind, lengths of square planes and windows, the stride, and what lies around."""

    kind: str
    n: int
    k: int
    s: int
    p: int
    planes: int
    dtype: str

    def places(self) -> int:
        return (self.n + 2 * self.p - self.k) // self.s + 1

    def images(self) -> np.ndarray:
        shape = (min(self.planes, 4), self.planes // min(self.planes, 4), self.n, self.n)
        return np.random.default_rng(1).standard_normal(shape).astype(self.dtype)

    def cotangent(self) -> np.ndarray:
        shape = (*self.images().shape[:2], self.places(), self.places())
        return np.random.default_rng(2).standard_normal(shape).astype(self.dtype)


def cases(quick: bool) -> list[Case]:
    sizes = {7: 2} if quick else PLANES
    return [
        Case(
            f"{kind} {k}x{k}/{s}+{p} of {planes} {n}x{n}, {dtype}, {what}",
            {"pool": [kind, n, k, s, p, planes, dtype], "what": what},
            "us",
            0,
            [Target(0.5)],
            1e-4 if dtype == "float32" else 1e-5,  # sums of numbers of both signs
        )
        for dtype in ("float32", "float64")
        for kind, windows in WINDOWS.items()
        for k, s, p in windows
        for n, planes in sizes.items()
        for what in ("forward", "gradient", *(["both"] if kind == "max" else []))
    ]


suite = Suite("pooling", cases, doc=__doc__)


@suite.side("torch")
def torch_side(who: str, pool: list[Any], what: str) -> Statement:
    import torch

    torch.set_grad_enabled(False)
    one = Pool(*pool)
    x, g = torch_arrays(one.images(), one.cotangent())
    k, s, p, aten = [one.k] * 2, [one.s] * 2, [one.p] * 2, torch.ops.aten
    if one.kind == "max":
        _, at = aten.max_pool2d_with_indices(x, k, s, p)
        back = lambda: aten.max_pool2d_with_indices_backward(g, x, k, s, p, [1, 1], False, at)  # noqa: E731
        if what == "both":
            find = lambda: aten.max_pool2d_with_indices(x, k, s, p)[1]  # noqa: E731
            back = lambda at: aten.max_pool2d_with_indices_backward(g, x, k, s, p, [1, 1], False, at)  # noqa: E731
            return Statement("back(find())", find=find, back=back)
        return Statement("f()", f=back if what == "gradient" else lambda: aten.max_pool2d_with_indices(x, k, s, p)[0])
    if what == "gradient":
        return Statement("f()", f=lambda: aten.avg_pool2d_backward(g, x, k, s, p, False, False, None))
    return Statement("f()", f=lambda: aten.avg_pool2d(x, k, s, p, False, False))


@suite.side("handc")
def handc_side(who: str, pool: list[Any], what: str) -> Statement:
    import ctypes

    import native

    one = Pool(*pool)
    if one.p:
        raise NotImplementedError("windows without padding only")
    x, g, lib = one.images(), one.cotangent(), native.library("pooling")
    at, out = np.empty(g.shape, "int32"), np.empty_like(g if what == "forward" else x)
    lengths = [ctypes.c_int64(v) for v in (one.planes, one.n, one.places())]
    window = f"{one.dtype}_{one.k}_{one.s}"
    if what == "both":
        y = np.empty_like(g)
        first = [*map(native.pointer, (x, y, at)), *lengths]
        then = [*map(native.pointer, (out, g, at)), *lengths]
        most, find, back = lib[f"max_{window}"], lib[f"places_{window}"], lib[f"max_back_{one.dtype}"]
        run = lambda: (most(*first), find(*first), back(*then))  # noqa: E731
        return Statement("(run(), kept[0])[1]", run=run, kept=(out, x, g, at, y))
    if what == "forward":
        f, words = lib[f"{one.kind}_{window}"], [*map(native.pointer, (x, out, at)), *lengths]
    else:
        if one.kind == "max":
            lib[f"places_{window}"](*map(native.pointer, (x, g, at)), *lengths)
        f = lib[f"max_back_{one.dtype}" if one.kind == "max" else f"mean_back_{window}"]
        words = [*map(native.pointer, (out, g, at)), *lengths]
    return Statement("(f(*words), kept[0])[1]", f=f, words=words, kept=(out, x, g, at))


@suite.side("termgraph")
def termgraph_side(who: str, pool: list[Any], what: str) -> Statement:
    import termgraph as tg
    import termgraph.tensor as T
    from termgraph.terms.ops.pooling import pool_max_grad

    one = Pool(*pool)
    values = {"x": one.images(), "g": one.cotangent()}
    x, g = (T.tensor(name, dtype=one.dtype, shape=v.shape) for name, v in values.items())
    kind = "max" if one.kind == "max" else "average_exc_pad"
    k, s, p = [(v, v) for v in (one.k, one.s, one.p)]
    y = T.signal.pool_2d(x, k, ignore_border=True, stride=s, pad=p, mode=kind)
    if what == "forward":
        return Statement("f(x)", f=tg.function([x], y), x=values["x"])
    if one.kind != "max":
        return Statement("f(g)", f=tg.function([g], tg.Lop(y, [x], g)[0]), g=values["g"])
    if what == "both":
        return Statement("f(*v)[1]", f=tg.function([x, g], [y, tg.Lop(y, [x], g)[0]]), v=[values["x"], values["g"]])
    z = T.tensor("z", dtype=one.dtype, shape=values["g"].shape)
    f = tg.function([x, z, g], pool_max_grad(x, z, g, size=k, stride=s, pad=p, ignore_border=True))
    return Statement("f(*v)", f=f, v=[values["x"], tg.function([x], y)(values["x"]), values["g"]])


if __name__ == "__main__":
    raise SystemExit(suite.main())
