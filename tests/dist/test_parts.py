"""The parts of data-parallel training that need no other process: layouts, sums, orders, files, the book of batches."""

import io
import os
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import termgraph as tg
from termgraph import progress
from termgraph._files import read_state, sweep
from termgraph.dist import store
from termgraph.dist.board import Board
from termgraph.dist.centre import Book, Centre
from termgraph.dist.data import Arrays, Loader
from termgraph.dist.devices import VISIBLE, own_gpu
from termgraph.dist.exchange import Closed, Exchange, owners
from termgraph.dist.layout import ALIGNMENT, Layout
from termgraph.dist.memory import Shared
from termgraph.dist.places import place
from termgraph.dist.tree import piece, tree_sum


# ---------------------------------------------------------------------- layout and sums
def test_arrays_in_a_layout_are_aligned_and_apart():
    layout = Layout([("float32", (3, 2)), ("float64", ()), ("float32", ()), ("float16", (0, 4)), ("float64", (5,))])
    buffer = np.zeros(layout.nbytes, np.uint8)
    arrays = layout.arrays(buffer)
    for i, a in enumerate(arrays):
        a[...] = i + 1
        assert (a.ctypes.data - buffer.ctypes.data) % ALIGNMENT == 0
    assert [a.shape for a in arrays] == [(3, 2), (), (), (0, 4), (5,)]
    assert all((a == i + 1).all() for i, a in enumerate(arrays))
    assert [(f.dtype, f.sum()) for f in layout.flat(buffer)] == [("float32", 9.0), ("float64", 27.0)]


@given(st.integers(1, 9), st.integers(0, 70000), st.integers(1, 4))
def test_a_sum_in_pieces_has_the_bits_of_the_whole(shards, size, members):
    rng = np.random.default_rng(shards)
    parts = [rng.normal(size=size).astype("float32") * 10.0 ** rng.integers(-5, 5) for _ in range(shards)]
    whole, pieces = np.empty(size, "float32"), np.full(size, np.nan, "float32")
    tree_sum(parts, whole)
    for rank in range(members):
        cut = piece(size, rank, members)
        tree_sum([p[cut] for p in parts], pieces[cut])
    assert whole.tobytes() == pieces.tobytes()
    np.testing.assert_allclose(whole, np.sum(parts, axis=0, dtype="float64"), rtol=1e-4, atol=1e-2)


def test_the_tree_is_one_of_halves():
    big, one = np.float32(2**25), np.float32(1)
    out = np.zeros(1, "float32")
    tree_sum([np.array([v], "float32") for v in (big, -big, one, one)], out)
    assert out[0] == 2
    tree_sum([np.array([v], "float32") for v in (big, one, -big, one)], out)
    assert out[0] == 0  # (big + 1) + (-big + 1), each rounded: another order would give 1


@given(st.integers(1, 20), st.integers(1, 20))
def test_every_shard_has_one_owner_and_every_owner_a_shard(shards, members):
    found = owners(max(shards, members), members)
    assert sorted(set(found)) == list(range(members)) and found == sorted(found)


# ---------------------------------------------------------------------- data
@given(st.integers(1, 30), st.integers(1, 9), st.integers(1, 5), st.integers(0, 3))
def test_every_example_is_read_once_in_each_epoch(count, batch, shards, seed):
    data = Arrays(np.arange(count), batch=batch, epochs=2)
    for epoch in range(2):
        steps = range(epoch * data.per_epoch, (epoch + 1) * data.per_epoch)
        read = [data.read(step, j, shards, seed) for step in steps for j in range(shards)]
        assert sorted(int(i) for b in read for i in b.arrays[0]) == list(range(count))
        for k in range(data.per_epoch):
            parts = read[k * shards : (k + 1) * shards]
            assert sum(b.share for b in parts) == pytest.approx(1)
            assert [b.first for b in parts] == [sum(p.examples for p in parts[:j]) for j in range(shards)]


def test_orders_differ_by_seed_and_epoch_and_are_the_same_again():
    data = Arrays(np.arange(100), batch=10, epochs=3)
    orders = {(s, e): data.order(s, e).tobytes() for s in range(3) for e in range(3)}
    assert len(set(orders.values())) == 9
    assert orders == {key: Arrays(np.arange(100), batch=7).order(*key).tobytes() for key in orders}


def test_what_is_no_data_is_refused():
    with pytest.raises(ValueError, match="one length along the first dimension"):
        Arrays(np.zeros(3), np.zeros((4, 2)), batch=2)
    with pytest.raises(ValueError, match="one length"):
        Arrays(np.float64(3), batch=2)
    with pytest.raises(ValueError, match="batch must be at least 1"):
        Arrays(np.zeros(3), batch=0)
    with pytest.raises(TypeError, match="dtype object"):
        Arrays(np.array([None, "a"]), batch=1)
    assert Arrays(np.zeros((0, 3)), batch=2).steps == 0


def test_a_loader_is_weighted_by_its_sizes():
    loader = Loader(lambda step, j, shards: [np.zeros(j)], steps=3, sizes=lambda step: [0, 1, 2])
    read = [loader.read(0, j, 3, 0) for j in range(3)]
    assert [(b.examples, b.first, b.share) for b in read] == [(0, 0, 0.0), (1, 0, 1 / 3), (2, 1, 2 / 3)]
    with pytest.raises(ValueError, match=r"sizes\(0\) must be 2 numbers"):
        loader.read(0, 0, 2, 0)
    with pytest.raises(ValueError, match="has 1 examples, but sizes said 5"):
        Loader(lambda step, j, shards: [np.zeros(1)], 3, lambda step: [5]).read(0, 0, 1, 0)


def test_memory_mapped_files_are_read_where_they_are(tmp_path):
    path = tmp_path / "größe.bin"
    np.arange(12.0).reshape(4, 3).tofile(path)
    mapped = np.memmap(path, "float64", "r", shape=(4, 3))
    placed, memory = place(Arrays(mapped, np.arange(4), mapped[:, 0], batch=2, shuffle=False))
    again = placed.arrays(memory.fd)
    assert isinstance(again.arrays[0], np.memmap) and not again.arrays[1].flags.writeable
    assert again.arrays[0].tolist() == mapped.tolist() and again.arrays[1].tolist() == [0, 1, 2, 3]
    assert again.arrays[2].tolist() == [0, 3, 6, 9]  # a part of a file is copied


# ---------------------------------------------------------------------- one generation
def test_members_of_one_generation_come_to_one_mean():
    layout = Layout([("float64", ()), ("float32", (1000,))])
    memory = Shared(Exchange.size(layout, 3, 2))
    ends = [Exchange(memory, layout, 3, 2, rank) for rank in (0, 1)]
    assert [e.mine for e in ends] == [[0, 1], [2]]
    for e in ends:
        for j in e.mine:
            e.put(0, j, [np.float64(j), np.full(1000, j, "float32")] if j else [], j / 3, j)
    ends[0]._added[1] = 1  # as if the other had added already
    ends[0].total(0)
    ends[0]._added[0] = 1
    total = ends[1].total(0)
    assert float(total[0]) == pytest.approx((1 * 1 + 2 * 2) / 3) and np.allclose(total[1], 5 / 3)


def test_a_closed_generation_refuses_who_wakes_late():
    layout = Layout([("float64", ())])
    memory = Shared(Exchange.size(layout, 2, 2))
    late = Exchange(memory, layout, 2, 2, 1, timeout=0.01)
    Exchange(memory, layout, 2, 2, 0).close()
    late.put(0, 1, [np.float64(1)], 0.5, 1)
    with pytest.raises(Closed):
        late.total(0)


def test_who_waits_says_for_whom():
    layout = Layout([("float64", ())])
    heard = []

    def late(ranks):
        heard.append(ranks)
        other.close()

    memory = Shared(Exchange.size(layout, 3, 3))
    other = Exchange(memory, layout, 3, 3, 1)
    waiting = Exchange(memory, layout, 3, 3, 0, timeout=0.01, late=late)
    other.put(0, 1, [np.float64(1)], 1 / 3, 1)
    waiting.put(0, 0, [np.float64(1)], 1 / 3, 1)
    with pytest.raises(Closed):
        waiting.total(0)
    assert heard == [[2]]


# ---------------------------------------------------------------------- the centre
def centre(members=2, total=10):
    layout = Layout([("float64", (4,))])
    made = Centre(Shared(Centre.size(layout, members)), layout, members, timeout=5)
    made.now.book.words[Book.TOTAL] = total
    return made


def test_a_change_that_fails_changes_nothing():
    c = centre()
    with pytest.raises(ZeroDivisionError):
        with c.change(0) as (_, new):
            new.arrays[0][...] = 1 / 0 if new.book.take(0, 3) else 0
    assert c.now.arrays[0].tolist() == [0] * 4 and c.now.book.take(1, 3) == range(3)


@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from(["push", "die"])), max_size=60))
def test_every_batch_is_done_once_whoever_dies(moves):
    c, done, taken = centre(3, 20), [], {}
    for member, move in [*moves, *[(m, "push") for m in (0, 1, 2)] * 20]:
        with c.change_book(member) as book:
            if move == "die":
                back = book.give_back(member)
                assert back == taken.pop(member, range(0)) or not back
                continue
            done += taken.pop(member, [])
            book.release(member)
            if got := book.take(member, 3):
                taken[member] = got
    assert sorted(done) == list(range(20)) and c.now.book.finished and not c.now.book.available


# ---------------------------------------------------------------------- files
def test_states_survive_files(tmp_path):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    arrays = {
        "a": np.arange(6, dtype="float32").reshape(2, 3), "b": np.array(2.5), "empty": np.zeros((0, 2)),
        "half": np.array([1.5, -2], ml_dtypes.bfloat16), "state0": np.array([1, 2], np.uint64),
    }  # fmt: skip
    path = tmp_path / "zustand ü.ckpt"
    store.save(path, {"step": 3, "name": "ü"}, arrays)
    facts, again = read_state(path)
    assert facts["step"] == 3 and facts["name"] == "ü" and list(again) == list(arrays)
    for name, a in arrays.items():
        assert again[name].dtype == a.dtype and again[name].shape == a.shape and (again[name] == a).all()


@given(st.binary(max_size=80))
def test_what_is_no_checkpoint_is_refused(content):
    with pytest.raises(ValueError, match="cannot be read as a checkpoint"):
        read_state(io.BytesIO(content))


def test_a_truncated_checkpoint_is_refused(tmp_path):
    path = tmp_path / "a.ckpt"
    store.save(path, {"step": 1}, {"a": np.zeros(1000)})
    whole = path.read_bytes()
    for size in (len(whole) // 2, len(whole) - 1, 10):
        path.write_bytes(whole[:size])
        with pytest.raises(ValueError, match="cannot be read as a checkpoint"):
            read_state(path)


def test_a_late_writer_does_not_replace_a_newer_file(tmp_path):
    path = tmp_path / "a.ckpt"
    store.save(path, {"step": 10, "generation": 2}, {})
    with pytest.raises(store.Outdated):
        store.save(path, {"step": 11, "generation": 1}, {})
    with pytest.raises(store.Outdated):
        store.save(path, {"step": 9, "generation": 2}, {})
    assert read_state(path)[0]["step"] == 10
    assert [p.name for p in tmp_path.iterdir()] == ["a.ckpt"]


def test_what_killed_writers_left_is_swept(tmp_path):
    path = tmp_path / "a[1].ckpt"
    for name in ("a[1].ckpt.17.part", "a1.ckpt.17.part", "a[1].ckpt"):
        (tmp_path / name).touch()
    sweep(path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a1.ckpt.17.part", "a[1].ckpt"]


# ---------------------------------------------------------------------- the lock
def test_the_lock_knows_its_holder():
    import os

    memory = Shared(8)
    assert memory.holder() == 0
    with memory.locked(1, lambda: None):
        assert memory.holder() == os.getpid()
    assert memory.holder() == 0


# ---------------------------------------------------------------------- the table of workers
ROWS = [["0", "process 71", "running", "12", "1"], ["1", "process 9", "starting after SIGKILL", "0", "2"]]


class Terminal(io.StringIO):
    def isatty(self):
        return True


Notebook = type("Notebook", (io.StringIO,), {"__module__": "ipykernel.iostream"})


@pytest.fixture
def looked_at(monkeypatch):
    """A function that puts a stream in the place of stderr, outside of CI, where everything is drawn at once."""
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("termgraph.dist.board.REDRAW", 0)
    monkeypatch.setattr("termgraph.progress.REDRAW", 0)

    def put(stream):
        monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=stream))
        return stream

    return put


def test_the_table_is_drawn_over_itself(looked_at):
    stream = looked_at(Terminal())
    board = Board(None)
    board.draw(lambda: ("step 1/9", ROWS))
    first = stream.getvalue()
    assert first.splitlines() == [
        "step 1/9",
        "worker  where       state                   steps  starts",
        "0       process 71  running                 12     1",
        "1       process 9   starting after SIGKILL  0      2",
    ]
    board.draw(lambda: ("step 2/9", ROWS[:1]))
    assert stream.getvalue()[len(first) :].startswith("\x1b[4A\x1b[Jstep 2/9\n")
    board.end("step 9/9")
    assert stream.getvalue().endswith("\x1b[3A\x1b[Jstep 9/9\n")


def test_the_table_fits_the_terminal(monkeypatch, looked_at):
    monkeypatch.setattr(os, "get_terminal_size", lambda fileno: os.terminal_size((20, 8)))
    stream = looked_at(Terminal())
    monkeypatch.setattr(stream, "fileno", lambda: 5)
    Board(None).draw(lambda: ("step 1/9", [[str(k), "process 71", "running", "1", "1"] for k in range(9)]))
    lines = stream.getvalue().splitlines()
    assert len(lines) == 7 and max(map(len, lines)) < 20 and lines[-1] == "and 5 more workers"


def drawn(wanted):
    """What a board writes to what stderr is now."""
    stream, board = progress.sys.stderr, Board(wanted)
    board.draw(lambda: ("step 1/9", ROWS))
    board.end("step 9/9")
    return stream.getvalue()


def test_who_looks_is_decided_as_for_all_progress(monkeypatch, looked_at):
    looked_at(io.StringIO())
    assert not drawn(None) and "process 71" in drawn(True)
    looked_at(Terminal())
    assert not drawn(False)
    with tg.config.change_flags(progress="off"):
        assert not drawn(None) and "process 71" in drawn(True)
    looked_at(io.StringIO())
    with tg.config.change_flags(progress="on"):
        assert "process 71" in drawn(None)
    monkeypatch.setenv("CI", "1")
    looked_at(Terminal())
    assert not drawn(None)


def test_a_notebook_gets_one_line(looked_at):
    looked_at(Notebook())
    assert drawn(None) == "\rstep 1/9\rstep 9/9\n"


# ---------------------------------------------------------------------- GPUs
def test_each_worker_sees_a_gpu_of_its_own(tmp_path):
    for k in range(3):
        (tmp_path / f"0000:0{k}:00.0").mkdir()
    with tg.config.change_flags(device="cuda"):
        assert [own_gpu(k, {}, tmp_path)[VISIBLE] for k in range(4)] == ["0", "1", "2", "0"]
        assert own_gpu(1, {VISIBLE: " GPU-a, GPU-b"}, tmp_path) == {VISIBLE: "GPU-b"}
        assert own_gpu(0, {VISIBLE: "2,-1,1"}, tmp_path) == own_gpu(5, {VISIBLE: "2,-1,1"}, tmp_path) == {VISIBLE: "2"}
        assert own_gpu(0, {VISIBLE: ""}, tmp_path) == own_gpu(0, {}, tmp_path / "none") == {}
    assert own_gpu(0, {VISIBLE: "1"}, tmp_path) == {}
