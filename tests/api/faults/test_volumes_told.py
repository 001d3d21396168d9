# SPDX-License-Identifier: GPL-2.0-or-later
"""A create with volumes of which an instance waits: its host mounts them, and Incus is told later."""

import contextlib
import os
import pathlib
import secrets

import pytest

from client import assert_error
from faults import InBackground, fault_points, quiet, settle, until_host_is_asked, waiting  # noqa: F401
from killing import stopped
from stack import wait_until
from tenant import Sandbox

pytestmark = pytest.mark.long

REBOOT = "echo kept >/data/note; sync; (sleep 0.3; /bin/busybox reboot -f) >/dev/null 2>&1 </dev/null &"
MOUNTS = "grep -c ' /data ' /proc/self/mountinfo"


@pytest.fixture
def volume(api):
    return api.create_volume(name="v" + secrets.token_hex(4))


@pytest.fixture
def untold(stack, waiting, api, volume, fault_points):
    """A sandbox with a volume of which Incus is not told before fault_points.clear()."""
    fault_points.arm("size.taken", "wait", "sandlot-dispatcher")
    sandbox = Sandbox.create(api, volume_mounts={"/data": volume["name"]})
    assert is_untold(stack, sandbox)
    fault_points.reached("size.taken", 30)
    yield sandbox
    fault_points.clear()


def is_untold(stack, sandbox):
    return stack.query("SELECT * FROM sandbox_sizes WHERE sandbox_id = %s", sandbox.id)


def told(stack, sandbox):
    """The places of volumes that Incus knows of."""
    wait_until(lambda: not is_untold(stack, sandbox), 60, "Incus being told", 0.1)
    devices = stack.incus.instance(sandbox.instance)["devices"]
    return sorted(device["path"] for name, device in devices.items() if name.startswith("vol"))


def path_of(volume):
    return f"/v1/volumes/{volume['id']}"


def test_a_create_with_volumes_is_answered_while_incus_is_stopped(stack, waiting, api):
    """Ones that nothing was ever mounted of; at places that are there, that are not, and with odd names."""
    one, two = (api.create_volume(name="v" + secrets.token_hex(4)) for _ in range(2))
    places = ["/data", "/home/user/two", "/mnt/new/odd % näme"]
    mounts = dict(zip(places, (one["name"], two["name"], one["name"])))
    with stopped([stack.daemon("incusd").pid]):
        sandbox = Sandbox.create(api, volume_mounts=mounts)
        assert sandbox.instance.startswith("warm-")
        assert is_untold(stack, sandbox), "Incus is to be told"
        assert sandbox.data.check("stat -c '%U:%G %a' /data; echo 1 >/data/x; echo 2 >/home/user/two/x") \
            == "user:user 755\n"
        assert sandbox.data.check("cat '/mnt/new/odd % näme/x'; stat -c %U /mnt/new") == "1\nroot\n"
    before = sandbox.data.read("/proc/1/mountinfo")
    assert told(stack, sandbox) == places
    assert sandbox.data.read("/proc/1/mountinfo") == before, "nothing is mounted again"
    assert sandbox.data.check("cat /data/x /home/user/two/x; echo 3 >>/data/x") == "1\n2\n"
    settle(stack)


def test_a_size_of_its_own_beside(stack, waiting, make_account):
    api = make_account("enterprise").api
    volume = api.create_volume(name="v" + secrets.token_hex(4))
    with stopped([stack.daemon("incusd").pid]):
        sandbox = Sandbox.create(api, cpu=2, memory_mb=1664, volume_mounts={"/data": volume["name"]})
        assert sandbox.data.check(f"nproc; {MOUNTS}") == "2\n1\n"
    assert told(stack, sandbox) == ["/data"]
    assert stack.incus.instance(sandbox.instance)["config"]["limits.memory"] == "1664MiB"


def test_without_the_program_incus_is_asked(stack, waiting, api, volume):
    """A host of a version before has none."""
    path = stack.host_dir / "run" / "limits.sock"
    away = path.with_suffix(".away")
    path.rename(away)
    try:
        sandbox = Sandbox.create(api, volume_mounts={"/data": volume["name"]})
        assert not is_untold(stack, sandbox), "it knows"
    finally:
        away.rename(path)
    assert sandbox.data.check(f"{MOUNTS}; stat -c %U /data") == "1\nuser\n"
    assert told(stack, sandbox) == ["/data"]


def test_a_program_that_hangs_keeps_no_create(stack, waiting, api, volume):
    with stopped(stack.processes("sandlot-limits")):
        sandbox = Sandbox.create(api, volume_mounts={"/data": volume["name"]})
        assert sandbox.data.check("mountpoint -q /data && echo there") == "there\n"
    assert told(stack, sandbox) == ["/data"]
    settle(stack)
    until_host_is_asked(stack, lambda: Sandbox.create(api, volume_mounts={"/data": volume["name"]}))


@pytest.mark.parametrize("point", ["size.taken", "size.told"])
def test_a_dispatcher_killed_while_it_tells_incus(stack, waiting, api, volume, fault_points, point):
    fault_points.arm(point, "kill", "sandlot-dispatcher")
    sandbox = Sandbox.create(api, volume_mounts={"/data": volume["name"]})
    wait_until(lambda: not (fault_points.directory / point).exists(), 60, f"a dispatcher at {point}")
    assert told(stack, sandbox) == ["/data"]
    assert sandbox.data.check(MOUNTS) == "1\n"


@pytest.mark.parametrize("point", ["create.network", "create.finished"])
def test_a_worker_killed_while_it_hands_over(stack, waiting, api, volume, fault_points, point):
    fault_points.arm(point, "kill", "sandlot-api")
    api.post("/v1/sandboxes", {"volume_mounts": {"/data": volume["name"]}})
    settle(stack)
    for sandbox in api.list():
        api.destroy(sandbox["id"])
    assert api.delete(path_of(volume)).status == 204


def test_a_pause_tells_incus_first(stack, waiting, api, volume):
    sandbox = Sandbox.create(api, volume_mounts={"/data": volume["name"]})
    sandbox.data.check("echo kept >/data/note; sync")
    sandbox.pause()
    assert not is_untold(stack, sandbox)
    sandbox.resume()
    assert sandbox.data.check(f"cat /data/note; {MOUNTS}") == "kept\n1\n"
    assert told(stack, sandbox) == ["/data"]


def test_a_pause_waits_for_who_tells_incus(stack, api, untold, fault_points):
    pausing = InBackground(api.post, f"{untold.path}/pause")
    wait_until(lambda: stack.row(untold.id)["state"] == "stopping", 30, "the pause")
    fault_points.clear()
    assert pausing.result().status == 200
    untold.resume()
    assert untold.data.check(MOUNTS) == "1\n"


def test_a_volume_that_incus_does_not_know_to_be_in_use(stack, api, untold, volume, fault_points):
    """It is neither deleted nor changed from outside, can be read, and another sandbox can have it."""
    untold.data.check("echo 1 >/data/x")
    assert_error(api.delete(path_of(volume)), 409, "volume_attached")
    assert_error(api.request("PUT", path_of(volume) + "/directories", {"path": "/y"}), 409, "volume_attached")
    assert api.get(path_of(volume) + "/files?path=/x").status == 200
    other = Sandbox.create(api, volume_mounts={"/data": volume["name"]})
    other.data.check("echo 2 >>/data/x")
    assert untold.data.check("cat /data/x") == "1\n2\n"
    fault_points.clear()
    assert told(stack, untold) == told(stack, other) == ["/data"]


def test_a_deleted_sandbox_lets_go(stack, api, untold, volume, fault_points):
    assert api.delete(untold.path).status == 204
    assert api.delete(path_of(volume)).status == 204
    fault_points.clear()
    wait_until(lambda: not is_untold(stack, untold), 60, "the record being gone", 0.1)
    settle(stack)


def test_a_guest_that_goes_down_before_incus_was_told(stack, untold, fault_points):
    untold.data.check("echo kept >/data/note; sync")
    stack.incus.request("PUT", f"/1.0/instances/{untold.instance}/state", {"action": "stop", "force": True})
    wait_until(lambda: stack.row(untold.id)["state"] == "stopped", 60, "the end being noticed", 0.1)
    fault_points.clear()
    untold.resume()
    assert untold.data.check(f"cat /data/note; {MOUNTS}") == "kept\n1\n"
    assert told(stack, untold) == ["/data"]


def test_a_guest_that_reboots_before_incus_was_told(stack, untold, fault_points):
    """It would come up without its volumes: it does not, and is resumed with them."""
    untold.data.run("sh", "-c", REBOOT, user="root")
    wait_until(lambda: stack.row(untold.id)["state"] == "stopped", 60, "the end being noticed", 0.1)
    fault_points.clear()
    untold.resume()
    assert untold.data.check(f"cat /data/note; {MOUNTS}") == "kept\n1\n"


@pytest.mark.parametrize("made", ["mkfifo new", "ln -s /etc new", "mkdir -p new/place", "true"])
def test_a_guest_that_moves_the_place_away(stack, waiting, api, volume, fault_points, made):
    """That is its own affair: Incus is told all the same, and nothing is mounted anywhere else."""
    fault_points.arm("size.taken", "wait", "sandlot-dispatcher")
    sandbox = Sandbox.create(api, volume_mounts={"/mnt/new/place": volume["name"]})
    fault_points.reached("size.taken", 30)
    done = sandbox.data.run("sh", "-c", f"cd /mnt && mv new old && {made}", user="root")
    assert done.exit_code == 0, done
    before = sandbox.data.read("/proc/1/mountinfo")
    fault_points.clear()
    assert told(stack, sandbox) == ["/mnt/new/place"]
    assert sandbox.data.read("/proc/1/mountinfo") == before
    sandbox.data.check("echo 1 >/mnt/old/place/x")
    sandbox.pause()
    settle(stack)


def namespaces_with(volume):
    """Mount namespaces of the host's processes in which it is mounted, and how."""
    found = {}
    for process in pathlib.Path("/proc").iterdir():
        if process.name.isdigit():
            with contextlib.suppress(OSError):
                lines = (process / "mountinfo").read_text(encoding="utf-8").splitlines()
                lines = [line for line in lines if f"_vol-{volume['id'][4:]} " in line]
                if lines:
                    found[os.readlink(process / "ns/mnt")] = lines
    return found


def test_a_mount_is_as_incus_makes_it(stack, waiting, api, volume):
    """In the instance alone, and what is mounted in it later is not seen anywhere else."""
    direct = Sandbox.create(api, volume_mounts={"/data": volume["name"]})
    (lines,) = namespaces_with(volume).values()
    direct.pause()
    wait_until(lambda: not namespaces_with(volume), 10, "the end of its mounts", 0.1)
    direct.resume()
    (by_incus,) = namespaces_with(volume).values()
    assert len(lines) == len(by_incus) == 1
    for place in (3, 4, 5, -3, -2):
        assert lines[0].split()[place] == by_incus[0].split()[place]
    assert "master:" not in lines[0]


def test_a_burst(stack, waiting, api, volume):
    calls = [InBackground(Sandbox.create, api, volume_mounts={"/data": volume["name"]}) for _ in range(4)]
    made = [call.result() for call in calls]
    for number, sandbox in enumerate(made):
        sandbox.data.check(f"echo {number} >/data/{number}")
    for sandbox in made:
        assert sandbox.data.check(f"ls /data; {MOUNTS}") == "0\n1\n2\n3\n1\n"
        assert told(stack, sandbox) == ["/data"]
    settle(stack)
