"""Typed lists."""

import numpy as np

import termgraph.theano as theano
import termgraph.theano.tensor as T
from termgraph.theano import typed_list

tl = typed_list.TypedListType(T.fvector)()
v = T.fvector()
o = typed_list.append(tl, v)
f = theano.function([tl, v], o)
made = f([np.array([1, 2], "float32")], np.array([2], "float32"))
assert [m.tolist() for m in made] == [[1, 2], [2]]

a, b = T.fvectors("a", "b")
pair = typed_list.make_list([a, b])
out = theano.function([a, b], [typed_list.length(pair), pair[1], pair.reverse()[0], pair.count(a)])
n, second, last, copies = out(np.zeros(1, "float32"), np.ones(2, "float32"))
assert n == 2 and second.tolist() == last.tolist() == [1, 1] and copies == 1
rows, _ = theano.scan(lambda i, tl: tl[i].sum(), sequences=T.arange(2), non_sequences=[pair])
assert theano.function([a, b], rows)(np.ones(3, "float32"), np.ones(2, "float32")).tolist() == [3, 2]
