"""Folds written with vector types: every length, every place of a NaN, and the same bits for any width of vector."""

import numpy as np
import pytest

from termgraph.backends.c.build.compilers import find_compiler
from termgraph.backends.c.generate import generate
from termgraph.backends.c.run.bind import compile_terms
from termgraph.backends.c.text import prelude
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.ops import reduce as red
from termgraph.terms.term import Arg, mk
from termgraph.terms.types import TensorType

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="no C compiler")


def matrices(dtype):
    return [Arg(k, TensorType.of(dtype, (None, None))) for k in range(2)]


def fold(op, t):
    extra = {"dtype": t.type.dtype} if op in (red.sum_, red.prod) else {}
    return mk(op.bind(axis=(1,), **extra), (t,))


@pytest.fixture(scope="module", params=["float64", "float32"])
def folds(request):
    x, y = matrices(request.param)
    bodies = [
        x,
        ew.neg(x),
        ew.mul(x, y),
        ew.sqr(ew.sub(x, 0.5)),
        ew.true_div(ew.add(x, y), 2.0),
        ew.abs_(ew.sub(x, 1.0)),
    ]
    outs = [fold(red.sum_, b) for b in bodies] + [fold(op, x) for op in (red.max_, red.min_, red.prod)]
    assert generate([x, y], outs).source.count("tg_fold_") >= 9
    return request.param, compile_terms([x, y], outs)


def meaning(x, y):
    with np.errstate(all="ignore"):
        sums = [x, -x, x * y, (x - x.dtype.type(0.5)) ** 2, (x + y) / 2, np.abs(x - 1)]
        return [b.sum(1) for b in sums] + [x.max(1), x.min(1), x.prod(1)]


def check(f, x, y):
    rtol = 1e-12 if x.dtype == np.float64 else 1e-5
    for got, want in zip(f(x, y), meaning(x, y)):
        np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol * x.shape[1])


def test_every_length(folds):
    dtype, f = folds
    rng = np.random.default_rng(0)
    for n in [*range(1, 140), 1000, 4099]:
        check(f, *(rng.uniform(0.5, 1.5, (2, 2, n)).astype(dtype)))


def test_nan_and_infinity_anywhere(folds):
    dtype, f = folds
    y = np.ones((1, 75), dtype)
    for value in (np.nan, np.inf, -np.inf):
        for place in range(75):
            x = np.linspace(0.5, 1.5, 75).astype(dtype)[None]
            x[0, place] = value
            check(f, x, y)
            x[0, place - 20] = np.nan
            check(f, x, y)


def test_an_empty_sum_is_zero():
    x, y = matrices("float64")
    f = compile_terms([x, y], [fold(red.sum_, ew.mul(x, y))])
    np.testing.assert_array_equal(f(np.ones((3, 0)), np.ones((3, 0)))[0], np.zeros(3))


def test_narrower_vectors_give_the_same_bits(monkeypatch, folds):
    dtype, f = folds
    xs, (x, y) = matrices(dtype), np.random.default_rng(1).standard_normal((2, 3, 333)).astype(dtype)
    outs = [fold(op, xs[0]) for op in (red.sum_, red.prod, red.max_, red.min_)]
    wide = compile_terms(xs, outs)(x, y)
    monkeypatch.setitem(prelude._FIXED, "tg_vector_bytes", "#undef __AVX__\nenum { tg_vector_bytes = 16 };")
    narrow = compile_terms(xs, outs)(x, y)
    for a, b in zip(wide, narrow):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_bits_do_not_depend_on_whether_the_length_is_known(folds, dtype):
    """A known number of elements has fewer partial results, in the same places."""
    if folds[0] != dtype:
        pytest.skip("the other dtype's turn")
    rng = np.random.default_rng(3)
    for n in (17, 24, 31, 32, 40, 63, 64, 70, 128):
        x, y = (rng.standard_normal((3, n)).astype(dtype) for _ in range(2))
        x[2, n // 2] = np.nan
        found = []
        for shape in ((3, n), (None, None)):
            a, b = (Arg(k, TensorType.of(dtype, shape)) for k in range(2))
            outs = [fold(red.sum_, t) for t in (a, ew.mul(a, b), ew.sqr(ew.sub(b, 0.5)))]
            found.append(compile_terms([a, b], outs + [fold(op, a) for op in (red.max_, red.min_, red.prod)])(x, y))
        for one, other in zip(*found):
            np.testing.assert_array_equal(one, other, err_msg=f"{n} elements")


def test_a_known_number_of_elements_has_no_text_that_never_runs():
    def text(n):
        x = Arg(0, TensorType.of("float32", (3, n)))
        source = generate([x], [fold(red.sum_, ew.sqr(x))]).source
        return source[source.index("static void kernel0") : source.index("TG_EXPORT int tg_plan")]

    assert "+ 64 <=" in text(None) and "tg_below_" in text(None)
    assert "+ 64 <=" not in text(40) and "tg_below_" not in text(40) and "256 /" in text(40)
    assert "128 / tg_vector_bytes" in text(24) and "tg_below_" in text(25)
    assert "+ 64 <=" in text(128) and "tg_vector_bytes / 4 <=" not in text(128) and "tg_below_" not in text(128)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, 8, 9, 15, 31])
def test_few_elements_are_added_in_the_order_of_many(dtype, n):
    """Element i goes to partial result i, and these are added up by halves, however few there are."""
    x = np.random.default_rng(n).standard_normal((50, n)).astype(dtype)
    a = Arg(0, TensorType.of(dtype, (None, None)))
    total, largest = compile_terms([a], [fold(red.sum_, a), fold(red.max_, ew.sub(a, a))])(x) if n else (
        compile_terms([a], [fold(red.sum_, a)])(x)[0], None
    )  # fmt: skip
    lanes = np.zeros((50, 64), dtype)
    lanes[:, :n] = x
    while lanes.shape[1] > 1:
        half = lanes.shape[1] // 2
        lanes = lanes[:, :half] + lanes[:, half:]
    np.testing.assert_array_equal(total, lanes[:, 0])
    assert largest is None or not largest.any()
