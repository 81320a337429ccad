"""A restricted Boltzmann machine trained by contrastive divergence, the chain being a loop with random numbers."""

import numpy

import termgraph.theano as theano
import termgraph.theano.tensor as T
from termgraph.theano.tensor.shared_randomstreams import RandomStreams

numpy_rng = numpy.random.RandomState(1)
n_visible, n_hidden = 16, 10
theano_rng = RandomStreams(numpy_rng.randint(2**30))
W = theano.shared(numpy.asarray(0.1 * numpy_rng.randn(n_visible, n_hidden), dtype=theano.config.floatX), name="W")
hbias = theano.shared(numpy.zeros(n_hidden, dtype=theano.config.floatX), name="hbias")
vbias = theano.shared(numpy.zeros(n_visible, dtype=theano.config.floatX), name="vbias")


def free_energy(v):
    return -T.sum(T.log(1 + T.exp(T.dot(v, W) + hbias)), axis=1) - T.dot(v, vbias)


def sample_h_given_v(v):
    mean = T.nnet.sigmoid(T.dot(v, W) + hbias)
    return mean, theano_rng.binomial(size=mean.shape, n=1, p=mean, dtype=theano.config.floatX)


def sample_v_given_h(h):
    pre = T.dot(h, W.T) + vbias
    mean = T.nnet.sigmoid(pre)
    return pre, mean, theano_rng.binomial(size=mean.shape, n=1, p=mean, dtype=theano.config.floatX)


def gibbs_hvh(h0):
    pre, v_mean, v_sample = sample_v_given_h(h0)
    h_mean, h_sample = sample_h_given_v(v_sample)
    return [pre, v_mean, v_sample, h_mean, h_sample]


x = T.matrix("x")
_, chain_start = sample_h_given_v(x)
[pres, means, samples, h_means, h_samples], updates = theano.scan(
    gibbs_hvh, outputs_info=[None, None, None, None, chain_start], n_steps=2, name="gibbs_hvh"
)
chain_end = samples[-1]
cost = T.mean(free_energy(x)) - T.mean(free_energy(chain_end))
gparams = T.grad(cost, [W, hbias, vbias], consider_constant=[chain_end])
for gparam, param in zip(gparams, [W, hbias, vbias]):
    updates[param] = param - gparam * T.cast(0.1, dtype=theano.config.floatX)
monitor = T.mean(T.sum(T.nnet.binary_crossentropy(T.nnet.sigmoid(pres[-1]), x), axis=1))
train = theano.function([x], monitor, updates=updates, name="train_rbm")

patterns = (numpy_rng.rand(3, n_visible) > 0.5).astype(theano.config.floatX)
data = patterns[numpy_rng.randint(0, 3, 60)]
costs = [float(train(data)) for _ in range(150)]
assert numpy.mean(costs[-10:]) < 0.6 * numpy.mean(costs[:5])
