"""What becomes of patterns: the C routines against their NumPy meaning, and both against SciPy."""

import numpy as np
import pytest
import scipy.sparse as sp

import termgraph as tg
import termgraph.tensor as T
from termgraph import sparse as S
from termgraph.terms.ops import sparse as ops


def pattern(rng, rows, minor, kind):
    """Indices and indptr: in order, in any order and stored twice, or empty."""
    counts = rng.integers(0, min(minor, 9) + 1, rows) if kind != "empty" and minor else np.zeros(rows, int)
    if kind == "ordered":
        indices = [np.sort(rng.choice(minor, n, replace=False)) for n in counts]
    elif kind == "in order":  # some of them twice
        indices = [np.sort(rng.integers(0, minor, n)) for n in counts]
    else:
        indices = [rng.integers(0, minor, n) for n in counts]
    indptr = np.concatenate([[0], np.cumsum(counts)])
    return np.concatenate([np.zeros(0, int), *indices]).astype("int32"), indptr.astype("int32")


SHAPES = [(5, 7), (1, 1), (0, 4), (4, 0), (6, 200), (3, 9000)]


@pytest.mark.parametrize(
    "kinds", [("ordered", "ordered"), ("ordered", "any"), ("any", "any"), ("any", "empty"), ("in order", "any")]
)
def test_routines_are_their_meanings(kinds, rng):
    i, p, j, q, n, mask = T.ivector("i"), T.ivector("p"), T.ivector("j"), T.ivector("q"), T.lscalar("n"), T.bvector("m")
    found = [*ops.csm_merged(i, p, j, q, n), *ops.csm_merged(i, p, j, q, n, both=True)]
    found += [
        *ops.csm_switch(i, p, n),
        *ops.csm_switched(T.cast(i, "float64") / 3, i, p, n),
        *ops.csm_sorted(i, p, n),
        *ops.csm_ordered(mask, i, p, n),
        *ops.csm_kept(T.neq(mask, 0), mask, i, p),
        *ops.csm_beside(T.cast(i, "float64") / 3, i, p, T.cast(j, "float64"), j, q, n),
    ]
    in_c, plain = (tg.function([i, p, j, q, n, mask], found, mode=tg.Mode(linker=name)) for name in ("c", "py"))
    assert all("all operations are compiled" in part.why for part in in_c.why_not_native())
    for rows, minor in SHAPES:
        one, two = (pattern(rng, rows, minor, kind) for kind in kinds)
        given = (*one, *two, minor, rng.integers(0, 2, len(one[0])).astype("int8"))
        for a, b in zip(in_c(*given), plain(*given), strict=True):
            np.testing.assert_array_equal(a, b)
        spread = [np.repeat(a, 2)[::2] for a in given[:4]]
        for a, b in zip(in_c(*spread, *given[4:]), plain(*given), strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex64", "int8", "bool"])
def test_whole_matrices_and_diagonals(dtype, rng):
    """As NumPy's meaning and SciPy have them: rows longer than a block of zeros, elements stored twice, none at all."""
    i, p, n, data = T.ivector("i"), T.ivector("p"), T.lscalar("n"), T.vector("d", dtype=dtype)
    rows, short = p.shape[0] - 1, T.minimum(p.shape[0] - 1, n)
    by_rows = ops.csm_dense(data, i, p, rows, n, format="csr")
    across = ops.csm_dense(data, i, p, n, rows, format="csc")
    found = [by_rows, across, ops.csm_diagonal(data, i, p, short)]
    in_c, plain = (tg.function([i, p, n, data], found, mode=tg.Mode(linker=name)) for name in ("c", "py"))
    assert all("all operations are compiled" in part.why for part in in_c.why_not_native())
    for rows, minor in [*SHAPES, (3, 5000), (5000, 3), (40, 1000)]:
        for kind in ("ordered", "any", "empty"):
            indices, indptr = pattern(rng, rows, minor, kind)
            values = rng.integers(0, 2, len(indices)).astype(dtype)
            given = (indices, indptr, minor, values)
            matrix = sp.csr_matrix((values, indices, indptr), shape=(rows, minor))
            whole, turned, diagonal = in_c(*given)
            np.testing.assert_array_equal(whole, matrix.toarray())
            np.testing.assert_array_equal(turned, matrix.toarray().T)
            np.testing.assert_array_equal(diagonal, matrix.toarray().diagonal())
            for a, b in zip((whole, turned, diagonal), plain(*given), strict=True):
                assert a.dtype == b.dtype
                np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128", "complex64", "int8", "int64"])
@pytest.mark.parametrize("kinds", [("ordered", "ordered"), ("ordered", "any"), ("any", "any"), ("ordered", "empty")])
def test_sums_and_products_are_their_meanings(kinds, dtype, rng):
    i, p, j, q, n, m = T.ivector("i"), T.ivector("p"), T.ivector("j"), T.ivector("q"), T.lscalar("n"), T.lscalar("m")
    x, y = T.vector("x", dtype=dtype), T.vector("y", dtype=dtype)
    sums = [*ops.csm_joined(x, i, p, y, j, q, n), *ops.csm_joined(x, i, p, y, j, q, n, both=True)]
    given = [x, i, p, y, j, q, n]
    in_c, plain = (tg.function(given, sums, mode=tg.Mode(linker=name)) for name in ("c", "py"))
    assert all("all operations are compiled" in part.why for part in in_c.why_not_native())
    for rows, minor in SHAPES:
        parts = [pattern(rng, rows, minor, kind) for kind in kinds]
        data = [rng.integers(-4, 5, len(at)).astype(dtype) for at, _ in parts]
        values = (data[0], *parts[0], data[1], *parts[1], minor)
        for spread in (values, (*[np.repeat(v, 2)[::2] for v in values[:6]], minor)):
            for a, b in zip(in_c(*spread), plain(*values), strict=True):
                np.testing.assert_array_equal(a, b)
    times = ops.csm_multiplied(x, i, p, y, j, q, n, m)
    in_c, plain = (tg.function([*given, m], times, mode=tg.Mode(linker=name)) for name in ("c", "py"))
    for rows, inner, minor in ((5, 7, 9), (1, 1, 1), (0, 4, 2), (4, 3, 0), (6, 70, 9000)):
        parts = [pattern(rng, a, b, kind) for (a, b), kind in zip(((rows, inner), (inner, minor)), kinds)]
        data = [rng.integers(-4, 5, len(at)).astype(dtype) for at, _ in parts]
        met = int(np.diff(parts[1][1])[parts[0][0]].sum())
        values = (data[0], *parts[0], data[1], *parts[1], minor)
        for a, b in zip(in_c(*values, met), plain(*values, met), strict=True):
            np.testing.assert_array_equal(a, b)
        with pytest.raises((ValueError, IndexError)):
            in_c(*values, met + 1)


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128", "int8", "bool"])
def test_rows_are_kept_whole_in_part_or_not_at_all(dtype, rng):
    """Some hundred elements of whole rows go together: all stay, none, or some; whatever true bytes a mask has."""
    mask, data, i, p = T.vector("m", dtype="bool"), T.vector("d", dtype=dtype), T.ivector("i"), T.ivector("p")
    in_c, plain = (
        tg.function([mask, data, i, p], ops.csm_kept(mask, data, i, p), mode=tg.Mode(linker=name))
        for name in ("c", "py")
    )
    for rows, most in ((0, 1), (7, 0), (300, 9), (5, 700), (2000, 2), (40, 60)):
        counts = rng.integers(0, most + 1, rows)
        indptr, n = np.concatenate([[0], np.cumsum(counts)]).astype("int32"), counts.sum()
        indices, values = rng.integers(0, 99, n).astype("int32"), rng.integers(0, 2, n).astype(dtype)
        mixed = np.repeat(rng.integers(0, 3, n // 200 + 1), 200)[:n]
        stays = np.where(mixed == 2, rng.integers(0, 2, n), mixed).astype("uint8")
        for chosen in (
            stays,
            np.ones(n, "uint8"),
            np.zeros(n, "uint8"),
            2 * stays,
            rng.integers(0, 2, n).astype("uint8"),
        ):
            given = (chosen.view(bool), values, indices, indptr)
            for a, b in zip(in_c(*given), plain(chosen != 0, *given[1:]), strict=True):
                np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex64", "int16"])
def test_long_rows_have_their_diagonal_anywhere(dtype, rng):
    data, i, p, n = T.vector("d", dtype=dtype), T.ivector("i"), T.ivector("p"), T.lscalar("n")
    f = tg.function([data, i, p, n], ops.csm_diagonal(data, i, p, n), mode=tg.Mode(linker="c"))
    for rows, length in ((30, 8), (30, 9), (30, 31), (50, 7), (20, 100)):
        indices = rng.integers(0, rows, (rows, length)).astype("int32")
        indices[np.arange(rows) % 3 == 0] += rows  # no diagonal
        values = rng.integers(-9, 9, indices.size).astype(dtype)
        ends = np.arange(rows + 1, dtype="int32") * length
        at, starts = np.arange(rows), values.reshape(rows, length)
        expected = np.where(indices == at[:, None], starts, 0).sum(1).astype(dtype)
        np.testing.assert_array_equal(f(values, indices.ravel(), ends, rows), expected)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.6, 1.0])
def test_what_a_result_has_no_need_of_is_cut_off(share, rng):
    """No element is moved for that, but what would keep more than twice its memory is copied; results are apart."""
    s = S.csr_matrix("s")
    f = tg.function([s], [S.remove0(s), S.sum_duplicates(s), S.remove0(s)], mode=tg.Mode(linker="auto"))
    in_python = [part for part in f.why_not_native() if part.op == "subtensor"]
    assert len(in_python) == 4 and "nothing is moved" in in_python[0].why
    n = 400
    given = sp.csr_matrix(
        ((rng.random(10 * n) < share) * 1.5, rng.integers(0, n, 10 * n), np.arange(n + 1) * 10), (n, n)
    )
    before = given.copy()
    for _ in range(2):
        kept, once, again = f(given)
        for found, expected in ((kept, given.copy()), (again, given.copy()), (once, given.copy())):
            expected.sum_duplicates() if found is once else expected.eliminate_zeros()
            for a, b in (
                (found.data, expected.data),
                (found.indices, expected.indices),
                (found.indptr, expected.indptr),
            ):
                np.testing.assert_array_equal(a, b)
                owner = a if a.base is None else a.base
                assert owner.size <= 2 * a.size and owner.flags.owndata
        parts = [v for m in (given, kept, once, again) for v in (m.data, m.indices, m.indptr)]
        assert not any(np.shares_memory(a, b) for k, a in enumerate(parts) for b in parts[:k])
        for m in (kept, once, again):
            m.data[:], m.indices[:] = 7, 3
        assert (given != before).nnz == 0


def test_sums_keep_infinities_and_zeros_apart():
    """An element that only one matrix has is added to nothing, whatever the other's next one is."""
    s, t = S.csr_matrix("s"), S.csr_matrix("t")
    a = sp.csr_matrix((np.array([1.0, np.inf, 2.0]), [0, 2, 3], [0, 3]), shape=(1, 5))
    b = sp.csr_matrix((np.array([np.nan, 3.0, -np.inf]), [1, 3, 4], [0, 3]), shape=(1, 5))
    f = tg.function([s, t], [s + t, s * t])
    total, product = f(a, b)
    np.testing.assert_array_equal(total.toarray(), [[1.0, np.nan, np.inf, 5.0, -np.inf]])
    np.testing.assert_array_equal(product.toarray(), [[0.0, 0.0, 0.0, 6.0, 0.0]])
    x = T.dvector("x")
    for scale in (1.0, np.inf):
        cost = (
            S.dense_from_sparse(S.CSR(x, [0, 3], [0, 2], (1, 5)) * S.CSR([scale, 2.0], [1, 3], [0, 2], (1, 5)))
        ).sum()
        np.testing.assert_array_equal(tg.function([x], tg.grad(cost, x))([1.0, 1.0]), [0.0, 2.0])


@pytest.mark.parametrize("linker", ["c", "py"])
def test_wrong_patterns_are_refused(linker):
    i, p = T.ivector("i"), T.ivector("p")
    x = T.cast(i, "float64")
    joined = [ops.csm_joined(x, i, p, x, i, p, 3, both=both) for both in (False, True)]
    for made in (
        *joined,
        ops.csm_merged(i, p, i, p, 3),
        ops.csm_switch(i, p, 3),
        ops.csm_switched(x, i, p, 3),
        ops.csm_sorted(i, p, 3),
        ops.csm_ordered(x, i, p, 3),
        ops.csm_dense(x, i, p, 2, 3),
        ops.csm_dense(x, i, p, 3, 2, format="csc"),
    ):
        f = tg.function([i, p], made, mode=tg.Mode(linker=linker))
        f([2, 0], [0, 1, 2])
        for bad in (3, -1, 1 << 30):
            with pytest.raises(IndexError, match=f"index {bad}"):
                f([0, bad], [0, 1, 2])
        for wrong in ([0, 1, 3], [0, 3, 2], [1, 1, 2], [0, 1, 1]):
            with pytest.raises((ValueError, IndexError)):
                f([0, 1], wrong)
    diagonal = tg.function([i, p], ops.csm_diagonal(x, i, p, 2), mode=tg.Mode(linker=linker))
    for wrong in ([0, 1, 3], [0, 3, 2], [1, 1, 2], [0, 1, 1], [0, 2]):
        with pytest.raises((ValueError, IndexError)):
            diagonal([0, 1], wrong)
    ends = T.constant(np.array([0, 1, 2], "int32"))
    for pair in ((i, p, i, ends), (i, ends, i, p)):
        f = tg.function([i, p], ops.csm_beside(x, *pair[:2], x, *pair[2:], 3), mode=tg.Mode(linker=linker))
        np.testing.assert_array_equal(f([2, 0], [0, 1, 2])[1], [2, 5, 0, 3])
        for wrong in ([0, 1, 3], [0, 3, 2], [1, 1, 2], [0, 1, 1], [0, 2]):
            with pytest.raises((ValueError, IndexError)):
                f([0, 1], wrong)
    f = tg.function([i, p], ops.csm_kept(T.eq(i, 0), x, i, p), mode=tg.Mode(linker=linker))
    for wrong in ([0, 1, 3], [0, 3, 2], [1, 1, 2], [0, 1, 1]):
        with pytest.raises((ValueError, IndexError)):
            f([0, 1], wrong)


def stored_anyhow(rng, shape, format="csr"):
    """A matrix that stores zeros, elements twice and in any order."""
    indices, indptr = pattern(rng, shape[0], shape[1], "any")
    made = sp.csr_matrix((rng.integers(-1, 3, len(indices)).astype(float), indices, indptr), shape=shape)
    return made if format == "csr" else sp.csc_matrix((made.data, made.indices, made.indptr), shape=shape[::-1])


FUNCTIONS = {
    "add": (lambda s, t: s + t, lambda a, b: a + b),
    "mul": (lambda s, t: s * t, lambda a, b: a * b),
    "dot": (lambda s, t: S.dot(s, t.T), lambda a, b: a @ b.T),
    "once": (lambda s, t: S.sum_duplicates(s), lambda a, b: a),
    "clean": (lambda s, t: S.clean(s), lambda a, b: a),
    "rows": (lambda s, t: s[1:-1], lambda a, b: a[1:-1]),
    "from the end": (lambda s, t: s[-3:, -4:], lambda a, b: a[-3:, -4:]),
    "columns": (lambda s, t: s[:, 2:5], lambda a, b: a[:, 2:5]),
    "nothing": (lambda s, t: s[4:2, 9:], lambda a, b: a[4:2, 9:]),
    "far": (lambda s, t: s[-99:99, 1:99], lambda a, b: a[-99:99, 1:99]),
    "steps": (lambda s, t: s[::2, ::-1], lambda a, b: a[::2, ::-1]),
    "below": (lambda s, t: S.vstack([s, t, s]), lambda a, b: np.vstack([a, b, a])),
    "beside": (lambda s, t: S.hstack([s, t]), lambda a, b: np.hstack([a, b])),
    "rows beside": (lambda s, t: S.hstack([s, t, s], format="csr"), lambda a, b: np.hstack([a, b, a])),
    "columns below": (lambda s, t: S.vstack([s.T, t.T], format="csc"), lambda a, b: np.vstack([a.T, b.T])),
    "diagonal": (lambda s, t: S.diag(s), lambda a, b: np.diagonal(a)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_any_matrix(name, rng):
    made, wanted = FUNCTIONS[name]
    s, t = S.csr_matrix("s"), S.csr_matrix("t")
    for mode in (tg.Mode(linker="auto"), tg.Mode(linker="py")):
        f = tg.function([s, t], made(s, t), mode=mode, on_unused_input="ignore")
        for shape in ((6, 8), (8, 6), (1, 1)):
            a, b = stored_anyhow(rng, shape), stored_anyhow(rng, shape)
            before = [x.copy() for m in (a, b) for x in (m.data, m.indices, m.indptr)]
            found = f(a, b)
            for x, y in zip(before, [x for m in (a, b) for x in (m.data, m.indices, m.indptr)]):
                np.testing.assert_array_equal(x, y)
            dense = found.toarray() if sp.issparse(found) else found
            np.testing.assert_array_equal(dense, wanted(a.toarray(), b.toarray()))
            if name in ("add", "mul", "dot", "once"):
                found.has_canonical_format = False
                found.check_format()
                assert sp.csr_matrix((found.data, found.indices, found.indptr), found.shape).has_canonical_format


def test_rows_beside_each_other_stay_as_they_are(rng):
    """What is stored twice, or out of order, is afterwards, as in SciPy; nothing is converted to columns on the way."""
    s, t = S.csr_matrix("s"), S.csr_matrix("t", dtype="float32")
    for mode in (tg.Mode(linker="auto"), tg.Mode(linker="py")):
        f = tg.function([s, t], S.hstack([s, t, s], format="csr"), mode=mode)
        a, b = stored_anyhow(rng, (6, 8)), stored_anyhow(rng, (6, 3)).astype("float32")
        found, wanted = f(a, b), sp.hstack([a, b, a], format="csr")
        assert found.shape == wanted.shape and found.dtype == wanted.dtype
        for name in ("data", "indices", "indptr"):
            np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name))
        with pytest.raises((ValueError, TypeError, AssertionError), match="as many rows|has length 6"):
            f(a, b[:4])


@pytest.mark.parametrize("name", ["add", "mul", "dot", "rows", "columns", "below", "rows beside", "diagonal", "clean"])
def test_gradients_of_sums(name, rng):
    """What a gradient says of stored elements is what differences say."""
    made, _ = FUNCTIONS[name]
    a, b = stored_anyhow(rng, (4, 6)), stored_anyhow(rng, (4, 6))
    x, y = T.dvector("x"), T.dvector("y")
    s, t = (S.CSR(v, m.indices, m.indptr, (4, 6)) for v, m in ((x, a), (y, b)))
    out = made(s, t)
    dense = S.dense_from_sparse(out) if S.is_sparse(out) else out
    weights = T.sin(T.arange(dense.size)).reshape(dense.shape)
    if name == "clean":  # what is stored depends on the elements
        a.data[a.data == 0] = b.data[b.data == 0] = 1.0
    cost = (dense * weights).sum()
    wrt = [x] if name in ("rows", "columns", "diagonal", "clean") else [x, y]
    f = tg.function([x, y], [cost, *tg.grad(cost, wrt)], on_unused_input="ignore")
    _, *found = f(a.data, b.data)
    for k, g in enumerate(found):
        for place in range(len(g)):
            at = [a.data.copy(), b.data.copy()]
            at[k][place] += 1e-5
            up = f(*at)[0]
            at[k][place] -= 2e-5
            np.testing.assert_allclose((up - f(*at)[0]) / 2e-5, g[place], rtol=1e-5, atol=1e-6)


def test_results_own_their_arrays(rng):
    """Results are SciPy's matrices in full, and what is done to them does not reach the arguments."""
    s, a = S.csr_matrix("s"), stored_anyhow(rng, (5, 6))
    f = tg.function([s], [abs(s), s, S.transpose(s)])
    for found in f(a):
        assert not any(np.shares_memory(x, y) for x in (found.data, found.indices, found.indptr)
                       for y in (a.data, a.indices, a.indptr))  # fmt: skip
        slowly = type(found)((found.data, found.indices, found.indptr), shape=found.shape)
        assert vars(found).keys() >= vars(slowly).keys()
        found.sort_indices()
        found += found
        found.check_format()


def test_matrices_with_room_and_wide_indices(rng):
    """What SciPy leaves after the last element is not part of the matrix."""
    a = sp.csr_matrix(np.eye(3))
    a.data, a.indices = np.append(a.data, 7.0), np.append(a.indices, 2).astype("int64")
    a.indptr = a.indptr.astype("int64")
    s = S.csr_matrix("s")
    found = tg.function([s], s * 2)(a)
    np.testing.assert_array_equal(found.toarray(), 2 * np.eye(3))
    assert found.nnz == len(found.data) == 3


@pytest.mark.parametrize("density", [0.002, 0.05, 0.5])
@pytest.mark.parametrize("minor", [1, 63, 64, 65, 1000, 5000])
def test_products_of_rows_sparse_and_full_number_each_element_once(minor, density):
    """Rows are numbered in two ways, by how many of their elements there are beside the length of a row."""
    a = sp.random(40, 60, max(density, 0.05), format="csr", random_state=1)
    b = sp.random(60, minor, density, format="csr", random_state=2)
    s, t = S.csr_matrix("s"), S.csr_matrix("t")
    f = tg.function([s, t], S.dot(s, t), mode=tg.Mode(linker="auto"))
    found, wanted = f(a, b), a @ b
    wanted.sort_indices()
    assert found.nnz == wanted.nnz
    np.testing.assert_array_equal(found.indptr, wanted.indptr)
    np.testing.assert_array_equal(found.indices, wanted.indices)
    np.testing.assert_allclose(found.data, wanted.data, rtol=1e-13)


@pytest.mark.parametrize("format", ["csr", "csc"])
def test_derivatives_of_whole_matrices_and_diagonals(format, rng):
    """By every stored element, those stored twice and those beyond the end of the diagonal included."""
    a = stored_anyhow(rng, (6, 4), format)
    data, along = T.dvector("data"), T.dvector("along")
    s = (S.CSR if format == "csr" else S.CSC)(data, a.indices, a.indptr, a.shape)
    weights, few = rng.normal(size=a.shape), rng.normal(size=min(a.shape))
    cost = (S.dense_from_sparse(s) ** 2 * weights).sum() + (S.diag(s) ** 3 * few).sum()
    dense, places = a.toarray(), np.repeat(np.arange(len(a.indptr) - 1), np.diff(a.indptr))
    rows, columns = (places, a.indices) if format == "csr" else (a.indices, places)
    right = (2 * dense * weights)[rows, columns]
    on = rows == columns
    right[on] += (3 * dense.diagonal() ** 2 * few)[rows[on]]
    f = tg.function([data, along], [tg.grad(cost, data), tg.Rop(cost, data, along)])
    direction = rng.normal(size=len(a.data))
    back, forth = f(a.data, direction)
    np.testing.assert_allclose(back, right)
    np.testing.assert_allclose(forth, right @ direction)


@pytest.mark.parametrize("format", ["csr", "csc"])
def test_derivatives_of_matrices_beside_each_other(format, rng):
    """Those of the blocks put in their places in an array."""
    join, make = (S.hstack, S.CSR) if format == "csr" else (S.vstack, S.CSC)
    x, y, w = T.dvectors("x", "y", "w")
    one, two = (
        make(x, [2, 0, 1], [0, 2, 3], (2, 3) if format == "csr" else (3, 2)),
        (make(y, [1, 0, 1], [0, 1, 3], (2, 2))),
    )
    cost = (join([one, two, one], format=format).data ** 2 * w).sum()
    given = rng.normal(size=3), rng.normal(size=3), np.arange(1.0, 10.0)
    f = tg.function([x, y, w], [*tg.grad(cost, [x, y]), tg.Rop(cost, [x, y], [T.ones_like(x), T.zeros_like(y)])])
    a, b, slope = f(*given)
    # stored in this order: x0 x1 y0 x0 x1, x2 y1 y2 x2
    want = 2 * given[0] * [1 + 4, 2 + 5, 6 + 9]
    np.testing.assert_allclose(a, want)
    np.testing.assert_allclose(b, 2 * given[1] * [3, 7, 8])
    np.testing.assert_allclose(slope, want.sum())
