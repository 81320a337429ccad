"""Values that are stored for the sake of a later loop: the loop that computes them does not read them back.

The mean of a row is stored if a sum over columns needs it, the slope of a loss if a matrix product does. A loop over
the same variable that needs it as well, and could run at the same time, computes it itself: within one loop it is
computed once, and the two loops become one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from termgraph._records import replace
from termgraph.lower.lengths.index import Var
from termgraph.lower.lengths.index import values as index_values
from termgraph.lower.loops.phases import reads_kept, writers_of
from termgraph.lower.loops.scopes import Plans, Scope
from termgraph.lower.push.kernel import FOLD, LOAD, PICK, Buf, Scalars, kids, operands_first, scalars
from termgraph.lower.storage.policy import Store
from termgraph.terms.op import CONST
from termgraph.terms.term import AnyTerm

Loop: TypeAlias = tuple[Any, bool, frozenset[Buf]]  # a fold or statement, whether it is a nest, and what is read in it


def computed_where_needed(planner: Plans, statements: Sequence[Any], top: Scope, whole: bool) -> list[Any]:
    """The statements, with loads of stored values replaced by the values where that joins two loops.

    Of a `whole` program it is known that nothing but statements reads temporaries: what none reads is not stored.
    """
    found = _Joining(planner, statements, top)
    for k in range(len(statements)):
        found.join(k)
    return found.needed() if whole else found.statements


class _Joining:
    """The statements as they are so far, with what each waits for looked up instead of searched for.

    A trial changes one statement. When the others run is remembered, and what waits for the changed one is forgotten.
    """

    def __init__(self, planner: Plans, statements: Sequence[Any], top: Scope) -> None:
        self.planner, self.top = planner, top
        self.statements = list(statements)
        self.writers = writers_of(statements)
        self.alone = {  # a scatter writes to what a first store filled
            w.buf: w for w in statements if _one_for_each(w) and len(self.writers[w.buf]) == 1
        }
        self.late = reads_kept(statements)
        self.joined: set[Buf] = set()  # some of what read them does not any more
        self.position = {w.buf: k for k, w in enumerate(statements) if isinstance(w, Store)}
        self.users: Counter[AnyTerm] = Counter()  # folds computed at the top -> how many statements need each
        self.inside: dict[Any, dict[Any, None]] = {}  # terms -> those of these folds whose loops compute them
        self.phase: dict[Any, int] = {}
        self.by_phase: list[list[Any]] = []
        self.folds: dict[Any, list[Any]] = {}
        self.loops: dict[Any, Loop] = {}  # of folds: many statements need the same
        self.nests: dict[Store, bool] = {}
        self.columns: dict[Store, bool] = {}
        for x in statements:
            self._count(self._folds(x), 1)

    def _folds(self, x: object) -> list[Any]:
        """The folds that a statement needs and that have loops of their own."""
        found = self.folds.get(x)
        if found is None:
            found = self.folds[x] = self.planner.placeable([x], self.top)
        return found

    def _count(self, folds: Sequence[Any], by: int) -> None:
        for f in folds:
            if f not in self.users:
                for t in self._below(f, f.args[0]):
                    self.inside.setdefault(t, {})[f] = None
            self.users[f] += by

    def _below(self, y: Store | AnyTerm, value: AnyTerm) -> list[Any]:
        """What the loop of a fold or statement computes."""
        free, bound = self.planner.s.free, self.top.bound
        return scalars([value], lambda t: t is not y and t.op.family is FOLD and free(t) <= bound)

    # ------------------------------------------------------------------ trying
    def join(self, k: int) -> None:
        """Let a statement compute what it reads of others, of all of them or of one, if that joins their loops."""
        x = self.statements[k]
        if not isinstance(x, Store):
            return
        read: list[Buf] = [b for b in self.planner.needs(x) if isinstance(b, Buf) and b in self.alone]
        if not read or x.ordered:
            return
        vars = {_var(y) for y in (x, *self._folds(x))}
        if not any(self.alone[b].vars[0] in vars for b in read):
            return  # they run over other lengths, and so in other loops
        read.sort(key=self.position.__getitem__)
        places = _places_read(x)
        near = [w for w in map(self.alone.__getitem__, read) if w is not x and places.get(w.buf) == {w.offset}]
        if x.buf in self.late:  # kept arrays, and what the forward pass has made, are read
            near = [w for w in near if w.buf in self.late and not w.kept]
        if not near:
            return
        loops = self._loops_reading(x, near)
        waits: dict[Any, list[tuple[int, int]]] = {}  # of each loop, once there is a trial
        for together in [near, *([[w] for w in near] if len(near) > 1 else [])]:
            here = loops[together[0].buf] if len(together) == 1 else _each_once(loops)
            if not self._are_alike(together, here):
                continue
            for y, _, _ in here:
                if y not in waits:
                    waits[y] = self._waits(y, x)
            if self._come_later(together, here, waits):
                continue
            new = x
            for w in together:
                new = replace(new, value=_with_value(self.planner.s, new.value, w))
            if self._run_together(k, new, together):
                self._put(k, new)
                self.joined |= {w.buf for w in together}
                break

    def needed(self) -> list[Any]:
        """The statements, without the stores of what all readers compute themselves now."""
        if not self.joined:
            return self.statements
        unread, known = set(self.joined), set[Any]()
        waiting = [d for x in self.statements for d in self.planner.needs(x)]
        while waiting:
            d = waiting.pop()
            if isinstance(d, Buf):
                unread.discard(d)
            elif d not in known:
                known.add(d)
                waiting += self.planner.s.needs(d.args[0])
        return [x for x in self.statements if not (isinstance(x, Store) and x.buf in unread)]

    def _loops_reading(self, x: Store, ws: Sequence[Store]) -> dict[Buf, list[Loop]]:
        """The loops that a statement needs, by what the ws store and they read."""
        found: dict[Buf, list[Loop]] = {w.buf: [] for w in ws}
        for y in [*self._folds(x), x]:
            loop = self.loops.get(y) or self._loop(y, x.value if y is x else y.args[0])
            if y is not x:
                self.loops[y] = loop
            for b in loop[2] & found.keys():
                found[b].append(loop)
        return found

    def _loop(self, y: Any, value: AnyTerm) -> Loop:
        """What has a loop, whether that is a nest, and what is read in it."""
        read = frozenset(b for t in self._below(y, value) if (b := _buf(t)) is not None)
        return y, _nests(self.planner.s, y, value), read

    def _is_nest(self, w: Store) -> bool:
        found = self.nests.get(w)
        if found is None:
            found = self.nests[w] = _nests(self.planner.s, w, w.value)
        return found

    def _are_alike(self, ws: Sequence[Store], loops: Sequence[Loop]) -> bool:
        """Whether loops that would compute what the ws store are as deep as theirs: most trials end here."""
        nest = {w.buf: self._is_nest(w) for w in ws}
        for y, is_nest, read in loops:
            here = [w for w in ws if w.buf in read]
            deep = is_nest or any(nest[w.buf] for w in here)
            if any(_var(y) is not w.vars[0] or nest[w.buf] != deep for w in here):
                return False
            if not isinstance(y, Store) and any(nest[w.buf] and self._adds_up_columns(w) for w in here):
                return False
        return True

    def _adds_up_columns(self, w: Store) -> bool:
        """Whether w is stored by a loop that takes whole vectors of its variable, which a fold's loop does not."""
        found = self.columns.get(w)
        if found is None:
            folds = [f for f in self.planner.needs(w) if not isinstance(f, Buf) and w.vars[0] in self.planner.s.free(f)]
            found = self.columns[w] = self.planner.votes(w.vars[0], folds) > 0
        return found

    def _waits(self, y: Any, x: Store) -> list[tuple[int, int]]:
        """What the loop of a fold or statement waits for that runs no later than `x` does, and when it runs.

        Up to there no trial changes when something runs.
        """
        latest = self._phase(x)
        return [(phase, id(z)) for z in self._before(y) if (phase := self._phase(z)) <= latest]

    def _come_later(
        self, ws: Sequence[Store], loops: Sequence[Loop], waits: Mapping[Any, Sequence[tuple[int, int]]]
    ) -> bool:
        """Whether a loop that would compute what the ws store waits for something else no earlier than these."""
        made = {id(w) for w in ws}
        for y, _, read in loops:
            here = [self._phase(w) for w in ws if w.buf in read]
            if here:
                first = min(here)
                if any(phase >= first and z not in made for phase, z in waits[y]):
                    return True
        return False

    def _put(self, k: int, new: Store) -> None:
        """Take a trial over, and forget when those run that wait for it."""
        old = self.statements[k]
        for known in self.by_phase[self._phase(old) :]:
            for y in known:
                del self.phase[y]
            known.clear()
        self._count(self._folds(old), -1)
        self._count(self._folds(new), 1)
        self.statements[k] = new
        ws = self.writers[new.buf]
        ws[ws.index(old)] = new
        if self.alone.get(new.buf) is old:
            self.alone[new.buf] = new

    def _run_together(self, k: int, new: Store, ws: Sequence[Store]) -> bool:
        """Whether every loop that now computes what some w stores is the loop that stores it, and as deep a nest."""
        old, s = self.statements[k], self.planner.s
        gone, come = set(self._folds(old)), self._folds(new)
        self._count(come, 0)
        own = set(self._below(new, new.value))
        pairs: list[tuple[Any, Store]] = []
        for w in ws:
            folds = [f for f in self.inside.get(w.value, ()) if self.users[f] - (f in gone) + (f in come) > 0]
            pairs += [(y, w) for y in [*folds, *([new] if w.value in own else [])]]
        for y, w in pairs:
            value = y.value if isinstance(y, Store) else y.args[0]
            if _var(y) is not w.vars[0] or _nests(s, y, value) != self._is_nest(w):
                return False
        trial: dict[Any, int] = {}
        return all(self._phase(y, old, new, trial) == self._phase(w, old, new, trial) for y, w in pairs)

    # ------------------------------------------------------------------ when things run
    def _phase(self, x: Any, old: Any = None, new: Any = None, trial: dict[Any, int] | None = None) -> int:
        """The phase of a fold or statement; with a trial, where `new` stands in the place of `old`."""
        latest = None if old is None else self._phase(old)  # what waits for the old statement comes after it
        stack = [x]
        found: int | None = None
        while stack:
            y = stack[-1]
            found = self._known(y, latest, trial)
            if found is None:
                before = [new if z is old else z for z in self._before(y)]
                todo = [z for z in before if self._known(z, latest, trial) is None]
                if todo:
                    stack += todo
                    continue
                found = max([self._known(z, latest, trial) + 1 for z in before], default=0)  # type: ignore[operator]
                self._remember(y, found, trial)
            stack.pop()
        assert found is not None
        return found

    def _known(self, y: Any, latest: int | None, trial: dict[Any, int] | None) -> int | None:
        found = self.phase.get(y)
        if trial is None or (found is not None and latest is not None and found <= latest):
            return found
        return trial.get(y)

    def _remember(self, y: Any, phase: int, trial: dict[Any, int] | None) -> None:
        if trial is not None:
            trial[y] = phase
            return
        self.phase[y] = phase
        while len(self.by_phase) <= phase:
            self.by_phase.append([])
        self.by_phase[phase].append(y)

    def _before(self, y: Any) -> list[Any]:
        """What a fold or statement waits for."""
        return self.planner.waits_for(y, self.users, self.writers, self.top)


def _each_once(loops: Mapping[Buf, Sequence[Loop]]) -> list[Loop]:
    return list({found[0]: found for some in loops.values() for found in some}.values())


def _one_for_each(x: Any) -> bool:
    """A value for each step of one loop, in storage of its own."""
    plain = isinstance(x, Store) and x.mode == "set" and not x.ordered
    return plain and len(x.vars) == 1 and x.buf.kind == "temp" and not index_values(x.offset)


def _places_read(x: Store) -> dict[Buf, set[Any]]:
    """Where a statement reads each buffer: the offsets, and None where what is read is used in an index."""
    places: dict[Buf, set[Any]] = {}
    for v in index_values(x.offset):
        _read_in_index(v, places)
    for t in scalars([x.value]):
        if t.args or t.op is CONST:
            continue  # neither loads nor uses an index
        buf = _buf(t)
        if buf is not None:
            places.setdefault(buf, set()).add(t.op.params["offset"])
        for v in kids(t):
            _read_in_index(v, places)
    return places


def _read_in_index(value: AnyTerm, places: dict[Buf, set[Any]]) -> None:
    for t in scalars([value]):
        if (buf := _buf(t)) is not None:
            places.setdefault(buf, set()).add(None)


def _buf(t: AnyTerm) -> Any:
    return t.op.params["buf"] if t.op.family is LOAD else None


def _with_value(s: Scalars, root: AnyTerm, w: Store) -> AnyTerm:
    """The term with the value of w in place of loads of it."""
    new: dict[Any, AnyTerm] = {}
    for t in operands_first([root], lambda t: w.buf not in s.needs(t)):
        if _buf(t) is w.buf:
            new[t] = w.value
        elif not t.args or w.buf not in s.needs(t) or all(new[a] is a for a in t.args):
            new[t] = t
        else:
            new[t] = _remade(s, t, tuple([new[a] for a in t.args]))
    return new[root]


def _remade(s: Scalars, t: AnyTerm, args: tuple[AnyTerm, ...]) -> AnyTerm:
    if t.op.family is FOLD:
        return s.fold(t.op.params["kind"], t.op.params["var"], args[0])
    return s.pick(*args) if t.op.family is PICK else s.make(t.op, args)


def _var(y: Store | AnyTerm) -> Var | None:
    if isinstance(y, Store):
        return y.vars[0] if y.vars else None
    var: Var = y.op.params["var"]
    return var


def _nests(s: Scalars, y: Store | AnyTerm, value: AnyTerm) -> bool:
    """Whether a loop contains loops: what can be a vector loop should stay one."""
    if isinstance(y, Store) and len(y.vars) > 1:
        return True
    return any(not isinstance(f, Buf) and f is not y and _var(y) in s.free(f) for f in s.needs(value))
