"""Warm starts: a finished program is kept in the cache of compiled code, under the graph that it was made from.

When the same graph is compiled again, in any process, nothing is rewritten, lowered or generated, and the rules are not
even loaded. What the stages did is worked out when somebody asks (`f.trace`, `f.maker.fgraph`, an error's line). The
entry holds JSON, C text and the bytes of constants.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from termgraph import _installed
from termgraph._lazy import lazy
from termgraph._records import NamedTuple
from termgraph.compile import shipped
from termgraph.compile.compilation import Compilation
from termgraph.compile.values import Placed
from termgraph.config import config
from termgraph.terms.digest import NoName, graph_digest
from termgraph.terms.plain import from_plain, to_plain
from termgraph.terms.types import TensorType

if TYPE_CHECKING:
    from termgraph.backends.c import cprogram, segments
    from termgraph.backends.c.build import cache as code_cache
    from termgraph.backends.c.build import compilers
    from termgraph.backends.c.cprogram import CProgram
    from termgraph.backends.c.run import glue
else:
    code_cache = lazy("termgraph.backends.c.build.cache")
    compilers = lazy("termgraph.backends.c.build.compilers")
    cprogram = lazy("termgraph.backends.c.cprogram")
    glue = lazy("termgraph.backends.c.run.glue")
segments = lazy("termgraph.backends.c.segments")

FORMAT = 3
PARTS = "parts.json"  # the file of a program of which Python runs a part
MOST_CONSTANTS = 4 << 20  # bytes of constants that an entry may hold


class NotKept(Exception):
    """Why a program is not kept for the next start."""


class Key(NamedTuple):
    """What a program is kept under: all that decides it, and which of a function's forms it is."""

    parts: dict[str, Any]
    form: Any


def look_up(work: Compilation, form: tuple, watched: bool, what: str = "program") -> None:
    """Give a compilation its program, if the cache has it; else note where it will be kept, or why it will not.

    `form` is what besides the graph decides the program; programs of which every operation is `watched` are not kept.
    """
    with work.ledger.timed("cache"):
        try:
            work.key = key_of(work, form, watched, what)
        except (NotKept, NoName) as why:
            work.not_kept = str(why)
            return
        found = _read(work.key)
        if found is not None:
            _use(work, *found)


def _use(work: Compilation, code: CProgram, more: dict[str, Any]) -> None:
    """Let a compilation take what was kept: a whole program, or one in parts."""
    work.warm, work.rules = True, more["rules"]
    if isinstance(code, cprogram.CProgram):
        work.ready[work.key.form] = code
    else:
        work.kept, work.in_parts, work.not_native = code, True, more["not native"]
        work.give_placed(Placed.of(work.args, more["roots"]))  # the graph was kept as well


def key_of(work: Compilation, form: tuple, watched: bool, what: str) -> Key:
    """What a program is kept under; NotKept or NoName if it cannot be."""
    if not config.cache.programs:
        raise NotKept("the flag cache.programs is off")
    if watched:
        raise NotKept("its operations are timed or watched one by one")
    if work.options.backend == "cuda":
        raise NotKept("it runs on the GPU")
    if work.options.backend == "vm":
        raise NotKept("it is not compiled to C")
    if any(not isinstance(a.type, TensorType) for a in work.args):
        raise NotKept("one of its inputs is not an array")
    _installed.look_by(getattr(glue.provider(), "files", _installed.look))
    if _installed.changed_since_import():
        raise NotKept("termgraph's files changed after this process imported it")
    rules = shipped.changed_rules()
    if rules is not None:
        raise NotKept(rules)
    return Key(_parts(work, form, what), form)


def _parts(work: Compilation, form: tuple, what: str) -> dict[str, Any]:
    """Everything that decides the program; `termgraph cache explain` shows it."""
    compiler, options = compilers.find_compiler(), work.options
    assert compiler is not None, "wants_c has found one"
    return {
        "artefact": f"{what} {FORMAT}",
        "graph": work.captured.digest() if what == "program" else graph_digest(work.roots),
        "inputs": " ".join([f"{a.type.dtype}{list(a.type.shape)}" for a in work.args]),
        "form": repr(form),
        "mode": f"{options.optimizer} linker={options.linker} strict={options.strict} quick={options.quick} "
        f"memory={options.memory_limit} sparing={options.sparing} storage={options.storage} "
        f"{work.captured.passes or ''}",
        "flags": shipped.flags_text(),
        "termgraph": _installed.files_digest(),
        "versions": _installed.versions(),
        "compiler": compiler.identity,
        "cpu": compilers.cpu_identity(),
        "libc": compilers.libc_identity(),
    }


def _read(kept: Key) -> tuple[Any, dict[str, Any]] | None:
    """The program kept there, if there is one. A damaged entry is reported and removed; it will be made again."""
    cache, key = code_cache.default_cache(), code_cache.key_of(kept.parts)
    entry = cache.lookup(key)
    if entry is None:
        return None
    try:
        return _read_parts(entry) if PARTS in entry.why["files"] else cprogram.from_files(entry.read)
    except (ValueError, KeyError, TypeError, IndexError) as error:
        cache.discard(key, f"it does not hold a program: {error}")
    except OSError:  # evicted by another process meanwhile
        pass
    return None


def _read_parts(entry: Any) -> tuple[Any, dict[str, Any]]:
    """A program of which Python runs a part: how it is divided, its C programs and its graph."""
    found = json.loads(entry.read(PARTS))
    found["roots"] = from_plain(found.pop("graph"))
    codes = [cprogram.from_files(partial(_read_part, entry, k))[0] for k in range(found.pop("codes"))]
    given = [(i, slots) for i, slots in found.pop("given")]
    return segments.Kept(found.pop("refused"), given, codes), found


def _read_part(entry: Any, k: int, name: str) -> bytes:
    return entry.read(f"{k}-{name}")


def keep(work: Compilation, form: tuple, code: CProgram, name: str | None) -> None:
    """Keep a program for the next start, or note in `work.not_kept` why not."""
    if work.key is None or work.key.form != form:
        return
    with work.ledger.timed("cache"):
        if _small_enough(work, [code]):
            _write(work, cprogram.to_files(code, rules=work.rule_counts()), name)


def keep_parts(work: Compilation, name: str | None) -> None:
    """The same for a program of which Python runs a part."""
    kept = work.kept
    if work.key is None or work.in_parts or kept is None or kept.refused is None or not work.in_c:
        return
    with work.ledger.timed("cache"):
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
                files |= {f"{k}-{name_}": data for name_, data in cprogram.to_files(code).items()}
            _write(work, files, name)


def _small_enough(work: Compilation, codes: Sequence[Any]) -> bool:
    size = sum(c.nbytes for code in codes for c in code.constants)
    if size > MOST_CONSTANTS:
        work.not_kept = f"it holds {size >> 20} MB of constants"
    return size <= MOST_CONSTANTS


def _write(work: Compilation, content: dict[str, bytes], name: str | None) -> None:
    def make(directory: str) -> dict[str, Any]:
        for name_, data in content.items():
            with open(f"{directory}/{name_}", "wb") as out:
                out.write(data)
        return {}

    code_cache.default_cache().get_or_make(work.key.parts, make, name=name or "function", kind="program")
