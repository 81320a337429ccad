"""A convolutional network: convolution, max-pooling, a dense layer; the old names of the pooling functions too."""

import numpy as np

import termgraph.theano as theano
import termgraph.theano.tensor as T
from termgraph.theano.tensor.nnet import conv2d
from termgraph.theano.tensor.signal import downsample, pool

rng = np.random.RandomState(23455)


class ConvPoolLayer:
    def __init__(self, input, filter_shape, image_shape, poolsize=(2, 2)):
        fan = np.prod(filter_shape[1:]) + filter_shape[0] * np.prod(filter_shape[2:]) // np.prod(poolsize)
        bound = np.sqrt(6.0 / fan)
        self.W = theano.shared(np.asarray(rng.uniform(-bound, bound, filter_shape), theano.config.floatX), borrow=True)
        self.b = theano.shared(np.zeros((filter_shape[0],), dtype=theano.config.floatX), borrow=True)
        conv_out = conv2d(input=input, filters=self.W, filter_shape=filter_shape, input_shape=image_shape)
        pooled_out = pool.pool_2d(input=conv_out, ds=poolsize, ignore_border=True)
        self.output = T.tanh(pooled_out + self.b.dimshuffle("x", 0, "x", "x"))
        self.params = [self.W, self.b]


labels = rng.randint(0, 3, 60)
images = rng.randn(3, 1, 12, 12)[labels] + 0.3 * rng.randn(60, 1, 12, 12)
x, y = T.tensor4("x"), T.ivector("y")
layer0 = ConvPoolLayer(x, (4, 1, 3, 3), (60, 1, 12, 12))
flat = layer0.output.flatten(2)
W = theano.shared(np.zeros((4 * 5 * 5, 3), dtype=theano.config.floatX))
p = T.nnet.softmax(T.dot(flat, W))
cost = T.nnet.categorical_crossentropy(p, y).mean()
params = [*layer0.params, W]
train = theano.function([x, y], cost, updates=[(v, v - 0.1 * g) for v, g in zip(params, T.grad(cost, params))])
losses = [float(train(images.astype(theano.config.floatX), labels.astype("int32"))) for _ in range(30)]
assert losses[-1] < 0.2 * losses[0]

old = downsample.max_pool_2d(x, (2, 2), ignore_border=True)
new = pool.pool_2d(x, ws=(2, 2), ignore_border=True, stride=(2, 2), pad=(0, 0), mode="max")
f = theano.function([x], [old, new, theano.tensor.nnet.conv.conv2d(x, layer0.W.get_value())])
a, b, c = f(images)
assert (a == b).all() and c.shape == (60, 4, 10, 10)
conv = T.nnet.conv2d(x, layer0.W)
assert isinstance(conv.owner.op, T.nnet.abstract_conv.AbstractConv2d)
nodes = theano.gof.graph.io_toposort([x, layer0.W], T.grad(conv.sum(), [x, layer0.W]))
assert any(isinstance(n.op, T.nnet.abstract_conv.AbstractConv2d_gradInputs) for n in nodes)
assert any(isinstance(n.op, T.nnet.abstract_conv.AbstractConv2d_gradWeights) for n in nodes)
