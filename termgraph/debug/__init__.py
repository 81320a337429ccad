"""Finding out what goes wrong: guards against NaN, checked runs, monitors, breakpoints, intermediate values."""

from termgraph.debug.breakpoint import PdbBreakpoint
from termgraph.debug.checked import BadInPlace, BadOutput, BadRewrite, DebugMode, DebugModeError
from termgraph.debug.monitor import MonitorMode
from termgraph.debug.nanguard import NanGuardError, NanGuardMode
from termgraph.debug.values import eval_intermediate_values

__all__ = [
    "BadInPlace", "BadOutput", "BadRewrite", "DebugMode", "DebugModeError", "MonitorMode", "NanGuardError",
    "NanGuardMode", "PdbBreakpoint", "eval_intermediate_values",
]  # fmt: skip


def __dir__() -> list[str]:
    return __all__
