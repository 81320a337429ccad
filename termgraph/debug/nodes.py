"""Instructions of a program seen as Apply nodes with the user's names."""

from __future__ import annotations

from typing import Any

from termgraph.tensor.variable import Apply, Constant, Variable, bare, bare_apply, variable_class
from termgraph.terms.op import CONST


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
