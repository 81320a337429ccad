"""Options: what a mode asks of the stages, as plain data."""

from __future__ import annotations

from termgraph._records import record


@record(frozen=True)
class Options:
    """What decides how a graph is compiled.

    `tags` are the query on the rule database, `included` those that the mode names beside its set of rules, `excluded`
    those that it leaves out. `linker` is what the mode says, `backend` what that means on this machine: "c", "cuda"
    or "vm".
    """

    tags: tuple[str, ...]
    included: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    rewrites: bool = True
    strict: bool = False
    relational: bool = False  # miniKanren finds every step of rewriting
    quick: bool = False  # the C compiler is told to do less
    accurate: bool = False  # forms that lose few bits come first
    linker: str = "py"
    backend: str = "vm"
    memory_limit: int | float | None = None  # bytes of results and temporaries, or a share of what they would be
    storage: str | None = None  # the dtype of 16 bits in which arrays wait for the backward pass
    sparing: int | None = None  # bytes that no plan of the plain graph keeps within: loops are cut, parts are stored

    @property
    def limit(self) -> int | float | None:
        """What the plan of memory has to keep within."""
        return self.memory_limit if self.sparing is None else self.sparing

    @property
    def insists(self) -> bool:
        """Whether everything has to run in C."""
        return self.linker == "c"

    @property
    def optimizer(self) -> str:
        """The query as text."""
        return " ".join(self.tags) if self.rewrites else "None"

    @property
    def in_place(self) -> bool:
        """Whether new values of shared variables may be written over the old ones."""
        return "inplace" not in self.excluded

    @property
    def multiply_add(self) -> bool:
        """Whether a product and the sum it goes into may be one instruction, which rounds once."""
        return self.rewrites and not self.strict and not self.quick

    @property
    def fuse(self) -> bool:
        """Whether a loop may compute what several operations do."""
        return "fuse" not in self.excluded
