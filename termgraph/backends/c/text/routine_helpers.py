"""The C functions around routines that a program uses, from their templates. Pure text."""

from __future__ import annotations

import re

from termgraph.backends.c.text import convolution, many_matrices, plain_routines, pooling, transforms, vector_sort
from termgraph.backends.c.text.dialect import CTYPE, SHORT
from termgraph.backends.c.text.routine_texts import TEXTS, USERS
from termgraph.terms.dtypes import HALVES

_CALLED = re.compile(r"tg_\w+(?=\()")


def helpers(source: str) -> str:
    """The functions around routines that a source uses."""
    out = [f.functions(source) for f in (pooling, convolution, plain_routines, transforms, vector_sort)]
    many = many_matrices.functions(source)
    called = set(_CALLED.findall(source))
    for name, template in TEXTS.items():
        if name == "tg_call_loop":
            if many or any(f in source for f in (name, "tg_qr_", "tg_lstsq_")):
                out += [template, many]
            continue
        for dtype, short in (("8", "8"), ("16", "16"), ("32", "32"), ("64", "64"), ("128", "128"), *SHORT.items()):
            if dtype not in HALVES and any(f"{user}_{short}" in called for user in (name, *USERS.get(name, ()))):
                out.append(_filled(template, dtype, short))
    return "\n".join(out)


def _filled(template: str, dtype: str, short: str) -> str:
    if dtype.isdigit():
        c = "tg_pair" if dtype == "128" else f"uint{dtype}_t"
    else:
        c = CTYPE[dtype]
    letter = {"f32": "s", "f64": "d", "c64": "c", "c128": "z"}.get(short, "")
    address = "&" if short[0] == "c" else ""  # BLAS takes complex numbers by address
    out = template.replace("$T", c).replace("$N", short)
    return out.replace("$L", letter).replace("$A", address)
