"""The persistent cache: whole entries only, whatever happens to the processes and files around it."""

import argparse
import json
import os
import pathlib
import stat
import subprocess
import sys
import textwrap
import time
import warnings

import pytest

from termgraph.backends.c.build import cache as cache_module
from termgraph.backends.c.build import cache_cli, cache_files
from termgraph.backends.c.build.cache import Cache, CacheWarning, key_of


def maker(text="content", log=None):
    def make(directory):
        if log is not None:
            log.append(directory)
        with open(os.path.join(directory, "m.so"), "w") as out:
            out.write(text)
        return {"made by": "a test"}

    return make


@pytest.fixture
def cache(cache_dir):
    return Cache(str(cache_dir), size_limit=1 << 30)


def test_miss_then_hit(cache):
    log = []
    first, how = cache.get_or_make({"source": "a"}, maker("A", log), name="f")
    again, how_again = Cache(cache.root).get_or_make({"source": "a"}, maker("never", log), name="f")
    assert (how, how_again) == ("built", "hit")
    assert len(log) == 1 and first.read("m.so") == again.read("m.so") == b"A"
    assert again.why["name"] == "f" and again.why["parts"] == {"source": "a"} and again.why["made by"] == "a test"
    assert not os.path.exists(log[0])


def test_an_entry_that_is_replaced_while_it_is_read_is_not_damaged(cache, monkeypatch):
    entry, _ = cache.get_or_make({"source": "a"}, maker("made once"))
    read_json = json.loads

    def replaced_after_its_description_was_read(text):
        monkeypatch.undo()
        os.rename(entry.path, os.path.join(cache.root, "removed"))
        Cache(cache.root).get_or_make({"source": "a"}, maker("made again"))
        return read_json(text)

    monkeypatch.setattr(cache_files.json, "loads", replaced_after_its_description_was_read)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cache.lookup(entry.key).read("m.so") == b"made again"
    assert cache.counts["corrupt"] == 0


def test_keys_depend_on_every_part():
    keys = {key_of(p) for p in ({"a": 1}, {"a": 2}, {"a": "1"}, {"a": 1, "b": 1}, {"b": 1})}
    assert len(keys) == 5
    assert key_of({"a": 1, "b": 2}) == key_of({"b": 2, "a": 1})


def test_a_failing_maker_leaves_nothing(cache):
    def fails(directory):
        open(os.path.join(directory, "half"), "w").close()
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        cache.get_or_make({"source": "a"}, fails)
    assert list(cache.entries()) == []
    assert [name for name in os.listdir(os.path.join(cache.root, "tmp")) if not name.endswith(".lock")] == []
    assert cache.get_or_make({"source": "a"}, maker())[1] == "built"


@pytest.mark.parametrize("damage", ["truncate", "flip", "remove", "why", "why_type", "empty_why"])
def test_a_damaged_entry_is_made_again_and_reported_once(cache, damage):
    entry, _ = cache.get_or_make({"source": "a"}, maker("ABC"))
    target = entry.file("m.so" if damage in ("truncate", "flip", "remove") else "why.json")
    if damage == "remove":
        os.unlink(target)
    else:
        text = {"truncate": "AB", "flip": "ABX", "why": "{not json", "why_type": "[1]", "empty_why": ""}[damage]
        with open(target, "w") as out:
            out.write(text)
    with pytest.warns(CacheWarning, match="damaged") as caught:
        again, how = cache.get_or_make({"source": "a"}, maker("ABC"))
    assert len(caught) == 1 and how == "built" and again.read("m.so") == b"ABC"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cache.get_or_make({"source": "a"}, maker())[1] == "hit"


def test_artefacts_are_kept_under_an_identity(cache):
    assert cache.read("program", "digest 1") is None
    cache.write("program", "digest 1", {"program.json": b"{}", "more": b"x"}, {"name": "f"})
    found = Cache(cache.root).read("program", "digest 1")
    assert found.read("program.json") == b"{}" and found.read("more") == b"x" and found.why["kind"] == "program"
    assert cache.read("other kind", "digest 1") is None


def test_explain_names_what_differs(cache):
    assert "nothing is cached" in cache.explain({"flags": "-O1"})
    cache.get_or_make({"flags": "-O1", "source": "s"}, maker(), name="f")
    cache.get_or_make({"flags": "-O2", "source": "other"}, maker(), name="g")
    assert cache.explain({"flags": "-O2", "source": "s"}, "f") == 'nearest entry "f": flags: -O1 -> -O2'
    assert "it is in the cache" in cache.explain({"flags": "-O1", "source": "s"})


def test_eviction_removes_what_was_unused_longest(cache):
    entries = [cache.get_or_make({"source": str(i)}, maker("x" * 1000))[0] for i in range(5)]
    for age, entry in enumerate(entries):
        os.utime(entry.path, (time.time() - 1000 * (5 - age),) * 2)
    one = sum(os.path.getsize(os.path.join(entries[0].path, name)) for name in os.listdir(entries[0].path))
    assert cache.evict(limit=int(2.5 * one)) == 3
    assert {entry.key for entry in cache.entries()} == {entries[3].key, entries[4].key}


def test_fresh_entries_are_not_evicted(cache):
    cache.get_or_make({"source": "a"}, maker("x" * 1000))
    assert cache.evict(limit=10) == 0


def test_a_small_limit_is_kept_while_entries_are_made(cache, monkeypatch):
    monkeypatch.setattr(cache_files, "_SPARE_NEWER", 0.0)
    cache.size_limit = 5000
    for i in range(30):
        cache.get_or_make({"source": str(i)}, maker("x" * 1000))
    assert len(list(cache.entries())) <= 5
    assert cache.counts["evicted"] >= 25


def test_entries_are_looked_at_again_only_when_they_could_be_too_many(cache, monkeypatch):
    looks, evict = [], cache_files.evict
    monkeypatch.setattr(cache_files, "evict", lambda *given: looks.append(given) or evict(*given))
    monkeypatch.setattr(cache_files, "_SPARE_NEWER", 0.0)
    cache.size_limit = 120_000
    for i in range(20):
        Cache(cache.root, 120_000).get_or_make({"source": str(i)}, maker("x" * 1000))  # as processes of their own
    assert len(looks) == 1
    sizes = os.path.join(cache.root, cache_files.SIZES)
    with open(sizes) as file:
        assert sum(map(int, file)) == sum(cache_files.bytes_of(e.path) for e in cache.entries())
    for i in range(100):
        cache.get_or_make({"source": f"more {i}"}, maker("x" * 1000))
    assert 2 <= len(looks) <= 15 and sum(cache_files.bytes_of(e.path) for e in cache.entries()) <= 120_000


@pytest.mark.parametrize("damage", [b"", b"no number\n", b"7" * 70_000, None])
def test_sizes_that_cannot_be_read_are_counted_anew(cache, damage):
    cache.get_or_make({"source": "a"}, maker("x" * 1000))
    sizes = os.path.join(cache.root, cache_files.SIZES)
    if damage is None:
        os.unlink(sizes)
    else:
        with open(sizes, "wb") as file:
            file.write(damage)
    cache.get_or_make({"source": "b"}, maker("x" * 1000))
    with open(sizes) as file:
        assert sum(map(int, file)) == sum(cache_files.bytes_of(e.path) for e in cache.entries())


def test_a_hit_counts_as_use(cache):
    entry, _ = cache.get_or_make({"source": "a"}, maker())
    os.utime(entry.path, (1, 1))
    cache.lookup(entry.key)
    assert time.time() - os.stat(entry.path).st_mtime < 60


def test_leftovers_of_dead_processes_are_swept_and_living_ones_kept(cache):
    top = os.path.join(cache.root, "tmp")
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    host = cache_files.this_host()
    names = {f"{host}-{dead.pid}-aa": False, f"{host}-{os.getpid()}-bb": True, f"elsewhere-{dead.pid}-cc": True}
    for name in names:
        os.makedirs(os.path.join(top, name))
        os.utime(os.path.join(top, name), (time.time() - 100,) * 2)
    os.makedirs(os.path.join(top, "elsewhere-1-old"))
    os.utime(os.path.join(top, "elsewhere-1-old"), (1, 1))
    cache.evict()
    left = set(os.listdir(top))
    assert {name for name, kept in names.items() if kept} == left


def test_a_file_in_the_way_sends_us_to_a_temporary_directory(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a directory")
    cache = Cache(str(blocked))
    with pytest.warns(CacheWarning, match=r"cache\.dir"):
        first, how = cache.get_or_make({"source": "a"}, maker("A"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cache.get_or_make({"source": "b"}, maker("B"))
    assert how == "built" and first.read("m.so") == b"A"
    assert cache.get_or_make({"source": "b"}, maker())[1] == "hit"
    cache_files.remove_tree(cache._spill)


# ---------------------------------------------------------------------- whose is it?
PARTS = {"root": lambda root, entry: root, "group": lambda root, entry: os.path.dirname(entry),
         "entry": lambda root, entry: entry, "why": lambda root, entry: os.path.join(entry, "why.json"),
         "library": lambda root, entry: os.path.join(entry, "m.so")}  # fmt: skip


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="this system has no owners")
@pytest.mark.parametrize("what", PARTS)
@pytest.mark.parametrize("how", ["world", "group", "owner"])
def test_what_others_could_have_put_there_is_not_loaded(what, how, cache, monkeypatch):
    entry, _ = cache.get_or_make({"source": "a"}, maker("A"))
    place = PARTS[what](cache.root, entry.path)
    if how == "owner":
        real = os.geteuid()
        monkeypatch.setattr(os, "geteuid", lambda: real + 1 if real else real)
        if not real:
            os.chown(place, 1234, 1234)
        elif what != "root":
            pytest.skip("only the administrator can give files away")
    else:
        os.chmod(place, os.stat(place).st_mode | (stat.S_IWOTH if how == "world" else stat.S_IWGRP))
    later = Cache(cache.root)
    with pytest.warns(CacheWarning) as caught:
        again, made = later.get_or_make({"source": "a"}, maker("B"))
    assert made == "built" and again.read("m.so") == b"B"
    text = " ".join(str(w.message) for w in caught)
    assert ("belongs to another user" if how == "owner" else "can be written by others") in text
    if what != "library":  # a file of an entry is replaced; what lies above it has to be repaired
        assert f"chmod -R go-w {cache.root}" in text and again.path.startswith(later._spill)
        os.chown(place, os.geteuid(), -1) if how == "owner" else os.chmod(place, 0o700)
        assert Cache(cache.root).get_or_make({"source": "a"}, maker("C"))[0].read("m.so") == b"A"
        cache_files.remove_tree(later._spill)


def test_folders_are_made_for_their_owner_alone(tmp_path):
    before = os.umask(0)
    try:
        cache = Cache(str(tmp_path / "a" / "b"))
        cache.get_or_make({"source": "a"}, maker("A"))
    finally:
        os.umask(before)
    folders = [tmp_path / "a", *[os.path.join(d, x) for d, xs, _ in os.walk(tmp_path / "a") for x in xs]]
    assert {stat.S_IMODE(os.stat(d).st_mode) for d in folders} == {0o700}
    assert cache_files.distrust(cache.root) is None


def test_a_folder_that_cannot_be_made_is_reported_as_that(tmp_path):
    code = """
    import termgraph as tg, termgraph.tensor as T
    x = T.dvector("x")
    print(tg.function([x], T.exp(x) * 2)([0.0])[0])
    """
    (tmp_path / "file").write_text("")
    folder = str(tmp_path / "file" / "cache")
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True,
        env={**os.environ, "TERMGRAPH_FLAGS": f"cache.dir={folder}"}, timeout=120,
    )  # fmt: skip
    assert done.stdout == "2.0\n", done.stderr
    assert f"{folder} cannot be made" in done.stderr and "no C compiler" not in done.stderr


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() == 0, reason="the administrator may write everywhere")
def test_a_read_only_cache_still_serves_hits(cache):
    cache.get_or_make({"source": "a"}, maker("A"))
    for directory, _, _ in os.walk(cache.root):
        os.chmod(directory, stat.S_IRUSR | stat.S_IXUSR)
    try:
        readers = Cache(cache.root)
        assert readers.get_or_make({"source": "a"}, maker())[1] == "hit"
        with pytest.warns(CacheWarning, match="cannot be written"):
            assert readers.get_or_make({"source": "b"}, maker())[1] == "built"
    finally:
        for directory, _, _ in os.walk(cache.root):
            os.chmod(directory, stat.S_IRWXU)


def test_a_full_disk_sends_us_to_a_temporary_directory(cache, monkeypatch):
    import errno

    real, root = cache_files.write_file, cache.root

    def full(path, content):
        if path.startswith(root):
            raise OSError(errno.ENOSPC, "No space left on device", path)
        real(path, content)

    monkeypatch.setattr(cache_files, "write_file", full)
    with pytest.warns(CacheWarning, match="No space left"):
        entry, how = cache.get_or_make({"source": "a"}, maker("A"))
    assert how == "built" and entry.read("m.so") == b"A"
    assert list(os.walk(os.path.join(root, "v1"))) in ([], [(os.path.join(root, "v1"), [], [])])
    cache_files.remove_tree(cache._spill)


def test_no_pickles_and_only_json_metadata(cache):
    cache.get_or_make({"source": "a"}, maker())
    for directory, _, names in os.walk(cache.root):
        for name in names:
            assert not name.endswith((".pkl", ".pickle"))
            if name == "why.json":
                json.loads(pathlib.Path(directory, name).read_text())
    assert "import pickle" not in pathlib.Path(cache_module.__file__).read_text()


def cli(*words):
    parser = argparse.ArgumentParser()
    cache_cli.add_arguments(parser)
    return cache_cli.run(parser.parse_args(words))


@pytest.fixture
def installation(tmp_path, monkeypatch):
    """A cache of an installation that is not this one's."""
    made = Cache(str(tmp_path / "compiled"))
    monkeypatch.setattr(cache_cli, "installation_cache", lambda: made)
    return made


def test_the_command_line_lists_and_clears_what_belongs_to_the_installation(cache, installation, capsys):
    cache.get_or_make({"source": "s"}, maker(), name="step")
    installation.get_or_make({"source": "g"}, maker(), name="glue")
    assert cli("list") == 0
    shown = capsys.readouterr().out
    assert f"{cache.root}: 1 entry" in shown and f"{installation.root}: 1 entry" in shown and "glue" in shown
    assert cli("list", "--json") == 0
    assert {entry["name"] for entry in json.loads(capsys.readouterr().out)["entries"]} == {"step", "glue"}
    assert cli("clear", "gl") == 0 and len(list(cache.entries())) == 1 and not list(installation.entries())
    installation.get_or_make({"source": "g"}, maker(), name="glue")
    capsys.readouterr()
    assert cli("clear", "--json") == 0
    assert json.loads(capsys.readouterr().out)["directories"] == {cache.root: 1, installation.root: 1}
    assert not list(cache.entries()) and not list(installation.entries())
    assert cli("purge") == 0 and os.listdir(installation.root) == []


def test_command_line(cache, installation, capsys):
    cache.get_or_make({"flags": "-O1", "source": "s"}, maker(), name="step")
    os.utime(next(cache.entries()).path, (1, 1))
    cache.get_or_make({"flags": "-O2", "source": "s"}, maker(), name="step")
    cache.get_or_make({"flags": "-O2", "source": "t"}, maker(), name="other")
    assert cli("list") == 0
    assert "3 entries" in capsys.readouterr().out
    assert cli("list", "oth", "--json") == 0
    assert [entry["name"] for entry in json.loads(capsys.readouterr().out)["entries"]] == ["other"]
    assert cli("explain", "step") == 0
    assert "flags: -O1 -> -O2" in capsys.readouterr().out
    assert cli("explain", "nothing like it") == 1
    assert cli("clear", "other") == 0
    assert "removed 1" in capsys.readouterr().out
    assert cli("clear") == 0 and list(cache.entries()) == []
    assert cli("purge", "--json") == 0 and os.listdir(cache.root) == []


# -- many processes ----------------------------------------------------------------------------

WORKER = """
import os, random, sys, time
from termgraph.backends.c.build import cache_files as module
from termgraph.backends.c.build.cache import Cache
root, seconds, seed = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
random.seed(seed)
module._SPARE_NEWER = 0.0
cache = Cache(root, size_limit=1 << 30)
made = 0
def make(directory, i):
    global made
    made += 1
    for part in range(3):
        with open(os.path.join(directory, f"part{part}"), "w") as out:
            out.write(f"{i}-{part}-" * 2000)
        time.sleep(random.random() * 0.003)
deadline = time.monotonic() + seconds
while time.monotonic() < deadline:
    i = random.randrange(12)
    entry, how = cache.get_or_make({"i": i}, lambda d: make(d, i))
    try:
        assert entry.read("part2").decode() == f"{i}-2-" * 2000
    except FileNotFoundError:
        pass                                  # evicted between lookup and reading: allowed, the builder asks again
    if random.random() < 0.05:
        cache.evict(limit=60000)
print("survived", made, cache.counts["corrupt"])
"""


def stress(root, processes, seconds, kill_every):
    """Run workers, killing a random one now and then; returns what survivors said and how many were killed."""
    import random

    rng, killed, said = random.Random(1), 0, []
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path))

    def start(seed, left):
        command = [sys.executable, "-c", WORKER, root, str(max(left, 0.1)), str(seed)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)

    begin = time.monotonic()
    alive = [start(i, seconds) for i in range(processes)]
    while time.monotonic() - begin < seconds:
        time.sleep(kill_every)
        victim = rng.randrange(len(alive))
        alive[victim].kill()
        alive[victim].communicate()
        killed += 1
        alive[victim] = start(1000 + killed, seconds - (time.monotonic() - begin))
    for worker in alive:
        said.append((worker.communicate(timeout=240), worker.returncode))
    return said, killed


def check_stress(root, processes, seconds, kill_every):
    said, killed = stress(root, processes, seconds, kill_every)
    for (out, err), status in said:
        assert status == 0 and out.startswith("survived") and out.split()[2] == "0", (out, err)
    assert killed > 0
    time.sleep(2.1)
    cache = Cache(root, size_limit=1 << 30)
    cache.evict()
    assert [name for name in os.listdir(os.path.join(root, "tmp")) if not name.endswith(".lock")] == []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for entry in cache.entries():
            assert cache.lookup(entry.key) is not None


def test_processes_that_are_killed_leave_a_cache_that_works(cache_dir):
    check_stress(str(cache_dir), processes=8, seconds=3, kill_every=0.3)


@pytest.mark.slow
def test_fifty_processes_that_are_killed_leave_a_cache_that_works(cache_dir):
    check_stress(str(cache_dir), processes=50, seconds=25, kill_every=0.15)


def test_one_key_is_made_once_by_processes_that_start_together(cache_dir):
    code = (
        "import sys, time, os\n"
        "from termgraph.backends.c.build.cache import Cache\n"
        "def make(d):\n"
        "    time.sleep(0.3); open(os.path.join(d, 'm.so'), 'w').close()\n"
        "print(Cache(sys.argv[1]).get_or_make({'a': 1}, make)[1])\n"
    )
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path))
    command = [sys.executable, "-c", code, str(cache_dir)]
    workers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) for _ in range(6)]
    said = sorted(worker.communicate()[0].strip() for worker in workers)
    assert said == ["built"] + ["hit"] * 5
