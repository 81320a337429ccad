"""Random programs over every dtype and memory layout, with NaN, infinities and empty arrays: C agrees with NumPy."""

import random

import numpy as np
import pytest

from termgraph.backends.c.build.compilers import find_compiler
from termgraph.backends.c.run.bind import compile_terms
from termgraph.terms.dtypes import HALVES, kind_of, numpy_dtype
from termgraph.terms.evaluate import evaluate
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.ops import reduce as red
from termgraph.terms.term import Arg, Const, mk
from termgraph.terms.traverse import children_first
from termgraph.terms.types import TensorType

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="no C compiler")

INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
FLOATS = ["bfloat16", "float16", "float32", "float64"]
DTYPES = ["bool", *INTEGERS, *FLOATS, "complex64", "complex128"]
ROUNDING = {"bfloat16": 1e-1, "float16": 2e-2, "float32": 1e-3, "complex64": 1e-3}
SHAPES = [(), (1,), (7,), (130,), (0,), (3, 5), (5, 33), (1, 40), (4, 0), (2, 3, 9)]
SAFE_CASTS = {  # what NumPy defines for every value: to floats from anything real, to integers from integers
    "b": DTYPES, "i": [*INTEGERS, *FLOATS, "complex128"], "u": [*INTEGERS, *FLOATS, "complex128"],
    "f": [*FLOATS, "complex64", "complex128"], "c": ["complex64", "complex128"],
}  # fmt: skip


def layout(rnd, shape):
    """A function that makes an array of this shape that lies in memory in an unusual way."""
    every = [
        lambda make: make(shape),
        lambda make: np.asfortranarray(make(shape)),
        lambda make: make(tuple(2 * n for n in shape))[tuple(slice(None, None, 2) for _ in shape)],
        lambda make: make(shape)[tuple(slice(None, None, -1) for _ in shape)],
        lambda make: make(tuple(n + 3 for n in shape))[tuple(slice(1, n + 1) for n in shape)],
        lambda make: np.broadcast_to(make(()), shape),
    ]
    return rnd.choice(every)


class Programs:
    """A random element-wise program with some folds; `pool` holds terms of one shape."""

    def __init__(self, seed):
        self.rnd, self.np = random.Random(seed), np.random.default_rng(seed)
        self.shape = self.rnd.choice(SHAPES)
        self.args, self.values, self.pool = [], [], []
        for _ in range(4):
            self.input(self.rnd.choice(DTYPES))

    def input(self, dtype):
        known = [n if n == 1 or self.rnd.random() < 0.2 else None for n in self.shape]
        leaf = Arg(len(self.args), TensorType.of(dtype, tuple(known)))
        self.args.append(leaf)
        place = layout(self.rnd, self.shape)
        self.values.append(place(lambda shape: self.numbers(dtype, shape)) if self.shape else self.numbers(dtype, ()))
        self.pool.append(leaf)

    def numbers(self, dtype, shape):
        kind = kind_of(dtype)
        if kind in "iu":
            info = np.iinfo(dtype)
            some = self.np.integers(max(-9, info.min), 9, shape)
            edge = self.np.choice(np.array([info.min, info.max, 0, 1], dtype), shape)
            return np.where(self.np.random(shape) < 0.2, edge, some.astype(dtype)).astype(dtype)
        if kind == "b":
            return self.np.random(shape) < 0.5
        x = self.np.standard_normal(shape) * 4
        if kind == "c":
            return np.asarray(x + 1j * self.np.standard_normal(shape), dtype)
        odd = self.np.choice([np.nan, np.inf, -np.inf, 0.0, -0.0], shape)
        return np.where(self.np.random(shape) < 0.15, odd, x).astype(numpy_dtype(dtype))

    def grow(self, steps):
        for _ in range(steps):
            t = self.rnd.choice(self.pool)
            made = self.rnd.choice([self.cast, self.binary, self.binary, self.binary, self.unary, self.choice])(t)
            if made is not None:
                self.pool.append(made)
        return self

    def kind(self, t):
        return t.type.kind

    def cast(self, t):
        return ew.cast.bind(dtype=self.rnd.choice(SAFE_CASTS[self.kind(t)]))(t)

    def binary(self, t):
        other = self.rnd.choice([p for p in self.pool if p.type.dtype == t.type.dtype])
        if self.rnd.random() < 0.2:
            other = Const(np.asarray(self.rnd.choice([0, 1, 2]), t.type.np_dtype))
        named = {
            "b": [ew.logical_and, ew.logical_or, ew.eq],
            "i": [ew.add, ew.sub, ew.mul, ew.maximum, ew.floor_div, ew.mod, ew.lt, ew.bitwise_xor],
            "f": [ew.add, ew.sub, ew.mul, ew.maximum, ew.minimum, ew.true_div, ew.le, ew.neq],
            "c": [ew.add, ew.sub, ew.mul, ew.eq],
        }
        return mk(self.rnd.choice(named["i" if self.kind(t) == "u" else self.kind(t)]), (t, other))

    def unary(self, t):
        named = {
            "b": [ew.logical_not], "i": [ew.neg, ew.abs_, ew.sqr, ew.invert], "u": [ew.sqr, ew.invert],
            "f": [ew.neg, ew.abs_, ew.tanh, ew.exp, ew.isnan, ew.floor, ew.sign], "c": [ew.neg, ew.conj, ew.real],
        }  # fmt: skip
        return mk(self.rnd.choice(named[self.kind(t)]), (t,))

    def choice(self, t):
        other = self.rnd.choice([p for p in self.pool if p.type.dtype == t.type.dtype])
        conditions = [p for p in self.pool if p.type.dtype == "bool"]
        return mk(ew.switch, (self.rnd.choice(conditions), t, other)) if conditions else None

    def outputs(self):
        outs = self.rnd.sample(self.pool[4:] or self.pool, min(3, len(self.pool[4:]) or 1))
        for t in list(outs):
            axes = self.rnd.choice([(0,), (len(self.shape) - 1,), tuple(range(len(self.shape)))])
            if self.shape and t.type.dtype not in HALVES:
                outs.append(self.fold(t, axes))
        return list(dict.fromkeys(outs))

    def fold(self, t, axes):
        kind = self.kind(t)
        if kind in "iu" or (kind == "f" and self.rnd.random() < 0.5 and 0 not in self.shape):
            largest = 0 not in self.shape and self.rnd.random() < 0.5
            op = self.rnd.choice([red.max_, red.min_]).bind(axis=axes) if largest else None
            return mk(op or red.sum_.bind(axis=axes, dtype=red.default_sum_dtype(t.type.dtype)), (t,))
        if kind == "b":
            return mk(self.rnd.choice([red.any_, red.all_]).bind(axis=axes), (t,))
        return mk(red.sum_.bind(axis=axes, dtype=t.type.dtype), (t,))


def run(seed, steps):
    g = Programs(seed).grow(steps)
    outs = g.outputs()
    with np.errstate(all="ignore"):
        wanted = evaluate(outs, dict(zip(g.args, g.values)))
        for got, want, t in zip(compile_terms(g.args, outs)(*g.values), wanted, outs):
            want = np.asarray(want)
            where = f"seed {seed}: {t!r:.300}"
            assert got.dtype == want.dtype and got.shape == want.shape, where
            rtol = max(ROUNDING.get(p.type.dtype, 1e-9) for p in children_first([t])) if t.type.kind in "fc" else 0
            if t.type.dtype == "bfloat16":
                got, want = got.astype("float32"), want.astype("float32")
            size = np.abs(want[np.isfinite(want)]).max(initial=1) if t.type.kind in "fc" else 0
            np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol * size, err_msg=where)


@pytest.mark.parametrize("seed", [*range(30), 1070])
def test_random_programs(seed):
    run(seed, 4 + seed % 9)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1400))
def test_many_random_programs(seed):
    run(seed, 4 + seed % 11)
