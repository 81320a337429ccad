"""Deep graphs: the work of lowering grows with the number of layers, counted in rounds, visits and walks."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c import placement
from termgraph.backends.c.build.compilers import find_compiler
from termgraph.compile import capture as captured
from termgraph.lower.lengths import index
from termgraph.lower.loops import phases, tree
from termgraph.lower.loops.plan import Planner
from termgraph.lower.loops.tree import Choice, Kernel, Repeat, Routine, walk
from termgraph.lower.lowering import lower
from termgraph.lower.memory import operand_places
from termgraph.lower.memory import plan as memory
from termgraph.lower.push import small_folds
from termgraph.lower.push.driver import Push
from termgraph.lower.push.kernel import Buf
from termgraph.lower.schedule import product_epilogues, row_tiles, rows
from termgraph.lower.storage import routines
from termgraph.lower.storage.policy import Storage
from termgraph.lower.storage.worklist import Worklist
from termgraph.terms.term import Arg
from termgraph.terms.traverse import substitute


def residual_mlp(layers, gradient):
    """x + relu(batch norm(dense(x))), summed; with the gradients of all weights if asked for."""
    x = h = T.tensor("x", dtype="float32", shape=(16, 8))
    weights = []
    for k in range(layers):
        weights.append(T.tensor(f"w{k}", dtype="float32", shape=(8, 8)))
        y = h @ weights[-1]
        y = y - y.mean(axis=0)
        h = h + T.maximum(y / T.sqrt((y * y).mean(axis=0) + 1e-5), 0)
    loss = (h * h).mean()
    return [x, *weights], [loss, *(tg.grad(loss, weights) if gradient else [])]


def lowered(layers, gradient=True):
    inputs, outputs = residual_mlp(layers, gradient)
    outputs = tg.rewrite(outputs, "+canonicalize")
    args = {v.term: Arg(k, v.term.type) for k, v in enumerate(inputs)}
    return lower(substitute([o.term for o in outputs], args))


@pytest.mark.parametrize("gradient", [False, True])
def test_the_number_of_rounds_does_not_grow_with_depth(gradient):
    few, many = (lowered(n, gradient).statements for n in (4, 12))
    assert few.rounds == many.rounds <= 2
    per_layer = (len(many.cuts) - len(few.cuts)) / 8  # and what is stored grows by the same for each layer
    assert per_layer == int(per_layer)


@pytest.mark.parametrize("remembered", [index._remembered, operand_places._remembered])
def test_equal_layers_ask_for_the_same_divisions_and_places(remembered):
    made = []
    for layers in (4, 12):
        remembered.cache_clear()
        lowered(layers)
        made.append(remembered.cache_info().misses)
    assert made[0] == made[1] > 0


@pytest.mark.skipif(find_compiler() is None, reason="needs a C compiler")
def test_equal_layers_are_asked_once_whether_c_can_compute_them(monkeypatch):
    asked, real = [], placement.why_not
    monkeypatch.setattr(placement, "why_not", lambda t: asked.append(t.op) or real(t))
    monkeypatch.setattr(tg.config.cache, "programs", False)
    counts = []
    for layers in (4, 12):
        asked.clear()
        inputs, outputs = residual_mlp(layers, True)
        tg.function(inputs, outputs)
        counts.append(len(asked))
    assert counts[0] == counts[1]


@pytest.mark.skipif(find_compiler() is None, reason="needs a C compiler")
def test_equal_convolutions_are_measured_once_and_their_graph_is_made_once(monkeypatch):
    """Lengths of shared variables are known when a graph is captured; operands that lie somewhere are not pushed."""
    measured, made, looked = [], [], []
    for module, name, seen in ((routines, "_core_lengths", measured), (captured, "substitute", made)):
        real = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *given, real=real, seen=seen: seen.append(given) or real(*given))
    at = Push.at
    monkeypatch.setattr(Push, "at", lambda self, t, index: looked.append(t) or at(self, t, index))
    monkeypatch.setattr(tg.config.cache, "programs", False)
    counts = []
    for layers in (2, 6):
        measured.clear(), made.clear(), looked.clear()
        x = h = T.tensor("x", dtype="float32", shape=(2, 4, 8, 8))
        weights = [tg.shared(np.ones((4, 4, 3, 3), "float32")) for _ in range(layers)]
        for w in weights:
            h = T.tanh(T.nnet.conv2d(h, w, border_mode=(1, 1)))
        loss = (h * h).mean()
        tg.function([x], [loss, *tg.grad(loss, weights)])
        counts.append((len(measured), len(looked)))
        assert len(made) == 2  # of the loss, by which the cache is asked, and of all
    assert counts[0][0] == counts[1][0]
    assert counts[1][1] - counts[0][1] <= 4 * 4  # the elements of stored terms: of tanh and of its gradient, mostly


def test_kernels_of_which_no_row_is_divided_stay_what_they_are():
    nodes = lowered(4).nodes
    assert all(a is b for a, b in zip(row_tiles.tile_rows(nodes), nodes))


def test_a_long_chain_of_choices_is_stored_at_once():
    """The gradient of a sum of terms over elements of one array adds to one element after the other."""
    rounds = []
    for count in (12, 48):
        theta, x = T.tensor("theta", dtype="float32", shape=(count,)), T.tensor("x", dtype="float32", shape=(7, 20))
        terms = [((x[k % 7] - theta[k]) ** 2).sum() if k % 3 else T.exp(theta[k]) for k in range(count)]
        outputs = tg.rewrite([theta - 0.01 * tg.grad(sum(terms), theta)], "+canonicalize")
        args = {theta.term: Arg(0, theta.term.type), x.term: Arg(1, x.term.type)}
        rounds.append(lower(substitute([o.term for o in outputs], args)).statements.rounds)
    assert rounds[1] == rounds[0], rounds


def test_what_is_stored_late_is_looked_for_only_where_something_was_pushed(monkeypatch):
    """Halves that are joined and never stored are a chain from the first layer to the last, above each product."""
    seen = [0]
    real = Worklist.above
    monkeypatch.setattr(
        Worklist, "above", lambda *given: seen.__setitem__(0, seen[0] + len(found := real(*given))) or found
    )
    monkeypatch.setattr(tg.config.cache, "programs", False)
    counts = []
    for layers in (8, 16, 32):
        seen[0] = 0
        x = h = T.tensor("x", dtype="float32", shape=(8, 16))
        weights = [tg.shared(np.ones((16, 8), "float32")) for _ in range(layers)]
        for w in weights:
            h = T.concatenate([T.tanh(h @ w), T.maximum(h[:, :8], 0)], 1)
        loss = (h * h).mean()
        tg.function([x], [loss, *tg.grad(loss, weights)], mode=tg.Mode(linker="c"))
        counts.append(seen[0])
    a, b, c = counts
    assert 0 < c - b <= 2.2 * (b - a), counts


@pytest.mark.parametrize("gradient", [False, True])
def test_each_term_is_pushed_through_a_few_times_at_any_depth(gradient):
    """Rules that ran, by term: two passes, what is pushed anew where something is stored later, and elements of short
    folds that are written out."""
    per_term = []
    for layers in (4, 16, 32):
        made = lowered(layers, gradient)
        per_term.append(made.statements.pushes / len(made.lengths.shapes))
    assert per_term[2] <= per_term[1] * 1.02 <= per_term[0] * 1.3, per_term
    assert per_term[2] <= 10, per_term


def test_sums_are_written_when_it_is_known_what_they_are_made_of(monkeypatch):
    """What elementwise statements need in every row is stored; sums that were written before were written anew. So were
    those above streams that were found at the end."""
    written, write = [], Storage._write
    monkeypatch.setattr(Storage, "_write", lambda self, t: written.append(t) or write(self, t))
    again = []
    for layers in (6, 12):
        written.clear()
        lowered(layers)
        again.append(len(written) - len(set(written)))
    assert again[0] == again[1] <= 15, again  # the ends of chains only, at any depth


@pytest.mark.parametrize("joined", [False, True])
def test_joins_are_looked_for_only_where_there_are_some(joined, monkeypatch):
    seen, look = [], small_folds._is_stacked
    monkeypatch.setattr(small_folds, "_is_stacked", lambda *given: seen.append(given) or look(*given))
    x = T.tensor("x", dtype="float32", shape=(16, 8))
    y = T.concatenate([x, T.exp(x)], axis=1) if joined else T.exp(x)
    lower([T.sqr(y).sum(axis=0).term.op(*substitute([T.sqr(y).term], {x.term: Arg(0, x.term.type)}))])
    assert bool(seen) == joined


def test_counting_is_walking():
    nodes = lowered(4).nodes
    assert tree.count(nodes) == len(list(walk(nodes))) > len(nodes)


def test_folds_over_few_elements_do_not_walk_all_that_is_below(monkeypatch):
    """Of two elements only the places are looked at where they differ."""
    seen = [0]
    real = small_folds.kids
    monkeypatch.setattr(small_folds, "kids", lambda t: seen.__setitem__(0, seen[0] + 1) or real(t))
    counts = []
    for layers in (4, 8, 16):
        seen[0] = 0
        lowered(layers)
        counts.append(seen[0])
    a, b, c = counts
    assert 0 < c - b <= 2.05 * (b - a), counts


def test_loops_are_joined_on_trial_only_where_they_could_be(monkeypatch):
    """Whether loops are alike is asked before a statement is made anew with the values of others in it."""
    results = []
    real = rows._Joining._run_together
    monkeypatch.setattr(rows._Joining, "_run_together", lambda *a: results.append(real(*a)) or results[-1])
    lowered(16)
    assert len(results) <= 1.5 * sum(results) > 0, (len(results), sum(results))


def test_few_trials_to_join_the_loops_of_batch_norms_end_in_vain(monkeypatch):
    """A loop that waits for something later is seen before the statement is made anew: 64 of 288 trials did join."""
    results = []
    real = rows._Joining._run_together
    monkeypatch.setattr(rows._Joining, "_run_together", lambda *a: results.append(real(*a)) or results[-1])
    x = h = T.tensor("x", dtype="float32", shape=(16, 32))
    weights = []
    for _ in range(8):
        weights.append(tg.shared(np.ones((32, 32), "float32")))
        y = h @ weights[-1]
        away = y - y.mean(axis=0, keepdims=True)
        h = h + T.maximum(away / T.sqrt((away * away).mean(axis=0, keepdims=True) + 1e-5), 0)
    tg.function([x], tg.grad((h * h).mean(), weights), mode=tg.Mode(linker="c")).stage("schedule")
    assert len(results) <= 1.5 * sum(results) > 0, (len(results), sum(results))


def test_kernels_are_walked_once_for_what_they_read_and_write(monkeypatch):
    """Nine readers ask for it, one stage after the other."""
    walked = []
    real = memory._looked_up
    monkeypatch.setattr(memory, "_looked_up", lambda n: walked.append(n) or real(n))
    x = T.tensor("x", dtype="float32", shape=(40, 32))
    outputs = [(x * k).sum(axis=1) for k in range(2, 9)]
    f = tg.function([x], outputs, mode=tg.Mode(linker="c"))
    del walked[:]
    f.stage("memory")
    kernels = [n for n in walked if isinstance(n, Kernel)]
    assert kernels and len(kernels) == len(set(map(id, kernels)))


def test_columns_that_are_read_together_are_found_by_what_they_read(monkeypatch):
    """What a store reads is looked at once, not once for every other store."""
    count = [0]
    real = phases._read
    monkeypatch.setattr(phases, "_read", lambda x: count.__setitem__(0, count[0] + 1) or real(x))
    x = T.tensor("x", dtype="float32", shape=(20, 30))
    outputs = [(x * k).sum(axis=0) for k in range(2, 22)]
    made = lower(substitute([o.term for o in outputs], {x.term: Arg(0, x.term.type)}))
    assert count[0] <= 2 * len(made.statements.stores)


def test_a_net_deeper_than_any_limit_there_was_is_lowered():
    assert lowered(25, gradient=False).statements.rounds <= 8


def test_products_are_finished_in_one_walk(monkeypatch):
    """Each statement is walked once for what it reads and writes, not once for every product."""

    def walks(layers):
        made = lowered(layers)
        count = [0]
        with monkeypatch.context() as m:
            real = memory.loads
            m.setattr(memory, "loads", lambda n: count.__setitem__(0, count[0] + 1) or real(n))
            product_epilogues.finish_products(made.nodes, made.statements.temps, [])
        return count[0], len(made.nodes)

    found = [walks(n) for n in (4, 12)]
    assert all(count <= nodes for count, nodes in found), found


def test_rows_are_joined_without_asking_the_whole_program_each_time(monkeypatch):
    """How often a statement is asked what it waits for: by so much more for each layer as for the layers before."""

    def asked(layers):
        count = [0]
        with monkeypatch.context() as m:
            real = Planner.waits_for
            m.setattr(Planner, "waits_for", lambda *a: count.__setitem__(0, count[0] + 1) or real(*a))
            lowered(layers)
        return count[0]

    a, b, c = (asked(n) for n in (4, 8, 16))
    assert c - b <= 2.2 * (b - a), (a, b, c)


def test_loops_that_many_statements_need_are_looked_at_once(monkeypatch):
    """Each update waits for the norm of all gradients, and so for a loop of each layer: no work for each pair."""

    def looked(layers):
        x = h = T.tensor("x", dtype="float32", shape=(16, 32))
        weights = [tg.shared(np.zeros(32, "float32")) for _ in range(layers)]
        for b in weights:
            h = T.maximum(h @ np.ones((32, 32), "float32") + b, 0)
        rule = tg.optim.chain(tg.optim.clip_by_global_norm(1.0), tg.optim.adamw(1e-3))
        f = tg.function([x], [], updates=rule((h * h).mean(), weights), mode=tg.Mode(linker="c"))
        count = [0]
        with monkeypatch.context() as m:
            real = rows._nests
            m.setattr(rows, "_nests", lambda *a: count.__setitem__(0, count[0] + 1) or real(*a))
            f.stage("schedule")
        return count[0]

    a, b, c = (looked(n) for n in (4, 8, 16))
    assert 0 < c - b <= 2.2 * (b - a), (a, b, c)


def test_what_reads_and_writes_a_buffer_is_known_of_each_statement():
    made = lowered(2)
    uses = memory.Uses(made.nodes)
    bufs = {b for n in made.nodes for b in memory.writes(n)}
    assert bufs
    for b in bufs:
        assert isinstance(b, Buf)
        assert uses.writers[b] == [n for n in made.nodes for w in memory.writes(n) if w is b]
        assert uses.readers.get(b, []) == [n for n in made.nodes if any(r is b for r, _ in memory.loads(n))]
        for n in made.nodes:
            assert (n in uses.others(b, made.nodes[0])) == (
                n is not made.nodes[0] and (n in uses.writers[b] or n in uses.readers.get(b, []))
            )


def test_all_results_of_a_loop_a_routine_or_a_choice_are_made_by_one_statement():
    x = T.tensor("x", dtype="float64", shape=(6, 5))
    (h, c), _ = tg.scan(lambda x, h, c: (T.tanh(x + h * c), c + x), sequences=x, outputs_info=[T.zeros(5), T.zeros(5)])
    looped = [h, c, *[tg.grad((h * c).sum(), x)]]
    u, s, v = T.linalg.svd(x, full_matrices=False)
    picked = tg.ifelse(x.sum() > 0, [x + 1, x - 1], [x * 2, x * 3])
    for outputs, kind, most in ((looped, Repeat, 2), ([u, s, v], Routine, 1), (picked, Choice, 1)):
        made = lower(substitute([o.term for o in outputs], {x.term: Arg(0, x.term.type)}))
        assert 0 < sum(isinstance(statement, kind) for statement in made.statements.stores) <= most, kind
