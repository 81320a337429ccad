"""Whole programs that estimate and solve: filters, finite elements, elimination, minimisation, spectra."""

import numpy as np
from ways import in_all_ways, slopes_in_all_ways

import termgraph as tg
import termgraph.tensor as T

LINKER = "auto"
SEEN = np.array([[1.0, 0.0]])


def kalman(xp, y, a, q, r, mean, cov, seen):
    """One step of the filter: what is predicted, and what is known with the observation."""
    ahead, spread = a @ mean, a @ cov @ a.T + q
    s = seen @ spread @ seen.T + r
    gain, error = spread @ seen.T / s, y - (seen @ ahead)[0]
    score = -0.5 * (xp.log(2 * np.pi * s[0, 0]) + error**2 / s[0, 0])
    return ahead + gain[:, 0] * error, spread - gain @ seen @ spread, ahead, spread, score


def smoothed_in_numpy(a, q, r, ys):
    states, mean, cov = [], np.zeros(2), np.eye(2)
    for y in ys:
        mean, cov, *rest = kalman(np, y, a, q, r, mean, cov, SEEN)
        states.append((mean, cov, *rest))
    means = [mean]
    for before, after in zip(states[-2::-1], states[:0:-1]):
        back = before[1] @ a.T @ np.linalg.inv(after[3])
        means.append(before[0] + back @ (means[-1] - after[2]))
    return sum(s[4] for s in states), np.array(means[1:])


def test_kalman_smoother(rng):
    """The row that says what is seen is a constant; its transpose is computed before the loop of unknown length."""
    a, q, r, ys = T.dmatrix("a"), T.dmatrix("q"), T.dscalar("r"), T.dvector("ys")
    (means, covs, ahead, spread, scores), _ = tg.scan(
        lambda y, mean, cov: kalman(T, y, a, q, r, mean, cov, T.constant(SEEN)),
        sequences=ys, outputs_info=[T.zeros(2), T.eye(2), None, None, None],
    )  # fmt: skip

    def back(mean, cov, ahead, spread, later, later_cov):
        gain = cov @ a.T @ T.linalg.inv(spread)
        return mean + gain @ (later - ahead), cov + gain @ (later_cov - spread) @ gain.T

    (smooth, smooth_covs), _ = tg.scan(
        back, sequences=[means[:-1], covs[:-1], ahead[1:], spread[1:]], outputs_info=[means[-1], covs[-1]],
        go_backwards=True,
    )  # fmt: skip
    inputs, values = (
        [a, q, r, ys],
        [np.array([[1.0, 0.1], [0.0, 0.95]]), np.array([[0.1, 0.02], [0.02, 0.2]]), 0.3, rng.normal(size=8)],
    )
    in_all_ways(inputs, [scores.sum(), smooth], values, smoothed_in_numpy(*values))
    cost = scores.sum() + (smooth**2).sum() + smooth_covs.sum()
    slopes_in_all_ways(inputs, cost, values, rng, ["compiled", "nothing on trust"])


def test_finite_elements_on_triangles(rng):
    """Stiffness is added up by repeated places; the slope by the corners is that of the mesh."""
    n = 4
    corners = np.array([(i, j) for i in range(n) for j in range(n)], float) / (n - 1)
    squares = [(i * n + j, (i + 1) * n + j, i * n + j + 1, (i + 1) * n + j + 1) for i in range(3) for j in range(3)]
    triangles = np.array([t for a, b, c, d in squares for t in ((a, b, c), (b, d, c))])
    inner = np.array([i * n + j for i in range(1, n - 1) for j in range(1, n - 1)])
    by_corner = np.array([[-1.0, -1.0], [1.0, 0.0], [0.0, 1.0]])
    p, k = T.dmatrix("p"), T.dvector("k")
    at = p[triangles]
    edges = T.stack([at[:, 1] - at[:, 0], at[:, 2] - at[:, 0]], axis=2)
    area = abs(edges[:, 0, 0] * edges[:, 1, 1] - edges[:, 0, 1] * edges[:, 1, 0]) / 2
    slopes = T.constant(by_corner) @ T.linalg.inv(edges)
    each = (k * area)[:, None, None] * (slopes @ slopes.transpose((0, 2, 1)))
    whole = T.inc_subtensor(T.zeros((n * n, n * n))[triangles[:, :, None], triangles[:, None, :]], each)
    load = T.inc_subtensor(T.zeros(n * n)[triangles], (area / 3)[:, None])
    found = T.linalg.solve(whole[inner][:, inner], load[inner])
    u = T.set_subtensor(T.zeros(n * n)[inner], found)

    def in_numpy(p, k):
        whole, load = np.zeros((n * n, n * n)), np.zeros(n * n)
        for t, stiff in zip(triangles, k):
            edges = np.stack([p[t[1]] - p[t[0]], p[t[2]] - p[t[0]]], axis=1)
            slopes, area = by_corner @ np.linalg.inv(edges), abs(np.linalg.det(edges)) / 2
            whole[np.ix_(t, t)] += stiff * area * slopes @ slopes.T
            load[t] += area / 3
        u = np.zeros(n * n)
        u[inner] = np.linalg.solve(whole[np.ix_(inner, inner)], load[inner])
        return u

    values = [corners + 0.02 * rng.normal(size=corners.shape), rng.uniform(0.5, 2, size=len(triangles))]
    in_all_ways([p, k], [u], values, [in_numpy(*values)])
    slopes_in_all_ways([p, k], (u**2).sum(), values, rng, ["compiled", "checked"])


def test_elimination_with_pivots(rng):
    """Rows change places inside the loop, and the second loop goes backwards."""
    a, b = T.dmatrix("a"), T.dvector("b")
    n = a.shape[0]

    def eliminate(k, m):
        pivot = T.argmax(T.where(T.arange(n) >= k, abs(m[:, k]), -1.0))
        first, best = m[k], m[pivot]
        m = T.set_subtensor(m[k], best)
        m = T.set_subtensor(m[pivot], T.switch(T.eq(pivot, k), best, first))
        return m - T.where(T.arange(n) > k, m[:, k] / m[k, k], 0.0)[:, None] * m[k]

    upper = tg.scan(eliminate, sequences=T.arange(n), outputs_info=T.concatenate([a, b[:, None]], axis=1))[0][-1]
    x = tg.scan(
        lambda i, x, u: T.set_subtensor(x[i], (u[i, -1] - (u[i, :-1] * x).sum()) / u[i, i]),
        sequences=T.arange(n), outputs_info=T.zeros(n), non_sequences=upper, go_backwards=True,
    )[0][-1]  # fmt: skip
    values = [rng.normal(size=(5, 5)), rng.normal(size=5)]
    in_all_ways([a, b], [x], values, [np.linalg.solve(*values)])
    slopes_in_all_ways([a, b], (x**2).sum(), values, rng, ["compiled", "virtual machine"])


def test_conjugate_gradients_until_they_converge(rng):
    """No matrix, an unknown number of steps, and the gradient through them."""
    b, k = T.dmatrix("b"), T.dscalar("k")

    def laplace(xp, u, k):
        p = xp.pad(u, 1)
        return (4 + k) * u - p[:-2, 1:-1] - p[2:, 1:-1] - p[1:-1, :-2] - p[1:-1, 2:]

    def step(x, r, p, size):
        ahead = laplace(T, p, k)
        a = size / (p * ahead).sum()
        left = r - a * ahead
        new = (left * left).sum()
        return [x + a * p, left, left + new / size * p, new], tg.until(new < 1e-24)

    (xs, *_), _ = tg.scan(step, outputs_info=[T.zeros_like(b), b, b, (b * b).sum()], n_steps=200)
    right = rng.normal(size=(4, 5))
    matrix = np.array([laplace(np, e, 0.5).ravel() for e in np.eye(20).reshape(20, 4, 5)]).T
    wanted = np.linalg.solve(matrix, right.ravel()).reshape(4, 5)
    in_all_ways([b, k], [xs[-1]], [right, 0.5], [wanted])
    slope = tg.function([b, k], tg.grad((xs[-1] ** 2).sum(), b))(right, 0.5)
    np.testing.assert_allclose(slope.ravel(), 2 * np.linalg.solve(matrix, wanted.ravel()), rtol=1e-4, atol=1e-5)


def test_a_minimum_by_limited_memory(rng):
    """L-BFGS by hand: a ring of differences in carried matrices, three loops in each step."""
    start, kept = T.dvector("start"), 4
    valley = lambda x: (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()  # noqa: E731
    slope_at = lambda x: tg.vjp(valley, x)[1](T.constant(1.0))[0]  # noqa: E731

    def step(k, x, g, moves, changes, rho):
        order = (k - 1 - T.arange(kept)) % kept

        def there(i, q):
            a = rho[i] * (moves[i] * q).sum()
            return q - a * changes[i], a

        (qs, found), _ = tg.scan(there, sequences=order, outputs_info=[g, None])
        size = (changes[order[0]] ** 2).sum()
        scale = T.switch(size > 0, (moves[order[0]] * changes[order[0]]).sum() / T.maximum(size, 1e-300), 1e-3)
        back = tg.scan(
            lambda i, a, r: r + moves[i] * (a - rho[i] * (changes[i] * r).sum()),
            sequences=[order[::-1], found[::-1]], outputs_info=scale * qs[-1],
        )[0]  # fmt: skip
        way = -back[-1]
        fall, here = (way * g).sum(), valley(x)
        shorter = lambda t: (t / 2, tg.until(valley(x + t / 2 * way) <= here + 5e-5 * t * fall))  # noqa: E731
        new = x + tg.scan(shorter, outputs_info=T.constant(2.0), n_steps=40)[0][-1] * way
        new_g = slope_at(new)
        s, y = new - x, new_g - g
        good = (s * y).sum() > 1e-12
        write = lambda ring, value: T.set_subtensor(ring[k % kept], T.switch(good, value, 0.0))  # noqa: E731
        return new, new_g, write(moves, s), write(changes, y), write(rho, 1 / T.maximum((s * y).sum(), 1e-300))

    n = start.shape[0]
    ring = T.zeros((kept, n))
    (xs, *_), _ = tg.scan(
        step, sequences=T.arange(60), outputs_info=[start, slope_at(start), ring, ring, T.zeros(kept)]
    )
    in_all_ways([start], [xs[-1]], [np.array([-1.2, 1.0, 0.5])], [np.ones(3)], rtol=1e-4)


def test_a_wave_that_steepens(rng):
    """Burgers' equation by its spectrum, of which the signal's length is not known when compiling."""
    n, dt = 16, 0.01
    u, nu = T.dvector("u"), T.dscalar("nu")
    waves = np.fft.rfftfreq(n, 1 / n)

    def step(xp, v, nu):
        slope = lambda v: -0.5j * waves * xp.fft.rfft(xp.fft.irfft(v, n) ** 2)  # noqa: E731
        decay = xp.exp(-nu * waves**2 * dt)
        first = slope(v)
        return decay * v + dt / 2 * (decay * first + slope(decay * (v + dt * first)))

    last = T.fft.irfft(tg.scan(lambda v: step(T, v, nu), outputs_info=T.fft.rfft(u), n_steps=5)[0][-1], n)
    values = [np.sin(np.arange(n) * 2 * np.pi / n) + 0.1 * rng.normal(size=n), 0.1]
    v = np.fft.rfft(values[0])
    for _ in range(5):
        v = step(np, v, values[1])
    in_all_ways([u, nu], [last], values, [np.fft.irfft(v, n)])
    slopes_in_all_ways([u, nu], (last**3).sum(), values, rng, ["compiled", "nothing on trust"])
