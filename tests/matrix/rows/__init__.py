"""The table: importing this enters every row."""

from . import (  # noqa: F401
    arrays,
    derived,
    elementwise,
    indexing,
    layers,
    names,
    networks,
    numpys,
    others,
    places,
    pools,
    products,
    reductions,
    signals,
    spectra,
    statistics,
    structured,
    windows,
)

derived.enter()
