"""What Theano's own tests ask of programs, and was not there or gave other numbers."""

import numpy as np
import pytest

import termgraph.theano as theano
import termgraph.theano.tensor as T
from termgraph.theano.compat import BytesIO, exc_message
from termgraph.theano.compile import config
from termgraph.theano.configdefaults import local_bitwidth, python_int_bitwidth
from termgraph.theano.gof.null_type import NullType
from termgraph.theano.gradient import DisconnectedInputError, DisconnectedType, GradientError, NullTypeGradError
from termgraph.theano.gradient import grad as gradient
from termgraph.theano.sparse import enable_sparse
from termgraph.theano.tensor.extra_ops import Unique, bincount, ravel_multi_index, unravel_index
from termgraph.theano.tensor.shared_randomstreams import RandomStreams


def test_names():
    assert config is theano.config and enable_sparse
    assert exc_message(ValueError("why")) == "why" and BytesIO(b"x").read() == b"x"
    assert local_bitwidth() == python_int_bitwidth() == 64
    assert T.verify_grad.E_grad is GradientError
    assert T.NoneConst.data is None and T.Shape is not None


def test_known_gradients_that_do_not_exist():
    x, y = T.iscalar("x"), T.iscalar("y")
    with pytest.raises(NullTypeGradError):
        gradient(x + y, [x, y], known_grads={x + y: NullType("nobody knows")()})
    a, b = T.dscalar("a"), T.dscalar("b")
    for cost, wrt in ((x + y, [x, y]), (a * b, [a, b])):
        with pytest.raises(DisconnectedInputError):
            gradient(cost, wrt, known_grads={cost: DisconnectedType()()})
        found = gradient(cost, wrt, known_grads={cost: DisconnectedType()()}, disconnected_inputs="ignore")
        assert [float(g.eval({wrt[0]: 2, wrt[1]: 3}, on_unused_input="ignore")) for g in found] == [0, 0]
    half = a * 2
    (through,) = gradient(half * b + a, [a], known_grads={half: DisconnectedType()()})
    assert float(through.eval({a: 2.0, b: 3.0}, on_unused_input="ignore")) == 1


def test_known_gradients_of_whole_numbers():
    i, g, a = T.iscalar("i"), T.dscalar("g"), T.dscalar("a")
    assert float(theano.function([g], gradient(None, i, known_grads={i: g}))(0.6)) == 0.6
    product = a * i
    by_both = gradient(None, [a, i], known_grads={product: g, i: g * 10})
    assert [float(v) for v in theano.function([a, i, g], by_both)(2.0, 3, 0.5)] == [1.5, 5.0]
    assert float(theano.function([a, i, g], gradient(None, i, known_grads={product: g}))(2.0, 3, 0.5)) == 1.0


def test_forward_derivative_of_a_derivative_that_needs_nothing():
    v, m = T.dvector("v"), T.dmatrix("m")
    slope = theano.grad(T.dot(m, v).sum(), v)
    assert theano.function([v, m], T.Rop(slope, v, v))(np.ones(2), np.ones((3, 2))).tolist() == [0, 0]


def test_a_default_update_can_be_deleted():
    w = theano.shared(1.0)
    w.default_update = w + 1
    del w.default_update
    theano.function([], w)()
    assert w.get_value() == 1


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_unique_along_an_axis(axis):
    """The op left its axis out."""
    x, value = T.imatrix("x"), np.array([[1, 2, 1], [1, 2, 1], [0, 1, 0]], np.int32)
    (found,) = theano.function([x], Unique(axis=axis)(x, return_list=True))(value)
    np.testing.assert_array_equal(found, np.unique(value, axis=axis))
    values, places = theano.function([x], Unique(True, axis=axis)(x))(value)
    np.testing.assert_array_equal(places, np.unique(value, return_index=True, axis=axis)[1])
    np.testing.assert_array_equal(values, found)


def test_options_of_extra_ops():
    lengths, x = T.lvector("lengths"), T.ivector("x")
    places = theano.function([lengths], unravel_index(7, lengths, ndim=2))([3, 4])
    assert [int(i) for i in places] == [1, 3]
    assert int(theano.function([lengths], ravel_multi_index([1, 3], lengths))([3, 4])) == 7
    assert theano.function([x], bincount(x, assert_nonneg=True))([1, 1, 3]).tolist() == [0, 2, 0, 1]


def test_states_of_draws_by_their_rng():
    stream = RandomStreams(3)
    first, second = stream.uniform((2,)), stream.normal((2,))
    f = theano.function([], [first, second])
    f()
    stream[first.rng] = np.random.RandomState(5)
    kept = stream[second.rng].get_state()
    a, b = f()
    stream[first.rng] = np.random.RandomState(5)
    stream[second.rng].set_state(kept)
    again = f()
    np.testing.assert_array_equal(again, [a, b])
    assert stream.gen_seedgen is not RandomStreams(3).gen_seedgen
    with pytest.raises(KeyError):
        stream[T.dscalar("other")]


def test_rules_for_gradients_of_nested_graphs_get_what_theano_gives_them():
    x, y = T.dvectors("x", "y")

    def of_grad(inputs, grads):
        return [grads[0] * 10 * inputs[1], grads[0] * 100]

    def of_lop(inputs, outputs, grads):
        return [grads[0] * outputs[0], grads[0] * 100]

    for options, expected in (
        ({"grad_overrides": of_grad}, [[30, 40], [100, 100]]),
        ({"grad_overrides": [lambda i, g: g[0] * 7, None]}, [[7, 7], [1, 2]]),
        ({"lop_overrides": of_lop}, [[3, 8], [100, 100]]),
    ):
        product = theano.OpFromGraph([x, y], [x * y], **options)
        found = theano.function([x, y], theano.grad(product(x, y).sum(), [x, y]), on_unused_input="ignore")
        np.testing.assert_array_equal(found([1.0, 2.0], [3.0, 4.0]), expected)


def test_verify_grad_of_what_does_not_depend_on_an_input():
    """The gradient is zero, and is compared as such: it was said to be missing."""
    at, rng = [np.array([1.0, 2.0]), np.array([3.0])], np.random.RandomState(0)
    T.verify_grad(lambda a, b: theano.grad((3 * a).sum(), a), at, rng=rng)
    T.verify_grad(lambda a, b: T.constant([1.0, 2.0]), at, rng=rng)
    with pytest.raises(T.verify_grad.E_grad):
        T.verify_grad(lambda a, b: theano.gradient.disconnected_grad(a), at, rng=rng)
