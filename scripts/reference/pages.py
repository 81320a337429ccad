"""The pages of the reference, written from the code when the docs are built; `entries` and examples are in names.py."""

from __future__ import annotations

import ast
import contextlib
import doctest
import io
import os
import re
import sys
import tempfile
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.placement import why_not as why_not_in_c
from termgraph.backends.cuda.placement import why_not as why_not_on_gpu
from termgraph.terms.term import Const, Term
from termgraph.terms.traverse import children_first

from .names import CONSTRUCTOR, PAGES, Entry, computed, entries, example_of, namespace, public_names, written
from .typed import is_typed

FLOATING = ("float32", "float64", "complex64", "complex128")
NONE = "not applicable"  # what gives no array has no derivative and no backend, what is of whole numbers no derivative
WHOLE = re.compile(r"(?<![\w.])\d+(?![\w.])")
DTYPES = dict(zip("bwilfdcz", ["int8", "int16", "int32", "int64", *FLOATING], strict=True))


class Described(NamedTuple):
    """An entry with what running its example told."""

    entry: Entry
    example: str
    runs: bool
    derivative: str
    backends: str


def described() -> list[Described]:
    """All entries; each example is run."""
    table, names = written(), namespace()
    with warnings.catch_warnings(), somewhere_else(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        return [describe(entry, table, names) for entry in entries()]


@contextlib.contextmanager
def somewhere_else() -> Iterator[None]:
    """Examples that write files do so in a folder that goes away."""
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(here)


def describe(entry: Entry, table: dict[str, str], names: dict[str, Any]) -> Described:
    """What is said of one name."""
    kind, text = example_of(entry, table)
    if kind == "session":
        value = made_by(entry, text, names)
        return Described(entry, text, runs(entry), derivative_of(value), backends_of(value))
    value, printed = computed(text, dict(names))
    first, *rest = text.split("; ")[::-1]
    prompt = "\n".join(f">>> {line}" for line in [*rest[::-1], first + ".eval()" * is_evaluated(value, printed, text)])
    made = made_by(entry, as_session(text), names)
    made = made if results_of(made) else value
    derivative = derivative_of(made)
    if derivative == NONE:
        derivative = derivative_of(made_by(entry, as_session(with_fractions(text)), names))
    return Described(entry, f"{prompt}\n{printed}", True, derivative, backends_of(made))  # it was computed


def runs(entry: Entry) -> bool:
    """Whether the example of a docstring gives what stands there, in the module that it stands in."""
    module = sys.modules.get(getattr(entry.found, "__module__", None) or "", None)
    names = {"np": np, "tg": tg, "T": T, **vars(module or T)}
    test = doctest.DocTestParser().get_doctest(entry.doc, names, entry.name, None, None)
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    return doctest.DocTestRunner(verbose=False, optionflags=flags).run(test).failed == 0


def is_evaluated(value: Any, printed: str, text: str) -> bool:
    """Whether the example shows the value of a variable."""
    return isinstance(value, tg.Variable) and printed != repr(value)


def made_by(entry: Entry, session: str, names: dict[str, Any]) -> Any:
    """What a name gives where the example of its docstring calls it; None if that cannot be had alone."""
    module = sys.modules.get(getattr(entry.found, "__module__", None) or "", None)
    known, found = {**vars(module or T), **names}, None
    called = {name.rpartition(".")[2] for name in (entry.name, *entry.aliases)}
    with contextlib.suppress(Exception):
        for example in doctest.DocTestParser().get_examples(session):
            for node in ast.walk(ast.parse(example.source)):
                if found is None and is_call(node, called):
                    found = eval(compile(ast.Expression(node), "<example>", "eval"), known)  # type: ignore[arg-type]
            exec(example.source, known)
    return found


def is_call(node: ast.AST, names: set[str]) -> bool:
    """Whether a node of an example calls one of these."""
    return isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) in names


def as_session(text: str) -> str:
    """An expression, with the statements before it, at prompts."""
    return "\n".join(f">>> {line}" for line in text.split("; "))


def with_fractions(text: str) -> str:
    """An example whose first array holds 1.0 for 1: what moves numbers about has a derivative all the same."""
    start, depth = text.find("["), 0
    for end in range(start, len(text) if start >= 0 else start):
        depth += {"[": 1, "]": -1}.get(text[end], 0)
        if depth == 0:
            return text[:start] + WHOLE.sub(lambda m: m[0] + ".0", text[start:end]) + text[end:]
    return text


# ---------------------------------------------------------------------- what can be asked of a value
def results_of(value: Any) -> list[Any]:
    """The variables among what an example gives."""
    found = value if isinstance(value, (list, tuple)) else [value]
    return [v for v in found if isinstance(v, tg.Variable) and hasattr(v.type, "dtype")]


def is_array(t: Any) -> bool:
    """Whether a term is a constant array, not a sparse matrix."""
    return isinstance(t, Const) and isinstance(t.value, np.ndarray)


def opened(result: Any) -> tuple[Any, list[Any]]:
    """(the result with variables in the place of its floating-point constants, these variables and its inputs)."""
    constants = [t for t in children_first([result.term]) if is_array(t) and t.type.dtype in FLOATING]
    pairs = {
        T.constant(c.value): T.tensor(f"p{k}", dtype=c.type.dtype, shape=c.type.shape) for k, c in enumerate(constants)
    }
    inputs = [v for v in T.graph_inputs([result]) if not isinstance(v, tg.Constant) and v.type.dtype in FLOATING]
    return tg.clone(result, pairs), [*pairs.values(), *inputs]


def derivative_of(value: Any) -> str:
    """Whether it has a derivative by one of the floating-point arrays it is made of."""
    results = [v for v in results_of(value) if v.type.dtype in FLOATING]
    if not results:
        return NONE
    made, leaves = opened(results[0])
    return "yes" if any(has_derivative(made, leaf) for leaf in leaves) else "no" if leaves else NONE


def has_derivative(made: Any, leaf: Any) -> bool:
    try:
        slope = tg.grad(abs(made).sum(), leaf, disconnected_inputs="ignore", return_disconnected="none")
    except (TypeError, ValueError, NotImplementedError, LookupError):
        return False
    return slope is not None


def backends_of(value: Any) -> str:
    """Which backends compute every operation of it; what they lack runs by its NumPy meaning."""
    terms = [t for v in results_of(value) for t in children_first([v.term]) if isinstance(t, Term)]
    if not terms:
        return NONE
    made = ["NumPy"]
    made += ["C"] if all(why_not_in_c(t) is None for t in terms) or is_native(results_of(value)) else []
    made += ["CUDA"] if all(why_not_on_gpu(t) is None for t in terms) else []
    return ", ".join(made)


def is_native(results: list[Any]) -> bool:
    """Asked of a compiled function for convolutions, which other operations express on the way to C."""
    if not any(t.op.name.startswith("conv") for t in children_first([results[0].term]) if isinstance(t, Term)):
        return False
    made, leaves = opened(results[0])
    return bool(leaves) and not tg.function(leaves, made, on_unused_input="ignore").why_not_native()


# ---------------------------------------------------------------------- pages
def pages() -> dict[str, str]:
    """The text of each page by its path."""
    found = described()
    out = {f"reference/{page}.md": page_text(page, [d for d in found if d.entry.page == page]) for page in PAGES}
    out["reference/index.md"] = index_text(found)
    return out


def anchor(name: str) -> str:
    return name.lower().replace(".", "-")


def page_text(page: str, found: list[Described]) -> str:
    """One page: every name with its signature, a line, facts and an example."""
    lines = [f"# {PAGES[page]}", ""]
    if page == "variables":
        lines += constructors_text()
    for d in sorted(found, key=lambda d: (d.entry.name.rpartition(".")[0], d.entry.name.lower())):
        lines += entry_text(d)
    return "\n".join(lines) + "\n"


def entry_text(d: Described) -> list[str]:
    entry = d.entry
    facts = [f"NumPy and SciPy: `{entry.numpys}`"] if entry.numpys else []
    facts += [f"derivative: {d.derivative}"] if d.derivative != NONE else []
    facts += [f"runs in {d.backends}"] if d.backends != NONE else []
    facts += [f"also {', '.join(f'`{a}`' for a in entry.aliases)}"] if entry.aliases else []
    lines = [f"## {entry.name} {{ #{anchor(entry.name)} }}", "", "```python", entry.signature, "```", ""]
    if facts:
        lines += [f"<p class='entry-facts' markdown='span'>{' · '.join(facts)}</p>", ""]
    lines += [escaped(entry.summary), ""] if entry.summary else []
    return [*lines, "```pycon", d.example, "```", ""]


def escaped(text: str) -> str:
    """Prose of a docstring as Markdown: stars and brackets are meant as they stand."""
    return (
        text.replace("<", "&lt;").replace("*", "\\*").replace("[", "\\[").replace("_", "\\_")
        if "`" not in text
        else text
    )


def constructors_text() -> list[str]:
    """One section for the constructors, of which there are 8 times 12 and some."""
    shapes = ["scalar", "vector", "row", "col", "matrix", "tensor3", "tensor4", "tensor5", "tensor6", "tensor7"]
    lines = ["## Inputs of every dtype and rank { #constructors }", ""]
    lines += ["A letter for the dtype and a word for the rank, as in Theano: `T.dmatrix('x')`. Without a letter the dtype is",
              "`config.floatX`. `T.tensor('x', dtype='float32', shape=(None, 3))` takes any; plurals make several: `T.dmatrices('x y')`.", ""]  # fmt: skip
    lines += ["| letter | dtype | |", "|---|---|---|"]
    for letter, dtype in DTYPES.items():
        lines.append(f"| `{letter}` | {dtype} | {' '.join(f'`{letter}{shape}`' for shape in shapes)} |")
    return [*lines, "", "```pycon", ">>> T.dmatrix('x').type", repr(T.dmatrix("x").type), "```", ""]


def index_text(found: list[Described]) -> str:
    """The table of everything."""
    lines = ["# Every public name", "",
             "Made from the code when this page was built. Each name has a signature, a sentence and an example that was run; the",
             "derivative and the backends are those of the example: not applicable to what gives no array, or whole numbers. What a backend lacks runs by its NumPy meaning, and",
             "`f.why_not_native()` says so.", "",
             "```pycon", ">>> import numpy as np, termgraph as tg, termgraph.tensor as T   # in all examples",
             ">>> x, v, m = T.dvector('x'), T.constant([[1.0, 2.0]]), T.constant([[1.0], [2.0]])", "```", "",
             "| name | page | example runs | typed | derivative | backends | NumPy, SciPy |", "|---|---|---|---|---|---|---|"]  # fmt: skip
    for d in sorted(found, key=lambda d: d.entry.name.lower()):
        for name in (d.entry.name, *d.entry.aliases):
            page = f"[{PAGES[d.entry.page].partition(':')[0]}]({d.entry.page}.md#{anchor(d.entry.name)})"
            numpys = f"`{d.entry.numpys}`" if d.entry.numpys else ""
            lines.append(
                f"| `{name}` | {page} | {'yes' if d.runs else 'no'} | {typed(name, d.entry)} | {d.derivative} | {d.backends} | {numpys} |"
            )
    constructors = [n for n in dir(T) if CONSTRUCTOR.fullmatch(n)]
    page = f"[{PAGES['variables']}](variables.md#constructors)"
    lines += [f"| `T.{name}` | {page} | yes | yes | {NONE} | {NONE} | |" for name in constructors]
    return "\n".join(lines) + "\n"


def typed(name: str, entry: Entry) -> str:
    """The cell that says whether type checkers know it."""
    return "yes" if is_typed(name, entry.found) else "no"


__all__ = ["Described", "described", "pages", "public_names"]
