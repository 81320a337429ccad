"""C text that both backends share, as CUDA C++ spells it: what gcc builds in, where functions run, whose types count.

Pure text. Everything that NVRTC does not know of gcc's language is turned here, not where it is written.
"""

from __future__ import annotations

import re

from termgraph.backends.c.text import prelude as c

INLINE = "__device__ __forceinline__ "
_WORDS = {"_Bool": "bool", "__builtin_popcount": "__popc", "__builtin_popcountll": "__popcll"}
_WORDS |= {f"__builtin_{name}": f"tg_{name}" for name in ("islessgreater", "isunordered")}
# C++ chooses among several functions of these names, and cannot where a whole number stands beside a float.
_OF_TWO = ("copysign", "fmod", "pow", "atan2", "hypot", "fmax", "fmin")
_TURNED = re.compile(r"\b(?:_Bool|__builtin_\w+|(?:" + "|".join(_OF_TWO) + r")(?=\())")
_CONSTANT = re.compile(r'__builtin_(inf|nan)(f?)\((?:"")?\)')
_ALONE = re.compile(r"^static (?!const |__device__)(?:inline )?(?:__attribute__\(\((.*?)\)\)\s)?", re.MULTILINE)
_TABLE = re.compile(r"^static const ", re.MULTILINE)
HELPERS = {
    "tg_islessgreater": f"""template <class T, class S> {INLINE}bool tg_islessgreater(T a, S b)
{{
    return a < (T)b || a > (T)b;
}}""",
    "tg_isunordered": f"template <class T> {INLINE}bool tg_isunordered(T a, T b) {{ return a != a || b != b; }}",
    **{
        f"tg_double_{name}": f"{INLINE}double tg_double_{name}(double a, double b) {{ return {name}(a, b); }}"
        for name in _OF_TWO
    },
}


def device_text(text: str) -> str:
    """Shared text of helpers for a device: their functions run there, and so do the tables they read."""
    text = _ALONE.sub(_placed, text.replace(c._INLINE, INLINE))
    return device_spelling(_TABLE.sub("static __device__ const ", text))


def device_spelling(text: str) -> str:
    """Shared text of an expression for a device."""
    return _TURNED.sub(_word, _CONSTANT.sub(_number, text))


def _placed(match: re.Match[str]) -> str:
    return "static __device__ " + ("__noinline__ " if "noinline" in (match[1] or "") else "")


def _number(match: re.Match[str]) -> str:
    return f"TG_{match[1]}{match[2]}".upper()


def _word(match: re.Match[str]) -> str:
    word = _WORDS.get(match[0]) or match[0].removeprefix("__builtin_")  # most are CUDA's own names as well
    return f"tg_double_{word}" if word in _OF_TWO else word
