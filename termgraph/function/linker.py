"""Linker: a rewritten graph made runnable as a thunk over containers, the form below `Function`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from termgraph.compile.compilation import Compilation
from termgraph.function.fgraph import FunctionGraph
from termgraph.tensor.sharedvar import Container
from termgraph.vm.machine import Machine


class Linker:
    """Makes thunks: calls without arguments that read input containers and fill output containers.

    >>> import termgraph as tg, termgraph.tensor as T
    >>> x = T.dscalar("x")
    >>> run, (a,), (out,) = tg.function([x], x + 1).maker.linker.make_thunk()
    >>> a.value = 2.0
    >>> run(); float(out.value)
    3.0
    """

    def __init__(self, work: Compilation, allow_gc: bool = True) -> None:
        self.work, self.allow_gc = work, allow_gc
        self.fgraph: FunctionGraph | None = None

    def make_thunk(
        self, input_storage: Sequence[Container] | None = None
    ) -> tuple[Callable[[], None], list[Container], list[Container]]:
        """`(run, input containers, output containers)`."""
        machine = Machine(self.work.program, self.allow_gc, lookup=self.work.lookup)
        inputs = [Container(a.type) for a in self.work.args] if input_storage is None else list(input_storage)
        outputs = [Container(r.type) for r in self.work.roots]

        def run() -> None:
            for container, value in zip(outputs, machine([c.storage[0] for c in inputs])):
                container.storage[0] = value

        return run, inputs, outputs
