"""In, Out, givens, and what FunctionMaker holds (FEATURES 20-22, 27, 28, 30, 32-34)."""

import ctypes

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler
from termgraph.function.fgraph import FunctionGraph
from termgraph.function.inout import _pfunc_param_to_in, convert_function_input, wrap_out
from termgraph.function.maker import FunctionMaker
from termgraph.terms.errors import UnusedInputError
from termgraph.terms.op import Op
from termgraph.vm.machine import Machine

x, y = T.dscalars("x", "y")
v = T.dvector("v")


def test_f20_1_params_become_in():
    f = tg.function([x, tg.In(y)], x + y)
    assert all(isinstance(i, tg.In) for i in f.maker.inputs)
    assert [i.variable for i in f.maker.inputs] == [x, y]


def test_f20_2_shared_become_in_with_their_container():
    read, written = tg.shared(1.0, "read"), tg.shared(2.0, "written")
    f = tg.function([x], x + read, updates=[(written, written * x)])
    by_name = {i.name: i for i in f.maker.inputs}
    assert by_name["read"].shared and by_name["written"].shared and not by_name["x"].shared
    assert by_name["read"].value is read.container and not by_name["read"].mutable
    assert by_name["written"].mutable and by_name["written"].update is not None
    assert by_name["read"].borrow and by_name["read"].implicit


@pytest.mark.machine("compiled functions count arguments in C and say it in other words")
def test_f20_3_default_makes_the_argument_optional():
    f = tg.function([x, tg.In(y, value=10.0)], x + y)
    assert f(1) == 11 and f(1, 2) == 3 and f(1) == 11 and f(x=1, y=5) == 6
    with pytest.raises(TypeError, match="input x"):
        f()


def test_f20_4_forms():
    assert convert_function_input(x).variable is x
    assert convert_function_input((x, 3)).value == 3
    one = tg.In(x)
    assert convert_function_input(one) is one
    assert tg.function([(x, 2.0)], x)() == 2
    for wrong in ("x", 3, ("x", 3), (x, 1, 2), (x, y)):
        with pytest.raises(TypeError):
            convert_function_input(wrong)


def test_f20_fields():
    full = tg.In(x, name="n", value=1, mutable=False, borrow=True, strict=True, allow_downcast=False, autoname=False)
    assert (full.name, full.mutable, full.borrow, full.strict, full.allow_downcast) == ("n", False, True, True, False)
    assert tg.In(x).name == "x" and tg.In(x, autoname=False).name is None
    assert tg.function([full], x)(n=np.array(2.0)) == 2
    with pytest.raises(TypeError, match="strict"):
        tg.function([full], x)(2.0)
    with pytest.raises(ValueError, match="borrow"):
        tg.In(x, mutable=True, borrow=False)
    with pytest.raises(TypeError, match=r"In\(x, value\)"):
        tg.In(x, value=[1, 2])
    with pytest.raises(TypeError, match="needs value="):
        tg.In(x, update=x + 1)
    with pytest.raises(TypeError, match="update of variable 'x'"):
        tg.In(x, value=1.0, update=v)


def test_f20_update_of_an_input_is_state_of_the_function():
    counter = tg.In(x, value=0.0, update=x + y)
    f, g = tg.function([counter, y], x), tg.function([counter, y], x)
    assert [float(f(y=2)) for _ in range(3)] == [0, 2, 4]
    assert g(y=1) == 0
    assert f(100, 1) == 100 and f(y=1) == 101


def test_f32_defaults_are_restored_and_kept_apart():
    start = np.zeros(2)
    f = tg.function([tg.In(v, value=start)], v + 1)
    assert np.array_equal(f(), [1, 1])
    assert np.array_equal(f([5.0, 5.0]), [6, 6])
    assert np.array_equal(f(), [1, 1])
    required, refeed, default = f.defaults[0]
    assert (required, refeed) == (False, True) and np.array_equal(default, [0, 0])


def test_f32_create_with_other_storage():
    maker = tg.function([tg.In(x, value=1.0)], x * 2).maker
    assert maker.create([5.0])() == 10 and maker.create()() == 2
    with pytest.raises(ValueError, match="input_storage"):
        maker.create([])


def test_f21_out():
    assert wrap_out(x).borrow is False and wrap_out(tg.Out(x, borrow=True)).borrow
    assert wrap_out(3).variable.data == 3
    with pytest.raises(TypeError, match="Out"):
        tg.Out(3)


def test_f30_borrow():
    a = np.ones(3)
    f = tg.function([v], [tg.Out(v, borrow=True), v], mode=tg.Mode(linker="py", allow_gc=False))
    borrowed, own = f(a)
    assert np.shares_memory(borrowed, a) and not np.shares_memory(own, a)
    g = tg.function([v], v * 2, mode=tg.Mode(linker="py", allow_gc=False))
    assert not np.shares_memory(g(a), g(a))


def test_f22_givens_replace():
    assert tg.function([y], x + 1, givens={x: y * 2})(3) == 7
    assert tg.function([y], x + 1, givens=[(x, y)])(3) == 4
    assert tg.function([], x + y, givens={x: 1.0, y: np.array(2.0)})() == 3
    total = x + y
    assert tg.function([], total * 2, givens={total: 5.0})() == 10


def test_f22_givens_of_shared_variables():
    """As in Theano: what replaces a shared variable may mention it, and updates see the replacement too."""
    for mode in ("FAST_RUN", None, tg.Mode("py")):
        a, b, c = (tg.shared(value, name) for value, name in ((5.0, "a"), (5.0, "b"), (2.0, "c")))
        assert tg.function([], a, givens={a: a + 10}, mode=mode)() == 15
        assert tg.function([], a * 2, givens={a: a + 10}, updates=[(a, a + 1)], mode=mode)() == 30
        assert a.get_value() == 16
        assert tg.function([], c * 3, givens={c: b}, updates=[(c, c + 3)], mode=mode)() == 15
        assert c.get_value() == 8 and b.get_value() == 5
        f = tg.function([], [b - c], givens={b: c, c: b}, updates=[(b, c)], mode=mode)  # swapped
        assert f() == [3.0] and b.get_value() == 5.0


def test_a_gradient_that_came_out_constant_uses_its_inputs():
    """As in Theano, where the graph of a gradient keeps what it was made from."""
    v, n = T.dvector("v"), T.dscalar("n")
    assert tg.function([x], tg.grad(3 * x, x))(1.0) == 3
    assert tg.function([x, y], tg.grad(x * y, x) * 2)(1.0, 5.0) == 10
    assert tg.function([v], 2 * tg.grad(v.sum(), v))([1.0, 2.0]).tolist() == [2.0, 2.0]
    assert tg.function([v, n], tg.hessian((v * v).sum() * n, v), on_unused_input="ignore")([1.0], 2.0) == [[4.0]]
    with pytest.raises(UnusedInputError):
        tg.function([x, y], tg.grad(3 * x, x))


def test_f22_givens_are_simultaneous():
    f = tg.function([x, y], [x - y], givens={})
    swapped = tg.function([T.dscalar("a")], x + y, givens={x: 1.0, y: 2.0}, on_unused_input="ignore")
    assert f(1, 2)[0] == -1 and swapped(0) == 3


def test_f22_shared_by_a_variable_and_back():
    w, data = tg.shared(np.arange(4.0), "w"), tg.shared(np.ones(4), "data")
    assert tg.function([v], w.sum(), givens={w: v})([1.0, 2.0]) == 3
    f = tg.function([], (v * w).sum(), givens={v: data})
    assert f() == 6
    data.set_value(np.full(4, 2.0))
    assert f() == 12


def test_f22_types():
    z = T.fscalar("z")
    doubled = x + x
    with pytest.raises(TypeError, match="givens: variable 'x' has type .*float64.* type .*float32"):
        tg.function([z], doubled, givens={x: z})
    assert tg.function([z], doubled, givens={x: z}, rebuild_strict=False)(np.float32(3)).dtype == "float32"
    with pytest.raises(RuntimeError, match="is an input of the function"):
        tg.function([x], doubled, givens={x: y})
    with pytest.raises(TypeError, match="can only replace"):
        tg.function([y], doubled, givens={3: y})
    with pytest.raises(ValueError, match="replaced twice"):
        tg.function([y], doubled, givens=[(x, y), (x, y)])


def test_f22_rebuild_collect_shared():
    w = tg.shared(1.0, "w")
    ins, outs, rest = tg.rebuild_collect_shared(x + w, [y], replace={x: y}, updates=[(w, w + x)])
    replaced, updates, new_values, shared = rest
    assert shared == [w] and list(updates) == [w] and ins == [y] and replaced == {x: y}
    assert tg.function([y], outs)(2) == 3
    assert tg.function([y], new_values)(2) == [3]
    none, out, _ = tg.rebuild_collect_shared(tg.Out(x, borrow=True), [x])
    assert none == [x] and out.borrow and out.variable is x


@pytest.mark.parametrize("changes", [True, False])
def test_f22_the_listing_of_how_a_function_is_generated(changes):
    """`pfunc` as the article about Theano's core writes it down, from the helpers that it names."""
    w, k = tg.shared(2.0, "w"), tg.shared(10.0, "k")

    def pfunc(params, outputs, updates):
        inputs = [_pfunc_param_to_in(p, allow_downcast=None) for p in params]
        output_vars = tg.rebuild_collect_shared(
            outputs, [i.variable for i in inputs], replace={}, updates=updates, rebuild_strict=True,
            copy_inputs_over=True, no_default_updates=False,
        )  # fmt: skip
        input_variables, cloned_outputs, other_stuff = output_vars
        clone_d, update_d, update_expr, shared_inputs = other_stuff
        for i, iv in zip(inputs, input_variables):
            i.variable = iv
        for sv in shared_inputs:
            if sv in update_d:
                si = tg.In(variable=sv, value=sv.container, mutable=True, borrow=True, update=update_d[sv], shared=True)
            else:
                si = tg.In(variable=sv, value=sv.container, mutable=False, borrow=True, shared=True)
            inputs.append(si)
        return tg.FunctionMaker(inputs, [tg.Out(o) for o in cloned_outputs]).create()

    f = pfunc([x, (y, 1.0)], [x * w + k * y], [(w, w + x)] if changes else [])
    assert f(3.0) == [16.0] and w.get_value() == (5.0 if changes else 2.0)
    k.set_value(0.0)
    assert f(1.0) == [5.0 if changes else 2.0]


def test_f27_accept_inplace_and_name():
    bump = Op("test_bump", arity=1, infer=lambda a: a, meaning=lambda a: np.add(a, 1, out=a), destroy_map={0: [0]})
    with pytest.raises(TypeError, match="accept_inplace=True"):
        tg.function([v], bump(v * 2))
    assert np.array_equal(tg.function([v], bump(v * 2), accept_inplace=True)([1.0]), [3.0])
    f = tg.function([x], x, name="same")
    assert f.name == "same" and "'same'" in repr(f)
    with pytest.raises(TypeError, match="name"):
        tg.function([x], x, name=3)


@pytest.mark.machine("one row per operation; compiled code has one per kernel")
def test_f27_profile(capsys):
    f = tg.function([v], T.exp(v) + v, profile=True, name="prof")
    f(np.ones(100))
    f.profile.summary()
    text = capsys.readouterr().out
    assert "Profile of prof" in text and "1 calls" in text and "exp" in text
    assert f.profile.calls == 1 and f.profile.peak_bytes >= 800
    assert {"capture", "place"} <= f.profile.stages.keys()
    rows = f.profile.rows()
    assert sum(r["calls"] for r in rows) == 2 and {r["op"] for r in rows} == {"exp", "add"}
    assert tg.function([v], v + v).profile.rows() == []


@pytest.mark.machine("a warm start of compiled code has no stages")
def test_f28_given_graph_skips_rewriting():
    f = tg.function([x], x * 2 + 1)
    graph = f.maker.fgraph
    again = FunctionMaker([tg.In(x)], [tg.Out(x)], fgraph=graph)
    assert "canonicalize" not in again.profile.stages and "canonicalize" in f.profile.stages
    assert again.create()(3)[0] == 7
    with pytest.raises(ValueError, match="fgraph has 1 inputs"):
        FunctionMaker([tg.In(x), tg.In(y)], [tg.Out(x)], fgraph=graph)


def test_f28_output_keys_and_indices():
    with pytest.raises(ValueError, match="output_keys"):
        tg.function([x], [x], output_keys=["a", "b"])
    f = tg.function([x, y], x + y)
    assert [i[2] for i in f.maker.indices] == [[0], [1]] == [i[2] for i in f.indices]


def test_f33_thunk():
    run, inputs, outputs = tg.function([x, y], [x + y, x]).maker.linker.make_thunk()
    inputs[0].value, inputs[1].value = 1.0, 2.0
    assert run() is None
    assert [float(c.value) for c in outputs] == [3.0, 1.0]
    with pytest.raises(TypeError):
        inputs[0].value = [1.0]


def test_f33_trace_limit_restored_on_error(monkeypatch):
    limit = tg.config.traceback.limit
    monkeypatch.setattr("termgraph.backends.cuda.run.device.why_not", lambda: "there is no GPU")
    with pytest.raises(RuntimeError, match="there is no GPU"):
        tg.function([x], x, mode=tg.Mode(linker="cuda"))
    assert tg.config.traceback.limit == limit


def test_f34_function_object_and_check_before_run():
    ran = []
    spy = Op("test_spy", arity=1, infer=lambda a: a, meaning=lambda a: ran.append(1) or a)
    f = tg.function([v, x], spy(v) * x)
    with pytest.raises(TypeError, match="argument 'x'"):
        f([1.0], [1.0, 2.0])
    assert ran == []
    assert isinstance(f, tg.Function) and isinstance(f.vm, Machine) and isinstance(f.maker.fgraph, FunctionGraph)
    assert len(f.input_storage) == 2 and "spy" in f.source()
    with pytest.raises(ValueError, match="cuda"):
        f.source("cuda")


@pytest.mark.machine("compiled code always checks the number of dimensions")
def test_trust_input_skips_checks():
    f = tg.function([v], v + 1)
    f.trust_input = True
    assert np.array_equal(f(np.ones(2)), [2, 2])
    assert f(np.ones((2, 2))).shape == (2, 2)


def test_mode_text():
    m = tg.Mode(optimizer="fast_run", linker="py").including("a", "b:c").excluding("a", "inplace").requiring("d")
    assert m.tags == ("+fast_run", "+b", "+c", "-a", "-inplace", "&d")
    assert m.excluding("b") != m and hash(m) == hash(m.clone())
    assert tg.Mode(optimizer=None, linker="py").rewrites
    assert not tg.get_mode("None").rewrites and tg.get_mode("-inplace").exclude == ("inplace",)


def test_f29_mode():
    m = tg.Mode(linker="py", optimizer="fast_compile")
    assert tg.function([x], x + 1, mode=m)(1) == 2
    for wrong in ("FAST_RUM", "", 3):
        with pytest.raises((ValueError, TypeError), match="mode"):
            tg.function([x], x, mode=wrong)
    with pytest.raises(ValueError, match="linker"):
        tg.Mode(linker="pyx")
    with pytest.raises(ValueError, match="optimizer"):
        tg.Mode(optimizer="fastest")


def test_f52_flags_choose_the_rules():
    with tg.config.change_flags(optimizer_including="unsafe", optimizer_excluding="inplace:fusion"):
        assert tg.get_mode().tags == ("+fast_run", "+unsafe", "-inplace", "-fusion")
        assert tg.get_mode("FAST_COMPILE").tags == ("+fast_compile", "+unsafe", "-inplace", "-fusion")
    with tg.config.change_flags(mode="FAST_COMPILE"):
        assert tg.get_mode().base == "fast_compile"
    with tg.config.change_flags(optimizer="None", linker="py"):
        assert not tg.get_mode().rewrites
    assert tg.get_mode("UNSAFE").tags == ("+fast_run", "+unsafe")
    assert tg.get_mode("STRICT").strict


def odd_arrays(dtype):
    """Arrays whose elements do not lie at multiples of their size."""
    values = np.arange(12).reshape(3, 4).astype(dtype)
    record = np.zeros((3, 4), [("a", dtype), ("b", "u1")])
    record["a"] = values
    padded = np.zeros(
        (3, 4), [("a", dtype), ("b", "f8" if dtype == "complex128" else "u2" if dtype == "float32" else "f4")]
    )
    padded["a"] = values
    shifted = np.zeros(values.nbytes + 1, "u1")[1:].view(dtype).reshape(3, 4)
    shifted[...] = values
    return values, [record["a"], padded["a"], shifted, shifted.T.copy().T]


@pytest.mark.parametrize("linker", ["auto", "py"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128", "int16"])
def test_arrays_at_odd_places(dtype, linker):
    x = T.matrix("x", dtype=dtype)
    f = tg.function([x], x * 2 + 1, mode=tg.Mode(linker=linker))
    values, odd = odd_arrays(dtype)
    for given in odd:
        np.testing.assert_array_equal(f(given), values * 2 + 1)
        np.testing.assert_array_equal(f(given.T), values.T * 2 + 1)
        held = tg.shared(given, borrow=True)
        g = tg.function([], held + 1, mode=tg.Mode(linker=linker))
        np.testing.assert_array_equal(g(), values + 1)
        held.set_value(given.T, borrow=True)
        np.testing.assert_array_equal(g(), values.T + 1)


def test_arrays_whose_dtype_is_written_with_its_byte_order_are_taken():
    """NumPy makes such a dtype for an array over memory of ctypes: equal to float64, but another object."""
    numbers = np.ctypeslib.as_array((ctypes.c_double * 4)(0, 1, 2, 3))
    assert numbers.dtype == "float64" and numbers.dtype.byteorder == "<"
    x = T.dvector()
    assert tg.function([x], x.sum())(numbers) == 6
    w = tg.shared(numbers, borrow=True)
    f = tg.function([], w.sum(), updates=[(w, w + 1)])
    assert (f(), f()) == (6, 10)
    w.set_value(numbers, borrow=True)
    f()


@pytest.mark.parametrize("allow_downcast", [None, False])
@pytest.mark.parametrize(
    "make, value, fits",
    [
        (T.fvector, [0.5, 1], True), (T.fvector, (1.5,), True), (T.fvector, [0.1], False), (T.fvector, [np.nan], True),
        (T.fvector, [1e300], False), (T.fvector, [16777217.0], False), (T.bvector, [3], True),
        (T.bvector, [300], False), (T.lvector, [3.0], True), (T.lvector, [3.5], False),
        (T.lvector, [np.inf], False), (T.lscalar, 2.0, True),
        (T.lscalar, 2.5, False), (T.bscalar, np.int64(3), True), (T.bscalar, np.int64(300), False),
        (T.fscalar, np.float64(0.5), True), (T.fscalar, np.float64(0.1), False), (T.dvector, [1j], False),
        (T.fvector, np.array([0.5]), False), (T.ivector, np.array([3]), False), (T.fmatrix, [[0.25], [1]], True),
    ],
)  # fmt: skip
def test_numbers_and_lists_that_lose_nothing_are_taken(make, value, fits, allow_downcast):
    """Of an array the dtype decides, as in Theano; `[0.5]` was said to lose precision in float32."""
    u = make("u")
    for linker in ("c", "py") if find_compiler() else ("py",):
        f = tg.function([tg.In(u, allow_downcast=allow_downcast)], u + 0, mode=tg.Mode(linker=linker))
        if fits:
            np.testing.assert_array_equal(f(value), np.asarray(value, u.dtype), strict=True)
        else:
            with pytest.raises(TypeError, match="without losing precision"):
                f(value)
