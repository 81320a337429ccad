"""What of a function's memory can be reached by name, as in Theano: containers of inputs and of results, `f["w"]`.

Knows nothing of how a function runs: a function calls itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol
from weakref import ref

from termgraph.tensor.sharedvar import Container, label

if TYPE_CHECKING:
    from termgraph.function.fgraph import FunctionGraph
    from termgraph.function.mode import Default, Maker
    from termgraph.tensor.likes import TensorLike


class DefaultContainer(Container):
    """The default of an input. The functions that have it are told when it is set: some keep it where C finds it."""

    __slots__ = ("followers",)

    def __init__(self, *args: Any) -> None:
        self.followers: list[ref[Storages]] = []
        super().__init__(*args)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.followers = []
        super().__setstate__(state)

    @property
    def value(self) -> Any:
        """The value itself."""
        return super().value

    @value.setter
    def value(self, value: TensorLike) -> None:
        Container.value.fset(self, value)  # type: ignore[attr-defined]
        for function in [follower() for follower in self.followers]:
            if function is not None:
                function._take_default(self)

    data = value


class _Made(Protocol):
    """What a function says of how it was made."""

    maker: Maker
    input_storage: list[Container]


class Containers:
    """The containers of a function's inputs by number, by name or by variable; shared variables are among them."""

    def __init__(self, function: _Made) -> None:
        self._function = function

    def __getitem__(self, key: object) -> Container:
        items, storage = self._function.maker.inputs, self._function.input_storage
        if isinstance(key, int):
            return storage[key]
        found = [i for i, item in enumerate(items) if key == item.name or key is item.variable]
        if len(found) == 1:
            return storage[found[0]]
        names = ", ".join(repr(name) for name in self)
        if found:
            raise KeyError(
                f"{len(found)} inputs are called {key!r}: ask by the variable, or by the number of the input"
            )
        raise KeyError(
            f"no input is {label(key)}; there are {names}"
            if hasattr(key, "term")
            else f"no input is called {key!r}; there are {names}"
        )

    def __contains__(self, key: object) -> bool:
        try:
            return self[key] is not None
        except (KeyError, IndexError):
            return False

    def __iter__(self) -> Iterator[str]:
        """The names."""
        return (item.name for item in self._function.maker.inputs if item.name)

    def __len__(self) -> int:
        return len(self._function.input_storage)


class Values:
    """The values in these containers; setting one sets the shared variable, or the default of an input."""

    def __init__(self, containers: Containers) -> None:
        self._containers = containers

    def __getitem__(self, key: object) -> Any:
        return self._containers[key].value

    def __setitem__(self, key: object, value: TensorLike) -> None:
        self._containers[key].value = value

    def __contains__(self, key: object) -> bool:
        return key in self._containers

    def __iter__(self) -> Iterator[str]:
        return iter(self._containers)

    def __len__(self) -> int:
        return len(self._containers)


class Storages:
    """The memory of a function, for programs that look at it."""

    maker: Maker
    input_storage: list[Container]
    defaults: list[Default]
    argument_defaults: tuple[Any, ...]  # of functions that C calls: the same, where C finds them
    _explicit: Sequence[int]
    __call__: Callable[..., Any]

    @property
    def fgraph(self) -> FunctionGraph:
        """The rewritten graph: `maker.fgraph`."""
        return self.maker.fgraph

    @property
    def container(self) -> Containers:
        """The containers of the inputs, by number, name or variable."""
        return Containers(self)

    @property
    def value(self) -> Values:
        """The values of shared variables, and of inputs with a default: `f.value["w"]`, which may be set.

        >>> import numpy as np, termgraph as tg, termgraph.tensor as T
        >>> x, w = T.dscalar("x"), tg.shared(np.float64(2.0), name="w")
        >>> f = tg.function([x], x * w)
        >>> f.value["w"] = 5.0
        >>> f(2.0), f["w"]
        (array(10.), array(5.))
        """
        return Values(self.container)

    def __getitem__(self, key: object) -> Any:
        return self.value[key]

    def __setitem__(self, key: object, value: TensorLike) -> None:
        self.value[key] = value

    def __contains__(self, key: object) -> bool:
        return key in self.container

    @cached_property
    def output_storage(self) -> list[Container]:
        """The containers of the results, which `f.fn()` fills."""
        return [Container(out.variable.type, name=getattr(out.variable, "name", None)) for out in self.maker.outputs]

    @property
    def fn(self) -> Callable[[], None]:
        """The function of what its containers hold, without arguments: it reads `input_storage`, makes the updates and
        fills `output_storage`.

        >>> import termgraph as tg, termgraph.tensor as T
        >>> x = T.dscalar("x")
        >>> f = tg.function([x], x * 2)
        >>> f.input_storage[0].value = 21.0
        >>> f.fn()
        >>> f.output_storage[0].value
        array(42.)
        """
        return self._run_on_containers

    def _take_default(self, container: Container) -> None:
        """From now on a call that leaves out an input with this container takes what it holds now."""
        for i, (required, refeed, _) in enumerate(self.defaults):
            if self.input_storage[i] is container:
                self.defaults[i] = (required, refeed, container.storage[0])
        if hasattr(self, "argument_defaults"):
            self.argument_defaults = tuple([self.defaults[i][2] for i in self._explicit])
        for other in self.__dict__.get("_for_lengths", {}).values():
            other._take_default(container)

    def _run_on_containers(self) -> None:
        made = self(*[self.input_storage[i].value for i in self._explicit])
        results = made.values() if isinstance(made, dict) else made if isinstance(made, list | tuple) else [made]
        for container, result in zip(self.output_storage, results):
            container.storage[0] = result
