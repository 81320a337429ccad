"""Random graphs over everything that can be lowered, with values for their inputs."""

import random

import numpy as np

from termgraph.terms.ops import elementwise as ew
from termgraph.terms.ops import indexing as ix
from termgraph.terms.ops import linalg as la
from termgraph.terms.ops import reduce as red
from termgraph.terms.ops import shaping as sh
from termgraph.terms.ops.basic import dimshuffle
from termgraph.terms.term import Arg, Const, mk
from termgraph.terms.types import TensorType

FULL = ("s", None, None, None)


class Graphs:
    """A random graph with inputs: `pool` maps a shape of names like ("n", "m") to terms."""

    def __init__(self, seed):
        self.rnd = rnd = random.Random(seed)
        self.np = np.random.default_rng(seed)
        self.n, self.m = rnd.choice([1, 2, 3, 5, 70]), rnd.choice([1, 2, 7, 33, 133])
        if rnd.random() < 0.08:
            self.n = 0
        self.dtype = rnd.choice(["float64", "float64", "float32"])
        self.args, self.values, self.static = [], [], rnd.random() < 0.3
        self.known = {"n": self.n, "m": self.m}
        self.pool = [
            self.input("nm"), self.input("nm"), self.input("m"), self.input("n"), self.input("mn"), self.input(""),
        ]  # fmt: skip
        self.rows = self.index_input("n", "n")
        self.columns = self.index_input("n", "m")
        self.lengths = {"n": self.length(0, 0), "m": self.length(0, 1)}

    def length(self, arg, axis):
        return mk(sh.shape_i.bind(axis=axis), (self.args[arg],))

    def input(self, dims, dtype=None):
        shape = tuple(self.known[d] for d in dims)
        known = tuple(n if self.static and n != 1 else None for n in shape)
        leaf = Arg(len(self.args), TensorType.of(dtype or self.dtype, known))
        value = self.np.standard_normal(shape).astype(dtype or self.dtype)
        if value.ndim == 2 and self.rnd.random() < 0.25:
            value = np.asfortranarray(value)
        self.args.append(leaf)
        self.values.append(value)
        leaf_dims = tuple(dims)
        return leaf, leaf_dims

    def index_input(self, dim, bound):
        leaf = Arg(len(self.args), TensorType.of("int64", (None,)))
        top = max(1, self.known[bound])
        self.args.append(leaf)
        self.values.append(self.np.integers(-top, top, self.known[dim]) if self.known[bound] else np.zeros(0, "int64"))
        return leaf

    def grow(self, steps):
        for _ in range(steps):
            t, dims = self.rnd.choice(self.pool[-4:] + [self.rnd.choice(self.pool)])
            step = getattr(self, "step_" + self.rnd.choice(self.steps))
            new = step(t, dims)
            if new is not None:
                self.pool.append(new)
        return self

    steps = (
        ["binary"] * 3 + ["unary"] * 2 + ["reduce"] * 3
        + ["transpose", "ravel", "reshape", "reverse", "shift", "join", "gather", "pick", "broadcast", "set", "inc"]
        + ["scatter", "dot", "softmax", "cumsum", "alloc", "stride", "argmax", "diagonal", "eye", "matvec", "scalar"]
        + ["window"]
    )  # fmt: skip

    def same(self, dims):
        return self.rnd.choice([t for t, d in self.pool if d == dims])

    def step_binary(self, t, dims):
        op = self.rnd.choice([ew.add, ew.sub, ew.mul, ew.maximum])
        return mk(op, (t, self.same(dims))), dims

    def step_unary(self, t, dims):
        f = self.rnd.choice([
            ew.tanh, lambda x: ew.exp(ew.neg(ew.abs_(x))), lambda x: ew.log1p(ew.abs_(x)),
            lambda x: ew.true_div(x, ew.add(ew.abs_(x), 1.0)), lambda x: ew.switch(ew.lt(x, 0.25), x, ew.mul(x, 0.5)),
            ew.sigmoid,
        ])  # fmt: skip
        return f(t), dims

    def step_scalar(self, t, dims):
        s = self.rnd.choice([t for t, d in self.pool if d == ()])
        return ew.mul(s, t), dims

    def step_reduce(self, t, dims):
        if not dims:
            return None
        axes = self.rnd.choice([(0,), (len(dims) - 1,), tuple(range(len(dims)))])
        if self.n == 0:
            op = red.sum_.bind(axis=axes, dtype=self.dtype)
        else:
            op = self.rnd.choice([red.sum_.bind(axis=axes, dtype=self.dtype), red.max_.bind(axis=axes)])
        out = ew.mul(mk(op, (t,)), 0.125)
        kept = tuple(d for a, d in enumerate(dims) if a not in axes)
        return out, kept

    def step_softmax(self, t, dims):
        if not dims:
            return None
        op = self.rnd.choice([red.softmax, red.log_softmax])
        return mk(op.bind(axis=(self.rnd.randrange(len(dims)),)), (t,)), dims

    def step_cumsum(self, t, dims):
        return (ew.mul(mk(red.cumsum.bind(axis=self.rnd.randrange(len(dims))), (t,)), 0.1), dims) if dims else None

    def step_argmax(self, t, dims):
        if not dims or self.n == 0:
            return None
        axis = self.rnd.randrange(len(dims))
        found = mk(red.argmax.bind(axis=(axis,)), (ew.round_(ew.mul(t, 4.0)),))
        return mk(ew.cast.bind(dtype=self.dtype), (found,)), dims[:axis] + dims[axis + 1 :]

    def step_transpose(self, t, dims):
        return (mk(dimshuffle.bind(order=(1, 0)), (t,)), dims[::-1]) if len(dims) == 2 else None

    def step_ravel(self, t, dims):
        if len(dims) != 2:
            return None
        return mk(sh.reshape, (t, ew.mul(self.lengths[dims[0]], self.lengths[dims[1]]))), ("*".join(sorted(dims)),)

    def step_reshape(self, t, dims):
        if len(dims) == 2 and set(dims) == {"n", "m"}:
            return mk(sh.reshape, (t, self.lengths[dims[1]], self.lengths[dims[0]])), dims[::-1]
        if len(dims) == 1 and "*" in dims[0] and set(dims[0]) == set("m*n"):
            return mk(sh.reshape, (t, self.lengths["n"], self.lengths["m"])), ("n", "m")
        return None

    def step_reverse(self, t, dims):
        if not dims:
            return None
        axis = self.rnd.randrange(len(dims))
        index = (*[FULL] * axis, ("s", None, None, -1))
        return mk(ix.subtensor.bind(index=index), (t,)), dims

    def step_shift(self, t, dims):
        """Differences of neighbours, joined to the old length."""
        if not dims or self.n == 0:
            return None
        axis = self.rnd.randrange(len(dims))
        pre = (FULL,) * axis
        a = mk(ix.subtensor.bind(index=(*pre, ("s", 1, None, None))), (t,))
        b = mk(ix.subtensor.bind(index=(*pre, ("s", None, -1, None))), (t,))
        first = mk(ix.subtensor.bind(index=(*pre, ("s", 0, 1, None))), (t,))
        return mk(sh.join.bind(axis=axis), (ew.sub(a, b), first)), dims

    def step_stride(self, t, dims):
        """Every second element, doubled back."""
        if len(dims) != 1 or dims[0] not in "nm":
            return None
        half = mk(ix.subtensor.bind(index=(("s", None, None, 2),)), (t,))
        other = mk(ix.subtensor.bind(index=(("s", 1, None, 2),)), (t,))
        return mk(sh.join.bind(axis=0), (half, other)), dims

    def step_join(self, t, dims):
        if not dims:
            return None
        axis = self.rnd.randrange(len(dims))
        both = mk(sh.join.bind(axis=axis), (t, self.same(dims)))
        index = (*[FULL] * axis, ("s", self.rnd.choice([None, 1, 0]), None, None))
        part = mk(ix.subtensor.bind(index=index), (both,))
        keep = [d for k, d in enumerate(dims) if k != axis]
        total = mk(red.sum_.bind(axis=(axis,), dtype=self.dtype), (part,))
        return ew.mul(total, 0.1), tuple(keep)

    def step_gather(self, t, dims):
        if not dims or dims[0] != "n":
            return None
        return mk(ix.gather.bind(index=("a",)), (t, self.rows)), dims

    def step_pick(self, t, dims):
        if dims != ("n", "m"):
            return None
        every = mk(sh.arange.bind(dtype="int64"), (Const(0), self.lengths["n"], Const(1)))
        return mk(ix.gather.bind(index=("a", "a")), (t, every, self.columns)), ("n",)

    def step_broadcast(self, t, dims):
        if len(dims) != 2:
            return None
        fits = [p for p, d in self.pool if d == dims[1:]]
        if self.rnd.random() < 0.5 or not fits:
            fits = [mk(dimshuffle.bind(order=(0, "x")), (p,)) for p, d in self.pool if d == dims[:1]] or fits
        return (ew.add(t, self.rnd.choice(fits)), dims) if fits else None

    def step_set(self, t, dims, op=ix.set_subtensor):
        if not dims or self.n == 0:
            return None
        index = self.rnd.choice([(0,), (("s", 0, 1, None),), (("s", None, None, -2),), (("s", 1, -1, None),)])
        target = mk(ix.subtensor.bind(index=index), (self.same(dims),))
        value = ew.mul(target, 0.5) if self.rnd.random() < 0.7 else Const(np.asarray(1.5, self.dtype))
        return mk(op.bind(index=index), (t, value)), dims

    def step_inc(self, t, dims):
        return self.step_set(t, dims, ix.inc_subtensor)

    def step_window(self, t, dims):
        """A dynamic index."""
        if len(dims) != 2 or self.n == 0:
            return None
        where = mk(ix.subtensor.bind(index=(0,)), (self.rows,))
        where = ew.mod(where, self.lengths[dims[0]])
        return mk(ix.subtensor.bind(index=("?",)), (t, where)), dims[1:]

    def step_scatter(self, t, dims):
        if not dims or dims[0] != "n":
            return None
        op = self.rnd.choice([ix.scatter_add, ix.scatter_set])
        return mk(op.bind(index=("a",)), (t, ew.mul(self.same(dims), 0.5), self.rows)), dims

    def step_dot(self, t, dims):
        fits = [(p, d) for p, d in self.pool if len(d) == 2 and len(dims) == 2 and d[0] == dims[1]]
        if not fits:
            return None
        other, d = self.rnd.choice(fits)
        op = self.rnd.choice([la.dot, la.matmul])
        return ew.mul(mk(op, (t, other)), 0.05), (dims[0], d[1])

    def step_matvec(self, t, dims):
        fits = [(p, d) for p, d in self.pool if len(d) in (1, 2) and len(dims) > 0 and d[0] == dims[-1]]
        if not fits:
            return None
        other, d = self.rnd.choice(fits)
        return ew.mul(mk(la.dot, (t, other)), 0.05), (*dims[:-1], *d[1:])

    def step_alloc(self, t, dims):
        if len(dims) != 1 or dims[0] not in "nm":
            return None
        return mk(sh.alloc, (t, self.lengths["n"], self.lengths[dims[0]])), ("n", dims[0])

    def step_diagonal(self, t, dims):
        if len(dims) == 2 and dims[0] == dims[1]:
            return mk(sh.diagonal.bind(offset=0), (t,)), dims[:1]
        if len(dims) == 1 and dims[0] in "nm":
            return mk(sh.alloc_diag.bind(offset=0), (t,)), dims * 2
        return None

    def step_eye(self, t, dims):
        if len(dims) != 2 or "*" in "".join(dims):
            return None
        k = Const(self.rnd.choice([0, 1, -1]))
        one = mk(sh.eye.bind(dtype=self.dtype), (self.lengths[dims[0]], self.lengths[dims[1]], k))
        return ew.add(t, one), dims

    def outputs(self):
        made = [t for t, _ in self.pool[6:]] or [self.pool[0][0]]
        return list(dict.fromkeys(self.rnd.sample(made, min(len(made), self.rnd.choice([1, 2, 3])))))


def agree(got, want, g, outs, seed):
    """Arrays of a random graph are equal within rounding."""
    tol = 2e-3 if g.dtype == "float32" else 1e-8
    for x, y, t in zip(got, want, outs):
        y = np.asarray(y)
        assert x.shape == y.shape and x.dtype == y.dtype, f"seed {seed}: {x.shape}{x.dtype} {y.shape}{y.dtype} {t}"
        scale = np.abs(y[np.isfinite(y)]).max(initial=1)
        np.testing.assert_allclose(x, y, rtol=tol, atol=tol * scale, err_msg=f"seed {seed}: {t!r:.300}")
