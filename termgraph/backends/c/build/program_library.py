"""Building the library of a program, also of one that comes from the cache: what that needs must stay little."""

from __future__ import annotations

from collections.abc import Callable

from termgraph.backends.c.build.compiler_errors import CompileError
from termgraph.backends.c.build.library import Library, build_library
from termgraph.backends.c.cprogram import CProgram

Again = Callable[[], CProgram]


def built(program: CProgram, name: str, note: str | None = None, again: Again | None = None) -> Library:
    """The library of a program. A CompileError gets the `.terms` that the text it complains of computes."""
    options = {"needs_blas": program.needs_blas, "flags": program.flags, "libraries": program.libraries}
    try:
        return build_library(program.source, name, note=note, **options)  # type: ignore[arg-type]
    except CompileError as error:
        error.terms = with_terms(program, again).terms_at(error.line)
        raise


def with_terms(program: CProgram, again: Again | None) -> CProgram:
    """The program with its terms; one that came from the cache, which does not hold them, is made once more."""
    if program.lowered is None and again is not None:
        made = again()
        if made.source == program.source:
            return made
    return program
