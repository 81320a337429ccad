"""Test values: graphs computed while they are built (FEATURES 81)."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.tensor.testvalues import MissingTestValue, get_test_value


@pytest.fixture(autouse=True)
def on():
    with tg.config.change_flags(compute_test_value="raise"):
        yield


def tagged(variable, value):
    variable.tag.test_value = np.asarray(value)
    return variable


def test_f81_values_are_computed_while_building():
    x = tagged(T.dvector("x"), [1.0, 2.0])
    w = tg.shared(np.array([3.0, 4.0]))
    y = (x + w * 2).sum()
    assert y.tag.test_value == 17 and get_test_value(x + x)[1] == 4
    assert np.array_equal(get_test_value(-x), [-1, -2])


def test_f81_wrong_shape_fails_at_the_line():
    a, b = tagged(T.dmatrix("a"), np.ones((2, 3))), tagged(T.dmatrix("b"), np.ones((2, 3)))
    with pytest.raises(ValueError):
        T.dot(a, b)
    with pytest.raises(ValueError):
        a + b.T


def test_f81_missing_raises_warns_or_is_ignored():
    x = T.dvector("x")
    with pytest.raises(AttributeError, match="no test value for x .*set x.tag.test_value"):
        x + 1
    with tg.config.change_flags(compute_test_value="warn"), pytest.warns(UserWarning, match="no test value for x"):
        x + x
    with tg.config.change_flags(compute_test_value="ignore"):
        y = x + x
    with pytest.raises(MissingTestValue):
        get_test_value(y)
    with tg.config.change_flags(compute_test_value="off"):
        assert not hasattr((x + x).tag, "test_value")


def test_f81_value_must_fit_the_type():
    x = tagged(T.dvector("x"), np.ones((2, 2)))
    with pytest.raises(TypeError, match="1 dimensions"):
        x + 1


def test_f81_several_results_and_user_ops():
    class Two(tg.Op):
        __props__ = ()
        itypes, otypes = [T.dvector], [T.dvector, T.dscalar]

        def perform(self, node, inputs, output_storage):
            output_storage[0][0] = inputs[0] * 2
            output_storage[1][0] = inputs[0].sum()

    double, total = Two()(tagged(T.dvector("x"), [1.0, 2.0]))
    assert np.array_equal(double.tag.test_value, [2, 4]) and total.tag.test_value == 3


def test_f81_through_gradients_rewriting_loops_and_batches():
    """Test values go through what makes graphs of graphs; a step of a loop sees those of its operands."""
    x = tagged(T.dvector("x"), [1.0, 2.0, 3.0])
    start = tagged(T.dscalar("start"), 10.0)
    g = tg.grad(T.sqr(x).sum(), x)
    assert g.tag.test_value.tolist() == [2, 4, 6] and (g * 2).tag.test_value.tolist() == [4, 8, 12]
    assert (tg.rewrite(T.log(1 + x)) * 2).tag.test_value[0] == 2 * np.log1p(1.0)
    sums, _ = tg.scan(lambda a, s: a + s, sequences=x, outputs_info=start)
    assert sums.tag.test_value.tolist() == [11, 13, 16]
    assert tg.grad(sums[-1], [x, start])[1].tag.test_value == 1
    both, _ = tg.scan(lambda a, b, s, r: a * b + s + r, sequences=[x, {"input": x, "taps": [0]}],
                      outputs_info={"initial": T.stack([start, start]), "taps": [-2, -1]})  # fmt: skip
    assert both.tag.test_value.tolist() == [21, 35, 65]
    with pytest.raises(
        ValueError, match=r"shapes \(3,\) and \(2,\) do not broadcast"
    ):  # where it is written, not where it is run
        tg.scan(lambda a: a + x[:2].sum() + (x + x[:2]).sum(), sequences=x)
    assert tg.vmap(lambda a: a * 2)(x).tag.test_value.tolist() == [2, 4, 6]
    carry, ys = tg.loop(lambda s, a: (s + a, s), T.constant(0.0), x) if hasattr(tg, "loop") else (start, x)
    assert carry.tag.test_value is not None and ys.tag.test_value.shape == (3,)


def test_f81_no_stability_rules():
    x = tagged(T.dscalar("x"), 1e-20)
    assert T.log(1 + x).tag.test_value == 0


def test_f81_set_by_the_graph_is_not_overwritten():
    with tg.config.change_flags(compute_test_value="off"):
        x = T.dscalar("x")
        y = x + 1
    tagged(y, 5.0)
    assert (y * 2).tag.test_value == 10
