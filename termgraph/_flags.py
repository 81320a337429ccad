"""The table of configuration flags, and the kinds of value a flag may have.

To add a flag, add one line to FLAGS. How flags are read, set and overridden is in config.py. Imports nothing of
termgraph but `_lazy`.
"""

import contextlib
import functools
import operator
import os
import stat
from collections.abc import Callable
from typing import Any, NamedTuple

from termgraph._lazy import lazy

tempfile = lazy("tempfile")


class Refused(ValueError):
    """A value that a flag cannot have, with a sentence that helps further."""


class Kind(NamedTuple):
    """What a flag may hold: `expects` in words, and `parse`, which turns text or a Python value into the value.

    `parse` raises ValueError or TypeError for anything else; the message of Refused is shown to the user.
    """

    expects: str
    parse: Callable[[Any], Any]


class Flag(NamedTuple):
    """One configuration flag: its name, default, kind, meaning, other names, and its own environment variable."""

    name: str
    default: Any
    kind: Kind
    doc: str
    aliases: tuple[str, ...] = ()
    env: str | None = None


def choice(*options: str, spellings: dict[str, str] | None = None) -> Kind:
    """One of some words; capitals and underscores do not matter, and `spellings` lists other accepted words."""
    canonical = {_plain(option): option for option in options}
    canonical |= {_plain(other): option for other, option in (spellings or {}).items()}

    def parse(value: Any) -> str:
        found = canonical.get(_plain("None" if value is None else value))
        if found is None:
            raise ValueError
        return found

    return Kind("one of " + ", ".join(options), parse)


def integer(low: int, high: int | None = None) -> Kind:
    """A whole number from `low` to `high` (both included)."""

    def parse(value: Any) -> int:
        number = int(value.strip()) if isinstance(value, str) else operator.index(value)
        if isinstance(value, bool) or number < low or (high is not None and number > high):
            raise ValueError
        return number

    return Kind(f"a whole number >= {low}" if high is None else f"a whole number from {low} to {high}", parse)


def _plain(word: Any) -> str:
    if not isinstance(word, str):
        raise TypeError
    return word.strip().replace("_", "").casefold()


def _parse_boolean(value: Any) -> bool:
    words = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}
    word = str(value).strip().casefold()
    if word not in words:
        raise ValueError
    return words[word]


def _parse_amount(value: Any) -> float:
    amount = float(value)
    if isinstance(value, bool) or not 0 <= amount < float("inf"):
        raise ValueError
    return amount


def _parse_text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value.strip()


def _parse_folder(value: Any) -> str:
    path = os.fspath(value).strip()
    if not path:
        raise ValueError
    return os.path.abspath(os.path.expanduser(path))


def _parse_paths(value: Any) -> tuple[str, ...]:
    parts = value.split(os.pathsep) if isinstance(value, str) else map(os.fspath, value)
    return tuple(os.path.abspath(os.path.expanduser(part.strip())) for part in parts if part.strip())


def _parse_size(value: Any) -> int:
    """Bytes: 1048576, "512 MB" and "2GB" (powers of 1024)."""
    if not isinstance(value, str):
        return integer(0).parse(value)
    text = value.strip().upper().removesuffix("B").removesuffix("I").rstrip()
    unit = 1024 ** (" KMGT".index(text[-1])) if text and text[-1] in "KMGT" else 1
    return int(_parse_amount(text.rstrip("KMGT")) * unit)


def _parse_device(value: Any) -> str:
    word = _plain(value)
    if word == "cpu":
        return "cpu"
    for family in ("cuda", "gpu"):
        number = word.removeprefix(family).lstrip(":")
        if word.startswith(family) and number in ("", "0"):
            return "cuda"
        if word.startswith(family) and number.isdigit():
            raise Refused(f"to use GPU {number}, set device=cuda and the environment variable CUDA_VISIBLE_DEVICES")
    raise ValueError


def default_cache_folder() -> str:
    """$XDG_CACHE_HOME/termgraph, or ~/.cache/termgraph; for a user without a home, a folder of their own in /tmp."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return _folder_without_home() if base.startswith("~") else os.path.join(base, "termgraph")


@functools.cache
def _folder_without_home() -> str:
    """A temporary folder that nobody else can have put anything into: code is loaded from it."""
    if not hasattr(os, "geteuid"):
        return tempfile.mkdtemp(prefix="termgraph-")
    folder = os.path.join(tempfile.gettempdir(), f"termgraph-{os.geteuid()}")
    try:
        with contextlib.suppress(FileExistsError):
            os.mkdir(folder, 0o700)
        status = os.lstat(folder)
        if stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o077:
            return folder
    except OSError:  # nothing can be written there: whoever writes will say so
        return folder
    return tempfile.mkdtemp(prefix="termgraph-")


BOOLEAN = Kind("true or false", _parse_boolean)
TEXT = Kind("text", _parse_text)
FOLDER = Kind("the path of a folder", _parse_folder)
PATHS = Kind(f"paths separated by {os.pathsep!r}", _parse_paths)
SIZE = Kind("a size such as 500MB or 2GB", _parse_size)
AMOUNT = Kind("a number >= 0", _parse_amount)
DEVICE = Kind("cpu or cuda", _parse_device)
FLOATS = choice("bfloat16", "float16", "float32", "float64")
REACTION = choice("raise", "warn", "ignore")
TEST_VALUES = choice("off", "ignore", "warn", "raise")
OPTIMIZERS = choice("fast_run", "fast_compile", "unsafe", "None")
LINKERS = choice("auto", "c", "py", "cuda", spellings={"cvm": "c", "vm": "py"})
MODES = choice("Mode", "FAST_RUN", "FAST_COMPILE", "UNSAFE", "STRICT", "ACCURATE", "DEBUG_MODE", "NanGuardMode", "None")
CONVOLUTION = choice(
    *(
        "panels",
        "gemm",
        "direct",
        "none",
        "small",
        "large",
        "fft",
        "fft_tiling",
        "winograd",
        "winograd_non_fused",
        "deterministic",
        "cudnn",
    ),
    *("guess_once", "guess_on_shape_change", "time_once", "time_on_shape_change"),
)
# fmt: off
FLAGS = (
    # what expressions mean
    Flag("floatX", "float64", FLOATS,
         "dtype of the variables made by constructors that name none: T.matrix(), T.vector(), ..."),
    Flag("compute_test_value", "off", TEST_VALUES,
         "compute expressions from test values of their inputs while they are built; what to do where one is missing"),
    # how functions are compiled
    Flag("device", "cpu", DEVICE,
         "where compiled functions run"),
    Flag("mode", "Mode", MODES,
         "compilation mode of functions that name none; Mode is made from `optimizer` and `linker`"),
    Flag("optimizer", "fast_run", OPTIMIZERS,
         "the set of rules that a Mode starts from"),
    Flag("optimizer_including", "", TEXT,
         "further tags of rules to use, separated by ':'"),
    Flag("optimizer_excluding", "", TEXT,
         "tags of rules to leave out, separated by ':'"),
    Flag("linker", "auto", LINKERS,
         "what runs a compiled function; auto is c where a C compiler is found, else py"),
    Flag("on_unused_input", "raise", REACTION,
         "what function() does about an input that no output needs"),
    Flag("reoptimize_unpickled_function", False, BOOLEAN,
         "rewrite a function again when it is unpickled"),
    Flag("plugins", True, BOOLEAN,
         "load the rules that other installed packages offer", env="TERMGRAPH_PLUGINS"),
    Flag("rules.path", (), PATHS,
         "rule files, and folders of rule files, to load beside the library", env="TERMGRAPH_RULES"),
    # how compiled functions run
    Flag("allow_gc", True, BOOLEAN,
         "free an intermediate result after its last use, instead of keeping its memory for the next call"),
    Flag("scan.allow_gc", False, BOOLEAN,
         "the same inside scan"),
    Flag("threads", 0, integer(0),
         "threads of one compiled function; 0 is one per core that the process may use"),
    Flag("blas.threads", 1, integer(0),
         "threads of one BLAS call, if it is not a block of a product dealt out to `threads`; 0 is one per core"),
    # the C compiler and its cache
    Flag("cc", "", TEXT,
         "C compiler command; empty is the first found of $CC, gcc, clang and ziglang; none uses no compiler",
         aliases=("cxx",)),
    Flag("cflags", "", TEXT,
         "further options for the C compiler"),
    Flag("relayout", True, BOOLEAN,
         "compile programs for large arguments that are slices or transposed, once copying them has cost as much"),
    Flag("python_parts", "loops", choice("ignore", "loops", "all"),
         "of which parts of a compiled function, run by Python for want of C code, to warn: loops, whose every step "
         "costs Python's time, or all operations"),
    Flag("known_lengths", True, BOOLEAN,
         "compile for the present lengths of shared variables, and again when they change; off: one program for all"),
    Flag("on_compile_error", "raise", choice("raise", "warn"),
         "what to do if the C compiler fails on a function with linker=auto: warn runs it on the Python VM"),
    Flag("cache.dir", default_cache_folder, FOLDER,
         "folder of compiled code", aliases=("base_compiledir",)),
    Flag("cache.size_limit", 2 * 1024**3, SIZE,
         "size of that folder above which the least recently used entries are removed; 0 is no limit"),
    Flag("cache.programs", True, BOOLEAN,
         "keep finished programs there too, so that an equal function starts without rewriting"),
    # GPU
    Flag("cuda.driver", "core", choice("core", "pycuda"),
         "the Python package that talks to the GPU: cuda-core or pycuda"),
    Flag("cuda.products", "float32", choice("float32", "tf32", "bfloat16", "float16"),
         "what operands of products of float32 matrices are rounded to on the GPU; sums are float32"),
    Flag("cuda.time_convolutions", True, BOOLEAN,
         "time cuDNN's plans, and products by cuBLAS, for a convolution when it first runs, and keep in the cache "
         "which was the fastest; off: what cuDNN recommends"),
    Flag("gpu.pool_reserve", 0.0, AMOUNT,
         "GPU memory to reserve at start: up to 1 a share of it all, above 1 in MiB", aliases=("lib.cnmem",)),
    Flag("dnn.conv.algo_fwd", "guess_once", CONVOLUTION,
         "algorithm of a convolution, by name or by how to choose it"),
    Flag("dnn.conv.algo_bwd_data", "guess_once", CONVOLUTION,
         "algorithm of a convolution's gradient for its input"),
    Flag("dnn.conv.algo_bwd_filter", "guess_once", CONVOLUTION,
         "algorithm of a convolution's gradient for its filters"),
    # looking and debugging
    Flag("print.style", "default", choice("default", "theano"),
         "how graphs are printed; theano prints the names of Theano's ops"),
    Flag("dprint.limit", 10_000, integer(0),
         "most lines that dprint() prints of one graph; 0 is no limit"),
    Flag("traceback.limit", 8, integer(0),
         "lines of your code remembered with each variable, for error messages; 0 remembers none"),
    Flag("profile", False, BOOLEAN,
         "time the instructions of every function"),
    Flag("progress", "auto", choice("auto", "on", "off"),
         "show what long work is at, on one line of stderr: auto does so on a terminal and in a notebook, not in CI"),
    Flag("debug", 0, integer(0, 5),
         "how much to report: 0 is nothing, 5 is everything", env="TERMGRAPH_DEBUG"),
    Flag("NanGuardMode.nan_is_error", True, BOOLEAN,
         "NanGuardMode stops at a NaN"),
    Flag("NanGuardMode.inf_is_error", True, BOOLEAN,
         "NanGuardMode stops at an infinity"),
    Flag("NanGuardMode.big_is_error", True, BOOLEAN,
         "NanGuardMode stops at a number above 1e10"),
)
# fmt: on
