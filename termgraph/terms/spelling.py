"""How an op is written in C and CUDA: a text for each kind of number it computes in, as data in the op table."""

from __future__ import annotations

from termgraph.terms.dtypes import kind_of

KINDS = frozenset("biufc")
_ABSENT = object()


class Spelling:
    """The texts of an op by what it computes in, e.g. `Spelling(f="sqrt", c="csqrt")`.

    A key is a dtype or letters of kinds (b, i, u, f, c); a dtype goes before its kind. A word is a function: of libm,
    which gets an `f` in single precision, or of the backend (`tg_...`), which gets the short name of the dtype.
    Anything else is a text with places: `{0}`, `{1}` for operands, `{+}` (or another sign) for all of them with that
    sign between, `{0:truth}` for whether an operand is not zero; `{t}` and `{out}` for the C types of operands and
    result, `{n}` for the dtype's short name, `{f}` for an f in single precision, `{narrow}` for the cast that gives an
    integer narrower than int its width again.
    """

    __slots__ = ("texts",)

    def __init__(self, **texts: str | None) -> None:
        self.texts: dict[str, str | None] = {}
        for key, text in texts.items():
            for part in key if KINDS.issuperset(key) else (key,):
                self.texts[part] = text

    def of(self, dtype: str) -> str | None:
        """The text for operands of a dtype; None if there is none.

        >>> Spelling(f="sqrt", c="csqrt").of("float32")
        'sqrt'
        """
        found = self.texts.get(dtype, _ABSENT)
        return self.texts.get(kind_of(dtype)) if found is _ABSENT else found  # type: ignore[return-value]

    def __repr__(self) -> str:
        return f"Spelling({', '.join(f'{k}={v!r}' for k, v in self.texts.items())})"


def spelling(text: Spelling | str | None) -> Spelling | None:
    """What a plain string stands for: a function of real numbers, or an expression of real numbers and integers."""
    if not isinstance(text, str):
        return text
    return Spelling(f=text) if text.isidentifier() else Spelling(iuf="{narrow}" + text)


def in_order(sign: str, pairs: str | None = None) -> Spelling:
    """Of a comparison; complex numbers, first by their real parts, are compared by a function of its own, if any."""
    compared = f"({{0}} {sign} {{1}})"
    return Spelling(biuf=compared, c=pairs or compared)
