"""Random sequences of calls, new values, copies and pickles of functions on shared variables, beside NumPy.

After each step all shared variables, and all results that were returned before, have to be what NumPy says.
"""

from __future__ import annotations

import copy
import pickle
import random
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import termgraph as tg
import termgraph.tensor as T

from .judge import mode_of

MODES = ("FAST_RUN, C", "FAST_RUN, C", "FAST_COMPILE, C", "STRICT, C", "FAST_RUN, VM")
SHARED = ("v0", "v1", "m0", "m1", "s0")  # vectors, square matrices and a number; all of one length
ARGUMENTS = ("av", "aw", "am", "at")
KINDS = {"v": "v", "w": "v", "m": "m", "s": "s", "t": "s"}
NDIM = {"s": 0, "v": 1, "m": 2}
LARGE = 100  # sums of larger numbers may cancel: they are replaced
LENGTHS = (1, 2, 3, 4, 5, 16, 17)
VECTORS = ("({v} + {v})", "({v} - {v})", "({v} * {v})", "m.tanh({v})", "m.dot({m}, {v})", "{m}.sum(0)", "{m}.max(1)",
           "{v}[::-1]", "put({v}, slice(1, None), 0.5)", "add({v}, np.array([0, 0, -1]), {s})", "({v} * {s})",
           "m.where({v} > 0, {v}, {v})",
           "m.diagonal({m})", "m.concatenate([{v}[1:], {v}[:1]])")  # fmt: skip
MATRICES = ("({m} + {m})", "({m} * {m})", "{m}.T", "(m.dot({m}, {m}) * 0.3)", "({m} + {v}[:, None])",
            "(m.outer({v}, {v}) * 0.3)", "m.tanh({m})", "put({m}, 0, {v})", "{m}[::-1]")  # fmt: skip
NUMBERS = ("m.tanh({v}.sum())", "({s} * {s} + 0.1)", "{v}[0]")
FORMS = {"v": VECTORS, "m": MATRICES, "s": NUMBERS}
UPDATES = ("{e}", "({k} + 0.1 * {e})", "m.tanh({e})", "(0.9 * {k} - 0.1 * {e})", "{other}")


class Different(AssertionError):
    """Something is not what NumPy says; the message is the sequence."""


@dataclass
class Compiled:
    """A function, and the texts of what it computes."""

    f: Any
    arguments: list[str]
    outputs: list[str]
    updates: dict[str, str]
    givens: dict[str, str]


@dataclass
class World:
    """Functions and shared variables, and what NumPy says the variables are."""

    seed: int
    modes: tuple[str, ...] = MODES
    functions: list[Compiled] = field(default_factory=list)
    kept: list[tuple[str, np.ndarray, np.ndarray]] = field(default_factory=list)  # results, and what they were
    log: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rnd, self.rng = random.Random(self.seed), np.random.default_rng(self.seed)
        self.n = self.rnd.choice(LENGTHS)
        self.values = {k: self.drawn(k[0]) for k in SHARED}
        self.shared = {k: tg.shared(v.copy(), name=k) for k, v in self.values.items()}

    def drawn(self, kind: str) -> np.ndarray:
        return np.array(self.rng.normal(size=(self.n,) * NDIM[kind]) * 0.8)

    def laid_out(self, kind: str) -> np.ndarray:
        """New values, which lie in memory in one of several ways."""
        a, n = self.drawn(kind), self.n
        way = self.rnd.choice(("C", "C", "F", "from the end", "every other", "inside"))
        if way == "C" or not a.ndim:
            return a
        if way == "F":
            return np.asfortranarray(a)
        room = np.zeros((2 * n + 2,) * a.ndim)
        where = {"every other": slice(0, 2 * n, 2), "from the end": slice(n - 1, None, -1), "inside": slice(1, n + 1)}
        view = room[(where[way],) * a.ndim][(slice(0, n),) * a.ndim]
        view[...] = a
        return view

    # ------------------------------------------------------------------ what can happen
    def function(self) -> None:
        arguments = [a for a in ARGUMENTS if self.rnd.random() < 0.5]
        names: dict[str, list[str]] = {"v": [], "m": [], "s": []}
        for name in (*SHARED, *arguments):
            names[KINDS[name.lstrip("a")[0]]].append(name)
        text = lambda kind: self._text(kind, names)  # noqa: E731
        outputs = [text(self.rnd.choice("vms")) for _ in range(self.rnd.randint(0, 3))]
        updates = {}
        for k in SHARED:
            if self.rnd.random() < 0.35:
                other = self.rnd.choice([s for s in SHARED if s[0] == k[0]])
                updates[k] = self.rnd.choice(UPDATES).format(k=k, e=text(k[0]), other=other)
        given = self.rnd.choice(SHARED)
        givens = {given: f"m.tanh({text(given[0])})"} if self.rnd.random() < 0.2 else {}
        mode = self.rnd.choice(self.modes)
        self.log.append(f"f{len(self.functions)}: {arguments} -> {outputs}, updates {updates}, givens {givens}, {mode}")
        inputs = {a: T.tensor(a, dtype="float64", shape=(None,) * NDIM[KINDS[a[1]]]) for a in arguments}
        made = {**OURS, **self.shared, **inputs}
        f = tg.function(
            list(inputs.values()),
            [eval(t, made) for t in outputs],
            updates=[(self.shared[k], eval(t, made)) for k, t in updates.items()],
            givens={self.shared[k]: eval(t, made) for k, t in givens.items()},
            mode=mode_of(mode),
            on_unused_input="ignore",
        )
        self.functions.append(Compiled(f, arguments, outputs, updates, givens))

    def _text(self, kind: str, names: dict[str, list[str]], depth: int = 0) -> str:
        if depth > 2 or self.rnd.random() < 0.3:
            return self.rnd.choice(names[kind])
        parts = self.rnd.choice(FORMS[kind]).split("{")
        return parts[0] + "".join([self._text(p[0], names, depth + 1) + p[2:] for p in parts[1:]])

    def call(self) -> None:
        number = self.rnd.randrange(len(self.functions))
        c = self.functions[number]
        given = {a: self._argument(KINDS[a[1]]) for a in c.arguments}
        before = {a: v.copy() for a, v in given.items()}
        self.log.append(f"call f{number} with " + ", ".join(f"{a} {v.shape} {v.strides}" for a, v in given.items()))
        world = {**NUMPYS, **self.values, **before}
        world |= {k: eval(t, world) for k, t in c.givens.items()}
        expected = [np.array(eval(t, world)) for t in c.outputs]
        new = {k: np.array(eval(t, world)) for k, t in c.updates.items()}
        found = c.f(*given.values()) or []
        for a, v in given.items():
            self.same(f"argument {a}", v, before[a])
        self.values |= new
        self.kept = [*self.kept, *zip(c.outputs, map(np.asarray, found), expected)][-6:]

    def _argument(self, kind: str) -> np.ndarray:
        """New values, or a result of an earlier call."""
        old = [r for _, r, _ in self.kept if r.shape == (self.n,) * NDIM[kind]]
        return self.rnd.choice(old) if old and self.rnd.random() < 0.3 else self.laid_out(kind)

    def new_length(self) -> None:
        self.n = self.rnd.choice(LENGTHS)
        self.log.append(f"length {self.n}")
        for k in SHARED:
            self.new_value(k)

    def new_value(self, name: str = "") -> None:
        name = name or self.rnd.choice(SHARED)
        value, borrow = self.laid_out(name[0]), self.rnd.random() < 0.4
        self.log.append(f"{name}.set_value({value.shape} {value.strides}, borrow={borrow})")
        self.values[name] = value.copy()
        self.shared[name].set_value(value, borrow=borrow)

    def write_over(self) -> None:
        """A result is the caller's: what is written there is nobody else's business."""
        for number, (text, result, _) in enumerate(self.kept):
            if self.rnd.random() < 0.4:
                self.log.append(f"write over {text}")
                result[...] = 7.5
                self.kept[number] = (text, result, result.copy())

    def copied(self) -> None:
        c = copy.copy(self.rnd.choice(self.functions))
        how: dict[str, bool] = self.rnd.choice(({}, {"share_memory": True}, {"delete_updates": True}))
        self.log.append(f"f{len(self.functions)}: copy({how}) of {c.outputs}, updates {list(c.updates)}")
        c.f, c.updates = c.f.copy(**how), {} if "delete_updates" in how else c.updates
        self.functions.append(c)

    def saved(self) -> None:
        again = self.rnd.choice((copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))))
        self.log.append("all copied deeply, or pickled")
        made, self.shared = again(([c.f for c in self.functions], self.shared))
        for c, f in zip(self.functions, made):
            c.f = f

    # ------------------------------------------------------------------ whether all is right
    def check(self) -> None:
        for k, v in self.shared.items():
            self.same(k, v.get_value(borrow=self.rnd.random() < 0.5), self.values[k])
            self.values[k] = v.get_value()
            if np.abs(self.values[k]).max(initial=0) > LARGE:
                self.new_value(k)
        for text, result, expected in self.kept:
            self.same(f"the result {text}", result, expected)

    def same(self, what: str, found: np.ndarray, expected: np.ndarray) -> None:
        size = max(1.0, float(np.abs(expected).max(initial=0)))
        if found.shape != expected.shape or not np.allclose(found, expected, rtol=1e-9, atol=1e-9 * size):
            raise Different(f"{what} is {found}, not {expected}\n" + "\n".join(self.log))


STEPS = (World.call,) * 12 + (World.new_length, World.new_value, World.new_value, World.write_over, World.copied,
         World.copied, World.saved)  # fmt: skip


def _put(x: np.ndarray, place: Any, value: Any) -> np.ndarray:
    x = np.array(x)
    x[place] = value
    return x


def _add(x: np.ndarray, place: Any, value: Any) -> np.ndarray:
    x = np.array(x)
    np.add.at(x, place, value)
    return x


OURS = {
    "m": T,
    "np": np,
    "put": lambda x, i, v: T.set_subtensor(x[i], v),
    "add": lambda x, i, v: T.inc_subtensor(x[i], v),
}
NUMPYS = {"m": np, "np": np, "put": _put, "add": _add}


def sequence(seed: int, steps: int = 25, modes: tuple[str, ...] = MODES) -> World:
    """The sequence of a seed; Different, or another error with the sequence as a note, where something is wrong."""
    world = World(seed, modes)
    try:
        for _ in range(world.rnd.randint(1, 3)):
            world.function()
        for _ in range(steps):
            world.rnd.choice(STEPS)(world)
            world.check()
    except Different:
        raise
    except Exception as error:
        error.add_note("\n".join(world.log))
        raise
    return world


__all__ = ["Different", "World", "sequence"]
