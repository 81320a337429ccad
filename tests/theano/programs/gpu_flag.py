"""A program written with a GPU in mind: the old back ends say no, and the graph stays as it is."""

import termgraph.theano as theano
import termgraph.theano.tensor as T

if theano.sandbox.cuda.cuda_available:
    theano.sandbox.cuda.use("gpu")
assert not theano.sandbox.cuda.cuda_enabled and not theano.gpuarray.pygpu_activated
assert theano.config.device.startswith("cpu")

try:
    from termgraph.theano.sandbox.cuda import dnn

    found = dnn.dnn_available()
except ImportError:
    found = False
assert not found

for module, name in (
    ("sandbox.cuda.dnn", "dnn_conv"),
    ("sandbox.cuda.blas", "GpuCorrMM"),
    ("gpuarray.dnn", "dnn_pool"),
):
    try:
        exec(f"from termgraph.theano.{module} import {name}")
    except ImportError as error:
        assert "theano.config.device = 'cuda'" in str(error)
    else:
        raise RuntimeError(f"{module}.{name} should be refused")

vlen = 10 * 30 * 70
x = theano.shared(__import__("numpy").linspace(0, 1, vlen), "x")
f = theano.function([], T.exp(x))
assert f().shape == (vlen,)
on_the_cpu = not any("Gpu" in type(node.op).__name__ for node in f.maker.fgraph.toposort())
assert on_the_cpu
