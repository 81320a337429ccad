"""NumPy's own functions on variables: the same results, and sentences where there is no such function."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T

A = np.array([1.0, 2.0, 3.5])
FUNCTIONS = {
    "exp": np.exp, "scalar on the left": lambda v: np.float64(2) * v, "array on the left": lambda v: A - v,
    "compared": lambda v: np.less(A, v + 1), "product": lambda v: A @ v, "dot": lambda v: np.dot(A, v), "mean": np.mean,
    "joined": lambda v: np.concatenate([v, A]), "where": lambda v: np.where(v > 2, v, 0),
    "stack": lambda v: np.stack([v, v]),
    "einsum": lambda v: np.einsum("i,i->", v, v), "clip": lambda v: np.clip(v, 1, 2), "argmax": np.argmax,
    "sort": np.sort, "cumsum": np.cumsum, "reshape": lambda v: np.reshape(v, (3, 1)),
    "quotient": lambda v: divmod(A, v)[0], "rest": lambda v: np.divmod(v, A / 3)[1],
    "number's rest": lambda v: divmod(7, v)[1],
    "norm": np.linalg.norm, "fft": np.fft.fft, "unwrap": np.unwrap, "put in": lambda v: np.insert(v, 1, 9),
    "small types": lambda v: np.float32(2) ** v, "two results": lambda v: np.maximum(v, 2) + np.minimum(v, 2),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_numpy_functions_build_graphs(name):
    v = T.dvector("v")
    made = FUNCTIONS[name](v)
    assert isinstance(made, tg.Variable)
    got, want = made.eval({v: A}), FUNCTIONS[name](A)
    np.testing.assert_allclose(got, want)
    assert got.dtype == want.dtype


@pytest.mark.filterwarnings("ignore:== and != ask")
def test_equality_is_identity_from_both_sides():
    v = T.dvector("v")
    for left, right in ((A, v), (v, A)):
        assert (left == right) is False and (left != right) is True
    assert v in [A, v]


def test_what_there_is_not_is_said():
    v = T.dvector("v")
    with pytest.raises(TypeError, match="NumPy's real_if_close does not take symbolic variables.*eval"):
        np.real_if_close(v)
    with pytest.raises(TypeError, match=r"NumPy's copy does not.*write x: variables are not changed, give"):
        np.copy(v)
    with pytest.raises(TypeError, match=r"add\.reduce does not take"):
        np.add.reduce(v)
    with pytest.raises(TypeError, match="exp with where= does not take"):
        np.exp(v, where=A > 0)
    b = A.copy()
    with pytest.raises(TypeError, match=r"cannot write a symbolic variable into an array; write x = x \+ y"):
        b += v
    np.testing.assert_array_equal(b, A)
