"""`tg.vmap`: the same numbers as the function gives for one example after the other, and no needless loop."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph import sparse
from termgraph.backends.c.build.compilers import find_compiler
from termgraph.terms.errors import GraphError, ShapeError, TypeMismatch
from termgraph.terms.traverse import subterms

needs_c = pytest.mark.skipif(find_compiler() is None, reason="no C compiler on this machine")
RNG = np.random.default_rng(3)
WEIGHTS = RNG.normal(size=(3, 3))


def normal(*shape):
    return RNG.normal(size=shape)


def whole(high, *shape):
    return RNG.integers(0, high, shape)


def spd(*shape):
    a = normal(*shape)
    return a @ a.swapaxes(-1, -2) + 3 * np.eye(shape[-1])


def listed(result):
    return list(result) if isinstance(result, (tuple, list)) else [result]


def mapped(fn, arrays, axes):
    inputs = [T.TensorType(a.dtype.name, (None,) * a.ndim)() for a in arrays]
    return inputs, listed(tg.vmap(fn, axes)(*inputs))


def one_by_one(fn, arrays, axes):
    inputs = [T.TensorType(a.dtype.name, (None,) * (a.ndim - (k is not None)))() for a, k in zip(arrays, axes)]
    f = tg.function(inputs, listed(fn(*inputs)), mode="FAST_COMPILE", on_unused_input="ignore")
    n = next(a.shape[k] for a, k in zip(arrays, axes) if k is not None)
    rows = [f(*[a if k is None else np.take(a, i, k) for a, k in zip(arrays, axes)]) for i in range(n)]
    return [np.stack(column) for column in zip(*rows)]


def has_loop(outputs):
    return any(t.op.family.name == "loop" for t in subterms([v.term for v in outputs]))


def agrees(fn, *arrays, axes=None, loop=False, mode="FAST_COMPILE"):
    axes = axes or (0,) * len(arrays)
    inputs, outputs = mapped(fn, arrays, axes)
    assert has_loop(outputs) == loop
    found = tg.function(inputs, outputs, mode=mode, on_unused_input="ignore")(*arrays)
    for a, b in zip(found, one_by_one(fn, arrays, axes), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


ELEMENTS = {
    "same rank": (lambda x, y: x * y + 1, [normal(4, 3), normal(4, 3)], None),
    "lower rank": (lambda x, y: x * y, [normal(4, 2, 3), normal(4, 3)], None),
    "scalars": (lambda x, y: T.maximum(x, y), [normal(4, 3), normal(4)], None),
    "shared operand": (lambda x, y: x * y, [normal(4, 3), normal(3)], (0, None)),
    "other axes": (lambda x, y: (x * y).sum(), [normal(3, 4), normal(4, 3)], (1, -2)),
    "masks": (lambda x, c: T.switch(c > 0, x, -x), [normal(4, 3), normal(4)], None),
    "conditions": (lambda x, c: tg.ifelse(c > 0, x, -x), [normal(4, 3), normal(4)], None),
    "one condition": (lambda x, c: tg.ifelse(c > 0, x, x * 0), [normal(4, 3), np.array(1.0)], (0, None)),
    "no lanes in it": (lambda x: (x, T.ones((2,))), [normal(4, 3)], None),
    "declared": (lambda x: T.sqrt(T.assume(x, positive=True, sorted=True)), [abs(normal(4, 3))], None),
}
AXES = {
    "sums": (lambda x: (x.sum(), x.mean(0), x.max(1), x.var(), x.prod((0, 1))), [normal(4, 2, 3)], None),
    "places": (lambda x: (x.argmax(), x.argmax(0), x.argmin(-1)), [normal(4, 2, 3)], None),
    "along": (lambda x: (T.nnet.softmax(x, axis=-1), x.cumsum(0), T.logsumexp(x, axis=1)), [normal(4, 2, 3)], None),
    "normalised": (lambda x: (x - x.mean()) / T.sqrt(x.var() + 1e-5), [normal(4, 7)], None),
    "empty": (lambda x: x.sum(), [normal(3, 0)], None),
    "no examples": (lambda x: x * x.shape[0], [normal(4, 3)], None),
    "sorted": (lambda x: (T.sort(x, axis=0), T.argsort(x, axis=-1)), [normal(4, 2, 3)], None),
    "one table": (lambda t, x: T.searchsorted(t, x), [np.sort(normal(5)), normal(4, 2)], (None, 0)),
    "spectra": (lambda x: abs(T.fft.rfft(x)), [normal(4, 8)], None),
}
SHAPES = {
    "orders": (lambda x: (x.T, x[None], x.dimshuffle(1, "x", 0), T.diagonal(x)), [normal(4, 2, 3)], None),
    "reshaped": (lambda x: (x.reshape((3, 2)), x.flatten(), x.reshape((-1,))), [normal(4, 2, 3)], None),
    "lengths": (lambda x: (x.shape[0] * x, T.zeros_like(x), T.ones((2,)) * x.sum()), [normal(4, 2, 3)], None),
    "stacked": (lambda x: T.stack([x.sum(), x.max(), 1.0]), [normal(4, 2, 3)], None),
    "joined": (lambda x, y: T.concatenate([x, y], axis=1), [normal(4, 2, 3), normal(2, 3)], (0, None)),
    "copied": (lambda x: (T.tril(x), T.roll(x, 1, 0), T.tile(x, (2, 1))), [normal(4, 3, 3)], None),
    "promised": (lambda x: T.specify_shape(x, (2, None)), [normal(4, 2, 3)], None),
}
INDICES = {
    "slices": (lambda x: (x[0], x[:, 1], x[::-1], x[1:, None], x[-1, -1]), [normal(4, 2, 3)], None),
    "own place": (lambda x, k: (x[k], x[:, k], x[k, 1], x[k, :2]), [normal(4, 2, 3), whole(2, 4)], None),
    "own place in one": (lambda x, k: (x[k], x[:, k]), [normal(2, 3), whole(2, 4)], (None, 0)),
    "one place": (lambda x, k: (x[k], x[:, k]), [normal(4, 2, 3), np.array(1)], (0, None)),
    "own places": (lambda x, k: (x[k], x[:, k]), [normal(4, 5, 3), whole(3, 4, 2)], None),
    "embedding": (lambda x, k: (x[k], x[:, k], x[k, k]), [normal(5, 6), whole(5, 4, 2)], (None, 0)),
    "two arrays": (
        lambda x, k, m: (x[k, m], x[k, :, m], x[:, k, m]),
        [normal(4, 5, 6, 7), whole(5, 4, 2), whole(5, 4, 1, 2)],
        None,
    ),
    "shared arrays": (
        lambda x, k, m: (x[k, m], x[k, :, m], x[:, k, m], x[:, k]),
        [normal(4, 5, 6, 7), whole(5, 2), whole(5, 1, 2)],
        (0, None, None),
    ),
    "one of two": (
        lambda x, k, m: (x[k, m], x[k, :, m], x[1:, k]),
        [normal(4, 5, 6, 7), whole(5, 2), whole(5, 4, 1, 2)],
        (0, None, 0),
    ),
    "array and number": (
        lambda x, k, m: (x[k, 1], x[k, :, m]),
        [normal(4, 5, 6, 7), whole(5, 4, 2), whole(5, 4)],
        None,
    ),
    "written": (
        lambda x, y: (T.set_subtensor(x[1], y), T.inc_subtensor(x[:, 0], 1.0)),
        [normal(4, 2, 3), normal(4, 3)],
        None,
    ),
    "written in one": (lambda x, y: T.set_subtensor(x[1], y), [normal(2, 3), normal(4, 3)], (None, 0)),
    "written at own place": (
        lambda x, y, k: (T.set_subtensor(x[k], y), T.inc_subtensor(x[k], y)),
        [normal(4, 2, 3), normal(4, 3), whole(2, 4)],
        None,
    ),
    "written at own places": (
        lambda x, y, k: T.inc_subtensor(x[k], y),
        [normal(4, 3, 3), normal(4, 2, 3), whole(3, 4, 2)],
        None,
    ),
    "written at places": (
        lambda x, y, k: (T.inc_subtensor(x[k], y), T.set_subtensor(x[:, k], 1.0)),
        [normal(4, 3, 3), normal(4, 2, 3), whole(2, 2)],
        (0, 0, None),
    ),
}
MATRICES = {
    "stacks": (T.matmul, [normal(4, 6, 2, 3), normal(4, 3, 5)], None),
    "one stack": (T.matmul, [normal(6, 2, 3), normal(4, 3, 5)], (None, 0)),
    "decomposed": (
        lambda a: (T.linalg.inv(a), T.linalg.det(a), T.linalg.cholesky(a), *T.linalg.slogdet(a)),
        [spd(4, 3, 3)],
        None,
    ),
    "solved": (T.linalg.solve, [spd(4, 3, 3), normal(4, 3)], None),
    "one system": (T.linalg.solve, [spd(3, 3), normal(4, 3, 2)], (None, 0)),
    "spelled": (lambda a, b: T.einsum("ij,jk->ik", a, b), [normal(4, 2, 3), normal(4, 3, 5)], None),
}
IMAGES = {
    "images": (lambda x, w: T.nnet.conv2d(x, w), [normal(4, 2, 3, 6, 5), normal(2, 3, 3, 2)], (0, None)),
    "gradients of images": (
        lambda x, w: tg.grad((T.nnet.conv2d(x, w, border_mode="half") ** 2).sum(), x),
        [normal(4, 2, 3, 6, 5), normal(2, 3, 3, 3)],
        (0, None),
    ),
}
COUNTS = {
    "below": (lambda v: T.bincount(v.reshape((3, -1)).argmin(axis=0), minlength=3), [normal(4, 6)], None),
    "clipped": (lambda i: T.bincount(T.clip(i, 0, 3), minlength=4), [np.arange(12).reshape(4, 3) - 2], None),
    "none": (lambda i: T.bincount(i % 4, minlength=6), [np.zeros((4, 0), int)], None),
    **{
        f"weighed {axes}": (lambda i, w: T.bincount(i % 4, w, minlength=5), [np.arange(12).reshape(4, 3), w], axes)
        for axes, w in (((0, 0), normal(4, 3)), ((0, None), normal(3)), ((1, 0), normal(3, 4)))
    },
}
GRADIENTS = {
    "each": (lambda x: tg.grad((T.tanh(x) ** 2).sum(), x), [normal(4, 3)], None),
    "nested": (lambda m, k: tg.vmap(lambda v: v * k)(m), [normal(4, 2, 3), normal(4)], None),
}
CASES = {**ELEMENTS, **AXES, **SHAPES, **INDICES, **MATRICES, **IMAGES, **COUNTS, **GRADIENTS}


@pytest.mark.parametrize("case", CASES)
def test_the_same_as_one_after_the_other(case):
    fn, arrays, axes = CASES[case]
    agrees(fn, *arrays, axes=axes)


@pytest.mark.parametrize("left", [(3,), (2, 3)])
@pytest.mark.parametrize("right", [(3,), (3, 5)])
@pytest.mark.parametrize("axes", [(0, 0), (0, None), (None, 0)])
def test_dot(left, right, axes):
    arrays = [normal(*(4,) * (axis == 0), *shape) for shape, axis in zip((left, right), axes)]
    agrees(T.dot, *arrays, axes=axes)


LOOPS = {
    "results": (lambda x: tg.scan(lambda a, h: T.tanh(a + h), sequences=x, outputs_info=0.0)[0], [normal(4, 6)]),
    "carries": (
        lambda x, h: tg.scan(lambda a, h: T.tanh(a + WEIGHTS @ h), sequences=x, outputs_info=h)[0][-1],
        [normal(4, 6, 3), normal(4, 3)],
    ),
    "a carry that becomes wide": (lambda x: tg.loop(lambda c, a: (c + a, c), T.zeros((3,)), x), [normal(4, 6, 3)]),
    "steps without sequences": (
        lambda h: tg.scan(lambda h: T.tanh(WEIGHTS @ h), outputs_info=h, n_steps=5)[0][-1],
        [normal(4, 3)],
    ),
    "gradients": (
        lambda x: tg.grad(tg.scan(lambda a, h: T.tanh(a * h + 1), sequences=x, outputs_info=0.1)[0][-1], x),
        [normal(4, 6)],
    ),
    "own end": (
        lambda x: tg.loop(lambda c, _: (c * 2, None, tg.until(c > 10)), x, length=20)[0],
        [abs(normal(4)) + 0.1],
    ),
    "last row of those that end by themselves": (
        lambda x: tg.scan(lambda a, h: (h + a * h, tg.until(a > 0.5)), sequences=x, outputs_info=1.0)[0][-1] * 2,
        [normal(4, 6)],
    ),
    "common end": (
        lambda x: tg.loop(lambda c, _: ((c[0] * 2, c[1] + 1), c[0], tg.until(c[1] > 3)), (x, 0), length=20)[0][0],
        [normal(4)],
    ),
}


@pytest.mark.parametrize("case", LOOPS)
def test_loops(case):
    fn, arrays = LOOPS[case]
    agrees(fn, *arrays, loop=True)


def root_of(x):
    """Newton's steps, of which each number needs as many as it needs; the steps, and how many."""
    (r, k), _ = tg.scan(
        lambda r, k: ([0.5 * (r + x / r), k + 1], tg.until(abs(r * r - x) < 1e-3)), outputs_info=[1.0 + 0 * x, 0],
        n_steps=40,
    )  # fmt: skip
    return r, k


def part(x, n):
    """As many steps as the example says."""
    return tg.scan(lambda a, h: T.tanh(a * h + 1), sequences=x, outputs_info=0.1, n_steps=n)[0]


OWN_STEPS = {
    "single steps": lambda x: (root_of(x)[0][-1], root_of(x)[1][-1], root_of(x)[0][0]),
    "what is made of all": lambda x: (root_of(x)[0].sum(), root_of(x)[0].shape[0], (root_of(x)[0][::-1] * 2).max()),
    "gradients": lambda x: tg.grad(root_of(x)[0][-1], x),
    "gradients of all": lambda x: tg.grad((root_of(x)[0] ** 2).sum() + x * root_of(x)[0][-1], x),
    "second ones": lambda x: tg.grad(tg.grad(root_of(x)[0][-1] ** 2, x), x),
    "one after the other": lambda x: root_of(1 + root_of(x)[0][-1] ** 2)[0].mean(),
    "within a loop": lambda x: tg.scan(lambda h: root_of(1 + h * h)[0].sum() + x, outputs_info=x, n_steps=3)[0],
}


@pytest.mark.parametrize("mode", ["None", "FAST_COMPILE"])
@pytest.mark.parametrize("case", OWN_STEPS)
def test_examples_with_numbers_of_steps_of_their_own(case, mode):
    agrees(OWN_STEPS[case], np.array([2.0, 90.0, 0.3, 5.0]), loop=True, mode=mode)


@pytest.mark.parametrize("mode", ["None", "FAST_COMPILE"])
def test_parts_as_long_as_the_example_says(mode):
    arrays = normal(4, 6), np.array([1, 6, 3, 2])
    for fn in (lambda x, n: (x[:n].sum(), x[n - 1 :].max()), lambda x, n: tg.grad((x[:n] ** 2).mean(), x)):
        agrees(fn, *arrays, loop=True, mode=mode)
    for fn in (lambda x, n: part(x, n)[-1], lambda x, n: tg.grad(part(x, n).sum(), x)):
        agrees(fn, *arrays, loop=True, mode=mode)


@pytest.mark.parametrize("mode", ["None", "FAST_RUN"])
def test_gradients_of_examples_with_numbers_of_steps_of_their_own(mode):
    a = np.array([2.0, 90.0, 0.3, 5.0])
    x, y = T.dvector("x"), T.dscalar("y")
    slopes = tg.function([x], tg.grad((tg.vmap(lambda v: root_of(v)[0][-1])(x) ** 2).sum(), x), mode=mode)
    one = tg.function([y], tg.grad(root_of(y)[0][-1] ** 2, y), mode="FAST_COMPILE")
    np.testing.assert_allclose(slopes(a), [one(v) for v in a])


def test_a_loop_over_lanes_where_there_is_no_rule():
    agrees(T.searchsorted, np.sort(normal(4, 5)), normal(4, 2), loop=True)
    agrees(lambda x: T.diag(x), normal(4, 3), loop=True)
    agrees(lambda x, w: T.nnet.conv2d(x, w), normal(4, 2, 3, 6, 5), normal(4, 2, 3, 3, 2), loop=True)


@pytest.mark.parametrize("axes", [(0, 0), (None, 0), (0, None)])
def test_least_squares_take_one_matrix_at_a_time(axes):
    a, b = [normal(5, 3) if axes[0] is None else normal(4, 5, 3)], [normal(5) if axes[1] is None else normal(4, 5)]
    agrees(lambda a, b: T.linalg.lstsq(a, b)[0], *a, *b, axes=axes, loop=True)
    agrees(lambda a, b: tg.grad((T.linalg.lstsq(a, b)[0] ** 2).sum(), a), *a, *b, axes=axes, loop=True)


def test_a_loop_over_time_stays_one_loop_over_time():
    x = T.dmatrix()
    out = tg.vmap(lambda v: tg.scan(lambda a, h: a + h, sequences=v, outputs_info=0.0)[0])(x)
    loops = [t for t in subterms([out.term]) if t.op.family.name == "loop"]
    assert len(loops) == 1 and loops[0].op.next_carries[0].type.ndim == 1


def test_compiled():
    a, b = normal(4, 3), normal(4, 2, 3)
    agrees(lambda x, y: (T.tanh(y @ x).sum(), tg.grad(T.tanh(y @ x).sum(), x)), a, b, mode="FAST_RUN")


def test_weights_that_all_share_and_their_gradient_for_each_example():
    w = tg.shared(WEIGHTS)
    x = T.dmatrix()
    per_example = tg.vmap(lambda v: tg.grad((T.tanh(w @ v) ** 2).sum(), w))(x)
    given = normal(4, 3)
    found = tg.function([x], per_example)(given)
    assert found.shape == (4, 3, 3)
    v = T.dvector()
    one = tg.function([v], tg.grad((T.tanh(w @ v) ** 2).sum(), w))
    np.testing.assert_allclose(found, [one(g) for g in given])


def test_nested_containers_and_axes_of_results():
    params, shared = {"w": T.dtensor3(), "b": T.dmatrix()}, T.dvector("x")
    layer = tg.vmap(lambda p, x: {"y": p["w"] @ x + p["b"], "x": x}, in_axes=(0, None), out_axes=(1, 0))
    out = layer(params, shared)
    assert list(out) == ["y", "x"] and out["y"].ndim == 2 and out["x"].ndim == 2
    f = tg.function([*params.values(), shared], list(out.values()))
    w, b, x = normal(4, 2, 3), normal(4, 2), normal(3)
    y, copies = f(w, b, x)
    np.testing.assert_allclose(y, (w @ x + b).T)
    assert copies.shape == (4, 3)


def test_draws_inside_are_the_same_for_all_examples():
    random = T.random.RandomStream(1)
    x = T.dmatrix()
    noise = tg.function([x], tg.vmap(lambda v: v * 0 + random.normal(size=(3,)))(x))(np.zeros((4, 3)))
    assert (noise == noise[0]).all() and len(set(noise[0])) == 3


def test_lines_of_the_function_are_kept():
    x = T.dmatrix("x")
    out = tg.vmap(lambda v: T.log(v))(x)
    assert "test_vmap.py" in str(out.site)


OF_OWN_LENGTH = {
    "the mean of some": (lambda v: v[v > 0].mean(), lambda v: v[v > 0].mean()),
    "how many there are": (lambda v: v[v > 0].shape[0], lambda v: (v > 0).sum()),
    "different values": (lambda v: T.unique(T.floor(v)).size, lambda v: np.unique(np.floor(v)).size),
    "a median of some": (lambda v: T.median(T.exp(v[v > 0])), lambda v: np.median(np.exp(v[v > 0]))),
    "written to some places": (
        lambda v: T.set_subtensor(v[(v > 0).nonzero()], v[(v > 0).nonzero()] * 2),
        lambda v: np.where(v > 0, 2 * v, v),
    ),
    "a product of some": (lambda v: T.dot(v[v > 0], v[v > 0]), lambda v: v[v > 0] @ v[v > 0]),
    "numbers below one's own": (
        lambda v: T.arange(T.cast(T.abs(v[0] * 3), "int64")).sum() + v[0],
        lambda v: np.arange(int(abs(v[0] * 3))).sum() + v[0],
    ),
    "a sparse matrix": (lambda v: sparse.dot(sparse.square_diagonal(v), v), lambda v: v * v),
    "what a sparse matrix holds": (
        lambda v: sparse.csr_from_dense(v[:, None] * v).sum(),
        lambda v: np.outer(v, v).sum(),
    ),
}


@pytest.mark.parametrize("name", OF_OWN_LENGTH)
@pytest.mark.parametrize("linker", ["py", pytest.param("auto", marks=needs_c)])
@pytest.mark.filterwarnings("ignore::termgraph.terms.errors.PythonPartWarning")
def test_lengths_of_their_own_on_the_way(name, linker):
    f, numpys = OF_OWN_LENGTH[name]
    x, v, values = T.dmatrix("x"), T.dvector("v"), np.random.default_rng(0).normal(size=(5, 7))
    mapped = tg.vmap(f)(x)
    twice = tg.vmap(tg.vmap(f))(T.stack([x, x + 1]))
    floats = mapped.type.kind == "f"
    slopes = [tg.grad(mapped.sum(), x), tg.vmap(lambda v: tg.grad(f(v).sum(), v))(x)] if floats else []
    found, pairs, *slopes = tg.function([x], [mapped, twice, *slopes], mode=tg.Mode(linker=linker))(values)
    np.testing.assert_allclose(found, np.stack([numpys(v) for v in values]))
    np.testing.assert_allclose(pairs, np.stack([[numpys(v) for v in rows] for rows in (values, values + 1)]))
    if floats:
        slope = tg.function([v], tg.grad(f(v).sum(), v), mode=tg.Mode(linker="py"))
        for found in slopes:
            np.testing.assert_allclose(found, np.stack([slope(v) for v in values]))


def test_results_of_their_own_length_are_refused():
    x, k = T.dmatrix("x"), T.lvector("k")
    for f in (lambda v: T.exp(v[v > 0]) + 1, lambda v: T.sort(v[v > 0]), lambda v: T.unique(v) * 2):
        with pytest.raises(GraphError, match="use a mask instead"):
            tg.vmap(f)(x)
    with pytest.raises(GraphError, match="its length depends on the example"):
        tg.vmap(lambda n: T.cumsum(T.arange(n)))(k)
    for f in (tg.vmap(sparse.square_diagonal), lambda x: tg.scan(sparse.square_diagonal, sequences=x)):
        with pytest.raises(TypeMismatch, match=r"result 0 of a loop is SparseType.*dense_from_sparse"):
            f(x)


def test_what_cannot_be_mapped():
    x, k = T.dmatrix("x"), T.lvector("k")
    with pytest.raises(GraphError, match="lengths depend on the example"):
        tg.vmap(lambda n: T.zeros((n,)))(k)
    with pytest.raises(GraphError, match="use a mask instead"):
        tg.vmap(lambda v: v[v > 0])(x)
    with pytest.raises(ValueError, match="no argument has examples"):
        tg.vmap(lambda v: v, in_axes=None)(x)
    with pytest.raises(ValueError, match="in_axes must be a number, None, or one for each of the 1"):
        tg.vmap(lambda v: v, in_axes=(0, 0))(x)
    with pytest.raises(ValueError, match=r"argument \[?0.* has 2 dimensions .*there is no axis 2"):
        tg.vmap(lambda v: v, in_axes=2)(x)
    with pytest.raises(ValueError, match="out_axes=3 is out of range"):
        tg.vmap(lambda v: v, out_axes=3)(x)
    with pytest.raises(TypeError, match="takes a function"):
        tg.vmap(3)
    a, b = T.TensorType("float64", (3, 2))(), T.TensorType("float64", (4, 2))()
    with pytest.raises(ShapeError, match="has 3 examples .* has 4"):
        tg.vmap(lambda p, q: p + q)(a, b)


def test_examples_that_turn_out_not_to_be_as_many():
    x, y = T.dmatrix(), T.dmatrix()
    f = tg.function([x, y], tg.vmap(lambda a, b: a + b)(x, y))
    with pytest.raises(ValueError, match="3.*4|4.*3"):
        f(np.ones((3, 2)), np.ones((4, 2)))


@pytest.mark.parametrize("linker", ["py", "c"])
def test_one_example_and_one_weight_do_not_go_with_several(linker):
    if linker == "c" and find_compiler() is None:
        pytest.skip("no C compiler")
    mode, x, values = tg.Mode(linker=linker), T.lmatrix("x"), np.array([[0, 1, 2], [2, 2, 0]])
    single, short = T.tensor("w", dtype="float64", shape=(1, None)), T.tensor("w", dtype="float64", shape=(None, 1))

    def counts(v, weights):
        return T.bincount(T.clip(v, 0, 2), weights=weights, minlength=3)

    def added(v, weights):
        return T.inc_subtensor(T.zeros(3)[T.clip(v, 0, 2)], weights)

    for mapped in (counts, added, lambda v, weights: v * weights):
        f = tg.function([x, single], tg.vmap(mapped)(x, single), mode=mode)
        assert f(values[:1], np.ones((1, 3))).shape == (1, 3)
        with pytest.raises(ShapeError, match=r"argument 0 has 2 examples \(axis 0\), argument 1 has 1"):
            f(values, np.ones((1, 3)))
    f = tg.function([x, short], tg.vmap(counts)(x, short), mode=mode)
    with pytest.raises(ShapeError, match="bincount: 3 values but 1 weights"):
        f(values, np.ones((2, 1)))
