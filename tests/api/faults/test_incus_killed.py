# SPDX-License-Identifier: GPL-2.0-or-later
"""Incus killed in the middle of its own work on one sandbox: nothing that it leaves on the host may
be in the sandbox's way."""

import os
import re
import signal
import subprocess
import time

import pytest

from faults import InBackground, quiet, settle  # noqa: F401
from stack import wait_until

pytestmark = pytest.mark.long


def ip(*arguments):
    shown = subprocess.run(["ip", "-o", *arguments], capture_output=True, text=True, check=True)
    return shown.stdout.splitlines()


def links_to(address):
    """Interfaces of this host that lead to a sandbox's address."""
    return [line.split()[2] for line in ip("route", "show", address)]


def left_links(stack):
    """Pairs with both ends on the host: no sandbox has them."""
    pattern = re.compile(rf"^\d+: ({stack.nic_prefix}[a-z0-9]{{13}})@veth")
    return [found.group(1) for line in ip("link", "show", "type", "veth") if (found := pattern.match(line))]


def image_of(stack, instance):
    """What a pause has written of the memory so far."""
    return list((stack.instance_dir(instance) / "state").glob("*.img"))


def fill_memory(sandbox, megabytes):
    """Something that takes a while to write."""
    program = f"import os, time; kept = os.urandom({megabytes} << 20); open('/tmp/filled', 'w'); time.sleep(9999)"
    sandbox.data.background("python3", "-c", program)
    wait_until(lambda: sandbox.data.download("/tmp/filled").status == 200, 20, "the memory being in use")


def kill(daemon):
    os.kill(daemon.pid, signal.SIGKILL)
    wait_until(daemon.is_gone, 10, "the end of Incus")


@pytest.mark.parametrize("after_s", [0, 0.4], ids=["as it begins", "as it writes"])
def test_incus_killed_in_a_pause(sandbox, stack, after_s):
    """The container ends and its hooks find nobody who would take its link away."""
    sandbox.data.upload("/home/user/kept", b"kept")
    fill_memory(sandbox, 100)
    instance, address = sandbox.instance, sandbox.address
    daemon = stack.daemon("incusd")
    pausing = InBackground(sandbox.api.post, f"{sandbox.path}/pause")
    wait_until(lambda: image_of(stack, instance), 20, "the memory being written", 0.002)
    time.sleep(after_s)
    kill(daemon)
    try:
        wait_until(lambda: not links_to(address), 15, "the link to the sandbox going away")
    finally:
        daemon.start(stack.incus.answers)
    assert pausing.result().status in (200, 503)
    settle(stack)
    assert sandbox.show()["state"] == "stopped"
    assert sandbox.resume()["state"] == "ready"
    assert sandbox.data.read("/home/user/kept") == b"kept"
    assert not image_of(stack, instance), "what the pause had written does not weigh on the sandbox's disk"
    sandbox.pause()
    assert sandbox.resume()["resumed_from"] == "memory"


@pytest.mark.one_host
def test_incus_killed_in_a_start(sandbox, stack):
    """The link is made first, and the container that should have it is not there yet."""
    sandbox.data.upload("/home/user/kept", b"kept")
    boot_id = sandbox.boot_id()
    sandbox.pause()
    daemon = stack.daemon("incusd")
    resuming = InBackground(sandbox.api.post, f"{sandbox.path}/resume")
    wait_until(lambda: links_to(sandbox.address), 20, "the link being made", 0.001)
    kill(daemon)
    daemon.start(stack.incus.answers)
    assert resuming.result().status in (200, 503)
    settle(stack)
    wait_until(lambda: not left_links(stack), 15, "no link without a sandbox")
    assert sandbox.show()["state"] == "ready"
    resumed = sandbox.resume()
    assert sandbox.data.read("/home/user/kept") == b"kept"
    same = sandbox.boot_id() == boot_id
    assert same == (resumed["resumed_from"] == "memory")
