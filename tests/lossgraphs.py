"""Losses whose value and gradient are printed in golden/ and counted in test_golden: name -> (inputs, cost, wrt)."""

import termgraph.tensor as T


def network():
    """One hidden layer: (inputs, logits, parameters)."""
    x, w1, w2 = T.dmatrices("x", "w1", "w2")
    b1, b2 = T.dvectors("b1", "b2")
    logits = T.dot(T.tanh(T.dot(x, w1) + b1), w2) + b2
    return [x, w1, b1, w2, b2], logits, [w1, b1, w2, b2]


def squared_error():
    inputs, out, wrt = network()
    t = T.dmatrix("t")
    return [*inputs, t], T.sqr(out - t).mean(), wrt


def one_hot_cross_entropy():
    inputs, logits, wrt = network()
    t = T.dmatrix("t")
    return [*inputs, t], -(t * T.log_softmax(logits, axis=1)).sum(axis=1).mean(), wrt


def cross_entropy_of_probabilities():
    """The softmax written out, its logarithm taken of the one probability that a label names."""
    inputs, logits, wrt = network()
    k = T.lvector("labels")
    p = T.exp(logits) / T.exp(logits).sum(axis=1, keepdims=True)
    return [*inputs, k], T.nnet.categorical_crossentropy(p, k).mean(), wrt


def cross_entropy_of_labels():
    """Theano's way: as many rows as there are labels, which need not be all rows of the logits."""
    inputs, logits, wrt = network()
    k = T.lvector("labels")
    return [*inputs, k], -T.log(T.nnet.softmax(logits))[T.arange(k.shape[0]), k].mean(), wrt


def softmax_cross_entropy():
    x, t = T.dmatrices("x", "t")
    return [x, t], -(t * T.log(T.softmax(x, axis=1))).sum(axis=1).mean(), [x]


def logistic_regression():
    x, w, b, y = T.dmatrix("x"), T.dvector("w"), T.dscalar("b"), T.dvector("y")
    p = 1 / (1 + T.exp(-T.dot(x, w) - b))
    return [x, w, b, y], (-y * T.log(p) - (1 - y) * T.log(1 - p)).mean(), [w, b]


def logsumexp():
    x = T.dmatrix("x")
    return [x], T.log(T.exp(x).sum(axis=1)).sum(), [x]


def normalised(x, gamma, beta):
    centred = x - x.mean(axis=1, keepdims=True)
    return centred / T.sqrt(T.sqr(centred).mean(axis=1, keepdims=True) + 1e-5) * gamma + beta


def layer_norm():
    x, t, gamma, beta = T.dmatrix("x"), T.dmatrix("t"), T.dvector("gamma"), T.dvector("beta")
    return [x, t, gamma, beta], T.sqr(normalised(x, gamma, beta) - t).sum(), [x, gamma, beta]


def layer_norm_network():
    x, w, t, gamma, beta = T.dmatrix("x"), T.dmatrix("w"), T.dmatrix("t"), T.dvector("gamma"), T.dvector("beta")
    out = T.nnet.relu(normalised(T.dot(x, w), gamma, beta))
    return [x, w, t, gamma, beta], T.sqr(out - t).sum(), [w, gamma, beta]


LOSSES = {
    f.__name__: f
    for f in (
        squared_error, one_hot_cross_entropy, cross_entropy_of_probabilities, cross_entropy_of_labels,
        softmax_cross_entropy, logistic_regression, logsumexp, layer_norm, layer_norm_network,
    )
}  # fmt: skip
