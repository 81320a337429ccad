"""CProgram: generated C text with what the builder and the glue have to know, and the same as a few files.

The files are JSON, C text and the bytes of constants, so reading them builds plain data and runs nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np

from termgraph._lazy import lazy, pattern
from termgraph._records import record, replace, values_of
from termgraph.backends.c.signature import CellInput, Input, Output, Signature, Update
from termgraph.terms.dtypes import numpy_dtype
from termgraph.terms.traverse import substitute

timers = lazy("termgraph.backends.c.text.timers")

if TYPE_CHECKING:
    from termgraph.lower.lengths.checks import Site
    from termgraph.terms.term import AnyTerm

# A pass that finds little in loops that are written out (known bits of numbers) and takes some of gcc's time. The one
# over dominators stays: without it functions of equal loops round otherwise, and searches take 1.4 times their time.
SPARED = ("-fno-tree-bit-ccp",)
# Integers wrap around, as in NumPy. Sine and cosine of one value stay two calls: no vector version of sincos exists.
# gcc is asked to leave out the pass that joins them: of functions that are not built in it makes no vectors where they
# stand in an arm of a choice (`where(x > 0, sin(x), 0)`).
# Where more than four arms of choices lead to one result gcc makes no vectors unless it is told how many may: functions
# of six pieces take 0.4 of their time, `logsf` of densities whose calls stand in front of the choices 0.15.
ARMS = ("--param=max-tree-if-conversion-phi-args=64",)
UNJOINED = ("-fdisable-tree-sincos", *[f"-fno-builtin-{f}" for f in ("sin", "cos", "sinf", "cosf")])
FLAGS = ("-fwrapv", *UNJOINED, *SPARED, *ARMS)
# gcc's pass that joins a product and the sum it goes into (one instruction, rounded once) is off at -O1. The flag that
# turns it on, -fexpensive-optimizations, makes heavy loops of float32 a fifth slower by other passes: so by its name.
MULTIPLY_ADD = ("-ffp-contract=fast", "-fenable-tree-widening_mul")
APART = ("-ffp-contract=off",)
# gcc takes half of what some processors with AVX-512 have. Vector versions of exp, tanh, ... gain by all of it (1.2 to
# 2.2 times in float64), loops that wait for memory do not: the rule is one such call in the program.
WIDE = ("-mprefer-vector-width=512",)
# gcc 12 takes a processor of Intel's that is younger than itself for one whose vectors cannot gather, and then makes no
# vectors of a loop that looks something up in a table: gamma takes five times as long. For AMD's it knows the
# instruction is thought too slow, which costs Zen 3 3.6 times the time.
GATHERS = ("-mtune=icelake-server",)
PROGRAM, SOURCE, CONSTANTS = "program.json", "source.c", "constants.bin"


@record
class CProgram:
    """C text with what the builder and the glue have to know. `sites[op]` says what a reported failure means.

    One that was read from files, or has been built, has neither `sites` nor `lowered`: they are made again when
    something fails.
    """

    source: str
    signature: Signature
    constants: list[np.ndarray]
    sites: list[Site]
    lowered: Any  # what lowering gave, a Lowered, or None
    needs_blas: bool = False
    flags: tuple[str, ...] = FLAGS
    libraries: tuple[str, ...] = ("-lmvec", "-lm")
    leaves: dict[Any, Any] = field(default_factory=dict)  # what the arguments stand for in a larger graph

    spaces: list[Any] = field(default_factory=list)  # per workspace: the term that needs it, or None
    timed_parts: list[Any] = field(default_factory=list)  # what a timed program notes the time of
    kernels: dict[str, Any] = field(default_factory=dict)  # functions of the text -> the loops they were written from

    def __str__(self) -> str:
        return f"/* {' '.join(self.flags)} */\n{self.source}"

    def sizes(self) -> dict[str, int]:
        """How much text it is, and how many functions compute something."""
        return {"kernels": len(self.kernels), "bytes": len(self.source)}

    def original(self, t: AnyTerm) -> AnyTerm:
        """The term of the graph this program was made from, for one that appears in `sites`."""
        found = self.lowered.origin.get(t, t)
        return substitute([found], self.leaves)[0] if self.leaves else found

    def terms_at(self, line: int | None) -> list[Any]:
        """The terms of the graph that the function around a line of the text computes; else all results."""
        if self.lowered is None:
            return []
        node = self.kernels.get(_function_around(self.source, line))
        bufs = sorted(timers.written_by(node), key=lambda b: b.name) if node is not None else []
        return self.terms_of(bufs) or [self.original(t) for t in self.lowered.outputs]

    def terms_of(self, bufs: Iterable[Any]) -> list[Any]:
        """The terms of the graph whose values some buffers hold."""
        stored, outputs = self.lowered.statements.stored, self.lowered.outputs
        found = [outputs[int(b.name[3:])] if b.kind == "output" else stored.get(b) for b in bufs]
        return [self.original(t) for t in found if t is not None]


_HEAD = pattern(r"^(?:static|TG_EXPORT)\b.*?\b(\w+?)(?:_\d+)?\((?=void \*context|tg_context)", re.MULTILINE)


def _function_around(source: str, line: int | None) -> str:
    """The name of the kernel that a line of the text stands in."""
    before = source.splitlines()[: line or 0]
    return next((m[1] for m in map(_HEAD.match, reversed(before)) if m), "")


IN_JSON = ("needs_blas", "flags", "libraries")  # as they are; the others have a form of their own
MADE_AGAIN = ("sites", "lowered", "leaves", "spaces", "timed_parts", "kernels")


def without_terms(code: CProgram) -> CProgram:
    """The program as one that was read from files."""
    return replace(code, sites=[], lowered=None, leaves={}, spaces=[], kernels={})


def to_files(code: CProgram, **more: Any) -> dict[str, bytes]:
    """The files of a program; `more` is kept beside it in the JSON. Names and defaults of arguments are left out."""
    described = values_of(code.signature)
    for parts in ("cells", "outputs", "updates"):
        described[parts] = [values_of(part) for part in described[parts]]
    described["inputs"] = [{"name": None, "dtype": i.dtype, "shape": i.shape} for i in described["inputs"]]
    arrays = [np.ascontiguousarray(c) for c in code.constants]
    program = {
        **{name: getattr(code, name) for name in IN_JSON},
        "signature": described,
        "constants": [[a.dtype.str, list(c.shape)] for a, c in zip(arrays, code.constants)],
        **more,
    }
    content = b"".join([a.tobytes() for a in arrays])
    return {PROGRAM: json.dumps(program).encode(), SOURCE: code.source.encode(), CONSTANTS: content}


def from_files(read: Callable[[str], bytes]) -> tuple[CProgram, dict[str, Any]]:
    """The inverse of `to_files`: the program, and what was kept beside it.

    Anything wrong in the files raises ValueError, KeyError or TypeError.
    """
    found = json.loads(read(PROGRAM))
    made = found.pop("signature")
    for name, part in (("inputs", Input), ("cells", CellInput), ("outputs", Output), ("updates", Update)):
        made[name] = [_part(part, p) for p in made[name]]
    content, at, constants = read(CONSTANTS), 0, []
    for dtype, shape in found.pop("constants"):
        count = int(np.prod(shape, dtype=np.int64))
        constants.append(np.frombuffer(content, numpy_dtype(dtype), count, at).reshape(shape))
        at += count * numpy_dtype(dtype).itemsize
    plain = {name: found.pop(name) for name in IN_JSON}
    plain["flags"], plain["libraries"] = tuple(plain["flags"]), tuple(plain["libraries"])
    return CProgram(read(SOURCE).decode(), Signature(**made), constants, [], None, **plain), found


def _part(kind: type, described: dict[str, Any]) -> Any:
    return kind(**{k: tuple(v) if isinstance(v, list) else v for k, v in described.items()})
