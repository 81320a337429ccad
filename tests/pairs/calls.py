"""The same program compiled, kept and called in another way: functions from a program to the results of two calls."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import termgraph as tg

from .programs import Program


def compiled(p: Program, outputs: list, **how: Any) -> Any:
    return tg.function(p.inputs, outputs, updates=p.updates, on_unused_input="ignore", **how)


def two_calls(f: Any, values: list, shared: list) -> list:
    """Results of the first call, copied before the second one, those of the second, and the shared variables."""
    first = [np.array(v) for v in f(*values)]
    return [*first, *f(*values), *[s.get_value() for s in shared]]


def kept(p: Program, outputs: list, way: Callable[[Any], Any]) -> list:
    f, shared = way((compiled(p, outputs), list(p.updates)))
    return two_calls(f, p.values, shared)


def graph_kept(p: Program, outputs: list, way: Callable[[Any], Any]) -> list:
    inputs, outputs, updates = way((p.inputs, outputs, [list(u) for u in p.updates.items()]))
    f = tg.function(inputs, outputs, updates=[tuple(u) for u in updates], on_unused_input="ignore")
    return two_calls(f, p.values, [u[0] for u in updates])


def through_a_file(thing: Any) -> Any:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "Größe 日本.tg"
        tg.save(thing, path)
        return tg.load(path)


def pickled(thing: Any) -> Any:
    return pickle.loads(pickle.dumps(thing))


def swapped(p: Program, outputs: list) -> list:
    f = compiled(p, outputs)
    new = [tg.shared(s.get_value(), name=s.name) for s in p.updates]
    g = f.copy(swap=dict(zip(p.updates, new, strict=True)))
    if new:
        f(*p.values)
    return two_calls(g, p.values, new)


def given(p: Program, outputs: list) -> list:
    known = [tg.shared(v.copy(), name="given", shape=v.shape) for v in p.values]
    f = tg.function([], outputs, updates=p.updates, givens=dict(zip(p.inputs, known, strict=True)))
    found = two_calls(f, [], list(p.updates))
    for s, v in zip(known, p.values, strict=True):
        np.testing.assert_array_equal(s.get_value(), v)
    return found


def called_with(p: Program, outputs: list, lay: Callable[[np.ndarray], np.ndarray], **how: Any) -> list:
    return two_calls(compiled(p, outputs, **how), [lay(v) for v in p.values], list(p.updates))


def backwards(v: np.ndarray) -> np.ndarray:
    turned = tuple(slice(None, None, -1) for _ in v.shape)
    return np.array(v[turned])[turned]


def every_other(v: np.ndarray) -> np.ndarray:
    room = np.zeros(tuple(2 * n + 1 for n in v.shape), v.dtype)
    places = tuple(slice(1, None, 2) for _ in v.shape)
    room[places] = v
    return room[places] if v.ndim else room


def read_only(v: np.ndarray) -> np.ndarray:
    v = v.copy()
    v.flags.writeable = False
    return v


def overwritable(p: Program, outputs: list) -> list:
    """Arguments that may be written over, of which a read-only array is none."""
    values = [read_only(v) for v in p.values]
    inputs = [tg.In(x, mutable=True, borrow=True) for x in p.inputs]
    f = tg.function(inputs, outputs, updates=p.updates, on_unused_input="ignore")
    found = two_calls(f, values, list(p.updates))
    for ours, v in zip(values, p.values, strict=True):
        np.testing.assert_array_equal(ours, v)
    return found


def looked_at(p: Program, outputs: list) -> list:
    f = compiled(p, outputs, profile=True, name="größe ∑")
    texts = [str(f.stages), str(f.trace), f.source(), f._repr_html_(), *[tg.pp(o) for o in outputs]]
    found = two_calls(f, p.values, list(p.updates))
    assert all(texts) and f.profile.calls == 2 and f.profile.to_json()
    return found


def in_mode(mode: Any) -> Callable[[Program, list], list]:
    return lambda p, outputs: two_calls(compiled(p, outputs, mode=mode), p.values, list(p.updates))


CALLS: dict[str, Callable[[Program, list], list]] = {
    **{m: in_mode(m) for m in ("FAST_RUN", "FAST_COMPILE", "STRICT", "ACCURATE", "UNSAFE", "NanGuardMode")},
    **{m: in_mode(m) for m in ("DEBUG_MODE", "+fast_run -fuse", "+fast_run -inplace")},
    "relational": in_mode(tg.Mode(linker="py", engine="relational")),
    "pickled": lambda p, outputs: kept(p, outputs, pickled),
    "saved": lambda p, outputs: kept(p, outputs, through_a_file),
    "copied deeply": lambda p, outputs: kept(p, outputs, copy.deepcopy),
    "graph pickled": lambda p, outputs: graph_kept(p, outputs, pickled),
    "graph saved": lambda p, outputs: graph_kept(p, outputs, through_a_file),
    "copied for other variables": swapped,
    "inputs given": given,
    "backwards": lambda p, outputs: called_with(p, outputs, backwards),
    "every other": lambda p, outputs: called_with(p, outputs, every_other),
    "trusted": lambda p, outputs: called_with(p, outputs, backwards, trust_input=True),
    "other byte order": lambda p, outputs: called_with(p, outputs, lambda v: v.astype(v.dtype.newbyteorder())),
    "overwritable": overwritable,
    "results lent": lambda p, outputs: two_calls(
        compiled(p, [tg.Out(o, borrow=True) for o in outputs]), p.values, list(p.updates)
    ),
    "looked at": looked_at,
}
