"""Arrays of other libraries as arguments, shared values and operands; results as theirs; pickles of closures."""

import cloudpickle
import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.terms.errors import TypeMismatch


class Exported:
    """An array that speaks DLPack and nothing else."""

    def __init__(self, values):
        self.held = values

    def __dlpack__(self, **options):
        return self.held.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.held.__dlpack_device__()


def test_dlpack_is_taken_wherever_an_array_is():
    x = T.dvector("x")
    values = np.array([1.0, 2.0])
    f = tg.function([x], x * 2)
    np.testing.assert_array_equal(f(Exported(values)), [2, 4])
    np.testing.assert_array_equal(f(Exported(values[::-1])), [4, 2])
    np.testing.assert_array_equal((x + Exported(values)).eval({x: values}), [2, 4])
    w = tg.shared(Exported(values))
    values[0] = 7.0
    assert w.type.dtype == "float64" and w.get_value()[0] == 1.0, "a shared variable has memory of its own"
    np.testing.assert_array_equal(np.from_dlpack(f(values)), [14, 4])


def test_dlpack_is_read_without_a_copy():
    values = np.arange(3.0)
    taken = T.TensorType("float64", (None,)).filter(Exported(values))
    assert np.shares_memory(taken, values)


def test_what_lies_elsewhere_is_refused_with_a_sentence():
    class OnGpu(Exported):
        def __dlpack__(self, **options):
            raise BufferError("device 2 is not the CPU")

    f = tg.function([x := T.dvector("x")], x)
    with pytest.raises(TypeMismatch, match=r"device 2 is not the CPU.*memory of the CPU first"):
        f(OnGpu(np.ones(2)))
    with pytest.raises(TypeError, match="memory of the CPU first"):
        T.as_tensor(OnGpu(np.ones(2)))


def test_pandas():
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})
    m, x = T.dmatrix("m"), T.dvector("x")
    np.testing.assert_array_equal(tg.function([m, x], m @ x)(table, table["a"]), [7, 10])
    np.testing.assert_array_equal((x * table["b"]).eval({x: table["a"]}), [3, 8])
    np.testing.assert_array_equal(tg.shared(table).get_value(), table.values)
    with pytest.raises(TypeError, match="array of numbers"):
        tg.function([x], x)(pd.Series(["a", "b"]))


def test_xarray():
    xr = pytest.importorskip("xarray")
    field = xr.DataArray(np.arange(4.0).reshape(2, 2), dims=("lat", "lon"))
    m = T.dmatrix("m")
    np.testing.assert_array_equal(tg.function([m], m + field)(field), 2 * field.values)


def test_pytorch():
    torch = pytest.importorskip("torch")
    x = T.dvector("x")
    f = tg.function([x], x + 1)
    there = torch.from_dlpack(f(torch.ones(3, dtype=torch.float64)))
    assert there.tolist() == [2.0, 2.0, 2.0]


def test_ipython_completes():
    pytest.importorskip("IPython")
    from IPython.core.completer import IPCompleter, provisionalcompleter
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell.instance()
    names = {"tg": tg, "T": T, "x": T.dvector("x")}
    completer = IPCompleter(shell=shell, namespace=names, global_namespace={}, use_jedi=False)
    with provisionalcompleter():
        for text, wanted in [
            ("tg.opti", "optim"),
            ("T.soft", "softmax"),
            ("x.cumsu", "cumsum"),
            ("T.linalg.cho", "cholesky"),
        ]:
            found = [c.text for c in completer.completions(text, len(text))]
            assert any(f.rpartition(".")[2] == wanted for f in found), (text, found)


def test_closures_and_expressions_go_through_cloudpickle():
    x = T.dvector("x")
    f = tg.function([x], T.exp(x))
    again = cloudpickle.loads(cloudpickle.dumps(lambda v: f(v) + 1))
    np.testing.assert_allclose(again([0.0]), [2.0])
    y = cloudpickle.loads(cloudpickle.dumps(T.exp(x) + 1))
    (leaf,) = T.graph_inputs([y])[:1]
    np.testing.assert_allclose(y.eval({leaf: [0.0]}), [2.0])


class Matrix(np.ndarray):
    """As np.matrix, whose `*` is the product of matrices and whose rows are matrices."""

    def __mul__(self, other):
        return np.dot(self, other)

    def __getitem__(self, index):
        return np.atleast_2d(super().__getitem__(index))


@pytest.mark.parametrize("linker", ["auto", "py"])
def test_subclasses_of_arrays_are_plain_arrays(linker, tmp_path):
    """Their operators may mean something else, and compiled code takes no subclass."""
    mode = tg.Mode(linker=linker)
    numbers = np.array([[1.0, 2.0], [3.0, 4.0]])
    mapped = np.memmap(tmp_path / "numbers", "f8", "w+", shape=(2, 2))
    mapped[:] = numbers
    unmasked = np.ma.masked_array(numbers, False)
    x, w = T.dmatrix("x"), tg.shared(np.zeros((2, 2)))
    square = tg.function([x], [x * x, x[0], x], mode=mode)
    of_state = tg.function([], w * w, mode=mode)
    for given in (numbers.view(Matrix), mapped, numbers.view(np.recarray), unmasked):
        results = square(given)
        for found, wanted in zip(results, (numbers**2, numbers[0], numbers)):
            assert type(found) is np.ndarray and np.array_equal(found, wanted), type(given)
        w.set_value(given)
        assert np.array_equal(of_state(), numbers**2) and type(w.get_value()) is np.ndarray
        assert np.array_equal((T.as_tensor(given) * T.as_tensor(given)).eval(), numbers**2)


def test_masked_elements_are_refused_wherever_arrays_are_taken():
    masked = np.ma.masked_array([1.0, 2.0], [False, True])
    x, w = T.dvector("x"), tg.shared(np.zeros(2))
    takers = [tg.function([x], x), tg.function([x], x, mode=tg.Mode("py")), w.set_value, tg.shared, T.as_tensor]
    for take in [*takers, lambda a: x + a, lambda a: T.as_tensor([a, a]), lambda a: T.stack([x, a])]:
        with pytest.raises(TypeError, match=r"masked.*array\.filled\(0\)"):
            take(masked)
