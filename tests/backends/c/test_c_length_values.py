"""Lengths that whole numbers among the arguments say: the program's plan reads them, nothing runs in Python."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler
from termgraph.backends.c.run import glue
from termgraph.terms.errors import ShapeError

C, PY = tg.Mode(linker="c"), tg.Mode(linker="py")
pytestmark = pytest.mark.skipif(find_compiler() is None, reason="no C compiler")

n, m = T.iscalar("n"), T.lscalar("m")
x, X, shape = T.dvector("x"), T.dmatrix("X"), T.lvector("shape")
TEN, GRID = np.arange(10.0), np.arange(24.0).reshape(6, 4)
NUMBERS = (0, 1, 3, 10, 25)


def halved(length):
    """Each step of a loop of so many."""
    steps, _ = tg.scan(lambda s: 0.5 * s + 1, outputs_info=x, n_steps=length)
    return steps


PROGRAMS = {  # inputs, result, calls
    "beginning": ([x, n], x[:n] * 2, [(TEN, k) for k in (*NUMBERS, -1, -4, -25)]),
    "end": ([x, n], x[n:] * 2, [(TEN, k) for k in (*NUMBERS, -1, -4, -25)]),
    "piece of rows": (
        [X, n, m],
        X[n * m : (n + 1) * m].sum(axis=0),
        [(GRID, k, s) for k in (0, 1, 4) for s in (1, 2, 5)],
    ),
    "arange": ([n], T.arange(n) * 2, [(k,) for k in (*NUMBERS, -3)]),
    "zeros": ([n, m], T.zeros((n, m)) + 1, [(2, 3), (0, 3), (1, 1)]),
    "of a vector": ([shape], T.zeros((shape[0], shape[-1])) + 1, [(np.array(s),) for s in ([2, 7, 3], [4, 0], [5])]),
    "backwards": ([shape], T.zeros((shape[0],)) + 1, [(np.array([4, 9, 7])[::-1],), (np.arange(8)[5::-2],)]),
    "reshape": ([x, shape], T.reshape(x, shape, ndim=2) * 2, [(TEN, np.array(s)) for s in ([2, 5], [10, 1], [5, 2])]),
    "steps": ([x, n], halved(n), [(TEN, k) for k in (1, 2, 7)]),
    "last step": ([x, n], halved(n)[-1], [(TEN, k) for k in (1, 2, 7)]),
    "repeat": ([x, n], T.repeat(x, n), [(TEN, k) for k in (0, 1, 3)]),
    "roll": ([x, n], T.roll(x, n), [(TEN, k) for k in (0, 3, -3, 31)]),
    "eye": ([n], T.eye(n), [(k,) for k in (0, 1, 4)]),
    "squares": ([m], (T.arange(m * m), T.zeros((abs(m) ** 3, 2)), T.eye(m**2)), [(k,) for k in (0, 1, 3, -2)]),
    "clipped": ([x, m], (T.arange(abs(m - 2)), x[: T.clip(m, 2, 5)]), [(TEN, k) for k in (*NUMBERS, -3)]),
    "all pairs": ([x], (x[:, None] - x).ravel() * T.arange(x.shape[0] ** 2), [(TEN[:k],) for k in (0, 1, 7)]),
    "all elements": ([X], (T.arange(T.prod(X.shape)), T.zeros(T.sum(X.shape))), [(GRID,), (GRID[:0],)]),
    "best": ([x, n], x[T.argsort(x)[:n]], [(TEN, k) for k in NUMBERS]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_call_is_one_program(name):
    inputs, result, calls = PROGRAMS[name]
    f, plain = tg.function(inputs, result, mode=C), tg.function(inputs, result, mode=PY)
    assert str(f.why_not_native()) == "everything is compiled"
    for given in calls:
        for ours, wanted in zip(*(r if isinstance(result, tuple) else [r] for r in (f(*given), plain(*given)))):
            np.testing.assert_array_equal(ours, wanted)


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
def test_numbers_of_every_dtype(dtype):
    k = T.scalar("k", dtype=dtype)
    f = tg.function([x, k], (x[:k], x[k:].sum()), mode=C)
    for value in (0, 3, 100) if dtype[0] == "u" else (0, 3, 100, -1, -100):
        first, rest = f(TEN, np.array(value, dtype))
        np.testing.assert_array_equal(first, TEN[:value])
        assert rest == TEN[value:].sum()


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "bool"])
def test_lengths_that_are_cut_to_few_bits_wrap_around(dtype):
    """As numbers do: 300 is 44 in 8 bits, also where a loop has stacked it in each of its steps."""
    stacked = tg.scan(lambda step, v: v.shape[0], sequences=[T.arange(4)], non_sequences=[x])[0]
    long = np.ones(70_300 if "16" in dtype else 300)
    for number in (x.shape[0], stacked[1], stacked):
        wrapped = T.cast(T.cast(number, dtype), "int64")
        wrapped = wrapped[1] if wrapped.ndim else wrapped
        for mode in ("FAST_RUN", "FAST_COMPILE"):
            f = tg.function([x], [T.arange(wrapped), x[:wrapped]], mode=mode)
            want = int(np.array(len(long)).astype(dtype))
            assert [len(a) for a in f(long)] == [want, want if want >= 0 else len(long) + want]


def test_a_shared_number_that_the_call_changes():
    count = tg.shared(np.int64(2), name="count")
    f = tg.function([x], x[:count] + 1, updates=[(count, count + 3)], mode=C)
    for k in (2, 5, 8, 11):
        np.testing.assert_array_equal(f(TEN), TEN[:k] + 1)
    assert count.get_value() == 14


def test_what_no_length_can_be_is_refused_at_the_users_line():
    f = tg.function([n, m], T.zeros((n, m)), mode=C)
    with pytest.raises(ShapeError, match=r"test_c_length_values\.py(.|\n)*a length cannot be negative: -4"):
        f(2, -4)
    with pytest.raises(MemoryError):
        f(2**30, 2**40)
    g = tg.function([x, shape], T.reshape(x, shape, ndim=2), mode=C)
    with pytest.raises(IndexError, match="index 1 is out of bounds for axis 0 with size 1"):
        g(TEN, np.array([10]))
    with pytest.raises(ValueError, match="reshape"):
        g(TEN, np.array([3, 4]))


def test_numbers_that_segments_compute_are_read_by_the_next():
    f = tg.function([x], T.zeros(((x > 2).sum(),)) + x.max(), mode=C)
    np.testing.assert_array_equal(f(TEN), np.full(7, 9.0))
    text = str(f.why_not_native())
    assert "its length is computed from values" in text and "all operations are compiled" in text


def test_the_glue_in_python_reads_them_too(monkeypatch):
    monkeypatch.setattr(glue, "_provider", glue.load_fallback())
    count = tg.shared(np.int64(2), name="count")
    f = tg.function([x, shape], (x[: shape[1]] + 1, x[count:]), updates=[(count, count + 1)], mode=C)
    assert str(f.why_not_native()) == "everything is compiled"
    for k in (2, 3):
        first, rest = f(TEN, np.array([9, 4, 1]))
        np.testing.assert_array_equal(first, TEN[:4] + 1)
        np.testing.assert_array_equal(rest, TEN[k:])


def test_remainders_by_powers_of_two():
    """They are bits of the number by then."""
    f = tg.function([x], [T.zeros((x.shape[0] % 4, 2)), x[x.shape[0] % 8 :], x[: (x.shape[0] - 5) % 2]], mode=C)
    for size in range(12):
        value = np.arange(float(size))
        zeros, later, first = f(value)
        assert zeros.shape == (size % 4, 2)
        np.testing.assert_array_equal(later, value[size % 8 :])
        np.testing.assert_array_equal(first, value[: (size - 5) % 2])


@pytest.mark.parametrize(
    "dtype, number, length",
    [("uint32", 7, lambda u: u - 3), ("uint32", 7, lambda u: u - T.cast(3, "uint32")),
     ("uint32", 2, lambda u: abs(u - 3)), ("uint64", 7, lambda u: u - 3), ("uint64", 7, lambda u: u * u),
     ("uint32", 7, lambda u: T.maximum(u, 5) // 2), ("uint32", 7, lambda u: T.cast(u, "int64") - 3),
     ("int32", 46341, lambda n: n * n), ("int32", 4, lambda n: n * n), ("int32", 70000, lambda n: n**3),
     ("int32", -(2**31), abs), ("int32", -(2**31), lambda n: n**2), ("int64", 4, lambda n: n * n),
     ("int64", 2, lambda n: n**3), ("int64", -4, abs), ("int64", 2**32 + 3, lambda n: T.cast(n, "uint32") + 1)],
)  # fmt: skip
def test_lengths_wrap_around_as_their_dtypes_do(dtype, number, length):
    k = T.tensor("k", dtype=dtype, shape=())
    found = [tg.function([k], T.arange(20)[: length(k)], mode=mode)(np.asarray(number, dtype)) for mode in (C, PY)]
    assert found[0].tolist() == found[1].tolist()


def test_lengths_of_wide_integers_are_computed_in_c():
    u = T.tensor("u", dtype="uint32", shape=())
    for length in (m * m, m**3, abs(m), T.clip(m, 0, 5), n + 1, T.maximum(u, 5)):
        f = tg.function([n, m, u], T.zeros(length) + 1, mode=C, on_unused_input="ignore")
        assert str(f.why_not_native()) == "everything is compiled"
