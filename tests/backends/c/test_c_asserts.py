"""Checks of the user's in C: conditions are computed in the program, the message is that of the virtual machine."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T

x, y = T.dvectors("x", "y")
a, b = T.dscalars("a", "b")
n = T.lscalar("n")
i = T.lvector("i")

LINKERS = ("py", "c")  # "c" refuses graphs of which a part would run outside of C
linkers = pytest.mark.parametrize("linker", LINKERS)


class OddError(ValueError):
    """An error of the user's own."""


def compiled(linker, inputs, outputs, **more):
    return tg.function(inputs, outputs, mode=tg.Mode(linker=linker), **more)


def told(f, *args, error=AssertionError):
    """What the failing call says first: the user's line, and the message."""
    with pytest.raises(error) as info:
        f(*args)
    lines = str(info.value).splitlines()
    assert "test_c_asserts.py" in lines[0]
    return next(line for line in lines if line.startswith("check failed: ")).removeprefix("check failed: ")


@linkers
def test_the_message_is_the_users(linker):
    f = compiled(linker, [x], T.log(tg.Assert("{0} of 100 %s {must} be positive")(x, x > 0)))
    np.testing.assert_allclose(f([1.0, 2.0]), np.log([1.0, 2.0]))
    assert told(f, [1.0, 0.0]) == "{0} of 100 %s {must} be positive"
    np.testing.assert_array_equal(f([1.0]), [0.0])  # a failed call changes nothing


@linkers
def test_the_error_is_the_users(linker):
    f = compiled(linker, [x], tg.CheckAndRaise(OddError, "odd")(x, x > 0, x.sum() < 5) * 2)
    assert f([2.0]).tolist() == [4.0]
    assert told(f, [1.0, -1.0], error=OddError) == "odd (condition 0)"
    assert told(f, [3.0, 4.0], error=OddError) == "odd (condition 1)"
    assert told(f, [30.0, -4.0], error=OddError) == "odd (condition 0)"


@linkers
def test_of_several_checks_the_first_is_told(linker):
    first, second = tg.Assert("first")(x, x > 0), tg.Assert("second")(y, y > 0)
    third = tg.Assert("third")(first.sum() * second, (first.sum() + second) < 10)
    f = compiled(linker, [x, y], third)
    assert f([1.0, 2.0], [3.0]).tolist() == [9.0]
    assert told(f, [0.0, 2.0], [0.0]) == "first"
    assert told(f, [1.0, 2.0], [0.0, 50.0, 0.0]) == "second"
    assert told(f, [1.0, 2.0], [50.0, 1.0]) == "third"


@linkers
@pytest.mark.parametrize(
    "needed",
    [lambda v: v[2:], lambda v: v[:0], lambda v: T.zeros_like(v[:1]) + v[1], lambda v: v.sum(), lambda v: -v],
    ids=["part", "nothing", "one", "sum", "all"],
)
def test_it_is_checked_however_little_is_needed(linker, needed):
    f = compiled(linker, [x, a], needed(tg.Assert("no")(x, a > 0)))
    f([1.0, 2.0, 3.0], 1.0)
    assert told(f, [1.0, 2.0, 3.0], 0.0) == "no"


@linkers
def test_it_is_checked_beside_nothing(linker):
    f = compiled(linker, [x, a], tg.Assert("no")(x, a > 0) * 2)
    assert f([], 1.0).shape == (0,)
    assert told(f, [], -1.0) == "no"
    g = compiled(linker, [x], tg.Assert("no")(x, x > 0) * 2)
    assert g([]).shape == (0,)  # no element is wrong


@linkers
def test_the_value_is_the_same_to_the_last_bit(linker):
    values = np.array([-0.0, 0.0, np.nan, np.inf, -np.inf, 5e-324])
    f = compiled(linker, [x], tg.Assert("no")(x, x.shape[0] > 0))
    found = f(values)
    assert found.tobytes() == values.tobytes() and not np.shares_memory(found, values)


@linkers
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "float32", "complex128"])
def test_conditions_and_values_of_any_dtype(linker, dtype):
    v = T.TensorType(dtype, (None,))("v")
    f = compiled(linker, [v], tg.Assert("no")(v, v))
    assert f(np.ones(3, dtype)).tolist() == [1, 1, 1]
    assert told(f, np.array([1, 0, 1], dtype)) == "no"
    if dtype.startswith(("float", "complex")):
        assert np.isnan(f(np.array([np.nan], dtype))).all()  # NaN counts as true, as in NumPy


@linkers
def test_rows_and_matrices(linker):
    m = T.dmatrix("m")
    f = compiled(linker, [m], tg.Assert("rows must not be empty")(m, m.sum(axis=1) > 0) @ m.T)
    value = np.arange(1.0, 7).reshape(2, 3)
    np.testing.assert_allclose(f(value), value @ value.T)
    assert told(f, np.zeros((2, 3))) == "rows must not be empty"


@linkers
def test_a_side_that_is_not_chosen_is_not_checked(linker):
    large = T.exp(tg.Assert("large")(x, x < 5)).cumsum()
    f = compiled(linker, [x, a], tg.ifelse(a > 0, large, x))
    assert f([9.0], -1.0).tolist() == [9.0]
    assert told(f, [9.0], 1.0) == "large"
    g = compiled(linker, [a, b], tg.ifelse(a > 0, tg.Assert("number")(b, b < 5) + 1, b))
    assert g(-1.0, 9.0) == 9.0
    assert told(g, 1.0, 9.0) == "number"


@linkers
def test_in_the_steps_of_a_loop(linker):
    def step(row, total):
        return tg.Assert("a sum must not pass 5")(total, total <= 5) + row

    sums = tg.scan(step, sequences=[x], outputs_info=[T.as_tensor(np.float64(0))])[0]
    f = compiled(linker, [x], sums)
    assert f([1.0, 2.0, 9.0]).tolist() == [1.0, 3.0, 12.0]
    with pytest.raises(AssertionError, match="a sum must not pass 5"):
        f([1.0, 9.0, 1.0])
    rows = tg.scan(lambda k, v: tg.Assert("row")(v, v < 5) * 2, sequences=[T.arange(n)], outputs_info=[x])[0]
    g = compiled(linker, [x, n], rows)
    assert g([1.0, 0.5], 3).tolist() == [[2, 1], [4, 2], [8, 4]]
    with pytest.raises(AssertionError, match="row"):
        g([1.0, 0.5], 4)


@linkers
def test_what_threads_share_is_checked_once(linker):
    size = 400_000
    f = compiled(linker, [x], T.exp(tg.Assert("small")(x, T.abs(x) < 1)).sum())
    with tg.config.change_flags(threads=4):
        np.testing.assert_allclose(f(np.zeros(size)), size)
        assert told(f, np.r_[np.zeros(size), 2.0]) == "small"
        assert told(f, np.r_[2.0, np.zeros(size)]) == "small"


@linkers
def test_nothing_is_updated_when_a_check_fails(linker):
    w, v = tg.shared(np.ones(3), "w"), tg.shared(np.zeros(3), "v")
    checked = tg.Assert("w must stay below 5")(w + x, w + x < 5)
    f = compiled(linker, [x], [(w * 2).sum()], updates=[(w, checked), (v, v + w)])
    f([1.0, 1.0, 1.0])
    assert told(f, [0.0, 0.0, 9.0]) == "w must stay below 5"
    assert w.get_value().tolist() == [2, 2, 2] and v.get_value().tolist() == [1, 1, 1]


@linkers
def test_indices_and_gradients_pass_through(linker):
    f = compiled(linker, [x, i], x[tg.Assert("i must be even")(i, T.eq(i % 2, 0))])
    assert f([1.0, 2.0, 3.0], [2, 0]).tolist() == [3.0, 1.0]
    assert told(f, [1.0, 2.0, 3.0], [2, 1]) == "i must be even"
    slope = tg.grad((tg.Assert("no")(x, x > 0) ** 3).sum(), x)
    g = compiled(linker, [x], slope)
    np.testing.assert_allclose(g([2.0]), [12.0])
    assert told(g, [-2.0]) == "no"


def test_a_checked_length_is_read_before_the_program_that_needs_it():
    f = tg.function([n], T.zeros((tg.Assert("n must be small")(n, n < 5),)) + 1)
    assert f(3).tolist() == [1, 1, 1]
    assert told(f, 10**15) == "n must be small"


def test_equal_checks_are_one_and_different_ones_are_kept():
    once, again = tg.Assert("one")(x, x > 0), tg.Assert("one")(x, x > 0)
    f = tg.function([x], [T.exp(once), T.log(again), tg.Assert("two")(x, x > 0)])
    assert str(f.stage("place")).count("check") == 2
    assert told(f, [-1.0]) == "one"


def test_debug_mode_and_batches():
    f = tg.function([x], tg.Assert("no")(x, x.sum() > 0) * 2, mode="DEBUG_MODE")
    assert f([1.0]).tolist() == [2.0]
    with pytest.raises(AssertionError, match="no"):
        f([-1.0])
    m = T.dmatrix("m")
    rows = tg.function([m], tg.vmap(lambda v: tg.Assert("row")(v, v.sum() > 0) * 2)(m), mode=tg.Mode(linker="c"))
    assert rows(np.ones((2, 3))).tolist() == [[2, 2, 2], [2, 2, 2]]
    with pytest.raises(AssertionError, match="row"):
        rows(np.array([[1.0, 1.0], [1.0, -2.0]]))


m = T.dmatrix("m")
# What is checked of lengths, and how it is needed; arguments x, y, m whose lengths operations refuse, too.
LENGTHS = {
    "equal": (lambda: T.eq(x.shape[0], y.shape[0]), lambda v: v + y, (3, 2, 2)),
    "shapes": (lambda: T.eq(x.shape, y.shape), lambda v: v + y, (3, 2, 2)),
    "shapes of matrices": (lambda: T.eq(m.shape, T.stack([x.shape[0], y.shape[0]])), lambda v: m @ v, (3, 2, 2)),
    "not empty": (lambda: x.shape[0] > 0, lambda v: v.max(), (0, 2, 2)),
    "fits": (lambda: T.eq(m.shape[1], x.shape[0]), lambda v: m @ v, (3, 2, 2)),
    "even": (lambda: T.eq(x.shape[0] % 2, 0), lambda v: v.reshape((-1, 2)), (3, 2, 2)),
    "of three": (lambda: T.eq((x.shape[0] - 5) % 3, 0), lambda v: v + y, (3, 2, 2)),
    "shorter": (lambda: x.shape[0] < y.shape[0], lambda v: (v - y).sum(), (3, 2, 2)),
    "both": (lambda: (x.shape[0] > 0) & (x.shape[0] <= 2), lambda v: v + y, (3, 2, 2)),
}


@linkers
@pytest.mark.parametrize("case", LENGTHS)
def test_a_check_of_lengths_is_told_before_what_operations_refuse(linker, case):
    condition, needed, (a_length, b_length, rows) = LENGTHS[case]
    out = needed(tg.CheckAndRaise(OddError, "{0} of lengths")(x, condition()))
    f = compiled(linker, [x, y, m], out, on_unused_input="ignore")
    message = told(f, np.zeros(a_length), np.zeros(b_length), np.zeros((rows, rows)), error=OddError)
    assert message == "{0} of lengths"


@linkers
def test_a_condition_on_lengths_and_no_elements_holds(linker):
    f = compiled(linker, [x], tg.Assert("no")(x, (x.shape[0] > 1) & (x > 0)) * 2)
    assert f([]).shape == (0,)
    assert told(f, [1.0]) == "no"


@linkers
def test_a_condition_on_lengths_in_loops_and_choices_waits_until_it_is_needed(linker):
    rows = tg.scan(lambda row: tg.Assert("row")(row, row.shape[0] > 2) * 2, sequences=[m])[0]
    f = compiled(linker, [m], rows)
    assert len(f(np.zeros((0, 1)))) == 0
    with pytest.raises(AssertionError, match="row"):
        f(np.zeros((1, 1)))
    checked = tg.Assert("long")(x, x.shape[0] > 2).cumsum()
    g = compiled(linker, [x, a], tg.ifelse(a > 0, checked, x))
    assert g([9.0], -1.0).tolist() == [9.0]
    assert told(g, [9.0], 1.0) == "long"
