"""Products of which one length is short: every remainder of tiles, both factors transposed, sums that are added to."""

import itertools

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c import apart

C = tg.Mode(linker="c")
FORMS = {  # factors of shapes (m, k) and (k, n), and the shape of each as an argument
    "plain": (lambda a, b: T.dot(a, b), lambda m, n, k: ((m, k), (k, n))),
    "second": (lambda a, b: T.dot(a, b.T), lambda m, n, k: ((m, k), (n, k))),
    "first": (lambda a, b: T.dot(a.T, b), lambda m, n, k: ((k, m), (k, n))),
}
SIZES = {
    "plain": [(m, n, k) for m in (1, 2, 3, 7, 16) for n, k in ((301, 150), (4096, 9), (33, 1201), (1040, 37))],
    "second": [(m, n, k) for m in (1, 2, 5, 16) for n, k in ((67, 515), (64, 1040), (101, 600))],
    "first": [(m, n, k) for k in (1, 3, 8, 13) for m, n in ((301, 150), (34, 1030), (2048, 17))],
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("form", list(FORMS))
def test_products_with_a_short_length_are_right_for_any_length(rng, form, dtype):
    write, shapes = FORMS[form]
    a, b, c = (T.matrix(name, dtype=dtype) for name in "abc")
    f = tg.function([a, b, c], [write(a, b), c + write(a, b)], mode=C)
    assert f"tg_thin_{'s' if dtype == 'float32' else 'd'}(" in f.source("c")
    for threads, (m, n, k) in itertools.product((1, 2), SIZES[form]):
        left, right = (rng.normal(size=s).astype(dtype) for s in shapes(m, n, k))
        more = rng.normal(size=(m, n)).astype(dtype)
        wide = [v.astype("longdouble") for v in (left, right)]
        exact = np.einsum({"plain": "mk,kn", "second": "mk,nk", "first": "km,kn"}[form] + "->mn", *wide)
        with tg.config.change_flags(threads=threads):
            for got, wanted in zip(f(left, right, more), (exact, exact + more)):
                assert np.sqrt(np.mean((got - wanted) ** 2)) < (0.5 + 0.1 * k**0.5) * np.sqrt(k) * np.finfo(dtype).eps


def test_known_lengths_say_which_products_are_large_and_short():
    def text(m, n, k):
        a, b = (T.tensor(name, dtype="float32", shape=s) for name, s in (("a", (m, k)), ("b", (k, n))))
        out = T.dot(a, b)
        return tg.function([a, b], out, mode=C).source("c")

    assert "tg_thin_s" in text(8, 400, 400)
    assert "tg_thin_s" not in text(64, 400, 400) and "tg_thin_s" not in text(8, 40, 40)


def test_nothing_but_the_rows_of_a_product_is_read(rng):
    x, w = T.fmatrix("x"), T.fmatrix("w")
    f = tg.function([x, w], T.dot(x, w), mode=C)
    wide, tall = np.full((9, 400), np.nan, "f"), np.full((300, 400), np.nan, "f")
    wide[:8, :200], tall[:200, :301] = rng.normal(size=(8, 200)), rng.normal(size=(200, 301))
    a, b = wide[:8, :200], tall[:200, :301]
    np.testing.assert_allclose(f(a, b), a.astype("d") @ b.astype("d"), atol=1e-4)


def test_infinities_and_nans_reach_their_own_results_only():
    x, w = T.dmatrix("x"), T.dmatrix("w")
    a, b = np.ones((5, 131)), np.ones((131, 263))
    a[1, 3], a[2, 0] = np.inf, np.nan
    b[7, 261] = -np.inf
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(tg.function([x, w], T.dot(x, w), mode=C)(a, b), a @ b)


def test_what_computes_them_is_compiled_once_for_all_programs():
    x, w = T.fmatrix("x"), T.fmatrix("w")
    parts = apart.split(tg.function([x, w], T.tanh(x @ w), mode=C).source("c"), "source.c")
    assert "tg_thin_s(st" in parts.program and "tg_thin_step_s" not in parts.program
    assert sum("tg_thin_step_s_8" in text for text in parts.apart) == 1
