"""Every public name, its page in the reference, and its example: of a docstring, of examples.txt, or made for it."""

from __future__ import annotations

import doctest
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.special

import termgraph as tg
import termgraph.tensor as T
from termgraph import db, printing, sparse, viz
from termgraph.terms.op import Op
from termgraph.terms.ops.elementwise import ElementwiseOp
from termgraph.terms.types import Type

PAGES = {
    "termgraph": "tg: functions, derivatives, loops",
    "variables": "Variables and their methods",
    "elementwise": "Element by element",
    "reductions": "Reductions, statistics, T.stats",
    "arrays": "Making and arranging arrays",
    "choosing": "Indexing, choosing, sorting",
    "products": "Products, T.linalg, T.fft",
    "networks": "T.nnet, T.signal and T.ndimage",
    "random": "Random numbers",
    "sparse": "Sparse matrices",
    "training": "tg.optim and tg.train",
    "tools": "tg.db, tg.printing, tg.viz",
}
# Which page the names of a module of the language stand on; those of others stand on `arrays`.
PAGE_OF_MODULE = {
    "variables": "variable wrap constructors sharedvar updates graph userop checks testvalues placing numpys protocols",
    "elementwise": "elemwise operators assuming",
    "reductions": "reductions statistics",
    "choosing": "indexing selecting sorting grids",
    "products": "products einstein",
    "networks": "convolution bipartite",
    "random": "random",
}
CONSTRUCTOR = re.compile(r"(cs[rc]_)?[bwilfdcz]?(scalar|vector|row|col|matrix|matrices|tensor\d?)s?")
SPACES: dict[str, tuple[Any, str]] = {
    "tg.": (tg, "termgraph"),
    "T.linalg.": (T.linalg, "products"),
    "T.fft.": (T.fft, "products"),
    "T.nnet.": (T.nnet, "networks"),
    "T.signal.": (T.signal, "networks"),
    "T.ndimage.": (T.ndimage, "networks"),
    "T.stats.": (T.stats, "reductions"),
    "tg.sparse.": (sparse, "sparse"),
    "tg.optim.": (tg.optim, "training"),
    "tg.train.": (tg.train, "training"),
    "tg.db.": (db, "tools"),
    "tg.printing.": (printing, "tools"),
    "tg.viz.": (viz, "tools"),
}
METHODS_OF = {
    "Variable.": (T.TensorVariable, "variables"),
    "RandomStream.": (T.random.RandomStream, "random"),
    "Function.": (tg.Function, "termgraph"),
}
PLAIN = tg.Mode(optimizer="None", linker="py")
EXAMPLES = Path(__file__).with_name("examples.txt")
CONSTANTS = (float, str, type(None))


class Entry(NamedTuple):
    """A public name as it is documented."""

    name: str
    found: Any
    page: str
    aliases: tuple[str, ...]

    @property
    def doc(self) -> str:
        doc = self.found.doc if isinstance(self.found, Op) else getattr(self.found, "__doc__", None)
        return inspect.cleandoc(doc or "") if not isinstance(self.found, CONSTANTS) else "A constant."

    @property
    def summary(self) -> str:
        """The first paragraph of the docstring."""
        return " ".join(self.doc.partition(">>>")[0].partition("\n\n")[0].split())

    @property
    def signature(self) -> str:
        """How it is called; annotations that say nothing are left out."""
        if isinstance(self.found, ElementwiseOp):
            names = ", ".join("xyz"[: self.found.arity]) if self.found.arity else "*xs"
            return f"{self.name}({names})"
        if isinstance(self.found, (property, *CONSTANTS, Type)) or not callable(self.found):
            return self.name
        try:
            text = str(inspect.signature(self.found))
        except (TypeError, ValueError):
            return f"{self.name}(...)"
        text = re.sub(r": 'Any'| -> 'Any'|: Any\b| -> Any\b", "", text).replace("'", "")
        return self.name + re.sub(r"\(self(, )?", "(", text, count=1)

    @property
    def numpys(self) -> str:
        """The same function of NumPy or SciPy, where there is one of this name."""
        short = self.name.rpartition(".")[2]
        if isinstance(self.found, type) or self.name.startswith(("tg.", "RandomStream.", "Function.")):
            return ""
        if self.name.startswith("Variable."):
            return f"ndarray.{short}" if hasattr(np.ndarray, short) else ""
        place = self.name.split(".")[1] if self.name.count(".") > 1 else ""
        homes = {"linalg": np.linalg, "fft": np.fft}
        for home in [homes.get(place, np), scipy.special]:
            if place in ("", *homes) and hasattr(home, short):
                return f"{home.__name__}.{short}"
        return ""


def entries() -> list[Entry]:
    """All public names; several names of one thing are one entry under the first of them."""
    seen: dict[int, list[Any]] = {}
    for name, found, page in public_names():
        key = id(found)
        if isinstance(found, CONSTANTS):
            key = hash(name)
        seen.setdefault(key, [name, found, page, []])
        if seen[key][0] != name:
            seen[key][3].append(name)
    return [entry_of([name, *others], found, page) for name, found, page, others in seen.values()]


def entry_of(names: list[str], found: Any, page: str) -> Entry:
    """An entry under the name by which the thing calls itself, the shortest one first; its other names are aliases."""
    own = getattr(found, "__name__", getattr(found, "name", ""))
    first = min(names, key=lambda n: (n.rpartition(".")[2] != own, n.startswith("Variable."), len(n)))
    return Entry(first, found, page, tuple(n for n in names if n != first))


def public_names() -> Iterator[tuple[str, Any, str]]:
    """(name, what it is, page) of everything that users may type."""
    home = {
        name: page
        for page, modules in PAGE_OF_MODULE.items()
        for module in modules.split()
        for space in [inspect.importlib.import_module(f"termgraph.tensor.{module}")]  # type: ignore[attr-defined]
        for name in (*getattr(space, "__all__", ()), *getattr(space, "EXPORTS", ()))
    }
    for name in dir(T):
        found = getattr(T, name)
        if name[0] != "_" and not inspect.ismodule(found) and not CONSTRUCTOR.fullmatch(name):
            yield f"T.{name}", found, home.get(name, "termgraph" if name in ("grad", "jacobian") else "arrays")
    for prefix, (space, page) in SPACES.items():
        for name in getattr(space, "__all__", None) or dir(space):
            if name[0] != "_" and not CONSTRUCTOR.fullmatch(name) and not inspect.ismodule(getattr(space, name)):
                yield prefix + name, getattr(space, name), page
    for prefix, (cls, page) in METHODS_OF.items():
        for name in dir(cls):
            found = inspect.getattr_static(cls, name)
            member = callable(found) or isinstance(found, property)
            if name[0] != "_" and member and not attached_by_theano(found):
                yield prefix + name, found, page


def attached_by_theano(member: Any) -> bool:
    """Whether a method or property is one that termgraph.theano attaches when a program for Theano runs here."""
    made = member.fget if isinstance(member, property) else member
    return str(getattr(made, "__module__", "")).startswith("termgraph.theano")


# ---------------------------------------------------------------------- examples
def written() -> dict[str, str]:
    """The examples of examples.txt by name."""
    lines = EXAMPLES.read_text(encoding="utf-8").splitlines()
    pairs = [line.partition(": ") for line in lines if line and not line.startswith("#")]
    return {name: expression for name, _, expression in pairs}


def docstring_example(entry: Entry) -> str:
    """The example of the docstring, which the tests of the package run."""
    found = doctest.DocTestParser().get_examples(entry.doc)
    return "\n".join(
        f">>> {e.source.rstrip()}".replace("\n", "\n... ") + f"\n{e.want.rstrip()}".rstrip() for e in found
    )


SAMPLES = ("[0.25, 0.5]", "[0.5, 0.75]", "[2.0, 3.0]")
WHOLE = ("[1, 6]", "[3, 2]", "[0, 1]")
METHODS: dict[str, str] = {
    "astype": "('int64')", "choose": "([5.0, 6.0])", "compress": "([True, False])", "dimshuffle": "('x', 0)", "dot": "(m)",
    "fill": "(7.0)", "to_device": "(None)", "argtopk": "(1)", "topk": "(1)", "repeat": "(2)", "reshape": "((4, 1))", "searchsorted": "(1.5)",
    "take": "([0])", "transfer": "('cpu')", "swapaxes": "(0, 1)", "eval": "()", "take_along_axis": "([0])",
}  # fmt: skip
OF_TWO_SPARSE = {"add", "sub", "mul", "multiply"}
DRAWS = {
    "bernoulli": "0.5", "beta": "2.0, 3.0", "binomial": "5, 0.5", "chisquare": "3.0", "choice": "5", "dirichlet": "[1.0, 2.0]",
    "gamma": "2.0", "geometric": "0.5", "integers": "0, 10", "multinomial": "5, [0.5, 0.5]", "multivariate_normal":
    "[0.0, 0.0], [[1.0, 0.0], [0.0, 1.0]]", "negative_binomial": "3, 0.5", "permutation": "4", "permuted": "[1, 2, 3]",
    "random_integers": "0, 10", "standard_gamma": "2.0", "standard_t": "3.0", "triangular": "0.0, 1.0, 2.0", "weibull": "2.0",
}  # fmt: skip


def made_example(entry: Entry) -> str:
    """An expression for names of which there are many alike."""
    prefix, _, short = entry.name.rpartition(".")
    if isinstance(entry.found, ElementwiseOp) and prefix == "T":
        count = entry.found.arity or 2
        samples = WHOLE if short.startswith(("bitwise", "gcd", "lcm", "left", "right", "invert")) else SAMPLES
        return f"{entry.name}({', '.join(samples[:count])})"
    if isinstance(entry.found, str):
        return f"T.zeros(2, {entry.name})"
    if prefix == "T.nnet":
        return f"{entry.name}([-1.0, 0.0, 2.0])"
    if prefix == "RandomStream":
        given = DRAWS.get(short, "")
        size = "" if short in ("permutation", "permuted") else "size=2"
        return f"stream.{short}({', '.join(p for p in (given, size) if p)})"
    if prefix == "Variable":
        return f"v.{short}{METHODS.get(short, '()')}" if callable(entry.found) and short != "clients" else f"v.{short}"
    if prefix == "Function":
        return f"f.{short}()" if callable(entry.found) else f"f.{short}"
    if prefix == "tg.sparse":
        return f"{entry.name}(s, s)" if short in OF_TWO_SPARSE else f"{entry.name}(s)"
    if isinstance(entry.found, type):
        return f"issubclass({entry.name}, object)"
    raise LookupError(f"{entry.name} has no example: add one to its docstring, or to {EXAMPLES.name}")


def example_of(entry: Entry, table: dict[str, str]) -> tuple[str, str]:
    """(what kind of example, its text): a finished piece of a session, or an expression to be computed."""
    in_doc = docstring_example(entry)
    if in_doc:
        return "session", in_doc
    for name in (entry.name, *entry.aliases):
        if name in table:
            return "expression", table[name]
    return "expression", made_example(entry)


def namespace() -> dict[str, Any]:
    """What expressions of examples may use."""
    return {
        "np": np, "tg": tg, "T": T, "x": T.dvector("x"), "stream": T.random.RandomStream(7), "m": T.constant([[1.0], [2.0]]),
        "v": T.constant([[1.0, 2.0]]), "f": tg.function([], T.constant(1.0)),
        "s": sparse.csr_from_dense(T.constant([[0.0, 0.5], [0.25, 0.0]])),
    }  # fmt: skip


def computed(expression: str, names: dict[str, Any]) -> tuple[Any, str]:
    """(the expression's value, what the prompt shows for it); variables are computed."""
    *before, expression = expression.split("; ")
    for statement in before:
        exec(statement, names)
    value = eval(expression, names)
    several = isinstance(value, list) and value and all(isinstance(v, tg.Variable) for v in value)
    if several:
        return value, "\n".join(shown(v) for v in value)
    if isinstance(value, tg.Variable) and not expression.startswith("tg.rewrite") and "owner" not in expression:
        return value, shown(value)
    return value, repr(value)


def shown(variable: Any) -> str:
    """The value of a variable as the prompt shows it; sparse matrices as arrays."""
    value = variable.eval(mode=PLAIN)
    return repr(value.toarray() if hasattr(value, "toarray") else value)
