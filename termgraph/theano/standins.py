"""Stand-ins: Theano's classes of ops, types and printers, where termgraph has one class of node and a table.

`isinstance(node.op, T.Elemwise)` asks what the op is called; `T.Elemwise(...)` makes something that can be applied.
May import terms and tensor.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from termgraph.tensor.likes import TensorLike
from termgraph.terms.op import Op


class StandIn(type):
    """The type of the stand-ins: `holds` says what is an instance, `make` what a call makes."""

    holds: Callable[[Any], bool]
    make: Callable[..., Any]

    def __instancecheck__(cls, obj: object) -> bool:
        return isinstance(obj, Made) and issubclass(obj.made_by, cls) or bool(cls.holds(obj))

    def __call__(cls, *args: Any, **options: Any) -> Any:
        made = cls.make(*args, **options)
        if isinstance(made, Made):
            made.made_by, made.arguments = cls, (args, tuple(sorted(options.items())))
        return made


class Made:
    """What a stand-in for an op makes: an op of Theano's kind with its parameters, to be applied to variables.

    Applying it gives a graph of termgraph's own ops.
    """

    made_by: Any = object
    arguments: tuple = ()

    def __init__(self, apply: Callable[..., Any]) -> None:
        self.apply = apply

    def __call__(self, *inputs: Any, return_list: bool = False, **options: Any) -> Any:
        made = self.apply(*inputs, **options)
        return [made] if return_list and not isinstance(made, (list, tuple)) else made

    def make_node(self, *inputs: TensorLike) -> Any:
        """The Apply that computes the result."""
        found = self.apply(*inputs)
        return (found[0] if isinstance(found, (list, tuple)) else found).owner

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Made) and (self.made_by, self.arguments) == (other.made_by, other.arguments)

    def __hash__(self) -> int:
        return hash((self.made_by, repr(self.arguments)))

    def __repr__(self) -> str:
        return self.made_by.__name__


def stand_in(name: str, holds: Callable[[Any], bool], make: Callable[..., Any] | None = None, doc: str = "") -> Any:
    """A class of Theano's: what `isinstance` is to answer, and what a call makes."""

    def refuse(*_: object, **__: object) -> Any:
        raise NotImplementedError(
            f"{name} stands here for isinstance(op, {name}) only; apply the function of the language instead"
        )

    return StandIn(name, (), {"holds": staticmethod(holds), "make": staticmethod(make or refuse), "__doc__": doc})


def op_class(name: str, ops: str, make: Callable[..., Any] | None = None) -> Any:
    """A class of ops, by the names of termgraph's ops that are its instances."""
    known = frozenset(ops.split())

    def holds(op: Any) -> bool:
        if not isinstance(op, Op):
            return False
        return op.family.name in known if not op.user_made else name in getattr(op, "theano_classes", ())

    return stand_in(name, holds, make, f"The ops that Theano calls {name}; here {ops or 'none'}.")


def kind_class(name: str, kind: str, make: Callable[..., Any] | None = None) -> Any:
    """A class of ops, by termgraph's kind of op."""

    def holds(op: Any) -> bool:
        return isinstance(op, Op) and (op.kind == kind or name in getattr(op, "theano_classes", ()))

    return stand_in(name, holds, make, f"The ops that Theano calls {name}; here those of kind {kind!r}.")
