"""What Python and NumPy ask of variables: names that do not exist, arrays, copies, and what the prompt shows."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T

X, V = T.dmatrix("x"), T.dvector("v")


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [
        ("lgo", "T.log"),
        ("sofmax", "T.softmax"),
        ("solve", "T.linalg.solve"),
        ("relu", "T.nnet.relu"),
        ("concatonate", "T.concatenate"),
    ],
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
    for space in (T.linalg, T.nnet, T.fft, T.signal, T.ndimage, T.stats):
        assert dir(space) == sorted(space.__all__)
    assert {"RandomStream"} <= set(dir(T.random)) and not {"np", "Any"} & set(dir(T.random))
    for room in (tg.db, tg.debug, tg.dist, tg.optim, tg.rules, tg.sympy, tg.train, tg.viz):
        assert dir(room) == sorted(room.__all__) and not any(n.startswith("_") for n in dir(room))
    assert [n for n in dir(tg) if not hasattr(tg, n)] == [], "what is shown is there"
    assert {"viz", "sympy", "debug", "optim", "function"} <= set(dir(tg)) and not {"_sys", "_flags"} & set(dir(tg))
    assert {"softmax", "grad", "linalg"} <= set(dir(T)) and not {"wrap", "lifting", "reductions"} & set(dir(T))


class Series:
    """As pandas has it: an operator is for the right side to answer where that has the higher priority."""

    __array_priority__ = 1000
    __pandas_priority__ = 4000

    def __init__(self, values):
        self.values = np.asarray(values)

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.values, dtype)

    def __add__(self, other):
        if getattr(other, "__pandas_priority__", 0) > self.__pandas_priority__:
            return NotImplemented
        return Series(self.values + np.asarray(other))

    def __matmul__(self, other):
        return Series(self.values @ np.asarray(other))


class DataArray:
    """As xarray has it: labels around whatever the operator of the values gives; without `__repr__` of such."""

    def __init__(self, data, dims):
        self.data, self.dims = data, dims

    def __add__(self, other):
        return DataArray(self.data + other, self.dims)

    def __repr__(self):
        raise AttributeError("'DataArray' object has no attribute 'nbytes'")


def test_a_series_on_the_left_of_an_operator():
    series = Series([1.0, 2.0])
    assert (series + V).eval({V: [10.0, 20.0]}).tolist() == [11.0, 22.0]
    assert (V + series).eval({V: [10.0, 20.0]}).tolist() == [11.0, 22.0]
    with pytest.raises(TypeError, match=r"T\.dot\(a, x\) for a @ x of pandas"):
        series @ V
    assert T.dot(series, V).eval({V: [10.0, 20.0]}).tolist() == 50.0


def test_an_array_with_labels_on_the_left_of_an_operator():
    labelled = DataArray(np.array([1.0, 2.0]), ("t",)) + V
    assert labelled.dims == ("t",) and labelled.data.type == (V + 1).type.clone(shape=(2,))
    f = tg.function([V], [labelled, T.exp(labelled)], mode="FAST_COMPILE")
    total, powers = f([1.0, 1.0])
    assert total.tolist() == [2.0, 3.0] and powers.tolist() == np.exp([2.0, 3.0]).tolist()


def test_the_value_of_a_shared_variable_by_dlpack():
    w = tg.shared(np.arange(3.0), name="w")
    before = np.from_dlpack(w)
    w.set_value([7.0, 8.0])
    assert before.tolist() == [0.0, 1.0, 2.0] and np.from_dlpack(w).tolist() == [7.0, 8.0]
    assert w.__dlpack_device__() == np.zeros(1).__dlpack_device__()
    np.from_dlpack(w)[:] = -1
    assert w.get_value().tolist() == [7.0, 8.0], "a copy, unless one asks for the memory itself"
    np.from_dlpack(w, copy=False)[:] = -1
    assert w.get_value().tolist() == [-1.0, -1.0]
    assert not hasattr(tg.shared("text"), "__dlpack__") and not hasattr(V, "__dlpack__")


def test_an_array_that_cannot_be_read_is_an_error_about_the_argument():
    class Tensor:  # as PyTorch's that want gradients
        def __array__(self, dtype=None, copy=None):
            raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")

    f = tg.function([V], V * 2, mode="FAST_COMPILE")
    with pytest.raises(TypeError, match=r"bad argument 'v' .*(?s:.)*tensor\.detach\(\)"):
        f(Tensor())
    with pytest.raises(TypeError, match=r"tensor\.detach\(\)"):
        V + Tensor()
    with pytest.raises(TypeError, match=r"tensor\.detach\(\)"):
        tg.shared(Tensor())
