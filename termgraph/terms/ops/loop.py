"""The loop op: one closed body, run `n_steps` times over operands in three groups, constants, carries and sequences.

`loop(n_steps, *consts, *inits, *xs)` gives the final carries, the stacked results (ys), and the number of steps made if
the body can stop early. Taps, updates and directions are translated to this by `termgraph.loops`.
"""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from termgraph.terms.errors import GraphError, ShapeError, TypeMismatch
from termgraph.terms.evaluate import apply_meaning, evaluate
from termgraph.terms.op import OPS, Op
from termgraph.terms.ops.basic import nth
from termgraph.terms.ops.shaping import static_scalar
from termgraph.terms.term import AnyTerm, Arg, Term, mk, mk1
from termgraph.terms.traverse import children_first, substitute
from termgraph.terms.types import TensorType, TupleType, Type, fits

# makes the function that runs a loop op on values: `run(n_steps, *operands) -> tuple`; the virtual machine puts its own
Runner = Callable[..., tuple[Any, ...]]
_make_runner: Callable[[Any], Runner] | None = None


def set_runner_maker(make: Callable[[Any], Runner]) -> None:
    """Called once by the virtual machine, which runs bodies faster than the reference evaluation."""
    global _make_runner
    _make_runner = make


class Loop(Op):
    """`loop` with a body: terms over `Arg(0), Arg(1), ...`, the constants, then the carries, then rows of the xs.

    The body gives the next carries, then one result per step for each of the ys, then (if `until`) a bool that ends the
    loop after this step. `takes` holds the types of the body's arguments. `truncate` bounds how many steps the gradient
    goes back (-1: all); `recompute` lets the gradient keep only the carries and compute the rest again.
    """

    n_consts: int
    n_carry: int
    n_xs: int
    n_ys: int
    cache: dict[Any, Any]

    def bind(self, **params: Any) -> Op:
        op: Any = super().bind(**params)
        if op.family is not op and "n_xs" not in op.__dict__:
            p = op.params
            op.n_consts, op.n_carry = p["n_consts"], p["n_carry"]
            op.n_xs = len(p["takes"]) - op.n_consts - op.n_carry
            op.n_ys = len(p["body"]) - op.n_carry - bool(p["until"])
            op.arity = 1 + len(p["takes"])
            op.nout = op.n_carry + op.n_ys + bool(p["until"])
            op.cache = {}
        bound: Op = op
        return bound

    # ------------------------------------------------------------------ parts of the body
    @property
    def leaves(self) -> list[Arg]:
        """The body's arguments."""
        return [Arg(i, t) for i, t in enumerate(self.params["takes"])]

    @property
    def next_carries(self) -> tuple[AnyTerm, ...]:
        body: tuple[AnyTerm, ...] = self.params["body"]
        return body[: self.n_carry]

    @property
    def results(self) -> tuple[AnyTerm, ...]:
        """What the body gives each step, to be stacked."""
        body: tuple[AnyTerm, ...] = self.params["body"]
        return body[self.n_carry : self.n_carry + self.n_ys]

    @property
    def stop(self) -> Any:
        """The condition that ends the loop, or None."""
        return self.params["body"][-1] if self.params["until"] else None

    @property
    def title(self) -> str:
        """What error messages call it."""
        name = self.params["name"]
        return f"loop {name!r}" if name else "a loop"

    def __repr__(self) -> str:
        if self.family is self:
            return self.name
        return f"loop{{{self.params['name']}}}" if self.params["name"] else "loop"

    # ------------------------------------------------------------------ meaning
    def meaning(self, *values: object) -> tuple[Any, ...]:
        """Run the body by the virtual machine, or by the reference evaluation where there is none."""
        run = self.cache.get("run")
        if run is None:
            run = self.cache["run"] = (_make_runner or reference_runner)(self)
        return run(*values)


class Parts:
    """The operands of a loop term (or their values) by group."""

    __slots__ = ("consts", "inits", "n", "xs")

    def __init__(self, op: Loop, args: Sequence[Any]) -> None:
        c, s = 1 + op.n_consts, 1 + op.n_consts + op.n_carry
        self.n, self.consts, self.inits, self.xs = args[0], list(args[1:c]), list(args[c:s]), list(args[s:])

    def __iter__(self) -> Iterator[Any]:
        return iter((self.n, *self.consts, *self.inits, *self.xs))


def projections(t: AnyTerm) -> list[AnyTerm]:
    """All results of a term with several, as terms."""
    return [mk1(nth.bind(i=i), t) for i in range(len(t.type.types))]


def make_loop(
    n: Any,
    consts: Sequence[tuple[Arg, Any]],
    carries: Sequence[tuple[Any, Any, Any]],
    xs: Sequence[tuple[Any, Any]],
    ys: Sequence[Any] = (),
    stop: AnyTerm | None = None,
    source: Op | None = None,
    **params: Any,
) -> AnyTerm:
    """A loop term from parts that name their own leaves, which are renumbered.

    `consts` and `xs` are pairs (leaf in the body, operand), `carries` are triples (leaf, initial operand, next value).
    `source` is the loop op whose users' lines (and name, and other parameters) the new one takes over.
    """
    pairs = [*consts, *[(leaf, init) for leaf, init, _ in carries], *xs]
    takes = tuple([leaf.type for leaf, _ in pairs])
    renumber = {leaf: Arg(i, leaf.type) for i, (leaf, _) in enumerate(pairs)}
    roots = [*[new for _, _, new in carries], *ys, *([] if stop is None else [stop])]
    kept = {k: v for k, v in source.params.items() if k in ("name", "truncate", "recompute")} if source else {}
    op = loop.bind(
        body=tuple(substitute(roots, renumber)), takes=takes, n_consts=len(consts), n_carry=len(carries),
        until=stop is not None, **{**kept, **params},
    )  # fmt: skip
    if source is not None:
        inherit_places(op, source, renumber)
    return mk(op, (n, *[operand for _, operand in pairs]))


# ---------------------------------------------------------------------- types


def _infer_loop(
    n: AnyTerm,
    *operands: Any,
    body: tuple[AnyTerm, ...],
    takes: tuple[Type, ...],
    n_consts: int,
    n_carry: int,
    **more: Any,
) -> Type:
    if not isinstance(n.type, TensorType) or n.type.ndim != 0 or n.type.kind not in "iu":
        raise TypeMismatch(f"the number of steps of a loop must be an integer scalar, got {n.type}")
    steps = static_scalar(n)
    if steps is not None and steps < 0:
        raise ShapeError(f"the number of steps of a loop must not be negative, got {steps}")
    for i, (want, operand) in enumerate(zip(takes, operands)):
        got = operand.type
        if i >= n_consts + n_carry:
            got = _row_type(i - n_consts - n_carry, got, steps)
        if not fits(want, got):
            raise TypeMismatch(f"operand {i + 1} of a loop must have type {want} (per step), got {got}")
    for i, (want, new) in enumerate(zip(takes[n_consts : n_consts + n_carry], body)):
        if not fits(want, new.type):
            raise TypeMismatch(f"carry {i} of a loop has type {want}, but the body gives {new.type}")
    until = more["until"]
    ys = body[n_carry : len(body) - 1] if until else body[n_carry:]
    rows = None if until else steps
    types: list[Type] = list(takes[n_consts : n_consts + n_carry])
    types += [_stack_type(i, y.type, rows) for i, y in enumerate(ys)]
    if until:
        types.append(TensorType.of("int64", ()))
    return TupleType(types)


def _row_type(i: int, type_: Type, steps: int | None) -> Type:
    if not isinstance(type_, TensorType) or type_.ndim == 0:
        raise TypeMismatch(f"sequence {i} of a loop must be an array with at least one dimension, got {type_}")
    if steps is not None and type_.shape[0] is not None and type_.shape[0] < steps:
        raise ShapeError(f"sequence {i} of a loop has {type_.shape[0]} rows, too few for {steps} steps")
    return TensorType.of(type_.dtype, type_.shape[1:])


def _stack_type(i: int, type_: Type, rows: int | None) -> Type:
    if isinstance(type_, TensorType):
        return TensorType.of(type_.dtype, (rows, *type_.shape))
    raise TypeMismatch(
        f"result {i} of a loop is {type_}; what is stacked (the results of scan's steps and of vmap's examples) must "
        "be arrays: make a sparse matrix dense (sparse.dense_from_sparse), or return its data"
    )


loop = OPS["loop"] = Loop(
    "loop",
    arity=None,
    infer=_infer_loop,
    meaning=None,
    kind="loop",
    by_value=True,
    params={
        "body": (), "takes": (), "n_consts": 0, "n_carry": 0, "until": False, "name": None, "truncate": -1,
        "recompute": False,
    },
    doc="A closed body run n_steps times: final carries and stacked results.",
)  # fmt: skip


# ---------------------------------------------------------------------- running
def negative_text(op: Loop) -> str:
    """What is said of a negative number of steps."""
    title = plain_text(op.title)
    return f"{title}: the number of steps must not be negative, got {{0}}; a sequence must be as long as its taps reach"


def too_short_text(op: Loop, name: str) -> str:
    """What is said of a sequence with fewer rows, {0}, than steps, {1}."""
    return f"{plain_text(op.title)} is to make {{1}} steps, but {name} has only {{0}} rows"


def plain_text(text: str) -> str:
    """Text that `format` leaves as it is."""
    return text.replace("{", "{{").replace("}", "}}")


def checked_steps(op: Loop, n: np.ndarray, xs: Sequence[np.ndarray]) -> int:
    """The number of steps as an int, once all sequences are seen to be long enough."""
    steps = int(n)
    if steps < 0:
        raise ShapeError(negative_text(op).format(steps))
    for i, x in enumerate(xs):
        if x.shape[0] < steps:
            name = places_of(op).get(op.leaves[op.n_consts + op.n_carry + i], (None, ()))[0]
            name = plain_text(name or f"sequence {i}")
            raise ShapeError(too_short_text(op, name).format(x.shape[0], steps))
    return steps


class Stack:
    """The rows of one y, written into a buffer that grows only if the number of steps is not known beforehand."""

    __slots__ = ("array", "limit", "name")

    def __init__(self, name: str, limit: int) -> None:
        self.name, self.limit = name, limit
        self.array: Any = None

    def put(self, t: int, row: np.ndarray) -> None:
        array = self.array
        if array is None:
            array = self.array = np.empty((self.limit, *row.shape), row.dtype)
        elif row.shape != array.shape[1:]:
            raise ShapeError(
                f"{self.name} changes its shape from {array.shape[1:]} to {row.shape} in step {t}; what is stacked "
                "must keep one shape. Keep growing values in the carry only (tg.loop), or pad them"
            )
        elif t == len(array):
            array = self.array = np.concatenate([array, np.empty_like(array)])
        array[t] = row


def rows_of(stack: Stack, steps: int) -> np.ndarray:
    """What was stacked, without unused room."""
    result: np.ndarray = stack.array if len(stack.array) == steps else stack.array[:steps].copy()
    return result


def run_loop(op: Loop, step: Callable[..., Sequence[Any]], values: Sequence[Any]) -> tuple[Any, ...]:
    """The results of a loop whose body is `step(*consts, *carries, *rows)`."""
    parts = Parts(op, values)
    steps = checked_steps(op, parts.n, parts.xs)
    carries, xs, consts, until = parts.inits, parts.xs, parts.consts, op.params["until"]
    s, y = op.n_carry, op.n_carry + op.n_ys
    room = min(steps, 64) if until else steps
    stacks = [Stack(f"result {i} of {op.title}", room) for i in range(op.n_ys)]
    made = 0
    for t in range(steps):
        out = step(*consts, *carries, *[x[t, ...] for x in xs])
        carries = out[:s]
        for stack, row in zip(stacks, out[s:y]):
            stack.put(t, row)
        made += 1
        if until and out[y]:
            break
    if made:
        ys = [rows_of(stack, made) for stack in stacks]
    else:
        ys = [np.empty((0, *shape), r.type.np_dtype) for shape, r in zip(_row_shapes(op, parts), op.results)]
    return (*carries, *ys, *([np.asarray(made, "int64")] if until else []))


def _row_shapes(op: Loop, parts: Parts) -> list[tuple[int, ...]]:
    """The shapes of the ys of a loop that makes no step: where types leave lengths open, of a step on made-up rows."""
    if all(None not in r.type.shape for r in op.results):
        return [r.type.shape for r in op.results]
    ys = op.params["body"][op.n_carry : op.n_carry + op.n_ys]
    values = dict(zip(op.leaves, (*parts.consts, *parts.inits, *map(_made_up_row, parts.xs)), strict=True))
    try:
        with np.errstate(all="ignore"):
            return [y.shape for y in evaluate(ys, values, apply=_apply_to_made_up)]
    except Exception:  # made-up rows need not be what the body can be run on; no step is made, so no error is due
        return [tuple([n or 0 for n in r.type.shape]) for r in op.results]


def _made_up_row(x: np.ndarray) -> np.ndarray:
    """A row that most steps can be run on: a place in any array, a matrix that can be solved and decomposed."""
    row = np.zeros(x.shape[1:], x.dtype)
    if x.dtype.kind in "iu":
        return row
    if row.ndim < 2:
        return np.ones_like(row)
    row[...] = np.eye(*row.shape[-2:])
    return row


def _apply_to_made_up(t: Term, values: list[Any]) -> Any:
    """The value of a term; where lengths contradict each other, the smaller is made up (a row that is a length)."""
    try:
        return apply_meaning(t, values)
    except ShapeError:
        if t.op.kind != "elementwise":
            raise
        lengths = itertools.zip_longest(*[v.shape[::-1] for v in values], fillvalue=1)
        return np.zeros([max(ns) for ns in lengths][::-1], t.type.np_dtype)


def reference_runner(op: Loop) -> Runner:
    """Runs the body by the reference evaluation, node by node."""
    leaves, body = op.leaves, op.params["body"]

    def step(*values: np.ndarray) -> list[Any]:
        return evaluate(body, dict(zip(leaves, values)))

    return lambda *values: run_loop(op, step, values)


# ---------------------------------------------------------------------- where bodies came from
Places = Mapping[Any, tuple[Any, ...]]  # term of a body -> (name, site) of the user's variable
_places: weakref.WeakKeyDictionary[Any, _Noted] = weakref.WeakKeyDictionary()
_written = itertools.count(1)


class _Noted(NamedTuple):
    """How to find the names of a body, and when the loop that they come from was written."""

    find: Callable[[], Places]
    written: int


def note_places(op: Op, find: Callable[[], Places]) -> None:
    """Remember how to find the user's names and lines for the terms of a body that a user wrote.

    Equal loops have the same op: the one that was written last gives the names.
    """
    _places[op] = _Noted(find, next(_written))


class _Asked(threading.local):
    """The ops whose places a thread is looking for: a term can have come out of one body into another and back."""

    def __init__(self) -> None:
        self.ops: set[Op] = set()


_asked = _Asked()


def places_of(op: Op) -> Places:
    """The user's name and line for the terms of a loop's body, as far as they are known."""
    noted = _places.get(op)
    if noted is None or op in _asked.ops:
        return {}
    _asked.ops.add(op)
    try:
        return noted.find()
    finally:
        _asked.ops.discard(op)


def inherit_places(op: Op, source: Op, renamed: Mapping[Any, Any]) -> None:
    """Let the body of `op`, made from that of `source` with leaves renamed, point to the same lines.

    Of several that become the same the one that was written last gives the names, as in `note_places`.
    """
    if op is source or source not in _places:
        return
    find, written = _places[source]
    if op in _places and _places[op].written >= written:
        return
    renamed = dict(renamed)

    def renamed_places() -> Places:
        found = find()
        old = _made_of(found, renamed) if renamed else list(found)
        try:
            new = substitute(old, renamed)
        except (TypeError, ValueError, GraphError):  # a leaf whose type became more general does not fit everywhere
            new = [renamed.get(t, t) for t in old]
        return dict(zip(new, [found[t] for t in old]))

    _places[op] = _Noted(renamed_places, written)


def note_stand_ins(op: Op, source: Op, stand_ins: Mapping[Any, Any]) -> None:
    """Let terms that came into the body of `op` have the lines of those in the body of `source` that they stand for."""
    if op not in _places:
        return
    find, written = _places[op]

    def with_stand_ins() -> Places:
        lines = places_of(source)
        return {**find(), **{new: lines[old] for new, old in stand_ins.items() if old in lines}}

    _places[op] = _Noted(with_stand_ins, written)


def _made_of(terms: Iterable[Any], leaves: Mapping[Any, Any]) -> list[Any]:
    """The terms that need no other leaves: the numbers of others mean something else in the new body."""
    terms, foreign = list(terms), set()
    for t in children_first(terms):
        if (t.__class__ is Arg and t not in leaves) or any(a in foreign for a in t.args):
            foreign.add(t)
    return [t for t in terms if t not in foreign]
