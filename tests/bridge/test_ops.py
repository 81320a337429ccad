"""Each row of the bridge's table: PyTensor's own result, and ours, on the same graph."""

import warnings

import numpy as np
import pytest
from gradcases import UNARY

pytensor = pytest.importorskip("pytensor", reason="PyTensor is not installed")
pt = pytest.importorskip("pytensor.tensor")

from bridgecases import compared  # noqa: E402

import termgraph.pytensor as bridge  # noqa: E402
from termgraph.pytensor.conversion import CONVERTERS, row_of, unread  # noqa: E402

LINKER = "auto"
RNG = np.random.default_rng(1)
A = RNG.normal(size=(3, 4))
SHARES = np.array([0.1, 0.35, 0.6])
B = RNG.normal(size=(4, 3))
V = np.array([0.5, -1.5, 2.0])
S = A @ A.T + np.eye(3)
P = np.abs(A) + 0.1
I = np.array([2, 0, 2])
BATCH = np.stack([S, 2 * S])
ONE = pt.minimum(pt.constant(np.int8(1)), 2)  # known only to those who compute it


def linalg(name):
    """PyTensor moved these between modules."""
    for module in ("pytensor.tensor.linalg", "pytensor.tensor.slinalg", "pytensor.tensor.nlinalg"):
        found = getattr(pytest.importorskip(module), name, None)
        if found is not None:
            return found
    raise AttributeError(name)


ELEMENTWISE = [
    *UNARY, "sigmoid", "softplus", "sqr", "sign", "ceil", "floor", "trunc", "round", "erf", "erfc", "erfcx", "gamma",
    "gammaln", "digamma", "tri_gamma", "reciprocal", "neg", "log1mexp", "isnan", "isinf", "j0", "j1", "i0", "erfinv",
]  # fmt: skip
DOMAINS = {"log1mexp": -P, **dict.fromkeys(["arcsin", "arccos", "arctanh", "erfinv"], np.tanh(A)), "arccosh": P + 1}


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_elementwise(name):
    compared(getattr(pt, name), [DOMAINS.get(name, P)], rtol=1e-8)


BINARY = [
    "add",
    "sub",
    "mul",
    "true_div",
    "int_div",
    "mod",
    "pow",
    "maximum",
    "minimum",
    "arctan2",
    "lt",
    "le",
    "gt",
    "ge",
    "eq",
    "neq",
    "gammainc",
    "gammaincc",
]


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("dtypes", [("float64", "float64"), ("float32", "int64"), ("int8", "int8"), ("int8", "int64")])
def test_binary_dtypes(name, dtypes):
    x, y = (P * 9).astype(dtypes[0]) + 1, (P[::-1] * 5).astype(dtypes[1]) + 1
    if "gammainc" in name and dtypes != ("float64", "float64"):
        return
    compared(getattr(pt, name), [x, y], rtol=1e-6 if dtypes != ("float64", "float64") else 1e-8)


@pytest.mark.parametrize(
    "build",
    [
        lambda x, y: pt.switch(x > 0, x, y),
        lambda x, y: pt.clip(x, -0.5, 0.5) + y,
        lambda x, y: pt.and_(x > 0, y > 0) | (x < y) ^ (x > 1),
        lambda x, y: pt.invert(x > y),
        lambda x, y: pt.second(x, y[0]),
        lambda x, y: x.astype("int32") // 2 + y.astype("int8") % 3,
        lambda x, y: pt.logaddexp(x, y) + pt.softplus(x),
    ],
)
def test_elementwise_of_two(build):
    compared(build, [A, B.T.copy()])


@pytest.mark.parametrize(
    "build",
    [
        lambda x: x.sum(),
        lambda x: x.sum(axis=1, keepdims=True) - x.mean(axis=0),
        lambda x: x.prod(axis=(0, 1)),
        lambda x: [x.max(axis=0), x.min(axis=1), x.argmax(axis=1), x.argmin()],
        lambda x: [(x > 0).all(axis=0), (x > 0).any(), (x > 0).sum(axis=1)],
        lambda x: [x.std(axis=1), x.var()],
        lambda x: pt.special.softmax(x, axis=1) + pt.special.log_softmax(x, axis=0),
        lambda x: pt.logsumexp(x, axis=1),
        lambda x: [pt.cumsum(x, axis=1), pt.cumprod(x), pt.cumsum(x)],
        lambda x: [pt.sort(x, axis=1), pt.argsort(x, axis=0), pt.sort(x, axis=None)],
    ],
)
def test_reductions_and_order(build):
    compared(build, [A])


@pytest.mark.parametrize(
    "build",
    [
        lambda x: x.T + x.dimshuffle(1, 0),
        lambda x: [x.reshape((2, -1)), x.flatten(), x.reshape((x.shape[1], x.shape[0])), x.ravel()[None, :, None]],
        lambda x: [x.shape, x.shape[0] + 1, pt.zeros_like(x), pt.ones((x.shape[0], 2)), pt.full((2, 3), x[0, 0])],
        lambda x: [pt.concatenate([x, x * 2], axis=1), pt.stack([x, x]), *pt.split(x, [1, 3], n_splits=2, axis=1)],
        lambda x: [
            pt.concatenate([x, x * 2], ONE),
            pt.sort(x, axis=-2),
            *pt.split(x, ONE * [1, 3], n_splits=2, axis=ONE),
        ],
        lambda x: [pt.arange(x.shape[0]), pt.eye(3, 4, 1), pt.arange(2, 9, 3), pt.tri(3), pt.eye(3, 4, ONE)],
        lambda x: [pt.diagonal(x), pt.diagonal(x, 1), pt.diag(x[0]), pt.diag(x[0], 1), pt.diag(x[0], -2)],
        lambda x: [pt.tril(x), pt.triu(x, 1), pt.repeat(x, 2, axis=0), pt.tile(x, (2, 1)), pt.roll(x, 1, axis=1)],
        lambda x: [pt.specify_shape(x, (3, None)), pt.broadcast_to(x[0], (5, 4)), pt.expand_dims(x, 1).squeeze(1)],
        lambda x: [*pt.nonzero(x > 0), pt.extra_ops.searchsorted(pt.sort(x[0]), x[1]), pt.fill_diagonal(x, 2.0)],
        lambda x: pt.outer(x[0], x[1]) @ x.T[:, :2] + pt.dot(x[:, 0], x[:, 1]),
        lambda x: pt.tensordot(x, x, axes=[[1], [1]]) + (x[:, None, :] @ x[:, :, None]).sum(),
        lambda x: pt.linalg.block_diag(x, x * 2) if hasattr(pt.linalg, "block_diag") else x,
    ],
)
def test_shapes(build):
    compared(build, [A])


@pytest.mark.parametrize(
    "build",
    [
        lambda x, i: [x[0], x[-1, 1:], x[::-1, ::2], x[:, -1], x[i[0]], x[i[0] : i[2]], x[..., 1]],
        lambda x, i: [x[i], x[:, i], x[i, i], x[i][:, i], x[i[:, None], i], x[i, 1:], x[[0, 1, 1]]],
        lambda x, i: [x[x > 0], x[x[:, 0] > -9], x[:, x[0] > 0]],
        lambda x, i: [x[1:].set(0.0), x[0].inc(x[1]), x[:, 1].set(x[:, 2]), x[i[0], i[1]].inc(2.0), x[::2].inc(1.0)],
        lambda x, i: [x[i].set(1.0), x[i].inc(x[i] * 2), x[i, i].inc(1.0), x[:, i].inc(x[:, i]), x[x > 0].set(0.0)],
        lambda x, i: [pt.take(x, i, axis=1), pt.take_along_axis(x, pt.argsort(x, axis=1), axis=1), x[None, :, 0]],
        lambda x, i: [x[i, None], x[:, None, i]] if hasattr(pt.subtensor, "AdvancedSubtensor1") else x,
    ],
)
def test_indexing(build):
    compared(build, [A, I])


@pytest.mark.parametrize(
    "build",
    [
        lambda a, b: pt.linalg.cholesky(a),
        lambda a, b: linalg("solve")(a, b),
        lambda a, b: linalg("solve")(a, b, assume_a="pos"),
        lambda a, b: linalg("solve")(a, b, assume_a="sym", lower=True),
        lambda a, b: linalg("solve")(a, b[:, 0]),
        lambda a, b: linalg("solve_triangular")(a, b, lower=True),
        lambda a, b: linalg("solve_triangular")(a, b[:, 0], lower=True, trans=1),
        lambda a, b: linalg("cho_solve")((pt.linalg.cholesky(a), True), b),
        lambda a, b: [pt.linalg.inv(a), pt.linalg.det(a), *pt.linalg.slogdet(a)],
        lambda a, b: linalg("eigh")(a)[0],
        lambda a, b: [linalg("svd")(a, full_matrices=False)[1], linalg("expm")(a / 9)],
        lambda a, b: linalg("kron")(a, a[:2]),
    ],
)
def test_linear_algebra(build):
    compared(build, [S, B[:3, :2]], rtol=1e-8)


@pytest.mark.parametrize(
    "build",
    [
        lambda a, b: pt.linalg.cholesky(a),
        lambda a, b: linalg("solve_triangular")(a, b, lower=True),
        lambda a, b: linalg("solve_triangular")(a, b[:, :, 0], lower=True, b_ndim=1),
        lambda a, b: linalg("solve")(pt.specify_shape(a[:1], (1, None, None)), b, b_ndim=2),
        lambda a, b: a @ b,
        lambda a, b: pt.linalg.inv(a),
        lambda a, b: pt.vectorize(lambda x: pt.diag(x[0]) @ x, signature="(m,m)->(m,m)")(a),
        lambda a, b: pt.vectorize(lambda x, i: x[:, 0].set(i.sum()), signature="(m,m),(m,n)->(m,m)")(a, b),
    ],
)
def test_blockwise(build):
    compared(build, [BATCH, RNG.normal(size=(2, 3, 2))], rtol=1e-8)


def test_what_fails_is_nan_as_in_pytensor():
    bad = np.stack([S, -S, np.zeros((3, 3))])
    compared(lambda a: pt.linalg.cholesky(a), [bad])
    compared(lambda a: linalg("solve_triangular")(a, a, lower=True), [bad])
    singular = np.zeros((3, 3))
    got = compared(lambda a: [linalg("solve")(a, a), pt.linalg.cholesky(a)], [singular])
    assert all(np.isnan(g).all() for g in got[:2])


# ---------------------------------------------------------------------- loops and choices
def until(condition):
    from pytensor.scan.utils import until as made

    return made(condition)


def scan(*given, **more):
    return pytensor.scan(*given, return_updates=False, **more)


@pytest.mark.parametrize(
    "build",
    [
        lambda x: scan(lambda row, total: total * 0.5 + row, sequences=x, outputs_info=pt.zeros(4)),
        lambda x: scan(lambda row: row**2, sequences=x),
        lambda x: scan(
            lambda a, b: pt.tanh(a + 0.3 * b), outputs_info=[{"initial": x[:2], "taps": [-2, -1]}], n_steps=5
        ),
        lambda x: scan(lambda a: a * 0.9, outputs_info=x[0], n_steps=6)[-1],
        lambda x: scan(lambda a: (a * 2, until(a.sum() > 50)), outputs_info=pt.abs(x[0]), n_steps=99),
        lambda x: scan(lambda a, b: a + b, sequences=[{"input": x, "taps": [0, 1]}]),
        lambda x: scan(lambda r, m: (r.sum() + m, r * m), sequences=x, outputs_info=[pt.zeros(()), None])[1],
        lambda x: scan(lambda r, s: r * s, sequences=x, outputs_info=x[0], go_backwards=True),
        lambda x: scan(lambda r: scan(lambda e, t: t + e**2, sequences=r, outputs_info=r[0])[-1], sequences=x),
    ],
)
def test_scan(build):
    values = [A]
    if "until" in build.__code__.co_names:
        x = pt.dmatrix()
        got = [pytensor.function([x], build(x), mode=m)(A) for m in ("FAST_COMPILE", "TERMGRAPH")]
        np.testing.assert_allclose(*got)
        return
    compared(build, values)


def test_complex_numbers():
    x, y = pt.dvectors("x", "y")
    made = [pt.cast(x, "complex128") * 1j, pt.abs(x + 1j * y), (x + 1j * y).imag, pt.angle(x + 1j * y), pt.conj(1j * x)]
    want, got = (pytensor.function([x, y], made, mode=m)(V, V[::-1].copy()) for m in ("FAST_COMPILE", "TERMGRAPH"))
    for w, g in zip(want, got):
        np.testing.assert_allclose(g, w, rtol=1e-14)


def test_ifelse_computes_one_side():
    from pytensor.ifelse import ifelse

    c, x = pt.iscalar("c"), pt.dvector("x")
    f = pytensor.function([c, x], ifelse(c, x.sum(), pt.prod(x)), mode="TERMGRAPH")
    assert f(1, V) == V.sum() and f(0, V) == V.prod()


def test_checks_raise_what_pytensor_raises():
    from pytensor.raise_op import CheckAndRaise

    x = pt.dvector("x")
    f = pytensor.function([x], CheckAndRaise(ZeroDivisionError, "all positive")(x, (x > 0).all()), mode="TERMGRAPH")
    np.testing.assert_array_equal(f(P[0]), P[0])
    with pytest.raises(ZeroDivisionError, match="all positive"):
        f(-P[0])


def test_graphs_inside_ops_are_inlined():
    from pytensor.compile.builders import OpFromGraph

    x, y = pt.dvectors("x", "y")
    op = OpFromGraph([x, y], [x * y + 1, x - y])
    compared(lambda a: op(a[0], a[1]), [A])


# ---------------------------------------------------------------------- values that are not arrays
def test_random_numbers_are_pytensors_own_and_the_generator_moves_on():
    draws = []
    for mode in ("FAST_COMPILE", "TERMGRAPH"):
        rng = pytensor.shared(np.random.default_rng(3))
        next_rng, x = pt.random.normal(1.0, 2.0, size=(2, 3), rng=rng).owner.outputs
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            f = pytensor.function([], x * 2, updates={rng: next_rng}, mode=mode)
        draws.append([f(), f()])
    np.testing.assert_array_equal(*draws)
    assert not np.array_equal(*draws[0])


def test_shared_variables_may_change_their_value_and_shape():
    w = pytensor.shared(np.ones(3), name="w", shape=(None,))
    f = pytensor.function([], w.sum(), updates={w: w * 2}, mode="TERMGRAPH")
    assert f() == 3 and f() == 6
    w.set_value(np.ones(5))
    assert f() == 5


def test_what_has_no_counterpart_is_called_with_one_warning():
    from pytensor.compile.ops import as_op

    class Halves(pytensor.graph.op.Op):
        __props__ = ()

        def make_node(self, x):
            return pytensor.graph.basic.Apply(self, [x], [x.type(), pt.lscalar()])

        def perform(self, node, inputs, outputs):
            outputs[0][0], outputs[1][0] = inputs[0] / 2, np.asarray(len(inputs[0]))

    x = pt.dvector("x")
    with pytest.warns(UserWarning, match="no counterpart of PyTensor's Halves"):
        f = pytensor.function([x], [o * 2 for o in Halves()(pt.exp(x))], mode="TERMGRAPH")
    half, n = f(V)
    np.testing.assert_allclose(half, np.exp(V))
    assert n == 6
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pytensor.function([x], Halves()(x), mode="TERMGRAPH")
    with pytest.raises(bridge.BridgeError, match="strict=True"):
        compared(lambda v: Halves()(v)[0], [V])
    middle = as_op([pt.dvector], [pt.dscalar])(lambda v: np.asarray(np.median(v)))
    assert pytensor.function([x], middle(x) + 1, mode="TERMGRAPH")(V) == 1.5


def test_incomplete_functions():
    values = np.array([0.1, 0.6, 0.95])
    compared(lambda x: [pt.betainc(2.0, x + 1, x), pt.gammau(2.0, x), pt.gammal(x, 3.0)], [values], rtol=1e-8)


@pytest.mark.parametrize("mode", ["full", "valid"])
def test_convolution_of_vectors(mode):
    signal = pytest.importorskip("pytensor.tensor.signal")
    compared(lambda x: signal.convolve1d(x[0], x[1, :2], mode=mode), [A])
    compared(lambda x: signal.convolve1d(x[1, :2], x[0], mode=mode), [A])


def test_inverses_and_bessel_functions():
    compared(lambda x: [pt.gammainccinv(2.0, x), pt.gammaincinv(2.0, x), pt.betaincinv(2.0, 1.5, x)], [SHARES])
    compared(lambda x: [pt.ive(2.0, x), pt.kve(1.5, x), pt.owens_t(x, 0.5)], [SHARES])
    shapes = [pt.constant(np.float64(v)) for v in (1.5, 2.0, 2.5)]
    compared(lambda x: pt.hyp2f1(*shapes, x), [SHARES])


def test_lu_factors():
    a = np.arange(27.0).reshape(3, 3, 3) % 5 + 2 * np.eye(3)
    compared(lambda x: [*pt.linalg.lu(x), *pt.linalg.lu(x, permute_l=True), *pt.linalg.lu(x, p_indices=True)], [a])
    compared(lambda x: [pt.linalg.lu_solve(pt.linalg.lu_factor(x[0]), x[1]), *pt.linalg.lu_factor(x[0])], [a])
    compared(lambda x: list(pt.linalg.lu_factor(x[0] * 0)), [a])


# ---------------------------------------------------------------------- errors, names, results
def test_errors_name_the_users_variable():
    x, y = pt.dvector("weights"), pt.dvector("heights")
    f = pytensor.function([x, y], x + y, mode="TERMGRAPH")
    with pytest.raises(ValueError, match="weights|heights"):
        f(np.ones(3), np.ones(2))


def test_results_own_their_memory():
    x = pt.dvector("x")
    f = pytensor.function([x], [x * 2, x], mode="TERMGRAPH")
    first, same = f(V)
    kept = first.copy()
    f(V * 5)
    np.testing.assert_array_equal(first, kept)
    same[0] = 99.0
    assert V[0] == 0.5


def test_the_flag_takes_the_modes_name():
    with pytensor.config.change_flags(mode="TERMGRAPH"):
        x = pt.dvector("x")
        f = pytensor.function([x], x.sum())
        assert isinstance(f.maker.linker, bridge.TermgraphLinker) and f(V) == V.sum()
    with pytest.raises(ValueError):
        pytensor.config.mode = "TERMGRAF"


def test_options_belong_to_the_linker_and_survive_pymcs_copies():
    linker = bridge.TermgraphLinker(mode="FAST_COMPILE", strict=True)
    mode = pytensor.compile.mode.Mode(linker, pytensor.compile.mode.OPT_MINIMUM)
    x = pt.dvector("x")
    f, g = (pytensor.function([x], x * k, mode=mode.including("merge")) for k in (2, 3))
    for made in (f, g, f.copy()):
        assert made.maker.linker.mode == "FAST_COMPILE" and made.maker.linker.strict
    assert f(V)[0] == 1.0 and g(V)[0] == 1.5


def test_functions_travel():
    pickle = pytest.importorskip("cloudpickle")
    x = pt.dvector("x")
    f = pytensor.function([x], pt.exp(x), mode="TERMGRAPH")
    np.testing.assert_allclose(pickle.loads(pickle.dumps(f))(V), np.exp(V))


def test_every_property_of_an_op_is_read():
    """A converter that ignores a property would convert other ops than it means; then the op is called instead."""
    listed = [op for op in vars(pt).values() if isinstance(op, pytensor.graph.op.Op)]
    listed += [
        pt.linalg.cholesky.__globals__["Cholesky"]() if "Cholesky" in pt.linalg.cholesky.__globals__ else listed[0]
    ]
    known = [(op, row_of(op)) for op in listed]
    assert sum(row is not None for _, row in known) > 100
    assert [(op, unread(op, row[1])) for op, row in known if row and unread(op, row[1])] == []
    assert "Scan" in CONVERTERS and len(CONVERTERS) > 70
