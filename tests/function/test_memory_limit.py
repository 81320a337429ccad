"""memory_limit: equal values in less memory, some computed twice; or an error that says what is possible."""

import re
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler
from termgraph.lower.memory import limit
from termgraph.lower.memory.plan import Life, lives_of, loads, writes
from termgraph.lower.schedule.parts import sums_in_turn
from termgraph.terms.ops.elementwise import add
from termgraph.terms.term import mk

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="needs a C compiler")
RNG = np.random.default_rng(3)


def dense(h, width, layers):
    weights = [tg.shared((RNG.standard_normal((width, width)) / 4).astype("float32")) for _ in range(layers)]
    for w in weights:
        h = T.tanh(h @ w)
    return h, weights


def normalised(h, width, layers):
    weights = [tg.shared((RNG.standard_normal((width, width)) / 4).astype("float32")) for _ in range(layers)]
    for w in weights:
        z = h @ w
        away = z - z.mean(axis=0, keepdims=True)
        h = h + T.maximum(away / T.sqrt((away * away).mean(axis=0, keepdims=True) + 1e-5), 0)
    return h, weights


def looked_at(h, width, layers):
    """Attention in one head, each layer over the rows of the last one."""
    weights = [tg.shared((RNG.standard_normal((width, width)) / 4).astype("float32")) for _ in range(layers)]
    for w in weights:
        h = h + T.softmax((h @ w) @ h.T, axis=-1) @ h
    return h, weights


def recurrent(h, width, layers):
    """Layers that go from one group of rows to the next."""
    weights = [tg.shared((RNG.standard_normal((width, width)) / 4).astype("float32")) for _ in range(layers)]
    h = h.reshape((32, -1, width))
    for w in weights:
        start = T.zeros((h.shape[1], width), dtype="float32")
        h = tg.scan(lambda x, s, w: T.tanh(x + T.sin(s) @ w), h, start, [w])[0]
    return h, weights


def convolved(h, width, layers):
    """Convolutions whose bounds are made in their place, image by image."""
    weights = [tg.shared((RNG.standard_normal((8, 8, 3, 3)) / 6).astype("float32")) for _ in range(layers)]
    h = h.reshape((8, 8, 8, width // 2))
    for w in weights:
        h = T.maximum(T.nnet.conv2d(h, w, border_mode=(1, 1)), 0)
    return h, weights


def step(build, limit=None, layers=8, batch=256, width=16, **options):
    x = T.tensor("x", dtype="float32", shape=(batch, width))
    h, weights = build(x, width, layers)
    loss = (h * h).mean()
    options.setdefault("mode", tg.Mode(linker="c"))
    f = tg.function([x], [loss, *tg.grad(loss, weights)], memory_limit=limit, name="step", **options)
    return f, np.random.default_rng(1).standard_normal((batch, width)).astype("float32")


def pair(build, limit):
    """The same step without and with a limit: the weights are drawn alike."""
    global RNG
    RNG = np.random.default_rng(3)
    whole, x = step(build)
    RNG = np.random.default_rng(3)
    return whole, step(build, limit)[0], x


@pytest.mark.parametrize("build", [dense, normalised, looked_at, recurrent])
@pytest.mark.parametrize("share", [0.75, 0.6])
def test_values_are_equal_bit_for_bit_in_less_memory(build, share):
    whole, limited, x = pair(build, share)
    plan, less = whole.memory(x), limited.memory(x)
    assert less.peak <= share * plan.peak and len(less.steps) > len(plan.steps)
    for a, b in zip(whole(x), limited(x)):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("build", [dense, convolved, recurrent])
def test_values_are_equal_where_each_part_is_timed(build):
    """Statements stand by themselves then, outside of a table."""
    whole, limited, x = pair(build, 0.6)
    global RNG
    RNG = np.random.default_rng(3)
    timed, _ = step(build, 0.6, profile=True)
    for a, b, c in zip(whole(x), limited(x), timed(x)):
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(a, c)


def test_what_is_filled_again_may_lie_elsewhere():
    """Each life of an array has a place of its own, in a result that is written later perhaps."""
    _, limited, x = pair(convolved, 0.6)
    again = limited.stage("memory").places.later
    assert again and all(place.name.startswith(f"{b.name}.") for b, each in again.items() for place in each)
    named = [a.name for a in limited.memory(x).arrays]
    assert any(named.count(b.name) == 1 + len(each) for b, each in again.items())


def test_a_limit_in_bytes_is_kept_and_the_table_shows_what_lives_twice():
    whole, _, x = pair(dense, None)
    bytes_ = int(0.6 * whole.memory(x).peak)
    _, limited, x = pair(dense, bytes_)
    plan = limited.memory(x)
    assert plan.peak <= bytes_
    twice = [a for a in plan.arrays if sum(b.name == a.name for b in plan.arrays) > 1]
    assert twice and all(a.room == b.room for a in twice for b in twice if a.name == b.name)
    own = [a for a in plan.arrays if a.room is not None]
    for a, b in combinations(own, 2):
        together = a.room == b.room and a.first <= b.last and b.first <= a.last
        assert not together or a.offset + a.nbytes <= b.offset or b.offset + b.nbytes <= a.offset


def test_statements_that_run_again_add_no_text_but_their_places():
    whole, limited, x = pair(dense, 0.6)
    assert len(limited.source("c")) < 1.1 * len(whole.source("c"))


def test_a_limit_that_is_large_enough_changes_nothing():
    whole, limited, x = pair(dense, 1.0)
    assert limited.memory(x).arrays == whole.memory(x).arrays


def test_a_limit_that_cannot_be_kept_says_what_can():
    with pytest.raises(ValueError, match=r"memory_limit is 5000 bytes, .* holds (\d+) .*Allow at least \1"):
        step(dense, 5000)


def test_the_least_that_an_error_names_is_possible():
    try:
        pair(looked_at, 9000)
    except ValueError as error:
        least = int(str(error).split("at least ")[1].split(",")[0])
    _, limited, x = pair(looked_at, least)
    assert limited.memory(x).peak <= least


def test_the_least_that_an_error_names_is_no_more_than_without_a_limit():
    """Arrays that are written over others live together with them, in a place that may fit worse."""
    rng = np.random.default_rng(1)
    x = T.tensor("x", dtype="float32", shape=(64, 16))
    b, c = (tg.shared(rng.standard_normal(16).astype("float32")) for _ in range(2))
    away = x - x.mean(axis=0, keepdims=True)
    h = away / T.sqrt((away * away).mean(axis=0) + np.float32(0.01)) * b
    h = h * c + T.outer(h.sum(axis=1), c) * np.float32(0.1)
    loss = ((h - h.max(axis=1, keepdims=True)) ** 2).mean()
    updates = [(w, w - g) for w, g in zip((b, c), tg.grad(loss, [b, c]))]
    with pytest.raises(ValueError, match="memory_limit is") as error:
        tg.function([x], loss, updates=updates, mode=tg.Mode(linker="c"), memory_limit=0.5)
    least, whole = re.search(r"holds (\d+) .*without a limit: (\d+)", str(error.value)).groups()
    assert int(least) <= int(whole)


def test_updates_in_place_come_after_what_runs_again():
    def trained(limit):
        rng = np.random.default_rng(5)
        x = T.tensor("x", dtype="float32", shape=(256, 16))
        weights = [tg.shared((rng.standard_normal((16, 16)) / 4).astype("float32")) for _ in range(8)]
        h = x
        for w in weights:
            h = T.tanh(h @ w)
        loss = (h * h).mean()
        updates = [(w, w - np.float32(0.1) * g) for w, g in zip(weights, tg.grad(loss, weights))]
        f = tg.function([x], loss, updates=updates, memory_limit=limit, mode=tg.Mode(linker="c"))
        value = rng.standard_normal((256, 16)).astype("float32")
        losses = [f(value) for _ in range(4)]
        return losses, [w.get_value() for w in weights], f.memory(value).peak

    losses, weights, peak = trained(None)
    others, same, less = trained(0.6)
    assert less <= 0.6 * peak
    np.testing.assert_array_equal(losses, others)
    for a, b in zip(weights, same):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("wrong, kind", [(0, ValueError), (-1.5, ValueError), (1.5, ValueError), (True, TypeError),
                                         ("1 GB", TypeError), (float("nan"), ValueError)])  # fmt: skip
def test_limits_that_are_no_limits_are_refused(wrong, kind):
    with pytest.raises(kind, match="memory_limit is a "):
        tg.function([], T.ones((3,)), memory_limit=wrong)


def test_unknown_lengths_are_named_with_what_to_do():
    x = T.matrix("x", dtype="float32")
    with pytest.raises(ValueError, match="memory_limit needs lengths that are known .*give the inputs shapes"):
        tg.function([x], T.exp(x @ x).sum(axis=0) @ x, memory_limit=0.5, mode=tg.Mode(linker="c"))


def test_only_one_c_program_can_be_limited():
    x = T.tensor("x", dtype="float32", shape=(4, 4))
    with pytest.raises(ValueError, match="memory_limit is for functions that are one C program"):
        tg.function([x], T.exp(x), memory_limit=0.5, mode=tg.Mode(linker="py"))


def test_a_mode_carries_its_limit():
    mode = tg.Mode(linker="c", memory_limit=0.6)
    assert mode.options().memory_limit == 0.6 and "memory_limit=0.6" in repr(mode) and mode != tg.Mode(linker="c")
    f, x = step(dense, mode=mode)
    assert f.copy().memory(x).peak == f.memory(x).peak < step(dense)[0].memory(x).peak


def test_a_buffer_that_is_filled_again_has_two_lives():
    order = ["fill", "add", "read", "other", "fill", "add", "read"]
    filled = {"fill": ["b"], "add": ["b"], "other": ["c"]}
    used = {"add": ["b"], "read": ["b"]}
    found = lives_of(order, lambda s: filled.get(s, []), lambda s: used.get(s, []))
    assert found == {"b": [Life(0, 2), Life(4, 6)], "c": [Life(3, 3)]}


@pytest.mark.parametrize("seed", range(15))
def test_any_statements_may_run_again_at_any_later_place(seed, monkeypatch):
    """What the search may choose from: programs with repetitions drawn at random give equal values."""
    rng = np.random.default_rng(seed)

    def drawn(st, bytes_):
        order = list(st.all)
        for _ in range(48):
            if len(order) > 2 * len(st.all):
                break
            lives, k = st.lives(order), int(rng.integers(1, len(order)))
            b = sorted(st.temps & set(lives), key=lambda b: b.name)[int(rng.integers(len(st.temps & set(lives))))]
            if lives[b][0].last >= k:
                continue
            chain = limit._chain(st, lives, b, k, k)
            order = order if chain is None else [*order[:k], *chain[0], *order[k:]]
        assert len(order) > len(st.all)
        found = limit.fitted(st, order)
        return limit.Fitted(found.order, found.rooms, 0)

    monkeypatch.setattr(limit, "within", drawn)
    with tg.config.change_flags({"cache.programs": False}):
        whole, limited, x = pair([dense, normalised, looked_at, recurrent, convolved][seed % 5], 0.5)
    again = limited.stage("memory").scheduled.nodes
    assert len(set(again)) < len(again)
    for a, b in zip(whole(x), limited(x)):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.6])
def test_what_is_filled_in_steps_is_repeated_in_all_of_them(share):
    """A copy and what is added to it: one of the two alone would be run again, or twice."""
    x, w = (T.tensor(dtype="float64", shape=s) for s in ((25, 25), (46, 25)))
    grown = T.inc_subtensor(x[::-1], x * 0.5)
    outputs = [T.sum(T.dot(T.dot(w, x), x)), T.dot(grown, x) + 1]

    def made(most):
        return tg.function([x, w], outputs, mode=tg.Mode(linker="c"), memory_limit=most)

    try:
        made(100)
    except ValueError as error:
        least = int(str(error).split("at least ")[1].split(",")[0])
    a, b = RNG.standard_normal((25, 25)), np.ones((46, 25))
    limit_ = int(least + share * (made(None).memory(a, b).peak - least))
    _, second = made(limit_)(a, b)
    np.testing.assert_allclose(second, (a + 0.5 * a[::-1]) @ a + 1, rtol=1e-12, atol=1e-12)


class Step(NamedTuple):
    """A statement of which only the buffers are known."""

    node: str
    number: int
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    again: bool = True
    work: int = 1


def test_no_step_of_filling_a_buffer_runs_twice_before_the_others():
    """`t` is filled by a statement that gives `u` too, and added to later: where `u` is made anew before that, the
    addition would run twice.
    """
    line = [("src", "", "a"), ("first", "a", "ut"), ("use1", "u", "p"), ("wide", "p", "q"), ("mid", "q", "v")]
    line += [("use2", "vu", "r"), ("second", "v", "t"), ("last", "tr", "z")]
    sizes = dict.fromkeys("aprvz", 10) | {"u": 1000, "t": 1000, "q": 5000}
    st = object.__new__(limit.Statements)
    st.all = [Step(name, k, tuple(r), tuple(w)) for k, (name, r, w) in enumerate(line)]
    st.temps, st.hosts, st.inside, st.sizes = set(sizes), set(), {}, sizes
    st.border, st.spoiled, st.until_quiet = None, {}, False
    st.fillers = {b: [s for s in st.all if b in s.writes] for b in sizes}
    first, second = (next(s for s in st.all if s.node == name) for name in ("first", "second"))
    assert limit.again(st, st.all) is None
    assert st.filled_whole(st.all) and st.filled_whole([*st.all, first, second])
    assert not st.filled_whole([first, first, second, second]) and not st.filled_whole([*st.all, first])


def test_what_reads_a_result_stays_behind_it(monkeypatch):
    """Statements are moved up to what they need, results that they read included; results are moved to the end."""
    seen = []

    def watched(move):
        def moved(st, *order):
            found = move(st, *order)
            order = order[0] if order else st.all
            seen.append((move.__name__, list(order), found or order))
            return found

        return moved

    for move in (limit.early, limit.results_last, limit.one_by_one):
        monkeypatch.setattr(limit, move.__name__, watched(move))
    x, w = [T.tensor(n, dtype="float64", shape=(64, 64)) for n in "xw"]
    values = [np.random.default_rng(n).normal(size=(64, 64)) for n in (1, 2)]
    b = x @ w
    for y in (T.exp(x @ (w * 0.1)), T.tanh(x.T @ w)):
        for z in ((b * y).sum(axis=1), T.tanh(b * y).sum(axis=0), (b + y)[:, :3] @ w[:3, :3]):
            outputs = [y, T.tanh(z).sum(), (y @ w).sum(axis=0)]
            with tg.config.change_flags({"cache.programs": False}):
                limited = tg.function([x, w], outputs, mode=tg.Mode(linker="c"), memory_limit=0.9)(*values)
            for got, want in zip(limited, tg.function([x, w], outputs)(*values)):
                np.testing.assert_allclose(got, want)
    for _, order, moved in seen:
        assert len(moved) == len(order)
        place = {s: k for k, s in enumerate(moved)}
        filled = {b: s for s in reversed(order) for b in writes(s.node)}
        for s in order:
            assert all(place[filled.get(b, s)] <= place[s] for b, _ in loads(s.node))
    assert {name for name, _, _ in seen} == {"early", "results_last", "one_by_one"}


def test_results_are_written_last_where_they_lend_their_room(monkeypatch):
    """Gradients of 64x64 numbers keep 2 kB each alive, and lend 16 kB to what is computed before they are written."""

    def limited(most):
        rng = np.random.default_rng(3)
        weights = [tg.shared((rng.standard_normal((64, 64)) / 8).astype("float32")) for _ in range(8)]
        x, first = T.tensor("x", dtype="float32", shape=(64, 64)), tg.shared(np.ones(64, "float32"))
        h = T.tanh(x * first)
        h = h.reshape((8, 8, 64)).max(axis=1)
        for w in weights:
            h = T.tanh(h @ w)
        loss = (h * h).mean()
        f = tg.function([x], [loss, *tg.grad(loss, [first, *weights])], mode=tg.Mode(linker="c"), memory_limit=most)
        return f, rng.standard_normal((64, 64)).astype("float32")

    def least():
        with pytest.raises(ValueError, match="memory_limit is") as error:
            limited(64)
        return int(re.search(r"holds (\d+)", str(error.value))[1])

    lower = least()
    (whole, x), (less, _) = limited(None), limited(lower)
    assert less.memory(x).peak <= lower < whole.memory(x).peak
    for a, b in zip(whole(x), less(x)):
        np.testing.assert_array_equal(a, b)
    monkeypatch.setattr(limit, "results_last", lambda st, order: None)
    assert lower < least()


def branches(x, filters):
    """Four convolutions of the same images side by side, twice, and what was there at first joined at the end."""
    first = x
    for four in filters:
        x = T.concatenate([T.maximum(T.nnet.conv2d(x, w, border_mode="half"), 0) for w in four], axis=1)
    joined = T.concatenate([x, T.tanh(first)], axis=1)
    return T.tanh(joined * joined[:, ::-1])


@pytest.mark.parametrize("updates", [False, True])
def test_parts_that_wait_and_sums_in_turn_are_the_same_bits(updates, monkeypatch):
    """Where no plan of the plain graph is small enough: gradients of what is joined are kept by part, sums by two."""

    def limited(most):
        rng = np.random.default_rng(3)
        draw = lambda *s: tg.shared((rng.standard_normal(s) / 4).astype("float32"))  # noqa: E731
        filters = [[draw(4, 16, 3, 3) for _ in range(4)] for _ in range(3)]
        x, scale = T.tensor("x", dtype="float32", shape=(2, 16, 16, 16)), draw(16)
        loss = (branches(x * scale.dimshuffle("x", 0, "x", "x"), filters) ** 2).mean()
        weights = [scale, *sum(filters, [])]
        gradients = tg.grad(loss, weights)
        changes = [(w, w - np.float32(0.1) * g) for w, g in zip(weights, gradients)] if updates else []
        outputs = [loss] if updates else [loss, *gradients]
        f = tg.function([x], outputs, updates=changes, mode=tg.Mode(linker="c"), memory_limit=most)
        return f, rng.standard_normal((2, 16, 16, 16)).astype("float32"), weights

    whole, x, weights = limited(None)
    most, within, stored = int(0.9 * whole.memory(x).peak), limit.within, []

    def none_at_first(st, bytes_):
        stored.append(len(st.temps))
        if len(stored) == 1:
            raise limit.LimitTooLow(most, most + 1, most - bytes_, most + 1)
        return within(st, bytes_)

    monkeypatch.setattr(limit, "within", none_at_first)
    with tg.config.change_flags({"cache.programs": False}):
        less, _, others = limited(most)
    assert less.maker.work.options.sparing == most and stored[1] > stored[0]
    assert less.memory(x).peak <= most
    for _ in range(2):
        for a, b in zip(whole(x), less(x)):
            np.testing.assert_array_equal(a, b)
    for a, b in zip(weights, others):
        np.testing.assert_array_equal(a.get_value(), b.get_value())


@pytest.mark.parametrize(
    "dtypes",
    [("int8", "int8", "int64"), ("bool", "bool", "int32"), ("float32", "float32", "float64"), ("float16",) * 4],
)
def test_sums_of_several_dtypes_are_not_made_two_at_a_time(dtypes):
    """Two of int8 would be added in int8, and four of float16 are rounded once."""
    terms = tuple([T.sort(T.tensor(dtype=d, shape=(4, 4)), axis=0).term for d in dtypes])
    summed = mk(add, terms)
    assert sums_in_turn([summed], ("sort",), {}) == [summed]
    alike = mk(add, terms[:1] * 3)
    (in_turn,) = sums_in_turn([alike], ("sort",), {})
    assert len(in_turn.args) == (2 if dtypes[0] != "float16" else 3) and in_turn.type == alike.type


def test_large_filters_are_written_over_some_at_a_time():
    """A gradient that is larger than the limit is made of some filters after the other."""

    def net(limit):
        rng = np.random.default_rng(3)
        x = T.tensor("x", dtype="float32", shape=(2, 8, 4, 4))
        filters = [tg.shared((rng.standard_normal(s) / 9).astype("float32")) for s in ((24, 8, 3, 3), (64, 24, 3, 3))]
        h = x
        for w in filters:
            h = T.maximum(T.nnet.conv2d(h, w, border_mode="half", filter_flip=False), 0)
        cost = (h * h).mean()
        updates = [(w, w - np.float32(0.1) * g) for w, g in zip(filters, tg.grad(cost, filters))]
        return tg.function([x], cost, updates=updates, memory_limit=limit, mode=tg.Mode(linker="c")), filters

    x = np.random.default_rng(4).standard_normal((2, 8, 4, 4)).astype("float32")
    (plain, whole), (limited, parts) = net(None), net(45_000)
    gradient = 64 * 24 * 9 * 4
    assert limited.memory().peak <= 45_000 < gradient < plain.memory().peak
    for _ in range(3):
        np.testing.assert_allclose(limited(x), plain(x), rtol=1e-5)
    for a, b in zip(parts, whole):
        np.testing.assert_allclose(a.get_value(), b.get_value(), rtol=1e-4, atol=1e-6)
