"""The exceptions of termgraph, one place so that every layer can raise and users can catch them."""

from __future__ import annotations


class TermgraphError(Exception):
    """Base class of the errors that are not also a standard Python error."""


class TypeMismatch(TypeError):
    """A value or term does not have the type that was asked for."""


class ShapeError(ValueError, TypeError):
    """Lengths that cannot go together."""


class MissingInputError(TermgraphError, TypeError):
    """A graph needs an input that was not given."""


class UnusedInputError(TermgraphError, ValueError):
    """An input of a function is not used by its outputs."""


class GraphError(TermgraphError, ValueError):
    """A graph that breaks a promise of the term language: cycle, wrong arity, wrong type, free variable."""


class DisconnectedInputError(TermgraphError, ValueError):
    """A gradient with respect to something the cost does not depend on."""


class NullTypeGradError(TermgraphError, TypeError):
    """A gradient that is mathematically undefined."""


class GradNotImplementedError(TermgraphError, NotImplementedError, TypeError):
    """A gradient that nobody has written."""


class RewriteError(TermgraphError, RuntimeError):
    """A rewriting that went wrong: a loop, growth without bound, a rule that changes a type."""


class CheckError(TermgraphError, AssertionError):
    """A run-time check of the user's (`Assert`, `CheckAndRaise`) failed."""


class RuleError(TermgraphError, ValueError):
    """A rule that is refused when it is defined."""


class PythonPartWarning(UserWarning):
    """A part of a compiled function that Python runs, step by step or operation by operation."""


class RuleWarning(UserWarning):
    """A rule or a rule file that was set aside; the result is correct without it."""
