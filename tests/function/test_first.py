"""function() on plain graphs: arguments, outputs, what is missing and unused (FEATURES 11-13, 19, 25, 26, 43)."""

import warnings

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.terms.errors import MissingInputError, UnusedInputError


def test_f43_from_and_to_intermediate_variables():
    x = T.dvector("x")
    y = x * 2
    z = T.exp(y) + y
    values = np.array([0.0, 1.0])
    assert np.allclose(tg.function([x], y)(values), values * 2)
    assert np.allclose(tg.function([y], z)(values), np.exp(values) + values)
    assert np.allclose(tg.function([x], [z, y])(values)[0], np.exp(2 * values) + 2 * values)


def test_f43_missing_input_names_the_variable_and_the_chain():
    x, y = T.dvectors("x", "y")
    total = x + y
    total.name = "total"
    with pytest.raises(MissingInputError) as info:
        tg.function([x], T.exp(total))
    text = str(info.value)
    assert "needs the input y" in text
    assert text.index("  y ") < text.index("-> total") < text.index("-> exp(total)")
    with pytest.raises(MissingInputError, match=r"-> mul\(y, TensorConstant\{2\}\)"):
        tg.function([x], y * 2)
    assert "test_first.py" in text


def test_f43_missing_behind_an_intermediate_input_is_fine():
    x, y = T.dvectors("x", "y")
    s = x + y
    assert np.array_equal(tg.function([s], s * 2)([1.0]), [2.0])


def test_f19_inputs_must_be_a_list():
    x = T.dscalar("x")
    with pytest.raises(TypeError, match=r"write \[x\]"):
        tg.function(x, x)
    with pytest.raises(TypeError, match="symbolic variable"):
        tg.function([1], x)


def test_f7_constant_as_input_is_refused():
    with pytest.raises(TypeError, match="Constant cannot be an input"):
        tg.function([T.constant(1.0)], T.constant(2.0))


def test_duplicate_inputs_are_refused():
    x = T.dscalar("x")
    with pytest.raises(ValueError, match="inputs 0 and 1 are the same variable, x"):
        tg.function([x, x], x)


def test_f26_unused_inputs():
    x, y = T.dscalars("x", "y")
    with pytest.raises(UnusedInputError, match=r"input y .* \(position 1\)"):
        tg.function([x, y], x)
    with pytest.warns(UserWarning, match="input y"):
        f = tg.function([x, y], x, on_unused_input="warn")
    assert f(1, 2) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tg.function([x, y], x, on_unused_input="ignore")
        with tg.config.change_flags(on_unused_input="ignore"):
            tg.function([x, y], x)
    with pytest.raises(ValueError, match="on_unused_input"):
        tg.function([x], x, on_unused_input="never")


def test_f25_downcast():
    v, s = T.fvector("v"), T.fscalar("s")
    wide = np.array([1.5])
    for downcast in (None, False):
        f = tg.function([v, s], v * s, allow_input_downcast=downcast)
        with pytest.raises(TypeError, match=r"argument 'v' \(position 0\)"):
            f(wide, np.float32(1))
    assert tg.function([v, s], v * s, allow_input_downcast=True)(wide, 0.1).dtype == "float32"
    assert tg.function([s], s)(0.1) == np.float32(0.1)
    with pytest.raises(TypeError):
        tg.function([s], s, allow_input_downcast=False)(0.1)


def test_f5_8_wrong_dtype_names_argument_position_and_line():
    m = T.fmatrix("m")
    with pytest.raises(TypeError) as info:
        tg.function([m], m)(np.ones((2, 2)))
    text = str(info.value)
    assert text.lstrip().startswith("File ") and "test_first.py" in text.splitlines()[0]
    assert "'m' (position 0)" in text and "float64" in text and "float32" in text


@pytest.mark.machine("compiled functions count arguments in C and say it in other words")
def test_arguments_by_name_and_their_errors():
    x, y = T.dscalars("x", "y")
    f = tg.function([x, y], x - y, name="minus")
    assert f(y=1, x=3) == 2 and f(3, y=1) == 2
    with pytest.raises(TypeError, match="function 'minus' has no input named 'z'"):
        f(1, z=1)
    with pytest.raises(TypeError, match="'x' was given twice"):
        f(1, x=1)
    with pytest.raises(TypeError, match=r"missing the argument for input y \(position 1\)"):
        f(1)
    with pytest.raises(TypeError, match="takes 2 arguments"):
        f(1, 2, 3)


def test_f21_forms_of_outputs():
    x = T.dscalar("x")
    assert tg.function([x], x + 1)(1) == 2
    assert [float(v) for v in tg.function([x], [x + 1])(1)] == [2.0]
    assert [float(v) for v in tg.function([x], (x, x + 1))(1)] == [1.0, 2.0]
    assert tg.function([], None)() is None
    assert tg.function([], [])() == []
    named = tg.function([x], {"b": x, "a": x + 1})(1)
    assert list(named) == ["a", "b"] and named["a"] == 2
    assert tg.function([x], [x, x + 1], output_keys=["p", "q"])(1)["q"] == 2
    assert tg.function([x], [tg.Out(x, borrow=True), 3.0])(1)[1] == 3
    assert tg.function([x], [x, x + 1, x + 2])(1, output_subset=[2, 0]) == [3, 1]
    with pytest.raises(TypeError, match=r"outputs\[1\]"):
        tg.function([x], [x, object()])


def test_results_own_their_memory():
    x = T.dvector("x")
    a = np.ones(3)
    f = tg.function([x], [x, x, T.constant(np.zeros(2))])
    first, second, constant = f(a)
    assert not np.shares_memory(first, a) and not np.shares_memory(first, second)
    constant[0] = 5.0
    assert f(a)[2][0] == 0.0


def test_f11_users_graph_is_untouched():
    x = T.dvector("x")
    y = (x + 1) * x
    before = repr(y.term), y.owner, list(y.owner.inputs)
    f = tg.function([x], y)
    f([1.0])
    assert (repr(y.term), y.owner, list(y.owner.inputs)) == before
    assert not hasattr(x, "clients")
    assert f.maker.fgraph.inputs[0] is not x


def test_f12_clients():
    v = T.dvector("v")
    f = tg.function([v], T.exp(v + v), mode="None")
    graph = f.maker.fgraph
    topo = graph.toposort()
    out = graph.outputs[0]
    inner = topo[0].outputs[0]
    assert out.clients == [("output", 0)]
    assert inner.clients == [(topo[1], 0)]
    assert graph.inputs[0].clients == [(topo[0], 0), (topo[0], 1)]
    for variable in graph.variables:
        for user, i in variable.clients:
            place = graph.outputs if user == "output" else user.inputs
            assert place[i] is variable
    assert graph.clients[inner] == inner.clients


def test_f12_unused_variable_has_no_clients():
    x, y = T.dscalars("x", "y")
    graph = tg.function([x, y], x, on_unused_input="ignore").maker.fgraph
    assert graph.inputs[1].clients == []


def test_f13_toposort_and_parts():
    x, y = T.dvectors("x", "y")
    graph = tg.function([x, y], [x * y + x, T.exp(x * y)], mode="None").maker.fgraph
    topo = graph.toposort()
    place = {node: i for i, node in enumerate(topo)}
    assert graph.apply_nodes == set(topo) and len(topo) == 3
    for node in topo:
        for v in node.inputs:
            assert v.owner is None or place[v.owner] < place[node]
    assert [v.name for v in graph.inputs] == ["x", "y"]


def test_eval():
    x, y = T.dscalars("x", "y")
    z = x + y
    assert z.eval({x: 1, y: 2}) == 3
    assert z.eval({"x": 1, "y": 2}) == 3
    with pytest.raises(MissingInputError):
        z.eval({x: 1})


@pytest.mark.machine("shows shapes of operands, which compiled code does not keep")
def test_run_time_error_cites_the_users_line():
    x, y = T.dvectors("x", "y")
    total = x + y  # the line
    f = tg.function([x, y], T.exp(total))
    with pytest.raises(ValueError) as info:
        f([1.0, 2.0], [1.0, 2.0, 3.0])
    lines = str(info.value).splitlines()
    assert "test_first.py" in lines[0] and "total = x + y" in lines[1]
    assert "(2,)" in str(info.value) and "(3,)" in str(info.value)


def test_deep_chain():
    x = T.dscalar("x")
    y = x
    for _ in range(20_000):
        y = y + x
    assert tg.function([x], y)(1.0) == 20_001
