"""Losses on a cluster of Ray: workers, whole nodes, the driver; a worker that wakes up later, a network that is cut.

    KILLS=20 NODES=5 python -m pytest -q -s -m slow tests/dist/test_ray_losses.py

The nodes are on this machine, at loopback addresses of their own; those that are cut off are in a network namespace.
"""

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from distmodels import Build, Chaos, examples, net, running, slow_counter, wait_for

from termgraph import dist

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed"),
]
KILLS, NODES = int(os.environ.get("KILLS", 3)), int(os.environ.get("NODES", 1))
TESTS = Path(__file__).parent.parent
SOON = {"period_ms": 1000, "timeout_ms": 1000, "failure_threshold": 4, "initial_delay_ms": 0}  # for silent nodes
HERE, THERE, SPACE = "10.231.7.1", "10.231.7.2", "termgraph-test"
OPTIONS = {"shards": 4, "seed": 5, "rule": dist.Synchronous(check=7)}


@contextmanager
def cluster_at(head, cpus, *nodes):
    """A cluster whose head is at an address, with a node of one core at each further one."""
    import ray
    from ray.cluster_utils import Cluster

    ray.shutdown()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(TESTS))
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        config = {f"health_check_{name}": value for name, value in SOON.items()}
        arguments = {"node_ip_address": head, "num_cpus": cpus, "include_dashboard": False, "_system_config": config}
        made = Cluster(initialize_head=True, shutdown_at_exit=False, head_node_args=arguments)
        try:
            made.workers = [made.add_node(node_ip_address=address, num_cpus=1) for address in nodes]
            ray.init(address=made.address, _node_ip_address=head, log_to_driver=False, logging_level="ERROR")
            yield made
        finally:
            ray.shutdown()
            made.shutdown()


@pytest.fixture(scope="module")
def cluster():
    """A head without room for workers, and two nodes with room for one each."""
    with cluster_at("127.0.0.2", 0, "127.0.0.3", "127.0.0.4") as made:
        yield made


def data(epochs):
    return dist.Arrays(*examples(), batch=10, epochs=epochs)


def trained(cluster, build, epochs, **options):
    """Two workers of the cluster; they have the bits of none."""
    result = dist.train(
        build, data(epochs), workers=2, address=cluster.address, **{"timeout": 60, **OPTIONS, **options}
    )
    whole = dist.train(net, data(epochs), **OPTIONS)
    assert result.cost.tobytes() == whole.cost.tobytes() and result.steps == whole.steps
    assert all(result.params[k].tobytes() == whole.params[k].tobytes() for k in whole.params)
    return result


def actors():
    """The processes of workers on Ray."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if b"ray::Host" in path.read_bytes() and running(path.parent.name):
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


class Now:
    """How far a training is, for a thread that does something to it."""

    def __init__(self, action):
        self.step = self.workers = 0
        self.action, self.over, self.error = action, False, None

    def __call__(self, progress):
        self.step, self.workers = progress.step, progress.workers

    def wait(self, steps, workers=2, seconds=180):
        """Until so many more steps are made, and so many workers are there; False if it is over."""
        until = self.step + steps
        assert wait_for(lambda: self.over or (self.step >= until and self.workers >= workers), seconds), "no progress"
        return not self.over

    @contextmanager
    def acting(self):
        """While this is entered the thread runs; its errors come out at the end."""

        def run():
            try:
                self.action(self)
            except BaseException as err:
                self.error = err

        thread = threading.Thread(target=run)
        thread.start()
        try:
            yield
        finally:
            self.over = True
            thread.join()
        if self.error is not None:
            raise self.error


def killed(folder):
    return Counter(f.read_text() for f in folder.iterdir())


def test_killed_workers_change_no_bit(cluster, tmp_path):
    folder, path = tmp_path / "kills", tmp_path / "a.ckpt"
    folder.mkdir()
    places = ["gradient", "slots", "sum on Ray", "update", "anywhere"]
    build = Chaos(Build("nothing", -1, pause=0.02), folder, KILLS, places, calls=20)
    result = trained(cluster, build, 30 + 20 * KILLS, checkpoint=path, every=10)
    print(f"{killed(folder).total()} workers killed: {dict(killed(folder))}")
    assert killed(folder).total() == [e.kind for e in result.events].count("lost") > 0
    assert wait_for(lambda: not actors(), 10)


@pytest.mark.parametrize("owners", [1, 3])
def test_every_batch_counts_once(cluster, owners, tmp_path):
    places = 300 + 100 * KILLS
    folder = tmp_path / "kills"
    folder.mkdir()
    where = ["batch", "lock", "anywhere", *(["slice"] if owners > 1 else [])]
    build = Chaos(partial(slow_counter, places=places), folder, KILLS, where)
    numbers = dist.Arrays(np.arange(places), batch=1, shuffle=False)
    result = dist.train(
        build, numbers, rule=dist.ASGD(3), workers=2, address=cluster.address, timeout=60, owners=owners
    )
    print(f"{killed(folder).total()} workers killed: {dict(killed(folder))}")
    assert float(result.params["w"]) == places and (result.params["seen"] == 1).all()
    assert killed(folder).total() > 0 and "gone back" not in {e.kind for e in result.events}


def losing_nodes(cluster, gone, every):
    """Kills a node and adds another, again and again after so many steps; `gone` has the steps."""

    def act(now):
        for k in range(NODES):
            if not now.wait(every):
                return
            cluster.remove_node(cluster.workers.pop(0), allow_graceful=False)  # SIGKILL
            gone.append(now.step)
            cluster.workers.append(cluster.add_node(node_ip_address=f"127.0.0.{5 + k}", num_cpus=1))

    return Now(act)


def test_nodes_are_lost_with_their_slices_of_the_centre(cluster):
    gone, places = [], 200 + 300 * NODES
    now = losing_nodes(cluster, gone, 30)
    numbers = dist.Arrays(np.arange(places), batch=1, shuffle=False)
    build = partial(slow_counter, places=places)
    options = {"rule": dist.ASGD(2), "owners": 3, "every": 20, "timeout": 60, "on_report": now}
    with now.acting():
        result = dist.train(build, numbers, workers=2, address=cluster.address, **options)
    back = [e.detail for e in result.events if e.kind == "gone back"]
    print(f"{len(gone)} nodes killed, at steps {gone}", *back, sep="\n")
    assert float(result.params["w"]) == places and (result.params["seen"] == 1).all()
    assert len(gone) == NODES and len(back) >= 1


def test_lost_nodes_change_no_bit(cluster, tmp_path):
    gone = []
    now = losing_nodes(cluster, gone, 10)
    with now.acting():
        path = tmp_path / "a.ckpt"
        build = Build("nothing", -1, pause=0.05)
        result = trained(cluster, build, 20 + 60 * NODES, checkpoint=path, every=10, on_report=now)
    print(f"{len(gone)} nodes killed, at steps {gone}")
    assert len(gone) == NODES and [e.kind for e in result.events].count("lost") >= NODES


def test_a_worker_that_wakes_up_later_is_refused(cluster, tmp_path):
    stopped = []

    def act(now):
        now.wait(5)
        stopped.append(actors()[0])
        os.kill(stopped[0], signal.SIGSTOP)
        now.wait(5, workers=1)
        with suppress(ProcessLookupError):
            os.kill(stopped[0], signal.SIGCONT)

    now = Now(act)
    with now.acting():
        result = trained(cluster, Build("nothing", -1, pause=0.05), 40, timeout=3, on_report=now)
    assert {"late", "lost"} <= {e.kind for e in result.events} and stopped
    assert wait_for(lambda: not running(stopped[0]), 10)


SCRIPT = """
import sys
sys.path.insert(0, {tests!r})
import ray
from distmodels import Build, examples
from termgraph import dist

if __name__ == "__main__":
    ray.init(address={address!r}, _node_ip_address="127.0.0.2", log_to_driver=False, logging_level="ERROR")
    data = dist.Arrays(*examples(), batch=10, epochs=8)
    build = Build("nothing", -1, pause=0.1)
    dist.train(build, data, workers=2, address={address!r}, shards=4, seed=5, checkpoint=sys.argv[1], every=1)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_workers_go_with_the_driver_and_the_next_goes_on(cluster, number, tmp_path):
    script, path = tmp_path / "script.py", tmp_path / "a.ckpt"
    script.write_text(SCRIPT.format(tests=str(TESTS), address=cluster.address))
    process = subprocess.Popen([sys.executable, str(script), str(path)], start_new_session=True)
    try:
        assert wait_for(path.exists, 120)
        there = actors()
        assert len(there) == 2
        process.send_signal(number)
        begun = time.monotonic()
        assert wait_for(lambda: not any(map(running, [process.pid, *there])), 15)
        print(f"{number.name}: workers gone after {time.monotonic() - begun:.1f} s, code {process.wait()}")
        assert time.monotonic() - begun < 5
        assert process.wait() in {signal.SIGKILL: [-9], signal.SIGTERM: [143], signal.SIGINT: [-2, 1]}[number]
    finally:
        process.kill()
        process.wait()
    resumed = dist.train(net, data(8), shards=4, seed=5, checkpoint=path)
    whole = dist.train(net, data(8), shards=4, seed=5)
    assert resumed.cost.tobytes() == whole.cost.tobytes()
    assert all(resumed.params[k].tobytes() == whole.params[k].tobytes() for k in whole.params)


# ---------------------------------------------------------------------- a network that is cut
def ip(*words, check=True):
    return subprocess.run(["ip", *words], check=check, capture_output=True)


@pytest.fixture
def space():
    """A network namespace and a link with it; skipped where these may not be made."""
    if os.geteuid() or not shutil.which("ip"):
        pytest.skip("network namespaces need root, and ip")
    ip("netns", "del", SPACE, check=False)
    if ip("netns", "add", SPACE, check=False).returncode:
        pytest.skip("network namespaces may not be made here")
    try:
        ip("link", "add", "tg-here", "type", "veth", "peer", "name", "tg-there", "netns", SPACE)
        ip("addr", "add", f"{HERE}/24", "dev", "tg-here")
        ip("link", "set", "tg-here", "up")
        for words in (f"addr add {THERE}/24 dev tg-there", "link set tg-there up", "link set lo up"):
            ip("-n", SPACE, *words.split())
        yield SPACE
    finally:
        for pid in ip("netns", "pids", SPACE, check=False).stdout.split():
            os.kill(int(pid), signal.SIGKILL)
        ip("netns", "del", SPACE, check=False)
        ip("link", "del", "tg-here", check=False)


def test_who_is_cut_off_is_refused(space, tmp_path):
    beyond = []

    def act(now):
        now.wait(10)
        beyond.extend(int(p) for p in ip("netns", "pids", space).stdout.split() if int(p) in actors())
        ip("link", "set", "tg-here", "down")
        now.wait(20, workers=1)
        ip("link", "set", "tg-here", "up")

    with cluster_at(HERE, 1) as cluster:
        command = [Path(sys.executable).with_name("ray"), "start", "--block", f"--address={cluster.address}"]
        node = subprocess.Popen(
            ["ip", "netns", "exec", space, *command, f"--node-ip-address={THERE}", "--num-cpus=1"],
            env={**os.environ, "PYTHONPATH": str(TESTS), "RAY_USAGE_STATS_ENABLED": "0"},
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            import ray

            assert wait_for(lambda: ray.cluster_resources().get("CPU", 0) == 2, 90), "the other node has not come"
            now = Now(act)
            with now.acting():
                begun = time.monotonic()
                result = trained(cluster, Build("nothing", -1, pause=0.05), 60, timeout=10, on_report=now)
            print(*(e for e in result.events), sep="\n")
            print(f"{time.monotonic() - begun:.0f} s")
            assert "lost" in {e.kind for e in result.events} and len(beyond) == 1
            assert wait_for(lambda: not running(beyond[0]), 60), "who was cut off is still there"
        finally:
            node.kill()
            node.wait()
