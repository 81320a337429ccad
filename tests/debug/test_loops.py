"""Looking into loops: which step and which line of the step function made a bad value; time per operation of a body."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler
from termgraph.debug import NanGuardMode

x, k = T.dvector("x"), T.lscalar("k")


@pytest.mark.parametrize("linker", ["py", "auto"])
def test_nan_in_a_step(linker):
    def step(u, h):
        return h + T.log(u - h)

    out = tg.scan(step, sequences=x, outputs_info=0.0, name="summing")[0]
    f = tg.function([x], out, mode=NanGuardMode(linker=linker))
    assert np.isfinite(f([1.0, 2.0])).all()
    with pytest.raises(AssertionError) as info:
        f([1.0, 2.0, -3.0, 4.0])
    text = str(info.value)
    assert "return h + T.log(u - h)" in text and "NaN in the result of log" in text and "from -3.69" in text
    assert text.endswith("in step 2 of loop 'summing'")


def test_infinity_in_a_nested_loop():
    def inner(h):
        return tg.scan(lambda g: 1 / (g - 1), outputs_info=h, n_steps=k)[0][-1]

    out = tg.scan(lambda u, h: inner(h) + u, sequences=x, outputs_info=3.0, name="outer")[0]
    f = tg.function([x, k], out, mode=NanGuardMode(nan_is_error=False, big_is_error=False))
    with pytest.raises(AssertionError, match="in step 0 of a loop\n  in step 1 of loop 'outer'"):
        f([0.5, 1.0], 1)


@pytest.mark.parametrize("linker", ["py", "auto"])
def test_profile_of_the_steps(linker):
    w = T.dmatrix("w")
    out = tg.scan(lambda h, w: T.tanh(T.dot(w, h)), outputs_info=T.ones((3,)), non_sequences=w, n_steps=50)[0]
    with tg.config.change_flags(linker=linker):
        f = tg.function([w], (out * 2).sum(), profile=True)
    plain = tg.function([w], (out * 2).sum())
    value = np.eye(3) * 0.5 + 0.1
    assert np.isclose(f(value), plain(value))
    (inner,) = f.profile.loops.values()
    assert {row["calls"] for row in inner.rows()} == {50}
    assert "in the steps of a loop" in str(f.profile) and f.profile.to_dict()["loops"]


@pytest.mark.skipif(find_compiler() is None, reason="no C compiler on this machine")
def test_profile_of_the_steps_of_compiled_loops():
    total = tg.scan(lambda u, t: t * 0.5 + u, sequences=x, outputs_info=T.constant(0.0))[0][-1]
    inner = lambda h: tg.loop(lambda g, u: (T.tanh(T.dot(w, g) * u), None), h, x)[0]  # noqa: E731
    w = T.dmatrix("w")
    nested = tg.scan(lambda h: inner(h) + 1, outputs_info=T.ones((2,)), n_steps=30, name="outer")[0][-1]
    with tg.config.change_flags(linker="c"):
        f = tg.function([x, w], [total, nested], profile=True)
        plain = tg.function([x, w], [total, nested])
    for got, want in zip(f(np.arange(7.0), np.eye(2)), plain(np.arange(7.0), np.eye(2))):
        np.testing.assert_allclose(got, want)
    assert f.maker.work.not_native is None and "clock_ns" not in plain.source("c")
    scalar, outer = sorted(f.profile.loops.values(), key=lambda p: bool(p.loops))
    assert [(row["op"], row["calls"]) for row in scalar.rows()] == [("step", 7)]
    assert outer.name == "loop 'outer'" and {row["calls"] for row in outer.rows()} == {30}
    (innermost,) = outer.loops.values()
    assert {row["calls"] for row in innermost.rows()} == {210} and "gemv" in str(f.profile)
    assert sum(row["seconds"] for row in f.profile.rows()) <= f.profile.seconds
