"""Whole programs on grids and graphs, each beside the same in NumPy: shifted copies, scatters, loops that stop."""

import numpy as np
import scipy.ndimage

import termgraph as tg
import termgraph.tensor as T

LINKER = "auto"
ACROSS, DOWN = np.array([0, 1, 0, -1, 0, 1, -1, -1, 1]), np.array([0, 0, 1, 0, -1, 1, 1, -1, -1])
SHARE = np.array([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4)[:, None, None]
OPPOSITE = [0, 3, 4, 1, 2, 7, 8, 5, 6]


def flow(xp, f, wall):
    """One step of a lattice Boltzmann method: stream, collide, bounce off walls."""
    cx, cy = ACROSS[:, None, None], DOWN[:, None, None]
    f = xp.stack([xp.roll(f[k], (int(ACROSS[k]), int(DOWN[k])), axis=(0, 1)) for k in range(9)])
    density = f.sum(axis=0)
    u, v = (f * cx).sum(axis=0) / density, (f * cy).sum(axis=0) / density
    along = 3 * (cx * u + cy * v)
    rest = density * SHARE * (1 + along + along**2 / 2 - 1.5 * (u**2 + v**2))
    return xp.where(wall[None], f[OPPOSITE], f - (f - rest) / 0.8)


def test_lattice_boltzmann_and_its_gradient(rng):
    f, wall = T.dtensor3("f"), T.matrix("wall", dtype="bool")
    last = tg.scan(lambda state: flow(T, state, wall), outputs_info=f, n_steps=4)[0][-1]
    values = rng.uniform(0.5, 1.5, size=(9, 5, 4)), rng.uniform(size=(5, 4)) < 0.2

    def numpys(state):
        for _ in range(4):
            state = flow(np, state, values[1])
        return state

    compiled = tg.function([f, wall], [last, tg.grad((last**2).sum(), f)])
    assert compiled.maker.work.not_native is None
    found, slope = compiled(*values)
    np.testing.assert_allclose(found, numpys(values[0]), rtol=1e-10)
    step = rng.normal(size=slope.shape) * 1e-6
    change = [(numpys(values[0] + sign * step) ** 2).sum() for sign in (1, -1)]
    np.testing.assert_allclose((slope * step).sum(), (change[0] - change[1]) / 2, rtol=1e-5)


def bilateral(xp, image, far=2):
    """A blur that keeps edges: each window's numbers weighted by place and by likeness."""
    n, m = image.shape[0], image.shape[1]
    padded, each = xp.pad(image, far, mode="reflect"), [(i, j) for i in range(2 * far + 1) for j in range(2 * far + 1)]
    windows = xp.stack([padded[i : i + n, j : j + m] for i, j in each])
    away = np.array([(i - far) ** 2 + (j - far) ** 2 for i, j in each], "float64")[:, None, None]
    weights = xp.exp(-away / 2 - (windows - image) ** 2 * 5)
    return (weights * windows).sum(axis=0) / weights.sum(axis=0)


def test_bilateral_filter_chooses_no_window_in_its_loop(rng):
    image, value = T.dmatrix("image"), rng.uniform(size=(7, 6))
    f = tg.function([image], bilateral(T, image))
    np.testing.assert_allclose(f(value), bilateral(np, value), rtol=1e-12)
    assert "pick" not in str(f.stage("schedule"))


def test_connected_parts_until_nothing_changes(rng):
    """Labels spread to neighbours until none does; then they are counted."""
    image = T.matrix("image", dtype="bool")
    n, m = image.shape[0], image.shape[1]

    def spread(label, _):
        p = T.pad(label, 1)
        around = T.maximum(T.maximum(p[2:, 1:-1], p[:-2, 1:-1]), T.maximum(p[1:-1, 2:], p[1:-1, :-2]))
        new = T.where(image, T.maximum(label, around), 0)
        return new, None, tg.until(T.eq(new, label).all())

    first = T.where(image, T.arange(1, n * m + 1).reshape((n, m)), 0)
    labels, _ = tg.loop(spread, first, length=n * m + 1)
    sizes = T.bincount(labels.ravel(), minlength=n * m + 1)[1:]
    f = tg.function([image], [labels, (sizes > 0).sum(), sizes.max()])
    for value in (rng.uniform(size=(6, 5)) < 0.5, np.zeros((2, 2), bool), np.ones((1, 1), bool)):
        found, count, largest = f(value)
        parts, number = scipy.ndimage.label(value)
        assert count == number and largest == max([(parts == k + 1).sum() for k in range(number)], default=0)
        places = np.arange(1, value.size + 1).reshape(value.shape)
        for k in range(number):
            assert (found[parts == k + 1] == places[parts == k + 1].max()).all()


def test_attention_on_a_graph(rng):
    """Softmax over the edges into each node by scatters, and the gradient of what is left of it."""
    x, w, a, source, target = T.dmatrix("x"), T.dmatrix("w"), T.dvector("a"), T.lvector("s"), T.lvector("t")
    h = x @ w
    score = T.concatenate([h[source], h[target]], axis=1) @ a
    e = T.exp(score - score.max())
    share = e / T.inc_subtensor(T.zeros(x.shape[0])[target], e)[target]
    out = T.inc_subtensor(T.zeros_like(h)[target], share[:, None] * h[source])
    inputs = [x, w, a, source, target]
    f = tg.function(inputs, [out, share, T.bincount(target, minlength=6), *tg.grad((out**2).sum(), [x, w, a])])
    values = [rng.normal(size=shape) for shape in ((6, 3), (3, 4), 8)] + [rng.integers(0, most, 11) for most in (6, 5)]

    def numpys(x, w, a, source, target):
        h = x @ w
        e = np.exp(np.concatenate([h[source], h[target]], axis=1) @ a)
        share = e / np.bincount(target, e, minlength=6)[target]
        out = np.zeros_like(h)
        np.add.at(out, target, share[:, None] * h[source])
        return out, share, np.bincount(target, minlength=6)

    found = f(*values)
    for got, want in zip(found, numpys(*values)):
        np.testing.assert_allclose(got, want, rtol=1e-12)
    for k, slope in enumerate(found[3:]):
        step = rng.normal(size=slope.shape) * 1e-6
        both = [[v + sign * step if i == k else v for i, v in enumerate(values)] for sign in (1, -1)]
        up, down = ((numpys(*v)[0] ** 2).sum() for v in both)
        np.testing.assert_allclose((slope * step).sum(), (up - down) / 2, rtol=1e-5, atol=1e-11)
