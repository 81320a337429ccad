"""Derivative rules as rules: each is met by the checked cases, can be asked for, applied by hand and explained."""

import numpy as np
import pytest
from gradcases import ELEMENTWISE, HOLOMORPHIC, INDICES, REDUCTIONS, SHAPES, STEPS, arity, check, of_last, operands

import termgraph as tg
import termgraph.tensor as T
from termgraph import db
from termgraph.dist import mean
from termgraph.grad import table
from termgraph.graph.basic import graph_inputs
from termgraph.terms.op import OPS
from termgraph.terms.ops import linalg as la
from termgraph.terms.ops import structured
from termgraph.terms.ops.control import print_
from termgraph.terms.ops.convolution import windows
from termgraph.terms.ops.derivative import pullback, pushforward
from termgraph.terms.ops.indexing import scatter_add, scatter_set
from termgraph.terms.term import mk

LINKER = "py"  # about rules, not about the code made from what they give

x, y, v = T.dmatrix("x"), T.dmatrix("y"), T.dvector("v")
z, cube, row = T.zmatrix("z"), T.dtensor3("cube"), T.drow("row")
s = T.dscalar("s")
images = T.dtensor4("images")
square = T.tensor("square", dtype="float64", shape=(3, 3))
PLACES = np.array([1, 1, 0])

# What the other files of this folder check by numbers, built here once more to see which rules that takes.
CASES = {
    "products": lambda: (
        T.dot(x, y).sum() + T.dot(v, v) + T.dot(v, x).sum() + T.dot(x, v).sum() + T.matmul(cube, x).sum()
    ),
    "solve": lambda: T.linalg.solve(x, y).sum() + la.solve_triangular(x, y).sum() + T.linalg.inv(x).sum(),
    "roots of a matrix": lambda: T.linalg.sqrtm(x).sum(),
    "numbers of a matrix": lambda: T.linalg.det(x) + T.linalg.slogdet(x)[1] + T.linalg.expm(x).sum(),
    "least squares": lambda: T.linalg.lstsq(x, y)[0].sum() + T.linalg.pinv(x).sum(),
    "factors": lambda: (
        T.linalg.lu(square)[1].sum() + T.linalg.polar(square)[1].sum() + T.linalg.solve_sylvester(x, x, y).sum()
    ),
    "bands": lambda: (
        T.linalg.solve_banded((1, 1), x, y).sum()
        + T.linalg.solveh_banded(x, y).sum()
        + structured.solve_banded(x, y, trans="T").sum()
        + T.linalg.solve_toeplitz(v, v).sum()
        + T.signal.upfirdn(v, x, 3, 2).sum()
    ),
    "cholesky, eigh": lambda: T.linalg.cholesky(x).sum() + T.linalg.eigh(x)[0].sum() + la.eigvalsh(x).sum(),
    "eig": lambda: abs(T.linalg.eig(x)[0]).sum() + abs(T.linalg.eigvals(x)).sum(),
    "svd, qr": lambda: T.linalg.svd(square)[0].sum() + T.linalg.svdvals(square).sum() + T.linalg.qr(square)[0].sum(),
    "vectors": lambda: T.linalg.eigh(x)[1].sum() + abs(T.linalg.eig(x)[1]).sum() + T.linalg.svd(square)[1].sum(),
    "fft": lambda: abs(T.fft.ifft(T.fft.fft(z))).sum() + T.fft.irfft(T.fft.rfft(x)).sum(),
    "softmax": lambda: (
        (T.softmax(x, 1) * T.log_softmax(x, 1)).sum()
        + T.logsumexp(x)
        + T.cumsum(x).sum()
        + T.cumprod(x).sum()
        + T.cummax(x).sum()
    ),
    "choices": lambda: (T.switch(x > 0, x, y) + T.clip(x, y, 2.0) + T.heaviside(x, y) + T.nextafter(x, 9.0)).sum(),
    "conversions": lambda: T.cast(x, "float32").sum() + abs(T.complex(x, y)).sum() + T.assume(x, positive=True).sum(),
    "of complex numbers": lambda: (T.real(z) + T.imag(T.conj(z)) + abs(T.sgn(z)) + T.real(T.arccosh(z))).sum(),
    "special": lambda: (
        sum(f(2, x).sum() for f in (T.polygamma, T.gammainc, T.gammaincc, T.jv, T.iv))
        + T.betainc(2, 3, T.sigmoid(x)).sum()
        + of_last(T.sigmoid(x)).sum()
        + (T.j0(x) + T.j1(x) + T.i0(x) + T.i1(x)).sum()
    ),
    "writing": lambda: (T.set_subtensor(x[0], v) + T.inc_subtensor(x[0], v)).sum(),
    "scattering": lambda: (scatter_set(v, v, PLACES, index=("a",)) * scatter_add(v, v, PLACES, index=("a",))).sum(),
    "segments": lambda: (T.segment_max(v, PLACES, 4) + T.segment_prod(v, PLACES, 4)).sum(),
    "distinct": lambda: sum(
        f(v)[0].sum() for f in (lambda v: [T.unique(v)], T.unique_counts, T.unique_inverse, T.unique_all)
    ),
    "partitions": lambda: (T.partition(x, 1) ** 2).sum(),
    "counting": lambda: T.bincount(PLACES, weights=v).sum() + T.arange(s, s + 3, 1.0).sum(),
    "running": lambda: (
        tg.ifelse(s > 0, s, s**2) + tg.Assert("a")(s, s > 0) + print_(s, message="", attributes=(), show=None)
    ),
    "recomputed": lambda: tg.checkpoint(lambda a: T.sin(a) * a)(s),
    "recomputed twice": lambda: tg.grad(tg.checkpoint(lambda a: T.sin(a) * a)(s), s),
    "promises": lambda: T.specify_shape(x, (3, None)).sum() + T.unbroadcast(row, 0).sum(),
    "marks": lambda: tg.grad_clip(s, 0, 1) + tg.grad_scale(s, 2) + tg.zero_grad(s) + s,
    "devices": lambda: (s * 2).transfer("cuda:1") * s,
    "convolutions": lambda: T.nnet.conv2d(images, images).sum(),
    "their gradients": lambda: sum(g.sum() for g in tg.grad((T.nnet.conv2d(images, images) ** 2).sum(), [images])),
    "windows": lambda: windows(x, 2, stride=(1,), dilation=(1,)).sum(),
    "pooling": lambda: sum(
        (T.signal.pool_2d(g, 2, mode=mode) ** 2).sum()
        for mode in ("max", "sum")
        for g in (images, *tg.grad((T.signal.pool_2d(images, 2, mode=mode) ** 2).sum(), [images]))
    ),
    "gradients cut off": lambda: s * tg.disconnected_grad(s) + T.stack([s]).sum(),
    "sparse": lambda: (
        tg.sparse.dot(tg.sparse.CSR(v, [1, 0], [0, 1, 2], (2, 3)), x).sum()
        + tg.sparse.sampling_dot(x, y, tg.sparse.CSC(v, [1, 0], [0, 1, 2], (2, 2))).sum()
    ),
    "sums of sparse matrices": lambda: sum(
        tg.sparse.csm_data(
            f(tg.sparse.CSR(v, [1, 0], [0, 1, 2], (2, 2)), tg.sparse.CSR(v, [0, 1], [0, 1, 2], (2, 2)))
        ).sum()
        for f in (tg.sparse.add, tg.sparse.dot, lambda a, b: tg.sparse.clean(tg.sparse.csc_from_csr(a)))
    ),
    "sparse matrices side by side": lambda: tg.sparse.csm_data(
        tg.sparse.hstack([tg.sparse.CSR(v, [1, 0], [0, 1, 2], (2, 2))] * 2, format="csr")
    ).sum(),
    "whole sparse matrices": lambda: sum(
        (f(tg.sparse.CSR(v, [1, 0], [0, 1, 2], (2, 2))) ** 2).sum()
        for f in (tg.sparse.dense_from_sparse, tg.sparse.diag)
    ),
    "steps": lambda: sum(OPS[n](x).sum() for n in sorted(STEPS - {"floor_div"})) + (x // 2).sum() + x.sum(),
}


def built(f):
    """Reverse and forward derivatives of f, at whatever it contains."""
    cost = f()
    inputs = [i for i in graph_inputs([cost]) if not isinstance(i, tg.Constant) and i.dtype[0] in "fc"]
    _ = [g.term for g in tg.grad(cost, inputs)]  # they are made when somebody looks
    tg.Rop(cost, inputs, [T.ones_like(i) for i in inputs])
    return inputs


def of_ops():
    for name in ELEMENTWISE:
        yield lambda n=name: OPS[n](*[x, y][: max(1, min(2, arity(n)))], *[x] * (arity(n) - 2)).sum()
    for name in HOLOMORPHIC:
        yield lambda n=name: abs(OPS[n](*[z, z][: min(2, arity(n))])).sum()
    for f in REDUCTIONS.values():
        yield lambda f=f: f(x, axis=1).sum()
    for table_ in (SHAPES, INDICES):
        for f in table_.values():
            yield lambda f=f: f(T.tensor("m", dtype="float64", shape=(3, 4))).sum()


def test_every_derivative_rule_is_met(monkeypatch):
    everything = db.query("+grad")  # the numbers that matchers give are places in this list
    for one in (table.pullbacks, table.pushforwards):
        monkeypatch.setattr(one, "matchers", {})
    rules, met = list(everything), set()
    ask = table.DerivativeTable.ask

    def watched(self, op, args):
        found = ask(self, op, args)
        if found is not None:
            met.add(rules[self.matchers[op.family](table.Question(self.head, args))[1]].name)
        return found

    monkeypatch.setattr(table.DerivativeTable, "ask", watched)
    for f in [*CASES.values(), *of_ops()]:
        built(f)
    with pytest.raises(TypeError, match="declared by undefined_grad"):
        tg.grad(tg.undefined_grad(s) * 2, s)
    with pytest.raises(TypeError, match="mark the gradient, not the cost"):
        tg.grad(mean(s) * 2, s)
    tg.Rop(mean(s) * 2, s, s)
    with pytest.raises(NotImplementedError, match="only the solution of lstsq"):
        tg.grad(sum(out.sum() for out in T.linalg.lstsq(x, x, None)[:2]), x)
    with pytest.raises(NotImplementedError, match="Schur factors are not differentiated; eigenvalues are"):
        tg.grad(T.linalg.schur(x)[0].sum(), x)
    stream = T.random.RandomStream(1)
    for draw in (stream.gamma(s, size=3), stream.beta(s, s, size=3)):
        with pytest.raises(NotImplementedError, match="not by shape parameters"):
            tg.grad(draw.sum(), s)
    tg.grad(stream.normal(0.0, s), s)  # a scale that is asked for
    tg.grad(T.ldexp(s, 3), s)
    assert sorted({r.name for r in rules} - met) == []


@pytest.mark.parametrize("name", [n for n in CASES if n in ("special", "marks", "recomputed", "conversions")])
def test_rop_and_grad_of_one_number_agree(name, rng):
    cost = CASES[name]()
    inputs = [i for i in graph_inputs([cost]) if not isinstance(i, tg.Constant)]
    values = [rng.uniform(0.2, 0.8, (2, 2)[: i.ndim]) for i in inputs]
    directions = [rng.normal(size=a.shape) for a in values]
    forward = tg.Rop(cost, inputs, [T.constant(d) for d in directions])
    f = tg.function(inputs, [forward, *tg.grad(cost, inputs)], on_unused_input="ignore")
    along, *slopes = f(*values)
    np.testing.assert_allclose(along, sum((g * d).sum() for g, d in zip(slopes, directions)), rtol=1e-6)


def test_draws_have_a_gradient_by_their_scale_only():
    stream = T.random.RandomStream(seed=2)
    scaled = stream.gamma(2.0, s, size=(3,))
    drawn, slope = tg.function([s], [scaled.sum() / s, tg.grad(scaled.sum(), s)])(1.5)
    np.testing.assert_allclose(slope, drawn)
    for draw in (stream.gamma(s, size=(3,)), stream.beta(s, 2.0, size=(3,))):
        with pytest.raises(NotImplementedError, match="not by shape parameters"):
            tg.grad(draw.sum(), s)


def test_rules_are_found_by_what_they_differentiate():
    (rule,) = db.rules(head=T.sin, tag="grad")
    assert str(rule) == "grad_trigonometric.sin: pullback(s(x), g) -> tup(g * c(x))  if circular(s, c, t, n)"
    assert rule in db.rules(head=T.sin) and rule in db.rules(makes=T.cos)
    assert {r.name for r in db.rules(head=la.dot, tag="grad")} >= {"grad_product.dot", "forward_linear.product"}
    assert not db.rules(head=OPS["argmax"], tag="grad")


def test_rules_are_applied_by_hand_and_explained():
    g = T.dscalar("g")
    asked = mk(pullback, (T.sin(s).term, g.term))
    made, trace = db.query("+grad").rewrite_traced(asked)
    assert made.args == ((g * T.cos(s)).term,)
    assert "grad_trigonometric.sin" in str(db.why(trace, made))
    assert "does not match" in str(db.why_not(db.rules(head=T.cos, tag="grad")[0], asked))
    forward = mk(pushforward, (T.dot(v, v).term, v.term, v.term))
    assert db.query("+grad").rewrite(forward).op.name == "add"


@pytest.mark.parametrize("name", ELEMENTWISE)
@pytest.mark.parametrize("shapes", [[(), (3,), (1,)], [(2, 1), (1, 3), (3,)], [(1,), (2, 2), ()]])
def test_broadcasts_of_every_op_are_summed_back(name, shapes, rng):
    if arity(name) == 1 and len(shapes[0]) != 1:
        shapes = [(1, 2)]
    check(OPS[name], *operands(rng, name, shapes[: arity(name)]), rng=rng)


@pytest.mark.parametrize("name", [n for n in ELEMENTWISE if n not in ("mod", "fmod")])
def test_single_precision_of_every_op(name, rng):
    check(OPS[name], *operands(rng, name, [(2, 2)] * arity(name), "float32"), rng=rng)
