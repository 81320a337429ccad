"""What is kept between processes depends on every file of the installation, however it is changed."""

import os
import time

import pytest

from termgraph import _installed, _rulelib
from termgraph.backends.c.build.compilers import find_compiler
from termgraph.backends.c.run import glue
from tests.test_layers import ORDER


@pytest.fixture
def look(tmp_path, monkeypatch):
    """An installation of a few files, and what looks at it as a new process would: digest, changed or not."""
    room = tmp_path / "termgraph" / "lower"
    room.mkdir(parents=True)
    (tmp_path / "rules").mkdir()
    for path in (room.parent / "_rulelib.py", room / "a.py", room / "b.c", tmp_path / "rules" / "r.py"):
        path.write_text("x = 1\n")
    (room / "notes.txt").write_text("not a source")
    monkeypatch.setattr(_rulelib, "__file__", str(room.parent / "_rulelib.py"))
    monkeypatch.setattr(_rulelib, "where", lambda: str(tmp_path / "rules"))

    def look(*rooms):
        for function in (
            _installed._every,
            _installed._files,
            _installed.files_digest,
            _installed.changed_since_import,
        ):
            function.cache_clear()
        return _installed.files_digest(*rooms), _installed.changed_since_import(*rooms)

    time.sleep(0.02)  # times of files are those of the last tick
    monkeypatch.setattr(_rulelib, "IMPORTED", time.time_ns())
    time.sleep(0.02)
    yield room, look
    for function in (_installed._every, _installed._files, _installed.files_digest, _installed.changed_since_import):
        function.cache_clear()


def _replaced(room, name):
    older = room / "older.tmp"
    older.write_text("x = 10\n")
    os.utime(older, ns=(0, 10**18))
    older.rename(room / name)


def _as_long_and_as_old(room, name):
    before = (room / name).stat()
    (room / name).write_text("x = 2\n")
    os.utime(room / name, ns=(before.st_atime_ns, before.st_mtime_ns))


def test_what_is_not_looked_at_stands_above_functions():
    assert set(ORDER[ORDER.index("function") + 1 :]) >= _installed._ABOVE


def test_c_code_finds_the_same(look):
    if find_compiler() is None:
        pytest.skip("needs a C compiler")
    room, _ = look
    (room / "below").mkdir()
    (room / "__pycache__").mkdir()
    (room / "__pycache__" / "a.cpython-311.pyc").write_bytes(b"")
    (room / ".hidden").mkdir()
    for name in ("below/d.h", "\u00e9\udcff.py", "e.pyc", "py", "f.cc", ".g.py", "h.c.txt"):
        (room / name).write_bytes(b"")
    (room / "nothing.py").symlink_to(room / "gone.py")
    (room / "link.py").symlink_to(room / "a.py")
    (room / "elsewhere").symlink_to(room / "below")
    (room / "elsewhere.c").symlink_to(room / "below")
    files, folders = _installed.look(str(room), "lower/")
    more, inside = glue.load_glue().files(str(room), "lower/")
    assert sorted(files) == sorted(more) and sorted(folders) == sorted(inside) == ["below", "elsewhere"]
    names = {os.fsdecode(line.partition(b"\0")[0]) for line, _ in files}
    assert {"lower/a.py", "lower/link.py", "lower/.g.py", "lower/\u00e9\udcff.py"} < names
    with pytest.raises(OSError):
        glue.load_glue().files(str(room / "gone"), "")


CHANGES = {
    "edited": lambda room: (room / "a.py").write_text("x = 22\n"),
    "as long": lambda room: (room / "b.c").write_text("x = 2\n"),
    "added": lambda room: (room / "c.py").write_text(""),
    "added without a source": lambda room: (room / "c.pyc").write_bytes(b"x"),
    "added below": lambda room: ((room / "below").mkdir(), (room / "below" / "c.h").write_text("")),
    "replaced by an older one": lambda room: _replaced(room, "a.py"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_installation_is_another_one(look, change):
    room, look = look
    before = look(), look("lower"), look("grad")
    assert not any(changed for _, changed in before)
    CHANGES[change](room)
    (everything, changed), (of_room, room_changed), other = look(), look("lower"), look("grad")
    assert everything != before[0][0] and of_room != before[1][0] and changed and room_changed and other == before[2]


def test_removed_files_and_rules_count_as_well(look):
    room, look = look
    before = look()[0]
    (room / "a.py").rename(room / "a.txt")
    assert look()[0] != before
    before, of_others = look()[0], look("grad")[0]
    (room.parent.parent / "rules" / "r.py").write_text("x = 22\n")
    assert look()[0] != before and look("grad")[0] != of_others and look("grad")[1]


@pytest.mark.skipif(os.name == "nt", reason="the system keeps no time of its own")
def test_a_file_that_pretends_to_be_as_it_was_is_new_to_this_process(look):
    room, look = look
    assert not look()[1]
    _as_long_and_as_old(room, "a.py")
    assert look()[1]


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_links_are_followed_and_may_lead_elsewhere_or_to_nothing(look, tmp_path, monkeypatch):
    room, look = look
    for name in ("one", "two"):
        (tmp_path / name).write_text(f"x = '{name}'\n")
        os.utime(tmp_path / name, ns=(0, 10**18))
    (room / "linked.py").symlink_to(tmp_path / "one")
    (room / ".#a.py").symlink_to("user@host.123")  # of an editor
    time.sleep(0.02)
    monkeypatch.setattr(_rulelib, "IMPORTED", time.time_ns())
    time.sleep(0.02)
    digest, changed = look()
    assert not changed
    (room / "linked.py").unlink()
    (room / "linked.py").symlink_to(tmp_path / "two")
    assert look()[1]
    (tmp_path / "two").write_text("x = 'three'\n")
    assert look() != (digest, False)


def test_neither_compiled_files_nor_other_files_count(look):
    room, look = look
    before = look()
    (room / "__pycache__").mkdir()
    (room / "__pycache__" / "a.cpython-311.pyc").write_bytes(b"x")
    (room / "notes.txt").write_text("changed")
    assert look() == before
