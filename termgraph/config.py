"""Configuration flags: `config.floatX`, `config.scan.allow_gc`, `config.change_flags(...)`.

A flag's value comes, strongest first, from an assignment in the program, the environment, a configuration file, or
its default. The flags themselves are listed in _flags.py, the only module of termgraph that this one uses.
"""

import inspect
import os
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ContextDecorator
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any, NamedTuple

from termgraph._flags import FLAGS, Flag, Refused
from termgraph._lazy import lazy

configparser = lazy("configparser")

difflib = lazy("difflib")


class ConfigError(ValueError):
    """A flag has a value it cannot have, or a source of flags cannot be read."""


class UnknownFlagError(AttributeError, ConfigError):
    """There is no flag of that name."""


_NONE: Mapping[str, Any] = MappingProxyType({})


class _Setting(NamedTuple):
    value: Any
    source: str


class _Group:
    """Flags that share a prefix: `config.scan` holds `scan.allow_gc`.

    The current value of a flag is a plain attribute in `__dict__`, so reading one costs no more than reading any
    attribute. It is missing there before the first use and while change_flags() gives different threads
    different values; then `__getattr__` asks the store.
    """

    __slots__ = ("__dict__", "_prefix", "_store")

    def __init__(self, store: "_Store", prefix: str) -> None:
        object.__setattr__(self, "_store", store)
        object.__setattr__(self, "_prefix", prefix)

    def __getattr__(self, name: str) -> Any:
        full = self._prefix + name
        overrides = self._store.overrides.get()
        if full in overrides:
            return overrides[full]
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return self._store.read(full)

    def __setattr__(self, name: str, value: Any) -> None:
        self._store.assign(self._prefix + name, value)

    def __delattr__(self, name: str) -> None:
        raise ConfigError(f"flag {self._prefix + name!r} cannot be deleted; assign the value you want instead")

    def __dir__(self) -> Iterable[str]:
        inside = (name for name in self._store.flags if name.startswith(self._prefix))
        return [*super().__dir__(), *{name.removeprefix(self._prefix).split(".")[0] for name in inside}]

    def __repr__(self) -> str:
        own = (row for row in self._store.describe() if row["name"].startswith(self._prefix))
        changed = ", ".join(f"{row['name']}={row['value']!r}" for row in own if row["source"] != "default")
        return f"<flags {self._prefix}*: {changed or 'all at their defaults'}>"

    def __str__(self) -> str:
        return "\n".join(paragraph(row) for row in self._store.describe() if row["name"].startswith(self._prefix))


class Config(_Group):
    """All flags. `print(config)` lists them with value, source and meaning.

    >>> from termgraph.config import config
    >>> with config.change_flags(floatX="float32"):
    ...     config.floatX
    'float32'
    >>> config.flaotX
    Traceback (most recent call last):
    termgraph.config.UnknownFlagError: there is no flag 'flaotX'; did you mean 'floatX'?

    A value is the first of these that exists:

    1. an assignment, `config.floatX = "float32"`, which holds for the whole process;
    2. the environment, `TERMGRAPH_FLAGS="floatX=float32,scan.allow_gc=True"`;
    3. `~/.termgraphrc`, or the files listed in `TERMGRAPHRC`, of which later ones win: an INI file in which
       `[scan]` above `allow_gc = True` means `scan.allow_gc`, and `[global]` stands above flags without a dot;
    4. the default.

    The environment and the files are read once, when a flag is first used.
    """

    __slots__ = ()

    def __init__(self, flags: Iterable[Flag] = FLAGS, environ: Mapping[str, str] = os.environ) -> None:
        super().__init__(_Store(flags, environ, self), "")

    def __reduce__(self) -> str:
        return "config"  # copied and pickled by name: the flags belong to the process

    def change_flags(self, flags: Mapping[str, Any] | None = None, /, **named: Any) -> "_ChangeFlags":
        """Other flag values for a `with` block or a function, in the thread or task that runs it.

        >>> with config.change_flags({"scan.allow_gc": True}, floatX="float32"):
        ...     config.floatX, config.scan.allow_gc
        ('float32', True)
        >>> @config.change_flags(floatX="float32")
        ... def single_precision():
        ...     return config.floatX
        >>> single_precision(), config.floatX
        ('float32', 'float64')

        A dotted name is given in a dictionary, as `**{"scan.allow_gc": True}`, or as `scan__allow_gc=True`. The former
        values are back afterwards, also when an exception leaves the block. Other threads keep their values, and a
        thread started inside the block begins with the process-wide ones. An assignment to one of these flags inside
        the block lasts until the end of the block.
        """
        requested = dict(flags or {}) | {name.replace("__", "."): value for name, value in named.items()}
        return _ChangeFlags(self._store, self._store.checked(requested, "change_flags"))


class _ChangeFlags(ContextDecorator):
    """What change_flags() returns. As a decorator it begins anew with every call."""

    def __init__(self, store: "_Store", changes: dict[str, Any]) -> None:
        self._store = store
        self._changes = changes
        self._outer: list[Mapping[str, Any]] = []

    def _recreate_cm(self) -> "_ChangeFlags":
        return _ChangeFlags(self._store, self._changes)

    def __call__(self, function: Any) -> Any:
        if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
            raise TypeError(
                f"change_flags cannot decorate {function.__qualname__}, which is a generator or coroutine: its body "
                "runs after the call has returned; use `with config.change_flags(...)` inside it"
            )
        return super().__call__(function)

    def __enter__(self) -> None:
        self._outer.append(self._store.push(self._changes))

    def __exit__(self, *exception: object) -> None:
        self._store.pop(self._changes, self._outer.pop())


class _Store:
    """The values behind a Config, for all threads.

    `settings` are the values of the process. `overrides` are those of change_flags() in the running thread or task.
    `active[flag]` counts the blocks, in any thread, that override a flag; only at zero is its value published as a
    plain attribute of its group.
    """

    def __init__(self, flags: Iterable[Flag], environ: Mapping[str, str], root: _Group) -> None:
        self.flags = {flag.name: flag for flag in flags}
        self.aliases = {alias: flag.name for flag in self.flags.values() for alias in flag.aliases}
        self.environ = environ
        self.settings: dict[str, _Setting] | None = None
        self.overrides: ContextVar[Mapping[str, Any]] = ContextVar("termgraph_flags", default=_NONE)
        self.active: dict[str, int] = {}
        self.lock = threading.RLock()
        self.groups = {"": root}
        for name in (*self.flags, *self.aliases):
            self._make_groups(name)

    def _make_groups(self, name: str) -> None:
        words = name.split(".")[:-1]
        for depth, word in enumerate(words):
            prefix = ".".join([*words[: depth + 1], ""])
            if prefix not in self.groups:
                self.groups[prefix] = _Group(self, prefix)
                outer = ".".join([*words[:depth], ""]) if depth else ""
                self.groups[outer].__dict__[word] = self.groups[prefix]

    # reading and setting

    def read(self, name: str) -> Any:
        name = self.canonical(name)
        settings = self.loaded()
        overrides = self.overrides.get()
        return overrides[name] if name in overrides else settings[name].value

    def assign(self, name: str, value: Any) -> None:
        name = self.canonical(name)
        value = self.parse(name, value, "assignment")
        settings = self.loaded()
        overrides = self.overrides.get()
        if name in overrides:
            self.overrides.set({**overrides, name: value})
            return
        with self.lock:
            settings[name] = _Setting(value, "assignment")
            self._publish(name)

    def push(self, changes: Mapping[str, Any]) -> Mapping[str, Any]:
        """Override flags in this thread; the overrides that held before are returned for pop()."""
        self.loaded()
        outer = self.overrides.get()
        with self.lock:
            for name in changes:
                self.active[name] = self.active.get(name, 0) + 1
                group, leaf = self._place(name)
                group.__dict__.pop(leaf, None)
        self.overrides.set({**outer, **changes})
        return outer

    def pop(self, changes: Mapping[str, Any], outer: Mapping[str, Any]) -> None:
        self.overrides.set(outer)
        with self.lock:
            for name in changes:
                self.active[name] -= 1
                self._publish(name)

    def _publish(self, name: str) -> None:
        """Make the process-wide value of a flag a plain attribute, unless some thread overrides it."""
        if not self.active.get(name):
            group, leaf = self._place(name)
            group.__dict__[leaf] = self.loaded()[name].value

    def _place(self, name: str) -> tuple[_Group, str]:
        prefix, dot, leaf = name.rpartition(".")
        return self.groups[prefix + dot], leaf

    # names and values

    def canonical(self, name: str) -> str:
        """The flag's own name for any of its names."""
        if name in self.flags:
            return name
        if name in self.aliases:
            return self.aliases[name]
        # The name is given so that Python, which would otherwise fill it in, does not add a suggestion of its own.
        raise UnknownFlagError(self.unknown(name), name=name)

    def unknown(self, name: str) -> str:
        if f"{name}." in self.groups:
            inside = ", ".join(flag for flag in self.flags if flag.startswith(f"{name}."))
            return f"{name!r} is a group of flags, not a flag: {inside or name}"
        known = [*self.flags, *self.aliases, *(prefix[:-1] for prefix in self.groups if prefix)]
        return f"there is no flag {name!r}{_suggestion(name, known)}"

    def parse(self, name: str, value: Any, source: str) -> Any:
        kind = self.flags[name].kind
        try:
            return kind.parse(value)
        except (ValueError, TypeError) as error:
            hint = f"; {error}" if isinstance(error, Refused) else ""
            raise ConfigError(f"flag {name!r} ({source}): expected {kind.expects}, got {value!r}{hint}") from None

    def checked(self, requested: Mapping[str, Any], source: str) -> dict[str, Any]:
        names = [self.canonical(name) for name in requested]
        return {name: self.parse(name, value, source) for name, value in zip(names, requested.values())}

    # sources

    def loaded(self) -> dict[str, _Setting]:
        """The process-wide settings, read from their sources on first use."""
        if self.settings is None:
            with self.lock:
                if self.settings is None:
                    settings = self._collect()
                    self.settings = settings
                    for name in settings:
                        self._publish(name)
        assert self.settings is not None
        return self.settings

    def _collect(self) -> dict[str, _Setting]:
        settings = {name: _Setting(_default(flag), "default") for name, flag in self.flags.items()}
        for source, name, value in self._sources():
            for flag in self._matching(name, source):
                settings[flag] = _Setting(self.parse(flag, value, source), source)
        return settings

    def _sources(self) -> Iterator[tuple[str, str, str]]:
        """(source, flag name, text) from the weakest source to the strongest."""
        for path in _rc_files(self.environ):
            yield from ((path, name, value) for name, value in _read_rc(path))
        for name, value in _split_flags(self.environ.get("TERMGRAPH_FLAGS", "")):
            yield "TERMGRAPH_FLAGS", name, value
        for flag in self.flags.values():
            if flag.env and self.environ.get(flag.env, "").strip():
                yield flag.env, flag.name, self.environ[flag.env]

    def _matching(self, name: str, source: str) -> list[str]:
        """The flags meant by a name in a source, where `dnn.conv.algo_*` means all that begin so."""
        if name.endswith("*"):
            matching = [flag for flag in self.flags if flag.startswith(name[:-1])]
            if not matching:
                raise ConfigError(f"{source}: no flag begins with {name[:-1]!r}")
            return matching
        try:
            return [self.canonical(name)]
        except UnknownFlagError as error:
            raise ConfigError(f"{source}: {error}") from None

    def describe(self) -> list[dict[str, Any]]:
        settings, overrides = self.loaded(), self.overrides.get()
        rows = []
        for name, flag in self.flags.items():
            overridden = name in overrides
            rows.append(
                {
                    "name": name,
                    "value": overrides[name] if overridden else settings[name].value,
                    "source": "change_flags" if overridden else settings[name].source,
                    "default": _default(flag),
                    "expects": flag.kind.expects,
                    "doc": flag.doc,
                    "aliases": list(flag.aliases),
                }
            )
        return rows


def _default(flag: Flag) -> Any:
    return flag.default() if callable(flag.default) else flag.default


def _suggestion(name: str, known: Iterable[str]) -> str:
    by_plain = {other.casefold(): other for other in known}
    close = difflib.get_close_matches(name.casefold(), by_plain, n=3, cutoff=0.6)
    return f"; did you mean {' or '.join(repr(by_plain[plain]) for plain in close)}?" if close else ""


def paragraph(row: Mapping[str, Any]) -> str:
    """One row of describe() as text."""
    also = f" Also named {', '.join(row['aliases'])}." if row["aliases"] else ""
    return f"{row['name']} = {row['value']}   [{row['source']}]\n    {row['doc']} ({row['expects']}).{also}"


def _split_flags(text: str) -> Iterator[tuple[str, str]]:
    """The flags in TERMGRAPH_FLAGS: name=value, separated by commas."""
    for part in text.split(","):
        name, equals, value = part.partition("=")
        if part.strip():
            if not equals:
                raise ConfigError(f"TERMGRAPH_FLAGS: expected name=value, got {part.strip()!r} in {text!r}")
            yield name.strip(), value.strip()


def _rc_files(environ: Mapping[str, str]) -> list[str]:
    listed = environ.get("TERMGRAPHRC")
    if listed is None:
        own = os.path.expanduser("~/.termgraphrc")
        return [own] if os.path.isfile(own) else []
    paths = [os.path.expanduser(path.strip()) for path in listed.split(os.pathsep) if path.strip()]
    for path in paths:
        if not os.path.isfile(path):
            raise ConfigError(f"TERMGRAPHRC names {path!r}, which is not a file")
    return paths


def _read_rc(path: str) -> list[tuple[str, str]]:
    parser = configparser.ConfigParser(interpolation=None)
    parser.optionxform = str  # flag names keep their capitals
    try:
        with open(path, encoding="utf-8") as file:
            parser.read_file(file)
    except configparser.MissingSectionHeaderError:
        raise ConfigError(f"{path}: the first line must be a section such as [global]") from None
    except (configparser.Error, OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: {error}") from error
    pairs = []
    for section in parser.sections():
        prefix = "" if section == "global" else f"{section}."
        pairs += [(prefix + name, value) for name, value in parser.items(section)]
    return pairs


def describe(of: Config | None = None, names: Iterable[str] = ()) -> list[dict[str, Any]]:
    """Flags with their value, source, default and meaning: those named, those in the groups named, or all.

    >>> [row["value"] for row in describe(names=["floatX"])]
    ['float64']
    >>> [row["name"] for row in describe(names=["cache"])]
    ['cache.dir', 'cache.size_limit', 'cache.programs']
    """
    store = (config if of is None else of)._store
    rows = store.describe()
    if not names:
        return rows
    chosen = []
    for name in names:
        inside = [row for row in rows if row["name"].startswith(f"{name}.")]
        chosen += inside or [row for row in rows if row["name"] == store.canonical(name)]
    return chosen


config = Config()
