"""Axes, alloc, reshape, lengths and reading: one example per rule, structure and value."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.terms.evaluate import evaluate
from termgraph.terms.ops.indexing import gather
from termgraph.terms.ops.shaping import shape_i
from tests.rulelib.support import becomes, rules, stays

x, y, z = T.dmatrix("x"), T.dmatrix("y"), T.dmatrix("z")
v, w, s, n, m = T.dvector("v"), T.dvector("w"), T.dscalar("s"), T.lscalar("n"), T.lscalar("m")
c = T.tensor("c", dtype="float64", shape=(3, 4))
d = T.tensor("d", dtype="float64", shape=(None, 4))
row = T.drow("row")
k = T.lvector("k")
cube = T.dtensor3("cube")


class Padded(tg.Op):
    """An op of a user that says how long its result is."""

    __props__ = ()

    def make_node(self, a):
        return tg.Apply(self, [a], [T.dvector()])

    def perform(self, node, inputs, outputs):
        outputs[0][0] = np.append(inputs[0], 0.0)

    def infer_shape(self, node, shapes):
        return [(shapes[0][0] + 1,)]


def L(a, axis):
    return shape_i(a, axis=axis)


AXES = [
    ("axes.twice", x.T.dimshuffle(0, "x", 1), x.dimshuffle(1, "x", 0)),
    ("axes.identity", x.T.T, x),
    ("axes.broadcast", x + v.dimshuffle("x", 0), x + v),
    ("axes.broadcast", x * T.constant([[2.0]]), x * 2.0),
    ("axes.broadcast", c * T.constant(np.full((3, 4), 2.0)), c * 2.0),
    ("axes.outwards", T.exp(x.T), T.exp(x).T),
    ("axes.outwards", x.T + y.T, (x + y).T),
    ("axes.outwards", T.log(T.exp(x).T), x.T),
    ("negation.add_spread_neg", x + (-v).dimshuffle(0, "x"), x - v.dimshuffle(0, "x")),
    ("negation.sub_spread_neg", x - (-v).dimshuffle(0, "x"), x + v.dimshuffle(0, "x")),
    ("negation.mul_spread_neg", x * (-v).dimshuffle(0, "x"), -(x * v.dimshuffle(0, "x"))),
    ("axes.scale_inwards", 2.0 * x * v.dimshuffle(0, "x"), x * (2.0 * v).dimshuffle(0, "x")),
    ("axes.scale_inwards", 2.0 * x * (v / (2.0 * w)).dimshuffle(0, "x"), x * (v / w).dimshuffle(0, "x")),
    ("axes.transposed_eye", T.eye(n, m, 1).T, T.eye(m, n, -1)),
    ("axes.diagonal", T.diagonal(x.T, offset=1), T.diagonal(x, offset=-1)),
    ("axes.alloc_diag", T.diag(v, 1).T, T.diag(v, -1)),
    ("axes.of_diagonal", T.diag(T.diag(v, 1), 1), v),
]
ALLOC = [
    ("alloc.broadcast", T.alloc(2.0, L(x, 0), 1) * x, 2.0 * x),
    ("alloc.useless", T.alloc(x, L(x, 0), L(x, 1)), x),
    ("alloc.twice", T.alloc(T.alloc(s, n), m, n), T.alloc(s, m, n)),
    ("alloc.leading", T.alloc(v.dimshuffle("x", 0), n, L(v, 0)), T.alloc(v, n, L(v, 0))),
    ("alloc.broadcast", x + T.zeros_like(x) + y, x + y),
    ("alloc.broadcast", x + T.alloc(s, L(x, 0), L(x, 1)), x + s),
    ("alloc.outwards", T.exp(T.alloc(s, n, m)), T.alloc(T.exp(s), n, m)),
    ("alloc.outwards", T.alloc(s, n, m) * 3.0 + T.alloc(s, n, m), T.alloc(s * 3.0 + s, n, m)),
    ("alloc.dimshuffle", T.alloc(s, n, m).T, T.alloc(s, m, n)),
    (
        "alloc.dimshuffle",
        T.alloc(v, n, L(v, 0)).dimshuffle(1, "x", 0),
        T.alloc(v.dimshuffle(0, "x", "x"), L(v, 0), 1, n),
    ),
]
RESHAPE = [
    ("reshape.twice", x.reshape((-1,)).reshape((n, m)), x.reshape((n, m))),
    ("reshape.useless", x.reshape((L(x, 0), L(x, 1))), x),
    ("reshape.useless", c.reshape((3, 4)), c),
    ("reshape.only_ones", c.reshape((3, 1, 4, 1)), c.dimshuffle(0, "x", 1, "x")),
    ("reshape.only_ones", v.reshape((1, L(v, 0))), v.dimshuffle("x", 0)),
    ("reshape.of_dimshuffle", x.dimshuffle(0, "x", 1).reshape((n, m)), x.reshape((n, m))),
    ("reshape.of_alloc", T.alloc(s, n, m).reshape((n * m,)), T.alloc(s, n * m)),
]
SHAPES = [
    ("shapes.static", L(c, 1), T.constant(4)),
    ("shapes.declared", L(Padded()(v), 0), L(v, 0) + 1),
    ("shapes.from_operand", L(T.exp(x + 1.0), 0), L(x, 0)),
    ("shapes.from_operand", L(x.T, 0), L(x, 1)),
    ("shapes.from_operand", L(T.alloc(s, n, m), 1), m),
    ("shapes.from_operand", L(x.reshape((n, m)), 0), n),
    ("shapes.from_operand", L(x.sum(axis=0), 0), L(x, 1)),
    ("shapes.from_operand", L(T.cumsum(x, axis=0), 1), L(x, 1)),
    ("shapes.from_operand", L(T.softmax(x, axis=0), 1), L(x, 1)),
    ("shapes.join", L(T.concatenate([x, y]), 0), L(x, 0) + L(y, 0)),
    ("shapes.from_operand", L(T.concatenate([x, y]), 1), L(x, 1)),
    ("shapes.from_operand", L(T.set_subtensor(x[0], v), 0), L(x, 0)),
    ("shapes.subtensor", L(x[1:], 0), T.maximum(L(x, 0) - 1, 0)),
    ("shapes.subtensor", L(x[:, ::-1], 1), L(x, 1)),
    ("shapes.subtensor", L(x[0], 0), L(x, 1)),
    ("shapes.gather", L(x[k], 0), L(k, 0)),
    ("shapes.gather", L(x[:, k], 0), L(x, 0)),
    ("shapes.gather", L(x[T.specify_shape(k, (n,))], 0), n),
    ("shapes.from_operand", L(T.dot(x, y), 1), L(y, 1)),
    ("shapes.from_operand", L(T.dot(x, v), 0), L(x, 0)),
    ("shapes.arange", L(T.arange(n), 0), T.maximum(n, 0)),
    ("bounds.max_nonnegative", T.maximum(L(x, 0), 0), L(x, 0)),
    ("shapes.arange_from", L(T.arange(m, n), 0), T.maximum(n - m, 0)),
    ("shapes.from_operand", L(T.eye(n, m), 0), n),
    ("shapes.from_operand", L(T.eye(n, m), 1), m),
    ("shapes.from_operand", L(T.unbroadcast(row, 0), 0), T.constant(1)),
    ("shapes.from_operand", L(T.specify_shape(x, (None, n)), 0), L(x, 0)),
]
INDEXING = [
    ("indexing.whole", x[:], x),
    ("indexing.plain", c[1:3, -1], c[1:3, 3]),
    ("indexing.plain", c[0:3], c),
    ("indexing.scalars", gather(x.term, n.term, index=("a",)), x[n]),
    ("indexing.twice", x[0][1], x[0, 1]),
    ("indexing.twice", x[1:][0], x[1]),
    ("indexing.twice", cube[:, 1][1:], cube[1:, 1]),
    ("indexing.twice", v[::2][1:], v[2::2]),
    ("indexing.gather_twice", x[k][k], x[k[k]]),
    ("indexing.gather_at", x[k][n], x[k[n]]),
    ("indexing.gather_range", v[T.arange(L(v, 0))], v),
    ("indexing.elementwise", T.exp(x)[0], T.exp(x[0])),
    ("indexing.elementwise", (x + v)[:, 1], x[:, 1] + v[1]),
    ("indexing.elementwise", (x * 2.0)[1:], x[1:] * 2.0),
    ("indexing.elementwise", (v.dimshuffle(0, "x") + w)[0, 1], v[0] + w[1]),
    ("indexing.dimshuffle", x.T[0], x[:, 0]),
    ("indexing.dimshuffle", cube.dimshuffle(2, "x", 0, 1)[1, :, 0], cube[0, :, 1].dimshuffle("x", 0)),
    ("indexing.reduction", x.sum(axis=1)[0], x[0].sum()),
    ("indexing.reduction", cube.max(axis=1)[0, 1], cube[0, :, 1].max()),
    ("indexing.dot", T.dot(x, y)[0, 1], T.dot(x[0], y[:, 1])),
    ("indexing.dot", T.dot(x, v)[0], T.dot(x[0], v)),
    ("indexing.alloc", T.alloc(s, 3, n)[1], T.alloc(s, n)),
    ("indexing.alloc", T.alloc(v, 3, L(v, 0))[:2], T.alloc(v, 2, L(v, 0))),
    ("indexing.join", T.stack([v, v * 2.0])[1], v * 2.0),
    ("indexing.join", T.concatenate([x, y])[:, 0], T.concatenate([x[:, 0], y[:, 0]])),
    ("indexing.join", T.concatenate([c, d])[0:2], c[0:2]),
    ("indexing.item", T.stack([s, s * 2.0, n])[2], T.cast(n, "float64")),
    ("indexing.of_set", T.set_subtensor(x[0], v)[0], v),
    ("indexing.of_inc", T.inc_subtensor(x[0], v)[0], x[0] + v),
    ("indexing.beside", T.set_subtensor(x[0], v)[1], x[1]),
    ("indexing.beside", T.inc_subtensor(v[:1], 1.0)[1:], v[1:]),
]


def every(*tables):
    return pytest.mark.parametrize(("name", "before", "after"), [row for t in tables for row in t])


@every(AXES, ALLOC, RESHAPE, SHAPES, INDEXING)
def test_rule(name, before, after):
    fixed = {"n": 3, "m": 3, "k": [2, 0, 1]}
    if "indexing" in name:
        fixed["n"] = 2
    if "reshape" in name:
        fixed = {"n": 1, "m": 9}
    becomes(before, after, name, **{a: np.array(b) for a, b in fixed.items()})


@pytest.mark.parametrize(
    "expr",
    [
        x + v.dimshuffle(0, "x"),  # no implicit broadcasting along trailing dimensions
        x.T + y,  # different orders
        x + T.alloc(s, n, m),  # the lengths may differ from those of x: the check must stay
        T.exp(x)[1:],  # slices may overlap: exp would be computed twice
        x[:-1][0],  # x may have one row only
        x[1:][-1],
        T.concatenate([x, y])[0],  # x may be empty
        T.alloc(s, n)[0],
        T.set_subtensor(x[n], v)[m],
        T.set_subtensor(x[0], v)[-1],
        T.set_subtensor(x[0], s)[0],  # s fills a row
        x.reshape((n, m)),
        T.alloc(v, n, m),
    ],
    ids=str,
)
def test_does_not_fire(expr):
    stays(expr, *[r.name for r in rules() if r.topic in ("indexing", "axes", "alloc", "reshape")], rs=rules())


@pytest.mark.parametrize("length", [0, 1, 2, 5, 9])
def test_slices_of_slices_take_the_same_elements(length):
    rng = np.random.default_rng(length)
    rs = rules("indexing")
    data = np.arange(float(length))
    for known in (False, True):
        a = T.tensor("a", dtype="float64", shape=(length if known else None,))
        for _ in range(60):
            first, second = (slice(*[None if rng.random() < 0.4 else int(rng.integers(-4, 5)) for _ in "ab"],
                                   [None, 1, 2, -1, -2][rng.integers(5)]) for _ in "ab")  # fmt: skip
            expr = a[first][second]
            new = rs.rewrite(expr.term, strict=True)
            got = evaluate([new], {a.term: data})[0]
            np.testing.assert_array_equal(got, data[first][second], err_msg=f"{first} {second}")
