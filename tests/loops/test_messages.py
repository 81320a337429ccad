"""What is told of mistakes in steps: the line that the user wrote, the names a step has for what it is given."""

import inspect

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T

LINKER = "auto"
MODES = ["FAST_RUN", "FAST_COMPILE", "STRICT", "DEBUG_MODE", "None"]


def fails(inputs, outputs, values, mode="FAST_RUN"):
    with pytest.raises(ValueError) as info, tg.config.change_flags(python_parts="ignore"):
        tg.function(inputs, outputs, mode=mode)(*values)
    return str(info.value)


@pytest.mark.parametrize("mode", MODES)
def test_growing_result_cannot_be_stacked(mode):
    """Also where so few steps are written out one by one."""
    here = inspect.currentframe().f_lineno + 1
    _, ys = tg.loop(lambda c, _: (T.concatenate([c, c]), c), T.constant([1.0]), length=3)
    told = fails([], ys, [], mode)
    assert "result 0 of a loop changes its shape from (1,) to (2,) in step 1" in told and f"line {here}" in told


@pytest.mark.parametrize("mode", ["FAST_RUN", "None"])
@pytest.mark.parametrize(
    ("carry", "part", "name"),
    [
        (lambda h: h, lambda c: c, "carry"),
        (lambda h: (T.zeros(2), h), lambda c: c[1], "carry[1]"),
        (lambda h: {"h": h}, lambda c: c["h"], "h"),
        (lambda h: {"enc": [h]}, lambda c: c["enc"][0], "carry['enc'][0]"),
    ],
)
def test_carries_have_names(carry, part, name, mode):
    xs, u = T.dmatrix("xs"), T.dmatrix("u")
    _, hs = tg.loop(lambda c, x: (carry(T.tanh(part(c) @ u + x)), part(c)), carry(T.zeros(4)), xs)
    told = fails([xs, u], hs, [np.ones((6, 5)), np.ones((5, 5))], mode)
    assert f"operand 0: {name}, " in told


@pytest.mark.parametrize("mode", ["FAST_RUN", "None"])
def test_of_equal_loops_the_one_written_last_is_named(mode):
    """As in a notebook whose cell is run again after a line was added."""
    xs, u = T.dmatrix("xs"), T.dmatrix("u")
    for write in (
        lambda: tg.loop(lambda h, x: (T.tanh(h @ u + x), h), T.zeros(7), xs),
        lambda: tg.loop(lambda h, x: (T.tanh(h @ u + x), h), T.zeros(7), xs),
    ):
        told = fails([xs, u], write()[1], [np.ones((6, 5)), np.ones((5, 5))], mode)
        assert f"line {write.__code__.co_firstlineno}, in" in told


def test_what_to_write_instead_of_a_conversion():
    x = T.dvector("x")
    with pytest.raises(TypeError, match=r"length=n.*n_steps=n.*instead of range\(n\)"):
        range(x.shape[0])
    with pytest.raises(TypeError, match=r"T.cast\(x, 'float64'\).*T.sqrt"):
        float(x.sum())
    with pytest.raises(TypeError, match=r"T.cast\(x, 'int64'\)"):
        int(x.sum())


@pytest.mark.parametrize("mode", ["FAST_RUN", "STRICT"])
def test_a_rest_that_is_no_whole_number(mode):
    x = T.dtensor4("x")
    told = fails([x], x.reshape((-1, 7)), [np.ones((2, 3, 4, 4))], mode)
    assert "array of 96 elements" in told and "-1, the product of the others must divide" in told


def test_a_condition_in_the_place_of_a_result():
    with pytest.raises(TypeError, match=r"must return \(carry, y\) or \(carry, y, tg.until\(condition\)\)"):
        tg.loop(lambda c, _: (c + 1, tg.until(c > 3)), 0, length=10)


@pytest.mark.parametrize("mode", ["FAST_RUN", "None"])
def test_different_numbers_of_examples(mode):
    """A product of two rows is a product and a sum for many: each knows the line."""
    a, b = T.dmatrix("a"), T.dmatrix("b")
    told = fails([a, b], tg.vmap(lambda a, b: a @ b)(a, b), [np.ones((3, 2)), np.ones((4, 2))], mode)
    assert "lambda a, b: a @ b" in told


def test_branches_are_values():
    x = T.dvector("x")
    with pytest.raises(
        TypeError, match=r"the else-branch is a function; give what it returns, ifelse\(c, f\(x\), g\(x\)\)"
    ):
        tg.ifelse(x[0] > 0, x, lambda: -x)


def test_what_is_put_aside_in_a_step_is_known_there_only():
    """In the step of a loop, in what is mapped, and in what is differentiated."""
    x, kept = T.dvector("x"), []

    def aside(row, *_):
        kept.append(row * 2)
        return row

    for loop in (
        lambda: tg.scan(aside, sequences=x), lambda: tg.vmap(aside)(x), lambda: tg.value_and_grad(aside)(x[0]),
        lambda: tg.loop(lambda c, row: (aside(c), row), 0.0, x), lambda: tg.scan(aside, outputs_info=x, n_steps=2),
    ):  # fmt: skip
        loop()
        with pytest.raises(tg.MissingInputError, match=r"which only a function that was given it knows.\nReturn"):
            tg.function([x], kept[-1])
    with pytest.raises(tg.MissingInputError, match="Add it to the inputs of the function"):
        tg.function([], x)
