"""Finding mistakes: errors that name the line, test values, printing inside a function, watching every node."""

import numpy as np

import termgraph.theano as theano
import termgraph.theano.tensor as T

x, y = T.vector("x"), T.vector("y")
f = theano.function([x, y], x + y)
try:
    f(np.ones(2), np.ones(3))
except ValueError as error:
    assert "debugging.py" in str(error) or "x + y" in str(error)
else:
    raise RuntimeError("lengths that differ should be an error")

theano.config.compute_test_value = "raise"
try:
    m = T.matrix("m")
    m.tag.test_value = np.ones((5, 10))
    w = theano.shared(np.ones((20, 10)), "w")
    try:
        T.dot(m, w)
    except ValueError:
        pass
    else:
        raise RuntimeError("the test values do not fit")
    assert T.dot(m, w.T).tag.test_value.shape == (5, 20)
    for value in theano.gof.op.get_debug_values(m):
        assert value[0].shape == (5, 10)
finally:
    theano.config.compute_test_value = "off"

shown = []
watched = theano.printing.Print("x", global_fn=lambda op, value: shown.append((op.message, value.tolist())))(x)
theano.function([x], watched * 2)([1.0, 2.0])
assert shown == [("x", [1.0, 2.0])]


def detect_nan(i, node, fn):
    for output in fn.outputs:
        if np.isnan(np.asarray(output[0])).any():
            shown.append(str(node.op))


f = theano.function([x], [T.log(x) * x], mode=theano.compile.MonitorMode(post_func=detect_nan))
f([-1.0])
assert len(shown) > 1

try:
    theano.function([x], x + y)
except theano.gof.MissingInputError as error:
    assert "y" in str(error)
try:
    theano.function([x, y], x)
except theano.compile.UnusedInputError as error:
    assert "y" in str(error)
theano.function([x, y], x, on_unused_input="ignore")
try:
    T.grad(x.sum(), y)
except theano.gradient.DisconnectedInputError:
    pass
