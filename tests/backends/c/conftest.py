"""Fixtures of the C backend's tests: cache directories, and programs called through the glue and through ctypes."""

import importlib.util
import pathlib
import shutil

import pytest

from termgraph.config import config

collect_ignore = [] if shutil.which("gcc") or shutil.which("clang") else ["test_c_calls.py", "test_c_state.py"]
collect_ignore += [] if shutil.which("gcc") or shutil.which("clang") else ["test_c_threads.py", "test_c_builder.py"]


def _load_kernels():
    """kernels.py beside this file, whatever way pytest imports test modules."""
    spec = importlib.util.spec_from_file_location("c_kernels", pathlib.Path(__file__).with_name("kernels.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def kernels():
    """The hand-written programs."""
    return _load_kernels()


@pytest.fixture(scope="session")
def built_once(request, tmp_path_factory):
    """A cache directory that lasts (where pytest keeps a cache), so that programs are compiled once, not every run."""
    cache = getattr(request.config, "cache", None)
    return tmp_path_factory.mktemp("termgraph-c") if cache is None else cache.mkdir("termgraph-c")


@pytest.fixture
def shared_cache(built_once, monkeypatch):
    """Use the lasting cache directory."""
    monkeypatch.setattr(config.cache, "dir", str(built_once))


@pytest.fixture(params=["glue", "ctypes"])
def programs(request, shared_cache, kernels):
    """Builds and binds programs: each test runs once with the C glue and once with the ctypes fallback."""
    return kernels.Programs(kernels.PROVIDERS[request.param]())


@pytest.fixture
def glue_programs(shared_cache, kernels):
    """Programs called through the C glue, for what only the glue does."""
    return kernels.Programs(kernels.PROVIDERS["glue"]())


@pytest.fixture
def cache_dir(tmp_path, monkeypatch):
    """A fresh cache directory whose name has a space and an accent."""
    place = tmp_path / "cache é dir"
    monkeypatch.setattr(config.cache, "dir", str(place))
    return place
