"""The glue in Python: the same callable over ctypes, for machines where the C glue cannot be built or loaded.

May touch: shared libraries given to it. Everything here has a counterpart in glue.c, cells.c and module.c and
is tested by the same tests. It is slower by some microseconds per call; what is compiled runs at the same speed.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from termgraph.backends.c.run import ctypes_cells
from termgraph.backends.c.run.ctypes_cells import Cell, commit, disown, own  # noqa: F401  the C glue has them too
from termgraph.progress import Steps, stream

_INT64_MAX = (1 << 63) - 1
_ACCEPT_FLOAT, _ACCEPT_INT = 1, 2
_EXACT_INT = {"float32": 1 << 24, "float64": 1 << 53}
_FRESH, _OVERWRITE, _ACCUMULATE = range(3)
_ONE, _LIST, _TUPLE, _NONE, _WRAPPED = range(5)
_PLAN = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
_RUN = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
_LONG_WORK = 50_000  # nanoseconds, as in glue.c

_team: ctypes.CDLL | None = None
_poll = 0
_patience = 0.05  # seconds between two looks at the steps of loops


class _Status(ctypes.Structure):
    """tg_status of abi.h."""

    _fields_ = [
        ("code", ctypes.c_int64),
        ("op", ctypes.c_int64),
        ("v", ctypes.c_int64 * 4),
        ("poll", ctypes.c_void_p),
        ("timers", ctypes.c_void_p),
        ("stop", ctypes.c_int),
        ("who", ctypes.c_void_p),
        ("loop", ctypes.c_int64),
        ("step", ctypes.c_int64),
        ("steps", ctypes.c_int64),
    ]


# -- functions of the module ------------------------------------------------------------------


def start(library: Any) -> None:
    """Use this library (team.c) for run-time services."""
    global _team, _poll
    _team = library.handle
    _team.tg_get_runtime.restype = ctypes.c_void_p
    _team.tg_set_threads.argtypes = [ctypes.c_int64]
    os.register_at_fork(after_in_child=ctypes_cells.forked)
    _poll = ctypes.cast(_team.tg_stopped, ctypes.c_void_p).value or 0


def runtime() -> int:
    """Address of the tg_runtime table."""
    assert _team is not None
    return _team.tg_get_runtime()


def set_threads(count: int) -> None:
    """Size of the team of threads."""
    assert _team is not None
    _team.tg_set_threads(count)


def allow_vectorcall(cls: type) -> None:
    """Nothing to do here: `__call__` is a method."""


def configure(limit: int, smallest: int, work: int, looks: int = -1) -> None:
    """The nanoseconds between two looks at steps are all there is here: NumPy allocates, ctypes releases the GIL."""
    global _patience
    if looks >= 0:
        _patience = looks / 1e9


def pool_state() -> dict[str, int]:
    """There is no pool here."""
    return dict.fromkeys(("held", "free", "limit", "smallest", "hits", "misses", "trimmed"), 0)


def empty_pool() -> None:
    """There is no pool here."""


# -- the callable -------------------------------------------------------------------------------


class _Failed(Exception):
    """A program or its preparation failed: the status says how."""


class Callable:
    """A compiled program; make one with termgraph.backends.c.run.glue.bind()."""

    def __init__(
        self,
        name: str,
        names: str,
        plan: int,
        run: int,
        ports: tuple,
        cells: tuple,
        consts: tuple,
        outs: tuple,
        numbers: tuple,
        filter: Any,
        fail: Any,
        wrap: Any,
        keep: Any,
    ):
        self._name, self._names, self._ports, self._consts, self._outs = name, names, ports, consts, outs
        self._as, self._inputs, self._returned, self._written, self._spaces = numbers[:5]
        self._env_size, self._space_env, self._work_env = numbers[5:]
        self._plan, self._run = _PLAN(plan), _RUN(run)
        self._filter, self._fail, self._wrap = filter, fail, wrap
        self.cells, self.library, self.calls = tuple(cells), keep, 0
        self._defaults = tuple([port[7] for port in ports[: self._inputs]])
        self._timers: np.ndarray | None = None
        for cell in cells:
            if not isinstance(cell, Cell):
                raise TypeError("expected cells that have a value")
        for constant in consts:
            if not constant.flags.c_contiguous:
                raise TypeError("constants are C-contiguous arrays")

    @property
    def argument_defaults(self) -> tuple[Any, ...]:
        """What arguments are that a call leaves out; None for those that it cannot."""
        return self._defaults

    @argument_defaults.setter
    def argument_defaults(self, values: tuple[Any, ...]) -> None:
        if len(values) != self._inputs:
            raise TypeError("argument_defaults is a tuple with one value per argument")
        self._defaults = tuple(values)

    @property
    def timers(self) -> np.ndarray | None:
        """int64 array that the program adds its timings to, or None."""
        return self._timers

    @timers.setter
    def timers(self, value: np.ndarray | None) -> None:
        good = value is None or (type(value) is np.ndarray and value.dtype == np.int64 and value.flags.c_contiguous)
        if not good:
            raise TypeError("timers is None or a contiguous int64 array as long as the program asks for")
        self._timers = value

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        if "output_subset" in keywords and hasattr(self, "_with_subset"):
            return self._with_subset(*args, **keywords)
        given = self._sorted(args, keywords) if keywords or len(args) != self._inputs else list(args)
        env = np.zeros(max(self._env_size, 1), np.int64)
        arrays = [self._taken(i, value) for i, value in enumerate(given)]
        for i, x in enumerate(arrays):
            self._load(i, x, env)
        status = _Status()
        if self._timers is not None:
            status.timers = self._timers.ctypes.data
        written = self.cells[: self._written]
        seen = self._take_cells(written) if self.cells else []
        try:
            results = self._perform(arrays, seen, env, status)
        except _Failed:
            results = None
        finally:
            if written:
                disown(written)
        if results is None:
            if status.code == -5:  # TG_LAYOUT
                return self._with_layout(*args, **keywords)  # type: ignore[attr-defined]
            self._report(status)
        self.calls += 1
        return self._hand_over(results)

    # arguments

    def _sorted(self, args: tuple, keywords: dict[str, Any]) -> list[Any]:
        name, names, missing = self._name, self._names, object()
        if len(args) > self._inputs:
            raise TypeError(f"{name}() takes {self._inputs} arguments ({names}), got {len(args)}")
        given = list(args) + [missing] * (self._inputs - len(args))
        positions = {port[0]: i for i, port in enumerate(self._ports[: self._inputs]) if port[0] is not None}
        for keyword, value in keywords.items():
            if keyword not in positions:
                raise TypeError(f"{name}() got an unexpected keyword argument {keyword!r}; its arguments are: {names}")
            if given[positions[keyword]] is not missing:
                raise TypeError(f"{name}() got argument {keyword!r} twice")
            given[positions[keyword]] = value
        for i, port in enumerate(self._ports[: self._inputs]):
            if given[i] is missing:
                if not port[6]:
                    raise TypeError(f"{name}() is missing argument {i + 1} ({port[0]}); its arguments are: {names}")
                given[i] = self._defaults[i]
        return given

    def _fits(self, i: int, x: object) -> bool:
        _, dtype, lengths, _, _, _, _, _ = self._ports[i]
        return (
            type(x) is np.ndarray
            and x.dtype == dtype
            and x.ndim == len(lengths)
            and x.flags.aligned
            and all(wanted in (-1, length) for wanted, length in zip(lengths, x.shape))
            and all(stride % dtype.itemsize == 0 for stride in x.strides)
        )

    def _taken(self, i: int, value: Any) -> np.ndarray:
        if self._fits(i, value):
            return value
        number = None if self._ports[i][2] else self._from_number(i, value)
        if number is not None:
            return number
        x = self._filter(i, value)
        if not self._fits(i, x):
            label = repr(self._ports[i][0])
            raise TypeError(f"{self._name}: the filter of argument {label} returned something that does not fit")
        return x

    def _from_number(self, i: int, value: object) -> np.ndarray | None:
        dtype, accept = self._ports[i][1], self._ports[i][5]
        if type(value) is dtype.type:
            return np.array(value, dtype)
        if type(value) is bool:
            return np.array(value) if dtype.kind == "b" else None
        if (
            type(value) is float
            and accept & _ACCEPT_FLOAT
            and dtype.name in ("float32", "float64", "complex64", "complex128")
        ):
            with np.errstate(over="ignore"):
                return np.array(value, dtype)
        if type(value) is int and accept & _ACCEPT_INT and _holds(dtype, value):
            return np.array(value, dtype)
        return None

    def _load(self, i: int, x: np.ndarray, env: np.ndarray) -> None:
        _, dtype, lengths, at, _, _, _, _ = self._ports[i]
        nd = len(lengths)
        env[at : at + nd] = x.shape
        env[at + nd : at + 2 * nd] = [stride // dtype.itemsize for stride in x.strides]

    # cells and outputs

    def _take_cells(self, written: Sequence[Cell]) -> list[np.ndarray]:
        """Own the cells that are updated; of the others return the values: a reference protects their numbers."""
        read = self.cells[self._written :]
        with ctypes_cells.gate:
            own(written, running=True)
            while busy := next((cell for cell in read if ctypes_cells.owned(cell) and cell._in_place), None):
                disown(written)
                ctypes_cells.wait_for_owner(busy)
                own(written, running=True)
            return [cell._value for cell in read]

    def _perform(
        self, arrays: list[np.ndarray], seen: list[np.ndarray], env: np.ndarray, status: _Status
    ) -> list[np.ndarray]:
        for i, cell in enumerate(self.cells):
            value = cell._value if i < self._written else seen[i - self._written]
            if not self._fits(self._inputs + i, value):
                self._stop(status, -3, i)
            self._load(self._inputs + i, value, env)
            del value  # one reference more would keep the program from working in place
        cells = [cell._value.ctypes.data for cell in self.cells[: self._written]] + [x.ctypes.data for x in seen]
        pointers = [x.ctypes.data for x in arrays] + cells
        given = (ctypes.c_void_p * (len(pointers) + 1))(*pointers)
        if self._plan(env.ctypes.data, ctypes.addressof(given), ctypes.addressof(status)):
            raise _Failed
        results = [self._storage(i, arrays, env, status) for i in range(len(self._outs))]
        spaces = [self._space(env[self._space_env + i], status) for i in range(self._spaces)]
        pointers += [x.ctypes.data for x in (*self._consts, *results)] + [-(-x.ctypes.data // 64) * 64 for x in spaces]
        buf = (ctypes.c_void_p * (len(pointers) + 1))(*pointers)
        interruption = self._execute(buf, env, status)
        with ctypes_cells.gate:
            for out, result in zip(self._outs[self._returned :], results[self._returned :]):
                self.cells[out[4]]._value = result
        if interruption is not None:
            raise interruption
        return results[: self._returned]

    def _execute(self, buf: Any, env: np.ndarray, status: _Status) -> BaseException | None:
        """Run. A long program runs in a helper thread: signal handlers, in the main thread, can stop it, and the thread
        that called shows its steps to who looks.

        Returns what a handler raised if the program has finished nevertheless: then its results count.
        """
        interruption = None
        status.poll = _poll
        places = ctypes.addressof(buf), env.ctypes.data, ctypes.addressof(status)
        aside = threading.current_thread() is threading.main_thread() or stream() is not None
        if env[self._work_env] < _LONG_WORK or not aside:
            failed = self._run(*places)
        else:
            failed, interruption = self._run_aside(places, status)
        if failed and interruption is not None:
            raise interruption
        if failed or status.code:
            raise _Failed
        return interruption

    def _run_aside(self, places: tuple[int, int, int], status: _Status) -> tuple[int, BaseException | None]:
        answer: list[int] = []
        done = threading.Lock()
        done.acquire()

        def work() -> None:
            try:
                answer.append(self._run(*places))
            finally:
                done.release()

        interruption: BaseException | None = None
        shown: Steps | None = None
        try:
            threading.Thread(target=work).start()
        except BaseException as error:
            if isinstance(error, RuntimeError) and "new thread" in str(error):  # "can't start", "can't create"
                raise
            status.stop, interruption = 1, error  # a handler's, while this waited for the thread to begin, as it will
        while not answer:
            try:
                done.acquire(timeout=_patience)  # signal handlers run while it waits
                if status.loop:
                    shown = shown or Steps(self._name)
                    shown.show(status.loop, status.step, status.steps)
            except BaseException as error:  # stop the program, but wait for it: it writes to our memory
                status.stop = 1
                interruption = interruption or error
        try:
            if shown is not None:
                shown.end()
        except BaseException as error:
            interruption = interruption or error
        return answer[0], interruption

    def _stop(self, status: _Status, code: int, *values: int) -> None:
        status.code, status.op = code, -1
        for i, value in enumerate(values):
            status.v[i] = value
        raise _Failed

    def _lengths(self, i: int, env: np.ndarray, status: _Status) -> tuple[int, ...]:
        dtype, nd, at = self._outs[i][:3]
        lengths = tuple(int(n) for n in env[at : at + nd])
        total = dtype.itemsize
        for axis, length in enumerate(lengths):
            if length < 0:
                self._stop(status, -4, i, axis, length)
            total *= length or 1
        if total > _INT64_MAX:
            self._stop(status, -2, _INT64_MAX, i, -1)
        return lengths

    def _storage(self, i: int, arrays: list[np.ndarray], env: np.ndarray, status: _Status) -> np.ndarray:
        dtype, _, _, _, where, mode, donor, *_ = self._outs[i]
        lengths = self._lengths(i, env, status)
        if where >= 0 and mode != _FRESH:
            cell = self.cells[where]
            with ctypes_cells.gate:
                if sys.getrefcount(cell._value) <= 2 and _own_memory(cell._value) and cell._value.shape == lengths:
                    cell._in_place = True
                    return cell._value
        if donor >= 0:
            x = arrays[donor]
            if x.dtype == dtype and x.shape == lengths and _own_memory(x):
                return x
        try:
            made = np.empty(lengths, dtype)
        except MemoryError:
            self._stop(status, -2, int(np.prod(lengths, dtype=object)) * dtype.itemsize, i, -1)
        if where >= 0 and mode == _ACCUMULATE:
            made[...] = self.cells[where]._value
        return made

    def _space(self, size: Any, status: _Status) -> np.ndarray:
        if size < 0:
            self._stop(status, -2, int(size), -1, -1)
        try:
            return np.empty(int(size) + 64, np.uint8)
        except (MemoryError, ValueError):
            self._stop(status, -2, int(size), -1, -1)
            raise AssertionError("unreachable") from None

    # the end

    def _report(self, status: _Status) -> NoReturn:
        self._fail(status.code, status.op, *status.v)
        raise RuntimeError(f"{self._name}() failed with code {status.code}")

    def _hand_over(self, results: list[np.ndarray]) -> Any:
        if self._as == _NONE:
            return None
        answers = [x[()] if out[3] else _turned(x, out[8]) for x, out in zip(results, self._outs)]
        if self._as == _ONE:
            return answers[0]
        if self._as == _LIST:
            return answers
        return tuple(answers) if self._as == _TUPLE else self._wrap(tuple(answers))


def _turned(x: np.ndarray, order: str | None) -> np.ndarray:
    """A result whose axes lie in memory in another order."""
    return x if order is None else x.transpose([order.index(chr(ord("0") + d)) for d in range(x.ndim)])


def _own_memory(x: np.ndarray) -> bool:
    return x.flags.owndata and x.flags.c_contiguous and x.flags.writeable


def _holds(dtype: np.dtype, value: int) -> bool:
    """Whether a Python int is represented exactly."""
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return int(limits.min) <= value <= int(limits.max)
    most = _EXACT_INT.get(dtype.name, -1)
    return -most <= value <= most
