"""Installs the libraries termgraph is compared with, in virtual environments of their own.

Run `python benchmarks/peers.py` once; run it again to repair or to see what is there. Everything lands in the folder
$TERMGRAPH_BENCH_HOME (default: termgraph-bench in the user's cache folder), never in the repository. A peer that
cannot be installed is reported by name and the exit code is 1. Uses the standard library only.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent

# Name, what to install, the module to import. The versions are those the project's targets were measured with.
PEERS = {
    "numpy": ("numpy==2.4.6", "numpy"),
    "numexpr": ("numexpr==2.14.2", "numexpr"),
    "pytensor": ("pytensor==3.0.7", "pytensor"),
    "jax": ("jax==0.10.2", "jax"),
    "torch": ("torch==2.13.0", "torch"),
    "optax": ("optax==0.2.8", "optax"),
    "egglog": ("egglog==13.2.0", "egglog"),
    "openblas": ("scipy-openblas32", "scipy_openblas32"),  # BLAS for PyTensor where the system has none
    "lasagne": ("lasagne==0.1", "numpy"),  # imports Theano, which digits.py replaces: here only its NumPy is tried
    "pymc": ("pymc", "pymc"),  # the newest for this Python; it brings the PyTensor that goes with it
}
SHARED = "all"  # the environment that holds every peer that tolerates the others
APART: dict[str, tuple[str, ...]] = {
    "lasagne": (),
    "pymc": ("numba", "jax", "termgraph"),
}  # peers with an environment of their own, and what else goes there


def home() -> Path:
    """Where environments, caches and compiled helpers live."""
    given = os.environ.get("TERMGRAPH_BENCH_HOME")
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(given or os.path.join(cache, "termgraph-bench")).expanduser().absolute()


def manifest() -> dict:
    """What is installed: {"peers": {name: {"python", "version"}}, "blas": PyTensor's linker flags}."""
    path = home() / "peers.json"
    return json.loads(path.read_text()) if path.is_file() else {"peers": {}, "blas": ""}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("peer", nargs="*", help=f"which ones (default: all): {', '.join(PEERS)}")
    parser.add_argument("--latest", action="store_true", help="the newest versions instead of the pinned ones")
    parser.add_argument("--list", action="store_true", help="install nothing, say what is there")
    parser.add_argument(
        "--pip", action="append", default=[], metavar="OPTION", help="passed to pip, e.g. --pip=--index-url=..."
    )
    asked = parser.parse_args()
    unknown = [name for name in asked.peer if name not in PEERS]
    if unknown:
        parser.error(f"unknown peer {', '.join(unknown)}; known: {', '.join(PEERS)}")
    if inside_repository(home()):
        parser.error(f"TERMGRAPH_BENCH_HOME is {home()}: choose a folder outside the repository")
    state = manifest()
    failures: dict[str, str] = {}
    for name in asked.peer or PEERS:
        error = None if asked.list else provide(name, state, asked)
        if error or name not in state["peers"]:
            failures[name] = error or "not installed"
    if not asked.list:
        state["blas"] = blas_flags(state)
        save(state)
    report(state, failures)
    return 1 if failures else 0


def inside_repository(folder: Path) -> bool:
    return folder == REPOSITORY or REPOSITORY in folder.parents


def provide(name: str, state: dict, asked: argparse.Namespace) -> str | None:
    """Install one peer unless it is there; the error text if that fails."""
    requirement, module = PEERS[name]
    wanted = None if asked.latest else requirement.partition("==")[2] or None
    known = state["peers"].get(name)
    if known and not asked.latest:
        version = installed_version(known["python"], name)
        if version and version.partition("+")[0] == (wanted or version.partition("+")[0]):
            return None
    error = "not tried"
    for environment in (name,) if name in APART else (SHARED, name):  # its own if it does not agree with the others
        python = make_environment(environment)
        for companion in APART.get(name, ()):
            ours = companion == "termgraph"
            error = install(python, str(REPOSITORY), [*asked.pip, "--editable"]) if ours else None
            error = error if ours else install(python, companion, asked.pip)
            if error:
                return error
        error = install(python, requirement.partition("==")[0] if asked.latest else requirement, asked.pip)
        error = error or importable(python, module)
        if error is None:
            state["peers"][name] = {"python": str(python), "version": installed_version(str(python), name)}
            save(state)
            return None
        print(f"{name}: not in environment {environment!r}: {error}", file=sys.stderr)
    state["peers"].pop(name, None)
    return error


def make_environment(name: str) -> Path:
    """The interpreter of environment `name`, made if needed."""
    python = home() / "envs" / name / "bin" / "python"
    if not python.is_file():
        subprocess.run([sys.executable, "-m", "venv", str(home() / "envs" / name)], check=True)
    return python


def install(python: Path, requirement: str, options: list[str]) -> str | None:
    """Install without moving what other peers in the same environment have; the error text if pip refuses."""
    frozen = home() / "constraints.txt"
    frozen.parent.mkdir(parents=True, exist_ok=True)
    package = requirement.partition("==")[0]
    listed = subprocess.run([python, "-m", "pip", "freeze"], capture_output=True, text=True, check=True).stdout
    frozen.write_text(
        "".join(f"{line}\n" for line in listed.splitlines() if "==" in line and line.partition("==")[0] != package)
    )
    print(f"installing {requirement} ...", flush=True)
    command = [
        "nice",
        "-n",
        "10",
        str(python),
        "-m",
        "pip",
        "install",
        "--upgrade",
        "-c",
        str(frozen),
        *options,
        requirement,
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == 0:
        return None
    lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
    return " ".join(lines)[:500] or f"pip ended with code {done.returncode}"


def importable(python: Path, module: str) -> str | None:
    done = subprocess.run([python, "-c", f"import {module}"], capture_output=True, text=True)
    return None if done.returncode == 0 else (done.stderr.strip().splitlines() or ["import failed"])[-1]


def installed_version(python: str, name: str) -> str | None:
    package = PEERS[name][0].partition("==")[0]
    code = f"import importlib.metadata as m; print(m.version({package!r}))"
    try:
        done = subprocess.run([python, "-c", code], capture_output=True, text=True)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


# ---------------------------------------------------------------------- BLAS for PyTensor
def blas_flags(state: dict) -> str:
    """Linker flags that give PyTensor's C code a BLAS: pip's PyTensor comes without one."""
    if links("-lopenblas"):
        return "-lopenblas"
    if "openblas" not in state["peers"]:
        return ""
    code = "import scipy_openblas32 as o; print(o.get_lib_dir()); print(o.get_library())"
    python = state["peers"]["openblas"]["python"]
    folder, library = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    return shim(Path(folder), library)


def links(flags: str) -> bool:
    source = "extern void sgemm_(void); int main(void) { sgemm_(); return 0; }"
    command = ["gcc", "-x", "c", "-", "-o", os.devnull, *flags.split()]
    try:
        return subprocess.run(command, input=source, capture_output=True, text=True).returncode == 0
    except OSError:
        return False


def shim(folder: Path, library: str) -> str:
    """A library whose `sgemm_` jumps to `scipy_sgemm_`: the wheel's OpenBLAS prefixes every name."""
    file = next(folder.glob(f"lib{library}.*"))
    listed = subprocess.run(
        ["nm", "-D", "--defined-only", str(file)], capture_output=True, text=True, check=True
    ).stdout
    names = sorted({line.split()[-1] for line in listed.splitlines() if line.split()[-1].startswith("scipy_")})
    jump = {"x86_64": "jmp {}@PLT", "aarch64": "b {}"}[os.uname().machine]
    text = [".text"]
    for name in names:
        plain = name.removeprefix("scipy_")
        text += [f".globl {plain}", f".type {plain},@function", f"{plain}: {jump.format(name)}"]
    text.append('.section .note.GNU-stack,"",@progbits')
    made = home() / "blas"
    made.mkdir(parents=True, exist_ok=True)
    (made / "shim.s").write_text("\n".join(text) + "\n")
    command = ["gcc", "-shared", "-fPIC", str(made / "shim.s"), "-o", str(made / "libbenchblas.so")]
    subprocess.run([*command, f"-L{folder}", f"-l{library}", f"-Wl,-rpath,{folder}"], check=True)
    return f"-L{made} -lbenchblas"  # no comma: PYTENSOR_FLAGS is split there; PyTensor adds the run path itself


# ---------------------------------------------------------------------- state and report
def save(state: dict) -> None:
    home().mkdir(parents=True, exist_ok=True)
    path = home() / "peers.json"
    path.with_suffix(".tmp").write_text(json.dumps(state, indent=1) + "\n")
    path.with_suffix(".tmp").replace(path)


def report(state: dict, failures: dict[str, str]) -> None:
    print(f"{home()}:")
    for name, peer in state["peers"].items():
        print(f"  {name:10} {peer['version']:16} {Path(peer['python']).parent.parent.name}")
    print(f"  BLAS for PyTensor: {state['blas'] or 'none found: its matrix products will be slow'}")
    for name, error in failures.items():
        print(f"  {name:10} MISSING: {error}")


if __name__ == "__main__":
    raise SystemExit(main())
