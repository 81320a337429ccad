"""How what is known of matrices with structure passes through the operators. Files named `_facts_...` hold such
knowledge; they are read whenever rules are used, also where the rules themselves come ready-made."""

from termgraph.rules import diagonal, lower_triangular, orthogonal, positive_definite, symmetric, upper_triangular
from termgraph.terms.ops.basic import dimshuffle, nth
from termgraph.terms.ops.linalg import cholesky, dot, expm, inv, qr
from termgraph.terms.ops.shaping import alloc_diag, eye

T = (1, 0)


def _transposed(other):
    """Whether a transpose has a property: if the matrix has the mirrored one. Other orders say nothing."""
    return lambda t, ask: ask(other, t.args[0]) if t.op.params["order"] == T else None


def _gram(t, ask):
    """x @ x.T is symmetric."""
    x, y = t.args
    mirrored = any(
        a.op.family is dimshuffle and a.op.params["order"] == T and a.args[0] is b for a, b in ((x, y), (y, x))
    )
    return True if mirrored and x.type.ndim == 2 else None


def _no_offset(t, ask):
    return True if t.op.params["offset"] == 0 else None


def _main_diagonal(t, ask):
    n, m, k = t.args
    return True if n is m and getattr(k, "scalar", None) == 0 else None


def _when(**params):
    return lambda t, ask: True if all(t.op.params[k] == v for k, v in params.items()) else None


def _result_of(op, number):
    return lambda t, ask: True if t.op.params["i"] == number and t.args[0].op.family is op else None


def _of(fact):
    return lambda t, ask: True if ask(fact, t.args[0]) is True else None


diagonal.propagate(alloc_diag, _no_offset)
diagonal.propagate(eye, _main_diagonal)
symmetric.propagate(dot, _gram)
symmetric.propagate(dimshuffle, _transposed(symmetric))
symmetric.propagate(inv, _of(symmetric))
symmetric.propagate(expm, _of(symmetric))
positive_definite.propagate(inv, _of(positive_definite))
positive_definite.propagate(expm, _of(symmetric))
positive_definite.propagate(dimshuffle, _transposed(positive_definite))
lower_triangular.propagate(cholesky, _when(lower=True))
upper_triangular.propagate(cholesky, _when(lower=False))
lower_triangular.propagate(dimshuffle, _transposed(upper_triangular))
upper_triangular.propagate(dimshuffle, _transposed(lower_triangular))
lower_triangular.propagate(inv, _of(lower_triangular))
upper_triangular.propagate(inv, _of(upper_triangular))
upper_triangular.propagate(nth, _result_of(qr, 1))
orthogonal.propagate(dimshuffle, _transposed(orthogonal))
orthogonal.propagate(inv, _of(orthogonal))
