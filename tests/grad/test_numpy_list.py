"""The NumPy functions that HIPS autograd differentiates: covered here, or named as missing from the language."""

import numpy as np
import pytest
from gradcases import UNARY, check, range_of, regular

import termgraph.tensor as T
from termgraph.terms.op import OPS

MISSING = {"make_diagonal", "real_if_close", "msort"}  # not in T
ELEMENTWISE = [
    *UNARY, "absolute", "add", "subtract", "multiply", "divide", "true_divide", "power", "mod", "remainder",
    "negative", "maximum", "minimum", "fmax", "fmin", "logaddexp", "logaddexp2", "arctan2", "rad2deg", "degrees",
    "deg2rad", "radians", "square", "sinc",
]  # fmt: skip
PAIRS = {
    "add", "subtract", "multiply", "divide", "true_divide", "power", "mod", "remainder", "maximum", "minimum", "fmax",
    "fmin", "logaddexp", "logaddexp2", "arctan2",
}  # fmt: skip
WHOLE = [
    "ravel",
    "squeeze",
    "diagonal",
    "flipud",
    "fliplr",
    "rot90",
    "trace",
    "triu",
    "tril",
    "nan_to_num",
    "transpose",
    "mean",
    "sum",
    "max",
    "min",
    "amax",
    "amin",
    "prod",
    "var",
    "std",
    "cumsum",
    "cumprod",
    "sort",
    "diff",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "real",
]
OTHER = {
    "reshape": lambda x: T.reshape(x, (3, 2)), "roll": lambda x: T.roll(x, 1), "pad": lambda x: T.pad(x, 1),
    "array_split": lambda x: T.array_split(x, 2)[1], "split": lambda x: T.split(x, [1], axis=1)[1],
    "vsplit": lambda x: T.vsplit(x, 2)[0], "hsplit": lambda x: T.hsplit(x, 3)[2],
    "dsplit": lambda x: T.dsplit(T.stack([x, x * x], axis=2), 2)[1], "expand_dims": lambda x: T.expand_dims(x, 1),
    "clip": lambda x: T.clip(x, -0.5, 0.5), "swapaxes": lambda x: T.swapaxes(x, 0, 1),
    "moveaxis": lambda x: T.moveaxis(x, 0, 1), "where": lambda x: T.where(x > 0, x, x * x),
    "angle": lambda x: T.angle(T.complex(x, x + 1)), "imag": lambda x: T.imag(T.complex(x, x * x)),
    "conj": lambda x: T.conj(T.complex(x, x * x)), "conjugate": lambda x: T.conjugate(T.complex(x, x * x)),
    "cross": lambda x: T.cross(x, x[::-1]), "tile": lambda x: T.tile(x, 2), "kron": lambda x: T.kron(x, x),
    "repeat": lambda x: T.repeat(x, 2), "inner": lambda x: T.inner(x, x), "matmul": lambda x: T.matmul(x, x.T),
    "dot": lambda x: T.dot(x, x.T), "tensordot": lambda x: T.tensordot(x, x, 2), "outer": lambda x: T.outer(x, x),
    "concatenate": lambda x: T.concatenate([x, x * x]), "stack": lambda x: T.stack([x, x * x]),
    "vstack": lambda x: T.vstack([x, x * x]), "hstack": lambda x: T.hstack([x, x * x]),
    "column_stack": lambda x: T.column_stack([x[:, 0], x[:, 1] * 2]),
    "linspace": lambda x: T.linspace(x[0, 0], x[1, 1], 4),
    "broadcast_to": lambda x: T.broadcast_to(x, (2, 2, 3)), "reciprocal": lambda x: T.reciprocal(x + 4),
    "array": lambda x: T.array([x[0], x[1] * x[0]], ndmin=3),
    "einsum": lambda x: T.einsum("ij,kj->ik", x, x), "full": lambda x: T.full((2, 3), x[0, 0]),
}  # fmt: skip
LINALG = ["inv", "pinv", "solve", "norm", "eigh", "eig", "cholesky", "svd", "det", "slogdet"]  # see test_linalg
FFT = ["fft2", "ifft2", "fftn", "ifftn", "fftshift", "ifftshift"]


def test_what_is_missing_is_missing():
    assert not [n for n in MISSING if hasattr(T, n)]


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_elementwise(name, rng):
    op = {"power": "pow"}.get(name, name)
    low, high = range_of(op) if op in OPS else (0.3, 0.9)
    check(getattr(T, name), *[rng.uniform(low, high, (2, 2)) for _ in range(1 + (name in PAIRS))])


@pytest.mark.parametrize("name", WHOLE)
def test_of_one_array(name, rng):
    check(getattr(T, name), rng.normal(size=(2, 3)))


@pytest.mark.parametrize("name", OTHER)
def test_with_arguments(name, rng):
    check(OTHER[name], rng.normal(size=(2, 3)))


def test_namespaces(rng):
    assert all(hasattr(T.linalg, n) for n in LINALG)
    for name in FFT:
        check(getattr(T.fft, name), regular(rng, 2, dtype=complex))
    check(lambda x: T.fft.irfftn(T.fft.rfftn(x), s=(2, 4)), rng.normal(size=(2, 4)))
    assert np.ndim(0) == 0
