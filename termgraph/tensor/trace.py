"""Where in the user's program a variable was made. Cheap to take (a few code pointers), readable when asked."""

from __future__ import annotations

import linecache
import os
import sys
import warnings
from types import CodeType
from typing import Any

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_RULES = os.path.join(os.path.dirname(os.path.dirname(_PACKAGE)), "rules") + os.sep
# Libraries that call ours on a user's behalf; the line that counts is the one that called them.
_BETWEEN = tuple(
    f"-packages{os.sep}{name}{os.sep}"
    for name in ("einops", "opt_einsum", "array_api_compat", "array_api_extra", "scipy")
)
# Keyed by id: hashing a code object walks its bytecode. The values keep the code alive, so ids stay true.
_internal: dict[int, tuple[bool, CodeType]] = {}
_sites: dict[tuple, tuple] = {}
_getframe = sys._getframe
_UNSEEN = (True, None)


def _is_internal(code: CodeType) -> bool:
    found = _internal.get(id(code))
    if found is None:
        file = code.co_filename
        ours = file.startswith((_PACKAGE, _RULES)) or any(part in file for part in _BETWEEN)
        found = _internal[id(code)] = (ours, code)
    return found[0]


def user_site(depth: int = 1) -> tuple:
    """The user's innermost frame and its caller as (code, instruction, code, instruction); one object per place."""
    frame: Any = _getframe(depth + 1)
    code = frame.f_code
    while _internal.get(id(code), _UNSEEN)[0]:  # False is the common answer: a place of the user's seen before
        if not _is_internal(code):
            break
        frame = frame.f_back
        if frame is None:
            return ()
        code = frame.f_code
    back = frame.f_back
    if back is None:
        key: tuple = (id(code), frame.f_lasti)
        return _sites.get(key) or _sites.setdefault(key, (code, frame.f_lasti))
    key = (id(code), frame.f_lasti, id(back.f_code), back.f_lasti)
    return _sites.get(key) or _sites.setdefault(key, (code, frame.f_lasti, back.f_code, back.f_lasti))


def warn(text: str) -> None:
    """A warning at the user's line, however many of our frames lie between."""
    depth, frame = 2, _getframe(1)
    while frame.f_back is not None and _is_internal(frame.f_code):
        depth, frame = depth + 1, frame.f_back
    warnings.warn(text, stacklevel=depth)


def _line_of(code: CodeType, lasti: int) -> int:
    for start, end, line in code.co_lines():
        if start <= lasti < end and line is not None:
            return line
    return code.co_firstlineno


def frames_of(site: tuple) -> list[tuple[str, int, str, str]]:
    """(file, line, function, source text) for each kept frame, innermost first. Accepts an already resolved site."""
    if not site or not isinstance(site[0], CodeType):  # already resolved, as pickles are
        return list(site)
    frames = []
    for code, lasti in zip(site[::2], site[1::2], strict=True):
        line = _line_of(code, lasti)
        text = linecache.getline(code.co_filename, line).strip()
        frames.append((code.co_filename, line, code.co_name, text))
    return frames


def describe_site(site: tuple, limit: int = 1) -> str:
    """`File "model.py", line 12, in build` with the source line, for error messages; empty if unknown."""
    lines = []
    for file, line, function, text in frames_of(site)[:limit]:
        lines.append(f'  File "{file}", line {line}, in {function}' + (f"\n    {text}" if text else ""))
    return "\n".join(lines)


def placed(site: tuple, text: str) -> str:
    """An error message with the user's line in front, where that is known."""
    place = describe_site(site)
    return f"{place}\n{text}" if place else text


def where(site: tuple) -> str:
    """`model.py:12`, or an empty string if unknown."""
    frames = frames_of(site)
    return f"{frames[0][0]}:{frames[0][1]}" if frames else ""
