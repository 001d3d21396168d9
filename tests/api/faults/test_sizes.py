# SPDX-License-Identifier: GPL-2.0-or-later
"""A create in a size that no instance waits in: its host sets the limits, and Incus is told later."""

import os
import pathlib
import random
import subprocess

import pytest

from faults import InBackground, fault_points, quiet, settle, until_host_is_asked, waiting  # noqa: F401
from killing import stopped
from stack import wait_until
from tenant import Sandbox, checkpoint_of

GIB = 1 << 30


def nothing_of(stack, program):
    pids = [stack.daemon("incusd").pid] if program == "incusd" else stack.processes(program)
    assert pids, program
    return stopped(pids)


@pytest.fixture
def pro(make_account):
    return make_account("enterprise").api


@pytest.fixture
def size():
    """One that nothing waits in: what a test asks for twice waits for the next."""
    return {"cpu": 2, "memory_mb": random.randrange(1024, 8192, 128)}


def is_of(sandbox, size):
    return seen(sandbox) == (size["cpu"], size["memory_mb"], 40)


def untold(stack, sandbox):
    return stack.query("SELECT * FROM sandbox_sizes WHERE sandbox_id = %s", sandbox.id)


def told(stack, sandbox):
    wait_until(lambda: not untold(stack, sandbox), 60, "Incus being told", 0.1)
    found = stack.incus.instance(sandbox.instance)
    return found["config"]["limits.cpu"], found["config"]["limits.memory"], found["devices"]["root"]["size"]


def seen(sandbox):
    """Processors, MiB of memory and GiB of disk, as the first command has them."""
    words = sandbox.data.check("nproc; free -m | awk '/^Mem:/ { print $2 }'; cat /sys/fs/btrfs/max_referenced").split()
    return int(words[0]), int(words[1]), int(words[2]) // GIB


@pytest.mark.long
def test_a_create_in_another_size_is_answered_while_incus_is_stopped(stack, waiting, pro, size):
    with nothing_of(stack, "incusd"):
        sandbox = Sandbox.create(pro, **size)
        assert sandbox.instance.startswith("warm-")
        assert untold(stack, sandbox), "Incus is to be told"
        assert is_of(sandbox, size)
    assert told(stack, sandbox) == ("2", f"{size['memory_mb']}MiB", "40GiB")
    assert is_of(sandbox, size)
    settle(stack)


def processors_of(sandbox, text=None):
    """The file with them; text is written first."""
    root = pathlib.Path("/sys/fs/cgroup")
    group = (root if (root / "cgroup.controllers").exists() else root / "cpuset") / f"lxc.payload.sandlot_{sandbox.instance}"
    if text:
        (group / "cpuset.cpus").write_text(text, encoding="ascii")
    return (group / "cpuset.cpus").read_text(encoding="ascii").strip()


@pytest.mark.skipif(os.cpu_count() == 1, reason="a machine with one processor has none to choose")
def test_incus_leaves_processors_alone(stack, pro):
    """It would hand them out again whenever an instance starts or goes."""
    sandbox, other = Sandbox.create(pro, cpu=1), Sandbox.create(pro, cpu=1)
    # Those of other stacks on this machine spread these instances too.
    everywhere = subprocess.run(["pgrep", "-f", "/sandlot-limits"], capture_output=True, text=True, check=True)
    with stopped([int(pid) for pid in everywhere.stdout.split()]):
        both = processors_of(sandbox, "0-1")
        other.pause()
        other.resume()
        assert other.data.check("nproc") == "1\n"
        assert processors_of(sandbox) == both


@pytest.mark.long
def test_what_incus_writes_meanwhile_changes_nothing(stack, waiting, pro, size, fault_points):
    fault_points.arm("size.taken", "wait", "sandlot-dispatcher")
    sandbox = Sandbox.create(pro, **size)
    fault_points.reached("size.taken", 30)
    other = Sandbox.create(pro, **size)
    other.pause()
    other.resume()
    for _ in range(20):
        assert seen(sandbox)[0] == 2
    fault_points.clear()
    assert told(stack, sandbox)[0] == "2"
    assert seen(sandbox)[0] == 2


@pytest.mark.long
def test_without_the_program_incus_is_asked(stack, waiting, pro, size):
    """A host of a version before has none."""
    path = stack.host_dir / "run" / "limits.sock"
    away = path.with_suffix(".away")
    path.rename(away)
    try:
        sandbox = Sandbox.create(pro, **size)
        assert not untold(stack, sandbox), "it knows"
        wait_until(lambda: is_of(sandbox, size), 10, "the processors, which the program sets by the weight", 0.1)
    finally:
        away.rename(path)
    assert told(stack, sandbox) == ("2", f"{size['memory_mb']}MiB", "40GiB")


@pytest.mark.long
def test_a_program_that_hangs_keeps_no_create(stack, waiting, pro, size):
    with nothing_of(stack, "sandlot-limits"):
        sandbox = Sandbox.create(pro, **size)
        assert seen(sandbox)[1:] == (size["memory_mb"], 40)
    wait_until(lambda: is_of(sandbox, size), 10, "the processors, which the program sets", 0.1)
    settle(stack)
    until_host_is_asked(stack, lambda: Sandbox.create(pro, **size))


@pytest.mark.long
@pytest.mark.parametrize("point", ["size.taken", "size.told"])
def test_a_dispatcher_killed_while_it_tells_incus(stack, waiting, pro, size, fault_points, point):
    fault_points.arm(point, "kill", "sandlot-dispatcher")
    sandbox = Sandbox.create(pro, **size)
    wait_until(lambda: not (fault_points.directory / point).exists(), 60, f"a dispatcher at {point}")
    assert told(stack, sandbox) == ("2", f"{size['memory_mb']}MiB", "40GiB")
    settle(stack)


@pytest.mark.long
def test_a_pause_tells_incus_first(stack, waiting, pro, size):
    sandbox = Sandbox.create(pro, **size)
    sandbox.pause()
    assert not untold(stack, sandbox)
    assert sandbox.resume()["resumed_from"] == "memory"
    assert is_of(sandbox, size)
    assert told(stack, sandbox) == ("2", f"{size['memory_mb']}MiB", "40GiB")


@pytest.mark.long
def test_a_pause_waits_for_who_tells_incus(stack, waiting, pro, size, fault_points):
    fault_points.arm("size.taken", "wait", "sandlot-dispatcher")
    sandbox = Sandbox.create(pro, **size)
    fault_points.reached("size.taken", 30)
    pausing = InBackground(pro.post, f"{sandbox.path}/pause")
    wait_until(lambda: stack.row(sandbox.id)["state"] == "stopping", 30, "the pause")
    fault_points.clear()
    assert pausing.result().status == 200
    assert sandbox.resume()["resumed_from"] == "memory"
    assert is_of(sandbox, size)


@pytest.mark.long
def test_a_checkpoint_is_of_the_size(stack, waiting, pro, size):
    sandbox = Sandbox.create(pro, **size)
    checkpoint = checkpoint_of(sandbox)
    assert (checkpoint["cpu"], checkpoint["memory_mb"]) == (2, size["memory_mb"])
    copy = Sandbox.create(pro, template=checkpoint["id"])
    assert is_of(copy, size)
    assert told(stack, sandbox) == ("2", f"{size['memory_mb']}MiB", "40GiB")


@pytest.mark.long
def test_a_deleted_sandbox_needs_none(stack, waiting, pro, size, fault_points):
    fault_points.arm("size.taken", "wait", "sandlot-dispatcher")
    sandbox = Sandbox.create(pro, **size)
    fault_points.reached("size.taken", 30)
    assert pro.delete(sandbox.path).status == 204
    fault_points.clear()
    wait_until(lambda: not untold(stack, sandbox), 60, "the record being gone", 0.1)
    settle(stack)


@pytest.mark.long
def test_a_guest_that_goes_down_before_incus_was_told(stack, waiting, pro, size, fault_points):
    fault_points.arm("size.taken", "wait", "sandlot-dispatcher")
    sandbox = Sandbox.create(pro, **size)
    fault_points.reached("size.taken", 30)
    stack.incus.request("PUT", f"/1.0/instances/{sandbox.instance}/state", {"action": "stop", "force": True})
    wait_until(lambda: stack.row(sandbox.id)["state"] == "stopped", 60, "the end being noticed", 0.1)
    fault_points.clear()
    assert sandbox.resume()["resumed_from"] == "disk"
    assert is_of(sandbox, size)
    assert told(stack, sandbox) == ("2", f"{size['memory_mb']}MiB", "40GiB")


@pytest.mark.long
def test_a_burst(stack, waiting, pro, size):
    """Each has its size at once, though Incus is told of the others one by one."""
    calls = [InBackground(Sandbox.create, pro, **size) for _ in range(4)]
    made = [call.result() for call in calls]
    for _ in range(5):
        assert all(is_of(sandbox, size) for sandbox in made)
    for sandbox in made:
        assert told(stack, sandbox) == ("2", f"{size['memory_mb']}MiB", "40GiB")
        assert is_of(sandbox, size)
    settle(stack)
