"""The subcommand `termgraph cache`: list, explain, clear and purge the cache of compiled code.

May touch: the cache directory, standard output. `add_arguments` and `run` are called by the command line's registry.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time

from termgraph.backends.c.build.cache import Cache, Entry, default_cache


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
    cache = default_cache()
    return {"list": _list, "explain": _explain, "clear": _clear, "purge": _purge}[args.action](cache, args)


def _list(cache: Cache, args: argparse.Namespace) -> int:
    entries = _chosen(cache, args.name)
    if args.json:
        _print_json({"directory": cache.root, "entries": [_record(entry) for entry in entries]})
        return 0
    total = sum(entry.size for entry in entries)
    _say(f"{cache.root}: {len(entries)} entries, {_bytes(total)}")
    for entry in entries:
        size = _bytes(entry.size)
        used = time.strftime("%Y-%m-%d %H:%M", time.localtime(_used(entry)))
        _say(f"  {entry.key[:12]}  {size:>9}  {used}  {entry.why.get('kind', ''):<9} {entry.why.get('name', '')}")
    return 0


def _explain(cache: Cache, args: argparse.Namespace) -> int:
    entries = _chosen(cache, args.name)
    if not entries:
        _say(f"no entry of {cache.root} has a name or key that begins with {args.name!r}")
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


def _clear(cache: Cache, args: argparse.Namespace) -> int:
    if args.name:
        chosen = _chosen(cache, args.name)
        for entry in chosen:
            cache.discard(entry.key)
        removed = len(chosen)
    else:
        removed = cache.clear()
    _report(args, {"removed": removed, "directory": cache.root}, f"removed {removed} entries from {cache.root}")
    return 0


def _purge(cache: Cache, args: argparse.Namespace) -> int:
    cache.purge()
    _report(args, {"purged": cache.root}, f"emptied {cache.root}")
    return 0


def _chosen(cache: Cache, name: str) -> list[Entry]:
    wanted = [e for e in cache.entries() if e.key.startswith(name) or str(e.why.get("name", "")).startswith(name)]
    return sorted(wanted, key=lambda entry: (-_used(entry), entry.key))


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
