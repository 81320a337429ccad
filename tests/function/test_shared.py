"""Shared variables and updates (FEATURES 23, 24, 31, 53, 54), all-or-nothing, threads."""

import gc
import sys
import threading

import numpy as np
import pytest
import scipy.sparse as sps

import termgraph as tg
import termgraph.tensor as T
from termgraph.terms.op import Op
from termgraph.terms.ops.elementwise import add

x = T.dscalar("x")
v = T.dvector("v")


def address(shared):
    return shared.get_value(borrow=True).ctypes.data


def test_f53_types_by_value():
    assert tg.shared(1.5).type == T.dscalar and tg.shared(1).type == T.lscalar
    assert tg.shared(np.ones((2, 1), "float32")).type == T.fmatrix
    assert tg.shared([1, 2]).type == T.lvector and tg.shared(True).type.dtype == "bool"
    assert tg.shared(np.ones((2, 1)), broadcastable=(False, True)).type == T.dcol
    assert tg.shared(np.ones((2, 3)), shape=(None, 3)).type.shape == (None, 3)
    assert tg.shared({"any": 1}).get_value() == {"any": 1}
    with pytest.raises(TypeError, match="symbolic variable"):
        tg.shared(x)
    with pytest.raises(TypeError, match="no shared variable can hold"):
        tg.shared(np.array(["a"]))
    with pytest.raises(TypeError, match="name must be a string"):
        tg.shared(1.0, 3)


def test_f53_constructor_registry():
    from termgraph.tensor.sharedvar import CONSTRUCTORS, shared_constructor, shared_of_type

    class Money:
        pass

    @shared_constructor
    def money(value, name, strict, allow_downcast, borrow, **more):
        if not isinstance(value, Money):
            raise TypeError("not money")
        return shared_of_type(T.dscalar, 3.0, name)

    try:
        assert tg.shared(Money(), name="m").get_value() == 3
    finally:
        CONSTRUCTORS.remove(money)


def test_f53_get_and_set():
    start = np.zeros(2)
    w = tg.shared(start, "w")
    start[0] = 9
    assert np.array_equal(w.get_value(), [0, 0])
    w.get_value()[0] = 9
    assert np.array_equal(w.get_value(), [0, 0])
    w.get_value(borrow=True)[0] = 9
    assert np.array_equal(w.get_value(), [9, 0])
    new = np.ones(5)
    w.set_value(new)  # another shape
    new[0] = 7
    assert np.array_equal(w.get_value(), np.ones(5))
    w.set_value(new, borrow=True)
    assert w.get_value(borrow=True) is new
    with pytest.raises(TypeError, match="w: expected 1 dimensions"):
        w.set_value(np.ones((2, 2)))
    assert w.get_value(borrow=True) is new
    borrowed = np.ones(2)
    assert tg.shared(borrowed, borrow=True).get_value(borrow=True) is borrowed


def test_f53_strict_and_downcast():
    with pytest.raises(TypeError, match="strict"):
        tg.shared(np.float32(1), strict=True).set_value(2)
    with pytest.raises(TypeError):
        tg.shared(np.ones(2, "float32")).set_value(np.ones(2))
    loose = tg.shared(np.ones(2, "float32"), allow_downcast=True)
    loose.set_value(np.full(2, 0.1))
    assert loose.get_value().dtype == "float32"
    fixed = tg.shared(np.ones(3), shape=(3,))
    with pytest.raises(TypeError, match="length 3"):
        fixed.set_value(np.ones(2))


def test_f53_shared_between_functions_and_implicit():
    w = tg.shared(0.0, "w")
    bump = tg.function([x], None, updates={w: w + x})
    read = tg.function([], w * 1)
    bump(2), bump(3)
    assert read() == 5
    w.set_value(10)
    assert read() == 10 and bump.get_shared() == [w]
    with pytest.raises(TypeError, match="cannot be an input"):
        tg.function([w], w)


def test_f53_found_through_terms_alone():
    y = x * tg.shared(3.0)
    handle = T.as_tensor(y.term)
    del y
    gc.collect()
    assert tg.function([x], handle)(2) == 6


def test_f23_update_after_outputs():
    w = tg.shared(1.0, "w")
    f = tg.function([x], [w, w + x], updates=[(w, w * x)])
    assert [float(r) for r in f(5)] == [1, 6] and w.get_value() == 5


def test_f23_updates_see_the_old_values():
    a, b = tg.shared(1.0, "a"), tg.shared(2.0, "b")
    swap = tg.function([], updates={a: b, b: a})
    assert swap() is None
    assert (a.get_value(), b.get_value()) == (2, 1)
    both = tg.function([], updates=[(a, a + b), (b, a - b)])
    both()
    assert (a.get_value(), b.get_value()) == (3, 1)
    va, vb = tg.shared(np.array([1.0, 2.0])), tg.shared(np.array([10.0, 20.0]))
    cross = tg.function([], updates=[(va, va + vb), (vb, va - vb)])
    cross()
    assert np.array_equal(va.get_value(), [11, 22]) and np.array_equal(vb.get_value(), [-9, -18])
    same = tg.function([v], updates=[(va, v), (vb, v)])
    same([1.0])
    assert not np.shares_memory(va.get_value(borrow=True), vb.get_value(borrow=True))


def test_f23_update_does_not_keep_the_argument():
    w = tg.shared(np.zeros(2))
    a = np.ones(2)
    tg.function([v], updates=[(w, v)])(a)
    a[0] = 5
    assert np.array_equal(w.get_value(), [1, 1])


def test_f23_refused_updates():
    w = tg.shared(1.0, "w")
    n = tg.shared(np.ones(2, "int64"), "n")
    with pytest.raises(TypeError, match="update of shared variable 'w' must have its type .* reduce or reshape"):
        tg.function([v], updates=[(w, v)])
    with pytest.raises(TypeError, match="convert it: T.cast"):
        tg.function([], updates=[(n, n * 0.5)])
    with pytest.raises(TypeError, match="only shared variables"):
        tg.function([x], updates=[(x, x)])
    with pytest.raises(ValueError, match="'w' is updated twice"):
        tg.function([], updates=[(w, w + 1), (w, w + 2)])
    with pytest.raises(TypeError, match="pairs"):
        tg.function([], updates=[w])
    with pytest.raises(TypeError, match="updates must be"):
        tg.function([], updates=3)
    assert w.get_value() == 1


def test_f23_number_as_update():
    w = tg.shared(1.0)
    tg.function([], updates=[(w, 3)])()
    assert w.get_value() == 3


def test_f24_default_update():
    w = tg.shared(0, "w")
    w.default_update = w + 1
    f = tg.function([], w)
    assert [int(f()) for _ in range(3)] == [0, 1, 2]
    silent = tg.function([], w, no_default_updates=True)
    silent()
    listed = tg.function([], w, no_default_updates=[w])
    listed()
    assert w.get_value() == 3
    tg.function([], w, updates=[(w, w + 10)])()
    assert w.get_value() == 13
    with pytest.raises(TypeError, match="update of shared variable 'w'"):
        w.default_update = v
    with pytest.raises(TypeError, match="no_default_updates"):
        tg.function([], w, no_default_updates="w")


def test_f24_default_update_that_needs_another():
    a, b = tg.shared(1.0), tg.shared(0.0)
    b.default_update = b + 1
    a.default_update = a + b
    f = tg.function([], a)
    f(), f(), f()
    assert a.get_value() == 4 and b.get_value() == 3


def test_f24_not_applied_where_the_variable_was_replaced():
    w = tg.shared(0.0)
    w.default_update = w + 1
    tg.function([x], w * 2, givens={w: x})(1)
    assert w.get_value() == 0


@pytest.mark.machine("in C only where both lengths are known to be the same")
def test_f31_f54_update_in_place_keeps_the_address():
    w = tg.shared(np.ones(1000), "w")
    grad = T.dvector("grad")
    f = tg.function([grad], w.sum(), updates=[(w, w - 0.5 * grad)])
    where = address(w)
    for _ in range(3):
        f(np.ones(1000))
    assert address(w) == where and w.get_value()[0] == -0.5


def test_f54_borrowed_values_are_left_alone():
    w = tg.shared(np.ones(10), "w")
    f = tg.function([], updates=[(w, w + 1)])
    mine = w.get_value(borrow=True)
    view = mine[2:4]
    f()
    assert mine[0] == 1 and w.get_value()[0] == 2
    del mine
    f()
    assert np.array_equal(view, [1, 1])
    users = np.ones(10)
    w.set_value(users, borrow=True)
    f()
    assert users[0] == 1


def test_f54_outputs_and_other_updates_see_the_old_value():
    a, b = tg.shared(np.ones(4), "a"), tg.shared(np.zeros(4), "b")
    f = tg.function([], [a, a[1:]], updates=[(a, a + 1), (b, a)])
    for k in range(3):
        whole, part = f()
        assert (whole[0], part[0], b.get_value()[0], a.get_value()[0]) == (k + 1, k + 1, k + 1, k + 2)


@pytest.mark.machine("about what the machine puts off")
def test_f54_excluded_by_the_mode():
    w = tg.shared(np.ones(10))
    f = tg.function([], updates=[(w, w + 1)], mode="-inplace")
    f()
    assert f._deferred == [] and w.get_value()[0] == 2


def test_f54_update_that_changes_the_shape():
    w = tg.shared(np.ones(3))
    grow = tg.function([v], updates=[(w, v + v)])
    grow(np.ones(5))
    assert w.get_value().shape == (5,)


def test_static_shape_of_the_variable_is_kept():
    w = tg.shared(np.ones(3), name="w", shape=(3,))
    u = tg.shared(0.0)
    f = tg.function([v], updates=[(u, u + 1), (w, v * 2)])
    with pytest.raises(TypeError, match=r"update of shared variable 'w'[\s\S]*nothing was changed"):
        f(np.ones(4))
    assert u.get_value() == 0 and w.get_value()[0] == 1


class Bomb:
    """Fails at the n-th call of any of the ops made with it."""

    def __init__(self):
        self.at, self.count = None, 0

    def op(self, name):
        def meaning(a):
            self.count += 1
            if self.count == self.at:
                raise MemoryError("bomb")
            return a

        return Op(name, arity=1, infer=lambda a: a, meaning=meaning)


def test_all_or_nothing_failing_at_each_instruction():
    bomb = Bomb()
    tick = bomb.op("test_tick")
    a, b = tg.shared(np.ones(3), "a"), tg.shared(np.full(3, 2.0), "b")
    f = tg.function([v], [tick(a + v)], updates=[(a, tick(a * v) + a), (b, tick(b + tick(v)) * a)])
    n = 4
    for at in range(1, n + 1):
        bomb.at, bomb.count = at, 0
        with pytest.raises(MemoryError, match="bomb"):
            f(np.ones(3))
        assert np.array_equal(a.get_value(), np.ones(3)) and np.array_equal(b.get_value(), np.full(3, 2.0))
    bomb.at = None
    f(np.ones(3))
    assert a.get_value()[0] == 2 and b.get_value()[0] == 3


@pytest.mark.machine("the machine's last step; test_c_failures has that of compiled code")
def test_all_or_nothing_when_the_last_step_of_an_update_fails():
    a, b = tg.shared(np.ones(3), "a"), tg.shared(np.ones(3), "b")
    f = tg.function([v], updates=[(a, a + 1), (b, b + v)])
    with pytest.raises(ValueError, match="do not broadcast"):
        f(np.ones(4))
    assert a.get_value()[0] == 1 and b.get_value()[0] == 1
    with pytest.raises(TypeError):
        f(np.ones((2, 2)))
    assert a.get_value()[0] == 1


def test_many_threads_one_counter():
    w = tg.shared(np.zeros(3))
    f = tg.function([], updates=[(w, w + 1)])
    g = tg.function([], w.sum(), updates=[(w, w - 1)])
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=lambda h=h: [h() for _ in range(200)]) for h in (f, f, f, g)]
        [t.start() for t in threads]
        [t.join() for t in threads]
    finally:
        sys.setswitchinterval(interval)
    assert np.array_equal(w.get_value(), [400, 400, 400])


def test_many_threads_opposite_order_of_variables():
    a, b = tg.shared(0.0), tg.shared(0.0)
    f = tg.function([], b * 1, updates=[(a, a + b + 1)])
    g = tg.function([], a * 1, updates=[(b, b + a + 1)])
    threads = [threading.Thread(target=lambda h=h: [h() for _ in range(100)]) for h in (f, g, f, g)]
    [t.start() for t in threads]
    [t.join(timeout=30) for t in threads]
    assert not any(t.is_alive() for t in threads)


def test_threads_see_whole_values_only():
    w = tg.shared(np.zeros(1000))
    step = tg.function([], updates=[(w, w + 1)])
    read = tg.function([], w * 1)
    torn = []

    def look():
        for _ in range(100):
            value = read()
            if value.min() != value.max():
                torn.append(value)

    threads = [threading.Thread(target=look) for _ in range(2)]
    [t.start() for t in threads]
    for _ in range(200):
        step()
    [t.join() for t in threads]
    assert torn == []


@pytest.mark.machine("about the machine's storage")
def test_f59_allow_gc_flag():
    f = tg.function([v], T.exp(v) * v, mode=tg.Mode(linker="py", allow_gc=False))
    f([1.0])
    assert any(s is not None for s in f.vm.storage)
    f.free()
    assert f.vm.storage == []
    with tg.config.change_flags(allow_gc=False):
        g = tg.function([v], v + v)
    assert not g.vm.allow_gc and tg.function([v], v + v).vm.allow_gc


def test_memory_of_a_call_is_bounded_by_gc():
    import tracemalloc

    y = v
    for _ in range(20):
        y = add(y, 1.0)

    def peak(mode):
        f = tg.function([v], y, mode=mode)
        tracemalloc.start()
        f(np.ones(100_000))
        return (tracemalloc.get_traced_memory()[1], tracemalloc.stop())[0]

    kept = peak(tg.Mode(linker="py", optimizer="None", allow_gc=False))
    assert peak(tg.Mode(linker="py", optimizer="None", allow_gc=True)) < kept / 4


@pytest.mark.parametrize("value", [1.0, np.zeros(3), [1, 2], {"a": 1}, sps.csr_matrix(np.eye(2))], ids=repr)
def test_shared_variables_of_all_types_are_of_one_class(value):
    v = tg.shared(value)
    assert isinstance(v, tg.SharedVariable) and isinstance(v, T.SharedVariable) and isinstance(v, tg.Variable)
    assert isinstance(v, T.TensorVariable) == isinstance(v, T.TensorSharedVariable)
    assert not isinstance(T.dvector("x"), tg.SharedVariable)


def test_members_of_functions():
    x, w = T.dscalar("x"), tg.shared(2.0, name="w")
    f = tg.function([x], [x * w, x])
    assert [i.name for i in f.inputs] == ["x", "w"] and f.inputs == f.maker.inputs
    assert [o.variable.dtype for o in f.outputs] == ["float64", "float64"]


def test_what_set_value_refuses_says_what_to_change():
    w = tg.shared(np.zeros((2, 3), "float32"), name="w")
    with pytest.raises(TypeError, match=r"w: cannot store .* or pass allow_downcast=True where it is made"):
        w.set_value(np.zeros((2, 3)))
    with pytest.raises(TypeError, match=r"w: expected 2 dimensions .* got 1 \(shape \(3,\)\)"):
        w.set_value(np.zeros(3, "float32"))
    loose = tg.shared(np.zeros(2, "float32"), allow_downcast=True)
    loose.set_value(np.ones(2))
    assert loose.get_value().dtype == "float32"
