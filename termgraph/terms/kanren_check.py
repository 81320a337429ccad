"""Detects the look-alike PyPI packages that overwrite the ones termgraph needs.

`miniKanren` provides `import kanren` and `logical-unification` provides `import unification`; the PyPI projects named
`kanren` and `unification` are other, older packages with the same import names.
"""

from __future__ import annotations

_REPAIR = (
    "Another package overwrote the one termgraph needs ({what}). Repair with:\n"
    "    pip uninstall -y kanren unification miniKanren logical-unification\n"
    "    pip install miniKanren logical-unification etuples cons packaging"
)


def check_packages() -> None:
    """Raise ImportError with the repair command if a look-alike package is in the way."""
    try:
        import packaging  # noqa: F401  etuples needs it without declaring it; unification fails silently otherwise
    except ImportError as err:
        raise ImportError("termgraph needs the package 'packaging' (etuples uses it): pip install packaging") from err
    try:
        import unification.core as unification_core

        ok = hasattr(unification_core, "construction_sentinel")
    except ImportError as err:
        raise ImportError(_REPAIR.format(what=f"unification: {err}")) from err
    if not ok:
        raise ImportError(_REPAIR.format(what="unification is not logical-unification"))
    try:
        import kanren
    except ImportError as err:
        raise ImportError(_REPAIR.format(what=f"kanren: {err}")) from err
    if not hasattr(kanren, "conso"):
        raise ImportError(_REPAIR.format(what="kanren is not miniKanren"))
