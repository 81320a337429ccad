"""OrderedUpdates: the dictionary of shared-variable updates that loops return and `function` takes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from termgraph.tensor.sharedvar import is_shared
from termgraph.tensor.wrap import as_tensor

if TYPE_CHECKING:
    from termgraph.tensor.variable import TensorVariable


class OrderedUpdates(dict):
    """Shared variable -> new value, in the order given. `a + b` joins two; updating one variable twice is an error.

    >>> import termgraph as tg
    >>> w = tg.shared(0.0, name="w")
    >>> OrderedUpdates({w: w + 1})
    OrderedUpdates({w: add(w, 1)})
    """

    def __init__(self, *updates: Any, **_: object) -> None:
        super().__init__()
        for given in updates:
            pairs: Iterable = given.items() if isinstance(given, Mapping) else given
            for variable, value in pairs:
                self[variable] = value

    def __setitem__(self, variable: TensorVariable, value: TensorVariable) -> None:
        if not is_shared(variable):
            raise TypeError(f"updates: only shared variables can be updated, got {variable!r:.60}; see shared()")
        if variable in self and self[variable] is not value:
            raise KeyError(f"{variable} is updated twice: to {self[variable]} and to {value}")
        super().__setitem__(variable, as_tensor(value))

    def update(self, other: Any = (), **_: Any) -> None:  # type: ignore[override]
        """Add updates; refuses a second, different value for a variable."""
        for variable, value in other.items() if isinstance(other, Mapping) else other:
            self[variable] = value

    def __add__(self, other: object) -> OrderedUpdates:
        joined = OrderedUpdates(self)
        joined.update(other)
        return joined

    def __radd__(self, other: object) -> OrderedUpdates:
        return OrderedUpdates(other) + self

    def __repr__(self) -> str:
        return f"OrderedUpdates({dict(self)!r})"


__all__ = ["OrderedUpdates"]
