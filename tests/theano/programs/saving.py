"""Saving: pickles of functions and of parameters, files with arrays that NumPy reads."""

import io
import os
import pickle
import tempfile

import numpy

import termgraph.theano as theano
import termgraph.theano.tensor as T
from termgraph.theano.misc.pkl_utils import dump, load

x = T.dvector("x")
w = theano.shared(numpy.arange(3.0), name="w")
f = theano.function([x], x * w, updates=[(w, w + 1)])
again = pickle.loads(pickle.dumps(f, protocol=pickle.HIGHEST_PROTOCOL))
assert again([1, 1, 1]).tolist() == f([1, 1, 1]).tolist() == [0, 1, 2]

stream = io.BytesIO()
pickle.dump({"w": w.get_value()}, stream)
stream.seek(0)
w.set_value(pickle.load(stream)["w"])

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "model.zip")
    with open(path, "wb") as file:
        dump((w, w * 2), file)
    assert numpy.load(path)["w"].tolist() == [1, 2, 3]
    with open(path, "rb") as file:
        kept, double = load(file)
    assert kept.get_value().tolist() == [1, 2, 3] and double.eval().tolist() == [2, 4, 6]


class Model:
    def __init__(self):
        self.w = theano.shared(numpy.zeros(2), name="w")
        self.f = theano.function([x], T.dot(x, self.w))

    def __getstate__(self):
        return {"w": self.w}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self.f = theano.function([x], T.dot(x, self.w))


copy = Model.__new__(Model)
copy.__setstate__(pickle.loads(pickle.dumps(Model().__getstate__())))
assert copy.f([1, 2]) == 0
