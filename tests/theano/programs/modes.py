"""Modes and flags: how a function is compiled, and what checks it."""

import numpy as np

import termgraph.theano as theano
import termgraph.theano.tensor as T
from termgraph.theano.compile.nanguardmode import NanGuardMode

x = T.dvector("x")
for mode in ("FAST_RUN", "FAST_COMPILE", "DebugMode", theano.Mode(linker="py", optimizer="None"),
             theano.compile.mode.Mode("c|py", "fast_run"), theano.compile.get_default_mode().excluding("inplace"),
             theano.Mode(linker=theano.gof.OpWiseCLinker()), theano.compile.mode.FAST_COMPILE):  # fmt: skip
    f = theano.function([x], 10 * x, mode=mode)
    assert f([5]).tolist() == [50] and isinstance(f.maker.mode, theano.compile.Mode)
assert isinstance(theano.compile.get_mode("FAST_RUN"), theano.Mode) and "FAST_RUN" in theano.compile.predefined_modes

with theano.configparser.change_flags(floatX="float32", exception_verbosity="high"):
    assert theano.config.floatX == "float32" and T.matrix().dtype == "float32"
    assert theano.config.exception_verbosity == "high"
assert theano.config.exception_verbosity == "low"

f = theano.function([x], T.log(x), mode=NanGuardMode(nan_is_error=True, inf_is_error=True, big_is_error=True))
f([1.0])
try:
    f([-1.0])
except AssertionError:
    pass
else:
    raise RuntimeError("NanGuardMode let a NaN pass")

seen = []
mode = theano.compile.MonitorMode(
    pre_func=lambda i, node, fn: seen.append(("before", i)), post_func=lambda i, node, fn: seen.append(("after", i))
)
theano.function([x], 5 * x, mode=mode)([3.0])
assert seen == [("before", 0), ("after", 0)]
assert np.isclose(theano.function([x], x.sum(), mode=theano.Mode(linker="vm"))([1.0, 2.0]), 3)
