"""Python source for matching one pattern, checking goals and building the right side; `tree` arranges it.

Matching is written as nested `if` and `for` blocks, so that backtracking is what Python does when a block ends.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from unification import Var

from termgraph.rules.clients import used_once
from termgraph.rules.facts import TermFact
from termgraph.rules.forms import Instance, is_nary, loose_operands
from termgraph.rules.goals import Goal, GoalCall
from termgraph.rules.kinds import Guard, PatternTerm, SegVar
from termgraph.rules.pattern import Captured, HeadWith, PatternHead, this
from termgraph.rules.searching import searcher
from termgraph.rules.source import Items, Source
from termgraph.terms.op import Op
from termgraph.terms.term import AnyTerm, Lit, Term

Bindings = dict[Any, str]


class Writer:
    """Writes the code of one instance: rest of the match, goals, right side."""

    def __init__(self, source: Source, instance: Instance, number: int, assume: frozenset[str], context: Any) -> None:
        self.out, self.instance, self.number = source, instance, number
        self.rule = instance.rule
        self.assume, self.context = assume, context
        self.carried: tuple[str, str] | None = None  # (op, rest) of an n-ary root whose other operands stay

    # ------------------------------------------------------------------ matching
    def match(self, todo: list[Any], bound: Bindings, ind: int, then: Callable[[Bindings, int], None]) -> None:
        """Match (pattern, expression) pairs, the most determined first, and go on with `then`."""
        if not todo:
            then(bound, ind)
            return
        todo = sorted(todo, key=lambda pair: self._freedom(pair[0], bound))
        (p, expr), rest = todo[0], todo[1:]
        if isinstance(p, Var):
            bound, ind = self.bind(p, expr, bound, ind)
            self.match(rest, bound, ind, then)
        elif p.__class__ is Lit:
            self.out.put(ind, f"if {expr}.op is CONST and {expr}.scalar == {p.value!r}:")
            self.match(rest, bound, ind + 1, then)
        elif p.__class__ is not Term or not p.lvars:
            self.out.put(ind, f"if {expr} is {self.out.ref(p)}:")
            self.match(rest, bound, ind + 1, then)
        else:
            bound, ind = self.head(p.op, expr, bound, ind)
            self.operands(p, f"{expr}.args", rest, bound, ind, then)

    def _freedom(self, p: PatternTerm, bound: Bindings) -> int:
        if p in bound or p.__class__ is Lit or not getattr(p, "lvars", True):
            return 0
        if isinstance(p, Var):
            return 3
        return 2 if is_nary(p.op) else 1

    def bind(self, p: PatternTerm, expr: str, bound: Bindings, ind: int) -> tuple[Bindings, int]:
        """Bind a metavariable, or compare with what it stands for; its guard is checked at once."""
        if p in bound:
            self.out.put(
                ind, f"if ({expr}) is {bound[p]}:" if p.__class__ is not SegVar else f"if ({expr}) == {bound[p]}:"
            )
            return bound, ind + 1
        if not expr.isidentifier():
            name = self.out.fresh("v")
            self.out.put(ind, f"{name} = {expr}")
            expr = name
        return {**bound, p: expr}, self._guarded(p, expr, ind)

    def _guarded(self, v: Var, name: str, ind: int) -> int:
        """The guard of a metavariable, if it has one."""
        guard = self.rule.guards.get(v)
        if guard is None:
            return ind
        self.out.put(ind, f"if {self.guard_test(guard, name)}:")
        return ind + 1

    def guard_test(self, guard: Guard, expr: str) -> str:
        """The source of a guard."""
        test = guard.source.format(x=expr) if guard.source else f"{self.out.ref(guard.test, guard.name)}({expr})"
        if guard.single:
            test = f"{self.out.ref(used_once, 'used_once')}({expr}) and {test}"
        return test

    def head(self, op: Op, expr: str, bound: Bindings, ind: int) -> tuple[Bindings, int]:
        """Test the head of `expr` and bind what the head pattern holds."""
        out = self.out
        if isinstance(op, Op) and not op.lvars:
            out.put(ind, f"if {expr}.op is {out.ref(op, op.name)}:")
            return bound, ind + 1
        name = out.fresh("h")
        out.put(ind, f"{name} = {expr}.op")
        if isinstance(op, Var):
            out.put(ind, f"if {expr}.__class__ is Term:")
            return self.bind(op, name, bound, ind + 1)
        if isinstance(op, Captured):
            out.put(ind, f"if {name}.family is {out.ref(op.family, op.family.name)}:")
            return self.bind(op.var, name, bound, ind + 1)
        if isinstance(op, HeadWith):
            return self._open_head(op, name, bound, ind)
        out.put(ind, f"if {name}.family is {out.ref(op.family, op.family.name)}:")
        return self.params(op, name, bound, ind + 1)

    def _open_head(self, op: HeadWith, name: str, bound: Bindings, ind: int) -> tuple[Bindings, int]:
        test = " and ".join(f"{k!r} in {name}.params" for k, _ in op.params)
        self.out.put(ind, f"if {test}:")
        bound, ind = self.bind(op.var, name, bound, ind + 1)
        for key, value in op.params:
            bound, ind = self.parameter(value, f"{name}.params[{key!r}]", bound, ind)
        return bound, ind

    def params(self, op: Op, name: str, bound: Bindings, ind: int) -> tuple[Bindings, int]:
        """Match the parameters of a bound head with those of an open op."""
        for key, value in op.params.items():
            bound, ind = self.parameter(value, f"{name}.params[{key!r}]", bound, ind)
        return bound, ind

    def parameter(self, value: object, expr: str, bound: Bindings, ind: int) -> tuple[Bindings, int]:
        """Match one parameter value."""
        if isinstance(value, Var):
            if value in bound:
                self.out.put(ind, f"if {expr} == {bound[value]}:")
                return bound, ind + 1
            name = self.out.fresh("p")
            self.out.put(ind, f"{name} = {expr}")
            return {**bound, value: name}, ind
        if isinstance(value, tuple) and any(isinstance(v, Var) for v in value):
            name = self.out.fresh("p")
            self.out.put(ind, f"{name} = {expr}")
            self.out.put(ind, f"if {name}.__class__ is tuple and len({name}) == {len(value)}:")
            ind += 1
            for i, v in enumerate(value):
                bound, ind = self.parameter(v, f"{name}[{i}]", bound, ind)
            return bound, ind
        self.out.put(ind, f"if {expr} == {value!r}:")
        return bound, ind + 1

    # ------------------------------------------------------------------ operands
    def operands(
        self, p: PatternTerm, args: str, rest: list[Any], bound: Bindings, ind: int, then: Callable[..., None]
    ) -> None:
        """Match the operands of `p` with the tuple `args`."""
        if is_nary(p.op):
            self.any_order(p, args, rest, bound, ind, then, root=False)
            return
        if any(a.__class__ is SegVar for a in p.args):
            self.sequence(list(p.args), args, "0", rest, bound, ind, then)
            return
        if not isinstance(p.op, Op) or p.op.arity is None:
            self.out.put(ind, f"if len({args}) == {len(p.args)}:")
            ind += 1
        names = [self.out.fresh("a") for _ in p.args]
        self.out.put(ind, f"{', '.join(names)}, = {args}")
        self.match([*zip(p.args, names, strict=True), *rest], bound, ind, then)

    def sequence(
        self,
        items: list[Any],
        args: str,
        start: str,
        rest: list[Any],
        bound: Bindings,
        ind: int,
        then: Callable[..., None],
    ) -> None:
        """Operands in order, with segments that take any number of them."""
        out = self.out
        if not items:
            out.put(ind, f"if {start} == len({args}):")
            self.match(rest, bound, ind + 1, then)
            return
        first, others = items[0], items[1:]
        if first.__class__ is not SegVar:
            out.put(ind, f"if {start} < len({args}):")
            name = out.fresh("a")
            out.put(ind + 1, f"{name} = {args}[{start}]")
            self.match(
                [(first, name)],
                bound,
                ind + 1,
                lambda b, i: self.sequence(others, args, f"{start} + 1", rest, b, i, then),
            )
            return
        fixed = sum(o.__class__ is not SegVar for o in others)
        name = out.fresh("s")
        if fixed == len(others):  # the only segment left: its length is known
            end = f"len({args}) - {fixed}"
            if fixed:
                out.put(ind, f"if {end} >= {start}:")
                ind += 1
            out.put(ind, f"{name} = {args}[{start}:{end}]" if fixed or start != "0" else f"{name} = {args}")
        else:
            end = out.fresh("j")
            out.put(ind, f"for {end} in range({start}, len({args}) + 1 - {fixed}):")
            ind += 1
            out.put(ind, f"{name} = {args}[{start}:{end}]")
        bound, ind = self.bind(first, name, bound, ind)
        self.sequence(others, args, end, rest, bound, ind, then)

    def any_order(
        self,
        p: PatternTerm,
        args: str,
        rest: list[Any],
        bound: Bindings,
        ind: int,
        then: Callable[..., None],
        root: bool,
        node: str = "",
    ) -> None:
        """Operands of an n-ary op, in any order.

        Known and structured operands are picked; the `seg`, or else the last free metavariable, takes what is left.
        At the root of a rule without such a metavariable the others are carried over to the result.
        """
        segment = next((a for a in p.args if a.__class__ is SegVar), None)
        items = [a for a in p.args if a.__class__ is not SegVar]
        loose = [a for a in loose_operands(items) if a not in bound]
        absorber = loose[-1] if loose and segment is None else None
        picks = [a for a in items if a is not absorber]
        if not args.isidentifier():
            name = self.out.fresh("t")
            self.out.put(ind, f"{name} = {args}")
            node, args = args.removesuffix(".args"), name
        state = _Picks(p, args, rest, then, segment, absorber, root, node)
        least = len(items)
        if absorber is not None or segment is not None or root:
            self.out.put(ind, f"if len({args}) >= {least}:")
        else:
            self.out.put(ind, f"if len({args}) == {least}:")
        self._pick(picks, state, [], bound, ind + 1)

    def _pick(self, picks: list[Any], state: _Picks, taken: list[str], bound: Bindings, ind: int) -> None:
        if not picks:
            self._left_over(state, taken, bound, ind)
            return
        picks = sorted(picks, key=lambda a: self._freedom(a, bound))
        out, j, x = self.out, self.out.fresh("j"), self.out.fresh("x")
        out.put(ind, f"for {j}, {x} in enumerate({state.args}):")
        ind += 1
        if taken:
            out.put(ind, f"if {' and '.join(f'{j} != {k}' for k in taken)}:")
            ind += 1
        others = picks[1:]
        self.match([(picks[0], x)], bound, ind, lambda b, i: self._pick(others, state, [*taken, j], b, i))

    def _left_over(self, state: _Picks, taken: list[str], bound: Bindings, ind: int) -> None:
        out, rest = self.out, "()"
        if not (state.absorber is None and state.segment is None and not state.root):
            rest = out.fresh("r")
            if len(taken) == 1:  # no comprehension: its variables would be cells, made anew in every call
                out.put(ind, f"{rest} = {state.args}[:{taken[0]}] + {state.args}[{taken[0]} + 1:]")
            elif taken:
                out.put(ind, f"{rest} = left_over({state.args}, ({', '.join(taken)}))")
            else:
                out.put(ind, f"{rest} = {state.args}")
        op = out.ref(state.pattern.op, state.pattern.op.name)
        if state.segment is not None:
            bound, ind = self.bind(state.segment, rest, bound, ind)
        elif state.absorber is not None:
            out.put(ind, f"if {rest}:")
            bound, ind = self.bind(
                state.absorber,
                f"{rest}[0] if len({rest}) == 1 else rest_term({op}, {rest}, {state.node})",
                bound,
                ind + 1,
            )
        elif state.root:
            self.carried = (op, rest)
        self.match(state.rest, bound, ind, state.then)

    # ------------------------------------------------------------------ goals
    def goals(self, calls: tuple[Any, ...], bound: Bindings, ind: int) -> None:
        """Conditions and computations, in order, then the result."""
        if not calls:
            self.result(bound, ind)
            return
        call, rest = calls[0], calls[1:]
        if isinstance(call.goal, Goal) and call.goal.relation is None:
            self._python_goal(call, rest, bound, ind)
        else:
            self._search(call, rest, bound, ind)

    def _python_goal(self, call: GoalCall, rest: tuple[Any, ...], bound: Bindings, ind: int) -> None:
        goal, out = call.goal, self.out
        mode = call.pick_mode(set(bound))
        assert mode is not None, f"goal {call!r} of {self.rule.name} was checked when it was defined"
        inputs = [self.value(a, bound, ind) for a, c in zip(call.args, mode, strict=True) if c == "i"]
        outputs = [a for a, c in zip(call.args, mode, strict=True) if c == "o"]
        if not outputs:
            out.put(ind, f"if {self._test(goal, mode, inputs)}:")
            self.goals(rest, bound, ind + 1)
            return
        ind = self._worth_calling(goal, inputs, ind)
        if goal.inline is not None:
            bound, ind = self._bind_outputs(outputs, [f"({goal.inline.format(*inputs)})"], bound, ind)
            self.goals(rest, bound, ind)
            return
        function = goal.modes[mode]
        invoke = f"{out.ref(function, goal.name)}({', '.join(inputs)})"
        out.put(ind, f"{out.ref(self.context, 'context')}.rule = {self.number}")
        names = [out.fresh("o") for _ in outputs]
        if inspect.isgeneratorfunction(function):
            out.put(ind, f"for {', '.join(names)} in {invoke}:")
        else:
            got = names[0] if len(names) == 1 else out.fresh("o")
            out.put(ind, f"{got} = {invoke}")
            out.put(ind, f"if {got} is not None:")
            if len(names) > 1:
                out.put(ind + 1, f"{', '.join(names)} = {got}")
        bound, ind = self._bind_outputs(outputs, names, bound, ind + 1)
        self.goals(rest, bound, ind)

    def _worth_calling(self, goal: Goal, inputs: list[str], ind: int) -> int:
        """The cheap test that some operand of the goal's segment must pass."""
        segment = next((i for i in inputs if isinstance(i, Items)), None)
        if goal.some is None or segment is None or not segment.names:
            return ind
        self.out.put(ind, f"if {' or '.join(goal.some.format(name) for name in segment.names)}:")
        return ind + 1

    def _bind_outputs(self, outputs: list[Any], names: list[str], bound: Bindings, ind: int) -> tuple[Bindings, int]:
        for a, name in zip(outputs, names, strict=True):
            if isinstance(a, Var) and a not in bound:
                if not name.isidentifier():
                    self.out.put(ind, f"{(given := self.out.fresh('o'))} = {name}")
                    name = given
                ind = self._guarded(a, name, ind)
                bound = {**bound, a: name}
            else:
                self.out.put(ind, f"if {name} == {self.value(a, bound, ind)}:")
                ind += 1
        return bound, ind

    def _test(self, goal: Goal, mode: str, inputs: list[str]) -> str:
        if goal.each is not None and isinstance(inputs[0], Items) and inputs[0].names:
            return " and ".join(goal.each.format(name) for name in inputs[0].names)
        if goal.source is not None:
            return goal.source.format(*inputs)
        invoke = f"{self.out.ref(goal.modes[mode], goal.name)}({', '.join(inputs)})"
        if isinstance(goal, TermFact):
            if goal.name in self.assume:
                return f"not {self.out.ref(goal.refuted, goal.name)}({', '.join(inputs)})"
            return f"{self.out.ref(goal.proved, goal.name)}({', '.join(inputs)})"
        return invoke

    def _search(self, call: GoalCall, rest: tuple[Any, ...], bound: Bindings, ind: int) -> None:
        """A kanren search on the matched terms."""
        out = self.out
        outputs = sorted((v for v in call.variables() if v not in bound), key=lambda v: str(v.token))
        known = sorted((v for v in call.variables() if v in bound), key=lambda v: str(v.token))
        function = searcher(call, known, outputs, self.rule)
        out.put(ind, f"{out.ref(self.context, 'context')}.rule = {self.number}")
        invoke = f"{out.ref(function, call.name)}({', '.join(bound[v] for v in known)})"
        names = [out.fresh("o") for _ in outputs]
        out.put(ind, f"for {', '.join(names) + ',' if names else '_'} in {invoke}:")
        bound, ind = self._bind_outputs(list(outputs), names, bound, ind + 1)
        self.goals(rest, bound, ind)

    # ------------------------------------------------------------------ right side
    def value(self, a: Any, bound: Bindings, ind: int) -> str:
        """The expression for a goal's argument."""
        if isinstance(a, Var):
            return bound[a]
        if a.__class__ is Term and a.lvars:
            return self.build(a, bound, ind, {})
        if a.__class__ is Lit:
            return repr(a.value)
        return self.out.ref(a) if not isinstance(a, (bool, int, float, str)) else repr(a)

    def build(self, p: PatternTerm, bound: Bindings, ind: int, made: dict[Any, str]) -> str:
        """Statements that make the term of a pattern; the name that holds it."""
        if isinstance(p, Var):
            return bound[p]
        if p.__class__ is not Term or not p.lvars:
            return self.out.ref(p)
        if p in made:
            return made[p]
        names = ["" if a.__class__ is Lit else self.build(a, bound, ind, made) for a in p.args]
        dtypes = "".join(
            f", {n}.type.np_dtype" for n, a in zip(names, p.args, strict=True) if n and a.__class__ is not SegVar
        )
        operands = [
            f"num({self.out.ref(a)}{dtypes})" if a.__class__ is Lit else f"*{n}" if a.__class__ is SegVar else n
            for n, a in zip(names, p.args, strict=True)
        ]
        name = made[p] = self.out.fresh("n")
        self.out.put(ind, f"{name} = {self._construct(p, operands, bound)}")
        return name

    def _construct(self, p: AnyTerm, operands: list[str], bound: Bindings) -> str:
        op = self._head_expression(p.op, bound)
        starred = any(o.startswith("*") for o in operands)
        if starred and is_nary(p.op):
            return f"nary({op}, ({', '.join(operands)},))"
        if len(operands) in (1, 2) and not starred:
            return f"mk{len(operands)}({op}, {', '.join(operands)})"
        return f"mk({op}, ({', '.join(operands)},))" if operands else f"mk({op}, ())"

    def _head_expression(self, op: PatternHead, bound: Bindings) -> str:
        if isinstance(op, Var):
            return bound[op]
        if isinstance(op, Captured):
            return bound[op.var]
        if isinstance(op, HeadWith):
            given = ", ".join(f"{k}={self._parameter_expression(v, bound)}" for k, v in op.params)
            return f"{bound[op.var]}.bind({given})"
        if op.lvars:
            given = ", ".join(f"{k}={self._parameter_expression(v, bound)}" for k, v in op.params.items())
            return f"{self.out.ref(op.family, op.name)}.bind({given})"
        return self.out.ref(op, op.name)

    def _parameter_expression(self, value: object, bound: Bindings) -> str:
        if isinstance(value, Var):
            return bound[value]
        if isinstance(value, tuple):
            return f"({''.join(self._parameter_expression(v, bound) + ', ' for v in value)})"
        return repr(value) if isinstance(value, (bool, int, float, str, type(None))) else self.out.ref(value)

    def result(self, bound: Bindings, ind: int) -> None:
        """Build the right side, fit its type, return it."""
        out, rhs, number = self.out, self.instance.rhs, self.number
        name = self.out.ref(self.rule.name, "name")
        carried = f"carry({self.carried[0]}, {{}}, {self.carried[1]})" if self.carried else "{}"
        if rhs.__class__ is Term and rhs.lvars:
            out.put(ind, "try:")
            made = self.build(rhs, bound, ind + 1, {})
            out.put(ind + 1, f"r = {carried.format(made)}")
            out.put(ind, "except BAD:")
            out.put(ind + 1, f"REFUSED[{name}] += 1")
            out.put(ind + 1, "r = t")
        elif isinstance(rhs, Var):
            out.put(ind, f"r = {carried.format(bound[rhs])}")
        elif rhs.__class__ is Lit:
            out.put(ind, f"r = {carried.format(f'full({out.ref(rhs)}, t)')}")
        else:
            out.put(ind, f"r = {carried.format(out.ref(rhs))}")
        out.put(ind, f"if r is not t and (r.type is t.type or (r := fit(r, t, {name})) is not None):")
        out.put(ind + 1, f"return r, {number}")


class _Picks:
    """What matching in any order needs to know while it goes from operand to operand."""

    __slots__ = ("absorber", "args", "node", "pattern", "rest", "root", "segment", "then")

    def __init__(
        self,
        pattern: AnyTerm,
        args: str,
        rest: list[Any],
        then: Callable[..., None],
        segment: Any,
        absorber: Any,
        root: bool,
        node: str,
    ) -> None:
        self.pattern, self.args, self.rest, self.then = pattern, args, rest, then
        self.segment, self.absorber, self.root, self.node = segment, absorber, root, node


def start_bindings(head: PatternHead) -> Bindings:
    """What is known before matching: the whole term, and the operator where the head is a metavariable."""
    bound: Bindings = {this.term: "t"}
    if isinstance(head, Var):
        bound[head] = "t.op"
    elif isinstance(head, Captured):
        bound[head.var] = "t.op"
    return bound
