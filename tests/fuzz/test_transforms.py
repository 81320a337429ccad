"""Compositions of transforms give what they mean: values and gradients, with and without rules, in C and in NumPy."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from fuzz.transforms import BASES, LENGTH, TRANSFORMS, composed

PLAIN = tg.Mode(optimizer="None", linker="py")


def agrees(f, meaning, rng, mode, names):
    x = T.tensor("x", dtype="float64", shape=(LENGTH if rng.random() < 0.5 else None,))
    weights, value = rng.normal(size=LENGTH), rng.normal(size=LENGTH)
    outputs = [[y := g(x), tg.grad((y * weights).sum(), x, disconnected_inputs="ignore")] for g in (f, meaning)]
    found, expected = [
        tg.function([x], outs, mode=m, on_unused_input="ignore")(value) for outs, m in zip(outputs, (mode, PLAIN))
    ]
    for what, a, b in zip(("value", "gradient"), found, expected):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-8, err_msg=f"{what} of {' in '.join(names)}")


@pytest.mark.parametrize("name", TRANSFORMS)
def test_each_transform_is_what_it_means(name):
    rng = np.random.default_rng(list(TRANSFORMS).index(name))
    ours, meaning = TRANSFORMS[name]
    base = rng.choice(list(BASES))
    agrees(lambda x: ours(BASES[base], x), lambda x: meaning(BASES[base], x), rng, tg.Mode(linker="py"), [base, name])


@pytest.mark.parametrize("mode", [tg.Mode(linker="py"), "FAST_RUN", "STRICT"], ids=["py", "FAST_RUN", "STRICT"])
def test_some_compositions(mode):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        f, meaning, names = composed(rng)
        agrees(f, meaning, rng, mode, [f"seed {seed}", *names])


@pytest.mark.slow
def test_many_compositions(rng):
    for _ in range(60):
        f, meaning, names = composed(rng)
        agrees(f, meaning, rng, "FAST_RUN" if rng.random() < 0.3 else tg.Mode(linker="py"), names)
