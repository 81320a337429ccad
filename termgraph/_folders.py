"""Folders whose content is run: made for their owner alone, checked for owner and mode before anything is loaded."""

from __future__ import annotations

import os
import stat


def make_private(path: str) -> None:
    """Make a folder, and those above it that are missing, so that only this user can read and write them."""
    missing = []
    path = os.path.abspath(path)
    while not os.path.isdir(path):
        missing.append(path)
        path = os.path.dirname(path)
        if path == missing[-1]:
            break
    for folder in reversed(missing):
        try:
            os.mkdir(folder, 0o700)
        except FileExistsError:
            if not os.path.isdir(folder):  # a file is in the way
                raise NotADirectoryError(20, "there is a file of this name", folder) from None


def why_not_trusted(path: str, follow: bool = False) -> str | None:
    """Why others than this user and the system's could have put something there; None if they could not.

    `follow`: a link at this place is the user's own choice.
    """
    if not hasattr(os, "geteuid"):
        return None
    try:
        status = os.stat(path) if follow else os.lstat(path)
    except OSError:
        return None
    if status.st_uid not in (0, os.geteuid()):
        return f"{path} belongs to another user ({_name_of(status.st_uid)})"
    if status.st_mode & 0o022 and not stat.S_ISLNK(status.st_mode):
        return f"{path} can be written by others (mode {stat.S_IMODE(status.st_mode):03o})"
    return None


def _name_of(uid: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"number {uid}"
