"""theano.tests.unittest_tools: helpers that tests of others import. May import function and gradients."""

from __future__ import annotations

import os
import unittest
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from termgraph.theano import compiling
from termgraph.theano.gradients import verify_grad as _verify_grad

if TYPE_CHECKING:
    import numpy.typing as npt

    from termgraph.function.compiled import Function
    from termgraph.tensor.likes import TensorLike
    from termgraph.tensor.variable import TensorVariable
    from termgraph.terms.op import Op


def fetch_seed(pseed: int | None = None) -> int:
    """The seed of tests: given, or 666."""
    return int(os.environ.get("THEANO_UNITTESTS_RSEED", 666) if pseed is None else pseed)


def seed_rng(pseed: int | None = None) -> int:
    """Seed NumPy's generator."""
    seed = fetch_seed(pseed)
    np.random.seed(seed)  # noqa: NPY002
    return seed


def verify_grad(
    op: Callable,
    pt: Sequence[Any],
    n_tests: int = 2,
    rng: np.random.RandomState | None = None,
    *args: Any,
    **kwargs: Any,
) -> None:
    """Compare gradients with finite differences, by a generator that is seeded alike in every run."""
    rng = np.random.RandomState(fetch_seed()) if rng is None else rng
    _verify_grad(op, pt, n_tests, rng, *args, **kwargs)


verify_grad.E_grad = AssertionError  # type: ignore[attr-defined]


class MockRandomState:
    """A generator whose numbers are all the same."""

    def __init__(self, val: TensorVariable) -> None:
        self.val = val

    def rand(self, *shape: int) -> Any:
        """An array of that number."""
        return np.zeros(shape, dtype="float64") + self.val

    def randint(self, minval: int, maxval: int | None = None, size: int | Sequence[int] = 1) -> Any:
        """Whole numbers."""
        out = np.zeros(size, dtype="int64")
        return out + self.val * (minval if maxval is None else maxval - minval - 1)


class TestOptimizationMixin:
    """Assertions about the ops of a compiled function."""

    __test__ = False

    def assertFunctionContains(self, f: Function, op: Op, min: int = 1, max: float = float("inf")) -> None:
        """The function has so many applications of an op."""
        n = sum(node.op is op or node.op == op for node in f.maker.fgraph.toposort())
        assert min <= n <= max, f"{n} applications of {op}, expected {min} to {max}"

    def assertFunctionContains0(self, f: Function, op: Op) -> None:
        """The function does not have the op."""
        self.assertFunctionContains(f, op, 0, 0)

    def assertFunctionContains1(self, f: Function, op: Op) -> None:
        """The function has the op once."""
        self.assertFunctionContains(f, op, 1, 1)

    def assertFunctionContainsClass(self, f: Function, op: type, min: int = 1, max: float = float("inf")) -> None:
        """The function has so many applications of ops of a class."""
        n = sum(isinstance(node.op, op) for node in f.maker.fgraph.toposort())
        assert min <= n <= max, f"{n} applications of {op}, expected {min} to {max}"


class InferShapeTester(unittest.TestCase):
    """Compares shapes that are inferred with those of values."""

    __test__ = False

    def _compile_and_check(
        self, inputs: Sequence[Any], outputs: Sequence[Any], numeric_inputs: Sequence[Any], cls: Any,
        excluding: Sequence[str] | None = None, warn: bool = True, check_topo: bool = True,
    ) -> None:  # fmt: skip
        values = compiling.function(list(inputs), list(outputs), on_unused_input="ignore")(*numeric_inputs)
        shapes = compiling.function(list(inputs), [o.shape for o in outputs], on_unused_input="ignore")(*numeric_inputs)
        for value, shape in zip(values, shapes):
            assert np.all(value.shape == shape), f"the shape is {value.shape}, {shape} was inferred"


class WrongValue(Exception):
    """Two arrays that should be equal are not."""

    def __init__(self, expected_val: npt.ArrayLike, val: npt.ArrayLike, rtol: float, atol: float) -> None:
        super().__init__(str_diagnostic(expected_val, val, rtol, atol))


def str_diagnostic(
    expected: TensorLike, value: TensorLike, rtol: float | None = None, atol: float | None = None
) -> str:
    """How two arrays differ."""
    a, b = np.asarray(expected), np.asarray(value)
    text = f"expected {a.dtype} {a.shape}, got {b.dtype} {b.shape}"
    return text if a.shape != b.shape else f"{text}; largest difference {np.abs(a - b).max(initial=0)}"


def assert_allclose(
    expected: npt.ArrayLike, value: npt.ArrayLike, rtol: float | None = None, atol: float | None = None
) -> None:
    """Refuse arrays that differ by more than rounding."""
    low = np.asarray(value).dtype == np.float32
    rtol, atol = (1e-4 if low else 1e-7) if rtol is None else rtol, (1e-5 if low else 1e-8) if atol is None else atol
    if not np.allclose(expected, value, rtol=rtol, atol=atol):
        raise WrongValue(expected, value, rtol, atol)


class AttemptManyTimes:
    """A decorator that lets a test fail now and then."""

    def __init__(self, n_attempts: int, n_req_successes: int = 1) -> None:
        self.n_attempts, self.n_req_successes = n_attempts, n_req_successes

    def __call__(self, fct: Callable) -> Callable:
        def attempt(*args: Any, **kwargs: Any) -> None:
            failed = 0
            for _ in range(self.n_attempts):
                try:
                    fct(*args, **kwargs)
                except AssertionError:
                    failed += 1
                    if failed > self.n_attempts - self.n_req_successes:
                        raise

        return attempt


def attr(tag: str) -> Callable:
    """A decorator that names a kind of test."""

    def mark(f: Any) -> Any:
        setattr(f, tag, True)
        return f

    return mark


def assertFailure_fast(f: Callable) -> Callable:
    """The test itself."""
    return f


def disturb_mem() -> None:
    """Accepted: results do not depend on where things lie in memory."""


__all__ = [
    "AttemptManyTimes", "InferShapeTester", "MockRandomState", "TestOptimizationMixin", "WrongValue",
    "assertFailure_fast", "assert_allclose", "attr", "disturb_mem", "fetch_seed", "seed_rng", "str_diagnostic",
    "verify_grad",
]  # fmt: skip
