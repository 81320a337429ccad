"""Random streams: known answers, seeding, states in copies and pickles (issue item: random numbers)."""

import copy
import pickle

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler
from termgraph.tensor import distributions
from termgraph.terms.ops.random import philox_words, scale_bits

N = 20_000
needs_c = pytest.mark.skipif(find_compiler() is None, reason="no C compiler")


def draw(make, seed=7):
    return tg.function([], make(T.random.RandomStream(seed)))()


@pytest.mark.parametrize(
    ("key", "step", "index", "words"),
    [  # the known answers of Random123
        (0, 0, 0, "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        (2**64 - 1, 2**64 - 1, 2**64 - 1, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        (0x299F31D0A4093822, 0x0370734413198A2E, 0x85A308D3243F6A88, "d16cfe09 94fdcceb 5001e420 24126ea1"),
    ],
)
def test_philox_known_answers(key, step, index, words):
    args = [np.array(v, dtype=np.uint64) for v in (key, step, index)]
    assert " ".join(f"{int(w):08x}" for w in philox_words(*args)) == words


def test_draws_of_one_stream_are_independent():
    r = T.random.RandomStream(1)
    a, b = tg.function([], [r.normal(size=N), r.normal(size=N)])()
    assert abs(np.corrcoef(a, b)[0, 1]) < 0.03
    f = tg.function([], r.normal(size=N))
    assert abs(np.corrcoef(f(), f())[0, 1]) < 0.03


def test_permutation_and_choice_without_replacement():
    perms = np.array([draw(lambda r: r.permutation(4), seed) for seed in range(200)])
    assert (np.sort(perms, axis=1) == np.arange(4)).all() and len({tuple(p) for p in perms}) == 24
    assert sorted(draw(lambda r: r.choice(np.arange(5) * 10, size=5, replace=False))) == [0, 10, 20, 30, 40]
    rows = draw(lambda r: r.permutation(np.arange(6).reshape(3, 2)))
    assert sorted(map(tuple, rows)) == [(0, 1), (2, 3), (4, 5)]
    weighted = draw(lambda r: r.choice(3, size=2, replace=False, p=np.array([0.5, 0.5, 1e-300])))
    assert sorted(weighted) == [0, 1]


def test_multinomial_counts():
    counts = draw(lambda r: r.multinomial(100, np.array([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]])))
    assert (counts.sum(axis=1) == 100).all() and counts[1, 0] == 100 and (counts >= 0).all()


def test_symbolic_sizes_and_parameters():
    n, p = T.lscalar("n"), T.dvector("p")
    r = T.random.RandomStream(2)
    f = tg.function([n, p], [r.uniform(size=(n, 3)), r.bernoulli(p), r.normal(0, p), r.uniform()])
    a, b, c, d = f(5, [0.0, 1.0])
    assert a.shape == (5, 3) and list(b) == [0, 1] and c.shape == (2,) and c[0] == 0 and d.shape == ()
    with pytest.raises(TypeError, match="known length"):
        r.uniform(size=T.lvector("s"))


def test_seeds():
    def make(seed):
        return T.random.RandomStream(seed)

    r = make(5)
    f = tg.function([], [r.uniform(size=3), r.uniform(size=3)])
    first = f()
    assert not np.array_equal(first[0], first[1]) and not np.array_equal(first[0], f()[0])
    r.seed(5)
    assert np.array_equal(f(), first)
    other = make(5)
    assert np.array_equal(tg.function([], [other.uniform(size=3), other.uniform(size=3)])(), first)
    r.seed(6)
    assert not np.array_equal(f(), first)
    assert not np.array_equal(draw(lambda r: r.uniform(size=3), None), draw(lambda r: r.uniform(size=3), None))
    with pytest.raises(ValueError, match="seed"):
        make(-1)


def test_f24_default_updates_of_states():
    r = T.random.RandomStream(5)
    u = r.uniform(size=2)
    still = tg.function([], u, no_default_updates=True)
    moving = tg.function([], u)
    assert np.array_equal(still(), still())
    start = still()
    assert np.array_equal(moving(), start) and not np.array_equal(still(), start)
    both = tg.function([], [u, u + 0])()
    assert np.array_equal(both[0], both[1])
    updates = r.state_updates
    given = tg.function([], u, updates=updates)
    assert not np.array_equal(given(), given()) and r.updates()[0][0] is updates[0][0]


def test_copies_and_pickles():
    r = T.random.RandomStream(5)
    f = tg.function([], r.normal(size=3))
    g = pickle.loads(pickle.dumps(f))
    assert np.array_equal(f(), g()) and np.array_equal(f(), g())
    h = f.copy()
    before = f()
    assert not np.array_equal(h(), before)
    state = r.state_updates[0][0]
    again = pickle.loads(pickle.dumps(state))
    assert again.default_update.owner is not None
    k = tg.function([], again * 1)
    assert not np.array_equal(k(), k())


def test_float_dtypes_stay_inside_the_interval():
    for dtype in ("bfloat16", "float16", "float32", "float64"):
        u = draw(lambda r, dtype=dtype: r.uniform(size=50_000, dtype=dtype))
        assert u.dtype == dtype and u.min() >= 0 and u.max() < 1
    with tg.config.change_flags(floatX="float32"):
        assert draw(lambda r: r.normal(size=2)).dtype == "float32"


def test_theano_names():
    r = T.random.RandomStreams(1)
    f = tg.function(
        [],
        [
            r.uniform((2, 2)),
            r.normal((3,), 5.0, 0.0),
            r.binomial((4,), 1, 0.5),
            r.random_integers((5,), 1, 3),
            r.permutation(n=4),
            r.multinomial((2,), 3, [0.5, 0.5]),
            r.choice((2,), 4),
        ],
    )
    shapes = [v.shape for v in f()]
    assert shapes == [(2, 2), (3,), (4,), (5,), (4,), (2, 2), (2,)]
    assert set(f()[3]) <= {1, 2, 3} and (f()[1] == 5).all()


def test_element_wise_up_to_the_index():
    u = T.random.RandomStream(1).uniform(size=(4,)) * 2
    kinds = {node.op.kind for node in tg.function([], u, mode="None").maker.fgraph.toposort()}
    assert "other" not in kinds


def pair(make, seed=3):
    """The same draw on the NumPy machine and in C, with the instructions of the C program."""
    fs = [tg.function([], make(T.random.RandomStream(seed)), mode=tg.Mode(linker=linker)) for linker in ("py", "c")]
    return *[(f(), f()) for f in fs], [i.op.kind for i in fs[1].vm.program.instructions]


@needs_c
@pytest.mark.parametrize(
    "make",
    [
        lambda r: r.uniform(size=(7, 5)),
        lambda r: r.uniform(size=(3, 1, 5), dtype="float32"),
        lambda r: r.uniform(size=11, dtype="float16"),
        lambda r: r.bernoulli(0.3, size=40),
        lambda r: r.integers(-5, 2**40, size=(2, 9)),
        lambda r: r.integers(-(2**63), 2**63 - 1, size=9),
        lambda r: r.random_integers(1, 6, size=50),
        lambda r: r.uniform(),
        lambda r: r.uniform(size=(0, 4)),
    ],
)
def test_c_draws_the_same_bits_as_numpy(make):
    on_vm, in_c, kinds = pair(make)
    assert kinds == ["kernel"]
    for a, b in zip(on_vm, in_c):
        assert a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


@needs_c
@pytest.mark.parametrize(
    "make", [lambda r: r.normal(size=(7, 5)), lambda r: r.exponential(2.0, size=9), lambda r: r.normal(2.0, 3.0)]
)
def test_c_agrees_where_libraries_round(make):
    on_vm, in_c, kinds = pair(make)
    assert kinds == ["kernel"]
    for a, b in zip(on_vm, in_c):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)


@needs_c
def test_a_draw_fuses_with_what_uses_it():
    x = T.dmatrix("x")
    mask = T.random.RandomStream(1).bernoulli(0.5, size=x.shape)
    f = tg.function([x], (x * mask * 2).sum(axis=1), mode=tg.Mode(linker="c"))
    assert [i.op.kind for i in f.vm.program.instructions] == ["kernel"]
    assert set(np.unique(f(np.ones((3, 1))))) <= {0.0, 2.0}


def test_an_element_does_not_depend_on_the_shape():
    flat, rows = draw(lambda r: r.uniform(size=12)), draw(lambda r: r.uniform(size=(4, 3)))
    assert np.array_equal(flat, rows.ravel()) and np.array_equal(draw(lambda r: r.uniform(size=5)), flat[:5])


def test_scale_bits_is_the_high_half_of_the_product():
    rng = np.random.default_rng(0)
    bits, width = rng.integers(0, 2**64, (2, 50), dtype=np.uint64)
    want = [(int(b) * int(w)) >> 64 for b, w in zip(bits, width)]
    assert [int(v) for v in scale_bits.meaning(bits, width)] == want
    edge = np.array([2**64 - 1], dtype=np.uint64)
    assert int(scale_bits.meaning(edge, edge)[0]) == 2**64 - 2


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "float64"])
def test_open_intervals_are_open(dtype):
    bits = np.array([0, 2**64 - 1], dtype=np.uint64)
    low, high = tg.function([], distributions._to_unit(T.as_tensor_variable(bits), dtype, True))()
    assert 0 < low < high < 1


def test_batches_of_permutations_and_permuted_rows():
    rows = draw(lambda r: r.permutation(6, size=(50,)))
    assert rows.shape == (50, 6) and (np.sort(rows) == np.arange(6)).all() and len({tuple(p) for p in rows}) > 35
    x = np.arange(40).reshape(4, 10)
    mixed = draw(lambda r: r.permuted(x))
    assert np.array_equal(np.sort(mixed), x) and len({tuple(p) for p in mixed % 10}) == 4
    assert np.array_equal(np.sort(draw(lambda r: r.permuted(x, axis=0)), axis=0), x)


def test_random_states_have_no_gradient():
    r = T.random.RandomStream(3)
    r.normal(size=5)
    x = T.dscalar("x")
    cost = (r.normal(size=3) * x).sum()
    f = tg.function([x], [cost, tg.grad(cost, x)])
    cost_value, slope = f(2.0)
    np.testing.assert_allclose(cost_value, 2 * slope)


def test_streams_and_functions_are_pickled_together():
    r = T.random.RandomStream(5)
    f = tg.function([], r.uniform(size=3))
    g, s = pickle.loads(pickle.dumps((f, r)))
    assert np.array_equal(f(), g())
    s.seed(8)
    r.seed(8)
    assert np.array_equal(f(), g())
    assert np.array_equal(tg.function([], r.uniform(size=2))(), tg.function([], s.uniform(size=2))())


def test_copies_without_updates_and_deep_copies():
    f = tg.function([], T.random.RandomStream(5).uniform(size=3))
    still = f.copy(delete_updates=True)
    assert np.array_equal(still(), still())
    g = copy.deepcopy(f)
    first = f()
    assert np.array_equal(g(), first) and np.array_equal(f(), g())


def test_a_loop_goes_on_where_it_stopped_also_without_its_updates():
    """Its states are then updated once per step, not once per call: no draw comes twice."""
    n = T.lscalar("n")

    def drawn(given):
        stream = T.random.RandomStream(3)
        draws, updates = tg.scan(lambda: stream.uniform(), n_steps=n)
        outs = [draws, stream.normal(size=(2,))]
        f = tg.function([n], outs, updates=updates if given else None, mode=tg.Mode("py"))
        return np.concatenate([*f(3), *f(0), *f(4)])

    np.testing.assert_array_equal(drawn(False), drawn(True))
    assert len(set(drawn(False))) == 7 + 3 * 2
    stream = T.random.RandomStream(3)
    nested, _ = tg.scan(lambda: tg.scan(lambda: stream.uniform(), n_steps=3)[0], n_steps=2)
    f = tg.function([], nested, mode=tg.Mode("py"))
    assert len({*f().ravel(), *f().ravel()}) == 12
    counter = tg.shared(0)
    counter.default_update = counter + 1  # what the loop makes of it is no such update
    f = tg.function([], tg.scan(lambda h: h + 2, outputs_info=counter, n_steps=3)[0], mode=tg.Mode("py"))
    assert [f().tolist(), f().tolist()] == [[2, 4, 6], [3, 5, 7]]


def test_draws_in_a_loop_differ_from_step_to_step():
    r = T.random.RandomStream(5)
    out, updates = tg.scan(lambda: r.uniform(size=2), n_steps=4)
    f = tg.function([], out, updates=updates)
    assert len(np.unique([f(), f()])) == 16
