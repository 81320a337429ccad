"""Functions of a vector under random transforms (map, loops, derivatives, folded graphs), and the same written out."""

import numpy as np

import termgraph as tg
import termgraph.tensor as T

LENGTH = 3
WEIGHTS = np.random.default_rng(0).normal(size=(LENGTH, LENGTH)) * 0.7

BASES = {
    "layer": lambda x: T.tanh(x @ WEIGHTS),
    "softmax": lambda x: T.softmax(x, axis=-1) * 2,
    "normed": lambda x: x / (1 + (x**2).sum()),
    "sorted": lambda x: T.sort(x) * 0.9,
    "running": lambda x: T.tanh(T.cumsum(x)),
    "solved": lambda x: T.linalg.solve(T.eye(LENGTH) * 3 + T.outer(x, x), x),
    "decomposed": lambda x: T.linalg.cholesky(T.eye(LENGTH) * 2 + T.outer(x, x) * 0.3)[2],
    "fitted": lambda x: T.linalg.lstsq(T.eye(LENGTH) * 2 + T.outer(x, T.sin(x)), x)[0],
    "set": lambda x: T.set_subtensor(x[1], T.sin(x[0] * x[2])),
    "added": lambda x: T.inc_subtensor(x[[0, 2]], T.tanh(x[1])),
    "chosen": lambda x: T.where(x > 0, T.sin(x), x * 0.5),
    "largest": lambda x: x[T.argmax(x)] * T.cos(x),
    "turned": lambda x: T.sin(T.roll(x, 1) * x),
    "spectrum": lambda x: T.tanh(T.abs(T.fft.fft(x)) * 0.3),
    "filtered": lambda x: T.convolve(x, T.constant([0.5, 1.0, 0.3]), mode="same"),
}


def rows(x):
    """Three vectors made of one."""
    return [x, T.sin(x) * 1.5, -x]


def table(x):
    return T.stack(rows(x))


def repeated(f, x, times):
    for _ in range(times):
        x = f(x)
    return x


def slope(f, x):
    return tg.grad((f(x) ** 2).sum(), x, disconnected_inputs="ignore") * 0.3


def derivatives(f, x):
    """The jacobian, row by row, of a function of a variable of its own."""
    u = T.dvector("u")
    found = [tg.grad(f(u)[i], u, disconnected_inputs="ignore") for i in range(LENGTH)]
    return tg.clone(T.stack(found), replace={u: x}, strict=False)


def folded(f):
    a = T.dvector("a")
    return tg.OpFromGraph([a], [f(a)])


def with_results(f, x):
    last, seen = tg.loop(lambda c, r: (f(c) * 0.5 + r, f(c)[0]), x, table(x), recompute=True)
    return last + seen.sum()


def with_results_written_out(f, x):
    total = 0.0
    last = x
    for r in rows(x):
        total, last = total + f(last)[0], f(last) * 0.5 + r
    return last + total


def two_back(f, x):
    before = {"initial": T.stack([x, T.cos(x)]), "taps": [-2, -1]}
    return tg.scan(lambda a, b: f(a * 0.5 + b), outputs_info=[before], n_steps=3)[0][-1]


def two_back_written_out(f, x):
    a, b = x, T.cos(x)
    for _ in range(3):
        a, b = b, f(a * 0.5 + b)
    return b


# Each transform, and what it means, for a function f from vectors to vectors and a vector x.
TRANSFORMS = {
    "map": (lambda f, x: tg.vmap(f)(table(x)).sum(0) / 2, lambda f, x: sum(f(r) for r in rows(x)) / 2),
    "map, x outside": (lambda f, x: tg.vmap(lambda r: f(r * x) + x)(table(x))[1], lambda f, x: f(rows(x)[1] * x) + x),
    "map of gradients": (
        lambda f, x: tg.vmap(lambda r: tg.vjp(f, r)[1](x)[0])(table(x)).sum(0) / 2,
        lambda f, x: sum(x @ derivatives(f, r) for r in rows(x)) / 2,
    ),
    "steps": (
        lambda f, x: tg.scan(lambda a: f(a) * 0.6 + x * 0.3, outputs_info=x, n_steps=3)[0][-1],
        lambda f, x: repeated(lambda a: f(a) * 0.6 + x * 0.3, x, 3),
    ),
    "steps that may stop": (
        lambda f, x: tg.scan(lambda a: (f(a) * 0.7, tg.until((a**2).sum() > 1e6)), outputs_info=x, n_steps=2)[0][-1],
        lambda f, x: repeated(lambda a: f(a) * 0.7, x, 2),
    ),
    "steps along rows": (
        lambda f, x: tg.scan(lambda r, a: f(r + a), sequences=[table(x)], outputs_info=x)[0][-1],
        lambda f, x: f(rows(x)[2] + f(rows(x)[1] + f(rows(x)[0] + x))),
    ),
    "steps backwards": (
        lambda f, x: tg.scan(lambda r, a: f(r + a), sequences=[table(x)], outputs_info=x, go_backwards=True)[0][-1],
        lambda f, x: f(rows(x)[0] + f(rows(x)[1] + f(rows(x)[2] + x))),
    ),
    "steps two back": (two_back, two_back_written_out),
    "loop": (with_results, with_results_written_out),
    "checkpoint": (lambda f, x: tg.checkpoint(f)(x), lambda f, x: f(x)),
    "folded": (lambda f, x: folded(f)(x), lambda f, x: f(x)),
    "gradient": (slope, slope),
    "forwards": (lambda f, x: tg.jvp(f, (x,), (T.cos(x),))[1], lambda f, x: derivatives(f, x) @ T.cos(x)),
    "value and gradient": (
        lambda f, x: tg.value_and_grad(lambda u: (f(u) * x).sum())(x)[1],
        lambda f, x: x @ derivatives(f, x),
    ),
    "jacobian": (
        lambda f, x: tg.jacobian(f(x), x, disconnected_inputs="ignore").sum(0) * 0.4,
        lambda f, x: derivatives_of(f(x), x).sum(0) * 0.4,
    ),
    "either": (lambda f, x: tg.ifelse(x.sum() > 0, f(x), x * 0.5), lambda f, x: T.switch(x.sum() > 0, f(x), x * 0.5)),
}


def derivatives_of(y, x):
    return T.stack([tg.grad(y[i], x, disconnected_inputs="ignore") for i in range(LENGTH)])


def applied(transform, f):
    return lambda x: transform(f, x)


def composed(rng, most=3):
    """A random base under random transforms: the function, what it means, and their names."""
    base = rng.choice(list(BASES))
    names = rng.choice(list(TRANSFORMS), size=rng.integers(1, most + 1))
    f = meaning = BASES[base]
    for name in names:
        ours, written_out = TRANSFORMS[name]
        f, meaning = applied(ours, f), applied(written_out, meaning)
    return f, meaning, [base, *names]
