"""Theano's random streams: termgraph's, whose draws also have `rng` and `update`. May import the tensor language."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import termgraph.tensor as T
from termgraph.tensor.distributions import Distributions
from termgraph.tensor.likes import DTypeLike, ShapeLike, TensorLike
from termgraph.tensor.random import RandomStreams as NativeStreams
from termgraph.tensor.sharedvar import TensorSharedVariable
from termgraph.tensor.variable import TensorVariable, bare
from termgraph.terms.op import Op
from termgraph.terms.types import TensorType

random_state_type = TensorType("uint64", (2,))  # what a state is here: a key and a count


class RandomStateType(TensorType):
    """The type of a generator's state."""

    def __new__(cls) -> Any:
        return random_state_type


class State(np.ndarray):
    """The state of one draw: a key and a count, which can be seeded as Theano's generators are."""

    def seed(self, seed: int | None = None) -> None:
        """Start anew with a seed."""
        self[:] = [np.random.SeedSequence(seed).generate_state(1, np.uint64)[0], 0]

    @staticmethod
    def of_generator(generator: np.random.RandomState) -> State:
        """A state that goes with a generator of NumPy's: the same one for the same generator."""
        words = np.asarray(tuple(generator.get_state(legacy=True))[1], np.uint32)
        return np.array([np.random.SeedSequence(words).generate_state(1, np.uint64)[0], 0], np.uint64).view(State)

    def get_state(self) -> tuple:
        """Key and count, for `set_state`."""
        return tuple(map(int, self))

    def set_state(self, state: tuple) -> None:
        """Take the state of another."""
        self[:] = state


class RandomStateSharedVariable(TensorSharedVariable):
    """The memory of one draw."""

    __slots__ = ()

    def get_value(self, borrow: bool = False, return_internal_type: bool = False) -> Any:
        """The state."""
        return super().get_value(borrow, return_internal_type).view(State)

    def set_value(self, new_value: Any, borrow: bool = False) -> None:
        """Give a new state."""
        super().set_value(np.asarray(new_value), borrow)


class RandomVariable(TensorVariable):
    """A draw; `rng` is the memory of its generator, `update` the pair to give to a function that is to advance it."""

    __slots__ = ("rng", "update")


class RandomStreams(NativeStreams):
    """Random draws for graphs, each with a generator of its own."""

    def __init__(self, seed: int | None = None, use_cuda: object = None, no_warn: bool = False) -> None:
        super().__init__(_seed(seed))

    def seed(self, seed: int | None = None) -> None:
        """Start all draws anew."""
        super().seed(_seed(seed))

    @property
    def gen_seedgen(self) -> Any:
        """What gives new draws their keys."""
        return self._keys

    def __getitem__(self, item: TensorVariable) -> Any:
        """The state of the draw whose `rng` is given."""
        return self._mine(item).get_value(borrow=True)

    def __setitem__(self, item: TensorVariable, value: Any) -> None:
        """Give the draw whose `rng` is given another state, or that of a generator of NumPy's."""
        if not isinstance(value, np.ndarray):
            value = State.of_generator(value)
        self._mine(item).set_value(value)

    def _mine(self, item: TensorVariable) -> Any:
        found = [s for s in self._states if s is item]
        if not found:
            raise KeyError(f"no draw of this stream has {item} for its rng")
        return found[0]

    def gen(self, op: Op, *args: object, **kwargs: Any) -> Any:
        """A draw by one of this module's functions, such as `raw_random.uniform`."""
        state = self._state()
        return self._noted(op(state, *args, **kwargs)[1], state)

    def _state(self) -> RandomStateSharedVariable:
        state = super()._state()
        made: Any = object.__new__(RandomStateSharedVariable)
        made.term, made.name, made.site, made.container = state.term, state.name, state.site, state.container
        made._owner = made._tag = made.index = None
        made._default_update = state._default_update
        made.term.shared = made
        self._states[-1] = made
        return made

    def _noted(self, v: TensorVariable, state: RandomStateSharedVariable) -> RandomVariable:
        """The draw as a variable that knows its generator."""
        found: Any = bare(RandomVariable, v.term, v.name, v.site)
        found._owner, found.index = v.owner, v.index
        found.rng, found.update = state, (state, state.default_update)
        return found

    # the MRG generator's own names
    @property
    def rstate(self) -> Any:
        """The states of all draws."""
        return np.array([s.get_value() for s in self._states])

    def set_rstate(self, seed: int | None) -> None:
        """Start all draws anew."""
        self.seed(seed)

    def inc_rstate(self) -> None:
        """Streams need no such step: every draw has a key of its own."""

    def get_substream_rstates(self, n_streams: int, dtype: DTypeLike = None, inc_rstate: bool = True) -> Any:
        """So many states."""
        return np.array([[self._keys.next(), 0] for _ in range(n_streams)], dtype=np.uint64)

    def multinomial_wo_replacement(
        self,
        size: ShapeLike = None,
        n: int = 1,
        pvals: Any = None,
        ndim: object = None,
        dtype: DTypeLike = "int64",
        nstreams: int | None = None,
    ) -> Any:
        """n different outcomes of each row, by their probabilities: the largest of log(p) + Gumbel noise."""
        p = T.as_tensor(pvals)
        keys = T.log(p) - T.log(-T.log(self.uniform(p.shape, 1e-12, 1.0, dtype=p.dtype)))
        return T.cast(T.argsort(-keys, axis=-1)[:, :n], dtype)


def _seed(seed: Any) -> Any:
    """One number of whatever seeds a generator."""
    if seed is None or hasattr(seed, "__index__"):
        return seed if seed is None else int(seed) % 2**64
    return int(np.random.SeedSequence([int(s) for s in np.ravel(seed)]).generate_state(1, np.uint64)[0])


def _drawing(name: str) -> Callable[..., Any]:
    method = getattr(NativeStreams, name)

    def draw(self: Any, *args: object, **kwargs: Any) -> Any:
        before = len(self._states)
        found = method(self, *args, **kwargs)
        return self._noted(found, self._states[before]) if len(self._states) > before else found

    draw.__name__, draw.__doc__ = name, method.__doc__
    return draw


for _name in ("uniform", "normal", "binomial", "random_integers", "permutation", "multinomial", "choice", "poisson",
              "shuffle_row_elements", "truncated_normal"):  # fmt: skip
    setattr(RandomStreams, _name, _drawing(_name))

MRG_RandomStreams = RandomStreams
RandomStreamsBase = NativeStreams


def guess_n_streams(size: ShapeLike, warn: bool = False) -> int:
    """One: elements need no streams of their own."""
    return 1


# ---------------------------------------------------------------------- draws from a given state
class _From(NativeStreams):
    """Draws from one state that the caller keeps."""

    def __init__(self, state: Any) -> None:
        self._given = state

    def _state(self) -> RandomStateSharedVariable:
        return self._given


def _from_state(name: str) -> Callable[..., Any]:
    method = getattr(NativeStreams, name)

    def draw(random_state: Any, size: ShapeLike = None, *args: object, **kwargs: Any) -> tuple:
        found = method(_From(random_state), size, *args, **kwargs)
        return random_state + np.array([0, 1], dtype=np.uint64), found

    draw.__name__ = name
    draw.__doc__ = f"`(new state, {name} draw)` from a state."
    return draw


uniform, normal, binomial, random_integers, permutation, multinomial, choice = map(
    _from_state, ("uniform", "normal", "binomial", "random_integers", "permutation", "multinomial", "choice")
)


def poisson(
    random_state: Any, size: ShapeLike = None, lam: TensorLike = 1.0, ndim: object = None, dtype: DTypeLike = "int64"
) -> tuple:
    """`(new state, poisson draw)` from a state."""
    found = Distributions.poisson(_From(random_state), lam, size)
    return random_state + np.array([0, 1], dtype=np.uint64), T.cast(found, dtype)
