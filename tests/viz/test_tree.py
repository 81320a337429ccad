"""dprint and pp: the printed graphs of the seeds, ids, sharing, bounds."""

import pickle

import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph import config
from termgraph.printing import dprint, pp

theano = config.change_flags(**{"print.style": "theano"})


@theano
def test_f14_the_pytensor_seed_prints_as_written():
    x = T.dmatrix("x")
    y = x * 2.0
    assert repr(y.owner.inputs[0]) == "x"
    assert repr(y.owner.inputs[1]) == "InplaceDimShuffle{x,x}.0"
    assert repr(y.owner.inputs[1].owner.inputs) == "[TensorConstant{2.0}]"
    expected = """Elemwise{mul,no_inplace} [id A] ''
 |x [id B]
 |InplaceDimShuffle{x,x} [id C] ''
   |TensorConstant{2.0} [id D]
"""
    assert dprint(y, file="str") == expected
    assert dprint(y, file="str", id_type="@") == expected.replace("[id ", "[@")


@theano
def test_unnamed_variables_show_their_type():
    assert repr(T.dvector()) == "<TensorType(float64, vector)>"
    with config.change_flags(**{"print.style": "default"}):
        assert repr(T.irow()) == "<TensorType(int32, (1, ?))>"


def test_shared_parts_are_expanded_once():
    x = T.dmatrix("x")
    e = T.exp(x)
    text = dprint(e * e + x, file="str")
    assert text == (
        "add [id A]\n |- mul [id B]\n |  |- exp [id C]\n |  |  `- x [id D]\n |  `- exp [id C] ...\n `- x [id D]\n"
    )


def test_depth_and_line_limits():
    x = t = T.dvector("x")
    for _ in range(100_000):
        t = t + x
    assert dprint(t, file="str", limit=5).splitlines()[-1] == "... (stopped after 5 lines; limit= shows more)"
    assert len(dprint(t, file="str", depth=2).splitlines()) == 5
    assert pp(t, limit=200).endswith("...")


@pytest.mark.parametrize("id_type, shown", [("int", "[id 0]"), ("", "exp\n"), ("CHAR", "[id A]"), ("@", "[@A]")])
def test_id_types(id_type, shown):
    assert shown in dprint(T.exp(T.dvector("x")), file="str", id_type=id_type)


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match="unknown id_type 'roman'"):
        dprint(T.dvector(), id_type="roman")
    with pytest.raises(TypeError, match="cannot print int 3"):
        dprint(3)


def test_pp_writes_what_a_person_would():
    x, y = T.dmatrices("xy")
    cases = {
        x - (y - x): "x - (y - x)",
        (x - y) - x: "x - y - x",
        x / (y * x): "x / (y * x)",
        (x * y) / x: "x * y / x",
        -((x + y) ** 2): "-(x + y) ** 2",
        (-x) ** 2: "(-x) ** 2",
        (x > y) & (x < 1.5): "(x > y) & (x < 1.5)",
        T.exp(x) * 2: "exp(x) * 2",
        T.cast(x, "float32"): "cast(x, 'float32')",
    }
    assert [pp(v) for v in cases] == list(cases.values())


def test_pickled_variables_keep_names_sharing_and_lines():
    x = T.dvector("x")
    e = T.exp(x)
    e.name = "e"
    y = e * e
    y.tag.test_value = 5
    x2, y2 = pickle.loads(pickle.dumps([x, y]))
    assert y2.owner.inputs[0] is y2.owner.inputs[1]
    assert y2.owner.inputs[0].name == "e"
    assert y2.owner.inputs[0].owner.inputs[0] is x2
    assert y2.term is y.term and y2.tag.test_value == 5
    assert y2.where == y.where
    t = x
    for _ in range(50_000):
        t = t + x
    assert pickle.loads(pickle.dumps(t)).term is t.term


def test_graphs_that_are_ops_are_shown_once_below_f80_():
    x, z = T.dmatrix("x"), T.dmatrix("z")
    inner = tg.OpFromGraph([x], [T.exp(x)], name="inner")
    outer = tg.OpFromGraph([x], [inner(x) + 1, T.tanh(x)], name="outer")
    text = tg.dprint([*outer(z), outer(T.sin(z))[0]], file="str")
    assert text.count("Inner graph of outer") == text.count("Inner graph of inner") == 1
    below = text.partition("Inner graph of outer")[2]
    assert " $0 <- z [id B]" in below and " result 1:\n  tanh" in below and "exp" in below.partition("inner [id")[2]
