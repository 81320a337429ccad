"""Theano's functions called with Theano's argument names, and in Theano's order."""

import numpy as np
import pytest

import termgraph.theano as theano
import termgraph.theano.tensor as T

X = np.array([[3.0, -1.5, 2.5], [0.5, 7.0, -4.0]])
V, K = np.array([2.0, 5.0, 1.0]), np.array([1, 0, 1])

CASES = {
    "sum": (lambda x, v, k: T.sum(input=x, axis=0, acc_dtype="float64"), X.sum(axis=0)),
    "prod": (lambda x, v, k: T.prod(input=x, axis=1, no_zeros_in_input=True), X.prod(axis=1)),
    "mean": (lambda x, v, k: T.mean(input=x, axis=0, op=False), X.mean(axis=0)),
    "mean in order": (lambda x, v, k: T.mean(x, 1, None, False, True), X.mean(axis=1, keepdims=True)),
    "var": (lambda x, v, k: T.var(x, 0, 1), X.var(axis=0, ddof=1)),
    "var by name": (lambda x, v, k: T.var(input=x, axis=0, ddof=1, corrected=True), X.var(axis=0, ddof=1)),
    "std": (lambda x, v, k: T.std(x, 1, 1, True), X.std(axis=1, ddof=1, keepdims=True)),
    "max_and_argmax": (lambda x, v, k: T.max_and_argmax(a=x, axis=1)[1], X.argmax(axis=1)),
    "ptp": (lambda x, v, k: T.ptp(a=x, axis=0), np.ptp(X, axis=0)),
    "topk": (lambda x, v, k: T.topk(v, kth=2, idx_dtype="int32").sum(), 7.0),
    "sort": (lambda x, v, k: T.sort(x, -1, kind="quicksort", order=None), np.sort(X)),
    "argsort": (lambda x, v, k: T.argsort(v, axis=0, order=None), np.argsort(V)),
    "concatenate": (lambda x, v, k: T.concatenate(tensor_list=[x, x], axis=1), np.hstack([X, X])),
    "split": (lambda x, v, k: T.split(x=v, splits_size=[1, 2], n_splits=2, axis=0)[1], V[1:]),
    "ones_like": (lambda x, v, k: T.ones_like(model=x, dtype="float32", opt=True), np.ones((2, 3), "float32")),
    "zeros_like": (lambda x, v, k: T.zeros_like(model=v, opt=False), np.zeros(3)),
    "tri": (lambda x, v, k: T.tri(N=2, M=3, k=1), np.tri(2, 3, 1)),
    "tril": (lambda x, v, k: T.tril(m=x, k=0), np.tril(X)),
    "triu": (lambda x, v, k: T.triu(m=x, k=1), np.triu(X, 1)),
    "diag": (lambda x, v, k: T.diag(v=v, k=1), np.diag(V, 1)),
    "diagonal": (lambda x, v, k: T.diagonal(a=x, offset=1, axis1=0, axis2=1), np.diagonal(X, 1)),
    "outer": (lambda x, v, k: T.outer(x=v, y=v), np.outer(V, V)),
    "flatten": (lambda x, v, k: T.flatten(x, outdim=1), X.ravel()),
    "shape_padleft": (lambda x, v, k: T.shape_padleft(t=v, n_ones=2), V[None, None]),
    "shape_padright": (lambda x, v, k: T.shape_padright(t=v), V[:, None]),
    "shape_padaxis": (lambda x, v, k: T.shape_padaxis(t=x, axis=1), X[:, None]),
    "swapaxes": (lambda x, v, k: T.swapaxes(y=x, axis1=0, axis2=1), X.T),
    "compress": (lambda x, v, k: T.extra_ops.compress(condition=[True, False, True], x=x, axis=1), X[:, ::2]),
    "searchsorted": (lambda x, v, k: T.searchsorted(x=T.sort(v), v=v, side="right"), np.array([2, 3, 1])),
    "choose": (lambda x, v, k: T.choose(k, [v, -v], None, "wrap"), np.choose(K, [V, -V], mode="wrap")),
    "round": (lambda x, v, k: T.round(a=x, mode="half_away_from_zero"), np.trunc(X + np.sign(X) * 0.5)),
    "round in order": (lambda x, v, k: T.round(x, "half_to_even"), np.round(X)),
    "iround": (lambda x, v, k: T.iround(x, mode="half_to_even"), np.round(X).astype("int64")),
    "vertical_stack": (lambda x, v, k: T.vertical_stack(x, x), np.vstack([X, X])),
    "horizontal_stack": (lambda x, v, k: T.horizontal_stack(x, x, x), np.hstack([X, X, X])),
}


@pytest.mark.parametrize("name", CASES)
def test_theanos_words_and_order(name):
    build, wanted = CASES[name]
    x, v, k = T.dmatrix("x"), T.dvector("v"), T.lvector("k")
    found = theano.function([x, v, k], build(x, v, k), on_unused_input="ignore")(X, V, K)
    np.testing.assert_array_equal(found, wanted)
    assert found.dtype == np.asarray(wanted).dtype


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda x: T.choose(T.lvector(), [x, x], out=x), "out must be None"),
        (lambda x: T.sort(x, order="f"), "order"),
        (lambda x: T.horizontal_stack([x, x]), "one argument each"),
        (lambda x: T.sum(inputs=x), "inputs"),
    ],
)
def test_what_theano_refuses_is_refused(call, words):
    with pytest.raises(TypeError, match=words):
        call(T.dmatrix())


def test_rounding_names_its_modes():
    with pytest.raises(ValueError, match="half_away_from_zero"):
        T.round(T.dvector(), "half_up")


def test_numbers_leave_float32_programs_in_float32():
    with theano.change_flags(floatX="float32"):
        one, g, learned = T.constant(1), T.fvector("g"), theano.shared(np.zeros(3, "float32"))
        step = 0.9 * learned + (one - 0.9) * g**2  # Adam's second moment, as Lasagne writes it
        assert step.dtype == "float32" and (0.5 / one).dtype == (T.constant(300) * 0.5).dtype == "float32"
        assert T.switch(g > 0, 1.0, 0.01).dtype == T.switch(g > 0, g, 0.0).dtype == "float32"
        theano.function([g], [], updates=[(learned, step)])(np.ones(3, "float32"))
        np.testing.assert_allclose(learned.get_value(), 0.1, rtol=1e-6)
    with theano.change_flags(floatX="float64"):
        assert (T.constant(1) - 0.9).dtype == "float64" and T.switch(T.dvector() > 0, 1.0, 0.1).dtype == "float64"
        assert float((T.constant(7) // 2.0).eval()) == 3.0 and float((2.5 - T.constant(1)).eval()) == 1.5
