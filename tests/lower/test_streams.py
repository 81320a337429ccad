"""Values that many loops would add up anew from many arrays are stored; what is cheap to read again is not."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.lower.lengths.shapes import Lengths
from termgraph.lower.loops.phases import phases
from termgraph.lower.loops.plan import Planner
from termgraph.lower.loops.scopes import Scope
from termgraph.lower.loops.tree import Call, Kernel
from termgraph.lower.lowering import lower
from termgraph.lower.memory.plan import loads
from termgraph.lower.push.expand import expand
from termgraph.lower.push.kernel import scalars
from termgraph.lower.schedule import streams as streams_module
from termgraph.lower.schedule.streams import foreseen, streams
from termgraph.lower.storage.policy import Storage, Store
from termgraph.terms.term import Arg
from termgraph.terms.traverse import substitute


def lowered(inputs, outputs):
    args = {v.term: Arg(k, v.term.type) for k, v in enumerate(inputs)}
    return lower(substitute([o.term for o in outputs], args))


def most_arrays(made):
    return max(len({b for b, _ in loads(n)}) for n in made.nodes if isinstance(n, Kernel))


def residual(layers):
    """A stream to which each layer adds: x + sum over layers of products of normalised rows."""
    x = h = T.tensor("x", dtype="float32", shape=(64, 32))
    weights = [T.tensor(f"w{k}", dtype="float32", shape=(32, 32)) for k in range(layers)]
    for w in weights:
        away = h - h.mean(axis=1, keepdims=True)
        h = h + (away / T.sqrt((away * away).mean(axis=1, keepdims=True) + 1e-5)) @ w
    return [x, *weights], [(h * h).mean()]


def test_kernels_read_no_more_arrays_in_deeper_nets():
    assert most_arrays(lowered(*residual(12))) == most_arrays(lowered(*residual(5)))


def test_what_is_stored_for_each_layer_is_the_same():
    few, many = (lowered(*residual(n)).statements for n in (5, 12))
    assert len(many.cuts) - len(few.cuts) == 7 * 3  # a product, its operand and the stream


a, b, c, d = (T.tensor(n, dtype="float64", shape=(40, 50)) for n in "abcd")
small = [T.tensor(n, dtype="float64", shape=(3, 4)) for n in "pqrs"]


def products(u, wide):
    """Loops that cannot be one: each is behind a product of the one before."""
    outs = []
    for _ in range(wide):
        outs.append(((u * 2) if not outs else u + outs[-1]) @ T.ones((u.type.shape[1],) * 2))
    return outs


def found(inputs, u, loops):
    args = {v.term: Arg(k, v.term.type) for k, v in enumerate(inputs)}
    outputs, _ = expand(substitute([o.term for o in products(u, loops)], args), ["float64"])
    storage = Storage(outputs, Lengths(outputs, False, False, ()))
    storage.settle()
    return streams(storage)


@pytest.mark.parametrize(
    ("sum_", "loops", "stored"),
    [
        (lambda a, b, c, d: a + b + c + d, 3, True),
        (lambda a, b, c, d: a + b, 3, False),  # two arrays, few loops: stored it would be no less to read
        (lambda a, b, c, d: a + b, 6, True),
        (lambda a, b, c, d: a + b[0] + c[0], 6, False),  # rows are small
        (lambda a, b, c, d: a * 2 + 1, 6, False),
    ],
)
def test_by_bytes(sum_, loops, stored):
    assert bool(found([a, b, c, d], sum_(a, b, c, d), loops)) == stored


def test_of_a_chain_of_sums_only_the_last_is_stored():
    assert len(found([a, b, c, d], ((a + b) + c) + d, 6)) == 1


def test_small_arrays_are_computed_again():
    p, q, r, s = small
    assert not found(small, p + q + r + s, 6)


@pytest.mark.parametrize(
    ("rows", "columns", "axis", "stored"), [(40, 50, 0, True), (12, 32, 0, True), (3, 50, 0, False), (4, 8, 0, False)]
)
def test_sums_that_a_norm_and_a_later_loop_ask_for_are_stored(rows, columns, axis, stored):
    """As gradients of biases are, which are clipped by the norm of all: the update waits for the norm."""
    x = T.tensor("x", dtype="float64", shape=(rows, columns))
    sums = x.sum(axis=axis)
    made = lowered([x], [sums / (sums * sums).sum()])
    assert any(b.shape == made.statements.outputs[0].shape for b in made.statements.temps) == stored
    value = np.random.default_rng(1).standard_normal((rows, columns))
    expected = value.sum(axis=axis)
    np.testing.assert_allclose(tg.function([x], sums / (sums * sums).sum())(value), expected / (expected**2).sum())


@pytest.mark.parametrize(("rows", "stored"), [(2, False), (4, True)])
def test_sums_of_two_and_three_are_made_again(rows, stored):
    """However many loops ask for them: an array more, and results rounded in another order, for an addition."""
    x = T.tensor("x", dtype="float64", shape=(rows, 90))
    sums = y = x.sum(axis=0)
    for _ in range(5):
        y = sums / (y * y).sum()
    made = lowered([x], [y])
    assert any(b.shape == made.statements.outputs[0].shape for b in made.statements.temps) == stored


def test_a_product_that_is_added_to_zeros_is_written_at_once():
    """Gradients of weights that the steps of a loop share begin so; their memory is free until the product is made."""
    w, a, b = (T.dmatrix(name) for name in "wab")
    total = T.alloc(np.float64(0), w.shape[0], w.shape[1]) + a @ b
    (call,) = lowered([w, a, b], [total]).nodes
    assert isinstance(call, Call) and call.options["beta"] == 0 and "alpha" not in call.options
    f, x, y = tg.function([w, a, b], total), np.arange(6.0).reshape(2, 3), np.ones((3, 4))
    np.testing.assert_array_equal(f(np.ones((2, 4)), x, y), x @ y)
    with pytest.raises(ValueError):
        f(np.ones((3, 4)), x, y)


def settled(layers):
    """The storage of a net with its gradients, before streams are stored."""
    inputs, loss = residual(layers)
    outs = [*loss, *tg.grad(loss[0], inputs[1:])]
    args = {v.term: Arg(k, v.term.type) for k, v in enumerate(inputs)}
    outputs, _ = expand(substitute([o.term for o in outs], args), ["float32"] * len(outs))
    storage = Storage(outputs, Lengths(outputs, False, False, ()))
    storage.settle()
    return storage


def begun(inputs, outputs):
    """Storage whose products are written, and nothing else."""
    args = {v.term: Arg(k, v.term.type) for k, v in enumerate(inputs)}
    outputs, _ = expand(substitute([o.term for o in outputs], args), ["float32", "float64"])
    storage = Storage(outputs, Lengths(outputs, False, False, ()))
    storage.begin()
    return storage


@pytest.mark.parametrize(
    ("sum_", "loops", "stored"),
    [
        (lambda a, b, c, d: a + b + c + d, 3, True),
        (lambda a, b, c, d: ((a + b) * c + d) * 2, 3, True),
        (lambda a, b, c, d: a + b, 3, False),
        (lambda a, b, c, d: a + b, 6, True),
        (lambda a, b, c, d: a + b[0] + c[0], 6, False),
        (lambda a, b, c, d: a * 2 + 1, 6, False),
        (lambda a, b, c, d: T.exp(a + b + c) + d, 3, False),  # the exponential may be stored: two arrays
        (lambda a, b, c, d: (a + b + c).sum(axis=1, keepdims=True) + d, 3, False),
    ],
)
def test_streams_are_foreseen_by_the_same_criterion(sum_, loops, stored):
    inputs, outputs = [a, b, c, d], products(sum_(a, b, c, d), loops)
    assert len(foreseen(begun(inputs, outputs))) == stored


def test_of_many_arrays_as_many_are_told_apart_as_matter():
    """In chains of any length: what is read for a link of it is no larger set."""
    x = [T.tensor(f"x{k}", dtype="float64", shape=(40, 50)) for k in range(60)]
    for total in (sum(x[1:], x[0]), sum((y + total for y in x[-1:] for total in [sum(x[1:-1], x[0])]), x[0])):
        assert len(foreseen(begun(x, products(total, 3)))) == 1


def test_a_chain_of_streams_is_foreseen_but_for_its_end():
    """Sums over rows are not."""
    late = []
    for layers in (6, 12):
        inputs, loss = residual(layers)
        storage = begun(inputs, [*loss, *tg.grad(loss[0], inputs[1:])])
        for t in foreseen(storage):
            storage.keep(t)
        storage.settle()
        late.append(sum(t.op.kind == "elementwise" for t in streams(storage)))
    assert late[0] == late[1] <= 3, late


def test_small_streams_are_not_foreseen():
    p, q, r, s = small
    assert not foreseen(begun(small, products(p + q + r + s, 6)))


def test_users_are_the_loops_that_compute_an_element():
    storage = settled(5)
    planner, top = Planner(storage.scalars), Scope(None)
    folds = planner.placeable(storage.stores, top)
    phase = phases(planner.predecessors(folds, storage.stores, top))
    outer, expected = set(folds), {}
    for y, value, var in streams_module._loops(folds, storage.stores):  # by definition: each loop is walked by itself
        for s in scalars([value], lambda t, y=y: t in outer and t is not y):
            if streams_module._could_be_stored(storage, s):
                expected.setdefault(s, set()).add((phase[y], var))
    assert streams_module._users(storage, storage.stores) == expected
    assert max(map(len, expected.values())) > 5


def test_looking_for_users_is_linear_in_the_depth(monkeypatch):
    counts, below = [], streams_module.operands_of
    for layers in (4, 8, 16):
        storage, seen = settled(layers), []
        with monkeypatch.context() as patched:
            patched.setattr(streams_module, "operands_of", lambda t, seen=seen: seen.append(t) or below(t))
            streams_module._users(storage, storage.stores)
        assert len(seen) == len(set(seen)) > 0  # each element once
        counts.append(len(seen))
    assert counts[2] - counts[1] <= 2.2 * (counts[1] - counts[0])


def test_values_are_the_same():
    x, *weights = (inputs := residual(6))[0]
    rng = np.random.default_rng(0)
    values = [rng.standard_normal((64, 32)).astype("float32"), *rng.standard_normal((6, 32, 32)).astype("float32")]
    f = tg.function([x, *weights], inputs[1])
    h = values[0].astype("float64")
    for w in values[1:]:
        away = h - h.mean(axis=1, keepdims=True)
        h = h + away / np.sqrt((away * away).mean(axis=1, keepdims=True) + 1e-5) @ w
    np.testing.assert_allclose(f(*values)[0], (h * h).mean(), rtol=1e-4)


@pytest.mark.parametrize("length", [30, 200])
def test_short_arrays_are_stored_where_chains_of_them_would_be_made_again(length):
    """Columns that are made orthogonal to all before them: each sum computed all columns before its own once more."""
    a, columns = T.tensor("a", dtype="float64", shape=(length, 9)), []
    for k in range(9):
        v = a[:, k]
        for q in columns:
            v = v - (q @ v) * q
        columns.append(v / T.sqrt((v**2).sum()))
    made = lowered([a], [T.stack(columns, axis=1)])
    assert sum(bool(b.shape) for b in made.statements.temps) >= 8


def test_a_few_elements_are_computed_again():
    """Three elements cost less than a loop."""
    x = T.tensor("x", dtype="float64", shape=(3, 5))
    v = x[:, 0] + x[:, 1] + x[:, 2]
    assert not lowered([x], [T.exp(v).sum(), T.tanh(v).sum(), (v * v).max()]).statements.temps


def test_results_over_joins_inside_joins_are_made_anew_where_their_parts_are_stored():
    """An interpolated grid, smoothed twice and padded: the result held what was computed before parts were stored."""
    f = T.tensor("f", dtype="float64", shape=(9, 9))

    def smooth(u):
        near = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
        return T.pad(u[1:-1, 1:-1] * 0.2 + 0.2 * near, 1)

    c = smooth(smooth(smooth(f)))
    rows = T.stack([c[:-1], 0.5 * (c[1:] + c[:-1])], axis=1).reshape((16, 9))
    rows = T.concatenate([rows, c[-1:]], axis=0)
    fine = T.stack([rows[:, :-1], 0.5 * (rows[:, 1:] + rows[:, :-1])], axis=2).reshape((17, 16))
    made = lowered([f], [smooth(smooth(T.concatenate([fine, rows[:, -1:]], axis=1)))])
    assert max(len(scalars([x.value])) for x in made.statements.stores if isinstance(x, Store)) < 60
