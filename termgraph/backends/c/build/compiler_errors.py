"""What a C compiler says when it fails, made short: its first error, the lines of C around it, what to change.

All it said is kept in a file below the cache directory, with the command and the text it was given. May touch that
folder, and read the file of a user that an error cites.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import tempfile
from collections.abc import Sequence

from termgraph._folders import make_private
from termgraph._lazy import lazy, pattern
from termgraph.backends.c.build import cache_files
from termgraph.config import config

signal = lazy("signal")

FOLDER = "failed"  # below the cache directory; the newest KEPT reports stay
KEPT = 20
AROUND = 2  # lines of C shown before and after the one that is wrong

_ERROR = pattern(r"^(?P<file>.+?):(?P<line>\d+)(?::(?P<column>\d+))?: (?:fatal )?error: (?P<text>.*)$", re.MULTILINE)
_CRASH = pattern(
    r"internal compiler error|signal terminated program|Segmentation fault|Stack dump|PLEASE submit a bug|"
    r"out of memory|cannot allocate memory|LLVM ERROR",
    re.IGNORECASE,
)
_FLAG = pattern(r"unrecognized (?:command[- ]line )?option|unknown argument|unsupported option|bad value .* for ")
_ASIDE = pattern(r": (?:warning|note): |^\s*\d* \|")  # what is no error: those, and lines of the text as gcc shows it
_CARET = pattern(r"^[\s~]*\^[\s~^]*$")  # below a line of the text as clang shows it
_SYMBOL = pattern(r"undefined (?:reference to|symbol:?) [`'\"]?(?P<name>[\w.]+)")
_OURS = pattern(r"^source\d*\.c$")
ELSE = "name another compiler ($CC or the flag cc), or compute without C: mode=tg.Mode(linker='py')"


class CompileError(Exception):
    """The C compiler failed. The message is its first error with the lines around it, and what can be done.

    `.first` is that error alone, `.file` and `.line` its place (after `#line`), `.stderr` everything the compiler said,
    `.source` the text it was given, `.command` how it was called, `.cause` one of "text", "flag", "link", "crash" and
    "start", `.log` the file that has all of it, or None, `.terms` what the code computes, where that is known.
    """

    def __init__(
        self, command: Sequence[str], stderr: str, source: str, name: str = "", status: int = 1, keep: bool = True
    ):
        self.command, self.stderr, self.source, self.name, self.status = list(command), stderr, source, name, status
        found = _ERROR.search(stderr)
        self.cause = _cause(_without_asides(stderr), status, found is not None)
        self.file = found["file"] if found and self.cause == "text" else None
        self.line = int(found["line"]) if found and self.cause == "text" else None
        self.first = found["text"] if found and self.cause == "text" else _telling_line(stderr, status)
        self.terms: list = []  # what the text computes, for whoever can say which of the user's lines made that
        self.log = _keep(self) if keep else None
        super().__init__(self._message())

    @property
    def users_text(self) -> bool:
        """Whether the error is in C text that the user wrote, and not in what termgraph generated."""
        return self.file is not None and not _OURS.match(os.path.basename(self.file))

    def _message(self) -> str:
        what = WHAT[self.cause].format(name=f" of {self.name}" if self.name else "")
        place = f"{self.file}:{self.line}: " if self.file else ""
        lines = [f"{what}: {place}{self.first}", *self._around()]
        lines.append(f"  compiler: {os.path.basename(self.command[0])}; {self._kept()}")
        lines.append(f"  {self._advice()}")
        return "\n".join(lines)

    def _kept(self) -> str:
        return f"all it said: {self.log}" if self.log else f"command: {shlex.join(self.command)}"

    def _advice(self) -> str:
        if self.users_text:
            return "correct this C text: it belongs to an operation of yours"
        if self.cause == "text" and str(config.cflags):
            return f"does it compile without the flag cflags ({config.cflags})? Else please report it, and {ELSE}"
        return ADVICE[self.cause].format(cflags=str(config.cflags) or "empty", symbol=self.symbol or "it")

    @property
    def symbol(self) -> str | None:
        """The name that the linker did not find."""
        found = _SYMBOL.search(self.stderr)
        return found["name"] if found else None

    def _around(self) -> list[str]:
        """The line that is wrong with its neighbours, numbered."""
        lines, first = self._text()
        if self.line is None or not first <= self.line < first + len(lines):
            return []
        k = self.line - first
        shown = range(max(0, k - AROUND), min(len(lines), k + AROUND + 1))
        width = len(str(first + shown[-1]))
        return [f"  {'>' if i == k else ' '} {i + first:{width}} | {lines[i].rstrip()}"[:160] for i in shown]

    def _text(self) -> tuple[list[str], int]:
        """The lines of the text that the error is in, and the number of the first of them."""
        if self.file is None:
            return [], 1
        if not self.users_text:
            return self.source.splitlines(), 1
        with contextlib.suppress(OSError), open(self.file, encoding="utf-8", errors="replace") as text:
            return text.read().splitlines(), 1
        return _marked(self.source, self.file)


WHAT = {
    "text": "the C compiler refused the code{name}",
    "flag": "the C compiler refused its flags for the code{name}",
    "link": "the code{name} could not be linked",
    "crash": "the C compiler itself failed on the code{name}",
    "start": "the C compiler could not be started for the code{name}",
}
ADVICE = {
    "text": f"this text was generated: please report it with that file. Until then {ELSE}",
    "flag": f"look at $CC and at the flag cflags (now {{cflags}}), or {ELSE}",
    "link": f"is a library missing that has {{symbol}} (c_libraries of a C op, the flag cflags)? Else {ELSE}",
    "crash": f"it may have run out of memory: try again with more, {ELSE}",
    "start": f"is it still installed, and may it be executed? Else {ELSE}",
}


def _cause(output: str, status: int, located: bool) -> str:
    if status == 127 or status == 126:
        return "start"
    if status < 0 or status > 128 or _CRASH.search(output):
        return "crash"
    if located:
        return "text"
    if _FLAG.search(output):
        return "flag"
    return "link" if _SYMBOL.search(output) or "cannot find -l" in output or "ld returned" in output else "text"


def _telling_line(output: str, status: int) -> str:
    """The line that matters among those of a driver or a linker, or what its status says."""
    lines = [line.strip() for line in (_without_asides(output) or output).splitlines() if line.strip()]
    for word in ("undefined", "cannot find", "error"):
        found = next((line for line in lines if word in line), None)
        if found is not None:
            return found
    return lines[0] if lines else _ended(status)


def _without_asides(output: str) -> str:
    """What a compiler said, without its warnings, its notes and the lines of the text that it shows."""
    lines = output.splitlines()
    below = [*lines[1:], ""]
    return "\n".join(
        [a for a, b in zip(lines, below) if not (_ASIDE.search(a) or _CARET.match(a) or _CARET.match(b))]
    ).strip()


def _ended(status: int) -> str:
    number = -status if status < 0 else status - 128 if status > 128 else 0
    with contextlib.suppress(ValueError):
        return f"it was ended by the signal {signal.Signals(number).name}, and said nothing"
    return f"it said nothing and ended with status {status}"


def _marked(source: str, file: str) -> tuple[list[str], int]:
    """The part of a source that stands under `#line N "file"`."""
    start = re.search(rf'^#line (\d+) "{re.escape(file)}"$', source, re.MULTILINE)
    if start is None:
        return [], 1
    rest = source[start.end() + 1 :]
    end = re.search(r'^#line \d+ "', rest, re.MULTILINE)
    return rest[: end.start() if end else len(rest)].splitlines(), int(start[1])


# -- the file that has all of it ----------------------------------------------------------------


def _keep(error: CompileError) -> str | None:
    """Write the report and return its path; None where nothing can be written."""
    text = (
        f"command: {shlex.join(error.command)}\nstatus: {error.status}\n\n--- what it said\n{error.stderr.rstrip()}\n\n"
        f"--- what it was given\n{error.source}\n"
    )
    name = re.sub(r"[^\w.-]+", "_", error.name)[:40] or "code"
    folder = os.path.join(str(config.cache.dir), FOLDER)
    path = os.path.join(folder, f"{name}-{cache_files.digest(text)[:12]}.txt")
    try:
        make_private(folder)
        cache_files.write_file(path, text.encode("utf-8", "replace"))
    except OSError:  # full or forbidden
        return _keep_elsewhere(text)
    _forget_old(folder)
    return path


def _keep_elsewhere(text: str) -> str | None:
    try:
        handle, path = tempfile.mkstemp(prefix="termgraph-failed-", suffix=".txt")
        with open(handle, "w", encoding="utf-8", errors="replace") as out:
            out.write(text)
    except OSError:  # the message then shows the command, with which it can be had again
        return None
    return path


def _forget_old(folder: str) -> None:
    paths = sorted((os.path.join(folder, n) for n in cache_files.names(folder)), key=cache_files.mtime)
    for path in paths[:-KEPT]:
        with contextlib.suppress(OSError):
            os.unlink(path)
