"""Calling compiled programs: arguments, results, errors. Every test runs through the C glue and through ctypes."""

import gc
import pickle
import sys
import weakref

import numpy as np
import pytest

from termgraph.backends.c.run import glue
from termgraph.backends.c.signature import CellInput, Input, Output, Signature, Update

# -- arguments ------------------------------------------------------------------------------


@pytest.fixture
def add_one(programs):
    return programs.add_one()


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int32", "int8", "uint64", "complex128"])
@pytest.mark.parametrize("ndim", [0, 1])
def test_x_plus_one(programs, dtype, ndim):
    f = programs.add_one(dtype, ndim)
    x = np.array([1, 2, 3], dtype)[1 if ndim == 0 else slice(None)]
    x = np.array(x)
    result = f(x)
    assert type(result) is np.ndarray and result.dtype == dtype and result.ndim == ndim
    np.testing.assert_array_equal(result, x + np.array(1, dtype))


def test_arrays_of_any_layout(add_one):
    base = np.arange(24.0)
    record = np.zeros(5, [("a", "i4"), ("b", "f8")])  # stride 12 is no multiple of 8
    record["b"] = range(5)
    packed = np.zeros(41, np.uint8)[1:].view("f8")  # not aligned
    packed[:] = range(5)
    cases = [base[::2], base[::-1], base[3:3], np.broadcast_to(np.float64(7), 4), record["b"], packed]
    cases += [base.astype(">f8"), pickle.loads(pickle.dumps(base)), np.asfortranarray(base), np.empty(0)]
    for x in cases:
        np.testing.assert_array_equal(add_one(x), x + 1)


def test_read_only_arguments_and_subclasses(add_one):
    x = np.arange(3.0)
    x.flags.writeable = False
    np.testing.assert_array_equal(add_one(x), [1, 2, 3])
    masked = np.ma.masked_array([1.0, 2.0], [True, False])
    assert type(add_one(masked)) is np.ndarray


def test_what_does_not_fit_goes_to_the_filter(programs, kernels):
    seen = []

    def filter(i, value):
        seen.append((i, value))
        return np.asarray(value, np.float64)

    text = kernels.VECTOR_ADD_ONE.replace("TYPE", "double")
    signature = Signature([Input("x", "float64", (None,))], outputs=[Output("float64", 1)], returns="one")
    f = programs.bind(text, signature, filter=filter)
    assert list(f([1, 2])) == [2, 3] and list(f(np.array([1, 2]))) == [2, 3]
    assert [i for i, _ in seen] == [0, 0]
    f(np.zeros(3))
    assert len(seen) == 2


@pytest.mark.parametrize("bad", [None, [1.0], np.zeros((2, 2)), np.zeros(2, "f4"), np.zeros(2).astype(">f8")])
def test_a_filter_that_returns_something_wrong_is_caught(programs, kernels, bad):
    signature = Signature([Input("x", "float64", (None,))], outputs=[Output("float64", 1)], returns="one")
    text = kernels.VECTOR_ADD_ONE.replace("TYPE", "double")
    f = programs.bind(text, signature, filter=lambda i, value: bad)
    with pytest.raises(TypeError, match="filter of argument 'x'"):
        f("anything")


def test_messages_for_arguments_that_cannot_be_converted(add_one):
    with pytest.raises(TypeError, match=r"argument 1 \(x\) has dtype complex128, expected float64"):
        add_one(np.zeros(2, complex))
    with pytest.raises(TypeError, match="2 dimensions, expected 1"):
        add_one(np.zeros((2, 2)))


def test_static_lengths_are_checked(programs, kernels):
    signature = Signature([Input("x", "float64", (3,))], outputs=[Output("float64", 1)], returns="one")
    f = programs.bind(kernels.VECTOR_ADD_ONE.replace("TYPE", "double"), signature)
    assert list(f(np.zeros(3))) == [1, 1, 1]
    with pytest.raises(ValueError, match="length 4 along axis 0, expected 3"):
        f(np.zeros(4))


@pytest.fixture
def three(programs):
    """a + 10 b + 100 c, where b has a default."""
    inputs = [Input("a", "float64"), Input("b", "float64", default=2.0), Input("c", "float64", default=np.array(3.0))]
    text = """
int tg_plan(int64_t *env, char *const *buf, tg_status *st) { return 0; }
int tg_run(char **buf, const int64_t *env, tg_status *st)
{
    *(double *)buf[3] = *(double *)buf[0] + 10 * *(double *)buf[1] + 100 * *(double *)buf[2];
    return 0;
}
"""
    return programs.bind(text, Signature(inputs, outputs=[Output("float64", 0)], returns="one"), "three")


def test_keywords_and_defaults(three):
    assert three(1.0) == 321 and three(1.0, 0.0) == 301 and three(c=0.0, a=1.0) == 21 and three(1.0, c=4.0) == 421
    assert three(1.0, **{"".join(["b"]): 0.0}) == 301


@pytest.mark.parametrize(
    ("args", "keywords", "message"),
    [
        ((), {}, r"three\(\) is missing argument 1 \(a\); its arguments are: a, b, c"),
        ((), {"b": 1.0}, r"missing argument 1 \(a\)"),
        ((1, 2, 3, 4), {}, r"three\(\) takes 3 arguments \(a, b, c\), got 4"),
        ((1,), {"d": 1}, r"unexpected keyword argument 'd'; its arguments are: a, b, c"),
        ((1,), {"a": 1}, r"got argument 'a' twice"),
    ],
)
def test_wrong_arguments(three, args, keywords, message):
    with pytest.raises(TypeError, match=message):
        three(*args, **keywords)


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        ("float64", 2.5),
        ("float64", 3),
        ("float64", float("nan")),
        ("float64", np.float64(2.5)),
        ("float64", np.float32(2.5)),
        ("float64", np.int8(3)),
        ("float32", np.float32(2.5)),
        ("float32", 3),
        ("int64", 3),
        ("int64", np.int64(-3)),
        ("int8", 100),
        ("uint64", 2**63 + 1),
        ("complex128", 2.5),
        ("complex128", 1 + 2j),
        ("int64", True),
    ],
)
def test_numbers_for_scalars(programs, dtype, value):
    result = programs.add_one(dtype, 0)(value)
    assert result.dtype == dtype
    np.testing.assert_array_equal(result, np.array(value, dtype) + np.array(1, dtype))


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        ("int8", 128),
        ("int8", -129),
        ("uint64", -1),
        ("int64", 2**63),
        ("int64", 2.5),
        ("int64", np.float64(1.0)),
        ("float64", 1j),
        ("float32", 2**24 + 1.5j),
    ],
)
def test_numbers_that_would_lose_something_are_refused(programs, dtype, value):
    with pytest.raises((TypeError, OverflowError)):
        programs.add_one(dtype, 0)(value)


def test_booleans(programs):
    text = """
int tg_plan(int64_t *env, char *const *buf, tg_status *st) { return 0; }
int tg_run(char **buf, const int64_t *env, tg_status *st) { *buf[1] = !*buf[0]; *buf[2] = !*buf[0]; return 0; }
"""
    outputs = [Output("bool", 0), Output("bool", 0, scalar=True)]
    f = programs.bind(text, Signature([Input("x", "bool")], outputs=outputs))
    for value in (True, np.bool_(True), np.array(True)):
        array, scalar = f(value)
        assert array.dtype == bool and not array and scalar is np.False_
    assert f(False)[1] is np.True_


def test_twenty_arguments(programs, kernels):
    for ndim in (0, 1):
        f = programs.bind(*kernels.sum_of(20, ndim, "list", 20))
        args = [np.full((3,) * ndim, float(i)) for i in range(20)]
        results = f(*args)
        assert len(results) == 20
        for k, result in enumerate(results):
            np.testing.assert_array_equal(result, np.full((3,) * ndim, 190.0 + k))


def test_very_many_arguments(programs, kernels):
    f = programs.bind(*kernels.sum_of(700, 1, "one", 1))
    np.testing.assert_array_equal(f(*[np.ones(2)] * 700), [700, 700])


# -- results --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("returns", "expected"),
    [("list", [1.0, 2.0]), ("tuple", (1.0, 2.0)), ("none", None), ("wrapped", {"a": 1.0, "b": 2.0})],
)
def test_containers(programs, kernels, returns, expected):
    text, signature = kernels.sum_of(1, 0, returns, 2)
    f = programs.bind(text, signature, wrap=lambda results: dict(zip("ab", results)))
    result = f(1.0)
    assert type(result) is type(expected) and result == expected


def test_results_belong_to_the_caller(add_one):
    first, second = add_one(np.zeros(3)), add_one(np.zeros(3))
    first[:] = 9
    assert list(second) == [1, 1, 1] and first.flags.owndata and first.flags.writeable


def test_scalar_results(programs):
    for dtype in ("float64", "float32", "int64", "complex128"):
        result = programs.add_one(dtype, 0, scalar=True)(np.array(2, dtype))
        assert type(result) is np.dtype(dtype).type and result == 3


def test_constants_and_workspaces(programs):
    text = """
int tg_plan(int64_t *env, char *const *buf, tg_status *st)
{
    env[2] = env[0];
    env[3] = 8 * env[0];
    env[4] = 3;
    return 0;
}
int tg_run(char **buf, const int64_t *env, tg_status *st)
{
    const double *x = (void *)buf[0], *k = (void *)buf[1];
    double *out = (void *)buf[2], *space = (void *)buf[3];
    if ((uintptr_t)space % 64 || (uintptr_t)buf[4] % 64) return tg_fail(st, 1, 0, (int64_t)space, 0, 0, 0);
    for (int64_t i = 0; i < env[0]; i++) space[i] = x[i * env[1]] * k[0];
    buf[4][2] = 1;
    for (int64_t i = 0; i < env[0]; i++) out[i] = space[env[0] - 1 - i] + k[1];
    return 0;
}
"""
    signature = Signature(
        [Input("x", "float64", (None,))], constants=1, outputs=[Output("float64", 1)], workspaces=2, returns="one"
    )
    f = programs.bind(text, signature, constants=[np.array([10.0, 1.0])])
    for n in (0, 3, 1000, 300_000, 5):
        x = np.arange(float(n))
        np.testing.assert_array_equal(f(x), x[::-1] * 10 + 1)


def test_donated_storage_is_used_only_where_it_fits(programs):
    text = """
int tg_plan(int64_t *env, char *const *buf, tg_status *st) { env[2] = env[0]; return 0; }
int tg_run(char **buf, const int64_t *env, tg_status *st)
{
    for (int64_t i = 0; i < env[0]; i++) ((double *)buf[1])[i] = ((double *)buf[0])[i * env[1]] + 1;
    return 0;
}
"""
    signature = Signature([Input("x", "float64", (None,))], outputs=[Output("float64", 1, donor=0)], returns="one")
    f = programs.bind(text, signature)
    own = np.arange(4.0)
    result = f(own)
    assert result.ctypes.data == own.ctypes.data and list(result) == [1, 2, 3, 4]
    users = np.arange(8.0)
    read_only = np.arange(4.0)
    read_only.flags.writeable = False
    for kept in (users[:4], users[::2], read_only, np.broadcast_to(np.float64(1), 3)):
        before = kept.copy()
        np.testing.assert_array_equal(f(kept), before + 1)
        np.testing.assert_array_equal(kept, before)


def test_timers(programs):
    text = """
int tg_plan(int64_t *env, char *const *buf, tg_status *st) { return 0; }
int tg_run(char **buf, const int64_t *env, tg_status *st)
{
    int64_t begin = st->timers ? tg_rt->clock_ns() : 0;
    if (st->timers) st->timers[0] += 1, st->timers[1] += tg_rt->clock_ns() - begin;
    return 0;
}
"""
    f = programs.bind(text, Signature(returns="none"))
    f()
    f.timers = timers = np.zeros(2, np.int64)
    f(), f()
    assert timers[0] == 2 and timers[1] >= 0 and f.calls == 3
    f.timers = None
    f()
    assert timers[0] == 2
    with pytest.raises(TypeError, match="timers"):
        f.timers = [1, 2]


# -- failures -------------------------------------------------------------------------------

CHECKS = """
int tg_plan(int64_t *env, char *const *buf, tg_status *st)
{
    if (env[0] != env[2]) return tg_fail(st, 5, 11, env[0], env[2], 0, 0);
    env[4] = env[0];
    return 0;
}
int tg_run(char **buf, const int64_t *env, tg_status *st)
{
    for (int64_t i = 0; i < env[0]; i++)
        if (((double *)buf[1])[i] == 0) return tg_fail(st, 6, 12, i, -1, 2, 3);
    return 0;
}
"""
CHECKS_SIGNATURE = Signature(
    [Input("x", "float64", (None,)), Input("y", "float64", (None,))], outputs=[Output("float64", 1)], returns="one"
)


def test_failures_reach_the_function_that_words_them(programs):
    def fail(*values):
        raise ZeroDivisionError(values)

    f = programs.bind(CHECKS, CHECKS_SIGNATURE, fail=fail)
    with pytest.raises(ZeroDivisionError, match=r"\(5, 11, 2, 3, 0, 0\)"):
        f(np.ones(2), np.ones(3))
    with pytest.raises(ZeroDivisionError, match=r"\(6, 12, 1, -1, 2, 3\)"):
        f(np.ones(2), np.array([1.0, 0]))
    f(np.ones(2), np.ones(2))


def test_a_failure_nobody_words_is_still_an_error(programs):
    f = programs.bind(CHECKS, CHECKS_SIGNATURE, fail=lambda *values: None)
    with pytest.raises(RuntimeError, match="failed with code 5"):
        f(np.ones(2), np.ones(3))
    with pytest.raises(RuntimeError, match=r"code 5 in operation 11: 2, 3"):
        programs.bind(CHECKS, CHECKS_SIGNATURE)(np.ones(2), np.ones(3))


@pytest.mark.parametrize(
    ("lengths", "error", "message"),
    [
        ((-1, 1), ValueError, "output 0 would have length -1 along axis 0"),
        ((1 << 40, 1 << 20), MemoryError, "GB of memory"),
        ((1 << 62, 1 << 62), MemoryError, "GB of memory"),
        ((1 << 62, 0), MemoryError, "GB of memory"),
        ((1 << 40, 0), None, ""),
    ],
)
def test_lengths_that_cannot_be(programs, lengths, error, message):
    text = f"""
int tg_plan(int64_t *env, char *const *buf, tg_status *st)
{{ env[0] = {lengths[0]}ll; env[1] = {lengths[1]}ll; return 0; }}
int tg_run(char **buf, const int64_t *env, tg_status *st) {{ return 0; }}
"""
    f = programs.bind(text, Signature(outputs=[Output("float64", 2)], returns="one"))
    if error is None:
        assert f().shape == lengths
    else:
        with pytest.raises(error, match=message):
            f()


@pytest.mark.parametrize("size", [-1, 1 << 60])
def test_workspaces_that_cannot_be(programs, size):
    text = f"""
int tg_plan(int64_t *env, char *const *buf, tg_status *st) {{ env[0] = {size}ll; return 0; }}
int tg_run(char **buf, const int64_t *env, tg_status *st) {{ return 0; }}
"""
    with pytest.raises(MemoryError):
        programs.bind(text, Signature(workspaces=1, returns="none"))()


def test_nothing_leaks(glue_programs, kernels):
    """References held after many good and bad calls are those held before."""
    f = glue_programs.bind(CHECKS, CHECKS_SIGNATURE)
    g = glue_programs.bind(*kernels.sum_of(3, 1, "list", 2))
    x, y = np.ones(2), np.ones(3)

    def use():
        for _ in range(200):
            f(x, x), g(x, x, x), g(x1=x, x0=x, x2=[1, 2])
            for bad in ((x, y), (x, "a"), (x,), (x, x, x)):
                with pytest.raises((RuntimeError, TypeError)):
                    f(*bad)

    use()
    gc.collect()
    before = sys.getrefcount(x), sys.getrefcount(y), sys.getrefcount(np.dtype("f8")), len(gc.get_objects())
    use()
    gc.collect()
    after = sys.getrefcount(x), sys.getrefcount(y), sys.getrefcount(np.dtype("f8")), len(gc.get_objects())
    # what other tests left behind may go meanwhile, and its dtypes with it; one reference a call is 200 and more
    assert after[:2] == before[:2] and abs(after[2] - before[2]) < 100 and after[3] - before[3] < 50


# -- the type of the callable ---------------------------------------------------------------


class Described:
    """A mixin such as the user's view of a function."""

    @property
    def described(self):
        return f"{type(self).__name__} with {self.calls} calls"


def test_a_mixin_makes_a_subclass(programs, kernels):
    cls = glue.callable_type(Described, module=programs.module)
    text, signature = kernels.sum_of(2, 0)
    f = programs.bind(text, signature, cls=cls)
    f.note = "it has a __dict__"
    assert f(1.0, 2.0) == 3 and f.described == "Described with 1 calls" and isinstance(f, Described)
    assert cls is glue.callable_type(Described, module=programs.module)

    class Wrong:
        def __call__(self):
            pass

    with pytest.raises(TypeError, match="defines __call__"):
        glue.callable_type(Wrong, module=programs.module)


def test_a_subclass_is_called_without_detour(glue_programs):
    have_vectorcall = 1 << 11
    assert glue.callable_type(Described, module=glue_programs.module).__flags__ & have_vectorcall


def test_cycles_are_collected(programs, kernels):
    cls = glue.callable_type(Described, module=programs.module)
    text, signature = kernels.sum_of(2, 0)
    holder = {}
    f = holder["f"] = programs.bind(text, signature, cls=cls, filter=lambda i, value, holder=holder: holder["f"])
    gone = weakref.ref(f)
    del f, holder
    gc.collect()
    assert gone() is None


def test_a_callable_that_was_not_made_by_bind_raises(programs):
    with pytest.raises(TypeError):
        programs.module.Callable()
    with pytest.raises((TypeError, AttributeError)):
        programs.module.Callable.__new__(programs.module.Callable)()


# -- signatures -----------------------------------------------------------------------------


def test_positions_follow_each_other():
    s = Signature(
        [Input("x", "float64", (None, None)), Input("n", "int64")],
        [CellInput("float32", (None,))],
        constants=2,
        outputs=[Output("float64", 1)],
        updates=[Update(0, "float32", 1)],
        workspaces=2,
        extra=3,
    )
    assert [s.input_env(0), s.input_env(1), s.cell_env(0), s.output_env(0), s.update_env(0)] == [0, 4, 4, 6, 7]
    assert [s.workspace_env(0), s.workspace_env(1), s.work_env, s.extra_env(0), s.env_size] == [8, 9, 10, 11, 14]
    assert [s.input_buf(1), s.cell_buf(0), s.constant_buf(1), s.output_buf(0), s.update_buf(0)] == [1, 2, 4, 5, 6]
    assert [s.workspace_buf(1), s.buf_size] == [8, 9]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"returns": "dict"}, "returns is one of"),
        ({"returns": "one"}, "exactly one output"),
        ({"outputs": [Output("float64", 1, scalar=True)]}, "only a 0-d output"),
        ({"outputs": [Output("float64", 1, donor=0)]}, "no input number 0"),
        ({"outputs": [Output("object", 1)]}, "does not know"),
        ({"outputs": [Output("longdouble", 1)]}, "does not know"),
        ({"cells": [CellInput("f8")] * 2, "updates": [Update(1, "float64", 0)]}, "updated cells come first"),
        ({"cells": [CellInput("f8")], "updates": [Update(0, "float64", 0)] * 2}, "updated once"),
        ({"cells": [CellInput("f8")], "updates": [Update(0, "float64", 0, "magic")]}, "mode is one of"),
    ],
)
def test_impossible_signatures(arguments, message):
    with pytest.raises(ValueError, match=message):
        Signature(**arguments)


def test_bind_checks_what_it_is_given(programs, kernels):
    text, signature = kernels.descend("fresh")
    with pytest.raises(ValueError, match="uses 1 cells, got 0"):
        programs.bind(text, signature)
    with pytest.raises(TypeError, match="cells"):
        programs.bind(text, signature, cells=["not a cell"])
    with pytest.raises(ValueError, match="0 constants, got 1"):
        programs.bind(*kernels.sum_of(1, 0), constants=[np.zeros(1)])
