"""Draw: one random, typed, ground instance of a pattern, built bottom-up so that parameters fit their operands.

A draw that paints itself into a corner raises Retry. Lengths are all known while drawing; `weakened` forgets some.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from unification import Var

from termgraph.rules.checking.families import LEADING, WRAPPERS, families, one_of, sampler_of
from termgraph.rules.checking.values import MATRIX_FACTS, Special, mixed, ordinary, with_facts
from termgraph.rules.forms import is_nary
from termgraph.rules.kinds import PatternTerm, SegVar
from termgraph.rules.pattern import Captured, HeadWith, PatternHead, nested_vars
from termgraph.terms.dtypes import numpy_dtype, promote
from termgraph.terms.errors import GraphError
from termgraph.terms.op import Op
from termgraph.terms.ops.assume import assume, between
from termgraph.terms.term import AnyTerm, Const, Input, Lit, Term, mk
from termgraph.terms.traverse import free_inputs, substitute
from termgraph.terms.types import TensorType

SHAPES = ((), (3,), (4,), (2, 3), (3, 3), (3, 3), (1, 3), (4, 2), (2, 1, 3), (2, 3, 3), (1, 1), (0, 3))
DTYPES = (
    *("float64",) * 8, *("float32",) * 4, *("int64",) * 4, "int8", "uint8", "bool", "bool", "complex128", "int32",
)  # fmt: skip
# dtypes that meet: narrow ones, signed and unsigned ones of all widths, floats that are less precise than others
_MEETING = (
    "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64",
    "complex64", "bool", "bfloat16",
)  # fmt: skip
_STEADY, _CHANGING = 0.85, 0.4  # how often an operand is of the dtype of the whole draw
MOST_DEPTH = 4
_AGAIN = 0.08  # how often an input stands for two metavariables


@functools.cache
def meeting_dtypes() -> tuple[str, ...]:
    """The dtypes of draws in which many meet; bfloat16 is there if ml_dtypes is."""
    try:
        numpy_dtype("bfloat16")
    except ImportError:
        return _MEETING[:-1]
    return _MEETING


class Retry(Exception):
    """This draw leads nowhere; another one may."""


class Want(NamedTuple):
    """What the place a term is drawn for needs: lengths, a dtype, or integers within bounds."""

    shape: tuple[int, ...] | None = None
    dtype: str | None = None
    bounds: tuple[int, int] | None = None


ANY = Want()


_DIVISORS = (0, 1, -1, 2, 3, 4, 6, 8, 12)  # numbers for rules about quotients: one often divides the other


class Slot(NamedTuple):
    """An input of the drawn term: its lengths (its type may know less), bounds and facts."""

    shape: tuple[int, ...]
    bounds: tuple[int, int] | None
    facts: frozenset[str]


class Head:
    """The operator of an application being drawn, with parameters that are known, bound by a metavariable, or free."""

    def __init__(self, draw: Draw, family: Op, patterns: Mapping[str, Any], var: Var | None = None) -> None:
        self.draw, self.family, self.patterns, self.var = draw, family, dict(patterns), var
        self.settled: dict[str, Any] = {}

    def known(self, name: str) -> Any:
        """The parameter's value if it is fixed already, else None."""
        if name in self.settled:
            return self.settled[name]
        if name not in self.patterns:
            return None
        return self._filled(self.patterns[name])

    def _filled(self, p: PatternTerm) -> Any:
        if any(v not in self.draw.env for v in nested_vars(p)):
            return None
        if isinstance(p, Var):
            return self.draw.env[p]
        return tuple([self._filled(q) if nested_vars(q) else q for q in p]) if isinstance(p, tuple) else p

    def settle(self, name: str, choose: Callable[[], Any]) -> Any:
        """The parameter's value: as it is fixed, or else chosen and bound."""
        found = self.known(name)
        if found is None and not (name in self.patterns and self.patterns[name] is None):
            found = choose()
            if name in self.patterns:
                self.draw.bind_nested(self.patterns[name], found)
        self.settled[name] = found
        return found

    def op(self) -> Op:
        """The bound op."""
        if not self.family.defaults:
            return self._remember(self.family)
        for name, default in self.family.defaults.items():
            if name not in self.settled:
                self.settle(name, partial(_same, default))
        return self._remember(self.family.bind(**self.settled))

    def _remember(self, op: Op) -> Op:
        if self.var is not None:
            self.draw.env.setdefault(self.var, op)
        return op


class Draw:
    """One attempt to make a ground term of a pattern."""

    def __init__(
        self,
        rng: random.Random,
        guards: Mapping[Var, Any] | None = None,
        facts: Mapping[Var, frozenset[str]] | None = None,
        fancy: float = 0.12,
        dtypes: Sequence[str] | None = None,
        shapes: Sequence[tuple[int, ...]] = SHAPES,
        ranged: bool = False,
        meeting: bool = False,
    ) -> None:
        self.rng, self.guards, self.facts, self.fancy = rng, guards or {}, facts or {}, fancy
        self.ranged = ranged  # whether integers mostly lie in stated ranges
        self.numbers = np.random.default_rng(rng.getrandbits(32))
        self.dtypes, self.shapes = dtypes or (meeting_dtypes() if meeting else DTYPES), shapes
        self.meeting, self.steady = meeting, _CHANGING if meeting else _STEADY
        self.dtype, self.base = rng.choice(self.dtypes), rng.choice(shapes)
        self.constants = 0.08 if rng.random() < 0.7 else 0.6
        self.favourite: Any = None  # the family that many small expressions of this draw are of
        self.env: dict[Any, Any] = {}
        self.slots: dict[Any, Slot] = {}
        self.depth = 0
        self._fresh = 0

    # ------------------------------------------------------------------ choosing
    def shape(self, least: int = 0, most: int = 3) -> tuple[int, ...]:
        """Some lengths, often the ones that the whole draw uses."""
        if self.rng.random() < 0.7 and least <= len(self.base) <= most:
            return self.base
        fitting = [s for s in self.shapes if least <= len(s) <= most]
        if fitting:
            return self.rng.choice(fitting)
        return tuple(self.length() for _ in range(least))

    def length(self) -> int:
        """Some length."""
        return self.rng.choice((1, 2, 3, 3, 4))

    def some_dtype(self) -> str:
        """Some dtype, mostly the one that the whole draw uses."""
        return self.dtype if self.rng.random() < self.steady else self.rng.choice(self.dtypes)

    def narrowed(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Lengths that broadcast to `shape`."""
        r = self.rng.random()
        if r < 0.6 or not shape:
            return shape
        if r < 0.8:
            return tuple([1 if self.rng.random() < 0.5 else n for n in shape])
        return shape[self.rng.randrange(1, len(shape) + 1) :]

    def chance(self, p: float) -> bool:
        """True with probability `p`."""
        return self.rng.random() < p

    # ------------------------------------------------------------------ patterns
    def make(self, p: PatternTerm, want: Want = ANY) -> Any:
        """A ground term of the pattern; metavariables met for the first time are bound."""
        if want.shape is not None and None in want.shape:  # lengths of another operand, which may be left open
            want = want._replace(shape=chosen_lengths(want.shape))
        if isinstance(p, Var):
            return self._variable(p, want)
        if p.__class__ is Lit:
            return self.number(p, [want.dtype or ("int64" if want.bounds else self.dtype)], want.shape or ())
        if p.__class__ is Term and p.lvars:
            return self.application(p, want)
        return p

    def application(self, p: Term, want: Want) -> Any:
        """A ground term of a pattern with an operator."""
        return self.apply(self._head(p.op, p.args), list(p.args), want)

    def apply(self, head: Head, args: list[Any], want: Want) -> Any:
        """`head` applied to operands drawn by the sampler of its family."""
        if self.depth > 12:
            raise Retry
        self.depth += 1
        try:
            whole = args[0] if len(args) == 1 and args[0].__class__ is SegVar and args[0] not in self.env else None
            operands = sampler_of(head.family)(self, head, self._spread(head.family, args, whole), want)
            if whole is not None:
                self.env.setdefault(whole, tuple(operands))
            op = head.op()
            if is_nary(op) and len(operands) == 1:
                return operands[0]
            return self._made(op, operands)
        except (ValueError, IndexError, GraphError, OverflowError) as err:
            raise Retry(str(err)) from None
        finally:
            self.depth -= 1

    @staticmethod
    def _made(op: Op, operands: Sequence[Any]) -> Any:
        """The op on its operands, if it takes them; a TypeError from anywhere else is a sampler's own mistake."""
        try:
            return mk(op, tuple(operands))
        except TypeError as err:
            raise Retry(str(err)) from None

    def _spread(self, family: Op, args: list[Any], whole: PatternTerm | None) -> list[Any]:
        """Operand patterns as samplers like them: leading operands one by one, known segments opened."""
        if whole is None:
            return [t for a in args for t in (self.env[a] if a.__class__ is SegVar and a in self.env else (a,))]
        if family.arity is not None:
            return [self.fresh() for _ in range(family.arity)]
        self._fresh += 1
        lead = [self.fresh() for _ in range(LEADING.get(family.name, 0))]
        return [*lead, SegVar(f"fresh {self._fresh}")]

    def _head(self, op: PatternHead, args: tuple[Any, ...]) -> Head:
        if isinstance(op, Captured):
            return self._of_variable(op.var, args, op.family, {})
        if isinstance(op, HeadWith):
            return self._of_variable(op.var, args, None, dict(op.params))
        if isinstance(op, Var):
            return self._of_variable(op, args, None, {})
        return Head(self, op.family, op.params)

    def _of_variable(self, v: Var, args: tuple[Any, ...], family: Op | None, params: dict[str, Any]) -> Head:
        bound = self.env.get(v)
        if bound is not None:
            return Head(self, bound.family, {**bound.params, **params})
        if family is None:
            family = self._some_family(args)
        return Head(self, family, params, v)

    def _some_family(self, args: tuple[Any, ...]) -> Op:
        open_ended = any(a.__class__ is SegVar for a in args)
        fits = [f for f in families() if open_ended or f.arity == len(args) or f.arity is None]
        if self.chance(0.75):
            fits = [f for f in fits if f.kind == "elementwise"] or fits
        return one_of(fits, self.rng)

    def count(self, head: Head, args: Sequence[Any], most: int = 3) -> int:
        """How many operands to draw for an application."""
        fixed = sum(len(self.env.get(a, ())) if a.__class__ is SegVar else 1 for a in args)
        if head.family.arity is not None:
            return head.family.arity
        open_ended = any(a.__class__ is SegVar and a not in self.env for a in args)
        least = max(fixed, 1 if fixed else 2)
        return self.rng.randint(least, max(least, most)) if open_ended else fixed

    def fill(self, args: Sequence[Any], wants: Sequence[Want]) -> list[Any]:
        """Operands for patterns (a `seg` takes several) at places that want this. Numbers are drawn last."""
        places = self._places(args, len(wants))
        made: list[Any] = [None] * len(wants)
        order = sorted(range(len(wants)), key=lambda i: places[i].__class__ is Lit)
        for i in order:
            p = places[i]
            if p.__class__ is Lit:
                beside = [t.type.dtype for t in made if t is not None and t.type.dtype is not None]
                made[i] = self.number(p, beside, wants[i].shape or ())
            else:
                made[i] = self.make(p, wants[i])
        for seg, (start, stop) in self._segments.items():
            self.env.setdefault(seg, tuple(made[start:stop]))
        return made

    def _places(self, args: Sequence[Any], n: int) -> list[Any]:
        sizes = [len(self.env[a]) if a.__class__ is SegVar and a in self.env else 1 for a in args]
        free = [i for i, a in enumerate(args) if a.__class__ is SegVar and a not in self.env]
        for i in free:
            sizes[i] = 0
        spare = n - sum(sizes)
        if spare < 0 or (spare and not free):
            raise Retry
        for _ in range(spare):
            sizes[self.rng.choice(free)] += 1
        places: list[Any] = []
        self._segments: dict[Any, tuple[int, int]] = {}
        for a, size in zip(args, sizes, strict=True):
            if a.__class__ is not SegVar:
                places.append(a)
            elif a in self.env:
                places.extend(self.env[a])
            else:
                self._segments[a] = (len(places), len(places) + size)
                places.extend(self.fresh() for _ in range(size))
        return places

    def fresh(self) -> Var:
        """A new metavariable."""
        self._fresh += 1
        return Var(f"fresh {self._fresh}")

    def bind_nested(self, p: PatternTerm, value: object) -> None:
        """Bind the metavariables in a parameter pattern to the parts of a chosen value."""
        if isinstance(p, Var):
            if self.env.setdefault(p, value) != value:
                raise Retry
        elif isinstance(p, tuple):
            if not isinstance(value, tuple) or len(p) != len(value):
                raise Retry
            for q, v in zip(p, value, strict=True):
                self.bind_nested(q, v)
        elif p != value:
            raise Retry

    # ------------------------------------------------------------------ leaves
    def _variable(self, v: Var, want: Want) -> Any:
        if v in self.env:
            return self.env[v]
        guard = self.guards.get(v)
        facts = self.facts.get(v, frozenset())
        for attempt in range(8):
            relaxed = want if attempt < 6 or want.bounds else Want(None, want.dtype)
            t = self._plain(relaxed, facts, attempt) if guard is not None else self.leaf(relaxed, facts)
            if guard is None or guard.test(t):
                self.env[v] = t
                return t
        raise Retry

    def _plain(self, want: Want, facts: frozenset[str], attempt: int) -> Any:
        """What guards may ask for: now and then a constant, a plain one (zeros, ones, a unit matrix) among them."""
        if attempt < 2 or attempt > 5 or want.bounds is not None:
            return self.leaf(want, facts)
        shape = self.shape() if want.shape is None else want.shape
        dtype = want.dtype or self.some_dtype()
        if attempt > 3 or facts:
            return self.constant(shape, dtype, facts)
        if len(shape) == 2 and shape[0] == shape[1] and self.chance(0.5):
            return Const(np.eye(shape[0], dtype=dtype))
        return Const(np.full(shape, self.rng.choice(_DIVISORS if self.ranged else (0, 0, 1)), dtype=dtype))

    def leaf(self, want: Want, facts: frozenset[str] = frozenset()) -> Any:
        """A term for a metavariable: an input, a constant, or a small expression."""
        if want.bounds is not None:
            return self._integers(want.shape or (), *want.bounds, want.dtype or "int64")
        shape = self.shape() if want.shape is None else want.shape
        if facts & MATRIX_FACTS and (len(shape) < 2 or shape[-1] != shape[-2]):
            shape = (3, 3)
        dtype = want.dtype or self.some_dtype()
        r = self.rng.random()
        if r < self.fancy and self.depth < MOST_DEPTH:
            return self.expression(Want(shape, want.dtype))
        if r < self.fancy + self.constants:
            return self.constant(shape, dtype, facts)
        if not facts and self.chance(_AGAIN):
            again = [k for k, s in self.slots.items() if s == Slot(tuple(shape), None, facts) and k.type.dtype == dtype]
            if again:
                return self.rng.choice(again)
        return self.input(shape, dtype, None, facts)

    def _integers(self, shape: tuple[int, ...], low: int | None, high: int | None, dtype: str) -> Any:
        if low is None or high is None:  # a length that the operand's type does not know
            raise Retry
        if self.chance(0.5 if low != high else 0.85):
            return Const(self.numbers.integers(low, high + 1, shape).astype(dtype))
        return self.input(shape, dtype, (low, high))

    def constant(self, shape: tuple[int, ...], dtype: str, facts: frozenset[str] = frozenset()) -> Const:
        """A constant, often one number throughout."""
        if self.chance(0.5):
            number = self.rng.choice(_DIVISORS if self.ranged else (0, 1, 1, 2, -1, 3, 0.5, -2, 4))
            if dtype == "bool" or dtype.startswith("uint"):
                number = abs(int(number)) % 2 if dtype == "bool" else abs(number)
            value = np.full(shape if self.chance(0.5) else (), number).astype(dtype)
        else:
            value = ordinary(self.numbers, shape, dtype)
        made = with_facts(value, facts)
        if made is None:
            raise Retry
        return Const(made)

    def input(
        self,
        shape: tuple[int, ...],
        dtype: str,
        bounds: tuple[int, int] | None = None,
        facts: frozenset[str] = frozenset(),
    ) -> Any:
        """An input; with facts it comes wrapped in an `assume` or, now and then, bare."""
        if None in shape or (facts and with_facts(np.zeros(shape, dtype), facts) is None):
            raise Retry
        leaf = Input("abcdefghijkl"[len(self.slots) % 12], TensorType.of(dtype, tuple(shape)))
        if self.ranged and not facts and bounds is None and leaf.type.kind in "iu" and self.chance(0.7):
            low = (
                self.rng.choice((0, 0, 0, 1, 5)) if leaf.type.kind == "u" else self.rng.choice((0, 0, 0, 1, 5, -3, -9))
            )
            high = low + self.rng.choice((1, 2, 3, 4, 9))
            self.slots[leaf] = Slot(tuple(shape), (low, high - 1), facts)
            return between(leaf, Const(np.asarray(low)), Const(np.asarray(high)))
        self.slots[leaf] = Slot(tuple(shape), bounds, facts)
        if facts and self.chance(0.8):
            return assume.bind(facts=tuple(sorted(facts)))(leaf)
        return leaf

    def number(self, lit: Lit, beside: Iterable[Any], shape: tuple[int, ...] = ()) -> Const:
        """A pattern's number as a graph has it: of its neighbours' dtype, mostly without dimensions."""
        if isinstance(lit.value, bool):
            return Const(np.asarray(lit.value))
        dtypes = list(beside) or ["float64" if isinstance(lit.value, float) else "int64"]
        try:
            dtype = promote(*map(numpy_dtype, dtypes), type(lit.value)(0))
            plain = np.result_type(type(lit.value)(0))
            if self.chance(0.2) and promote(dtype, plain) == dtype:
                dtype = plain
            value = np.asarray(lit.value, dtype=dtype)
        except (OverflowError, TypeError):
            raise Retry from None
        r = self.rng.random()
        if r < 0.1:
            value = value.reshape((1,) * len(shape))
        elif r < 0.2 and 0 not in shape:
            value = np.broadcast_to(value, shape)
        return Const(value)

    def expression(self, want: Want) -> Any:
        """A small expression of some family, of (about) the lengths wanted."""
        if self.favourite is None:
            self.favourite = self.rng.choice(WRAPPERS)
        family = self.favourite if self.chance(0.7) else self.some_family()
        made = self.of_family(family, want)
        if want.dtype is not None and made.type.dtype != want.dtype:
            raise Retry
        return made

    def some_family(self) -> Op:
        """Often a plain family, sometimes any."""
        return self.rng.choice(WRAPPERS) if self.chance(0.6) else one_of(families(), self.rng)

    def of_family(self, family: Op, want: Want = ANY) -> Any:
        """An application of a family to fresh operands, with whatever parameters."""
        if family.arity is None:
            self._fresh += 1
            args: list[Any] = [SegVar(f"fresh {self._fresh}")]
        else:
            args = [self.fresh() for _ in range(family.arity)]
        return self.apply(Head(self, family, {}), args, want)

    # ------------------------------------------------------------------ values
    def values(self, specials: Sequence[Special] = (), far: bool = False) -> dict[Any, np.ndarray]:
        """Values for the inputs, integers far from 0 if asked; specials mixed in where any number will do."""
        out = {}
        for leaf, slot in self.slots.items():
            shape, dtype = slot.shape, leaf.type.np_dtype
            if slot.bounds is not None:
                low, high = slot.bounds
                out[leaf] = self.numbers.integers(low, high + 1, shape).astype(dtype)
                continue
            value = with_facts(mixed(self.numbers, shape, dtype, specials, far), slot.facts)
            if value is None:
                raise Retry
            out[leaf] = value
        return out

    def weakened(self, term: AnyTerm) -> tuple[Any, dict[Any, Any]]:
        """The term with some lengths of its inputs forgotten, and the new input for each old one."""
        renamed = {}
        for leaf in free_inputs([term]):
            shape = tuple([None if n != 1 and self.chance(0.5) else n for n in leaf.type.shape])
            renamed[leaf] = Input(leaf.name, TensorType.of(leaf.type.dtype, shape))
        try:
            return substitute([term], renamed)[0], renamed
        except (TypeError, ValueError, IndexError, GraphError):
            return term, {leaf: leaf for leaf in renamed}


def chosen_lengths(shape: Iterable[int | None]) -> tuple[int, ...]:
    """A shape in which no length is left open."""
    return tuple([3 if n is None else n for n in shape])


def _same(value: object) -> Any:
    return value
