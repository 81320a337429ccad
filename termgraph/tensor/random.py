"""Random numbers in graphs: `T.random.RandomStream`. Each draw has a state, a shared variable with a default update.

Element `i` of the n-th draw is a function of (key, n, i) by Philox 4x32-10: draws are element-wise, may be fused, and
are the same on every backend.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from termgraph.tensor import elemwise
from termgraph.tensor.distributions import Distributions
from termgraph.tensor.sharedvar import TensorSharedVariable, shared

if TYPE_CHECKING:
    from termgraph.tensor.likes import DTypeLike, ShapeLike, TensorLike
    from termgraph.tensor.variable import TensorVariable

_ONE = np.array([0, 1], dtype=np.uint64)  # added to a state (key, step) after each call


class RandomStream(Distributions):
    """A source of independent random draws. Every method makes one; a compiled function draws anew at each call.

    >>> import termgraph as tg, termgraph.tensor as T
    >>> rng = T.random.RandomStream(seed=1)
    >>> f = tg.function([], rng.uniform(size=(2, 3)))
    >>> first, second = f(), f()
    >>> first.shape, bool((first == second).any())
    ((2, 3), False)
    >>> rng.seed(1)
    >>> bool((f() == first).all())
    True
    """

    def __init__(self, seed: int | None = None) -> None:
        self.default_instance_seed = seed
        self._states: list[Any] = []
        self._keys = _Keys(seed)

    def __getattr__(self, name: str) -> Any:
        text = f"a {type(self).__name__} has no attribute {name!r}"
        raise AttributeError(f"{text}; write {_OTHERS[name]}" if name in _OTHERS else text, name=name, obj=self)

    @property
    def state_updates(self) -> list[tuple[Any, Any]]:
        """Pairs (state, new state) of the draws made so far: what functions apply by default."""
        return [(state, state.default_update) for state in self._states]

    def updates(self) -> list[tuple[Any, Any]]:
        """As `state_updates`, under Theano's name."""
        return self.state_updates

    def seed(self, seed: int | None = None) -> None:
        """Start all draws made so far anew, as if the stream had been made with this seed."""
        self._keys = _Keys(self.default_instance_seed if seed is None else seed)
        for state in self._states:
            state.set_value(np.array([self._keys.next(), 0], dtype=np.uint64))

    def _state(self) -> TensorSharedVariable:
        state = shared(np.array([self._keys.next(), 0], dtype=np.uint64), name=f"rng_{len(self._states)}", shape=(2,))
        state.default_update = state + _ONE
        self._states.append(state)
        return state


class RandomStreams(RandomStream):
    """Theano's random streams: the same draws, with `size` as the first argument.

    `ndim` and `nstreams` are accepted and make no difference: every element has its own counter.
    """

    def uniform(  # type: ignore[override]
        self,
        size: ShapeLike = None,
        low: TensorLike = 0.0,
        high: TensorLike = 1.0,
        ndim: int | None = None,
        dtype: DTypeLike = None,
        nstreams: int | None = None,
    ) -> TensorVariable:
        """Uniform numbers from low to high."""
        return super().uniform(low, high, size, dtype)

    def normal(  # type: ignore[override]
        self,
        size: ShapeLike = None,
        avg: TensorLike = 0.0,
        std: TensorLike = 1.0,
        ndim: int | None = None,
        dtype: DTypeLike = None,
        nstreams: int | None = None,
    ) -> TensorVariable:
        """Normally distributed numbers."""
        return super().normal(avg, std, size, dtype)

    def binomial(  # type: ignore[override]
        self,
        size: ShapeLike = None,
        n: TensorLike = 1,
        p: TensorLike = 0.5,
        ndim: int | None = None,
        dtype: DTypeLike = "int64",
        nstreams: int | None = None,
    ) -> TensorVariable:
        """Successes in n trials."""
        return super().binomial(n, p, size, dtype)

    def random_integers(  # type: ignore[override]
        self,
        size: ShapeLike = None,
        low: TensorLike = 0,
        high: TensorLike = 1,
        ndim: int | None = None,
        dtype: DTypeLike = "int64",
        nstreams: int | None = None,
    ) -> Any:
        """Integers from low to high, both included."""
        return super().random_integers(low, high, size, dtype)

    def permutation(  # type: ignore[override]
        self,
        size: ShapeLike = None,
        n: TensorLike = 1,
        ndim: int | None = None,
        dtype: DTypeLike = "int64",
        nstreams: int | None = None,
    ) -> Any:
        """Permutations of the numbers below n."""
        return elemwise.cast(super().permutation(n, size), dtype)

    def multinomial(  # type: ignore[override]
        self,
        size: ShapeLike = None,
        n: TensorLike = 1,
        pvals: TensorLike = (0.5, 0.5),
        ndim: int | None = None,
        dtype: DTypeLike = "int64",
        nstreams: int | None = None,
    ) -> Any:
        """Counts of outcomes in n trials."""
        return super().multinomial(n, pvals, size, dtype)

    def choice(  # type: ignore[override]
        self,
        size: ShapeLike = None,
        a: TensorLike = 2,
        replace: bool = True,
        p: TensorLike | None = None,
        ndim: int | None = None,
        dtype: DTypeLike = "int64",
        nstreams: int | None = None,
    ) -> Any:
        """Elements of a."""
        return super().choice(a, size, replace, p, dtype)

    def truncated_normal(  # type: ignore[override]
        self,
        size: ShapeLike = None,
        avg: TensorLike = 0.0,
        std: TensorLike = 1.0,
        ndim: int | None = None,
        dtype: DTypeLike = None,
        nstreams: int | None = None,
    ) -> Any:
        """Normal numbers no more than two standard deviations from the mean."""
        return super().truncated_normal(avg, std, size, dtype)

    def shuffle_row_elements(self, input: TensorLike) -> Any:
        """The elements of each row in random order."""
        return self.permuted(input)


MRG_RandomStreams = MRG_RandomStream = RandomStreams


class _Keys:
    """Keys for one draw after the other, from a seed (None: from the operating system)."""

    def __init__(self, seed: int | None) -> None:
        if seed is not None and (isinstance(seed, bool) or not hasattr(seed, "__index__") or int(seed) < 0):
            raise ValueError(f"seed must be a non-negative integer or None, got {seed!r}")
        self._entropy = np.random.SeedSequence(None if seed is None else int(seed)).entropy
        self._used = 0

    def next(self) -> int:
        """A key that was not used before."""
        words = np.random.SeedSequence(self._entropy, spawn_key=(self._used,))
        self._used += 1
        return int(words.generate_state(1, np.uint64)[0])


_STREAM = "draws are made by a stream: rng = T.random.RandomStream(seed), then "
_OTHERS = {  # NumPy's older names, and PyTorch's
    "randn": "rng.normal(size=shape)", "rand": "rng.uniform(size=shape)",
    "gaussian": "rng.normal(loc, scale, size=shape)", "gauss": "rng.normal(loc, scale, size=shape)",
    "bernoulli": "rng.binomial(1, p, size=shape)", "sample": "rng.uniform(size=shape)",
    "randint": "rng.integers(low, high, size=shape)",
    "random_sample": "rng.uniform(size=shape)", "randperm": "rng.permutation(n)", "shuffle": "rng.permutation(x)",
    "PRNGKey": "rng.normal(size=shape), say", "key": "rng.normal(size=shape), say",
    "default_rng": "rng.normal(size=shape), say", "categorical": "rng.choice(n, p=p)",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    text = f"module 'termgraph.tensor.random' has no attribute {name!r}"
    here = f"rng.{name}(...)" if hasattr(RandomStream, name) and not name.startswith("_") else _OTHERS.get(name)
    raise AttributeError(f"{text}; {_STREAM}{here}" if here else text)


def __dir__() -> list[str]:
    return ["MRG_RandomStream", "MRG_RandomStreams", "RandomStream", "RandomStreams"]


__all__: list[str] = []
