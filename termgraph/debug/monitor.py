"""MonitorMode: functions of the user's that see every instruction before and after it runs."""

from __future__ import annotations

import reprlib
from collections.abc import Callable
from typing import Any

from termgraph.function.mode import Maker, Mode
from termgraph.tensor.variable import Apply, Constant, Variable, bare, bare_apply, variable_class
from termgraph.terms.op import CONST
from termgraph.vm.program import Instruction


class MonitorMode(Mode):
    """A mode that calls `pre_func(i, node, fn)` before and `post_func(i, node, fn)` after every instruction.

    `fn.inputs` and `fn.outputs` are lists of one-element lists with the values. `callback(node, storage)` is called
    after every instruction too; `storage` is a dictionary from the node's variables to their values.

    >>> import termgraph as tg, termgraph.tensor as T
    >>> def show(i, node, fn):
    ...     print(i, node.op, [cell[0] for cell in fn.outputs])
    >>> x = T.dscalar("x")
    >>> f = tg.function([x], T.sqr(x) + x, mode=MonitorMode(post_func=show, optimizer="None"))
    >>> _ = f(3.0)
    0 sqr [array(9.)]
    1 add [array(12.)]
    """

    def __init__(
        self,
        pre_func: Callable | None = None,
        post_func: Callable | None = None,
        callback: Callable | None = None,
        optimizer: str | None = None,
        linker: str = "py",
    ) -> None:
        super().__init__(linker=linker, optimizer=optimizer)
        self.pre_func, self.post_func, self.callback = pre_func, post_func, callback

    def watch(self, maker: Maker) -> list[Any]:
        """The observer that makes the calls."""
        return [*super().watch(maker), _Monitor(self, NodeView(maker.work))]


class Values:
    """`inputs` and `outputs`: the values of an instruction, each in a list of its own."""

    def __init__(self, inputs: list[Any], outputs: list[Any]) -> None:
        self.inputs, self.outputs = [[v] for v in inputs], [[v] for v in outputs]

    def __repr__(self) -> str:
        def shown(cells: list[list[Any]]) -> str:
            return ", ".join(reprlib.repr(value) for (value,) in cells)

        return f"<values: {shown(self.inputs)} -> {shown(self.outputs)}>"


class _Monitor:
    def __init__(self, mode: MonitorMode, nodes: NodeView) -> None:
        self.mode, self.nodes = mode, nodes

    def before(self, i: int, instruction: Instruction, slots: list[Any]) -> None:
        if self.mode.pre_func is not None:
            inputs = [slots[s] for s in instruction.inputs]
            self.mode.pre_func(i, self.nodes[i], Values(inputs, [None] * len(instruction.outputs)))

    def __call__(self, i: int, instruction: Instruction, slots: list[Any], seconds: float) -> None:
        inputs = [slots[s] for s in instruction.inputs]
        outputs = [slots[s] for s in instruction.outputs]
        node = self.nodes[i]
        if self.mode.post_func is not None:
            self.mode.post_func(i, node, Values(inputs, outputs))
        if self.mode.callback is not None:
            self.mode.callback(node, dict(zip([*node.inputs, *node.outputs], [*inputs, *outputs])))


# ---------------------------------------------------------------------- instructions as nodes
class NodeView:
    """`view[i]` is an Apply for instruction `i`; one variable per slot, so that nodes hang together."""

    def __init__(self, work: Any) -> None:
        self.program, self.lookup = work.program, work.lookup
        self._variables: dict[int, Variable] = {}
        self._nodes: dict[int, Apply] = {}

    def variable(self, slot: int) -> Any:
        """The variable of a slot."""
        v = self._variables.get(slot)
        if v is None:
            t = self.program.term_of[slot]
            name, site = self.lookup(t)
            cls = variable_class(Variable, t.type)
            v = Constant(t.type, t.value) if t.op is CONST else bare(cls, t, name, site)
            self._variables[slot] = v
        return v

    def __getitem__(self, i: int) -> Apply:
        node = self._nodes.get(i)
        if node is None:
            instruction = self.program.instructions[i]
            outputs = [self.variable(s) for s in instruction.outputs]
            node = bare_apply(instruction.op, [self.variable(s) for s in instruction.inputs], outputs)
            for k, v in enumerate(outputs):
                v._owner, v.index = node, k
            self._nodes[i] = node
        return node
