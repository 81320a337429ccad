"""A multilayer perceptron with classes for its layers, trained by minibatches that lie in shared variables."""

import numpy

import termgraph.theano as theano
import termgraph.theano.tensor as T


class LogisticRegression:
    def __init__(self, input, n_in, n_out):
        self.W = theano.shared(numpy.zeros((n_in, n_out), dtype=theano.config.floatX), name="W", borrow=True)
        self.b = theano.shared(numpy.zeros((n_out,), dtype=theano.config.floatX), name="b", borrow=True)
        self.p_y_given_x = T.nnet.softmax(T.dot(input, self.W) + self.b)
        self.y_pred = T.argmax(self.p_y_given_x, axis=1)
        self.params = [self.W, self.b]

    def negative_log_likelihood(self, y):
        return -T.mean(T.log(self.p_y_given_x)[T.arange(y.shape[0]), y])

    def errors(self, y):
        if y.ndim != self.y_pred.ndim:
            raise TypeError("y should have the shape of the predictions", ("y", y.type, "y_pred", self.y_pred.type))
        if not y.dtype.startswith("int"):
            raise NotImplementedError()
        return T.mean(T.neq(self.y_pred, y))


class HiddenLayer:
    def __init__(self, rng, input, n_in, n_out, activation=T.tanh):
        bound = numpy.sqrt(6.0 / (n_in + n_out))
        values = numpy.asarray(rng.uniform(low=-bound, high=bound, size=(n_in, n_out)), dtype=theano.config.floatX)
        self.W = theano.shared(value=values, name="W", borrow=True)
        self.b = theano.shared(value=numpy.zeros((n_out,), dtype=theano.config.floatX), name="b", borrow=True)
        linear = T.dot(input, self.W) + self.b
        self.output = linear if activation is None else activation(linear)
        self.params = [self.W, self.b]


def shared_dataset(data_x, data_y):
    shared_x = theano.shared(numpy.asarray(data_x, dtype=theano.config.floatX), borrow=True)
    shared_y = theano.shared(numpy.asarray(data_y, dtype=theano.config.floatX), borrow=True)
    return shared_x, T.cast(shared_y, "int32")


rng = numpy.random.RandomState(1234)
labels = rng.randint(0, 4, 400)
points = rng.randn(4, 20)[labels] + 0.4 * rng.randn(400, 20)
train_x, train_y = shared_dataset(points, labels)

index, x, y = T.lscalar(), T.matrix("x"), T.ivector("y")
hidden = HiddenLayer(rng, x, 20, 16)
top = LogisticRegression(hidden.output, 16, 4)
params = hidden.params + top.params
L1 = abs(hidden.W).sum() + abs(top.W).sum()
L2_sqr = (hidden.W**2).sum() + (top.W**2).sum()
cost = top.negative_log_likelihood(y) + 0.0001 * L1 + 0.0001 * L2_sqr
batch = 50
givens = {x: train_x[index * batch : (index + 1) * batch], y: train_y[index * batch : (index + 1) * batch]}
updates = [(p, p - 0.1 * g) for p, g in zip(params, [T.grad(cost, p) for p in params])]
train = theano.function(inputs=[index], outputs=cost, updates=updates, givens=givens)
test = theano.function(inputs=[index], outputs=top.errors(y), givens=givens)

first = numpy.mean([train(i) for i in range(8)])
for _ in range(20):
    last = numpy.mean([train(i) for i in range(8)])
assert last < 0.3 * first and numpy.mean([test(i) for i in range(8)]) < 0.05
