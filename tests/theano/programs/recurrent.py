"""A recurrent network that learns to echo what it saw two steps ago, by backpropagation through time."""

import numpy as np

import termgraph.theano as theano
import termgraph.theano.tensor as T

rng = np.random.RandomState(5)
n, nin, nout = 12, 1, 1
u, t = T.matrix("u"), T.matrix("t")
h0, lr = T.vector("h0"), T.scalar("lr")
W = theano.shared(rng.uniform(size=(n, n), low=-0.3, high=0.3), name="W")
W_in = theano.shared(rng.uniform(size=(nin, n), low=-0.5, high=0.5), name="W_in")
W_out = theano.shared(rng.uniform(size=(n, nout), low=-0.3, high=0.3), name="W_out")


def step(u_t, h_tm1, W, W_in, W_out):
    h_t = T.tanh(T.dot(u_t, W_in) + T.dot(h_tm1, W))
    return h_t, T.dot(h_t, W_out)


[h, y], _ = theano.scan(step, sequences=u, outputs_info=[h0, None], non_sequences=[W, W_in, W_out])
error = ((y - t) ** 2).mean()
gW, gW_in, gW_out = T.grad(error, [W, W_in, W_out])
fn = theano.function(
    [h0, u, t, lr], error, updates={W: W - lr * gW, W_in: W_in - lr * gW_in, W_out: W_out - lr * gW_out}
)
losses = []
for _ in range(150):
    seq = rng.randn(30, 1)
    losses.append(float(fn(np.zeros(n), seq, np.concatenate([np.zeros((2, 1)), seq[:-2]]), 0.1)))
assert np.mean(losses[-20:]) < 0.5 * np.mean(losses[:20])
