"""Warm starts: a finished program is kept in the cache of compiled code, under the graph that it was made from.

When the same graph is compiled again, in any process, nothing is rewritten, lowered or generated, and the rules are not
even loaded. What the stages did is worked out when somebody asks (`f.trace`, `f.maker.fgraph`, an error's line). The
entry holds JSON, C text and the bytes of constants.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple

from termgraph.config import config
from termgraph.function import shipped
from termgraph.function.capture import Captured
from termgraph.function.choose import wants_c, wants_gpu
from termgraph.function.mode import Mode
from termgraph.function.native import form_of
from termgraph.function.pipeline import Compilation, compile_graph
from termgraph.terms.digest import NoName, graph_digest
from termgraph.terms.plain import from_plain, to_plain
from termgraph.terms.types import TensorType
from termgraph.vm.program import Program

FORMAT = 2
PARTS = "parts.json"  # the file of a program of which Python runs a part
MOST_CONSTANTS = 4 << 20  # bytes of constants that an entry may hold


class NotKept(Exception):
    """Why a program is not kept for the next start."""


class Place(NamedTuple):
    """Where a program is kept: what decides it (the entry's key), and which of a function's forms it is."""

    parts: dict[str, Any]
    form: Any


class Postponed(Compilation):
    """A compilation whose program was in the cache: its stages run when somebody wants to see what they did."""

    LATER = ("roots", "bodies", "traces", "linked_roots", "program", "_segmented")

    def __init__(self, captured: Captured, mode: Mode, place: Place, found: tuple[Any, dict[str, Any]]) -> None:
        self.args, self.captured, self.mode = list(captured.args), captured, mode
        self.native, self.not_native, self.in_c, self.in_parts, self.kept = {}, None, True, False, None
        self.on_gpu, self.on_device = False, {}
        self.place, self.not_kept = place, None
        self.ready, self.seconds = {}, {}
        self._rules, self._flags = found[1]["rules"], {"floatX": config.floatX}
        self._guard = threading.RLock()
        use(self, *found)
        if self.in_parts:  # the graph was kept as well
            self.linked_roots, self._segmented = found[1]["roots"], None
            self.program = Program.from_terms(self.args, self.linked_roots)

    def __getattr__(self, name: str) -> Any:
        if name not in Postponed.LATER:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        with self._guard:
            if name not in self.__dict__:
                self._catch_up()
        return self.__dict__[name]

    def _catch_up(self) -> None:
        with config.change_flags(self._flags):
            done = compile_graph(self.captured, self.mode)
        for name in Postponed.LATER:
            self.__dict__.setdefault(name, getattr(done, name))

    def rule_counts(self) -> dict[str, int]:
        """How often each rule was applied when the program was made."""
        return dict(self._rules)

    def rule_seconds(self) -> dict[str, float]:
        """Nothing was spent in rules."""
        return {}


def compiled(maker: Any, captured: Captured) -> Compilation:
    """The compilation of a maker's graph: postponed if its program is in the cache."""
    start = perf_counter()
    try:
        place = place_of(maker, captured)
    except (NotKept, NoName) as why:
        work = compile_graph(captured, maker.mode)
        work.not_kept = str(why)
        return work
    found = _read(place)
    if found is None:
        work = compile_graph(captured, maker.mode)
        work.place = place
        return work
    work = Postponed(captured, maker.mode, place, found)
    work.seconds["warm start"] = perf_counter() - start
    return work


def use(work: Compilation, code: Any, more: dict[str, Any]) -> None:
    """Let a compilation take what was kept: a whole program, or one in parts."""
    from termgraph.backends.c.cprogram import CProgram  # not the module of parts, which brings what lowers programs

    if isinstance(code, CProgram):
        work.ready[work.place.form] = code
    else:
        work.kept, work.in_parts, work.not_native = code, True, more["not native"]


def find_linked(maker: Any) -> None:
    """The same for a saved function, whose graph needs no rewriting: its program may be in the cache too."""
    work = maker.work
    try:
        work.place = place_of(maker, Captured(work.args, work.roots, work.captured.sources), "linked program")
    except (NotKept, NoName) as why:
        work.not_kept = str(why)
        return
    found = _read(work.place)
    if found is not None:
        use(work, *found)


def place_of(maker: Any, captured: Captured, what: str = "program") -> Place:
    """What the program of a maker's graph is kept under; NotKept or NoName if it cannot be."""
    mode = maker.mode
    if not config.cache.programs:
        raise NotKept("the flag cache.programs is off")
    if maker.timed or maker.watched() or type(mode) is not Mode:
        raise NotKept("its operations are timed or watched one by one")
    if wants_gpu(mode.linker):
        raise NotKept("it runs on the GPU")
    if mode.linker == "py" or not wants_c(mode.linker):
        raise NotKept("it is not compiled to C")
    if any(not isinstance(a.type, TensorType) for a in captured.args):
        raise NotKept("one of its inputs is not an array")
    if shipped.changed_since_import():
        raise NotKept("termgraph's files changed after this process imported it")
    rules = shipped.changed_rules()
    if rules is not None:
        raise NotKept(rules)
    form = form_of(maker)
    return Place(_parts(mode, captured, form, what), form)


def _parts(mode: Mode, captured: Captured, form: Any, what: str) -> dict[str, Any]:
    """Everything that decides the program; `termgraph cache explain` shows it."""
    from termgraph.backends.c.build.compilers import cpu_identity, find_compiler, libc_identity

    compiler = find_compiler()
    assert compiler is not None, "wants_c has found one"
    return {
        "artefact": f"{what} {FORMAT}",
        "graph": graph_digest(captured.roots),
        "inputs": " ".join([f"{a.type.dtype}{list(a.type.shape)}" for a in captured.args]),
        "form": repr(form),
        "mode": f"{mode.optimizer} linker={mode.linker} strict={mode.strict} quick={mode.quick}",
        "flags": shipped.flags_text(),
        "termgraph": shipped.files_digest(),
        "versions": shipped.versions(),
        "compiler": compiler.identity,
        "cpu": cpu_identity(),
        "libc": libc_identity(),
    }


def _read(place: Place) -> tuple[Any, dict[str, Any]] | None:
    """The program kept there, if there is one. A damaged entry is reported and removed; it will be made again."""
    from termgraph.backends.c.build.cache import default_cache, key_of
    from termgraph.backends.c.cprogram import from_files

    cache, key = default_cache(), key_of(place.parts)
    entry = cache.lookup(key)
    if entry is None:
        return None
    try:
        return _read_parts(entry) if PARTS in entry.why["files"] else from_files(entry.read)
    except (ValueError, KeyError, TypeError, IndexError) as error:
        cache.discard(key, f"it does not hold a program: {error}")
    except OSError:  # evicted by another process meanwhile
        pass
    return None


def _read_parts(entry: Any) -> tuple[Any, dict[str, Any]]:
    """A program of which Python runs a part: how it is divided, its C programs and its graph."""
    from termgraph.backends.c.cprogram import from_files
    from termgraph.backends.c.segments import Kept

    found = json.loads(entry.read(PARTS))
    found["roots"] = from_plain(found.pop("graph"))
    codes = [from_files(partial(_read_part, entry, k))[0] for k in range(found.pop("codes"))]
    given = [(i, slots) for i, slots in found.pop("given")]
    return Kept(found.pop("refused"), given, codes), found


def _read_part(entry: Any, k: int, name: str) -> bytes:
    return entry.read(f"{k}-{name}")


def keep(maker: Any, form: Any, code: Any) -> None:
    """Keep a program for the next start, or note in `maker.work.not_kept` why not."""
    from termgraph.backends.c.cprogram import to_files

    work = maker.work
    if work.place is None or work.place.form != form:
        return
    if _small_enough(work, [code]):
        _write(maker, to_files(code, rules=work.rule_counts()))


def keep_parts(maker: Any) -> None:
    """The same for a program of which Python runs a part."""
    from termgraph.backends.c.cprogram import to_files

    work = maker.work
    if work.place is None or work.in_parts or work.kept is None or work.kept.refused is None or not work.in_c:
        return
    kept = work.kept
    try:
        graph = to_plain(work.linked_roots, MOST_CONSTANTS)
    except NoName as why:
        work.not_kept = str(why)
        return
    if _small_enough(work, kept.codes):
        told = {"graph": graph, "refused": kept.refused, "given": kept.given, "not native": work.not_native}
        told |= {"codes": len(kept.codes), "rules": work.rule_counts()}
        files = {PARTS: json.dumps(told).encode()}
        for k, code in enumerate(kept.codes):
            files |= {f"{k}-{name}": data for name, data in to_files(code).items()}
        _write(maker, files)


def _small_enough(work: Compilation, codes: Sequence[Any]) -> bool:
    size = sum(c.nbytes for code in codes for c in code.constants)
    if size > MOST_CONSTANTS:
        work.not_kept = f"it holds {size >> 20} MB of constants"
    return size <= MOST_CONSTANTS


def _write(maker: Any, content: dict[str, bytes]) -> None:
    from termgraph.backends.c.build.cache import default_cache

    def make(directory: str) -> dict[str, Any]:
        for name, data in content.items():
            with open(f"{directory}/{name}", "wb") as out:
                out.write(data)
        return {}

    default_cache().get_or_make(maker.work.place.parts, make, name=maker.name or "function", kind="program")


__all__ = ["NotKept", "Place", "Postponed", "compiled", "find_linked", "keep", "keep_parts", "place_of"]
