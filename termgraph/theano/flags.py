"""theano.config: termgraph's flags under Theano's names, and those of Theano's that have no effect here.

Reads THEANO_FLAGS and ~/.theanorc when first used. May import config.
"""

from __future__ import annotations

import configparser
import os
import struct
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import ContextDecorator, ExitStack
from typing import Any

from termgraph.backends.c.build.compilers import find_compiler
from termgraph.config import Config, describe
from termgraph.config import config as native
from termgraph.tensor.likes import TensorLike

# Theano's optimizers and linkers by the nearest of termgraph's.
OPTIMIZERS: dict[str, str] = {
    "o4": "fast_run", "o3": "fast_run", "o2": "fast_run", "o1": "fast_compile", "merge": "None",
    "stabilize": "fast_run", "fast_run": "fast_run", "fast_run_stable": "fast_run", "fast_compile": "fast_compile",
    "fast_compile_gpu": "fast_compile", "unsafe": "unsafe",
}  # fmt: skip
_LINKERS = {"py": "py", "vm": "py", "vm_nogc": "py", "py_nogc": "py", "cuda": "cuda"}


def canonical_linker(name: str) -> str:
    """Theano's linkers by the nearest of termgraph's: those with C run in Python what has no C."""
    return _LINKERS.get(name.lower(), "auto")


def _optimizer(value: object) -> Any:
    return OPTIMIZERS.get(str(value).lower(), value)


def _mode(value: object) -> Any:
    return {"profilemode": "FAST_RUN", "profile_mode": "FAST_RUN", "fast_run_nogc": "FAST_RUN"}.get(
        str(value).lower(), value
    )


def _cxx(value: object) -> Any:
    """An empty compiler means none, as in Theano."""
    return value or "none"


# Flags that are termgraph's own, by Theano's name: (termgraph's name, how a value is to be changed).
_Change = Callable[[Any], Any] | None
SAME: dict[str, tuple[str, _Change]] = {
    **{name: (name, None) for name in (
        "floatX", "compute_test_value", "device", "optimizer_including", "optimizer_excluding", "on_unused_input",
        "reoptimize_unpickled_function", "allow_gc", "scan.allow_gc", "traceback.limit", "profile",
        "base_compiledir", "NanGuardMode.nan_is_error", "NanGuardMode.inf_is_error", "NanGuardMode.big_is_error",
        "dnn.conv.algo_fwd", "dnn.conv.algo_bwd_data", "dnn.conv.algo_bwd_filter", "lib.cnmem",
    )},
    "linker": ("linker", canonical_linker), "optimizer": ("optimizer", _optimizer), "mode": ("mode", _mode),
    "cxx": ("cc", _cxx), "gpuarray.preallocate": ("gpu.pool_reserve", lambda v: max(float(v), 0.0)),
}  # fmt: skip

# Flags of Theano's that make no difference, with Theano's defaults.
WITHOUT_EFFECT: dict[str, Any] = {
    "assert_no_cpu_op": "ignore", "cast_policy": "custom", "check_input": True, "check_stack_trace": "off",
    "compile.timeout": 120, "compile.wait": 5, "compiledir": "", "compiledir_format": "",
    "compute_test_value_opt": "off", "contexts": "",
    "conv.assert_shape": False, "cublas.lib": "cublas", "cuda.root": "", "cuda.enabled": True,
    "ctc.root": "", "cycle_detection": "regular", "deterministic": "default", "enable_initial_driver_test": True,
    "exception_verbosity": "low", "experimental.local_alloc_elemwise": False, "experimental.mrg": False,
    "experimental.local_alloc_elemwise_assert": True, "experimental.unpickle_gpu_on_cpu": False, "force_device": False,
    "gcc.cxxflags": "", "gpuarray.cache_path": "", "gpuarray.sched": "default", "gpuarray.single_stream": True,
    "gpuelemwise.sync": True, "home": os.path.expanduser("~"), "ignore_bug_before": "None", "init_gpu_device": "",
    "int_division": "int", "lib.amdlibm": False, "lib.amblibm": False, "magma.enabled": False, "max_use_ratio": 8,
    "metaopt.optimizer_excluding": "", "metaopt.optimizer_including": "", "metaopt.verbose": 0, "nocleanup": False,
    "n_apply": 20, "numpy.seterr_all": "ignore", "numpy.seterr_divide": "None", "numpy.seterr_over": "None",
    "numpy.seterr_under": "None", "numpy.seterr_invalid": "None", "on_opt_error": "warn", "on_shape_error": "warn",
    "openmp": False, "openmp_elemwise_minsize": 200000, "optimizer_requiring": "", "optimizer_verbose": False,
    "pickle_test_value": True, "print_active_device": True, "print_global_stats": False, "print_test_value": False,
    "profile_memory": False, "profile_optimizer": False, "profiling.debugprint": False, "profiling.destination":
    "stderr", "profiling.ignore_first_call": False, "profiling.min_memory_size": 1024, "profiling.n_apply": 20,
    "profiling.min_peak_memory": False, "profiling.n_ops": 20, "profiling.output_line_width": 512,
    "profiling.time_thunks": True, "reoptimize": False, "scan.allow_output_prealloc": True, "scan.debug": False,
    "tensor.cmp_sloppy": 0, "tensor.insert_inplace_optimizer_validate_nb": -1, "tensor.local_elemwise_fusion": True,
    "traceback.compile_limit": 0, "unittests.rseed": "666", "unpickle_function": True, "vm.lazy": None,
    "warn.ignore_bug_before": "0.9", "warn_float64": "ignore", "blas.ldflags": "", "blas.check_openmp": True,
    "dnn.enabled": "auto", "dnn.include_path": "", "dnn.library_path": "", "dnn.bin_path": "", "dnn.base_path": "",
    "dnn.conv.algo_bwd": "", "dnn.conv.workmem": "", "dnn.conv.workmem_bwd": "", "dnn.conv.precision": "as_input_f32",
    "DebugMode.check_c": True, "DebugMode.check_finite": True, "DebugMode.check_py": True, "DebugMode.patience": 10,
    "DebugMode.check_preallocated_output": "", "DebugMode.check_preallocated_output_ndim": 4,
    "DebugMode.check_strides": 0, "DebugMode.warn_input_not_reused": True, "cmodule.age_thresh_use": 0,
    "cmodule.compilation_warning": False, "cmodule.debug": False, "cmodule.mac_framework_link": False,
    "cmodule.preload_cache": False, "cmodule.remove_gxx_opt": False, "cmodule.warn_no_version": False,
    "nvcc.cudafast": False, "nvcc.fastmath": False, "nvcc.flags": "", "nvcc.compiler_bindir": "",
    "pycuda.init": False, "sched": "default", "gpu.local_elemwise_fusion": True, "local_bitwidth": 64,
    "warn.argmax_pushdown_bug": False, "warn.gpusum_01_011_0111_bug": False, "warn.sum_sum_bug": False,
    "warn.sum_div_dimshuffle_bug": False, "warn.subtensor_merge_bug": False, "warn.gpu_set_subtensor1": False,
    "warn.vm_gc_bug": False, "warn.signal_conv2d_interface": False, "warn.reduce_join": False,
    "warn.inc_set_subtensor1": False, "warn.round": False, "warn.inc_subtensor1_opt": False,
    "ProfileMode.n_apply_to_print": 15, "ProfileMode.n_ops_to_print": 20, "ProfileMode.min_memory_size": 1024,
    "ProfileMode.profile_memory": False, "test_value": "off", "scan.allow_output": True,
}  # fmt: skip


class TheanoConfigWarning(Warning):
    """A warning about a flag."""


class _Group:
    """Flags that share a prefix."""

    def __init__(self, prefix: str) -> None:
        self.__dict__["_prefix"] = prefix

    def __getattr__(self, name: str) -> Any:
        full = self._prefix + name
        if name.startswith("__"):
            raise AttributeError(name)
        _read_sources()
        if full in SAME:
            return _shown(full, _native_value(SAME[full][0]))
        if full in _values:
            return _values[full]
        if any(flag.startswith(full + ".") for flag in (*SAME, *_values)):
            return _Group(full + ".")
        return getattr(native, full) if not self._prefix else _native_value(full)

    def __setattr__(self, name: str, value: int | str) -> None:
        _read_sources()
        set_flag(self._prefix + name, value)


def _shown(name: str, value: Any) -> Any:
    if name == "cxx":
        return {"none": "", "": _found_compiler()}.get(value, value)
    return value


def _found_compiler() -> str:
    found = find_compiler()
    return " ".join(getattr(found, "command", ())) if found else ""


class TheanoConfig(_Group):
    """All flags, `theano.config`."""

    def change_flags(self, args: Mapping[str, Any] | None = None, **named: Any) -> Any:
        """Other values for a `with` block or a decorated function."""
        return change_flags(args, **named)

    def __str__(self) -> str:
        own = "\n".join(f"{name} = {value}   [no effect]" for name, value in sorted(_values.items()))
        return f"{native}\n{own}"


def set_flag(name: str, value: Any) -> None:
    """Set a flag by its dotted name."""
    if name in SAME:
        there, change = SAME[name]
        group, _, leaf = there.rpartition(".")
        setattr(_native_group(group), leaf, change(value) if change else value)
    elif name in _values:
        _values[name] = value
    else:
        group, _, leaf = name.rpartition(".")
        setattr(_native_group(group), leaf, value)  # refuses what it does not know, with a suggestion


def _native_group(group: str) -> Config:
    found: Any = native
    for part in group.split(".") if group else ():
        found = getattr(found, part)
    return found


def _native_value(name: str) -> Any:
    group, _, leaf = name.rpartition(".")
    return getattr(_native_group(group), leaf)


class change_flags(ContextDecorator):
    """Other values of flags for a `with` block or a function: `change_flags(floatX="float32")`."""

    def __init__(self, args: Mapping[str, Any] | None = None, **named: Any) -> None:
        self.flags = {k.replace("__", "."): v for k, v in {**(args or {}), **named}.items()}

    def __enter__(self) -> change_flags:
        _read_sources()
        self._stack = ExitStack()
        own = {k: v for k, v in self.flags.items() if k in _values}
        theirs = {SAME.get(k, (k, None))[0]: self._changed(k, v) for k, v in self.flags.items() if k not in own}
        if theirs:
            self._stack.enter_context(native.change_flags(theirs))
        before = {k: _values[k] for k in own}
        _values.update(own)
        self._stack.callback(_values.update, before)
        return self

    def _recreate_cm(self) -> change_flags:
        return change_flags(self.flags)

    def __exit__(self, *exception: object) -> None:
        self._stack.close()

    @staticmethod
    def _changed(name: str, value: str) -> str:
        change = SAME[name][1] if name in SAME else None
        return change(value) if change else value


config = TheanoConfig("")
TheanoConfigParser = TheanoConfig
_values = dict(WITHOUT_EFFECT)


# ---------------------------------------------------------------------- sources
THEANO_FLAGS = os.environ.get("THEANO_FLAGS", "")
_read = False


def parse_config_string(config_string: str, issue_warnings: bool = True) -> dict[str, str]:
    """`a=1,b=2` as a dictionary."""
    found = {}
    for part in config_string.split(","):
        name, equals, value = part.strip().partition("=")
        if equals:
            found[name] = value
        elif name and issue_warnings:
            warnings.warn(f"THEANO_FLAGS: no value for {name!r}", TheanoConfigWarning, stacklevel=2)
    return found


THEANO_FLAGS_DICT = parse_config_string(THEANO_FLAGS, issue_warnings=False)


def config_files_from_theanorc() -> list[str]:
    """The configuration files, of which later ones win."""
    listed = os.environ.get("THEANORC", "~/.theanorc")
    return [os.path.expanduser(path) for path in listed.split(os.pathsep) if path]


def _file_flags() -> Iterator[tuple[str, str]]:
    parser = configparser.RawConfigParser()
    parser.read(config_files_from_theanorc())
    for section in parser.sections():
        prefix = "" if section == "global" else f"{section}."
        yield from ((prefix + name, value) for name, value in parser.items(section))


def _read_sources() -> None:
    """Theano's own sources of flags, once; what termgraph's sources say already is left alone."""
    global _read
    if _read:
        return
    _read = True
    by_small = {name.lower(): name for name in (*SAME, *_values)}  # names in files have lost their capitals
    said = {row["name"] for row in describe() if row["source"] not in ("default",)}
    for name, value in (*_file_flags(), *THEANO_FLAGS_DICT.items()):
        name = by_small.get(name.lower(), name)
        if name in SAME and SAME[name][0] in said:
            continue
        if name in _values:
            _values[name] = _as(value, WITHOUT_EFFECT[name])
        elif name in SAME:
            set_flag(name, value)
        else:
            warnings.warn(f"THEANO_FLAGS: Theano has no flag {name!r}", TheanoConfigWarning, stacklevel=3)


def _as(text: str, like: TensorLike) -> Any:
    if isinstance(like, bool):
        return text.lower() in ("true", "1", "yes", "on")
    return type(like)(text) if isinstance(like, (int, float)) else text


def fetch_val_for_key(key: str, delete_key: bool = False) -> Any:
    """The value that THEANO_FLAGS or a file gives a flag; KeyError if neither does."""
    return {**dict(_file_flags()), **THEANO_FLAGS_DICT}[key]


def get_config_hash() -> str:
    """A text that differs where flags differ."""
    return f"{hash(str(config)):x}"


def floatX_convert(s: Any) -> str:
    """A number of bits as a dtype."""
    return {"32": "float32", "64": "float64", "16": "float16"}.get(str(s), s)


def local_bitwidth() -> int:
    """Bits of an address."""
    return 8 * struct.calcsize("P")


def python_int_bitwidth() -> int:
    """Bits of a C long."""
    return 8 * struct.calcsize("l")


# ---------------------------------------------------------------------- flags that programs add
class ConfigParam:
    """A flag with a default and a function that reads it."""

    def __init__(self, default: Any, filter: Callable | None = None, allow_override: bool = True) -> None:
        self.default, self.filter, self.allow_override = default, filter, allow_override

    def read(self, value: TensorLike) -> Any:
        """The value that a text means."""
        return self.filter(value) if self.filter else value


class TypedParam(ConfigParam):
    """A flag whose text is converted."""

    def __init__(self, default: Any, mytype: Callable, is_valid: Callable | None = None, **_: object) -> None:
        super().__init__(default, mytype)


def StrParam(default: object, is_valid: Callable[..., bool] | None = None, allow_override: bool = True) -> ConfigParam:
    """A flag that holds text."""
    return TypedParam(default, str)


def IntParam(default: object, is_valid: Callable[..., bool] | None = None, allow_override: bool = True) -> ConfigParam:
    """A flag that holds a whole number."""
    return TypedParam(default, int)


def FloatParam(
    default: object, is_valid: Callable[..., bool] | None = None, allow_override: bool = True
) -> ConfigParam:
    """A flag that holds a number."""
    return TypedParam(default, float)


def BoolParam(default: object, is_valid: Callable[..., bool] | None = None, allow_override: bool = True) -> ConfigParam:
    """A flag that is true or false."""
    return ConfigParam(default, lambda v: v if isinstance(v, bool) else _as(str(v), True))


class EnumStr(ConfigParam):
    """A flag that holds one of some words."""

    def __init__(self, default: Any, *options: Any, **_: object) -> None:
        self.all = (default, *options)
        super().__init__(default, self._one)

    def _one(self, value: object) -> Any:
        if value not in self.all:
            raise ValueError(f"expected one of {self.all}, got {value!r}")
        return value


DeviceParam = EnumStr


def AddConfigVar(name: str, doc: str, configparam: ConfigParam, root: Any = None, in_c_key: bool = True) -> None:
    """Add a flag of one's own; its value comes from THEANO_FLAGS, or is its default."""
    if name in _values or name in SAME:
        raise AttributeError(f"there is a flag {name!r} already")
    default = configparam.default() if callable(configparam.default) else configparam.default
    given = THEANO_FLAGS_DICT.get(name)
    _values[name] = default if given is None else configparam.read(given)


class PathParser:
    """Reads lists of paths."""

    def __call__(self, text: str) -> list[str]:
        return [p for p in text.split(os.pathsep) if p]


def default_compiledirname() -> str:
    """The folder of compiled code."""
    return native.cache.dir


def default_blas_ldflags() -> str:
    """Nothing: BLAS comes with termgraph."""
    return ""
