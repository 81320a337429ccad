"""Whether a mode computes what the statements mean: whole numbers are equal, floats as near as rounding carries."""

from __future__ import annotations

import re
import warnings
from contextlib import nullcontext
from itertools import islice
from typing import Any

import numpy as np

import termgraph as tg
from emucuda.driver import emulation
from termgraph.terms.dtypes import finfo, kind_of

from .programs import Program, Variable, meaning, noisy

MODES = {
    "FAST_RUN, C": "tg.Mode(optimizer='fast_run', linker='auto')",
    "STRICT, C": "tg.Mode(optimizer='fast_run', strict=True, linker='auto')",
    "FAST_RUN, VM": "tg.Mode(optimizer='fast_run', linker='py')",
    "STRICT, VM": "tg.Mode(optimizer='fast_run', strict=True, linker='py')",
    "None, C": "tg.Mode(optimizer='None', linker='auto')",
    "FAST_COMPILE, C": "tg.Mode(optimizer='fast_compile', linker='auto')",
    "FAST_RUN, CUDA": "tg.Mode(optimizer='fast_run', linker='cuda')",
}
WORD = re.compile(r"\bv\d+\b")
REFERENCE = "tg.Mode(optimizer='None', linker='py')"


def mode_of(name: str) -> tg.Mode:
    return eval(MODES.get(name, name), {"tg": tg})


def is_strict(mode: str) -> bool:
    """Whether a mode takes nothing on trust."""
    return mode.startswith(("STRICT", "None"))


class Allowed:
    """What the results of a program may be: their values, and how far rounding can carry them."""

    def __init__(self, program: Program) -> None:
        self.program = program
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            program.build()
            self.values: dict[str, np.ndarray] = {}
            for k, v in enumerate(program.variables):
                self.values[v.name] = (
                    v.value if v.text is None else meaning(v.symbolic, program.variables[:k], self.values)
                )
            self.shaken = self._shaken()
        self.odd = self._odd()

    def _shaken(self) -> list[dict[str, np.ndarray]] | None:
        """Values with noise in every step; None if noise makes a step fail (an index out of bounds, say)."""
        try:
            return [noisy(self.program, seed) for seed in range(4)]
        except Exception:
            return None

    def _odd(self) -> set[str]:
        """The names of statements that overflow, or meet NaN and infinities at all, and what follows from them."""
        return {v.name for v in self.program.variables if v.kind in "fc" and not np.isfinite(self.values[v.name]).all()}

    def wrong(self, name: str, got: Any, strict: bool) -> str | None:
        """What is wrong with a result, in words."""
        expected = self.values[name]
        if not isinstance(got, np.ndarray):
            return f"{name} is a {type(got).__name__}"
        if got.dtype != expected.dtype:
            return f"{name} has dtype {got.dtype} instead of {expected.dtype}"
        if self.shaken is None:
            return None
        if got.shape != expected.shape:
            unstable = any(s[name].shape != expected.shape for s in self.shaken)
            return None if unstable else f"{name} has shape {got.shape} instead of {expected.shape}"
        if any(s[name].shape != expected.shape for s in self.shaken):
            return None
        if not self._comparable(strict):
            return None
        with np.errstate(all="ignore"):
            return self._differs(name, got, expected)

    def judges(self, mode: str) -> bool:
        """Whether results of the mode are compared at all."""
        return self.shaken is not None and self._comparable(is_strict(mode))

    def _comparable(self, strict: bool) -> bool:
        """Modes that take nothing on trust must be right for NaN and infinities too, where no statement overflows."""
        return not self.odd or (strict and self._special_only())

    def _special_only(self) -> bool:
        """Whether everything that is not finite comes from inputs that are not: no statement overflows."""
        made = [v for v in self.program.variables if v.name in self.odd and v.text]
        return all(self.odd & set(WORD.findall(v.text or "")) for v in made)

    def _differs(self, name: str, got: np.ndarray, expected: np.ndarray) -> str | None:
        assert self.shaken is not None
        kind = kind_of(expected.dtype)
        wide = "complex128" if kind == "c" else "float64"
        if kind not in "fc":
            steady = np.all([s[name] == expected for s in self.shaken], axis=0)
            bad = steady & (got != expected)
            if kind in "iu" and not steady.all():
                return None  # one unsteady whole number may move others by any amount
        else:
            info = finfo(expected.real.dtype if kind == "c" else expected.dtype)
            want, have = expected.astype(wide), got.astype(wide)
            finite = np.isfinite(want)
            shaken = [s[name].astype(wide) for s in self.shaken]
            if any((np.isfinite(s) != finite).any() for s in shaken):
                return None  # rounding decides what is finite
            spread = max(np.abs(np.where(finite, s - want, 0)).max(initial=0) for s in shaken)
            size = np.abs(want).max(initial=0, where=finite)
            allowed = 30 * spread + 64 * float(info.eps) * size + 64 * float(info.tiny)
            if not allowed <= 0.05 * size + 64 * float(info.tiny):
                return None  # rounding decides
            alike = (have == want) | (np.isnan(have) & np.isnan(want)) if kind == "f" else ~np.isfinite(have)
            bad = ~np.where(finite, np.abs(have - want) <= allowed, alike)
        if not np.any(bad):
            return None
        at = tuple(int(k) for k in np.argwhere(bad)[0])
        return f"{name}{list(at)} is {got[at]!r} instead of {expected[at]!r}"


def run(program: Program, mode: str) -> str | None:
    """What is wrong with a program in a mode, in words: None if nothing is."""
    try:
        allowed = Allowed(program)
    except Exception:
        return None  # not a program: some statement has no value
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            (results,) = together([program], mode)
        except Exception as error:
            if allowed.shaken is None:
                return None
            return f"{type(error).__name__}: {_short(error)}"
    return verdict(program, allowed, results, mode)


def together(programs: list[Program], mode: str) -> list[list[np.ndarray]]:
    """The results of each program, computed by one function."""
    parts = [p.parts() for p in programs]
    inputs = [v for part in parts for v in part.inputs]
    outputs = [v for part in parts for v in part.outputs]
    updates = [pair for part in parts for pair in part.updates]
    givens = {old: new for part in parts for old, new in part.givens.items()}
    values = [value for p in programs for value in p.values]
    with warnings.catch_warnings(), np.errstate(all="ignore"), emulation() if "CUDA" in mode else nullcontext():
        warnings.simplefilter("ignore")
        f = tg.function(inputs, outputs, updates=updates, givens=givens, mode=mode_of(mode), on_unused_input="ignore")
        rest = iter(f(*values))
        return [[*islice(rest, len(p.outputs)), *[v.get_value() for v, _ in p.updates]] for p in parts]


def verdict(program: Program, allowed: Allowed, results: list, mode: str) -> str | None:
    for name, got in zip(program.results, results):
        wrong = allowed.wrong(name, got, is_strict(mode))
        if wrong:
            return wrong
    return None


def _short(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip() and not line.startswith("  ")]
    return " | ".join(lines[:2])[:200]


__all__ = ["MODES", "REFERENCE", "Allowed", "Variable", "mode_of", "run", "together", "verdict"]
