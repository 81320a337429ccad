"""What terms are made of: words for operators such as `exp`, `+` or `T`, the inputs of a domain, and its numbers."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from termgraph.terms.dtypes import kind_of
from termgraph.terms.op import OPS, Op
from termgraph.terms.ops.assume import assume
from termgraph.terms.term import AnyTerm, Const, Input, mk
from termgraph.terms.types import TensorType

SYMBOLS = {
    "+": "add", "-": "sub", "*": "mul", "/": "true_div", "//": "floor_div", "%": "mod", "**": "pow", "<": "lt",
    "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "neq", "&": "bitwise_and", "|": "bitwise_or",
    "^": "bitwise_xor", "~": "invert", "<<": "left_shift", ">>": "right_shift", "min": "minimum", "max": "maximum",
    "where": "switch", "not": "logical_not", "and": "logical_and", "or": "logical_or", "@": "dot",
}  # fmt: skip
TRANSPOSE = "T"
NO_OVERFLOW = "no_overflow"
ALONG = {"max_": "max", "min_": "min", "amax": "max", "amin": "min"}
COMPARISONS = frozenset(("lt", "le", "gt", "ge", "eq", "neq"))
_LOGICAL = frozenset(("logical_and", "logical_or", "logical_not", "logical_xor"))
_BITWISE = frozenset(("bitwise_and", "bitwise_or", "bitwise_xor", "invert"))
_ARITHMETIC = frozenset(("add", "sub", "mul", "true_div", "neg", "sqr"))


class Word(NamedTuple):
    """An operator of the vocabulary: how many operands it takes, and the terms it makes of some."""

    name: str
    arity: int
    commutative: bool
    plain: bool  # arithmetic and choices, of which any number may be nested
    make: Callable[[tuple[Any, ...]], list[Any]]


def words(asked: Sequence[str]) -> list[Word]:
    """The words for operators that somebody has typed: `exp`, `+`, `sum`, `T`."""
    return [_word(name) for text in asked for name in text.split()]


def _word(name: str) -> Word:
    if name == TRANSPOSE:
        return Word(name, 1, False, True, _transposed)
    table_name = ALONG.get(name, SYMBOLS.get(name, name))
    op = OPS.get(table_name)
    if op is None:
        close = difflib.get_close_matches(name, [*OPS, *SYMBOLS], 3)
        hint = f"; did you mean {' or '.join(close)}?" if close else ""
        raise LookupError(f"no operator is called {name!r}{hint}")
    if op.kind == "reduce":
        return Word(name, 1, False, True, lambda args: _reduced(op, args))
    if op.kind not in ("elementwise", "linalg"):
        raise LookupError(f"rules for {name!r} cannot be searched: it is neither element-wise, a sum or the like, nor "
                          "of linear algebra")  # fmt: skip
    arity = 2 if op.arity is None else op.arity
    commutative = op.commutative and arity == 2
    plain = op.name in _ARITHMETIC or op.name in COMPARISONS or op.kind == "linalg" or op.arity != 1
    return Word(name, arity, commutative, plain, lambda args: _applied(op, args))


# ---------------------------------------------------------------------- terms
def _applied(op: Op, args: tuple[Any, ...]) -> list[Any]:
    """The op on these operands, if they are of the sort that it is for."""
    if not _fits(op, [a.type for a in args]):
        return []
    try:
        return [mk(op, args)]
    except Exception:  # an op refuses operands in its own way; then there is no such term
        return []


def _fits(op: Op, types: list[Any]) -> bool:
    kinds = [kind_of(t.np_dtype) for t in types]
    if op.name == "switch":
        return kinds[0] == "b" and types[1].dtype == types[2].dtype
    if op.name in _LOGICAL:
        return set(kinds) == {"b"}
    if op.name in _BITWISE:
        return set(kinds) in ({"b"}, {"i"}, {"u"})
    if op.kind == "linalg":
        return all(t.ndim in (1, 2) for t in types) and "b" not in kinds and (op.arity == 2 or types[0].ndim == 2)
    return ("b" not in kinds or op.name in ("eq", "neq")) and len({t.dtype for t in types}) == 1


def _transposed(args: tuple[Any, ...]) -> list[Any]:
    (x,) = args
    return [mk(OPS["dimshuffle"].bind(order=(1, 0)), args)] if x.type.ndim == 2 else []


def _reduced(op: Op, args: tuple[Any, ...]) -> list[Any]:
    """A reduction along each axis, and along all."""
    (x,) = args
    truths = op.name in ("any", "all", "max", "min")
    if not x.type.ndim or (kind_of(x.type.np_dtype) == "b" and not truths):
        return []
    axes: list[tuple[int, ...]] = [(i,) for i in range(x.type.ndim)]
    axes += [tuple(range(x.type.ndim))] if x.type.ndim > 1 else []
    extra = {"dtype": x.type.dtype} if "dtype" in op.defaults else {}
    return [mk(op.bind(axis=a, **extra), args) for a in axes]


# ---------------------------------------------------------------------- leaves
class Vocabulary(NamedTuple):
    """Words, inputs (the first are used first), and numbers."""

    words: list[Word]
    leaves: list[Any]
    numbers: list[Any]
    facts: tuple[str, ...]  # of all inputs; `no_overflow` of all whole numbers that are computed

    @property
    def names(self) -> list[str]:
        """The operators by their names in the table, in the order in which they were given."""
        return [ALONG.get(w.name, SYMBOLS.get(w.name, w.name)) for w in self.words]

    @property
    def elementwise(self) -> bool:
        """Whether terms are computed element by element."""
        return all(t.type.ndim == 1 for t in self.leaves)

    def first_terms(self) -> Iterator[Any]:
        """Inputs and numbers."""
        yield from self.leaves
        yield from self.numbers


def vocabulary(
    ops: Sequence[str], dtype: str = "float64", facts: Sequence[str] = (), numbers: Sequence[float] = (0, 1, 2),
    variables: int = 3,
) -> Vocabulary:  # fmt: skip
    """The vocabulary of some operators: vectors, or matrices where there is linear algebra, and truth values."""
    chosen = words(ops)
    names = {ALONG.get(w.name, SYMBOLS.get(w.name, w.name)) for w in chosen}
    kinds = {OPS[n].kind for n in names if n in OPS}
    if "linalg" in kinds or TRANSPOSE in names:
        types = [TensorType.of(dtype, (None, None))] * variables
    elif "reduce" in kinds:
        matrix, vector = TensorType.of(dtype, (None, None)), TensorType.of(dtype, (None,))
        types = [matrix, vector, matrix][:variables]
    else:
        types = [TensorType.of(dtype, (None,))] * variables
    of_inputs = tuple([f for f in facts if f != NO_OVERFLOW])
    leaves = [_leaf(name, t, of_inputs) for name, t in zip("xyzwuv", types, strict=False)]
    if names & (_LOGICAL | {"switch"}) or dtype == "bool":
        leaves += [Input(name, TensorType.of("bool", types[0].shape)) for name in ("p", "q")]
    values = (False, True) if dtype == "bool" else numbers
    consts = [Const(np.asarray(n, dtype)) for n in values]
    if "switch" in names and dtype != "bool":
        consts += [Const(np.asarray(n)) for n in (False, True)]  # of conditions
    return Vocabulary(chosen, leaves, consts, tuple(facts))


def _leaf(name: str, type_: TensorType, facts: tuple[str, ...]) -> Any:
    """An input, of which facts are known."""
    made = Input(name, type_)
    return mk(assume.bind(facts=facts), (made,)) if facts else made


def more_leaves(vocabulary: Vocabulary, at_least: int = 3) -> list[Any]:
    """The inputs of a vocabulary, and others, so that there are some of each type."""
    leaves = list(vocabulary.leaves)
    facts = tuple([f for f in vocabulary.facts if f != NO_OVERFLOW])
    for type_ in dict.fromkeys([t.type for t in leaves]):
        known = any(t.type == type_ and t.args for t in leaves)
        names = (n for n in "xyzwuvpqrst" if n not in {input_of(t).name for t in leaves})
        for _ in range(at_least - sum(t.type == type_ for t in vocabulary.leaves)):
            leaves.append(_leaf(next(names), type_, facts if known else ()))
    return leaves


def input_of(leaf: AnyTerm) -> Any:
    """The input below what is assumed of it."""
    return leaf.args[0] if leaf.args else leaf
