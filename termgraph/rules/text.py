"""How patterns and rules are printed: infix, without the marks of logic variables."""

from __future__ import annotations

from unification import Var

from termgraph.rules.kinds import PatternTerm, SegVar
from termgraph.terms.op import Op
from termgraph.terms.term import Term

_INFIX = {
    "add": (" + ", 6), "sub": (" - ", 6), "mul": (" * ", 7), "true_div": (" / ", 7), "floor_div": (" // ", 7),
    "mod": (" % ", 7), "pow": (" ** ", 9), "lt": (" < ", 3), "gt": (" > ", 3), "le": (" <= ", 3), "ge": (" >= ", 3),
}  # fmt: skip
_LIMIT = 400


def pattern_text(value: PatternTerm) -> str:
    """A pattern, term or goal argument as one readable line, cut after a few hundred characters."""
    text = _text(value, 0, 60)
    return text if len(text) <= _LIMIT else text[: _LIMIT - 4] + " ..."


def _text(value: PatternTerm, level: int, depth: int) -> str:
    """Patterns are shallow; `depth` bounds the recursion for terms, which may not be."""
    if value.__class__ is SegVar:
        return f"*{value.token}"
    if isinstance(value, Var):
        return str(value.token)
    if value.__class__ is not Term:
        return _parameter_text(value) if isinstance(value, (tuple, str)) else repr(value)
    if depth == 0:
        return "..."
    name = getattr(value.op, "name", None)
    infix = _INFIX.get(name) if name else None
    if infix is not None and len(value.args) > 1 and not any(a.__class__ is SegVar for a in value.args):
        sign, strength = infix
        text = sign.join([_text(a, strength + (i > 0), depth - 1) for i, a in enumerate(value.args)])
        return f"({text})" if strength < level else text
    if name == "neg" and len(value.args) == 1:
        return f"-{_text(value.args[0], 8, depth - 1)}"
    return f"{_head_text(value.op)}({', '.join([_text(a, 0, depth - 1) for a in value.args] + _param_texts(value.op))})"


def _head_text(op: Op) -> str:
    if isinstance(op, Var):
        return str(op.token)
    return getattr(op, "name", None) or str(getattr(op, "var", op)).lstrip("~")


def _param_texts(op: Op) -> list[str]:
    params, defaults = getattr(op, "params", ()), getattr(op, "defaults", {})
    if isinstance(params, tuple):  # a head metavariable with parameters
        return [f"{k}={_parameter_text(v)}" for k, v in params]
    return [f"{k}={_parameter_text(v)}" for k, v in params.items() if k not in defaults or defaults[k] != v]


def _parameter_text(value: object) -> str:
    if isinstance(value, Var):
        return str(value.token)
    if isinstance(value, tuple):
        inner = ", ".join(map(_parameter_text, value))
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    return repr(value)
