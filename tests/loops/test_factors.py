"""Systems of equations that have a matrix in common: factored once, with the bits of `solve`, failing as it does."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler
from termgraph.terms import lapack
from termgraph.terms.errors import ShapeError
from termgraph.terms.ops.loop import loop
from termgraph.terms.traverse import children_first

LINKERS = ["py", pytest.param("c", marks=pytest.mark.skipif(find_compiler() is None, reason="needs a C compiler"))]
DTYPES = ["float64", "float32", "complex128", "complex64"]
rng = np.random.default_rng(5)


def everywhere(roots):
    """All terms of a graph, those of bodies too."""
    for t in children_first(list(roots)):
        yield t
        if t.op.family is loop:
            yield from everywhere(t.op.params["body"])


def count(f, name):
    return sum(t.op.family.name == name for t in set(everywhere(f.maker.work.roots)))


def matrix(n, dtype="float64"):
    a = rng.normal(size=(n, n)) + (1j * rng.normal(size=(n, n)) if dtype[0] == "c" else 0)
    return (a + 2 * np.eye(n)).astype(dtype)


def steps(A, b, n, of=lambda A, x: T.linalg.solve(A, x) + 1):
    return tg.scan(lambda x: of(A, x), outputs_info=[b], n_steps=n)[0]


@pytest.mark.parametrize("linker", LINKERS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("columns", [None, 1, 3])
def test_a_matrix_that_no_step_changes(linker, dtype, columns):
    A, b, n = T.matrix("A", dtype=dtype), T.tensor("b", dtype=dtype, ndim=1 if columns is None else 2), T.lscalar("n")
    f = tg.function([A, b, n], steps(A, b, n), mode=tg.Mode(linker))
    assert count(f, "lu_columns") == 1 and count(f, "solve") == 0
    for side in (1, 2, 7, 40, 0):
        a, x = matrix(side, dtype), rng.normal(size=(side,) if columns is None else (side, columns)).astype(dtype)
        wanted = []
        for _ in range(4):
            wanted.append(np.linalg.solve(a, wanted[-1] if wanted else x) + 1)
        for view in (a, np.asfortranarray(a), a[::-1][::-1]):
            np.testing.assert_array_equal(f(view, x, 4), np.asarray(wanted).astype(dtype))


@pytest.mark.parametrize("linker", LINKERS)
def test_singular_matrices_are_told_or_give_nan(linker):
    A, b, n = T.matrix("A"), T.vector("b"), T.lscalar("n")
    f = tg.function([A, b, n], steps(A, b, n), mode=tg.Mode(linker))
    with pytest.raises(np.linalg.LinAlgError, match=r"(?s)test_factors\.py.*Singular matrix"):  # the line of the step
        f(np.ones((3, 3)), np.ones(3), 2)
    assert len(f(np.ones((3, 3)), np.ones(3), 0)) == 0
    g = tg.function([A, b, n], steps(A, b, n, lambda A, x: T.linalg.solve(A, x, on_error="nan")), mode=tg.Mode(linker))
    assert np.isnan(g(np.ones((3, 3)), np.ones(3), 2)).all()


@pytest.mark.parametrize("linker", LINKERS)
def test_lengths_that_do_not_fit(linker):
    A, x, y = T.matrix("A"), T.vector("x"), T.vector("y")
    f = tg.function([A, x, y], [T.linalg.solve(A, x), T.linalg.solve(A, y)], mode=tg.Mode(linker))
    assert count(f, "lu_columns") == 1
    for shape, n in [((3, 3), 5), ((3, 3), 2), ((5, 3), 5), ((3, 5), 3), ((300, 20), 300), ((3, 3), 0), ((0, 0), 3)]:
        with pytest.raises(ShapeError, match=r"(?s)test_factors\.py.*failed"):
            f(np.ones(shape) + np.eye(*shape), np.ones(n), np.ones(n))
    g = tg.function([A, x, y], steps(A, x, 3), mode=tg.Mode(linker), on_unused_input="ignore")
    for shape, n in [((3, 3), 5), ((5, 3), 5)]:
        with pytest.raises(ShapeError):
            g(np.ones(shape) + np.eye(*shape), np.ones(n), np.ones(n))


@pytest.mark.parametrize("n", [3, 150])
def test_strict_mode_keeps_all_bits(n):
    for dtype in DTYPES:
        A, x, y = T.matrix("A", dtype=dtype), T.vector("x", dtype=dtype), T.vector("y", dtype=dtype)
        f = tg.function([A, x, y], [T.linalg.solve(A, x), T.linalg.solve(A, y)], mode=tg.Mode("py", strict=True))
        assert count(f, "lu_columns") == (0 if dtype[0] == "c" else 1)  # gesv takes other ways for these
        a, v, w = matrix(n, dtype), matrix(n, dtype)[0], matrix(n, dtype)[1]
        for got, right in zip(f(a, v, w), (v, w)):
            with lapack.one_thread():  # as many as a short matrix has here
                np.testing.assert_array_equal(got, np.linalg.solve(a, right))


@pytest.mark.parametrize("linker", LINKERS)
@pytest.mark.parametrize("strict", [False, True])
def test_a_gradient_solves_by_the_same_factors(linker, strict):
    A, b = T.matrix("A"), T.vector("b")
    x = T.linalg.solve(A, b)
    f = tg.function([A, b], [x, *tg.grad((x**2).sum(), [A, b])], mode=tg.Mode(linker, strict=strict))
    assert count(f, "lu_columns") == (0 if strict else 1)
    assert count(f, "solve") == (2 if strict else 0)
    a, v = matrix(9), rng.normal(size=9)
    got, by_a, by_b = f(a, v)
    np.testing.assert_array_equal(got, np.linalg.solve(a, v))
    wanted = np.linalg.solve(a.T, 2 * got)
    np.testing.assert_allclose(by_b, wanted, rtol=1e-9)
    np.testing.assert_allclose(by_a, -np.outer(wanted, got), rtol=1e-9)


@pytest.mark.parametrize("linker", LINKERS)
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_gradients_of_a_loop(linker, dtype):
    A, b, n = T.matrix("A", dtype=dtype), T.vector("b", dtype=dtype), T.lscalar("n")
    cost = (T.abs(steps(A, b, n, lambda A, x: T.tanh(T.linalg.solve(A, x)))) ** 2).sum()
    f = tg.function([A, b, n], tg.grad(cost, [A, b]), mode=tg.Mode(linker))
    plain = tg.function([A, b, n], tg.grad(cost, [A, b]), mode=tg.Mode("py", optimizer="None"))
    assert count(f, "lu_columns") == 1 and count(f, "solve") == 0
    a, v = matrix(6, dtype), rng.normal(size=6).astype(dtype)
    for got, wanted in zip(f(a, v, 5), plain(a, v, 5)):
        np.testing.assert_allclose(got, wanted, rtol=1e-8)


@pytest.mark.parametrize("linker", LINKERS)
def test_one_matrix_for_a_batch_of_right_sides(linker):
    A, b = T.matrix("A"), T.tensor3("b")
    f = tg.function([A, b], T.linalg.solve(A, b), mode=tg.Mode(linker))
    assert count(f, "lu_columns") == 1
    a, v = matrix(5), rng.normal(size=(4, 5, 2))
    np.testing.assert_array_equal(f(a, v), np.linalg.solve(a, v))
    assert f(a, v[:0]).shape == (0, 5, 2)


@pytest.mark.parametrize("linker", LINKERS)
def test_a_matrix_that_some_steps_need(linker):
    """A side of a choice that is not taken may have a singular matrix."""
    A, b, flags = T.matrix("A"), T.vector("b"), T.lvector("flags")
    out, _ = tg.scan(
        lambda k, x, A: tg.ifelse(T.gt(k, 0), T.linalg.solve(A, x), x + 1),
        sequences=flags,
        outputs_info=[b],
        non_sequences=[A],
    )
    f = tg.function([A, b, flags], out[-1], mode=tg.Mode(linker))
    np.testing.assert_array_equal(f(np.zeros((2, 2)), np.ones(2), [0, 0, 0]), [4.0, 4.0])
    np.testing.assert_array_equal(f(2 * np.eye(2), np.ones(2), [0, 1, 0]), [2.0, 2.0])
    with pytest.raises(np.linalg.LinAlgError):
        f(np.zeros((2, 2)), np.ones(2), [0, 1, 0])


@pytest.mark.parametrize("linker", LINKERS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_positive_definite_matrices(linker, dtype):
    A, b = T.matrix("A", dtype=dtype), T.vector("b", dtype=dtype)
    x = T.linalg.solve(A, b, assume_a="pos")
    f = tg.function([A, b], x, mode=tg.Mode(linker))
    a = matrix(6, dtype)
    a = (a @ a.conj().T + np.eye(6)).astype(dtype)
    v = rng.normal(size=6).astype(dtype)
    for given in (a, np.triu(a)):
        rtol = 1e-3 if dtype in ("float32", "complex64") else 1e-8
        np.testing.assert_allclose(f(given, v), np.linalg.solve(a, v), rtol=rtol)
    with pytest.raises(np.linalg.LinAlgError):
        f(-a, v)
