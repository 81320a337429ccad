"""Profiles of functions."""

import io

import termgraph.theano as theano
import termgraph.theano.tensor as T

x = T.dmatrix("x")
f = theano.function([x], T.exp(x).sum(axis=0), profile=True, name="profiled")
for _ in range(3):
    f([[1.0, 2.0], [3.0, 4.0]])
assert f.profile.fct_callcount == 3 and f.profile.fct_call_time > 0 and f.profile.compile_time > 0
out = io.StringIO()
f.profile.summary(file=out)
assert "calls" in out.getvalue()

theano.config.profile = True
try:
    g = theano.function([x], x * 2)
    g([[1.0]])
    assert g.profile.fct_callcount == 1
finally:
    theano.config.profile = False
