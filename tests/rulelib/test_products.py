"""The rules of rules/dots.py and rules/matrices.py: fired, expected form, same value; and where they stay quiet."""

import numpy as np
import pytest
from accuracy import form, optimized, quiet

import termgraph as tg
import termgraph.tensor as T
from termgraph.terms.errors import ShapeError
from termgraph.terms.evaluate import evaluate

L = T.linalg
RNG = np.random.default_rng(3)
A, B = RNG.normal(size=(4, 4)) + 3 * np.eye(4), RNG.normal(size=(4, 4)) + 2 * np.eye(4)
V, W = RNG.normal(size=4) + 2, RNG.normal(size=4)
LOWER, SPD = np.tril(A), A @ A.T + np.eye(4)
Q = np.linalg.qr(A)[0]
GRID = {"x": A, "y": B, "v": V, "w": W, "t": RNG.normal(size=(2, 4, 3)), "s": RNG.normal(size=(2, 3, 4))}


def inputs(known=False):
    return {k: T.tensor(k, dtype="float64", shape=a.shape if known else (None,) * a.ndim) for k, a in GRID.items()}


def column(v):
    return T.dimshuffle(v, 0, "x")


def rows(t):
    return t.reshape([t.shape[0] * t.shape[1], t.shape[2]])


def solved(a, b, **how):
    return T.dimshuffle(L.solve(a, column(b), **how), 0)


def assume(fact):
    return lambda x: T.assume(x, **{fact: True})


lower, upper, spd, orthogonal, diagonal = map(
    assume, ("lower_triangular", "upper_triangular", "positive_definite", "orthogonal", "diagonal")
)
DOTS = {
    "dots.vector_last": (lambda x, y, v: x @ y @ v, lambda x, y, v: x @ (y @ v)),
    "dots.vector_first": (lambda x, y, v: v @ (x @ y), lambda x, y, v: (v @ x) @ y),
    "dots.transposes": (lambda x, y: x.T @ y.T, lambda x, y: (y @ x).T),
    "dots.eye_left": (lambda x: T.eye(x.shape[0]) @ x, lambda x: x),
    "dots.eye_right": (lambda x: x @ T.eye(x.shape[1]), lambda x: x),
    "dots.eye_vector": (lambda v: T.eye(v.shape[0]) @ v, lambda v: v),
    "dots.vector_eye": (lambda v: v @ T.eye(v.shape[0]), lambda v: v),
    "dots.diag_left": (lambda v, x: T.diag(v) @ x, lambda v, x: column(v) * x),
    "dots.diag_right": (lambda v, x: x @ T.diag(v), lambda v, x: x * v),
    "dots.diag_vector": (lambda v, w: T.diag(v) @ w, lambda v, w: v * w),
    "dots.vector_diag": (lambda v, w: w @ T.diag(v), lambda v, w: w * v),
    "dots.diagonal_gram": (lambda x: T.diag(x @ x.T), lambda x: T.sum(x * x, axis=1)),
    "dots.outer_vector": (lambda v, w: T.outer(v, w) @ w, lambda v, w: v * T.dot(w, w)),
    "dots.outer_matrix": (lambda v, w, x: T.outer(v, w) @ x, lambda v, w, x: column(v) * (w @ x)),
    "dots.vector_outer": (lambda v, w: w @ T.outer(v, w), lambda v, w: T.dot(w, v) * w),
    "dots.matrix_outer": (lambda v, w, x: x @ T.outer(v, w), lambda v, w, x: column(x @ v) * w),
    "dots.sum_rows": (lambda x, y: T.sum(x @ y, axis=0), lambda x, y: T.sum(x, axis=0) @ y),
    "dots.sum_columns": (lambda x, y: T.sum(x @ y, axis=1), lambda x, y: x @ T.sum(y, axis=1)),
    "dots.sum_all": (lambda x, y: T.sum(x @ y), lambda x, y: T.sum(x, axis=0) @ T.sum(y, axis=1)),
    "dots.sum_vector": (lambda x, v: T.sum(x @ v), lambda x, v: T.sum(x, axis=0) @ v),
    "dots.sum_of_row": (lambda x, v: T.sum(v @ x), lambda x, v: v @ T.sum(x, axis=1)),
    "sums_of_products.vectors": (lambda v, w: T.sum(v * w), lambda v, w: T.dot(v, w)),
    "sums_of_products.squares": (lambda v: T.sum(v**2), lambda v: T.dot(v, v)),
    "sums_of_products.matrix_vector": (lambda x, v: T.sum(x * v, axis=1), lambda x, v: x @ v),
    "sums_of_products.vector_matrix": (lambda x, v: T.sum(x * column(v), axis=0), lambda x, v: v @ x),
    "sums_of_products.matrices": (lambda x, y: T.sum(x[:, :, None] * y[None], axis=1), lambda x, y: x @ y),
    "sums_of_products.transposed": (lambda x, y: T.sum(x[:, None, :] * y[None], axis=2), lambda x, y: x @ y.T),
    "sums_of_products.columns": (lambda x, y: T.sum(x[:, :, None] * y[:, None, :], axis=0), lambda x, y: x.T @ y),
    "sums_of_products.batches": (
        lambda t: T.sum(T.matmul(T.dimshuffle(t, 0, 2, 1), t), axis=0),
        lambda t: rows(t).T @ rows(t),
    ),
    "sums_of_products.batched": (lambda t, s: T.sum(t[:, :, :, None] * s[:, None], axis=2), T.matmul),
    "sums_of_products.batched_transposed": (
        lambda t: T.sum(t[:, :, None, :] * t[:, None], axis=3),
        lambda t: T.matmul(t, t.dimshuffle(0, 2, 1)),
    ),
}
MATRICES = {
    "undone.right": (lambda x, y: (y @ x) @ L.inv(x), lambda x, y: y),
    "undone.left": (lambda x, y: (y @ L.inv(x)) @ x, lambda x, y: y),
    "undone.signs": (lambda x, y: T.dot(-x, -y), lambda x, y: x @ y),
    "undone.sign": (lambda x: L.inv(-x), lambda x: -L.inv(x)),
    "solving.inv_dot": (lambda x, y: L.inv(x) @ y, L.solve),
    "solving.dot_inv": (lambda x, y: y @ L.inv(x), lambda x, y: L.solve(x.T, y.T).T),
    "solving.inv_vector": (lambda x, v: L.inv(x) @ v, solved),
    "solving.vector_inv": (lambda x, v: v @ L.inv(x), lambda x, v: solved(x.T, v)),
    "solving.unit_right": (lambda x: L.solve(x, T.eye(x.shape[0])), L.inv),
    "solving.unit": (lambda y: L.solve(T.eye(y.shape[0]), y), lambda y: y),
    "solving.alloc_diag": (lambda v, y: L.solve(T.diag(T.abs(v)), y), lambda v, y: y / column(T.abs(v))),
    "solving.inverse": (lambda x, y: L.solve(L.inv(x), y), lambda x, y: x @ y),
    "solving.product": (lambda x, y: L.solve(x, x @ y), lambda x, y: y),
    "solving.undone": (lambda x, y: x @ L.solve(x, y), lambda x, y: y),
    "solving.cholesky": (
        lambda x, y: L.solve(L.cholesky(x) @ L.cholesky(x).T, y),
        lambda x, y: L.solve_triangular(
            L.cholesky(x), L.solve_triangular(L.cholesky(x), y, lower=True), lower=True, trans=1
        ),
    ),
    "solving.orthogonal": (lambda x, y: L.solve(orthogonal(x), y), lambda x, y: orthogonal(x).T @ y),
    "solving.diagonal": (lambda x, y: L.solve(diagonal(x), y), lambda x, y: y / column(T.diag(diagonal(x)))),
    "solving.lower": (lambda x, y: L.inv(lower(x)) @ y, lambda x, y: L.solve_triangular(lower(x), y, lower=True)),
    "solving.upper": (lambda x, y: L.solve(upper(x.T), y), lambda x, y: L.solve_triangular(upper(x.T), y, lower=False)),
    "solving.positive": (lambda x, v: L.solve(spd(x), v), lambda x, v: solved(spd(x), v, assume_a="pos")),
    "solving.upper_transposed": (
        lambda x, y: L.solve(L.cholesky(x).T, y),
        lambda x, y: L.solve_triangular(L.cholesky(x), y, lower=True, trans="T"),
    ),
    "matrix_inverses.twice": (lambda x: L.inv(L.inv(x)), lambda x: x),
    "matrix_inverses.alloc_diag": (lambda v: L.inv(T.diag(v)), lambda v: T.diag(1 / v)),
    "matrix_inverses.orthogonal": (lambda x: L.inv(orthogonal(x)), lambda x: orthogonal(x).T),
    "matrix_inverses.pinv_orthogonal": (lambda x: L.pinv(orthogonal(x)), lambda x: orthogonal(x).T),
    "matrix_inverses.diagonal": (lambda x: L.inv(diagonal(x)), lambda x: T.diag(1 / T.diag(diagonal(x)))),
    "matrix_inverses.expm": (lambda x: L.inv(L.expm(x)), lambda x: L.expm(-x)),
    "solving.left_inverse": (lambda x: L.inv(x) @ x, lambda x: T.eye(x.shape[0], dtype=x.dtype)),
    "solving.right_inverse": (lambda x: x @ L.inv(x), lambda x: T.eye(x.shape[0], dtype=x.dtype)),
    "determinants.transposed": (lambda x: L.det(x.T), L.det),
    "determinants.inverse": (lambda x: L.det(L.inv(x)), lambda x: 1 / L.det(x)),
    "determinants.expm": (lambda x: L.det(L.expm(x)), lambda x: T.exp(T.trace(x))),
    "determinants.alloc_diag": (lambda v: L.det(T.diag(v)), T.prod),
    "determinants.lower": (lambda x: L.det(lower(x)), lambda x: T.prod(T.diag(lower(x)))),
    "determinants.upper": (lambda x: L.det(upper(x.T)), lambda x: T.prod(T.diag(upper(x.T)))),
    "determinants.log_transposed": (lambda x: L.slogdet(x.T)[1], lambda x: L.slogdet(x)[1]),
    "determinants.log_inverse": (lambda x: T.log(T.abs(L.det(L.inv(x)))), lambda x: -L.slogdet(x)[1]),
    "determinants.log_diag": (lambda v: L.slogdet(T.diag(v))[1], lambda v: T.sum(T.log(T.abs(v)))),
    "determinants.sign_diag": (lambda w: L.slogdet(T.diag(w))[0], lambda w: T.prod(T.sign(w))),
    "determinants.log_lower": (lambda x: L.slogdet(lower(x))[1], lambda x: T.sum(T.log(T.abs(T.diag(lower(x)))))),
    "determinants.sign_lower": (lambda x: L.slogdet(lower(x))[0], lambda x: T.prod(T.sign(T.diag(lower(x))))),
    "determinants.sign_positive": (lambda x: L.slogdet(spd(x))[0], lambda x: T.ones((), dtype=x.dtype)),
    "determinants.log_positive": (
        lambda x: T.log(L.det(spd(x))),
        lambda x: 2 * T.sum(T.log(T.diag(L.cholesky(spd(x))))),
    ),
    "log_determinants.log_abs": (lambda x: T.log(T.abs(L.det(x))), lambda x: L.slogdet(x)[1]),
    "log_determinants.log": (lambda x: T.log(L.det(x)), lambda x: L.slogdet(x)[1]),
    "log_determinants.sign": (lambda x: T.sign(L.det(x)), lambda x: L.slogdet(x)[0]),
    "factorizations.cholesky_diag": (
        lambda v: L.cholesky(T.diag(T.exp(v) + 1)),
        lambda v: T.diag(T.sqrt(T.exp(v) + 1)),
    ),
    "factorizations.cholesky": (lambda x: L.cholesky(spd(x)) @ L.cholesky(spd(x)).T, lambda x: spd(x)),
    "factorizations.qr": (lambda x: T.dot(*L.qr(x)), lambda x: x),
    "factorizations.expm_diag": (lambda v: L.expm(T.diag(v)), lambda v: T.diag(T.exp(v))),
    "factorizations.sum_eigenvalues": (lambda x: T.sum(L.eigvalsh(x)), T.trace),
    "factorizations.prod_eigenvalues": (lambda x: T.prod(L.eigvalsh(spd(x))), lambda x: L.det(spd(x))),
    "factorizations.squared_singular": (lambda x: T.sum(L.svdvals(x) ** 2), lambda x: T.sum(x**2)),
}
LIKE = {"lower": LOWER, "upper": LOWER, "sign_lower": LOWER, "log_lower": LOWER, "orthogonal": Q, "positive": SPD,
        "pinv_orthogonal": Q, "diagonal": np.diag(V), "cholesky": SPD, "upper_transposed": SPD, "sign_positive": SPD,
        "log_positive": SPD, "sum_eigenvalues": SPD, "prod_eigenvalues": SPD, "log": SPD}  # fmt: skip


def names_of(build):
    return build.__code__.co_varnames[: build.__code__.co_argcount]


@pytest.mark.parametrize("name", [*DOTS, *MATRICES])
def test_rule(name):
    build, expected = (DOTS | MATRICES)[name]
    names = names_of(build)
    given = {k: GRID[k] for k in names}
    if "x" in given:
        given["x"] = LIKE.get(name.partition(".")[2], A)
    for known in (False, True):
        handles = inputs(known)
        used = [handles[k] for k in names]
        old = build(*used)
        new, fired = optimized(old)
        assert name in fired, f"{old.term} became {new.term} by {fired}"
        want = optimized(expected(*used))[0]
        plain = expected(*used)  # a unit matrix of known size is folded in an expression of its own
        assert form(new) in (form(want), form(plain)), f"expected {want.term}, got {new.term} by {fired}"
        was, now = evaluate([old, new], {handles[k]: a for k, a in given.items()})
        assert was.shape == now.shape and was.dtype == now.dtype
        np.testing.assert_allclose(now, was, rtol=1e-9, atol=1e-9)


def test_static_lengths_choose_the_order():
    a, b, c = (T.tensor(n, dtype="float64", shape=s) for n, s in (("a", (9, 2)), ("b", (2, 9)), ("c", (9, 3))))
    new, fired = optimized((a @ b) @ c)
    assert "dots.right_first" in fired and new.term is (a @ (b @ c)).term
    new, fired = optimized(b @ (a @ T.tensor("d", dtype="float64", shape=(2, 50))))
    assert "dots.left_first" in fired
    column_, row = T.tensor("p", dtype="float64", shape=(5, 1)), T.tensor("q", dtype="float64", shape=(1, 4))
    new, fired = optimized(column_ @ row)
    assert "dots.column_row" in fired and new.term is (column_ * row).term


def test_square_matrices_of_known_size():
    x, y = T.tensor("x", dtype="float64", shape=(2, 2)), T.tensor("y", dtype="float64", shape=(3, 3))
    a, b = A[:2, :2], B[:3, :3]
    k = T.kron(x, y)
    for name, old in (
        ("matrix_inverses.kron", L.inv(k)),
        ("determinants.product", L.det(x @ L.expm(x))),
        ("determinants.log_product", L.slogdet(y @ L.expm(y))[1]),
        ("dots.diagonal", T.trace(x @ x)),
    ):
        new, fired = optimized(old)
        assert name in fired, f"{old.term} became {new.term} by {fired}"
        was, now = evaluate([old, new], {x: a, y: b})
        np.testing.assert_allclose(now, was, rtol=1e-9)


def test_units_of_unknown_size():
    n = T.lscalar("n")
    for old, name, want in (
        (L.inv(T.eye(n)), "matrix_inverses.unit", np.eye(3)),
        (L.det(T.eye(n)), "determinants.unit", 1.0),
        (L.cholesky(T.eye(n)), "factorizations.cholesky_unit", np.eye(3)),
    ):
        new, fired = optimized(old)
        assert name in fired
        assert np.array_equal(evaluate([new], {n: 3})[0], want)


def test_batches_and_transposed_triangles():
    a, b = T.dtensor3("a"), T.dtensor3("b")
    new, fired = optimized(T.matmul(L.inv(a), b))
    assert "solving.inv_matmul" in fired and new.term is L.solve(a, b).term
    x, y = T.dmatrix("x"), T.dmatrix("y")
    new, fired = optimized(L.solve_triangular(x.T, y, lower=True))
    assert "solving.lower_transposed" in fired and new.term is L.solve_triangular(x, y, lower=False, trans=1).term
    sign, log = L.slogdet(T.assume(x, upper_triangular=True))
    fired = optimized(log)[1] + optimized(sign)[1]
    assert {"determinants.log_upper", "determinants.sign_upper"} <= set(fired)


def test_quiet():
    h = inputs()
    x, y, v = h["x"], h["y"], h["v"]
    assert quiet(x @ y @ x, "dots") and quiet(T.diag(x @ y), "dots") and quiet(T.diag(v, 1) @ x, "dots")
    assert quiet(T.eye(3, 4) @ x, "dots") and quiet(T.sum(x * y), "sums_of_products")
    assert quiet(T.sum(T.exp(v) * v), "sums_of_products"), "what is computed anyway is summed where it is computed"
    assert quiet(T.sum(T.lvector("i") * T.lvector("j")), "sums_of_products")
    one = T.tensor("one", dtype="float64", shape=(1,))
    assert (
        quiet(T.sum(v * one), "sums_of_products") and quiet(L.inv(x) + y, "solving") and quiet(L.solve(x, y), "solving")
    )
    assert quiet(L.det(x @ y), "determinants.product") and quiet(L.inv(x), "matrix_inverses")
    assert quiet(L.cholesky(T.diag(v)), "factorizations") and quiet(T.dot(L.qr(x)[1], L.qr(x)[0]), "factorizations")


def test_products_of_batches_are_one_product_only_where_batches_are_known_to_agree():
    a, b = T.dtensor3("a"), T.dtensor3("b")
    f = tg.function([a, b], T.matmul(a.dimshuffle(0, 2, 1), b).sum(axis=0))
    for x, y in (((2, 3, 4), (3, 2, 5)), ((6, 1, 4), (1, 6, 5)), ((0, 3, 2), (0, 4, 5))):
        with pytest.raises(ShapeError):
            f(np.ones(x), np.ones(y))
    assert f(np.ones((2, 3, 4)), np.ones((2, 3, 5))).tolist() == [[6.0] * 5] * 4
