"""theano.gof: features of graphs and Theano's own rewriting, which is accepted and not used: results do not need it."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from termgraph.function.fgraph import FunctionGraph
from termgraph.tensor.likes import TensorLike
from termgraph.tensor.variable import Apply, Variable


# ---------------------------------------------------------------------- features of graphs
class AlreadyThere(Exception):
    """The graph has such a feature already."""


class ReplacementDidntRemovedError(Exception):
    """A replacement left in the graph what it was to remove."""


class BadOptimization(AssertionError):
    """A rewriting changed a value."""


class Feature:
    """Something that is told about changes of a graph; termgraph's own graphs of functions do not change."""

    def on_attach(self, function_graph: FunctionGraph) -> None:
        """Called when it is attached."""

    def on_detach(self, function_graph: FunctionGraph) -> None:
        """Called when it is taken off."""

    def on_import(self, function_graph: FunctionGraph, node: Apply, reason: object) -> None:
        """Called for a new application."""

    def on_prune(self, function_graph: FunctionGraph, node: Apply, reason: object) -> None:
        """Called for an application that goes."""

    def on_change_input(
        self, function_graph: FunctionGraph, node: Apply, i: int, r: TensorLike, new_r: Variable, reason: object = None
    ) -> None:
        """Called when an input is replaced."""

    def orderings(self, function_graph: FunctionGraph) -> dict:
        """What must run before what, beside what the graph says."""
        return OrderedDict()


class Bookkeeper(Feature):
    """Hears of every application of the graph it is attached to."""


class History(Feature):
    """Remembers graphs, so that changes can be undone."""


class Validator(Feature):
    """Graphs of termgraph are checked when they are made."""


class ReplaceValidate(History, Validator):
    """`fgraph.replace` checks the types of what it puts in."""


class NodeFinder(Bookkeeper):
    """Finds applications by their ops."""


class PrintListener(Feature):
    """Prints changes."""

    def __init__(self, active: bool = True) -> None:
        self.active = active


class NoOutputFromInplace(Feature):
    """Results of functions are never overwritten."""


class PreserveNames(Feature):
    """Names are kept by termgraph in any case."""


class PreserveVariableAttributes(Feature):
    """Names and tags are kept by termgraph in any case."""


class GetCheckpoint(Feature):
    """A point of a history."""


class LambdExtract(Feature):
    """A change that can be undone."""


# ---------------------------------------------------------------------- Theano's own rewriting: accepted, not used
_NOTE = (
    "{}: rewritings written for Theano are not used, results are the same without them; termgraph's rules are data, "
    "see docs/rules.md"
)


class Optimizer:
    """A rewriting of whole graphs. It can be called on a graph, but takes no part in compiling functions."""

    def apply(self, fgraph: FunctionGraph) -> Any:
        """Rewrite a graph; nothing, unless a subclass does."""

    def add_requirements(self, fgraph: FunctionGraph) -> None:
        """What it needs of a graph."""

    def optimize(self, fgraph: FunctionGraph, *args: object, **kwargs: Any) -> Any:
        """Rewrite a graph."""
        self.add_requirements(fgraph)
        return self.apply(fgraph, *args, **kwargs)

    __call__ = optimize

    def add_tags(self, *tags: str) -> None:
        """Tags have no effect."""


class LocalOptimizer:
    """A rewriting of one application. `transform(node)` can be called, but takes no part in compiling functions."""

    def __init__(self, function: Callable | None = None, tracks: Sequence[Any] | None = None) -> None:
        self.function, self._tracks = function, tracks
        self.__name__ = getattr(function, "__name__", type(self).__name__)

    def tracks(self) -> Any:
        """The ops that it looks at."""
        return self._tracks

    def transform(self, node: Apply) -> Any:
        """The replacements of the application's results, or False."""
        return False if self.function is None else self.function(node)

    def __call__(self, *args: Any) -> Any:
        return self.transform(*args)


def local_optimizer(
    tracks: Sequence[Any] | None, inplace: bool = False, requirements: Sequence[Any] = ()
) -> Callable[[Callable], LocalOptimizer]:
    """Decorator of a rewriting of one application; see LocalOptimizer."""
    return lambda function: LocalOptimizer(function, tracks)


def optimizer(function: Callable) -> Optimizer:
    """Decorator of a rewriting of whole graphs; see Optimizer."""
    made = FromFunctionOptimizer()
    made.apply = function  # type: ignore[method-assign]
    return made


inplace_optimizer = optimizer


class FromFunctionOptimizer(Optimizer):
    """A rewriting that is a function."""


FromFunctionLocalOptimizer = LocalOptimizer


class _Unused(Optimizer):
    """A rewriting of Theano's that is made and passed around, but not used."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self.arguments, self.options = arguments, options
        warnings.warn(_NOTE.format(type(self).__name__), stacklevel=3)


class PatternSub(_Unused):
    """A rewriting given by two patterns; in termgraph that is `rule(name, left, right)`."""


class OpSub(_Unused):
    """An op in place of another."""


class OpRemove(_Unused):
    """An op that goes."""


class SeqOptimizer(_Unused):
    """Rewritings one after the other."""


class MergeOptimizer(Optimizer):
    """Equal applications are one in termgraph from the start."""


class LocalOptGroup(_Unused):
    """Rewritings of which the first that fits is used."""


class NavigatorOptimizer(_Unused):
    """A walk that applies a rewriting."""


class TopoOptimizer(NavigatorOptimizer):
    """A walk in topological order."""


class OpKeyOptimizer(NavigatorOptimizer):
    """A walk over some ops."""


class EquilibriumOptimizer(NavigatorOptimizer):
    """Rewritings until nothing changes."""


def in2out(*local_opts: Any, **kwargs: Any) -> Any:
    """A walk from inputs to outputs."""
    return TopoOptimizer(*local_opts, **kwargs)


out2in = in2out


def register_rewriting(*names: object, **_: object) -> Any:
    """Theano's register_canonicalize and the like: a decorator that says once that the rewriting is not used."""
    if names and not isinstance(names[0], str):
        warnings.warn(_NOTE.format(getattr(names[0], "__name__", "register")), stacklevel=2)
        return names[0]
    return register_rewriting


def copy_stack_trace(from_var: Variable | Sequence[Variable], to_var: Variable | Sequence[Variable]) -> Any:
    """The variable that a rewriting made; where it comes from is remembered in any case."""
    return to_var


inherit_stack_trace = copy_stack_trace


def check_stack_trace(f_or_fgraph: Any, ops_to_check: Any = "last", bug_print: str = "raise") -> bool:
    """Whether every variable of a compiled graph knows the line it comes from."""
    graph = getattr(getattr(f_or_fgraph, "maker", None), "fgraph", f_or_fgraph)
    return all(v.site is not None for node in graph.toposort() for v in node.outputs)


class Query:
    """A question to Theano's database; `str` gives it as tags for termgraph's."""

    def __init__(
        self,
        include: Iterable[str],
        require: Iterable[str] | None = None,
        exclude: Iterable[str] | None = None,
        **_: object,
    ) -> None:
        self.include, self.require_, self.exclude = set(include), set(require or ()), set(exclude or ())

    def including(self, *tags: str) -> Query:
        """With more tags."""
        return Query({*self.include, *tags}, self.require_, self.exclude)

    def excluding(self, *tags: str) -> Query:
        """Without some tags."""
        return Query(self.include, self.require_, {*self.exclude, *tags})

    def requiring(self, *tags: str) -> Query:
        """With tags that are needed."""
        return Query(self.include, {*self.require_, *tags}, self.exclude)

    def __str__(self) -> str:
        parts = ("+", self.include), ("-", self.exclude), ("&", self.require_)
        return " ".join(sign + tag for sign, tags in parts for tag in sorted(tags))


class DB:
    """A database of rewritings; what is registered is kept by name, and not used."""

    def __init__(self, *_: Any, **__: object) -> None:
        self.entries: dict[str, Any] = {}

    def register(self, name: str, obj: object, *tags: object, **_: object) -> None:
        """Keep a rewriting."""
        warnings.warn(_NOTE.format(name), stacklevel=2)
        self.entries[name] = obj

    def query(self, *tags: object, **_: object) -> Any:
        """The rewriting that a query gives: none."""
        return MergeOptimizer()

    def __getitem__(self, name: str) -> Any:
        return self.entries[name]

    def __contains__(self, name: object) -> bool:
        return name in self.entries


EquilibriumDB = SequenceDB = LocalGroupDB = TopoDB = ProxyDB = DB
optdb = DB()
