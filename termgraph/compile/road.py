"""The road: every stage between the user's graph and a function that can be called, in the order in which they run.

A stage is a function from a value to a value; where it stands is written beside its name. It is loaded when it runs, so
that a warm start, which skips most of the road, loads little. `road_of` says which stages a mode takes.
"""

from __future__ import annotations

from collections.abc import Callable

from termgraph._records import NamedTuple
from termgraph.compile.options import Options
from termgraph.stages import Stage
from termgraph.terms.term import AnyTerm

CAPTURE = Stage("capture", "compile.capture:capture")  # variables -> Captured: closed terms over numbered arguments

# Captured -> Rewritten. Bodies of loops take the same stages.
AGAIN = (
    Stage("canonicalize", "compile.rewriting:canonicalize"),
    Stage("stabilize", "compile.rewriting:stabilize"),
    Stage("canonicalize", "compile.rewriting:canonicalize"),
    Stage("specialize", "compile.rewriting:specialize"),
    Stage("bodies", "compile.rewriting:bodies"),
)
REWRITING = (
    Stage("inline", "compile.rewriting:inline"),
    Stage("convolutions", "compile.convolutions:convolutions"),
    *AGAIN,
    Stage("saturate", "compile.rewriting:saturate"),
    Stage("loops", "compile.rewriting:loops"),
)
ACCURATE = Stage("accurate", "compile.accurate:accurate")  # for the mode of that name

CHUNKS = Stage("chunks", "compile.rewriting:chunks")  # for a `memory_limit` that whole loops do not keep within

PARTS = Stage("parts", "compile.filters_in_parts:in_parts")  # and of filters' gradients

HALVES = Stage("halves", "compile.halves:halves")  # for functions with `storage=`

PLACE = Stage("place", "compile.placing:place")  # Rewritten -> Placed: what runs where

# A region of the placed graph -> Planned: loops over memory. The same for C and CUDA.
LOWERING = (
    Stage("expand", "lower.lowering:expanded"),
    Stage("lengths", "lower.lowering:measured"),
    Stage("storage", "lower.lowering:stored"),
    Stage("loop tree", "lower.lowering:planted"),
    Stage("schedule", "lower.lowering:scheduled"),
    Stage("memory", "lower.lowering:planned"),
)


class Backend(NamedTuple):
    """What runs a placed graph: which of its terms can be in a program, and the stages from the graph to a call."""

    name: str
    asked: Stage  # a term -> why it cannot be in a program, None if it can
    stages: tuple[Stage, ...]  # after `place`

    @property
    def why_not(self) -> Callable[[AnyTerm], str | None]:
        """Says of a term why this backend cannot have it in a program; None if it can."""
        return self.asked.function


# Planned -> text -> library -> callable.
C = Backend(
    "c",
    Stage("why not", "backends.c.placement:why_not"),
    (
        *LOWERING,
        Stage("print", "backends.c.generate:printed"),
        Stage("build", "backends.c.build.program_library:built"),
        Stage("bind", "backends.c.run.glue:bind"),
    ),
)
CUDA = Backend(
    "cuda",
    Stage("why not", "backends.cuda.placement:why_not"),
    (
        *LOWERING,
        Stage("print", "backends.cuda.generate:printed"),
        Stage("build", "backends.cuda.build.compile:compiled"),
        Stage("bind", "backends.cuda.run.executor:Executable"),
    ),
)
VM = Backend("vm", Stage("why not", "vm.machine:why_not"), (Stage("bind", "vm.machine:Machine"),))
BACKENDS = {backend.name: backend for backend in (C, CUDA, VM)}


def rewriting_of(options: Options) -> tuple[Stage, ...]:
    """The stages that rewrite a graph, and the bodies in it. Without rules (`mode="None"`) calls are inlined only."""
    front = REWRITING if options.rewrites else REWRITING[:1]
    front = (*front[:1], ACCURATE, *front[1:]) if options.accurate else front
    front = (*front[:1], CHUNKS, *front[1:], PARTS) if options.sparing is not None else front
    return front if options.storage is None else (*front, HALVES)


def road_of(options: Options) -> tuple[Stage, ...]:
    """The stages of a function.

    The virtual machine runs the placed graph as it is. FAST_COMPILE and `strict` take the same stages as FAST_RUN, with
    fewer rules in each and a C compiler that is told to hurry. DEBUG_MODE takes them as well: it watches the program
    that they make.
    """
    return (CAPTURE, *rewriting_of(options), PLACE, *BACKENDS[options.backend].stages)
