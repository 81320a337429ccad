"""jvp, vjp, linearize, value_and_grad and eval_shape of Python functions: nested, with arguments given twice."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T


def layer(params, x):
    h = T.tanh(x @ params["w"] + params["b"])
    return {"h": h, "norms": [(h**2).sum(axis=-1)]}


def test_products_of_nested_arguments_agree_with_the_jacobian(rng):
    w, b, x = T.dmatrix("w"), T.dvector("b"), T.dmatrix("x")
    v, c, u, p = T.dmatrix("v"), T.dvector("c"), T.dmatrix("u"), T.dvector("p")
    params, zero = {"w": w, "b": b}, T.zeros_like(x)
    value, change = tg.jvp(layer, (params, x), ({"w": v, "b": c}, zero))
    again, along = tg.linearize(layer, params, x)
    _, back = tg.vjp(layer, params, x)
    slopes, by_x = back({"h": u, "norms": [p]})
    h, moved, linear = value["h"], change["norms"][0], along({"w": v, "b": c}, zero)["norms"][0]
    outs = [h, moved, linear, change["h"], slopes["w"], slopes["b"], by_x, again["h"]]
    f = tg.function([w, b, x, v, c, u, p], outs)
    at = [rng.normal(size=s) for s in ((3, 4), (4,), (2, 3), (3, 4), (4,), (2, 4), (2,))]
    h, moved, linear, dh, dw, db, dx, same = f(*at)
    np.testing.assert_allclose(moved, linear)
    np.testing.assert_array_equal(h, same)
    np.testing.assert_allclose((at[5] * dh).sum() + (at[6] * moved).sum(), (dw * at[3]).sum() + (db * at[4]).sum())
    eps = 1e-6
    far, near = [np.tanh(at[2] @ (at[0] + s * eps * at[3]) + at[1] + s * eps * at[4]) for s in (1, -1)]
    np.testing.assert_allclose(dh, (far - near) / (2 * eps), rtol=1e-6)
    assert dx.shape == (2, 3)


def test_an_argument_given_twice_or_used_from_outside_counts_once():
    x = T.dscalar("x")
    f = lambda a, b: a * b * b  # noqa: E731
    _, slopes = tg.value_and_grad(f, (0, 1))(x, x)
    _, back = tg.vjp(f, x, x)
    _, change = tg.jvp(lambda a: a * x, (x,), (1.0,))
    found = tg.function([x], [*slopes, *back(1.0), change])(3.0)
    assert [float(v) for v in found] == [9.0, 18.0, 9.0, 18.0, 3.0]


def test_numbers_may_stand_for_arguments():
    value, slope = tg.value_and_grad(lambda a: a * 2.0)(2.0)
    out, change = tg.jvp(lambda a, b: (a * b, a * 2.0), (2.0, 5.0), (1.0, 0.0))
    assert [float(v.eval()) for v in (value, slope, *out, *change)] == [4.0, 2.0, 10.0, 4.0, 5.0, 2.0]


def test_what_does_not_depend_on_an_argument_does_not_move():
    x, y = T.dvectors("x", "y")
    _, change = tg.jvp(lambda x: (x.sum(), y, T.argmax(x)), (x,), (x,))
    _, back = tg.vjp(lambda x, y: x * 2, x, y)
    found = tg.function([x, y], [*change, *back(T.ones_like(x))])([1.0, 2.0], [3.0, 4.0])
    for got, expected in zip(found, [3.0, [0, 0], 0, [2, 2], [0, 0]]):
        np.testing.assert_array_equal(got, expected)


def test_forward_over_reverse_is_the_hessian_times_a_vector(rng):
    x, v = T.dvectors("x", "v")
    cost = lambda x: (T.sin(x) * x**2).sum()  # noqa: E731
    _, found = tg.jvp(lambda x: tg.value_and_grad(cost)(x)[1], (x,), (v,))
    at, direction = rng.normal(size=4), rng.normal(size=4)
    got, expected = tg.function([x, v], [found, tg.hessian(cost(x), x) @ v])(at, direction)
    np.testing.assert_allclose(got, expected, rtol=1e-12)


def test_mapped_over_examples(rng):
    x = T.dmatrix("x")
    slopes = tg.vmap(lambda row: tg.vjp(lambda r: T.tanh(r).sum(), row)[1](1.0)[0])(x)
    value = rng.normal(size=(3, 2))
    np.testing.assert_allclose(slopes.eval({x: value}), 1 - np.tanh(value) ** 2)


def test_types_of_results():
    found = tg.eval_shape(layer, {"w": T.TensorType("float32", (3, 4)), "b": np.zeros(4, "float32")}, T.fmatrix("x"))
    assert found["h"] == T.TensorType("float32", (None, 4)) and found["norms"][0].ndim == 1


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda x: tg.jvp(T.sin, x, x), r"tg.jvp\(f, \(x,\), \(v,\)\)"),
        (lambda x: tg.jvp(T.sin, (x,), (x, x)), r"tangents must be nested as \(\*,\), got \(\*, \*\)"),
        (lambda x: tg.vjp(lambda x: (x, x), x)[1](x), r"cotangents must be nested as \(\*, \*\)"),
        (lambda x: tg.vjp(T.sin(x), x), "vjp takes a function"),
        (lambda x: tg.value_and_grad(lambda x: (x, x))(x), r"must give one number, got \(\*, \*\)"),
        (lambda x: tg.grad(x.sum()), r"write tg.grad|tg.grad\(cost, x\)"),
        (lambda x: tg.grad(lambda x: x**2), r"tg.value_and_grad\(f\) takes functions"),
    ],
)
def test_mistakes_say_what_to_write(make, words):
    with pytest.raises(TypeError, match=words):
        make(T.dvector("x"))


def test_whole_numbers_among_arguments_and_results():
    x, i = T.dvector("x"), T.lvector("i")
    pick = lambda x, i: (x[i] ** 2, T.argmax(x), i + 1)  # noqa: E731
    out, back = tg.vjp(pick, x, i)
    slope, none = back((T.ones_like(out[0]), 0, i))
    _, change = tg.jvp(pick, (x, i), (T.ones_like(x), i))
    assert none is None
    found = tg.function([x, i], [slope, *change])([1.0, 3.0, 2.0], [1, 1, 0])
    for got, expected in zip(found, [[2, 12, 0], [6, 6, 2], 0, [0, 0, 0]]):
        np.testing.assert_array_equal(got, expected)


def test_compositions_agree(rng):
    """Forward in reverse in map in a loop, as one writes it in JAX."""
    xs, v = T.dmatrix("xs"), T.dvector("v")

    def energy(x):
        last, _ = tg.loop(lambda c, r: (T.tanh(c + r * x), None), T.zeros_like(x), x)
        return (last**2).sum()

    one = lambda x: tg.jvp(lambda u: tg.vjp(energy, u)[1](1.0)[0], (x,), (v,))[1]  # noqa: E731
    stepped, _ = tg.scan(one, sequences=[xs])
    f = tg.function([xs, v], [tg.vmap(one)(xs), stepped, tg.vmap(lambda x: tg.hessian(energy(x), x) @ v)(xs)])
    mapped, stepped, whole = f(rng.normal(size=(3, 4)), rng.normal(size=4))
    np.testing.assert_allclose(mapped, whole, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(stepped, whole, rtol=1e-9, atol=1e-12)
