"""The `sequences` and `outputs_info` of scan: read, checked, and brought to slices and registers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from termgraph.loops.carries import Carry
from termgraph.loops.steps import rows_of
from termgraph.tensor.likes import TensorLike
from termgraph.tensor.variable import TensorVariable, Variable, is_plain_number
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.errors import ShapeError, TypeMismatch

# What scan takes as sequences and first values: an array, a dictionary of it and its taps, or several of these.
LoopArguments: TypeAlias = "TensorLike | Mapping[str, Any] | Sequence[TensorLike | Mapping[str, Any] | None] | None"


class SequenceInfo:
    """One sequence with its taps. `slices[k]` is the array whose row t is what the step gets for `taps[k]`."""

    def __init__(self, index: int, given: LoopArguments | None, go_backwards: bool) -> None:
        options = dict(given) if isinstance(given, Mapping) else {"input": given}
        what = f"sequences[{index}]"
        unknown = options.keys() - {"input", "taps"}
        if unknown or "input" not in options:
            raise ValueError(f"scan: {what} is a dictionary with 'input' and perhaps 'taps', got {sorted(options)}")
        x = options["input"]
        self.input: Any = x if isinstance(x, Variable) else as_tensor(x)
        self.taps = checked_taps(options.get("taps"), [0], what)
        self.index = index
        if self.input.type.ndim == 0:
            raise TypeMismatch(
                f"scan: {what} must have a dimension to step along, got a scalar ({self.input}). Sequences come first: "
                "scan(step, sequences=xs, outputs_info=first values)"
            )
        before, after = max(0, -min(self.taps)), max(0, max(self.taps))
        rows = self.input.type.shape[0]
        if rows is not None and rows < before + after:
            raise ShapeError(
                f"scan: {what} has {rows} rows, but its taps {self.taps} reach over {before + after + 1} at once"
            )
        self.reach = before + after  # so many rows more than steps
        self.slices = [self._slice(tap + before, after - tap) for tap in self.taps]
        if go_backwards:
            self.slices = [x[::-1] for x in self.slices]

    def _slice(self, start: int, left: int) -> TensorVariable:
        if not start and not left:
            return self.input
        return self.input[start:-left] if left else self.input[start:]

    def steps(self) -> list[Any]:
        """How many steps it has rows for; negative, which the loop refuses, if it is shorter than its taps reach."""
        if self.reach and self.input.type.shape[0] is None:
            return [rows_of(self.input) - self.reach]
        return [rows_of(x) for x in self.slices]

    def label(self, tap: int) -> str:
        """How the step's argument is called in printouts."""
        return f"{self.input.name or f'sequences[{self.index}]'}[t{f'{tap:+d}' if tap else ''}]"


class OutputInfo:
    """One output: where it starts and which earlier values the step sees (`taps`, negative)."""

    def __init__(self, index: int, given: LoopArguments | None) -> None:
        what = f"outputs_info[{index}]"
        options = dict(given) if isinstance(given, Mapping) else {} if given is None else {"initial": given}
        unknown = options.keys() - {"initial", "taps", "name", "membuf", "inplace"}
        if unknown:
            raise ValueError(f"scan: {what} is a dictionary with 'initial' and perhaps 'taps', got {sorted(options)}")
        self.index, self.what = index, what
        self.initial = options.get("initial")
        if self.initial is None:
            if options.get("taps"):
                raise ValueError(f"scan: {what} has taps {options['taps']} but no initial value; give 'initial'")
            self.taps: list[int] = []
            return
        self.taps = checked_taps(options.get("taps"), [-1], what)
        if max(self.taps) >= 0:
            raise ValueError(f"scan: {what}: the taps of an output must be negative (made before), got {self.taps}")
        self.several = self.taps != [-1]
        if not is_plain_number(self.initial) and not isinstance(self.initial, Variable):
            self.initial = as_tensor(self.initial)
        self.name = getattr(self.initial, "name", None)
        self._check_rows()

    @classmethod
    def unfed(cls, index: int) -> OutputInfo:
        """An output that is not fed back."""
        return cls(index, None)

    def _check_rows(self) -> None:
        if not self.several:
            return
        oldest = -min(self.taps)
        initial = as_tensor(self.initial)
        rows = initial.type.shape[0] if initial.type.ndim else 0
        if rows is not None and rows < oldest:
            given = f"{rows} rows" if initial.type.ndim else "no dimension"
            raise ShapeError(
                f"scan: {self.what} has taps {self.taps}, so 'initial' must hold {oldest} rows of earlier values, "
                f"oldest first; it has {given}"
            )

    def registers(self, around: Sequence[Variable] = ()) -> list[Carry]:
        """Carries for the values 1, 2, ... steps ago, as far back as the taps reach."""
        if self.initial is None:
            return []
        name = self.name or f"outputs[{self.index}]"
        if not self.several:
            return [Carry(f"output {self.index} (outputs_info[{self.index}])", self.initial, f"{name}[t-1]", around)]
        oldest = -min(self.taps)
        starts = as_tensor(self.initial)
        return [
            Carry(f"output {self.index}, {back} steps ago", starts[oldest - back], f"{name}[t-{back}]")
            for back in range(1, oldest + 1)
        ]

    def adapted(self, registers: Sequence[Carry]) -> None:
        """Start from the initial value in the dtype that the step asked for."""
        if registers and not self.several:
            self.initial = registers[0].init


def checked_taps(taps: Any, default: list[int], what: str) -> list[int]:
    """Taps as a list of integers, in the order given."""
    if taps is None:
        return default
    listed = list(taps) if isinstance(taps, (list, tuple)) else [taps]
    if not listed or any(isinstance(t, bool) or not hasattr(t, "__index__") for t in listed):
        raise TypeError(f"scan: the taps of {what} must be integers (offsets in steps), got {taps!r}")
    listed = [int(t) for t in listed]
    if len(set(listed)) != len(listed):
        raise ValueError(f"scan: {what} has a tap twice: {listed}")
    return listed


def sequence_infos(sequences: Any, go_backwards: bool) -> list[SequenceInfo]:
    """The sequences of a scan: one, or a list."""
    listed = _as_list(sequences)
    return [SequenceInfo(i, s, go_backwards) for i, s in enumerate(listed)]


def output_infos(outputs_info: Any) -> list[OutputInfo]:
    """The outputs of a scan as described by the user: one, or a list."""
    return [OutputInfo(i, o) for i, o in enumerate(_as_list(outputs_info))]


def _as_list(value: TensorVariable | list | None) -> list:
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]


def check_name(name: str | None, truncate_gradient: Any) -> None:
    """Refuse a name that is no string and a truncation that is no number of steps."""
    if name is not None and not isinstance(name, str):
        raise TypeError(f"scan: name must be a string, got {name!r}")
    if isinstance(truncate_gradient, bool) or not hasattr(truncate_gradient, "__index__"):
        raise TypeError(f"scan: truncate_gradient must be an integer (-1: all steps), got {truncate_gradient!r}")
    if int(truncate_gradient) < -1 or int(truncate_gradient) == 0:
        raise ValueError(f"scan: truncate_gradient must be positive, or -1 for all steps, got {truncate_gradient}")
