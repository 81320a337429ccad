"""Functions compiled whole to C: the same results, messages and promises as on the virtual machine."""

import copy
import pickle
import threading

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler
from termgraph.function.compiled import Function, MachineFunction
from termgraph.terms.errors import ShapeError

LINKER = "auto"
pytestmark = pytest.mark.skipif(find_compiler() is None, reason="no C compiler on this machine")


def native(f):
    """The function, which must be native."""
    assert isinstance(f, Function) and not isinstance(f, MachineFunction), f.maker.work.not_native
    return f


@pytest.fixture
def x():
    return T.dvector("x")


def test_one_output_a_list_none_and_a_dictionary(x):
    one = native(tg.function([x], x + 1))
    assert one([1, 2]).tolist() == [2, 3]
    both = native(tg.function([x], [x + 1, x.sum()]))
    assert [np.asarray(v).tolist() for v in both(np.ones(2))] == [[2, 2], 2]
    w = tg.shared(0.0, "w")
    assert native(tg.function([x], None, updates=[(w, w + x.sum())]))([1.0, 2.0]) is None
    assert w.get_value() == 3.0
    keyed = native(tg.function([x], {"a": x * 2, "b": x}))
    assert keyed([3.0])["a"].tolist() == [6.0]


def test_arguments_by_name_defaults_and_checks(x):
    y = T.dscalar("y")
    f = native(tg.function([x, tg.In(y, value=10.0)], x * y, name="scale"))
    assert f([1.0]).tolist() == [10.0]
    assert f(x=np.ones(1), y=2).tolist() == [2.0]
    assert f([1.0]).tolist() == [10.0]
    with pytest.raises(TypeError, match=r"bad argument 'x' \(position 0\) of function 'scale'.*1 dimensions"):
        f(np.ones((2, 2)))
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'.*x, y"):
        f([1.0], z=1)
    with pytest.raises(TypeError, match="missing argument 1"):
        f()
    strict = native(tg.function([tg.In(x, strict=True)], x + 1))
    with pytest.raises(TypeError, match="strict"):
        strict([1.0])


def test_updates_are_all_or_nothing(x):
    a, b = tg.shared(np.ones(3), "a"), tg.shared(np.arange(3.0), "b")
    f = native(tg.function([x], (a * x).sum(), updates=[(a, b + x), (b, a)]))
    before = a.get_value()
    assert f(np.ones(3)) == 3.0
    assert a.get_value().tolist() == [1, 2, 3] and b.get_value().tolist() == before.tolist()
    with pytest.raises(ShapeError, match="length"):
        f(np.ones(4))
    assert a.get_value().tolist() == [1, 2, 3] and b.get_value().tolist() == [1, 1, 1]


def test_a_shared_variable_is_shared_between_native_and_machine_functions(x):
    w = tg.shared(np.zeros(2), "w")
    slow = tg.function([x], w + x, updates=[(w, w + x)], mode=tg.Mode(linker="py"))
    fast = native(tg.function([], w, updates=[(w, w * 2)]))
    slow([1.0, 2.0])
    fast()
    assert w.get_value().tolist() == [2.0, 4.0]
    w.set_value([5.0])
    assert slow([1.0]).tolist() == [6.0]


def test_run_time_errors_cite_the_users_line(x):
    m, i = T.dmatrix("m"), T.lscalar("i")
    y = T.dvector("y")
    f = native(tg.function([x, y], T.exp(x) + y))
    with pytest.raises(ShapeError, match=r"(?s)test_native.py.*f = native.*length 3") as caught:
        f([1.0, 2.0], [1.0, 2.0, 3.0])
    assert "declared" not in str(caught.value)
    with pytest.raises(ShapeError, match="T.specify_shape"):
        f([1.0, 2.0], [1.0])
    g = native(tg.function([m, i], m[i] * 2))
    assert g(np.eye(2), -1).tolist() == [0, 2]
    with pytest.raises(IndexError, match=r"(?s)test_native.py.*index 5 is out of bounds for axis 0 with size 2"):
        g(np.eye(2), 5)


def test_copies_and_pickles_are_native_and_compile_nothing(x, monkeypatch):
    w, v = tg.shared(np.ones(2), "w"), tg.shared(np.full(2, 5.0), "v")
    f = native(tg.function([x], (w * x).sum(), updates=[(w, w + 1)]))
    from termgraph.backends.c.build import compiling

    def refuse(*args, **kwargs):
        raise AssertionError("the compiler was called")

    monkeypatch.setattr(compiling, "start_compiler", refuse)
    g = native(f.copy(swap={w: v}))
    assert g([1.0, 1.0]) == 10.0 and f([1.0, 1.0]) == 2.0
    h = native(pickle.loads(pickle.dumps(f)))
    native(f.copy(share_memory=True)).free()
    assert h([1.0, 1.0]) == 4.0 and f([1.0, 1.0]) == 4.0
    assert native(copy.deepcopy(f))([1.0, 1.0]) == 6.0


def test_what_c_cannot_say_runs_between_c_segments(x):
    f = tg.function([x], T.unique(T.exp(x)) * 2)
    assert isinstance(f, MachineFunction)
    assert f([1.0, 0.0]) == pytest.approx([2.0, 2 * np.e])
    assert [i.op.kind for i in f.vm.program.instructions].count("kernel") == 2
    with pytest.raises(NotImplementedError, match=r"(?s)test_native.py.*unique has no C code"):
        tg.function([x], T.unique(x), mode=tg.Mode(linker="c"))


def test_c_names_each_line_that_needs_python_once():
    x = T.dvector("x")
    y = x
    for _ in range(3):
        y = T.unique(y) + 1
    with pytest.raises(NotImplementedError) as told:
        tg.function([x], y, mode=tg.Mode(linker="c"))
    assert str(told.value).count("unique has no C code") == 1


def test_source_shows_the_c_text(x):
    assert "tg_run" in native(tg.function([x], T.tanh(x))).source("c")
    with pytest.raises(ValueError, match="not compiled to 'cuda'"):
        tg.function([x], x + 1).source("cuda")


def test_zero_length_and_zero_dimensional_and_strided(x):
    f = native(tg.function([x], [x * 2, x.sum()]))
    assert f(np.zeros(0))[0].shape == (0,) and f(np.zeros(0))[1] == 0
    assert f(np.arange(6.0)[::-2])[0].tolist() == [10, 6, 2]
    s = T.dscalar()
    assert native(tg.function([s], s * s))(3) == 9.0


def test_many_threads_add_up(x):
    w = tg.shared(np.zeros(1), "w")
    f = native(tg.function([x], None, updates=[(w, w + x)]))

    def work():
        for _ in range(500):
            f(np.ones(1))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert w.get_value()[0] == 2000


def test_without_a_compiler_everything_runs_on_the_machine_with_one_warning(x, monkeypatch):
    from termgraph.backends.c.build import compilers
    from termgraph.compile import choose

    monkeypatch.setattr(compilers, "find_compiler", lambda: None)
    monkeypatch.setattr(compilers, "why_no_compiler", lambda: "none was found")
    monkeypatch.setattr(choose, "_warned", [])
    monkeypatch.delenv("CC", raising=False)
    with pytest.warns(UserWarning, match="no C compiler"):
        f = tg.function([x], x + 1)
    assert isinstance(f, MachineFunction) and f([1.0]).tolist() == [2.0]
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tg.function([x], x + 2)
    with pytest.raises(RuntimeError, match="needs a C compiler: none was found"):
        tg.function([x], x + 1, mode=tg.Mode(linker="c"))


def test_f21_output_subset(x):
    y = T.dscalar("y")
    w = tg.shared(0.0, "w")
    for mode in (tg.Mode(linker="py"), None):
        f = tg.function([x, y], [x * 2, x.sum(), x + y], updates=[(w, w + 1)], mode=mode, name="three")
        total, double = f([1.0, 2.0], y=1.0, output_subset=[1, 0])
        assert total == 3.0 and double.tolist() == [2.0, 4.0]
        keyed = tg.function([x], {"a": x * 2, "b": x + 1}, mode=mode)
        assert list(keyed([1.0], output_subset=["b"])) == ["b"]
        assert tg.function([x], x + 1, mode=mode)([1.0], output_subset=[0])[0].tolist() == [2.0]
        with pytest.raises(KeyError, match="function 'three': no output 5 for output_subset"):
            f([1.0], 1.0, output_subset=[5])
    assert w.get_value() == 4
    native(f)


def test_f27_profile_of_a_native_function_by_kernel(x):
    w = tg.shared(np.ones((3, 4)), "w")
    y = T.tanh(T.dot(x, w))
    f = native(tg.function([x], y.sum(), updates=[(w, w * 0.5)], profile=True, name="timed"))
    for _ in range(3):
        f(np.ones(3))
    profile = f.profile
    assert profile.calls == 3 and profile.seconds > 0 and profile.peak_bytes >= w.get_value().nbytes
    rows = profile.rows()
    assert {row["calls"] for row in rows} == {3} and sum(row["seconds"] for row in rows) <= profile.seconds
    assert any("tanh" in row["expression"] for row in rows) and any(row["bytes"] == 96 for row in rows)
    assert "tanh" in str(profile) and '"calls": 3' in profile.to_json()
    plain = native(tg.function([x], y.sum()))
    assert plain.timers is None and "tg_took" not in plain.source("c")
    g = native(f.copy(profile=True))
    g(np.ones(3))
    assert (g.profile.calls, f.profile.calls) == (1, 3)
    h = native(pickle.loads(pickle.dumps(f)))
    h(np.ones(3))
    assert h.profile.calls == 1


def test_messages_of_native_functions_show_the_operands():
    m, w = T.dmatrix("m"), tg.shared(np.ones((4, 3)), "w")
    f = native(tg.function([m], T.dot(m, w) + T.exp(m).sum()))
    with pytest.raises(ShapeError) as info:
        f(np.ones((2, 3)))
    lines = str(info.value).splitlines()
    assert "test_native.py" in lines[0] and lines[2] == "dot failed: lengths 3 and 4 of the summed dimension differ"
    assert lines[3:5] == ["  operand 0: m, TensorType(float64, (?, ?))", "  operand 1: w, TensorType(float64, (?, ?))"]


def test_f54_updates_stay_in_their_memory_unless_it_was_lent(x):
    w = tg.shared(np.zeros(1000), "w")
    f = native(tg.function([x], updates=[(w, w + x)]))
    one = np.ones(1000)
    f(one)
    address = w.get_value(borrow=True).ctypes.data
    for _ in range(3):
        f(one)
        assert w.get_value(borrow=True).ctypes.data == address
    lent = w.get_value(borrow=True)
    f(one)
    assert lent[0] == 4 and w.get_value()[0] == 5 and w.get_value(borrow=True).ctypes.data != address


def test_f58_only_the_chosen_branch_runs_in_c(x):
    n, i = T.lscalar("n"), T.lscalar("i")
    inner = tg.ifelse(n > 5, T.exp(x).sum() + x[i], x.sum())  # x[i] may be out of bounds
    f = tg.function([n, i, x], tg.ifelse(n > 0, inner * 2, x[0] + x[i + 1]))
    assert f(3, 99, [1.0, 2.0]) == 6.0
    assert f(6, 1, [0.0, 0.0]) == 4.0
    for n_value in (6, 0):
        with pytest.raises(IndexError, match="out of bounds"):
            f(n_value, 99, [1.0, 2.0])
    w = tg.shared(np.ones(2), "w")
    g = tg.function([n, x], [], updates=[(w, tg.ifelse(n > 0, w + x, w))])
    g(1, [1.0, 2.0]), g(0, [5.0, 5.0])
    assert w.get_value().tolist() == [2, 3]


def test_messages_of_kernels_between_other_instructions_name_the_op(x):
    y = T.dvector("y")
    f = tg.function([x, y], T.unique(T.exp(x) * y))
    with pytest.raises(ShapeError) as info:
        f([1.0, 2.0], [1.0, 2.0, 3.0])
    lines = str(info.value).splitlines()
    assert "test_native.py" in lines[0] and lines[2].startswith("mul failed: operand 1 has length 3 in dimension 0")
    assert lines[3].startswith("  operand 0: ") and "shape (2,)" in lines[3]


@pytest.mark.parametrize(
    "cut", [lambda x, k, n: x[: k % -3], lambda x, k, n: x[k % n :], lambda x, k, n: x[: x.shape[0] % n]]
)
def test_slices_that_end_at_a_remainder(cut):
    """A remainder has the sign of the divisor, and counts from the end where it is negative."""
    x, k, n = T.dvector("x"), T.lscalar("k"), T.lscalar("n")
    f = tg.function([x, k, n], cut(x, k, n), on_unused_input="ignore")
    array = np.arange(8.0)
    for a in (-7, -1, 0, 2, 11):
        for b in (-3, -1, 1, 4):
            np.testing.assert_array_equal(f(array, a, b), cut(array, a, b))
