"""What Python and NumPy ask of variables: names that do not exist, arrays, copies, and what the prompt shows."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T

X, V = T.dmatrix("x"), T.dvector("v")


@pytest.mark.parametrize(
    ("wrong", "meant"),
    {"sofmax": "T.softmax", "solve": "T.linalg.solve", "relu": "T.nnet.relu", "concatonate": "T.concatenate"}.items(),
)
def test_a_function_that_is_not_there(wrong, meant):
    with pytest.raises(AttributeError, match=f"no attribute '{wrong}'; did you mean {meant}"):
        getattr(T, wrong)


def test_a_method_that_is_not_there():
    with pytest.raises(AttributeError, match=r"did you mean \.sum\?"):
        V.summ()
    with pytest.raises(AttributeError, match=r"did you mean T\.exp\(x\)\?"):
        V.exp()
    assert not hasattr(V, "nothing_like_it") and not hasattr(V, "__array_interface__")
    with pytest.raises(AttributeError, match="'qqqqqq'$"):
        V.qqqqqq


def test_an_array_of_variables_says_what_to_write():
    with pytest.raises(TypeError, match=r"T\.stack\(\[a, b\]\)"):
        np.array([V[0], V[1]])
    with pytest.raises(TypeError, match=r"w\.get_value\(\)"):
        np.asarray(tg.shared(np.ones(2), name="w"))
    assert np.asarray(T.constant([1, 2])).tolist() == [1, 2]


def test_the_array_namespace_is_the_language():
    space = X.__array_namespace__()
    assert space is T and space.concat([V, V]).type == T.concatenate([V, V]).type


def test_methods_that_users_type():
    assert X.copy() is X
    value = np.arange(4.0).reshape(2, 2)
    f = tg.function([X], [X.norm(), X.trace(), X.norm(axis=0)], mode="FAST_COMPILE")
    norm, trace, columns = f(value)
    assert (norm, trace) == (np.linalg.norm(value), np.trace(value)) and (
        columns == np.linalg.norm(value, axis=0)
    ).all()


def test_gradients_under_the_names_of_the_language():
    assert T.grad is tg.grad and T.jacobian is tg.jacobian


def test_the_prompt_shows_the_expression():
    assert repr(T.exp(V) + 1) == "add(exp(v), 1)" and str(T.exp(V) + 1) == "add.0" and repr(V) == "v"
    long = V
    for _ in range(10_000):
        long = T.exp(long) + 1
    assert len(repr(long)) < 300


def test_dir_shows_what_is_public():
    for space in (T.linalg, T.nnet, T.fft, T.signal):
        assert dir(space) == sorted(space.__all__)
    assert {"viz", "sympy", "debug", "optim", "function"} <= set(dir(tg)) and not {"_sys", "_flags"} & set(dir(tg))
    assert {"softmax", "grad", "linalg"} <= set(dir(T)) and not {"wrap", "lifting", "reductions"} & set(dir(T))
