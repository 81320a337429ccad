"""Logistic regression by gradient descent, the first program with parameters and updates."""

import numpy

import termgraph.theano as theano
import termgraph.theano.tensor as T

rng = numpy.random.RandomState(3)
N, feats, steps = 200, 30, 200
D = (rng.randn(N, feats), rng.randint(size=N, low=0, high=2))
D[0][:, 0] += 2 * D[1]  # something to be learned

x, y = T.dmatrix("x"), T.dvector("y")
w = theano.shared(rng.randn(feats), name="w")
b = theano.shared(0.0, name="b")

p_1 = 1 / (1 + T.exp(-T.dot(x, w) - b))
prediction = p_1 > 0.5
xent = -y * T.log(p_1) - (1 - y) * T.log(1 - p_1)
cost = xent.mean() + 0.01 * (w**2).sum()
gw, gb = T.grad(cost, [w, b])

train = theano.function(inputs=[x, y], outputs=[prediction, xent], updates=((w, w - 0.1 * gw), (b, b - 0.1 * gb)))
predict = theano.function(inputs=[x], outputs=prediction)

losses = [train(D[0], D[1])[1].mean() for _ in range(steps)]
assert losses[-1] < 0.6 * losses[0]
assert (predict(D[0]) == D[1]).mean() > 0.7
assert len(train.maker.fgraph.toposort()) > 0
