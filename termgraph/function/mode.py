"""Mode: which rules may be used and what runs the result. A mode is a query on the rule database plus a linker.

Modes that other rooms define (debugging) register themselves with `register_mode`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from termgraph.compile.choose import backend_of
from termgraph.compile.options import Options
from termgraph.config import config
from termgraph.terms.dtypes import HALVES

if TYPE_CHECKING:
    from termgraph.compile.compilation import Compilation
    from termgraph.function.fgraph import FunctionGraph
    from termgraph.function.inout import In, Out
    from termgraph.vm.profile import Profile

_SETS = {"fast_run": "fast_run", "fast_compile": "fast_compile", "unsafe": "unsafe", "none": "None"}
ENGINES = ("compiled", "relational")
LINKERS = ("auto", "c", "py", "cuda")
Tags = tuple[str, ...]
Shapes = tuple[tuple[int | None, ...], ...]  # lengths of shared variables, by the number of the cell
# Of an input: whether a call must give it, whether it is fed anew each time, and its default or its container.
Default = tuple[bool, bool, Any]
_LINKER_NAMES = {"vm": "py", "cvm": "c", "cvm_nogc": "c", "c|py": "auto", "vm_nogc": "py", "py_nogc": "py"}


class Maker(Protocol):
    """What a function knows of how it was made: `FunctionMaker`, for those below it."""

    mode: Mode
    name: str | None
    timed: bool
    inputs: list[In]
    outputs: list[Out]
    return_none: bool
    unpack_single: bool
    output_keys: list[Any] | None
    keeps_updates: bool
    known: Shapes  # lengths of shared variables that the program was written for
    work: Compilation
    profile: Profile

    @property
    def fgraph(self) -> FunctionGraph:
        """The rewritten graph: inputs, outputs, then updates."""

    @property
    def indices(self) -> list[list[Any]]:
        """`[input, expanded inputs, positions]` for each input."""

    def spare_memory(self, most: int) -> None:
        """Go on with loops over steps in chunks and with parts of arrays stored: a call holds no more than so much."""

    def watched(self) -> bool:
        """Whether the mode looks at every operation, or checks what goes in and out."""

    def for_lengths(self, known: Shapes) -> Maker:
        """A maker of the same function whose graph is for shared variables of these lengths; () is for all."""

    def leave_lengths_open(self) -> None:
        """Go on with a graph for all lengths of shared variables."""

    def create(self, input_storage: Sequence[Any] | None = None, trustme: bool = False) -> Any:
        """Another callable of the same program."""


class Mode:
    """A choice of rules and of what runs the program.

    `optimizer` is a set of rules (`"fast_run"`, `"fast_compile"`, `"unsafe"`, `"None"`) or tags such as
    `"+fast_run -inplace"`; `linker` is `"c"`, `"py"`, `"cuda"` or `"auto"`. `strict` admits only rules that take
    nothing on trust. `accurate=True` first brings each element-wise part into the form that loses fewest bits
    (`tg.accurate`), and implies `strict`, so that it stays. `engine="relational"` has miniKanren find every step of
    rewriting, from the same rules: 8 to 21 times slower, and what the compiled matchers are compared with.
    `memory_limit` and `storage` are what `function(memory_limit=..., storage=...)` says. Modes are values:
    `including`, `excluding` and `requiring` give new ones.

    >>> Mode(optimizer="fast_run", linker="py").excluding("inplace")
    Mode(optimizer='+fast_run -inplace', linker='py')
    """

    def __init__(
        self,
        linker: str | None = None,
        optimizer: str | None = None,
        strict: bool = False,
        name: str | None = None,
        allow_gc: bool | None = None,
        engine: str = "compiled",
        accurate: bool = False,
        memory_limit: int | float | None = None,
        storage: str | None = None,
    ) -> None:
        linker = config.linker if linker is None else linker
        self.linker = _checked_linker(linker)
        if allow_gc is None and isinstance(linker, str) and linker.endswith("_nogc"):
            allow_gc = False
        self.strict, self.accurate = bool(strict or accurate), bool(accurate)
        self.name, self.allow_gc = name, allow_gc
        self.engine, self.memory_limit = _checked_engine(engine), checked_limit(memory_limit)
        self.storage = checked_storage(storage)
        base, include, exclude, require = _parse(config.optimizer if optimizer is None else optimizer)
        self.base = base or config.optimizer
        self.include, self.exclude, self.require = include, exclude, require
        self.observers: tuple[Callable[..., None], ...] = ()

    # ------------------------------------------------------------------ the query
    @property
    def tags(self) -> tuple[str, ...]:
        """The query on the rule database: `("+fast_run", "-inplace", ...)`."""
        sets = (f"+{self.base}",) if self.base != "unsafe" else ("+fast_run", "+unsafe")
        more = [f"{sign}{t}" for sign, ts in zip("+-&", (self.include, self.exclude, self.require)) for t in ts]
        return (*sets, *more)

    @property
    def optimizer(self) -> str:
        """The query as text."""
        return " ".join(self.tags) if self.base != "None" or self.include else "None"

    @property
    def rewrites(self) -> bool:
        """Whether any rule may be used at all."""
        return self.base != "None" or bool(self.include)

    @property
    def quick(self) -> bool:
        """Whether compiling fast matters more than running fast: the C compiler is told to do less."""
        return self.base == "fast_compile"

    compares = False  # whether results are compared with those of the graph as it was written: then none is rounded

    @property
    def kept_dtype(self) -> str | None:
        """In what dtype arrays wait for the backward pass, if not in their own."""
        return None if self.compares else self.storage

    def options(self) -> Options:
        """What the stages of compiling are told; RuntimeError if this machine lacks what the linker insists on."""
        chosen = self.include, self.exclude, self.rewrites, self.strict, self.engine == "relational", self.quick
        ends = self.accurate, self.linker, backend_of(self.linker), self.memory_limit, self.kept_dtype
        return Options(self.tags, *chosen, *ends)

    def including(self, *tags: str) -> Mode:
        """This mode with further tags of rules (or rule names)."""
        words = _words(tags)
        return self._with(include=(*self.include, *words), exclude=tuple(t for t in self.exclude if t not in words))

    def excluding(self, *tags: str) -> Mode:
        """This mode without the rules of these tags (or names)."""
        words = _words(tags)
        return self._with(exclude=(*self.exclude, *words), include=tuple(t for t in self.include if t not in words))

    def requiring(self, *tags: str) -> Mode:
        """This mode with only those rules that have all of these tags."""
        return self._with(require=(*self.require, *_words(tags)))

    def clone(self, **changes: Any) -> Mode:
        """This mode with some attributes changed: `linker`, `optimizer`, `strict`, `allow_gc`, `observers`, `name`."""
        if "optimizer" in changes:
            base, include, exclude, require = _parse(changes.pop("optimizer"))
            changes |= {"base": base or config.optimizer, "include": include, "exclude": exclude, "require": require}
        if "linker" in changes:
            changes["linker"] = _checked_linker(changes["linker"])
        if "engine" in changes:
            _checked_engine(changes["engine"])
        if "memory_limit" in changes:
            checked_limit(changes["memory_limit"])
        if "storage" in changes:
            changes["storage"] = checked_storage(changes["storage"])
        return self._with(**changes)

    def _with(self, **changes: Any) -> Mode:
        new = object.__new__(type(self))
        new.__dict__.update(self.__dict__)
        unknown = changes.keys() - self.__dict__.keys()
        if unknown:
            raise TypeError(f"Mode has no attribute {sorted(unknown)}; it has {sorted(self.__dict__)}")
        for attribute in ("include", "exclude", "require"):
            if attribute in changes:
                changes[attribute] = tuple(dict.fromkeys(changes[attribute]))
        new.__dict__.update(changes)
        return new

    # ------------------------------------------------------------------ hooks for modes that watch the run
    sees_kernels = False  # whether observers take kernels that join many operations, rather than these one by one

    def watch(self, maker: Maker) -> list[Any]:
        """Observers for the machine of a function: none, unless the mode watches."""
        return list(self.observers)

    def check_inputs(self, maker: Maker, values: Sequence[Any]) -> None:
        """Called with the values of all inputs before a run; a mode that guards raises here."""

    def check_results(self, maker: Maker, values: Sequence[Any], results: Sequence[Any]) -> None:
        """Called after a run, before any update is written; a mode that checks raises here."""

    def __repr__(self) -> str:
        more = ", strict=True" if self.strict else ""
        more += f", engine={self.engine!r}" if self.engine != "compiled" else ""
        more += f", memory_limit={self.memory_limit!r}" if self.memory_limit is not None else ""
        more += f", storage={self.storage!r}" if self.storage is not None else ""
        more += ", accurate=True" if self.accurate else ""
        return f"{type(self).__name__}(optimizer={self.optimizer!r}, linker={self.linker!r}{more})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash((type(self), self.tags, self.linker, self.strict, self.allow_gc, self.engine, self.accurate))


def _checked_linker(linker: str) -> str:
    word = linker.lower() if isinstance(linker, str) else linker
    word = _LINKER_NAMES.get(word, word)
    if word not in LINKERS:
        hint = f"; for a set of rules write Mode(optimizer={linker!r})" if word in _SETS else ""
        raise ValueError(f"linker must be one of {', '.join(LINKERS)}, got {linker!r}{hint}")
    return word


def _checked_engine(engine: str) -> str:
    if engine not in ENGINES:
        raise ValueError(f"engine must be one of {', '.join(ENGINES)}, got {engine!r}")
    return engine


def checked_limit(limit: int | float | None) -> int | float | None:
    """A number of bytes (int), a share of what the plan would hold (float), or None."""
    if limit is None:
        return None
    if isinstance(limit, bool) or not isinstance(limit, (int, float)):
        raise TypeError(f"memory_limit is a number of bytes (int) or a share between 0 and 1 (float), got {limit!r}")
    if limit <= 0 or (isinstance(limit, float) and not limit <= 1):
        raise ValueError(
            f"memory_limit is a positive number of bytes (int) or a share between 0 and 1 (float), got {limit!r}"
        )
    return limit


def checked_storage(storage: str | None) -> str | None:
    """The name of a dtype of 16 bits, or None."""
    if storage is not None and storage not in HALVES:
        raise ValueError(f"storage must be one of {', '.join(map(repr, sorted(HALVES)))}, or None, got {storage!r}")
    return storage


def _words(tags: Iterable[str]) -> tuple[str, ...]:
    out: list[str] = []
    for tag in tags:
        if not isinstance(tag, str):
            raise TypeError(f"a tag is a string, got {tag!r}")
        out += tag.replace(":", " ").replace(",", " ").split()
    return tuple(out)


def _parse(text: str | None) -> tuple[str | None, Tags, Tags, Tags]:
    """(base set, include, exclude, require) of an optimizer's text; the base is None if only tags were given."""
    if text is None:
        return "None", (), (), ()
    if not isinstance(text, str):
        raise TypeError(f"optimizer must be a text such as 'fast_run' or '+fast_run -inplace', got {text!r}")
    base = None
    parts: dict[str, list[str]] = {"+": [], "-": [], "&": []}
    for word in _words([text]):
        sign, tag = (word[0], word[1:]) if word[0] in parts else ("+", word)
        if sign == "+" and tag.lower() in _SETS:
            base = _SETS[tag.lower()] if base in (None, "fast_run") else base
        elif word[0] not in parts:
            known = ", ".join(_SETS.values())
            raise ValueError(
                f"no optimizer {word!r}: expected one of {known}, or tags with a sign, as '+fast_run -inplace'"
            )
        else:
            parts[sign].append(tag)
    return base, tuple(parts["+"]), tuple(parts["-"]), tuple(parts["&"])


# ---------------------------------------------------------------------- modes by name
_PREDEFINED: dict[str, Callable[[], Mode]] = {
    "NONE": lambda: Mode(optimizer="None", name="None"),
    "FAST_COMPILE": lambda: Mode(optimizer="fast_compile", name="FAST_COMPILE"),
    "FAST_RUN": lambda: Mode(optimizer="fast_run", name="FAST_RUN"),
    "UNSAFE": lambda: Mode(optimizer="unsafe", name="UNSAFE"),
    "STRICT": lambda: Mode(optimizer="fast_run", strict=True, name="STRICT"),
    "ACCURATE": lambda: Mode(optimizer="fast_run", accurate=True, name="ACCURATE"),
    "MODE": lambda: Mode(name="Mode"),
}


def register_mode(name: str, make: Callable[[], Mode] | Mode) -> None:
    """Make a mode known by a name, for `function(..., mode=name)` and `config.mode`."""
    key = _key(name)
    if key in _PREDEFINED:
        raise ValueError(f"there is a mode named {name!r} already")
    _PREDEFINED[key] = (lambda: make) if isinstance(make, Mode) else make


def _key(name: str) -> str:
    return name.upper().replace("_", "") if name.upper() not in _PREDEFINED else name.upper()


def get_mode(mode: str | Mode | None = None) -> Mode:
    """The mode meant by None (`config.mode`), a name, a text of tags, or a Mode."""
    if isinstance(mode, Mode):
        return mode
    if mode is None:
        mode = config.mode
    if not isinstance(mode, str):
        raise TypeError(f"mode must be a Mode, a name such as 'FAST_RUN' or tags such as '-inplace', got {mode!r}")
    found = _by_name(mode)
    return found.including(config.optimizer_including).excluding(config.optimizer_excluding)


get_default_mode = get_mode


def _by_name(name: str) -> Mode:
    for key in (name.upper(), name.upper().replace("_", "")):
        if key in _PREDEFINED:
            return _PREDEFINED[key]()
    if name[:1] in "+-&" and name:
        return Mode(optimizer=name)
    known = ["None", "FAST_COMPILE", "FAST_RUN", "UNSAFE", "STRICT", "ACCURATE", "DEBUG_MODE", "NanGuardMode"]
    raise ValueError(
        f"no mode named {name!r}: expected one of {', '.join(known)}, or tags such as '+fast_run -inplace'"
    )
