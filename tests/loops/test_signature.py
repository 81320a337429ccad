"""The whole signature of scan at once, values and gradients, on the virtual machine and compiled.

Values come from a NumPy loop, gradients from the same steps written out as a graph without loops.
"""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import termgraph as tg
import termgraph.tensor as T

COEF = (0.7, -0.4, 0.3, 0.2, -0.6)


@dataclass
class Case:
    """One way to call scan."""

    shape: tuple[int, ...]  # of a row
    taps: list[int]
    out_taps: list[int]
    extra: int  # steps beyond what taps need
    steps: str  # "all", "fixed", "symbolic"
    backwards: bool
    limit: float | None  # stop when the sum of a state is above
    product: bool

    @property
    def before(self):
        return max(0, -min(self.taps))

    @property
    def available(self):
        return self.extra

    @property
    def n(self):
        return self.extra if self.steps == "all" else max(0, self.extra - 1)

    def values(self):
        rng = np.random.default_rng(len(self.taps) + 10 * self.extra)
        rows = self.extra + self.before + max(0, max(self.taps))
        oldest = -min(self.out_taps)
        initial = (oldest, *self.shape) if self.out_taps != [-1] else self.shape
        return rng.standard_normal((rows, *self.shape)), rng.standard_normal(initial), rng.standard_normal((3, 3)) * 0.5

    def step(self, lib, args, w):
        """The next state and a number: of arrays, or of variables."""
        z = sum(c * a for c, a in zip(COEF, args))
        z = lib.dot(z, w) if self.product and self.shape else z * w[0, 0]
        y = lib.tanh(z)
        return y, y.sum() * 2 + w[1, 1]

    def by_hand(self, lib, x, start, w, count, stop):
        """The steps, one after the other; `stop(y)` ends them."""
        ys = [start] if self.out_taps == [-1] else [start[k] for k in range(-min(self.out_taps))]
        first, numbers = len(ys), []
        order = range(self.available)
        for t in (reversed(order) if self.backwards else order) if count else ():
            args = [x[t + self.before + k] for k in self.taps] + [ys[len(ys) + k] for k in self.out_taps]
            y, number = self.step(lib, args, w)
            ys.append(y)
            numbers.append(number)
            if len(numbers) == count or stop(y):
                break
        return ys[first:], numbers


cases = st.builds(
    Case,
    shape=st.sampled_from([(), (3,), (1, 3), (2, 3)]),
    taps=st.lists(st.integers(-2, 1), min_size=1, max_size=2, unique=True),
    out_taps=st.lists(st.integers(-3, -1), min_size=1, max_size=2, unique=True),
    extra=st.integers(0, 4),
    steps=st.sampled_from(["all", "fixed", "symbolic"]),
    backwards=st.booleans(),
    limit=st.sampled_from([None, None, 0.1, -0.5]),
    product=st.booleans(),
)


def check(case, linker):
    x = T.TensorType("float64", (None,) * (1 + len(case.shape)))("x")
    start = T.TensorType("float64", (None,) * (len(case.shape) + (case.out_taps != [-1])))("start")
    w, n = T.dmatrix("w"), T.lscalar("n")

    def step(*args):
        y, number = case.step(T, args[:-1], args[-1])
        out = [y, number]
        return (out, tg.until(y.sum() > case.limit)) if case.limit is not None else out

    ys, numbers = tg.scan(
        step, sequences={"input": x, "taps": case.taps},
        outputs_info=[{"initial": start, "taps": case.out_taps}, None], non_sequences=w,
        n_steps={"all": None, "fixed": case.n, "symbolic": n}[case.steps], go_backwards=case.backwards,
    )[0]  # fmt: skip
    inputs, values = [x, start, w, n], [*case.values(), case.n]
    cost = (ys**2).sum() + numbers.sum()
    wrt = [x, start, w]
    with tg.config.change_flags(linker=linker):
        f = tg.function(inputs, [ys, numbers, *tg.grad(cost, wrt)], on_unused_input="ignore")
        got = f(*values)
    over = (lambda y: y.sum() > case.limit) if case.limit is not None else lambda y: False
    want, sums = case.by_hand(np, *values[:3], case.n, over)
    np.testing.assert_allclose(got[0], np.reshape(want, (len(want), *case.shape)), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(got[1], sums, rtol=1e-9, atol=1e-12)
    hs, us = case.by_hand(T, *wrt, len(want), lambda y: False)
    plain = sum(((h**2).sum() for h in hs), sum(us, 0 * w.sum()))
    with tg.config.change_flags(linker="py"):
        grads = tg.grad(plain, wrt, disconnected_inputs="ignore")
        expected = tg.function(inputs[:3], grads, mode="None", on_unused_input="ignore")(*values[:3])
    for a, b in zip(got[2:], expected):
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-11)


@settings(max_examples=25)
@given(case=cases)
def test_on_the_virtual_machine(case):
    check(case, "py")


@settings(max_examples=12)
@given(case=cases)
def test_compiled(case):
    check(case, "auto")


@pytest.mark.slow
@settings(max_examples=60)
@given(case=cases)
def test_many_compiled(case):
    check(case, "auto")
