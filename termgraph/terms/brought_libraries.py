"""Where the shared libraries are that installed packages bring along: nothing is loaded here.

May touch: the folders of these packages. A module of its own, since a warm start asks and calls no LAPACK.
"""

from __future__ import annotations

import os

import numpy as np


def first_library(directory: str | None, folder: str, beginning: str) -> str | None:
    """The first library of that folder whose name begins like that."""
    inside = os.path.join(directory or "", folder)
    if directory is None or not os.path.isdir(inside):
        return None
    names = sorted(name for name in os.listdir(inside) if name.startswith(beginning))
    return next((os.path.join(inside, n) for n in names if ".so" in n or n.endswith(".dylib")), None)


def numpys_path() -> str | None:
    """Where the library is that came with NumPy, if one did."""
    site = os.path.dirname(os.path.dirname(np.__file__))
    return first_library(site, "numpy.libs", "libscipy_openblas64_")
