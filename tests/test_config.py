"""Flags: their sources and precedence, errors, and change_flags over exceptions, threads and tasks."""

import asyncio
import copy
import os
import pickle
import subprocess
import sys
import tempfile
import threading
import timeit

import pytest

from termgraph import _flags
from termgraph._flags import FLAGS
from termgraph.config import Config, ConfigError, UnknownFlagError, config, describe


def configured(tmp_path, flags="", rc=None, **environ):
    """A Config of its own, with TERMGRAPH_FLAGS and the text of a configuration file."""
    if rc is not None:
        (tmp_path / "rc").write_text(rc, encoding="utf-8")
    listed = str(tmp_path / "rc") if rc is not None else ""
    return Config(environ={"TERMGRAPH_FLAGS": flags, "TERMGRAPHRC": listed, **environ})


def row(of, name):
    return next(row for row in describe(of) if row["name"] == name)


def test_every_default_is_a_value_the_flag_accepts():
    fresh = Config(environ={"TERMGRAPHRC": ""})
    for name, value in [(row["name"], row["default"]) for row in describe(fresh)]:
        assert fresh._store.parse(name, value, "test") == value, name


def test_the_table_of_flags():
    names = [flag.name for flag in FLAGS] + [alias for flag in FLAGS for alias in flag.aliases]
    assert len(names) == len(set(names))
    assert all(flag.doc and (not flag.doc.endswith(".") or flag.doc.endswith("...")) for flag in FLAGS)
    clashes = {name for name in names if any(other.startswith(name + ".") for other in names)}
    assert not clashes, "a name cannot be both a flag and a group of flags"
    assert not [name for name in names if hasattr(Config, name.split(".")[0])], "a flag would hide a method"


def test_precedence(tmp_path):
    rc = "[global]\nfloatX = float16\ndevice = cuda\non_unused_input = warn\n[scan]\nallow_gc = yes\n"
    own = configured(tmp_path, "floatX=float32, device=cpu", rc)
    assert (own.floatX, own.device, own.on_unused_input, own.scan.allow_gc) == ("float32", "cpu", "warn", True)
    assert row(own, "floatX")["source"] == "TERMGRAPH_FLAGS"
    assert row(own, "on_unused_input")["source"] == str(tmp_path / "rc")
    assert row(own, "linker")["source"] == "default"
    own.floatX = "float64"
    assert own.floatX == "float64" and row(own, "floatX")["source"] == "assignment"


def test_assignment_before_the_first_use_still_beats_the_environment(tmp_path):
    own = configured(tmp_path, "floatX=float32")
    own.floatX = "float16"
    assert own.floatX == "float16"


def test_several_rc_files_later_ones_win(tmp_path):
    for name, value in (("a", "float16"), ("b", "float32")):
        (tmp_path / name).write_text(f"[global]\nfloatX={value}\n")
    own = Config(environ={"TERMGRAPHRC": f"{tmp_path / 'a'}:{tmp_path / 'b'}"})
    assert own.floatX == "float32"


def test_home_rc_file(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert Config(environ={}).floatX == "float64"
    (tmp_path / ".termgraphrc").write_text("[global]\nfloatX = float32\n")
    assert Config(environ={}).floatX == "float32"


def test_own_environment_variables(tmp_path):
    own = configured(tmp_path, TERMGRAPH_DEBUG="3", TERMGRAPH_PLUGINS="0", TERMGRAPH_RULES="/a/b.py:/c")
    assert (own.debug, own.plugins, own.rules.path) == (3, False, ("/a/b.py", "/c"))


def test_flags_of_the_theano_papers(tmp_path):
    flags = "floatX=float32,lib.cnmem=0.45,device=gpu0,optimizer_including=unsafe,dnn.conv.algo_*=time_once"
    own = configured(tmp_path, flags)
    assert (own.floatX, own.device, own.gpu.pool_reserve, own.lib.cnmem) == ("float32", "cuda", 0.45, 0.45)
    assert own.optimizer_including == "unsafe"
    assert {own.dnn.conv.algo_fwd, own.dnn.conv.algo_bwd_data, own.dnn.conv.algo_bwd_filter} == {"time_once"}


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("flaotX=float32", r"TERMGRAPH_FLAGS: there is no flag 'flaotX'; did you mean 'floatX'\?"),
        ("FLOATX=float32", r"did you mean 'floatX'\?"),
        ("floatX", "TERMGRAPH_FLAGS: expected name=value, got 'floatX'"),
        (
            "floatX=float31",
            r"'floatX' \(TERMGRAPH_FLAGS\): expected one of bfloat16, float16, float32, float64, got 'float31'",
        ),
        ("dnn.cnov.*=none", "no flag begins with 'dnn.cnov.'"),
        ("scan=True", "'scan' is a group of flags, not a flag: scan.allow_gc"),
        ("device=gpu1", "expected cpu or cuda, got 'gpu1'; to use GPU 1, set .* CUDA_VISIBLE_DEVICES"),
        ("debug=6", "expected a whole number from 0 to 5, got '6'"),
    ],
)
def test_errors_in_the_environment(tmp_path, flags, message):
    own = configured(tmp_path, flags)
    for _ in range(2):  # a second look must not find half-read flags
        with pytest.raises(ConfigError, match=message):
            _ = own.floatX


@pytest.mark.parametrize(
    ("rc", "message"),
    [
        ("floatX=float32\n", r"rc: the first line must be a section such as \[global\]"),
        ("[global]\nfloatX=float32\nfloatX=float64\n", "already exists"),
        ("[scan]\nalow_gc=1\n", r"there is no flag 'scan.alow_gc'; did you mean 'scan.allow_gc'"),
    ],
)
def test_errors_in_a_file(tmp_path, rc, message):
    with pytest.raises(ConfigError, match=message):
        _ = configured(tmp_path, rc=rc).floatX


def test_a_listed_file_must_exist():
    with pytest.raises(ConfigError, match="TERMGRAPHRC names '/nonexistent/rc'"):
        _ = Config(environ={"TERMGRAPHRC": "/nonexistent/rc"}).floatX


def test_unknown_names(tmp_path):
    own = configured(tmp_path)
    with pytest.raises(UnknownFlagError, match="did you mean 'floatX'"):
        _ = own.flaotX
    with pytest.raises(AttributeError, match="did you mean 'scan.allow_gc'"):
        own.scan.allow_cg = True
    with pytest.raises(UnknownFlagError, match="there is no flag 'zzzz'$"):
        own.change_flags(floatX="float32", zzzz=1)
    with pytest.raises(ConfigError, match="group of flags"):
        own.scan = True
    with pytest.raises(ConfigError, match="cannot be deleted"):
        del own.floatX
    assert own.floatX == "float64" and not hasattr(own, "__wrapped__")


def test_values(tmp_path):
    own = configured(tmp_path)
    own.cache.size_limit = "1.5 GB"
    assert own.cache.size_limit == 1536 * 1024**2
    own.optimizer = None
    assert own.optimizer == "None"
    own.mode = "DebugMode"
    assert own.mode == "DEBUG_MODE"
    own.base_compiledir = tmp_path
    assert own.cache.dir == own.base_compiledir == str(tmp_path)
    for name, value in [("threads", -1), ("threads", True), ("threads", 1.5), ("profile", 2), ("floatX", 3), ("cc", 1)]:
        with pytest.raises(ConfigError, match=f"flag '{name}' \\(assignment\\): expected .*, got {value!r}"):
            setattr(own, name, value)
    for name in ("nan", "-1", "1e999", "much"):
        with pytest.raises(ConfigError, match="a number >= 0"):
            own.gpu.pool_reserve = name


def test_change_flags_restores(tmp_path):
    own = configured(tmp_path, "floatX=float32")
    with own.change_flags(floatX="float16", **{"scan.allow_gc": True}):
        assert (own.floatX, own.scan.allow_gc) == ("float16", True)
        assert row(own, "floatX")["source"] == "change_flags"
        with own.change_flags(floatX="float64", scan__allow_gc=False):
            assert (own.floatX, own.scan.allow_gc) == ("float64", False)
        own.floatX = "float32"
        assert (own.floatX, own.scan.allow_gc) == ("float32", True)
        own.floatX = "float16"
    assert (own.floatX, own.scan.allow_gc) == ("float32", False)
    with pytest.raises(ZeroDivisionError), own.change_flags(floatX="float16"):
        1 / 0
    assert own.floatX == "float32" and row(own, "floatX")["source"] == "TERMGRAPH_FLAGS"


def test_change_flags_checks_before_it_changes(tmp_path):
    own = configured(tmp_path)
    with pytest.raises(ConfigError, match="change_flags"):
        own.change_flags(floatX="float32", device="toaster")
    assert own.floatX == "float64"


def test_change_flags_as_decorator(tmp_path):
    own = configured(tmp_path)

    @own.change_flags(debug=2)
    def countdown(n):
        assert own.debug == 2
        own.debug = 5
        return n if n == 0 else countdown(n - 1)

    assert countdown(3) == countdown(3) == 0 and own.debug == 0
    with pytest.raises(TypeError, match="generator or coroutine"):

        @own.change_flags(debug=2)
        def numbers():
            yield 1


def test_other_threads_keep_their_values(tmp_path):
    own = configured(tmp_path)
    inside, go_on, seen = threading.Event(), threading.Event(), []

    def other():
        inside.wait(5)
        seen.append(own.floatX)
        with own.change_flags(floatX="float16"):
            seen.append(own.floatX)
            go_on.set()

    thread = threading.Thread(target=other)
    thread.start()
    with own.change_flags(floatX="float32"):
        inside.set()
        assert go_on.wait(5)
        assert own.floatX == "float32"
        thread.join()
    assert seen == ["float64", "float16"] and own.floatX == "float64"


def test_tasks_keep_their_values(tmp_path):
    own = configured(tmp_path)

    async def task(value):
        with own.change_flags(debug=value):
            await asyncio.sleep(0)
            return own.debug

    async def both():
        return await asyncio.gather(task(1), task(2))

    assert asyncio.run(both()) == [1, 2] and own.debug == 0


def test_many_threads_leave_the_flags_as_they_were(tmp_path):
    own = configured(tmp_path)
    wrong = []

    def work(value):
        for _ in range(200):
            with own.change_flags(debug=value):
                if own.debug != value:
                    wrong.append(own.debug)

    threads = [threading.Thread(target=work, args=(n % 6,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and own.debug == 0 and "debug" in vars(own)


def test_looking(tmp_path):
    own = configured(tmp_path, "floatX=float32")
    assert "floatX = float32   [TERMGRAPH_FLAGS]\n    dtype of" in str(own)
    assert "scan.allow_gc = False   [default]" in str(own)
    assert str(own.scan).startswith("scan.allow_gc") and "floatX" not in str(own.scan)
    assert "floatX='float32'" in repr(own)
    assert {"floatX", "scan", "change_flags"} <= set(dir(own)) and "allow_gc" in dir(own.scan)


def test_copied_and_pickled_by_name():
    assert copy.deepcopy(config) is config and pickle.loads(pickle.dumps(config)) is config


def test_reading_a_flag_is_an_attribute_read():
    own = Config(environ={"TERMGRAPHRC": ""})
    _ = own.floatX
    assert vars(own)["floatX"] == "float64"
    number = 100_000
    reading = min(timeit.repeat("own.floatX", globals={"own": own}, number=number, repeat=5)) / number
    assert reading < 1e-6  # measured: 0.03 us; the bound only catches a lost fast path on a busy machine


def test_import_reads_no_file(tmp_path):
    (tmp_path / ".termgraphrc").write_text("this is not a configuration file")
    program = (
        "from termgraph.config import config, ConfigError\n"
        "try: config.floatX\n"
        "except ConfigError: print('read on first use')"
    )
    environ = {"HOME": str(tmp_path), "PYTHONPATH": ":".join(path for path in sys.path if path)}
    run = subprocess.run([sys.executable, "-c", program], env=environ, check=True, capture_output=True, text=True)
    assert run.stdout == "read on first use\n" and not run.stderr


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="users have numbers on POSIX systems")
def test_without_a_home_the_cache_is_a_folder_that_only_this_user_can_write(tmp_path, monkeypatch):
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)  # as for a user who is in no list of users
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    usual = tmp_path / f"termgraph-{os.geteuid()}"
    _flags._folder_without_home.cache_clear()
    assert _flags.default_cache_folder() == str(usual) and usual.stat().st_mode & 0o077 == 0
    usual.chmod(0o777)  # anybody may have put code into it
    _flags._folder_without_home.cache_clear()
    other = _flags.default_cache_folder()
    assert os.path.dirname(other) == str(tmp_path) and other != str(usual) and os.stat(other).st_mode & 0o077 == 0
    assert _flags.default_cache_folder() == other
    _flags._folder_without_home.cache_clear()
