"""The hash function of digests, without OpenSSL: `hashlib` loads that first, two milliseconds of every process.

Uses the standard library only.
"""

try:
    from _blake2 import blake2b
except ImportError:  # a Python that was built without it
    from hashlib import blake2b

__all__ = ["blake2b"]
