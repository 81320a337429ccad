"""Ops and types written by users (FEATURES 5.5, 17, 62)."""

import pickle

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.terms.evaluate import evaluate

v = T.dvector("v")


class Scale(tg.Op):
    __props__ = ("factor",)

    def __init__(self, factor):
        self.factor = factor

    def make_node(self, x):
        x = T.as_tensor(x)
        return tg.Apply(self, [x], [x.type()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = inputs[0] * self.factor


class Split(tg.Op):
    itypes = [T.dvector]
    otypes = [T.dvector, T.dscalar]

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = inputs[0][:1]
        output_storage[1][0] = inputs[0].sum()


split = Split()


@tg.as_op(itypes=[T.dvector, T.lscalar], otypes=[T.dvector])
def rolled(array, by):
    return np.roll(array, by)


def test_f62_make_node_and_perform():
    y = Scale(3)(v + 1)
    assert np.array_equal(tg.function([v], y)([1.0, 2.0]), [6, 9])
    assert y.owner.op.factor == 3 and repr(y.owner.op) == "Scale{factor=3}"
    assert np.array_equal(evaluate([Scale(2)(v).term], {v: [1.0]})[0], [2.0])
    assert np.array_equal(tg.function([], Scale(2)([1.0, 2.0]))(), [2, 4])


def test_f62_props_make_equal_ops_and_terms():
    assert Scale(2) == Scale(2) and hash(Scale(2)) == hash(Scale(2)) and Scale(2) != Scale(3)
    assert Scale(2)(v).term is Scale(2)(v).term
    assert Scale(2)(v).term is not Scale(3)(v).term
    f = tg.function([v], Scale(2)(v) + Scale(2)(v))
    assert len([n for n in f.maker.fgraph.toposort() if isinstance(n.op, Scale)]) == 1
    assert Split() != split and Split()(v)[0].term is not split(v)[0].term


def test_f62_several_outputs_and_declared_types():
    first, total = split(v)
    out = tg.function([v], [first, total])([4.0, 5.0])
    assert out[0][0] == 4 and out[1] == 9 and first.owner is total.owner
    assert split(v, return_list=True)[1].index == 1
    with pytest.raises(TypeError, match=r"input 0 of Split must have type"):
        split(T.fvector("f"))
    with pytest.raises(TypeError, match="takes 1 inputs"):
        split(v, v)


def test_f62_as_op():
    f = tg.function([v], rolled(v, 1) * 2)
    assert np.array_equal(f([1.0, 2.0, 3.0]), [6, 2, 4])
    with pytest.raises(TypeError, match="types such as"):
        tg.as_op(itypes=["float"], otypes=[T.dvector])


def test_f62_errors_in_perform():
    class Wrong(tg.Op):
        __props__ = ("what",)
        itypes, otypes = [T.dvector], [T.dvector]

        def __init__(self, what):
            self.what = what

        def perform(self, node, inputs, output_storage):
            if self.what == "raise":
                raise RuntimeError("my message")
            if self.what == "dtype":
                output_storage[0][0] = inputs[0].astype("float32")

    for what, error, text in (
        ("raise", RuntimeError, "my message"),
        ("dtype", TypeError, "output 0 should be"),
        ("nothing", TypeError, "put nothing into"),
    ):
        f = tg.function([v], Wrong(what)(v))
        with pytest.raises(error, match=text) as info:
            f([1.0])
        assert "test_user_ops.py" in str(info.value).splitlines()[0]


def test_f62_op_that_destroys_does_not_touch_what_others_hold():
    class Bump(tg.Op):
        __props__ = ()
        destroy_map = {0: [0]}
        itypes, otypes = [T.dvector], [T.dvector]

        def perform(self, node, inputs, output_storage):
            inputs[0][:] += 1
            output_storage[0][0] = inputs[0]

    mine = np.zeros(2)
    f = tg.function([v], [Bump()(v), v * 2], accept_inplace=True)
    bumped, double = f(mine)
    assert np.array_equal(mine, [0, 0]) and np.array_equal(bumped, [1, 1]) and np.array_equal(double, [0, 0])


def test_ops_that_say_nothing():
    class Nothing(tg.Op):
        def perform(self, node, inputs, output_storage):
            pass

    with pytest.raises(NotImplementedError, match="make_node"):
        Nothing()(v)

    class Missing(tg.Op):
        __props__ = ("absent",)
        itypes, otypes = [T.dvector], [T.dvector]

        def perform(self, node, inputs, output_storage):
            pass

    with pytest.raises(TypeError, match="absent"):
        Missing()(v)


def test_pickled_user_graphs():
    y = rolled(Scale(2)(v), 1)
    again = pickle.loads(pickle.dumps([v, y]))
    assert again[1].owner.op is rolled
    assert again[1].owner.inputs[0].owner.op is y.owner.inputs[0].owner.op
    assert np.array_equal(again[1].eval({again[0]: [1.0, 2.0]}), [4, 2])


class Double(tg.Type):
    def filter(self, value, strict=False, allow_downcast=None):
        if strict and not isinstance(value, float):
            raise TypeError("expected a float")
        return float(value)


double = Double()


class Times(tg.Op):
    __props__ = ()

    def make_node(self, x, y):
        if isinstance(y, float):
            y = tg.Constant(double, y)
        if x.type != double or y.type != double:
            raise TypeError("Times works on doubles")
        return tg.Apply(self, [x, y], [double()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = inputs[0] * inputs[1]


def test_f5_5_type_that_is_a_python_type():
    x = double("x")
    z = Times()(Times()(x, 2.0), x)
    f = tg.function([x], z)
    assert f(3) == 18.0 and isinstance(f(3), float)
    with pytest.raises(TypeError, match="works on doubles"):
        Times()(x, v)
    with pytest.raises(TypeError, match=r"argument 'x' \(position 0\)"):
        f("three")
    assert Double() == double and hash(Double()) == hash(double)
    assert pickle.loads(pickle.dumps(z)).type == double


def test_f53_shared_of_a_users_type():
    from termgraph.tensor.sharedvar import shared_of_type

    total = shared_of_type(double, 2.0, "total")
    f = tg.function([], total, updates=[(total, Times()(total, 3.0))])
    assert f() == 2.0 and total.get_value() == 6.0


def test_an_op_without_perform_says_so_when_it_is_applied():
    class Nothing(tg.Op):
        itypes = [T.dvector]
        otypes = [T.dvector]

    with pytest.raises(TypeError, match="Nothing does not say what it computes: define perform"):
        Nothing()(v)


class NoPerform(tg.Op):
    __props__ = ()

    def make_node(self, a):
        a = T.as_tensor_variable(a)
        return tg.Apply(self, [a], [a.type()])


def test_f62_an_op_without_perform_is_refused_at_the_line_that_used_it():
    x = T.dvector("x")
    y = NoPerform()(x)
    with pytest.raises(TypeError, match=r"NoPerform does not say how it is computed: define perform") as info:
        tg.function([x], y)
    assert "y = NoPerform()(x)" in str(info.value)
    with pytest.raises(TypeError, match="define perform"):
        y.eval({x: [1.0]})


class Padded(NoPerform):
    """Two more elements than its input; counts how often it is asked."""

    asked, runs = 0, 0

    def make_node(self, a):
        a = T.as_tensor_variable(a)
        return tg.Apply(self, [a], [T.dvector(), T.lscalar()])

    def perform(self, node, inputs, output_storage):
        type(self).runs += 1
        output_storage[0][0], output_storage[1][0] = np.pad(inputs[0], 1), np.asarray(len(inputs[0]))

    def infer_shape(self, node, shapes):
        type(self).asked += 1
        return [(shapes[0][0] + 2,), ()]


class Newer(Padded):
    def infer_shape(self, fgraph, node, shapes):
        return [(node.inputs[0].shape[0] + 2,), ()]


class Unsure(Padded):
    def infer_shape(self, fgraph, node, shapes):
        raise NotImplementedError


@pytest.mark.parametrize("op, runs", [(Padded, 0), (Newer, 0), (Unsure, 1)])
def test_f62_infer_shape_gives_lengths_without_computing(op, runs):
    x = T.dvector("x")
    out, _ = op()(x)
    f = tg.function([x], [out.shape[0], T.zeros_like(out)])
    op.runs = 0
    n, zeros = f([1.0, 2.0, 3.0])
    assert n == 5 and zeros.shape == (5,) and op.runs == runs
    assert op.asked > 0 or op is not Padded  # the others have an `infer_shape` of their own


def test_f62_c_code_in_theanos_form_is_not_passed_over_in_silence():
    class Doubled(NoPerform):
        def perform(self, node, inputs, output_storage):
            output_storage[0][0] = inputs[0] * 2

        def c_code(self, node, name, inputs, outputs, sub):
            return f"{outputs[0]} = NULL;"

    x = T.dvector("x")
    with pytest.warns(UserWarning, match=r"Doubled\.c_code is not run, perform is.*tg\.COp"):
        f = tg.function([x], Doubled()(x))
    assert f([1.0])[0] == 2.0
