"""theano.gof: walks over graphs, copies of them, comparing and writing them. May import the tensor language."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import termgraph.tensor as T
from termgraph.tensor import graph as native
from termgraph.tensor.likes import DTypeLike, Pairs, TensorLike
from termgraph.tensor.sharedvar import is_shared
from termgraph.tensor.variable import Apply, Constant, TensorVariable, Variable
from termgraph.terms.errors import GraphError
from termgraph.terms.traverse import equal_up_to_inputs

Node = (Apply, Variable)
NoParams = None


class InconsistencyError(GraphError):
    """A change would make the graph inconsistent."""


class CachedConstantError(GraphError):
    """Kept for programs that catch it: constants of termgraph are never tied to one graph."""


# ---------------------------------------------------------------------- walking
def stack_search(start: Any, expand: Callable, mode: str = "bfs", build_inv: bool = False) -> Any:
    """Everything reached from `start` by `expand`, each once, in breadth-first or depth-first order."""
    if mode not in ("bfs", "dfs"):
        raise ValueError(f"stack_search: mode must be 'bfs' or 'dfs', got {mode!r}")
    todo, order, seen = deque(start), [], set()
    above: dict[Any, list] = {}
    while todo:
        node = todo.popleft() if mode == "bfs" else todo.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        order.append(node)
        following = expand(node) or ()
        for other in following:
            above.setdefault(other, []).append(node)
        todo.extend(following)
    return (order, above) if build_inv else order


def ancestors(variable_list: Iterable[Any], blockers: Iterable[Any] | None = None) -> list:
    """The variables and what they are computed from, each before its inputs."""
    stop = set(blockers or ())

    def expand(v: Variable) -> list:
        return [] if v in stop or v.owner is None else list(reversed(v.owner.inputs))

    return stack_search(reversed(list(variable_list)), expand, "dfs")


def inputs(variable_list: Iterable[Any], blockers: Iterable[Any] | None = None) -> list:
    """The variables that nothing computes, in the order in which a reader meets them."""
    return [v for v in ancestors(variable_list, blockers) if v.owner is None]


def variables_and_orphans(i: Sequence[Any], o: Sequence[Any]) -> tuple[list, list]:
    """The variables between inputs and outputs, and those among them that nothing computes but are no inputs."""
    every = list(dict.fromkeys(ancestors(o, i)))
    return every, [v for v in every if v.owner is None and v not in set(i)]


def variables(i: Sequence[Any], o: Sequence[Any]) -> list:
    """The variables between inputs and outputs."""
    return variables_and_orphans(i, o)[0]


def orphans(i: Sequence[Any], o: Sequence[Any]) -> list:
    """The variables that outputs need and nothing computes, but for the inputs."""
    return variables_and_orphans(i, o)[1]


def ops(i: Sequence[Any], o: Sequence[Any]) -> set:
    """The applications between inputs and outputs."""
    return set(list_of_nodes(i, o))


def list_of_nodes(inputs: Sequence[Any], outputs: Sequence[Any]) -> list:
    """The applications between inputs and outputs, outputs first."""
    stop = set(inputs)
    return list(dict.fromkeys(v.owner for v in ancestors(outputs, inputs) if v.owner is not None and v not in stop))


def io_toposort(
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    orderings: Mapping[Any, Any] | None = None,
    clients: Mapping[Any, Any] | None = None,
) -> list:
    """The applications between inputs and outputs, each after those it needs."""
    return native.applies_between(inputs, outputs)


def general_toposort(outputs: Iterable[Any], deps: Callable, **_: object) -> list:
    """Everything under the outputs, each after what `deps` says it needs."""
    order: list = []
    state: dict[Any, int] = {}
    stack = list(outputs)[::-1]
    while stack:
        node = stack[-1]
        if state.get(node) == 2:
            stack.pop()
        elif state.get(node) == 1:
            state[node] = 2
            order.append(stack.pop())
        else:
            state[node] = 1
            more = [d for d in deps(node) or () if state.get(d) != 2]
            if any(state.get(d) == 1 for d in more):
                raise ValueError("the graph has a cycle")
            stack.extend(reversed(more))
    return order


def is_in_ancestors(l_node: Apply, f_node: Apply) -> bool:
    """Whether one application needs another."""
    return any(v.owner is f_node for v in ancestors(l_node.outputs))


def io_connection_pattern(inputs: Sequence[Any], outputs: Sequence[Any]) -> list[list[bool]]:
    """For each input, which of the outputs depend on it."""
    under = [set(ancestors([o])) for o in outputs]
    return [[i in found for found in under] for i in inputs]


def view_roots(r: TensorLike) -> list:
    """The variables whose memory this one may be: termgraph decides that when it compiles, so it is itself."""
    return [r]


def nodes_constructed() -> Any:
    """Refused as a context manager: variables are not announced when they are made."""
    raise NotImplementedError("nodes_constructed: look at the graph of the result instead, gof.graph.ancestors([y])")


# ---------------------------------------------------------------------- copies
def clone(
    output: Variable | Sequence[Variable],
    replace: Pairs = None,
    strict: bool = True,
    share_inputs: bool = True,
    copy_inputs: bool | None = None,
    **_: object,
) -> Any:
    """The expression with parts replaced; `share_inputs=False` gives it inputs of its own.

    As in `gof.graph.clone(inputs, outputs)`, two lists give a copy of the graph between them: (inputs, outputs).
    """
    if isinstance(output, (list, tuple)) and isinstance(replace, (list, tuple)) and _is_graph(output, replace):
        return _clone_between(output, replace, strict is not False)
    share = share_inputs if copy_inputs is None else copy_inputs
    pairs = list(replace.items() if isinstance(replace, dict) else replace or ())
    if not share:
        given = {old for old, _ in pairs}
        outputs = list(output) if isinstance(output, (list, tuple)) else [output]
        pairs += [(v, v.clone()) for v in inputs(outputs) if _is_free(v) and v not in given]
    return native.clone(output, pairs, strict)


def _is_free(v: TensorVariable) -> bool:
    return not isinstance(v, Constant) and not is_shared(v)


def _is_graph(i: Sequence[Any], o: Sequence[Any]) -> bool:
    return all(isinstance(v, Variable) for v in (*i, *o))


def _clone_between(i: Sequence[Any], o: Sequence[Any], copy_inputs: bool) -> tuple[list, list]:
    fresh = [v.clone() if copy_inputs and _is_free(v) else v for v in i]
    return fresh, native.clone(list(o), list(zip(i, fresh, strict=True)))


def clone_get_equiv(
    inputs: Sequence[Any], outputs: Sequence[Any], copy_inputs: bool = True, copy_orphans: bool = True,
    memo: dict | None = None,
) -> dict:  # fmt: skip
    """A dictionary from the variables and applications of a graph to those of a copy of it."""
    every = variables(inputs, outputs)
    fresh, copies = _clone_between(inputs, every, copy_inputs)
    found = {**(memo or {}), **dict(zip(every, copies, strict=True)), **dict(zip(inputs, fresh, strict=True))}
    for v, c in list(found.items()):
        if isinstance(v, Variable) and v.owner is not None and c.owner is not None:
            found[v.owner] = c.owner
    return found


def traverse(out: TensorLike, x: TensorLike, x_copy: TensorLike, d: dict, visited: Any = None) -> dict:
    """The dictionary itself: replacements reach every equal expression without a walk."""
    return d


def map_variables(replacer: Callable, graphs: Sequence[Any], additional_inputs: Sequence[Any] = ()) -> list:
    """Expressions in which every variable is what `replacer` makes of it."""
    changed: dict[Any, Any] = {}
    for v in native.ancestors(graphs):
        here = native.clone(v, list(changed.items())) if changed and v.owner is not None else v
        new = replacer(here)
        if new is not v:
            changed[v] = new
    return [changed.get(g, g) for g in graphs]


def safe_new(x: TensorLike, tag: str = "", dtype: DTypeLike = None) -> Any:
    """A fresh variable of the same type, for a part of a loop."""
    x = T.as_tensor(x) if not isinstance(x, Variable) else x
    if isinstance(x, Constant):
        return x.clone(f"{x.name}{tag}" if x.name else None)
    type_ = x.type if dtype is None or dtype == x.dtype else x.type.clone(dtype=dtype)
    return type_(f"{x.name}{tag}" if x.name else None)


def hash_listsDictsTuples(x: TensorLike) -> int:
    """A hash of nested lists and dictionaries."""
    if isinstance(x, (list, tuple)):
        return hash(tuple(map(hash_listsDictsTuples, x)))
    if isinstance(x, dict):
        return hash(tuple([(k, hash_listsDictsTuples(v)) for k, v in sorted(x.items(), key=repr)]))
    return hash(x) if getattr(x, "__hash__", None) else 0


# ---------------------------------------------------------------------- comparing and writing
def equal_computations(
    xs: Sequence[Any], ys: Sequence[Any], in_xs: Sequence[Any] | None = None, in_ys: Sequence[Any] | None = None
) -> bool:
    """Whether expressions are the same, with `in_xs` in place of `in_ys`."""
    pairs = list(zip(in_ys or (), in_xs or (), strict=True))
    moved = native.clone(list(ys), pairs, strict=False) if pairs else list(ys)
    return len(xs) == len(moved) and all(a.term is b.term for a, b in zip(map(T.as_tensor, xs), moved))


def is_same_graph(var1: Variable, var2: Variable, givens: Pairs = None, debug: bool = False) -> bool:
    """Whether two variables are the same expression of the same inputs, with replacements made in both."""
    pairs = list(givens.items() if isinstance(givens, dict) else givens or ())
    one, two = (native.clone([var1, var2], pairs, strict=False)) if pairs else (var1, var2)
    return one.term is two.term or equal_up_to_inputs([one.term], [two.term], [], [])


is_same_graph_with_merge = is_same_graph


def default_leaf_formatter(leaf: Variable) -> str:
    """A leaf as text."""
    return str(leaf)


def default_node_formatter(op: Apply, argstrings: Sequence[str]) -> str:
    """An application as text."""
    return f"{op.op}({', '.join(argstrings)})"


def as_string(
    i: Sequence[Any], o: Sequence[Any], leaf_formatter: Callable = default_leaf_formatter,
    node_formatter: Callable = default_node_formatter,
) -> list[str]:  # fmt: skip
    """The outputs as texts; what is used twice is written once, `*1 -> add(x, y)`, and named after that."""
    made: dict[Any, str] = {}
    stop = set(i)
    uses: dict[Any, int] = {}
    for node in list_of_nodes(i, o):
        for v in node.inputs:
            uses[v.owner] = uses.get(v.owner, 0) + (v.owner is not None)
    number: dict[Any, int] = {}
    first: set[Any] = set()

    def text(v: Variable) -> str:
        if v in stop or v.owner is None:
            return leaf_formatter(v)
        if uses.get(v.owner, 0) > 1:
            n = number.setdefault(v.owner, len(number) + 1)
            if v.owner in first:
                return f"*{n}"
            first.add(v.owner)
            return f"*{n} -> {made[v.owner]}"
        return made[v.owner]

    for node in io_toposort(i, o):
        made[node] = node_formatter(node, [text(v) for v in node.inputs])
    return [text(v) if v.owner is None or uses.get(v.owner, 0) > 1 else made[v.owner] for v in o]


def op_as_string(i: Sequence[Any], op: Apply, **formatters: Any) -> str:
    """An application as text."""
    return as_string(i, list(op.outputs[:1]), **formatters)[0]


def give_variables_names(variables: Sequence[Any]) -> None:
    """Give the variables names that differ from each other."""
    names = [v.name for v in variables]
    for k, v in enumerate(variables):
        if v.name is None or names.count(v.name) > 1:
            v.name = f"{v.name or 'tensor'}_{k}"


# ---------------------------------------------------------------------- order of applications
def posort(l: Iterable[Any], *cmps: Callable) -> list:
    """The items in an order in which no comparison puts a later one first."""
    items = list(l)

    def before(x: TensorLike) -> list:
        return [y for y in items if y is not x and any(cmp(y, x) < 0 for cmp in cmps)]

    return general_toposort(items, before)


def make_dependence_cmp() -> Callable:
    """A comparison of applications by who needs whom."""

    def compare(a: Apply, b: Apply) -> int:
        return 1 if is_in_ancestors(a, b) else -1 if is_in_ancestors(b, a) else 0

    return compare


def sort_apply_nodes(inputs: Sequence[Any], outputs: Sequence[Any], cmps: Sequence[Callable]) -> list:
    """The applications between inputs and outputs, in an order that the comparisons agree with."""
    return posort(list_of_nodes(inputs, outputs), make_dependence_cmp(), *cmps)


def sort_schedule_fn(*cmps: Callable) -> Callable:
    """A schedule of a graph by comparisons."""
    return lambda fgraph: sort_apply_nodes(fgraph.inputs, fgraph.outputs, cmps)


def reverse_dict(d: dict) -> dict:
    """From values to the keys that have them."""
    found: dict[Any, tuple] = {}
    for k, values in d.items():
        for v in values:
            found[v] = (*found.get(v, ()), k)
    return found


class key_to_cmp:
    """A comparison by a key."""

    def __init__(self, key: Callable) -> None:
        self.key = key

    def __call__(self, a: Any, b: Any) -> int:
        x, y = self.key(a), self.key(b)
        return (x > y) - (x < y)
