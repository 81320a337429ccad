"""What users read when something goes wrong: whole messages, with paths and line numbers left out."""

import copy
import operator
import re

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.tensor import elsewhere


def message(call):
    with pytest.raises(Exception) as info:
        call()
    text = re.sub(r'File "[^"]*test_messages.py", line \d+', 'File "model.py", line N', str(info.value))
    return text.replace("/tests/function/test_messages.py", "model.py"), type(info.value)


def lines(text):
    return [line.strip() for line in text.strip().splitlines()]


def test_wrong_shape_in_a_dot_three_layers_deep():
    x = T.dmatrix("x")
    weights = [tg.shared(np.ones(s), f"w{i}") for i, s in enumerate([(4, 3), (5, 3), (3, 2)])]
    h = x
    for w in weights:
        h = T.tanh(T.dot(h, w))
    f = tg.function([x], h.sum(), mode=tg.Mode(optimizer="None", linker="py"))
    text, kind = message(lambda: f(np.ones((2, 4))))
    got = lines(text)
    assert issubclass(kind, ValueError)
    assert got[0] == 'File "model.py", line N, in test_wrong_shape_in_a_dot_three_layers_deep'
    assert got[1] == "h = T.tanh(T.dot(h, w))"
    assert got[2].startswith("dot failed: ")
    assert got[3] == "operand 0: float64, shape (2, 3)"
    assert got[4] == "operand 1: w1, float64, shape (5, 3)"
    assert "tag.test_value" in text and "TERMGRAPH_DEBUG=1" in text


def test_wrong_dtype_of_an_argument():
    images = T.fmatrix("images")
    f = tg.function([images], images * 2, name="double")
    text, kind = message(lambda: f(np.ones((2, 2))))
    assert issubclass(kind, TypeError)
    assert lines(text) == [
        'File "model.py", line N, in test_wrong_dtype_of_an_argument',
        'images = T.fmatrix("images")',
        "bad argument 'images' (position 0) of function 'double': cannot store an array of dtype float64 and shape "
        "(2, 2) in TensorType(float32, (?, ?)) without losing precision; convert it (numpy.asarray(value, "
        "dtype='float32')) or pass allow_input_downcast=True",
    ]


def test_missing_input():
    x, y = T.dvectors("x", "y")
    loss = (x - y).sum()
    text, kind = message(lambda: tg.function([x], loss))
    got = lines(text)
    assert issubclass(kind, TypeError)
    assert got[:2] == ['File "model.py", line N, in test_missing_input', 'x, y = T.dvectors("x", "y")']
    assert got[2] == "the graph needs the input y of type TensorType(float64, (?,)), which was not given a value."
    assert got[3].startswith("Add it to the inputs of the function, or replace it with givens=.")
    assert got[4].startswith("y ") and got[5].startswith("-> sub(x, y)") and "sum" in got[6]


def test_nan_in_a_log():
    x = T.dvector("x")
    entropy = -(x * T.log(x)).sum()
    f = tg.function([x], entropy, mode=tg.NanGuardMode(inf_is_error=False, optimizer="None"))
    text, kind = message(lambda: f([0.5, -0.5]))
    assert issubclass(kind, AssertionError)
    assert lines(text) == [
        'File "model.py", line N, in test_nan_in_a_log',
        "entropy = -(x * T.log(x)).sum()",
        "NaN in the result of log(x): 1 of 2 elements of an array of shape (2,), the first at [1]",
        "operand 0: x, float64, shape (2,), from -0.5 to 0.5",
    ]


def test_axis_that_does_not_exist():
    text, kind = message(lambda: T.dmatrix("x").sum(axis=-3))
    assert issubclass(kind, ValueError) and "axis -3 is out of range for an array with 2 dimensions" in text


def test_update_of_the_wrong_type():
    w = tg.shared(np.ones(3), "w")
    step = (w * 0.5).sum()
    text, kind = message(lambda: tg.function([], updates=[(w, step)]))
    assert issubclass(kind, TypeError)
    assert lines(text) == [
        'File "model.py", line N, in test_update_of_the_wrong_type',
        "step = (w * 0.5).sum()",
        "the update of shared variable 'w' must have its type TensorType(float64, (?,)), but the new value has type "
        "TensorType(float64, ()); reduce or reshape it to 1 dimension",
    ]


@pytest.mark.machine("shows values of operands, which compiled code does not keep")
def test_broadcast_at_run_time():
    x, bias = T.dmatrix("x"), T.dmatrix("bias")
    y = x + bias
    f = tg.function([x, bias], y)
    text, kind = message(lambda: f(np.ones((3, 2)), np.ones((1, 2))))
    got = lines(text)
    assert issubclass(kind, ValueError)
    assert got[:2] == ['File "model.py", line N, in test_broadcast_at_run_time', "y = x + bias"]
    assert "operand 1 has length 1 in dimension 0" in got[2] and "T.specify_shape" in got[2]
    assert got[4].startswith("operand 1: bias, float64, shape (1, 2)")


def test_a_promise_that_was_not_kept_is_not_about_broadcasting():
    """C told that a length of 1 could be declared to broadcast, whatever the length was needed for."""
    x = T.dvector("x")
    for y, value, text in [
        (T.specify_shape(x, 3), np.ones(1), "dimension 0 has length 1, 3 was promised"),
        (T.signal.oaconvolve(x, x), np.ones(0), "in1 has no elements"),
        (T.argtopk(x, 4), np.ones(1), "the 4 largest of an axis of 1 elements"),
    ]:
        found, _ = message(lambda y=y, value=value: tg.function([x], y)(value))
        assert text in found and "declared to broadcast" not in found


def test_index_out_of_bounds():
    x, i = T.dvector("x"), T.lscalar("i")
    picked = x[i]
    f = tg.function([x, i], picked, mode=tg.Mode(optimizer="None", linker="py"))
    text, kind = message(lambda: f([1.0, 2.0], 5))
    got = lines(text)
    assert issubclass(kind, IndexError)
    assert got[:2] == ['File "model.py", line N, in test_index_out_of_bounds', "picked = x[i]"]
    assert "5" in got[2] and got[4] == "operand 1: i, int64, shape (), value 5"


def test_disconnected_gradient():
    x, unused = T.dvectors("x", "unused")
    loss = (x * 2).sum()
    text, kind = message(lambda: tg.grad(loss, [x, unused]))
    assert issubclass(kind, ValueError)
    assert lines(text) == [
        'File "model.py", line N, in test_disconnected_gradient',
        'x, unused = T.dvectors("x", "unused")',
        "grad: the cost does not depend on unused. It depends on: x.",
        "To get zeros for it, pass disconnected_inputs='ignore' (or 'warn').",
    ]


def test_wrong_number_of_outputs_of_a_scan_step():
    x = T.dvector("x")

    def step(a, total):
        return total + a, a, total

    text, kind = message(lambda: tg.scan(step, sequences=x, outputs_info=[T.constant(0.0), None]))
    assert issubclass(kind, ValueError)
    assert lines(text) == [
        'File "model.py", line N, in step',
        "def step(a, total):",
        "scan: the step function returned 3 outputs, but outputs_info describes 2; return 2, or give outputs_info one "
        "entry per output (None for those that are not fed back)",
        "output 0: add.0, TensorType(float64, ())",
        "output 1: x[t], TensorType(float64, ())",
        "output 2: outputs[0][t-1], TensorType(float64, ())",
    ]


@pytest.mark.machine("compiled functions count arguments in C and say it in other words")
def test_too_few_arguments():
    x, y = T.dscalars("x", "y")
    f = tg.function([x, y], x + y, name="plus")
    text, kind = message(lambda: f(1))
    assert issubclass(kind, TypeError)
    assert text == "function 'plus': missing the argument for input y (position 1); it needs 2: x, y"


def test_debug_ladder_shows_more():
    x, y = T.dvectors("x", "y")
    f = tg.function([x, y], T.exp(x + y), mode=tg.Mode(optimizer="None", linker="py"))
    texts = []
    for level in range(6):
        with tg.config.change_flags(debug=level):
            texts.append(message(lambda: f(np.ones(8), np.ones(7)))[0])
    assert "TERMGRAPH_DEBUG=1" in texts[0] and "expression: add(x, y)" in texts[1]
    assert texts[2].count("File ") == 2 and "strides (8,)" in texts[3] and "value [1. 1." in texts[4]
    program = lines(texts[5].split("program:")[1])
    assert program == ["%0 = input 0", "%1 = input 1", "> %2 = add(%0, %1)", "%3 = exp(%2)        free %2", "return %3"]
    assert "program:" not in texts[4]


def test_a_rule_set_in_the_place_of_the_linker():
    with pytest.raises(ValueError, match=r"write Mode\(optimizer='fast_run'\)"):
        tg.Mode("fast_run")


def test_values_given_to_eval_by_name():
    x = T.dscalar("x")
    with pytest.raises(TypeError, match=r"\.eval\({x: value}\)"):
        (x + 1).eval(x=2.0)


def test_a_name_that_termgraph_lacks_can_be_guessed():
    with pytest.raises(AttributeError) as caught:
        tg.functoin
    assert caught.value.name == "functoin" and caught.value.obj is tg


def test_names_of_other_libraries_say_what_to_write():
    """Each name of the tables is missing, and what is written instead is there."""
    x = T.dvector("x")
    for obj, table in ((x, elsewhere.METHODS), (T, elsewhere.FUNCTIONS), (tg, elsewhere.TOP)):
        for name, written in table.items():
            with pytest.raises(AttributeError) as caught:
                getattr(obj, name)
            assert f"{name!r}; write {written}" in str(caught.value)
            for place, path in re.findall(r"\b(tg|T|x)\.([\w.]*\w)", written):
                operator.attrgetter(path)({"tg": tg, "T": T, "x": x}[place])
    with pytest.raises(TypeError, match="lengths or axes are written as one tuple"):
        T.zeros(2, 3)


def test_names_that_are_in_T_say_so():
    for name in {name for name in dir(T) if not name.startswith("_")} - set(elsewhere.TOP):
        if not hasattr(tg, name):
            with pytest.raises(AttributeError, match=f"; write T.{name}, where T is termgraph.tensor"):
                getattr(tg, name)
    with pytest.raises(AttributeError, match=r"write T\.nnet\.relu"):
        tg.relu
    with pytest.raises(AttributeError, match=r"write T\.concatenate"):
        tg.cat


def test_a_largest_element_is_not_a_maximum_of_one_array():
    x = T.dmatrix("x")
    for f, instead in ((T.maximum, "max"), (T.minimum, "min")):
        with pytest.raises(TypeError, match=rf"two arrays.*T\.{instead}\(x, axis="):
            f(x)
    with pytest.raises(TypeError, match=r"x\.sum\(\)"):
        sum(x > 0)


@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE", "None"])
def test_what_rewriting_sees_names_the_line(mode):
    """A length that is known only after folding: the error is that of the user's line, not of a rule."""
    n, x = T.lscalar("n"), T.dmatrix("x")
    width = T.as_tensor(2) - T.as_tensor(1)
    filled = T.alloc(x[0, 0], n, width)
    for error, made in (
        (IndexError, lambda: filled[:, 1] + 0),
        (ValueError, lambda: T.dot(filled + 1.0, T.ones((3, 4)))),
    ):
        y = made()
        with pytest.raises(error, match=r'(?s)test_messages.py", line \d+.*lambda: (filled\[:, 1\]|T.dot)'):
            tg.function([x, n], y, mode=mode)(np.ones((2, 2)), 3)


def test_mistakes_of_other_libraries_users():
    x, y = T.dvectors("x", "y")
    rng = T.random.RandomStream(1)
    for make, kind, said in [
        (lambda: T.switch(x, 1), TypeError, "switch .* takes 3 operands, got 2"),
        (lambda: x & y, TypeError, r"truth values and whole numbers; compare first, as in \(x > 0\) & \(y > 0\)"),
        (lambda: ~x, TypeError, "truth values and whole numbers"),
        (lambda: T.random.normal(size=3), AttributeError, r"RandomStream\(seed\), then rng.normal\(...\)"),
        (lambda: T.random.randn(3), AttributeError, r"then rng.normal\(size=shape\)"),
        (lambda: T.random.nothing, AttributeError, "no attribute 'nothing'$"),
        (lambda: rng.randn(3), AttributeError, r"write rng.normal\(size=shape\)"),
        (lambda: rng.nothing, AttributeError, "no attribute 'nothing'$"),
        (lambda: T.TensorType("float64", 2), TypeError, "needs shape="),
    ]:
        with pytest.raises(kind, match=said):
            make()
    assert copy.deepcopy(rng).normal(size=2).type.ndim == 1


def test_nested_outputs_and_steps_of_other_arguments_say_what_was_given():
    x = T.dvector("x")
    with pytest.raises(TypeError, match=r"outputs\[1\]: stack: .* tg.jit returns nested results"):
        tg.function([x], [x, [x.sum(), x * 2]])
    assert len(tg.function([x], [x, [x, x * 2]])([1.0, 2.0])) == 2
    with pytest.raises(TypeError) as seen:
        tg.scan_checkpoints(lambda a: a, sequences=x, outputs_info=T.zeros(()))
    assert "while scan_checkpoints called the step function" in seen.value.__notes__[0]
