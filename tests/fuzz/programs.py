"""Random programs: inputs with values, and statements, each tried by its NumPy meaning as soon as it is written."""

from __future__ import annotations

import random
import warnings
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

import termgraph as tg
import termgraph.tensor as T
from termgraph import sparse as S
from termgraph.terms.dtypes import finfo, kind_of, numpy_dtype
from termgraph.terms.evaluate import evaluate

from .language import DTYPES, STATEMENTS, Pool, Unfit

NAMES = {"np": np, "tg": tg, "T": T, "S": S, "nan": np.nan, "inf": np.inf}
MOST, LARGEST = 300, {"float16": 1e3, "bfloat16": 1e6, "float32": 1e6, "complex64": 1e6}


@dataclass
class Variable:
    """A variable of a program: an input (with its value) or the result of a statement (with its text)."""

    name: str
    value: np.ndarray
    text: str | None = None
    known: tuple = ()
    symbolic: Any = None
    dtype: str = ""
    kind: str = ""
    shape: tuple = ()

    def __post_init__(self) -> None:
        self.dtype, self.shape = self.value.dtype.name, self.value.shape
        self.kind = kind_of(self.value.dtype)

    @property
    def declared(self) -> str:
        """The right side that makes it."""
        return self.text or f"T.tensor({self.name!r}, dtype={self.dtype!r}, shape={self.known!r})"


@dataclass
class Program:
    """Variables in order, and the names of those that are results."""

    variables: list[Variable] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    updates: dict[str, str] = field(default_factory=dict)  # inputs that are shared variables, and what becomes of them
    given: str = ""  # a statement that stands in `givens` for a variable without a value

    @property
    def inputs(self) -> list[Variable]:
        return [v for v in self.variables if v.text is None]

    @property
    def arguments(self) -> list[Variable]:
        """The inputs that a call is given."""
        return [v for v in self.inputs if v.name not in self.updates]

    @property
    def results(self) -> list[str]:
        """What a run makes: outputs, then the new values of shared variables."""
        return [*self.outputs, *self.updates.values()]

    def build(self) -> dict[str, Any]:
        """The symbolic variables by name, made anew."""
        made: dict[str, Any] = {}
        for v in self.variables:
            made[v.name] = v.symbolic = eval(v.declared, {**NAMES, **made})
        return made

    def parts(self) -> Parts:
        """What a function of the program is made of, with shared variables and placeholders."""
        made: dict[str, Any] = {}
        givens = {}
        for v in self.variables:
            made[v.name] = eval(self.written(v), {**NAMES, **made, "value": v.value})
            if v.name == self.given:
                placeholder = made[v.name].type()
                givens[placeholder], made[v.name] = made[v.name], placeholder
        return Parts(
            [made[v.name] for v in self.arguments],
            [made[o] for o in self.outputs],
            [(made[v], made[u]) for v, u in self.updates.items()],
            givens,
        )

    def written(self, v: Variable) -> str:
        """The right side of a variable."""
        return f"tg.shared(value, name={v.name!r})" if v.name in self.updates else v.declared

    def only(self, variables: list[Variable], outputs: list[str]) -> Program:
        """A smaller program: with the updates and the given statement that it still has."""
        names = {v.name for v in variables}
        inputs = {v.name for v in variables if v.text is None}
        updates = {v: u for v, u in self.updates.items() if v in inputs and u in names}
        return Program(variables, outputs, updates, self.given if self.given in names - inputs else "")

    def source(self, modes: tuple[str, str] = ("", "")) -> str:
        """The program as Python that runs by itself and prints the results of two modes."""
        lines = [
            "import numpy as np",
            "import termgraph as tg",
            "import termgraph.tensor as T",
            "from termgraph import sparse as S",
            "",
        ]
        lines += ["from numpy import inf, nan", ""] if "nan" in repr(self.values) or "inf" in repr(self.values) else []
        for v in self.variables:
            lines.append(f"{v.name} = {self.written(v).replace('(value,', f'({literal(v.value)},')}")
            if v.name == self.given:
                lines.append(f"given, {v.name} = {v.name}, {v.name}.type()")
        given = ", ".join(literal(v.value) for v in self.arguments)
        arguments = f"[{', '.join(v.name for v in self.arguments)}], [{', '.join(self.outputs)}]"
        if self.updates:
            arguments += f", updates=[{', '.join(f'({v}, {u})' for v, u in self.updates.items())}]"
        if self.given:
            arguments += f", givens={{{self.given}: given}}"
        lines += [
            f"for mode in ({', '.join(modes)}):",
            *[f"    {v}.set_value({literal(w.value)})" for v in self.updates for w in self.inputs if w.name == v],
            f"    f = tg.function({arguments}, mode=mode, on_unused_input='ignore')",
            f"    print(f({given}){''.join(f', {v}.get_value()' for v in self.updates)})",
        ]
        return "\n".join(lines)

    @property
    def values(self) -> list[np.ndarray]:
        return [v.value for v in self.arguments]


class Parts(NamedTuple):
    """Arguments of `function()`."""

    inputs: list
    outputs: list
    updates: list
    givens: dict


def literal(value: np.ndarray) -> str:
    """An array as text."""
    if value.dtype.name == "bfloat16":
        return f"T.constant({value.astype('float32').tolist()}, dtype='bfloat16').data"
    return f"np.array({value.tolist()}, dtype={value.dtype.name!r})" + (
        f".reshape({value.shape})" if 0 in value.shape else ""
    )


# ---------------------------------------------------------------------- growing
Dtypes = tuple[tuple[str, ...], tuple[str, ...]]  # of the first input, and of the others


def grow(seed: int, steps: int, special: bool = False, dtypes: Dtypes = (("float64", "float32"), DTYPES)) -> Program:
    """A random program; `special` inputs have NaN, infinities, extremes and empty dimensions."""
    rnd, values = random.Random(seed), np.random.default_rng(seed)
    lengths = [rnd.choice([0, 1, 2, 3, 5]) if special else rnd.choice([1, 2, 3, 4, 5]) for _ in range(2)]
    shapes = [
        (lengths[0], lengths[1]),
        (lengths[1],),
        (lengths[0], lengths[1]),
        (lengths[1], lengths[0]),
        (),
        (lengths[0],),
        (2, *lengths),
    ]
    program = Program()
    for k, dtype in enumerate([rnd.choice(dtypes[0]), *[rnd.choice(dtypes[1]) for _ in range(4)]]):
        shape = shapes[k] if k < 3 else rnd.choice(shapes)
        known = tuple(n if n == 1 or rnd.random() < 0.2 else None for n in shape)
        v = Variable(f"v{k}", numbers(values, dtype, shape, special), None, known)
        v.symbolic = eval(v.declared, NAMES)
        program.variables.append(v)
    for _ in range(steps * 4):
        if len(program.variables) >= 5 + steps:
            break
        added = attempt(rnd, program, special)
        if added is not None:
            program.variables.append(added)
    made = [v.name for v in program.variables if v.text]
    program.outputs = sorted(set(made[-1:] + rnd.sample(made, min(2, len(made)))), key=lambda n: int(n[1:]))
    _with_memory(program, random.Random(-seed - 1))
    return program


def _with_memory(program: Program, rnd: random.Random) -> None:
    """Make some inputs shared variables with updates, and give one statement for a variable."""
    made = [v for v in program.variables if v.text]
    for v in program.inputs:
        fits = [u.name for u in made if u.dtype == v.dtype and u.shape == v.shape]
        if fits and not any(v.known) and rnd.random() < 0.3:
            program.updates[v.name] = rnd.choice(fits)
    last = max((k for k, v in enumerate(made) if v.text and "grad(" in v.text), default=-1)
    if made[last + 1 :] and rnd.random() < 0.3:  # a gradient would end at a placeholder
        program.given = rnd.choice(made[last + 1 :]).name


def numbers(rng: np.random.Generator, dtype: str, shape: tuple, special: bool) -> np.ndarray:
    kind = kind_of(dtype)
    if kind == "b":
        return rng.random(shape) < 0.5
    if kind in "iu":
        info = np.iinfo(dtype)
        drawn = rng.integers(max(info.min, -5), 6, shape).astype(dtype)
        edges = rng.choice(np.array([info.min, info.max, 0, 1], dtype), shape)
        return np.where(rng.random(shape) < (0.2 if special else 0), edges, drawn).astype(dtype)
    drawn = np.asarray(rng.normal(size=shape) * 2)
    if special:
        odd = rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-30, 3e4], shape)
        drawn = np.where(rng.random(shape) < 0.25, odd, drawn)
    if kind == "c":
        drawn = drawn + 1j * rng.normal(size=shape)
    return np.asarray(drawn).astype(numpy_dtype(dtype))


def attempt(rnd: random.Random, program: Program, special: bool) -> Variable | None:
    """One more statement, if it can be built and has a value that is good to go on with."""
    try:
        text = rnd.choice(STATEMENTS)(Pool(rnd, program.variables))
    except Unfit:
        return None
    env = {**NAMES, **{v.name: v.symbolic for v in program.variables}}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            made = eval(text, env)
            made = made if hasattr(made, "term") else T.as_tensor(made)
            value = meaning(made, program.variables)
        except (
            Exception
        ):  # a statement that types or shapes forbid; `judge` sees to errors of programs that have values
            return None
    if not isinstance(value, np.ndarray) or value.size > MOST or value.ndim > 4:
        return None
    v = Variable(f"v{len(program.variables)}", value, text, symbolic=made)
    return v if special or is_tame(v) else None


def is_tame(v: Variable) -> bool:
    """Whether a value is finite and of a size whose square is no trouble."""
    if v.kind not in "fc" or not v.value.size:
        return True
    size = np.abs(v.value.astype("complex128" if v.kind == "c" else "float64"))
    return bool(np.isfinite(size).all() and size.max() < LARGEST.get(v.dtype, 1e9))


def meaning(made: Any, variables: list[Variable], values: dict[str, np.ndarray] | None = None) -> Any:
    """The value of one statement from those of the variables before it."""
    given = {v.symbolic.term: v.value if values is None else values[v.name] for v in variables}
    for leaf in T.graph_inputs([made]):
        if hasattr(leaf, "get_value"):
            given[leaf.term] = leaf.get_value()
    return np.asarray(evaluate([made.term], given)[0])


def noisy(program: Program, seed: int) -> dict[str, np.ndarray]:
    """The values where every statement that rounds is off by a little: how far rounding can carry."""
    rng, values = np.random.default_rng(seed), {}
    for k, v in enumerate(program.variables):
        if v.text is None:
            values[v.name] = v.value
            continue
        value = meaning(v.symbolic, program.variables[:k], values)
        values[v.name] = _shaken(rng, value)
    return values


def _shaken(rng: np.random.Generator, value: np.ndarray) -> np.ndarray:
    kind = kind_of(value.dtype)
    if kind not in "fc":
        return value
    eps = float(finfo(value.real.dtype if kind == "c" else value.dtype).eps)
    shake = 1 + 3 * eps * rng.choice([-1.0, 0.0, 1.0], value.shape)
    wide = value.astype("complex128" if kind == "c" else "float64") * shake
    return np.asarray(wide).astype(value.dtype)
