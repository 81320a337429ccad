"""Variables in the hands of libraries that take any array, and what Python may ask of lengths that are known."""

import math
import operator
import warnings

import einops
import numpy as np
import pytest
from einops import array_api as einops_of_the_standard

import termgraph as tg
import termgraph.tensor as T
from termgraph.terms.errors import ShapeError

VALUES = np.random.default_rng(0).normal(size=(2, 3, 4))
PATTERNS = {
    "rearrange": lambda e, x: e.rearrange(x, "a b (c d) -> (a d) b c", d=2),
    "to the end": lambda e, x: e.rearrange(x, "a ... -> ... a"),
    "a list": lambda e, x: e.rearrange([x, x], "n a b c -> (n a) b c"),
    "max": lambda e, x: e.reduce(x, "a b c -> a 1 c", "max"),
    "mean of windows": lambda e, x: e.reduce(x, "a b (c k) -> a b c", "mean", k=2),
    "repeat": lambda e, x: e.repeat(x, "a b c -> a (b k) c", k=2),
    "pack": lambda e, x: e.pack([x, x[:, 0]], "a * c")[0],
    "unpack": lambda e, x: e.unpack(x, [[1], [2]], "a * c")[1],
}
OF_EINOPS = {"einsum": lambda e, x: e.einsum(x, x, "a b c, a b d -> a c d")}


@pytest.mark.parametrize("known", [(None, None, None), (2, 3, 4)])
@pytest.mark.parametrize("library", [einops, einops_of_the_standard])
def test_einops(library, known):
    x = T.tensor("x", dtype="float64", shape=known)
    patterns = {**PATTERNS, **(OF_EINOPS if library is einops else {})}
    found = tg.function([x], [f(library, x) for f in patterns.values()])(VALUES)
    for name, ours, f in zip(patterns, found, patterns.values(), strict=True):
        np.testing.assert_allclose(ours, f(einops, VALUES), err_msg=name)


def test_einops_on_shared_variables_and_its_errors():
    assert einops.rearrange(tg.shared(VALUES), "a b c -> (a b) c").eval().shape == (6, 4)
    x = T.tensor3("x")
    f = tg.function([x], einops.rearrange(x, "(a k) b c -> a k b c", k=3))
    with pytest.raises(ShapeError, match=r"test_guests\.py"):  # the user's line, not one of einops
        f(VALUES)


def test_lengths_that_are_known_answer_python():
    x = T.tensor("x", dtype="float64", shape=(2, 3))
    assert [*range(x.shape[0] * 2 - 1)] == [0, 1, 2]
    assert (int(x.shape[1]), float(T.constant(2.5)), complex(T.constant(2j)), operator.index(x.size)) == (3, 2.5, 2j, 6)
    assert math.sqrt(x.shape[1] + 1) == 2 and int(math.prod(x.shape)) == 6 and "abc"[x.shape[0]] == "c"
    assert (x.shape[0] > 1) and not (x.shape[0] > 2) and not T.constant(0) and not T.constant(False)
    assert 3 in x.shape and 7 not in x.shape and None not in x.shape
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert x.shape[0] == 2 and x.shape[0] != 3 and np.int64(2) == x.shape[0] and x.shape == (2, 3)
        assert x.shape != (2, 4) and x.shape != [2, 3, 1]
    for convert in (int, operator.index, float):
        with pytest.raises(TypeError, match="has no value while the graph is built"):
            convert(T.constant([1, 2]))
    with pytest.raises(TypeError, match="cannot be interpreted as an integer"):
        operator.index(T.constant(1.5))


def test_other_lengths_do_not():
    x = T.tensor("x", dtype="float64", shape=(None, 3))
    assert int(x.shape[1]) == 3 and None not in x.shape
    for ask in (int, range, float, lambda n: 3 in x.shape, lambda n: bool(n > 2)):
        with pytest.raises(TypeError, match=r"has no value|not known while building"):
            ask(x.shape[0])
    for other in (2, (2, 3)):
        with pytest.warns(UserWarning, match="whether both sides are the same variable"):
            assert x.shape != other
    big = T.zeros(1000)  # a value, but nothing to be computed while a graph is built
    with pytest.raises(TypeError, match="has no value"):
        int(big.sum())


@pytest.mark.parametrize("known", [(None, None), (2, 3)])
def test_tuples_beside_lengths(known):
    x = T.tensor("x", dtype="float64", shape=known)
    message = r"write \(\*x\.shape, 5\) or \(5, \*x\.shape\)"
    for add in (lambda: (5,) + x.shape, lambda: x.shape + (5,)):
        with pytest.raises(TypeError, match=message):
            add()
    with pytest.warns(UserWarning, match=message):
        x.shape[:-1] + (5,)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sums = [x.shape + np.array([1, 1]), x.shape + [1, 1], x.shape - (1, 1), T.lvector("v") + (1, 1)]
    found = tg.function([x], sums[0], on_unused_input="ignore")(np.ones((2, 3)))
    assert found.tolist() == [3, 4] and T.zeros((5, *x.shape)).ndim == 3


def test_names_in_a_namespace():
    for ask, message in (
        (lambda: T.nnet.one_hot, r"T\.one_hot\?"),
        (lambda: T.linalg.norms, r"did you mean T\.linalg\.norm\?"),
        (lambda: T.nnet.unsqueeze, r"write T\.expand_dims"),
    ):
        with pytest.raises(AttributeError, match=message):
            ask()
    assert not hasattr(T.fft, "__wrapped__") and not hasattr(T.signal, "nothing_of_the_kind")


def test_what_the_standard_asks_of_the_namespace():
    info = T.dvector("x").__array_namespace__().__array_namespace_info__()
    assert info.capabilities()["boolean indexing"] and info.devices() == [info.default_device()] == [None]
    assert info.default_dtypes()["real floating"] == T.zeros(1).dtype and "float16" not in info.dtypes()
    assert list(info.dtypes(kind=("bool", "complex floating"))) == ["bool", "complex64", "complex128"]
    with pytest.raises(ValueError, match="device"):
        info.dtypes(device="cuda:7")
