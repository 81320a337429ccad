"""Finding a C compiler and calling it.

May touch: the environment, the cache directory, subprocesses. Nothing is looked for until `find_compiler()` is called;
what a compiler can do is tried once, by building a one-line library, and remembered while it stays the same.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import json
import os
import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

from termgraph._lazy import lazy
from termgraph._records import NamedTuple, record
from termgraph.backends.c.build.cache import Cache, default_cache, digest, installation_cache
from termgraph.config import config

if TYPE_CHECKING:
    import shlex
    import subprocess

    from termgraph.backends.c.build import calling, compiler_errors
else:  # a warm start neither calls a compiler nor asks what its words would be
    shlex, subprocess = lazy("shlex"), lazy("subprocess")
    calling = lazy("termgraph.backends.c.build.calling")
    compiler_errors = lazy("termgraph.backends.c.build.compiler_errors")

# -O1 with the vectoriser runs as fast as -O3 and compiles in two thirds of the time.
# Never -ffast-math: it deletes NaN checks. Vectors of loops only: of two conversions side by side (double to float and
# back) gcc 12 forgets the rounding when it makes a vector of straight-line code.
COMMON_FLAGS = (
    "-std=gnu11",
    "-fPIC",
    "-pipe",
    "-O1",
    "-ftree-vectorize",
    "-fno-tree-slp-vectorize",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fno-asynchronous-unwind-tables",  # nothing unwinds through generated code, and they cost a tenth of the time
    # What gcc 14 and clang 16 refuse, older ones refuse too; nobody reads warnings (`-w` would take these along).
    "-Werror=implicit-function-declaration",
    "-Werror=implicit-int",
    "-Werror=int-conversion",
    "-Werror=incompatible-pointer-types",
)
_UNCHECKED = tuple([flag for flag in COMMON_FLAGS if not flag.startswith("-Werror=")])  # for what knows none of these
# To clang a pointer to constant numbers given as one to numbers is of that last group; to clang 16 it is a warning.
_UNMARKED = ("-Wno-error=incompatible-pointer-types-discards-qualifiers",)
_NATIVE = "-march=native"
LIBRARY = "m.so"  # the file that is made
# Upper halves of vector registers that a function leaves behind make every older instruction of the process ten times
# as slow on Intel's processors: libm, NumPy's loops, the interpreter. The pass that clears them is off at gcc's -O1.
_CLEARED = "-fenable-rtl-vzeroupper"
# Of an address that counts backwards (`x[::-1][::2]`) gcc 12 makes one of base 0, and two passes that look at functions
# again after that then think that a loop of such reads does nothing: its call is left out.
_LOOKED_AT_ONCE = ("-fdisable-tree-local-pure-const2", "-fdisable-tree-modref2")
# Constants beside the code, in pages that are there when it runs: a vector load of which no element is wanted, from a
# page that nobody has touched yet, takes 600 cycles each time (`xlogy(x, x)` of positive numbers).
_TOGETHER = ("-Wl,-z,noseparate-code",)
_VECLIB = ("-fveclib=libmvec", "-DTG_VECLIB")  # clang ignores the attribute that makes gcc call vector mathematics
# What clang and zig refuse: parameters of gcc's optimiser, its scheduler and its passes.
_OF_GCC = ("--param=", "-fsched", "-fno-thread-jumps", "-fno-tree-bit", "-fno-tree-sink", "-fno-ivopts", "-fira-",
           "-fenable-", "-fdisable-")  # fmt: skip
_PROBE = "#include <stdint.h>\nint tg_probe(int64_t n) { return (int)(n + 1); }\n"


class CompilerWarning(UserWarning):
    """A compiler was asked for and cannot be used."""


class Linked(NamedTuple):
    """What a shared library is linked with.

    `defined`: what it misses is an error now, not when it is loaded. A `bare` one finds what it needs of the C library
    in the process that loads it: reading that library takes most of the linker's time. Mathematical functions, of
    which there are several versions, are linked as ever.
    """

    libraries: tuple[str, ...] = ()
    defined: bool = True
    bare: bool = False


@record(frozen=True)
class Compiler:
    """A compiler that has been seen to work: its command, kind ("gcc", "clang", "zig" or "cc") and usable flags."""

    command: tuple[str, ...]
    kind: str
    flags: tuple[str, ...]
    identity: str
    version: str = field(default="", compare=False)

    def suits(self, flag: str) -> bool:
        """Whether a flag is for it: parameters of the optimiser, its scheduler and its passes are gcc's own.

        Widths of vectors are for processors that have them, tuning is for those whose gathers gcc thinks too little of:
        Intel's with AVX-512, and AMD's without.
        """
        if flag.startswith("-mprefer-vector-width"):
            return self.kind != "cc" and _NATIVE in self.flags and usable("avx512f")
        if flag.startswith("-mtune="):
            longest = usable("avx512f")
            found = {"GenuineIntel": longest, "AuthenticAMD": usable("avx2") and not longest}
            return self.kind == "gcc" and _NATIVE in self.flags and found.get(processor_maker(), False)
        if flag.startswith("-fno-builtin-"):
            return self.kind != "gcc"  # which has a better way (`cprogram.FLAGS`)
        return self.kind == "gcc" or not flag.startswith(_OF_GCC)

    def compile_command(self, source: str, output: str, flags: Sequence[str] = ()) -> list[str]:
        """The command that makes an object file."""
        return [*self.command, *self.flags, *flags, "-c", source, "-o", output]

    def link_command(self, objects: Sequence[str], output: str, linked: Linked | None = None) -> list[str]:
        """The command that makes a library of objects or sources. Libraries come last, or the linker drops them."""
        linked = linked or Linked()
        if linked.bare and self.kind == "gcc" and sys.platform == "linux":
            options, libraries = ["-shared", "-nostdlib"], (*linked.libraries, "-lgcc")
        else:
            more = ("-lm",) if "-lm" not in linked.libraries else ()  # nothing may be in place, as at -O0
            options, libraries = shared_flags(linked.defined), (*linked.libraries, *more)
        if self.kind == "gcc" and sys.platform == "linux":
            options = [*options, *_TOGETHER]
        return [*self.command, *self.flags, *options, *objects, "-o", output, *libraries]

    def environment(self) -> dict[str, str]:
        """The environment to run it in: messages in English, and zig's own cache below ours."""
        variables = dict(os.environ, LC_ALL="C")
        if self.kind == "zig":
            place = os.path.join(default_cache().folder(), "zig")
            variables.setdefault("ZIG_GLOBAL_CACHE_DIR", place)
            variables.setdefault("ZIG_LOCAL_CACHE_DIR", place)
        return variables


def shared_flags(defined: bool = True) -> list[str]:
    """Linker flags of a shared library; `defined` makes a missing symbol an error now instead of when it is loaded."""
    if sys.platform == "darwin":
        return ["-shared"] if defined else ["-shared", "-undefined", "dynamic_lookup"]
    return ["-shared", "-Wl,-z,defs"] if defined else ["-shared"]


# -- finding one -------------------------------------------------------------------------------


def find_compiler() -> Compiler | None:
    """The compiler to use, or None; `why_no_compiler()` says what was tried.

    The flag `cc` decides ("none": no compiler), then `$CC`; else gcc, cc, clang and the `ziglang` package are tried.
    """
    return _found()[0]


def vector_bytes() -> int:
    """How many bytes a vector has in compiled code that uses the longest ones; the flag `cflags` may forbid these."""
    compiler, out = find_compiler(), 16
    if compiler is not None and _NATIVE in compiler.flags:
        for flag, size in (("avx", 32), ("avx512f", 64)):
            if not usable(flag):
                break
            out = size
    return out


def usable(flag: str) -> bool:
    """Whether this processor has an instruction set, and the flag `cflags` does not forbid it."""
    return flag in processor_flags() and f"-mno-{flag}" not in words(str(config.cflags))


def words(text: str) -> list[str]:
    """The words of a command, as a shell reads them; few have quotes, for which there is a module."""
    return shlex.split(text) if any(c in text for c in "'\"\\") else text.split()


def joined(command: Sequence[str]) -> str:
    """A text that stands for these words and for no others."""
    text = " ".join(command)
    return text if words(text) == list(command) else shlex.join(command)


def why_no_compiler() -> str:
    """What was tried when `find_compiler()` found nothing: one line per candidate."""
    return "\n".join(_found()[1])


def _found() -> tuple[Compiler | None, list[str]]:
    # zig writes into the cache; the last one tells where verdicts are kept
    places = str(config.cache.dir), sys.dont_write_bytecode
    return _search(str(config.cc), os.environ.get("CC"), os.environ.get("PATH", ""), places)


@functools.lru_cache(maxsize=8)
def _search(flag: str, variable: str | None, path: str, places: tuple[str, bool]) -> tuple[Compiler | None, list[str]]:
    if flag == "none":
        return None, ["the flag cc is none: no compiler is wanted"]
    if flag:
        return _only(flag, "the flag cc")
    if variable:
        return _only(variable, "$CC")
    tried: list[str] = []
    for candidate in ("gcc", "cc", "clang"):
        compiler = _try([candidate], tried)
        if compiler is not None:
            return compiler, tried
    return _try(_zig_command(tried), tried), tried


def _only(text: str, origin: str) -> tuple[Compiler | None, list[str]]:
    """A compiler that was named is used or reported; another one in its place would be a silent surprise."""
    tried: list[str] = []
    compiler = _try(words(text), tried)
    if compiler is None:
        warnings.warn(
            f"{origin} names a compiler that cannot be used: {'; '.join(tried)}. Functions run on the Python virtual "
            "machine, with the same results; name another one, or unset it",
            CompilerWarning,
            stacklevel=4,
        )
    return compiler, tried


def _zig_command(tried: list[str]) -> list[str]:
    """zig as a C compiler, from the package `ziglang` if somebody has installed it."""
    found = importlib.util.find_spec("ziglang")
    if found is None or found.origin is None:
        tried.append("ziglang: the package is not installed (pip install ziglang brings a compiler, 400 MB)")
        return []
    return [os.path.join(os.path.dirname(found.origin), "zig"), "cc"]


def _try(command: list[str], tried: list[str]) -> Compiler | None:
    if not command:
        return None
    executable = shutil.which(command[0])
    if executable is None:
        tried.append(f"{command[0]}: not found on PATH")
        return None
    full = (executable, *command[1:])
    try:
        return verified(full, installation_cache())
    except compiler_errors.CompileError as error:
        tried.append(f"{shlex.join(full)}: cannot build a library: {error.first}")
    except OSError as error:
        tried.append(f"{shlex.join(full)}: {error.strerror or error}")
    return None


def verified(command: tuple[str, ...], cache: Cache) -> Compiler:
    """The compiler behind a command, after it has built a library here or once before.

    The verdict is kept with the installation, as the glue is: it is of the compiler, not of a program.
    """
    identity = compiler_identity(command)
    known = cache.read("compiler", identity)
    if known is not None:
        verdict = json.loads(known.read("verdict.json"))
        return Compiler(command, verdict["kind"], tuple(verdict["flags"]), identity, verdict["version"])
    version = _version(command)
    kind = _kind(command, version)
    compiler = _first_working(command, kind, identity, version)
    verdict = {"kind": kind, "flags": list(compiler.flags), "version": version}
    text = json.dumps(verdict, sort_keys=True).encode()
    cache.write("compiler", identity, {"verdict.json": text}, {"name": shlex.join(command)})
    return compiler


def _first_working(command: tuple[str, ...], kind: str, identity: str, version: str) -> Compiler:
    """Try the flags with and without tuning for this processor; the last refusal is raised."""
    failure: compiler_errors.CompileError | None = None
    common = (*COMMON_FLAGS, *(_UNMARKED if kind in ("clang", "zig") else ()))
    last = (_UNCHECKED,) if kind == "cc" else ()
    for flags in (*[(*common, *more) for more in _choices(kind)], common, *last):
        compiler = Compiler(command, kind, flags, identity, version)
        try:
            _probe(compiler)
            return compiler
        except compiler_errors.CompileError as error:
            failure = error
    assert failure is not None
    raise failure


def _choices(kind: str) -> list[tuple[str, ...]]:
    """Flags to try, best first. Clang knows which functions there are by itself: it may call any of glibc 2.35's."""
    if kind == "gcc":
        once = [_LOOKED_AT_ONCE, _LOOKED_AT_ONCE[:1]]  # gcc 10 has one of these passes
        return [*[(_NATIVE, _CLEARED, *passes) for passes in once], (_NATIVE, _CLEARED), (_NATIVE,)]
    complete = {*_LIBMVEC_ONE, *_LIBMVEC_TWO} <= libmvec()
    return [(_NATIVE, *_VECLIB), (_NATIVE,)] if kind in ("clang", "zig") and complete else [(_NATIVE,)]


def _probe(compiler: Compiler) -> None:
    with tempfile.TemporaryDirectory(prefix="termgraph-") as directory:
        with open(os.path.join(directory, "source.c"), "w") as out:
            out.write(_PROBE)
        command = compiler.link_command(["source.c"], "probe.so")
        calling.run_compiler(compiler.environment(), command, directory, _PROBE, "the test program", keep=False)


# -- identity ----------------------------------------------------------------------------------


def compiler_identity(command: Sequence[str]) -> str:
    """Path, size and time of the executable stand for its version: asking it would cost a process per start."""
    real = os.path.realpath(command[0])
    status = os.stat(real)
    chosen = digest(" ".join([*COMMON_FLAGS, _CLEARED, *_LOOKED_AT_ONCE, *_VECLIB, *_UNMARKED, libc_identity()]))[:8]
    return f"{joined([real, *command[1:]])}:{status.st_size}:{status.st_mtime_ns}:{chosen}"


def _version(command: Sequence[str]) -> str:
    try:
        done = subprocess.run(
            [*command, "--version"], check=False, capture_output=True, text=True, timeout=60, errors="replace"
        )
    except (OSError, subprocess.TimeoutExpired) as error:  # only text for people; the probe decides whether it works
        return f"version unknown ({error})"
    return (done.stdout or done.stderr).strip().partition("\n")[0]


def _kind(command: Sequence[str], version: str) -> str:
    name = os.path.basename(command[0])
    if name.startswith("zig"):
        return "zig"
    if "clang" in version:
        return "clang"
    return "gcc" if "gcc" in version.lower() or "Free Software" in version or name.startswith("gcc") else "cc"


@functools.cache
def processor_flags() -> frozenset[str]:
    """What this processor can execute, as Linux names it; empty where that is not known."""
    return frozenset(_processor()[1].split())


@functools.cache
def processor_maker() -> str:
    """Who made this processor, as Linux names them; empty where that is not known."""
    return _processor()[0].strip()


@functools.cache
def _processor() -> tuple[str, str]:
    """Maker and instruction sets of the first processor that the kernel describes; it writes the text at each look."""
    maker = ""
    try:
        with open("/proc/cpuinfo") as info:
            for line in info:
                if line.startswith("vendor_id"):
                    maker = line.partition(":")[2]
                elif line.startswith(("flags", "Features")):
                    return maker, line.partition(":")[2]
    except OSError:  # no /proc
        pass
    return maker, ""


@functools.cache
def cpu_identity() -> str:
    """A name for what this processor can execute: a shared cache never gives its code to another kind."""
    machine = os.uname().machine if hasattr(os, "uname") else "unknown"
    flags = processor_flags()
    return f"{machine}-{digest(' '.join(sorted(flags)))[:12]}" if flags else machine


@functools.cache
def libc_identity() -> str:
    """Name and version of the C library that compiled code will meet."""
    try:
        return os.confstr("CS_GNU_LIBC_VERSION") or "libc"
    except (AttributeError, ValueError, OSError):  # not glibc
        return sys.platform


def library_parts(
    compiler: Compiler,
    texts: Sequence[str],
    header: str,
    flags: Sequence[str],
    linked: Linked,
    parts: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """Everything that decides the content of a library: the cache key is the hash of this."""
    return {
        "source": digest("\0".join(texts)),
        "header": digest(header),
        "flags": joined([*compiler.flags, *flags]),
        "libraries": repr(tuple(linked)),
        "compiler": compiler.identity,
        "cpu": cpu_identity(),
        "libc": libc_identity(),
        **(parts or {}),
    }


# -- vector mathematics ------------------------------------------------------------------------

_LIBMVEC_ONE = (
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "cbrt",
    "cos",
    "cosh",
    "erf",
    "erfc",
    "exp",
    "exp10",
    "exp2",
)
_LIBMVEC_ONE += ("expm1", "log", "log10", "log1p", "log2", "sin", "sinh", "tan", "tanh")
_LIBMVEC_TWO = ("atan2", "pow")


@functools.cache
def libmvec() -> frozenset[str]:
    """The functions that glibc's vector library has here, for float64 and float32 in every vector length this CPU uses.

    Looked up in the library itself (0.2 ms), not with the linker. Empty where there is no such library.
    """
    return frozenset(_in_libmvec())


@functools.cache
def has_libmvec() -> bool:
    """Whether it has any: a program from the cache asks no more than that."""
    return next(_in_libmvec(), None) is not None


def _in_libmvec() -> Iterator[str]:
    try:
        library = ctypes.CDLL("libmvec.so.1")
    except OSError:  # musl, macOS, very old glibc: scalar functions are used
        return
    lengths = _vector_lengths()

    def complete(name: str, arguments: str) -> bool:
        return all(
            hasattr(library, f"_ZGV{isa}N{length}{arguments}_{name}")
            and hasattr(library, f"_ZGV{isa}N{2 * length}{arguments}_{name}f")
            for isa, length in lengths
        )

    yield from (n for n in _LIBMVEC_ONE if complete(n, "v"))
    yield from (n for n in _LIBMVEC_TWO if complete(n, "vv"))


def _vector_lengths() -> list[tuple[str, int]]:
    """Vector ABI letter and doubles per vector of what compiled code may call on this processor."""
    if not hasattr(os, "uname") or os.uname().machine != "x86_64":
        return [("n", 2)]  # Advanced SIMD
    flags = processor_flags()
    found = [("b", 2)]
    if "avx" in flags:
        found.append(("c", 4))
    if "avx2" in flags:
        found.append(("d", 4))
    if "avx512f" in flags:
        found.append(("e", 8))
    return found
