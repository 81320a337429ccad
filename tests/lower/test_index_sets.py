"""Index-set splitting: loops are cut where a choice by index changes, and mean what they meant before."""

import re

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="needs a C compiler")
LINKER = "auto"
CHOICE = re.compile(r"_Bool v\d+ = \(|\bif \(v\d+\)")


def compiled(inputs, outputs, *values):
    """A function, checked against the virtual machine, and the text of its kernels."""
    f = tg.function(inputs, outputs)
    for found, wanted in zip(f(*values), tg.function(inputs, outputs, mode=tg.Mode(linker="py"))(*values)):
        np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-12)
    text = f.source("c")
    return text[max(text.find("static void kernel0"), 0) : text.index("TG_EXPORT int tg_plan")]


def differences(x):
    """Backward differences along both axes with zeros at the edges: parts that are computed in other ways."""
    down = T.concatenate([x[:1], x[1:-1] - x[:-2], -x[-2:-1]], axis=0)
    right = T.concatenate([x[:, :1], x[:, 1:-1] - x[:, :-2], -x[:, -2:-1]], axis=1)
    return down + right


def test_parts_that_are_computed_otherwise_are_chosen_in_no_loop_over_whole_rows(rng):
    x = T.tensor("x", "float64", shape=(30, 50))
    text = compiled([x], [T.tanh(differences(x)) * 2], rng.normal(size=(30, 50)))
    assert "i1 < 48; i1++" in text
    within = text[text.index("i1 < 48; i1++") :]
    assert not CHOICE.search(within[: within.index("\n        }")])


def test_what_is_written_into_a_window_is_chosen_in_no_loop(rng):
    x, y = T.tensor("x", "float64", shape=(20, 40)), T.tensor("y", "float64", shape=(10, 30))
    text = compiled(
        [x, y], [T.exp(T.inc_subtensor(x[5:15, 4:34], T.tanh(y)))], rng.normal(size=(20, 40)), rng.normal(size=(10, 30))
    )
    assert not CHOICE.search(text)


def test_sums_read_what_pieces_have_stored(rng):
    """A sum over the elements was made in the loop that stores them; it would choose, and compute them once more."""
    g = T.tensor("g", "int32", shape=(64, 64))
    n = T.roll(g, 1, 0) + T.roll(g, 1, 1) + T.roll(g, -1, 1)
    alive = T.cast(T.eq(n, 2), "int32")
    text = compiled([g], [alive, alive.sum()], rng.integers(0, 2, (64, 64)).astype("int32"))
    assert text.count("== 2)") == 3  # the first column, the last one, and all between


def test_sums_do_not_read_what_is_written_over_afterwards(rng):
    """The update is made where the pieces lie: a sum over what was there before must not read it there."""
    x, i = T.tensor("x", "float64", shape=(40, 50)), T.lscalar("i")
    d = differences(x) * 2
    compiled([x, i], [T.inc_subtensor(d[i], 100.0), d.sum(), (d**2).sum(axis=1)], rng.normal(size=(40, 50)), 3)
    compiled([x], [T.set_subtensor(d[3:9, 5:], 100.0), d.sum()], rng.normal(size=(40, 50)))


def test_two_results_of_the_same_choices_share_their_pieces(rng):
    x = T.tensor("x", "float64", shape=(40, 40))
    d = differences(x)
    text = compiled([x], [T.tanh(d), T.tanh(d) * x], rng.normal(size=(40, 40)))
    assert len(re.findall(r"i1 < 38; i1\+\+", text)) == 1


def test_a_statement_stays_whole_where_others_choose_between_its_elements(rng):
    """The sum is of something else than what is stored: both in pieces and in the sum the choice would be made."""
    x = T.tensor("x", "float64", shape=(40, 40))
    d = T.concatenate([x[:, :1], T.sqr(x[:, 1:] - x[:, :-1])], axis=1)
    text = compiled([x], [T.tanh(d), T.sum(T.sqrt(abs(d)))], rng.normal(size=(40, 40)))
    assert "i1 < 39;" not in text


def test_statements_that_read_neighbours_at_the_same_places_are_all_cut(rng):
    """Where neighbours lie is chosen alike in all layers and in their gradients; that is no reason to stay whole."""
    x = T.tensor("x", "float64", shape=(30, 50))
    h = x
    for _ in range(3):
        h = T.tanh(h + sum(T.roll(h, k, axis) * 0.1 for k in (1, -1) for axis in (0, 1)))
    text = compiled([x], [h.sum(axis=0), tg.grad((h**2).sum(), x)], rng.normal(size=(30, 50)))
    assert len(re.findall(r"i1 < 4[89]; i1\+\+", text)) >= 5


def test_of_many_places_the_longest_range_is_cut_out(rng):
    x = T.tensor("x", "float64", shape=(8, 200))
    shifted = sum(T.concatenate([T.zeros((8, k)), T.tanh(x)[:, : 200 - k] * k], axis=1) for k in range(1, 9))
    text = compiled([x], [shifted], rng.normal(size=(8, 200)))
    assert "i1 < 192;" in text and len(re.findall("for .*i1 = ", text)) == 3  # and tanh, which is stored


@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_short_arrays_and_edges_that_meet(n, rng):
    x = T.tensor("x", "float64", shape=(n, 20 * n))
    around = sum(T.roll(x, k, axis) * (k + 5) for axis in (0, 1) for k in (1, -1, 2))
    compiled([x], [around, tg.grad((around**2).sum(), x)], rng.normal(size=(n, 20 * n)))


@pytest.mark.parametrize("seed", range(12))
def test_random_neighbours(seed):
    """Shifted, joined and written parts of random arrays, their gradients, and loops over them."""
    rng = np.random.default_rng(seed)
    shape = tuple(int(rng.choice([1, 2, 3, 9, 20])) for _ in range(rng.integers(1, 4)))
    v = T.tensor("v", "float64", shape=shape)

    def step(x):
        out = 0.5 * x
        for _ in range(rng.integers(1, 4)):
            axis, k = int(rng.integers(len(shape))), int(rng.integers(1, 3))
            before = (slice(None),) * axis
            kind = rng.integers(4)
            if kind == 0:
                y = T.roll(x, k, axis)
            elif kind == 1:
                y = T.concatenate([x[(*before, slice(0, 1))] * 0.3, T.sin(x[(*before, slice(0, -1))])], axis=axis)
            elif kind == 2:
                y = T.inc_subtensor(x[(*before, slice(None, None, k))], 0.25)
            else:
                y = T.set_subtensor(x[(*before, slice(-1, None))], T.cos(x[(*before, slice(0, 1))]))
            out = out + y * round(float(rng.random()), 2)
        return T.tanh(out)

    result = step(v)
    if seed % 3 == 0:
        state = rng.bit_generator.state

        def again(x):
            rng.bit_generator.state = state
            return step(x)

        result = tg.scan(again, outputs_info=v, n_steps=3)[0][-1]
    weights = rng.normal(size=shape)
    gradient = tg.grad((result * weights).sum(), v)
    compiled([v], [result, result.sum(), gradient], rng.normal(size=shape))


@pytest.mark.parametrize("write", [T.inc_subtensor, T.set_subtensor])
def test_functions_of_what_is_written_one_by_one_have_a_loop_of_their_own(write, rng):
    """A loop that scatters runs in order: what it computes is computed one element at a time."""
    x, i = T.tensor("x", "float64", shape=(500,)), T.tensor("i", "int64", shape=(500,))
    text = compiled(
        [x, i], [write(T.zeros(20)[i], T.tanh(x) * 2 + T.exp(-x))], rng.normal(size=500), rng.integers(0, 20, 500)
    )
    loops = re.findall(r"for \(int64_t i0[^{]*\{\n(.*?)\n    \}", text, re.S)
    (scatter,) = [body for body in loops if re.search(r"out0\[k0\]", body)]
    assert "tanh" not in scatter and "exp" not in scatter


def test_choices_inside_choices_that_a_row_is_summed_over(rng):
    """gcc 12 took a wrong arm for the second vector of each row."""
    x = T.tensor("x", "float32", shape=(30, 40))
    d = x + T.concatenate([x[:, :1], T.cos(x[:, 1:-1]), x[:, -1:]], axis=1)
    zeros = T.zeros((30, 3), "float32")
    d += T.concatenate([zeros, d, zeros], axis=1)[:, 2:42]
    written = T.inc_subtensor(d[1:20, 5:32], x[1:20, 5:32])
    value = rng.normal(size=(30, 40)).astype("float32")
    outputs = [written, written.sum(axis=1)]
    wanted = tg.function([x], outputs, mode=tg.Mode(linker="py"))(value)
    for found, want in zip(tg.function([x], outputs)(value), wanted):
        np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-4)


def test_what_is_added_to_windows_is_chosen_in_no_loop_over_whole_rows(rng):
    """The gradient of a step on staggered grids: elements inside a window are added to four other windows."""
    e, hx, hy = (
        T.tensor(name, "float64", shape=s) for name, s in (("e", (64, 64)), ("hx", (64, 63)), ("hy", (63, 64)))
    )
    a, b = hx - 0.5 * (e[:, 1:] - e[:, :-1]), hy + 0.5 * (e[1:] - e[:-1])
    curl = b[1:, 1:-1] - b[:-1, 1:-1] - a[1:-1, 1:] + a[1:-1, :-1]
    cost = (T.pad(e[1:-1, 1:-1] + 0.5 * curl, 1) ** 3).sum() + (a**3).sum() + (b**3).sum()
    values = [rng.normal(size=s) for s in ((64, 64), (64, 63), (63, 64))]
    text = compiled([e, hx, hy], tg.grad(cost, [e, hx, hy]), *values)
    loops = re.findall(r"i1 < 6[0-4]; i1.*?\n        }", text, re.DOTALL)
    assert len(loops) >= 4 and not any(CHOICE.search(loop) for loop in loops if "i1 < 62;" in loop)
