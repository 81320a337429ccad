"""Packed triangles are written row by row: distances of pairs, the elements of a matrix on one side of its diagonal."""

import numpy as np
import pytest
from helpers import DTYPES

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler
from termgraph.terms.errors import ShapeError
from termgraph.terms.ops.triangles import pack_triangle, unpack_triangle

LINKER = "auto"
needs_c = pytest.mark.skipif(find_compiler() is None, reason="needs a C compiler")
KINDS = [(False, False), (False, True), (True, False), (True, True)]  # lower, strict
SIZES = (0, 1, 2, 17)


def places(n, lower, strict):
    return np.tril_indices(n, -strict) if lower else np.triu_indices(n, strict)


def compiled(known, results):
    """A function for any array, made once for all of unknown lengths."""
    made = {}

    def call(a):
        shape = a.shape if known else (None,) * a.ndim
        if shape not in made:
            x = T.tensor("x", "float64", shape=shape)
            made[shape] = tg.function([x], results(x))
        return made[shape](a)

    return call


@pytest.mark.parametrize("known", [True, False], ids=["known lengths", "unknown lengths"])
@pytest.mark.parametrize(("lower", "strict"), KINDS)
def test_triangles_and_back(lower, strict, known, rng):
    def results(x):
        packed = pack_triangle(T.exp(x), lower=lower, strict=strict)
        sums = pack_triangle((x[..., None] * np.arange(3.0)).sum(-1), lower=lower, strict=strict)
        back = unpack_triangle(packed + 1, x.shape[-1], lower=lower, strict=strict)
        return [packed, sums, back, *[tg.grad((y**2).sum(), x) for y in (packed, back[..., ::-1, :])]]

    f = compiled(known, results)
    for n in SIZES:
        for batch in ((), (3,)):
            a = rng.normal(size=(*batch, n, n))
            i, j = places(n, lower, strict)
            inside = np.zeros((n, n), bool)
            inside[i, j] = True
            want = [np.exp(a)[..., i, j], 3 * a[..., i, j], np.where(inside, np.exp(a) + 1, 0)]
            want += [np.where(inside, 2 * np.exp(2 * a), 0), np.where(inside, 2 * (np.exp(a) + 1) * np.exp(a), 0)]
            for order in (a, a[..., ::-1, :][..., ::-1, :], np.asfortranarray(a)):
                for got, expected in zip(f(order), want, strict=True):
                    np.testing.assert_allclose(got, expected, rtol=1e-12)


@pytest.mark.parametrize("dtype", DTYPES)
def test_triangles_of_each_dtype(dtype, rng):
    a = (rng.normal(size=(9, 9)) * 5).astype(dtype)
    x = T.matrix("x", dtype=dtype)
    for lower, strict in KINDS:
        packed = pack_triangle(x, lower=lower, strict=strict)
        f = tg.function([x], [packed, unpack_triangle(packed, x.shape[0], lower=lower, strict=strict)])
        i, j = places(9, lower, strict)
        whole = np.zeros_like(a)
        whole[i, j] = a[i, j]
        for got, want in zip(f(a), (a[i, j], whole), strict=True):
            assert got.dtype == want.dtype
            np.testing.assert_array_equal(got, want)


def test_what_does_not_fit_is_refused():
    x, v, n = T.matrix("x"), T.vector("v"), T.lscalar("n")
    with pytest.raises(ShapeError, match="matrices of 2 rows and 3 columns are not square"):
        tg.function([x], pack_triangle(x))(np.zeros((2, 3)))
    with pytest.raises(ShapeError, match="4 elements for a triangle of 3"):
        tg.function([v, n], unpack_triangle(v, n))(np.zeros(4), 2)
    with pytest.raises(ShapeError, match="not square"):
        pack_triangle(np.zeros((2, 3)))
    with pytest.raises(TypeError, match="at least 2 dimensions"):
        pack_triangle(v)
    with pytest.raises(TypeError, match="at least 1 dimension"):
        unpack_triangle(np.zeros(()), 1)


def test_each_example_of_a_batch_has_its_triangle(rng):
    a = rng.normal(size=(4, 5, 5))
    both = tg.vmap(lambda x: unpack_triangle(pack_triangle(x, strict=True) * 2, 5, strict=True))
    np.testing.assert_array_equal(both(T.constant(a)).eval(), 2 * np.triu(a, 1))


@pytest.mark.parametrize("known", [True, False], ids=["known lengths", "unknown lengths"])
@pytest.mark.parametrize("p", [0.5, 1, 2, 3, np.inf])
def test_distances_of_pairs_with_any_number_of_points_and_features(p, known, rng):
    distances = compiled(known, lambda x: T.nnet.pdist(x, p))
    for n, k in ((0, 3), (1, 1), (2, 3), (5, 10), (50, 1), (50, 10), (50, 200)):
        a = rng.normal(size=(n, k))
        a[1:2] = a[:1]
        i, j = np.triu_indices(n, 1)
        apart = np.abs(a[i] - a[j])
        want = apart.max(1) if p == np.inf else (apart**p).sum(1) ** (1 / p)
        np.testing.assert_allclose(distances(a), want, rtol=1e-12)


@needs_c
def test_distances_read_points_side_by_side_and_no_pair_twice():
    x = T.tensor("x", "float32", shape=(30, 10))
    copy, sums = str(tg.function([x], T.nnet.pdist(x)).stage("storage")).splitlines()
    assert copy == "turned0[30*i0 + i1] = load{buf=in0, offset=i0 + 10*i1}()  for i0 < 10, i1 < 30"
    assert "turned0" in sums and sums.endswith("for i0 < 30, i1 < 29 - 1*i0")


@needs_c
def test_threads_share_the_rows_of_a_triangle(rng):
    a = rng.normal(size=(700, 3))
    x = T.matrix("x")
    i, j = np.triu_indices(700, 1)
    with tg.config.change_flags(threads=3):
        got = tg.function([x], T.nnet.pdist(x))(a)
    np.testing.assert_allclose(got, np.sqrt(((a[i] - a[j]) ** 2).sum(1)), rtol=1e-12)
