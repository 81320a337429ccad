"""What is said when a C compiler fails: why, where, what to change; all the rest in a file."""

import pathlib

import pytest

from termgraph.backends.c.build import compiler_errors
from termgraph.backends.c.build.compiler_errors import CompileError

SOURCE = "int a;\nint b;\nint c = oops;\nint d;\nint e;\nint f;\n"


def error(output, source=SOURCE, status=1, name="f"):
    return CompileError(["/usr/bin/gcc", "-O1", "source0.c"], output, source, name, status)


def test_the_whole_message(cache_dir):
    found = error("source0.c:3:9: error: 'oops' undeclared here\nsource0.c:4:1: error: another\n" + "noise\n" * 300)
    lines = str(found).replace(str(found.log), "LOG").splitlines()
    assert lines == [
        "the C compiler refused the code of f: source0.c:3: 'oops' undeclared here",
        "    1 | int a;",
        "    2 | int b;",
        "  > 3 | int c = oops;",
        "    4 | int d;",
        "    5 | int e;",
        "  compiler: gcc; all it said: LOG",
        "  this text was generated: please report it with that file. Until then name another compiler ($CC or the "
        "flag cc), or compute without C: mode=tg.Mode(linker='py')",
    ]
    kept = pathlib.Path(found.log).read_text()
    assert kept.startswith("command: /usr/bin/gcc -O1 source0.c\nstatus: 1\n") and kept.count("noise") == 300
    assert kept.endswith(SOURCE + "\n") and pathlib.Path(found.log).parent == cache_dir / compiler_errors.FOLDER


@pytest.mark.parametrize(
    ("output", "status", "cause", "says", "advises"),
    [
        ("gcc: error: unrecognized command-line option '-x'", 1, "flag", "option '-x'", "look at $CC and at the flag"),
        ("clang: error: unknown argument: '-fno'", 1, "flag", "unknown argument", "look at $CC and at the flag"),
        ("cc1: error: bad value 'zen9' for '-march=' switch", 1, "flag", "zen9", "look at $CC and at the flag"),
        ("x.o: in function\nld: undefined reference to `cblas'", 1, "link", "cblas'", "missing that has cblas"),
        ("ld: cannot find -lthing: No such file\n", 1, "link", "-lthing", "is a library missing"),
        ("during RTL pass: expand\nsource0.c:3:9: internal compiler error: Segmentation fault", 1, "crash",
         "internal compiler error", "it may have run out of memory"),
        ("gcc: fatal error: Killed signal terminated program cc1", 1, "crash", "Killed", "out of memory"),
        ("", -9, "crash", "the signal SIGKILL", "out of memory"),
        ("", 139, "crash", "the signal SIGSEGV", "out of memory"),
        ("/opt/gcc: not found", 127, "start", "not found", "is it still installed"),
        ("a.c:1:9: warning: no use\n    1 | int a;\nx.o: undefined reference to `zz'", 1, "link", "undefined reference",
         "missing that has zz"),
        ("cc1: note: disable pass\na.c:1:2: warning: 'undefined' error\n    1 | int a;\nld: cannot find -lx", 1, "link",
         "cannot find -lx", "is a library missing"),
        ("", 3, "text", "ended with status 3", "please report it"),
    ],
)  # fmt: skip
def test_each_cause_has_its_advice(cache_dir, output, status, cause, says, advises):
    found = error(output, status=status)
    assert found.cause == cause and says in found.first and says in str(found).splitlines()[0]
    assert advises in str(found).splitlines()[-1] and len(str(found).splitlines()) <= 3


@pytest.mark.parametrize(
    "shown", ['    2 | h("out of memory");\n      |   ^~~~', 'h("out of memory");\n  ^~~~~'], ids=["gcc", "clang"]
)
def test_a_warning_is_neither_a_crash_nor_the_error(cache_dir, shown):
    """The text below it may have the words of a compiler that ran out of memory."""
    warning = f"cc1: note: enable pass x\nsource0.c:2:3: warning: discards qualifiers\n{shown}\n"
    found = error(f"{warning}source0.c:3:9: error: 'oops' undeclared")
    assert (found.cause, found.first, found.line) == ("text", "'oops' undeclared", 3)
    assert error(f"{warning}source0.c:3:9: internal compiler error: no").cause == "crash"
    assert "warning" in error(warning).first or "note" in error(warning).first  # nothing else was said


def test_text_of_the_user_is_shown_from_where_it_came(cache_dir, tmp_path):
    source = '#line 7 "Op.code"\nx = 1;\ny = oops;\n#line 1 "tg_stop"\nz\n'
    found = error("Op.code:8:5: error: 'oops' undeclared", source)
    assert found.users_text and str(found).splitlines()[1:3] == ["    7 | x = 1;", "  > 8 | y = oops;"]
    assert "correct this C text" in str(found)
    file = tmp_path / "op.c"
    file.write_text("one\ntwo\nthree\n")
    assert "  > 2 | two" in str(error(f"{file}:2:1: error: no", source))
    assert "error at a line that is not there" in str(error(f"{file}:9:1: error: error at a line that is not there"))


def test_few_reports_are_kept_and_without_room_there_is_the_command(cache_dir, monkeypatch):
    for i in range(compiler_errors.KEPT + 5):
        last = error(f"source0.c:1:1: error: number {i}")
    kept = list((cache_dir / compiler_errors.FOLDER).iterdir())
    assert len(kept) == compiler_errors.KEPT and pathlib.Path(last.log) in kept

    def full(*_args, **_options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(compiler_errors.cache_files, "write_file", full)
    monkeypatch.setattr(compiler_errors.tempfile, "mkstemp", full)
    found = error("source0.c:3:1: error: no")
    assert found.log is None and "command: /usr/bin/gcc -O1 source0.c" in str(found)
