"""The subcommand `termgraph cache`: list, explain, clear and purge the caches of compiled code.

One is of the programs of this user, one of the installation: the glue that calls programs, and what compilers can do.

May touch: the cache directories, standard output. `add_arguments` and `run` are called by the command line's registry.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence

from termgraph.backends.c.build.cache import Cache, Entry, default_cache, installation_cache


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the arguments of `termgraph cache`."""
    parser.add_argument(
        "action",
        choices=["list", "explain", "clear", "purge"],
        help="list: what is cached; explain: what an entry was made from and how entries of one name differ; "
        "clear: remove the entries; purge: remove everything in the directory",
    )
    parser.add_argument("name", nargs="?", default="", help="only entries whose name or key begins with this")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")


def run(args: argparse.Namespace) -> int:
    """Do what the parsed arguments ask for; the return value is the exit status."""
    caches = list(dict.fromkeys((default_cache(), installation_cache())))
    return {"list": _list, "explain": _explain, "clear": _clear, "purge": _purge}[args.action](caches, args)


def _list(caches: Sequence[Cache], args: argparse.Namespace) -> int:
    if args.json:
        entries = [_record(entry) for entry in _chosen(caches, args.name)]
        _print_json({"directory": caches[0].root, "directories": [c.root for c in caches], "entries": entries})
        return 0
    for cache in caches:
        entries = _chosen([cache], args.name)
        _say(f"{cache.root}: {_many(len(entries))}, {_bytes(sum(entry.size for entry in entries))}")
        for entry in entries:
            size = _bytes(entry.size)
            used = time.strftime("%Y-%m-%d %H:%M", time.localtime(_used(entry)))
            _say(f"  {entry.key[:12]}  {size:>9}  {used}  {entry.why.get('kind', ''):<9} {entry.why.get('name', '')}")
    return 0


def _explain(caches: Sequence[Cache], args: argparse.Namespace) -> int:
    entries = _chosen(caches, args.name)
    if not entries:
        _say(f"no entry of {_places(caches)} has a name or key that begins with {args.name!r}")
        return 1
    if args.json:
        _print_json([_record(entry) | {"why": entry.why} for entry in entries])
        return 0
    for entry in entries:
        _say(f"{entry.key}  {entry.why.get('kind', '')} {entry.why.get('name', '')}\n  in {entry.path}")
        for part, value in sorted(entry.why.get("parts", {}).items()):
            _say(f"  {part:<12} {value}")
        if "no warm start" in entry.why:
            _say(f"  its program is made anew in every process, because {entry.why['no warm start']}")
    newest = max(entries, key=_used)
    for other in entries:
        if other is not newest and other.why.get("name") == newest.why.get("name"):
            _say(
                f"\n{newest.key[:12]} was made although {other.key[:12]} existed, because of:\n"
                f"  {_difference(other, newest)}"
            )
            break
    return 0


def _clear(caches: Sequence[Cache], args: argparse.Namespace) -> int:
    removed = {cache.root: _cleared(cache, args.name) for cache in caches}
    record = {"removed": sum(removed.values()), "directory": caches[0].root, "directories": removed}
    _report(args, record, "\n".join(f"removed {_many(n)} from {root}" for root, n in removed.items()))
    return 0


def _cleared(cache: Cache, name: str) -> int:
    """How many entries went: those chosen by name, or all, damaged ones too."""
    if not name:
        return cache.clear()
    chosen = _chosen([cache], name)
    for entry in chosen:
        cache.discard(entry.key)
    return len(chosen)


def _purge(caches: Sequence[Cache], args: argparse.Namespace) -> int:
    for cache in caches:
        cache.purge()
    _report(args, {"purged": caches[0].root, "directories": [c.root for c in caches]}, f"emptied {_places(caches)}")
    return 0


def _chosen(caches: Sequence[Cache], name: str) -> list[Entry]:
    entries = [entry for cache in caches for entry in cache.entries()]
    wanted = [e for e in entries if e.key.startswith(name) or str(e.why.get("name", "")).startswith(name)]
    return sorted(wanted, key=lambda entry: (-_used(entry), entry.key))


def _places(caches: Sequence[Cache]) -> str:
    return " and ".join(cache.root for cache in caches)


def _many(count: int) -> str:
    return f"{count} entry" if count == 1 else f"{count} entries"


def _used(entry: Entry) -> float:
    try:
        return os.stat(entry.path).st_mtime
    except OSError:  # removed while we look
        return 0.0


def _difference(old: Entry, new: Entry) -> str:
    before, after = old.why.get("parts", {}), new.why.get("parts", {})
    changed = [part for part in sorted({*before, *after}) if before.get(part) != after.get(part)]
    return "\n  ".join(f"{part}: {before.get(part)} -> {after.get(part)}" for part in changed)


def _record(entry: Entry) -> dict:
    return {
        "key": entry.key,
        "kind": entry.why.get("kind"),
        "name": entry.why.get("name"),
        "bytes": entry.size,
        "used": _used(entry),
        "path": entry.path,
    }


def _report(args: argparse.Namespace, record: dict, text: str) -> None:
    if args.json:
        _print_json(record)
    else:
        _say(text)


def _print_json(value: object) -> None:
    _say(json.dumps(value, indent=1, sort_keys=True))


def _bytes(count: float) -> str:
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
