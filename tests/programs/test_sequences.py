"""Whole programs over sequences, each beside the same in NumPy: loops in loops, writes in carries, masks, integers."""

import numpy as np
import pytest
import scipy.special as sp

import termgraph as tg
import termgraph.tensor as T

LINKER = "auto"


def log_rows(a):
    return np.log(a / a.sum(axis=-1, keepdims=True))


def baum_welch(log_a, log_b, log_p, seen, rounds=3):
    """Expectation maximisation of a hidden Markov model, in logs."""

    def round_(model, _):
        a, b, p = model
        e = b[:, seen].T
        _, forth = tg.loop(lambda v, row: (T.logsumexp(v[:, None] + a, axis=0) + row,) * 2, p + e[0], e[1:])
        forth = T.concatenate([(p + e[0])[None], forth])
        _, back = tg.loop(lambda v, row: (T.logsumexp(a + (row + v)[None], axis=1),) * 2, T.zeros_like(p), e[1:][::-1])
        back = T.concatenate([back[::-1], T.zeros_like(p)[None]])
        likelihood = T.logsumexp(forth[-1])
        at = forth + back - likelihood
        pairs = forth[:-1, :, None] + a[None] + (e[1:] + back[1:])[:, None, :] - likelihood
        new_a = T.logsumexp(pairs, axis=0) - T.logsumexp(at[:-1], axis=0)[:, None]
        each = T.eq(seen[:, None], T.arange(b.shape[1])[None])
        new_b = T.log(T.exp(at).T @ each) - T.logsumexp(at, axis=0)[:, None]
        return (new_a, new_b, at[0]), likelihood

    (a, b, p), likelihoods = tg.loop(round_, (log_a, log_b, log_p), length=rounds)
    return a, b, p, likelihoods


def baum_welch_in_numpy(log_a, log_b, log_p, seen, rounds=3):
    found = []
    for _ in range(rounds):
        a, b, p, n = np.exp(log_a), np.exp(log_b), np.exp(log_p), len(seen)
        forth, back = np.zeros((n, len(p))), np.ones((n, len(p)))
        forth[0] = p * b[:, seen[0]]
        for t in range(1, n):
            forth[t] = forth[t - 1] @ a * b[:, seen[t]]
        for t in range(n - 2, -1, -1):
            back[t] = a @ (b[:, seen[t + 1]] * back[t + 1])
        total = forth[-1].sum()
        found.append(np.log(total))
        at = forth * back / total
        ahead = b[:, seen[1:]].T * back[1:]
        pairs = forth[:-1, :, None] * a[None] * ahead[:, None, :] / total
        a = pairs.sum(axis=0) / at[:-1].sum(axis=0)[:, None]
        b = np.stack([at[seen == k].sum(axis=0) for k in range(b.shape[1])], axis=1) / at.sum(axis=0)[:, None]
        log_a, log_b, log_p = np.log(a), np.log(b), np.log(at[0])
    return log_a, log_b, log_p, np.array(found)


def test_baum_welch_and_its_gradient_are_compiled(rng):
    values = [log_rows(rng.uniform(0.1, 1, size=shape)) for shape in ((3, 3), (3, 3), 3)]
    values.append(np.array([0, 1, 2, 2, 0, 1, 0, 2]))
    inputs = [T.dmatrix("a"), T.dmatrix("b"), T.dvector("p"), T.lvector("seen")]
    results = baum_welch(*inputs)
    for got, want in zip(tg.function(inputs, list(results))(*values), baum_welch_in_numpy(*values)):
        np.testing.assert_allclose(got, want, rtol=1e-9)
    slopes = tg.function(inputs, tg.grad(results[3].sum(), inputs[:3]))
    assert slopes.maker.work.not_native is None
    cost = lambda *v: baum_welch_in_numpy(*v, values[3])[3].sum()  # noqa: E731
    for k, slope in enumerate(slopes(*values)):
        step = rng.normal(size=slope.shape) * 1e-6
        up, down = (cost(*[v + sign * step if i == k else v for i, v in enumerate(values[:3])]) for sign in (1, -1))
        np.testing.assert_allclose((slope * step).sum(), (up - down) / 2, rtol=1e-5, atol=1e-12)


def gibbs(documents, words, topics, draws, by_document, by_word):
    """Collapsed Gibbs sampling of topics: each token is taken out of the counts, drawn, and put in again."""

    def token(counts, row):
        d_k, k_w, total = counts
        d, w, old, u = row
        d_k, k_w = T.inc_subtensor(d_k[d, old], -1), T.inc_subtensor(k_w[old, w], -1)
        total = T.inc_subtensor(total[old], -1)
        until = T.cumsum((d_k[d] + 0.1) * (k_w[:, w] + 0.01) / (total + 0.01 * k_w.shape[1]))
        new = (until < u * until[-1]).sum()
        d_k, k_w = T.inc_subtensor(d_k[d, new], 1), T.inc_subtensor(k_w[new, w], 1)
        return (d_k, k_w, T.inc_subtensor(total[new], 1)), new

    def sweep(state, row):
        counts, old = state
        counts, new = tg.loop(token, counts, (documents, words, old, row))
        return (counts, new), new

    (counts, _), chosen = tg.loop(sweep, ((by_document, by_word, by_word.sum(axis=1)), topics), draws)
    return chosen, counts[0], counts[1]


def gibbs_in_numpy(documents, words, topics, draws, d_k, k_w):
    d_k, k_w, topics, chosen = d_k.copy(), k_w.copy(), topics.copy(), []
    for row in draws:
        for i, (d, w, u) in enumerate(zip(documents, words, row)):
            d_k[d, topics[i]] -= 1
            k_w[topics[i], w] -= 1
            until = np.cumsum((d_k[d] + 0.1) * (k_w[:, w] + 0.01) / (k_w.sum(axis=1) + 0.01 * k_w.shape[1]))
            topics[i] = (until < u * until[-1]).sum()
            d_k[d, topics[i]] += 1
            k_w[topics[i], w] += 1
        chosen.append(topics.copy())
    return np.array(chosen), d_k, k_w


@pytest.mark.parametrize("tokens, sweeps", [(20, 3), (1, 1), (20, 0)])
def test_gibbs_sampling_of_topics(tokens, sweeps, rng):
    documents, words, topics = (rng.integers(0, most, tokens) for most in (3, 5, 4))
    d_k, k_w = np.zeros((3, 4), "int64"), np.zeros((4, 5), "int64")
    np.add.at(d_k, (documents, topics), 1)
    np.add.at(k_w, (topics, words), 1)
    values = [documents, words, topics, rng.uniform(size=(sweeps, tokens)), d_k, k_w]
    inputs = [T.lvector(), T.lvector(), T.lvector(), T.dmatrix(), T.lmatrix(), T.lmatrix()]
    f = tg.function(inputs, list(gibbs(*inputs)))
    assert f.maker.work.not_native is None
    for got, want in zip(f(*values), gibbs_in_numpy(*values)):
        np.testing.assert_array_equal(got, np.reshape(want, got.shape))


def test_edit_distance(rng):
    """A loop along one word in a loop along the other, also where one of them is empty."""
    a, b = T.lvectors("a", "b")

    def row(letter, above):
        cell = lambda other, up, corner, left: T.minimum(T.minimum(up, left) + 1, corner + T.neq(letter, other))  # noqa: E731
        cells, _ = tg.scan(cell, [b, above[1:], above[:-1]], above[0] + 1)
        return T.concatenate([(above[0] + 1)[None], cells])

    rows, _ = tg.scan(row, a, T.arange(b.shape[0] + 1))
    f = tg.function([a, b], rows)
    for n, m in ((6, 5), (1, 1), (4, 0)):
        x, y = rng.integers(0, 3, n), rng.integers(0, 3, m)
        want = np.add.outer(np.arange(n + 1), np.arange(m + 1))
        for i in range(n):
            for j in range(m):
                want[i + 1, j + 1] = min(want[i, j + 1] + 1, want[i + 1, j] + 1, want[i, j] + (x[i] != y[j]))
        np.testing.assert_array_equal(f(x, y), want[1:])


def test_tags_with_padding(rng):
    """A conditional random field: likelihood of a batch of padded sequences, and the best tags by going back."""
    scores, lengths = rng.normal(size=(3, 5, 3)), np.array([5, 2, 4])
    change = rng.normal(size=(3, 3))
    e, m, w = T.dtensor3("e"), T.matrix("m", dtype="bool"), T.dmatrix("w")

    def step(total, row):
        here, real = row
        return T.where(real[:, None], T.logsumexp(total[:, :, None] + w[None], axis=1) + here, total), None

    def best(total, row):
        here, real = row
        ways = total[:, :, None] + w[None]
        total = T.where(real[:, None], ways.max(axis=1) + here, total)
        return total, T.where(real[:, None], ways.argmax(axis=1), T.arange(3)[None])

    rows = (T.moveaxis(e, 1, 0)[1:], m.T[1:])
    total, _ = tg.loop(step, e[:, 0], rows)
    most, ways = tg.loop(best, e[:, 0], rows)
    back = lambda tag, way: (T.take_along_axis(way, tag[:, None], axis=1)[:, 0],) * 2  # noqa: E731
    last = most.argmax(axis=1)
    _, path = tg.loop(back, last, ways[::-1])
    partition = T.logsumexp(total, axis=1)
    f = tg.function([e, m, w], [partition, T.concatenate([path[::-1], last[None]]).T, tg.grad(partition.sum(), w)])
    found, tags, slope = f(scores, np.arange(5) < lengths[:, None], change)
    for k, n in enumerate(lengths):
        every = np.indices((3,) * n).reshape(n, -1)
        sums = scores[k, np.arange(n)[:, None], every].sum(axis=0) + change[every[:-1], every[1:]].sum(axis=0)
        np.testing.assert_allclose(found[k], sp.logsumexp(sums), rtol=1e-12)
        np.testing.assert_array_equal(tags[k, :n], every[:, sums.argmax()])
        chances = np.exp(sums - found[k])
        for step_ in zip(every[:-1], every[1:]):
            np.subtract.at(slope, step_, chances)  # what is expected of each change of tags is its slope
    np.testing.assert_allclose(slope, 0, atol=1e-12)


def test_hashes_wrap_around():
    """FNV-1a and SplitMix64: products, shifts and remainders of 64 bits without a sign."""
    data, seed = T.tensor("data", dtype="uint8", shape=(None,)), T.tensor("seed", dtype="uint64", shape=())
    mixed = lambda c, h: (h ^ c.astype("uint64")) * np.uint64(0x100000001B3)  # noqa: E731
    hashes, _ = tg.scan(mixed, data, T.constant(np.uint64(0xCBF29CE484222325)))

    def split_mix(z, _):
        z = z + np.uint64(0x9E3779B97F4A7C15)
        q = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        q = (q ^ (q >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z, q ^ (q >> np.uint64(31))

    _, words = tg.loop(split_mix, seed, length=6)
    f = tg.function([data, seed], [hashes[-1], words, words % np.uint64(10), (words > np.uint64(2**63)).sum()])
    last, found, rests, high = f(np.frombuffer(b"hello world", "uint8"), np.uint64(0))
    assert int(last) == 0x779A65E7023CD2E7 and found.dtype == "uint64"
    assert [hex(w) for w in found.tolist()[:3]] == ["0xe220a8397b1dcdaf", "0x6e789e6aa1b965f4", "0x6c45d188009454f"]
    assert rests.tolist() == [w % 10 for w in found.tolist()] and high == sum(w > 2**63 for w in found.tolist())
