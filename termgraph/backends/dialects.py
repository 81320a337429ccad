"""What C and CUDA spell differently, as a protocol: `cstyle` writes everything else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from termgraph.lower.push.kernel import Buf
    from termgraph.terms.term import AnyTerm


class Dialect(Protocol):
    """What a C-like language is asked for."""

    simd: str  # what stands in front of a loop of independent iterations
    aligned: str

    def ctype(self, dtype: str) -> str:
        """The type in which elements are computed."""

    def literal(self, value: Any, dtype: str) -> str:
        """A number."""

    def constant(self, value: Any, dtype: str) -> str:
        """A number as an operand, or to be stored."""

    def expression(self, t: AnyTerm, args: Sequence[str]) -> str:
        """An element-wise op applied to argument texts."""

    def load(self, buf: Buf, offset: str) -> str:
        """Read an element."""

    def bits_type(self, dtype: str) -> str:
        """The type of an element's bits."""

    def store(self, buf: Buf, offset: str, value: str, mode: str) -> str:
        """Write or add to an element."""

    def fold_init(self, kind: str, dtype: str) -> str:
        """The value of a fold over nothing."""

    def fold_step(self, kind: str, dtype: str, acc: str, value: str, compares: bool = False) -> str:
        """The statement that folds a value in; `compares` if that is known not to be NaN."""
