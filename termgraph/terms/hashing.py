"""Process-independent hashes of plain metadata: the same number under every PYTHONHASHSEED.

Structural hashes of terms start from these.
"""

from __future__ import annotations

from typing import Any

from termgraph._blake import blake2b


def stable_text(obj: object) -> str:
    """A canonical text for hashable metadata: numbers, strings, tuples, sets, dtypes, and objects with `_h`."""
    structural = getattr(obj, "_h", None)
    if structural is not None:
        return f"#{structural}"
    if isinstance(obj, (tuple, list)):
        return "(" + ",".join(map(stable_text, obj)) + ")"
    if isinstance(obj, (set, frozenset)):
        return "{" + ",".join(sorted(map(stable_text, obj))) + "}"
    if isinstance(obj, dict):
        return "{" + ",".join(f"{k}:{stable_text(obj[k])}" for k in sorted(obj)) + "}"
    if isinstance(obj, type) or callable(obj):
        return f"{getattr(obj, '__module__', '')}.{getattr(obj, '__qualname__', type(obj).__qualname__)}"
    return f"{type(obj).__name__}:{obj!r}"


def stable_hash(*parts: Any) -> int:
    """A signed 64-bit number that depends on the parts' meaning only, never on the process."""
    digest = blake2b("|".join(map(stable_text, parts)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)


def bytes_hash(raw: bytes) -> int:
    """A signed 64-bit number for the content of a constant."""
    return int.from_bytes(blake2b(raw, digest_size=8).digest(), "little", signed=True)
