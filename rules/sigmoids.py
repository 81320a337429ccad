"""The sigmoid under its other names, its mirror image, and the products that its derivative is made of."""

from termgraph.rules import Float, rule, ruleset
from termgraph.terms.ops.elementwise import exp, sigmoid, softplus, sqr, tanh


@ruleset("stabilize")
def sigmoids(x: Float, y: Float, z: Float):
    yield rule("sigmoid",         1 / (1 + exp(-x)),                 sigmoid(x))
    yield rule("sigmoid_neg",     1 / (1 + exp(x)),                  sigmoid(-x))
    yield rule("sigmoid_exp_neg", exp(-x) / (1 + exp(-x)),           sigmoid(-x))
    yield rule("sigmoid_exp",     exp(x) / (1 + exp(x)),             sigmoid(x))
    yield rule("one_minus_neg",   1 - sigmoid(-x),                   sigmoid(x))
    yield rule("one_minus",       1 - sigmoid(x),                    sigmoid(-x))
    yield rule("minus_one",       sigmoid(x) - 1,                    -sigmoid(-x),           assumes=["plus_zero"])

    # from tanh: 1 + tanh(x) is 0 long before the sigmoid is
    yield rule("tanh_half",       1 + tanh(0.5 * x),                 2 * sigmoid(x))
    yield rule("tanh_halved",     1 + tanh(x / 2),                   2 * sigmoid(x))
    yield rule("tanh",            1 + tanh(x),                       2 * sigmoid(2 * x))
    yield rule("tanh_half_neg",   1 - tanh(0.5 * x),                 2 * sigmoid(-x))
    yield rule("tanh_halved_neg", 1 - tanh(x / 2),                   2 * sigmoid(-x))
    yield rule("tanh_neg",        1 - tanh(x),                       2 * sigmoid(-2 * x))
    yield rule("tanh_exp",        2 * sigmoid(x) - 1,                tanh(0.5 * x),          assumes=["plus_zero"])

    # of the stable logarithms
    yield rule("exp_neg_softplus", exp(-softplus(-x)),               sigmoid(x))
    yield rule("exp_softplus",    exp(-softplus(x)),                 sigmoid(-x))
    yield rule("exp_difference",  exp(x - softplus(x)),              sigmoid(x))

    # derivatives: an overflowing exponential meets a sigmoid that is 0
    yield rule("scaled_exp",      (y * exp(x)) / (1 + exp(x)),       y * sigmoid(x), assumes=["domain", "reassoc"])
    yield rule("scaled_neg",      y / (1 + exp(-x)),                 y * sigmoid(x), assumes=["reassoc"])
    yield rule("scaled",          y / (1 + exp(x)),                  y * sigmoid(-x), assumes=["reassoc"])
    yield rule("scaled_neg_over", y / (z * (1 + exp(-x))),         (y * sigmoid(x)) / z, assumes=["nonzero", "reassoc"])
    yield rule("scaled_over",     y / (z * (1 + exp(x))),          (y * sigmoid(-x)) / z,
                                  assumes=["nonzero", "reassoc"])
    yield rule("derivative_neg",  exp(-x) / sqr(1 + exp(-x)),        sigmoid(x) * sigmoid(-x))
    yield rule("derivative",      exp(x) / sqr(1 + exp(x)),          sigmoid(x) * sigmoid(-x))
    yield rule("derivative_mul",  (y * exp(x)) / sqr(1 + exp(x)),    y * sigmoid(x) * sigmoid(-x))
    yield rule("derivative_over", exp(x) / (z * sqr(1 + exp(x))),    (sigmoid(x) * sigmoid(-x)) / z,
                                  assumes=["finite", "reassoc"])
    yield rule("derivative_mul_over", (y * exp(x)) / (z * sqr(1 + exp(x))), (y * sigmoid(x) * sigmoid(-x)) / z,
                                      assumes=["finite", "reassoc"])
    yield rule("times_exp_neg",   sigmoid(x) * exp(-x),              sigmoid(-x))
    yield rule("times_exp",       sigmoid(-x) * exp(x),              sigmoid(x))
    yield rule("ratio",           sigmoid(x) / sigmoid(-x),          exp(x))


@ruleset("specialize")
def logistic(x: Float, y: Float, z: Float):
    # the gradient of -(y log(p) + (1 - y) log(1 - p)) by the logit of p
    yield rule("gradient",        sigmoid(x) * (1 - y) - sigmoid(-x) * y,            sigmoid(x) - y,
                                  assumes=["finite", "reassoc"])
    yield rule("descent",         sigmoid(-x) * y - sigmoid(x) * (1 - y),            y - sigmoid(x),
                                  assumes=["finite", "reassoc"])
    yield rule("gradient_over",   (sigmoid(x) * (1 - y)) / z - (sigmoid(-x) * y) / z, (sigmoid(x) - y) / z,
                                  assumes=["finite", "reassoc"])
    yield rule("descent_over",    (sigmoid(-x) * y) / z - (sigmoid(x) * (1 - y)) / z, (y - sigmoid(x)) / z,
                                  assumes=["finite", "reassoc"])
