"""Looking at graphs: as a line, as a tree, as a picture."""

import io
import os
import tempfile

import termgraph.theano as theano
import termgraph.theano.tensor as T
from termgraph.theano.d3viz import d3viz

x, w, b = T.dmatrix("x"), T.dvector("w"), T.dscalar("b")
p_1 = 1 / (1 + T.exp(-T.dot(x, w) - b))
assert theano.printing.pprint(x.T + 2 * x).startswith("(x.T + (TensorConstant{2")
assert theano.pp(T.dot(x, w) - b) == "((x \\dot w) - b)"
assert theano.printing.pprint(p_1 > 0.5).startswith("gt(")

text = theano.printing.debugprint(p_1, file="str")
assert text.startswith("Elemwise{true_div,no_inplace} [id A] ''") and "Elemwise{exp,no_inplace}" in text
assert "dot" in text and "InplaceDimShuffle{x} " in text
f = theano.function([x, w, b], p_1)
stream = io.StringIO()
theano.printing.debugprint(f, file=stream, print_type=True)
assert "TensorType(float64, vector)" in stream.getvalue()

y = T.dscalar("y")
y.name = "z"
assert str(y) == "z" and theano.printing.min_informative_str(y * 2).startswith("A. Elemwise{mul")

with tempfile.TemporaryDirectory() as folder:
    picture = os.path.join(folder, "graph.svg")
    theano.printing.pydotprint(f, outfile=picture, var_with_name_simple=True, print_output_file=False)
    assert os.path.getsize(picture) > 500
    page = os.path.join(folder, "graph.html")
    d3viz(f, page)
    assert os.path.getsize(page) > 1000


class Upper:
    def process(self, r, pstate):
        return "EXP(" + pstate.pprinter.process(r.owner.inputs[0], pstate) + ")"


mine = theano.printing.pprint.clone()
mine.assign(lambda pstate, r: r.owner is not None and r.owner.op == T.exp, Upper())
assert mine(T.exp(b)) == "EXP(b)"
