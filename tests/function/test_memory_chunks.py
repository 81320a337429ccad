"""memory_limit with loops over steps: they run in chunks, and what a chunk keeps for the gradient is computed again."""

from collections import Counter

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler
from termgraph.lower.loops.tree import Call, Kernel, Quiet, Repeat, Write, walk
from termgraph.lower.memory.limit import LimitTooLow
from termgraph.lower.memory.plan import loads

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="needs a C compiler")
C = tg.Mode(linker="c")


def draw(*shape):
    return (np.random.default_rng(sum(shape)).standard_normal(shape) / 3).astype("float32")


def elman(x, h, w):
    return T.tanh(x + T.sin(h) @ w)


def gated(x, h, w):
    """More values of a step that the gradient needs than it carries."""
    z = T.sigmoid(x + h @ w)
    return z * T.tanh(h @ w[::-1] - x) + (1 - z) * h


def trained(steps, limit=None, step=elman, layers=2, width=16, updates=False, **options):
    """A function that gives a loss and its gradients, and its input."""
    x = T.tensor("x", dtype="float32", shape=(steps, 4, width))
    weights = [tg.shared(draw(width + k, width)[k:], name=f"w{k}") for k in range(layers)]
    h = x
    for w in weights:
        h = tg.scan(step, h, T.zeros((4, width), dtype="float32"), [w], **options)[0]
    loss = (h * h).mean()
    gradients = tg.grad(loss, weights)
    if updates:
        changes = [(w, w - np.float32(0.5) * g) for w, g in zip(weights, gradients)]
        return tg.function([x], [loss], updates=changes, memory_limit=limit, mode=C), draw(steps, 4, width)
    return tg.function([x], [loss, *gradients], memory_limit=limit, mode=C), draw(steps, 4, width)


def least(*args, **options):
    """The least bytes that a limit may be."""
    try:
        trained(*args, **options, limit=64)
    except LimitTooLow as error:
        return error.least
    raise AssertionError("64 bytes are not enough for anything")


@pytest.mark.parametrize("steps, step", [(1, elman), (3, gated), (4, elman), (10, gated), (17, elman)])
def test_values_are_the_same_within_the_least_limit(steps, step):
    whole, x = trained(steps, step=step)
    most = least(steps, step=step)
    limited, _ = trained(steps, most, step=step)
    assert limited.memory(x).peak <= most <= whole.memory(x).peak
    for a, b in zip(whole(x), limited(x)):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-7)


def test_a_loop_without_steps_stays_as_it_is():
    limited, x = trained(0, 1.0)
    assert limited(x)[1].shape == (16, 16)


def test_half_of_the_memory_is_enough_for_many_steps():
    whole, x = trained(49, step=gated)
    limited, _ = trained(49, 0.5, step=gated)
    assert limited.memory(x).peak <= 0.5 * whole.memory(x).peak
    assert whole.maker.work.options.sparing is None and limited.maker.work.options.sparing is not None
    for a, b in zip(whole(x), limited(x)):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-7)


def test_more_steps_need_little_more_memory():
    """Of n steps about the square root is kept, beside what goes in and out of each layer."""
    growth = least(64, step=gated, layers=1) - least(16, step=gated, layers=1)
    whole = [trained(n, step=gated, layers=1) for n in (16, 64)]
    before, after = (f.memory(x).peak for f, x in whole)
    assert growth < 0.4 * (after - before)


def test_a_limit_that_whole_loops_keep_cuts_none():
    limited, _ = trained(16, 0.95)
    assert limited.maker.work.options.sparing is None


def test_the_error_names_what_is_possible_with_loops_in_chunks():
    with pytest.raises(ValueError, match=r"memory_limit is 64 bytes, .*\(without a limit: \d+\)"):
        trained(9, 64)


def test_updates_are_the_same():
    whole, x = trained(20, updates=True)
    limited, _ = trained(20, least(20, updates=True), updates=True)
    for _ in range(3):
        np.testing.assert_allclose(whole(x), limited(x), rtol=1e-5)
    for a, b in zip(whole.get_shared(), limited.get_shared()):
        np.testing.assert_allclose(a.get_value(), b.get_value(), rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("options", [{"truncate_gradient": 7}, {"go_backwards": True}])
def test_other_ways_through_the_steps(options):
    whole, x = trained(20, **options)
    limited, _ = trained(20, least(20, **options), **options)
    for a, b in zip(whole(x), limited(x)):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-7)


def test_values_two_steps_back_and_a_result_that_is_read_whole():
    x, w = T.tensor("x", dtype="float64", shape=(23, 8)), T.tensor("w", dtype="float64", shape=(8, 8))

    def step(a, b, far, near, w):
        return T.tanh(a * near @ w + T.cos(b) * far)

    start = np.linspace(-1, 1, 16).reshape(2, 8)
    h = tg.scan(step, [{"input": x, "taps": [0, 1]}], [{"initial": T.as_tensor(start), "taps": [-2, -1]}], [w])[0]
    loss = (h[::3] ** 2).sum() + T.max(h * h[::-1])
    outputs = [loss, h, *tg.grad(loss, [x, w])]
    whole = tg.function([x, w], outputs, mode=C)
    given = np.random.default_rng(2).standard_normal((23, 8)), np.random.default_rng(3).standard_normal((8, 8)) / 3
    try:
        tg.function([x, w], outputs, mode=C, memory_limit=8)
    except LimitTooLow as error:
        limited = tg.function([x, w], outputs, mode=C, memory_limit=error.least)
    for a, b in zip(whole(*given), limited(*given)):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-13)


def test_copies_and_saved_functions_keep_the_limit(tmp_path):
    whole, x = trained(49, step=gated)
    limited, _ = trained(49, 0.5, step=gated)
    tg.save(limited, tmp_path / "step.tgf")
    for f in (limited.copy(), tg.load(tmp_path / "step.tgf")):
        assert f.memory(x).peak <= 0.5 * whole.memory(x).peak
        for a, b in zip(limited(x), f(x)):
            np.testing.assert_array_equal(a, b)


def test_a_failure_in_a_chunk_names_the_line():
    x, i = T.tensor("x", dtype="float32", shape=(30, 8, 16)), T.tensor("i", dtype="int64", shape=(30,))
    w = tg.shared(draw(16, 16))

    def step(rows, k, h, w):
        return gated(rows[k], h, w)  # the line

    h = tg.scan(step, [x, i], T.ones((4, 16), dtype="float32"), [w])[0]
    outputs = [(h**2).sum(), tg.grad((h**2).sum(), w)]
    with pytest.raises(LimitTooLow) as error:
        tg.function([x, i], outputs, mode=C, memory_limit=8)
    f = tg.function([x, i], outputs, mode=C, memory_limit=error.value.least)
    assert f.maker.work.options.sparing is not None
    with pytest.raises(IndexError, match="the line"):
        f(draw(30, 8, 16), np.full(30, 9))


def test_a_gradient_is_added_up_where_it_is_returned():
    """The products of all chunks: none of them has an array of its own."""
    limited, x = trained(16, least(16))
    added = [line for line in limited.memory(x).steps if line == "gemm -> out1"]
    assert len(added) == 4


def statements(f):
    """The statements of a function in their order, those that run again as often as they do."""
    return f.stage("memory").scheduled.nodes


@pytest.mark.parametrize("updates", [False, True])
def test_no_chunk_runs_more_than_twice_for_half_of_the_memory(updates):
    """Chunks of stacked loops are run again one by one; where they were bound to each other some ran 18 times."""
    options = {"step": gated, "layers": 3, "updates": updates}
    whole, x = trained(49, **options)
    limited, _ = trained(49, 0.5, **options)
    runs = Counter(n for n in statements(limited) if isinstance(n, Repeat))
    assert max(runs.values()) == 2 and sum(runs.values()) <= 1.5 * len(runs)
    for a, b in zip(whole(x), limited(x)):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-7)


def test_what_reads_nothing_in_common_has_loops_of_its_own():
    """Or to run one of them again all of them would."""
    limited, _ = trained(49, 0.5, step=gated, layers=3)
    stores = [n for n in statements(limited) if isinstance(n, Kernel)]
    several = [n for n in stores if len({w.buf for w in walk([n]) if isinstance(w, Write)}) > 1]
    assert all(any(b.kind == "temp" for b, _ in loads(n)) for n in several)


def test_the_gradient_of_one_layer_ends_before_that_of_the_next_begins():
    """Each variable gets its new value as soon as its sums over chunks are there: two products for each layer."""
    limited, x = trained(49, 0.5, step=gated, layers=3, updates=True)
    nodes = statements(limited)
    sums = [n.buf.name for n in nodes if isinstance(n, Call) and n.options.get("beta")]
    last = {name: k for k, name in enumerate(sums)}
    assert len(last) == 6 and max(sum(sums.index(s) <= k <= last[s] for s in last) for k in range(len(sums))) == 2
    quiet = next(k for k, n in enumerate(nodes) if isinstance(n, Quiet))
    assert any(isinstance(n, Repeat) for n in nodes[quiet:])
    assert limited(x) is not None


def test_a_loop_that_may_fail_comes_before_all_updates():
    """An index that is checked in each step: no variable may have its new value before that."""
    x, i = T.tensor("x", dtype="float32", shape=(16, 8, 16)), T.tensor("i", dtype="int64", shape=(16,))
    weights = [tg.shared(draw(16, 16), name=f"w{k}") for k in range(2)]
    h = tg.scan(lambda rows, k, h, w: gated(rows[k], h, w), [x, i], T.ones((4, 16), dtype="float32"), [weights[0]])[0]
    h = tg.scan(gated, h, T.zeros((4, 16), dtype="float32"), [weights[1]])[0]
    loss = (h * h).mean()
    changes = [(w, w - np.float32(0.5) * g) for w, g in zip(weights, tg.grad(loss, weights))]
    f = tg.function([x, i], loss, updates=changes, mode=C)
    before = [w.get_value() for w in weights]
    with pytest.raises(IndexError):
        f(draw(16, 8, 16), np.array([*range(7), 9, *range(8)]))
    for w, value in zip(weights, before):
        np.testing.assert_array_equal(w.get_value(), value)
