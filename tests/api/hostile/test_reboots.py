# SPDX-License-Identifier: GPL-2.0-or-later
"""A guest that reboots for ever, and what Incus leaves on its host, beside an honest tenant."""

import os
import time

import pytest

from stack import wait_until
from tenant import Sandbox

LOOP = """
grep -q reboot /etc/inittab || sed -i '1i ::sysinit:/bin/busybox reboot -f' /etc/inittab
(sleep 1; /bin/busybox reboot -f) >/dev/null 2>&1 </dev/null &
"""
# What fcgi/host/helper/launcher lets pass with less than a minute between them.
REBOOTS_MOST = 6


@pytest.fixture
def attacker(make_account):
    return make_account("pro").api


def log_lines(stack, word):
    text = (stack.root / "log" / "dispatcher.log").read_text(encoding="utf-8", errors="replace")
    return [line for line in text.splitlines() if word in line]


@pytest.mark.long
def test_a_guest_that_reboots_for_ever_is_stopped(attacker, bystander, stack):
    sandbox = Sandbox.create(attacker)
    sandbox.data.bash(LOOP, user="root")
    bystander.goes_on()
    wait_until(lambda: sandbox.show()["state"] == "stopped", 120, "the end of the loop")
    # On a machine that is busy a reboot may take so long that it counts as the end before.
    lines = wait_until(lambda: [line for line in log_lines(stack, sandbox.id)
                                if "rebooted repeatedly" in line or "stopped by itself" in line],
                       10, "the reason in the log")
    assert sandbox.show()["reason"] == ("rebooting" if "reboots=" in lines[-1] else "ended")
    if "reboots=" in lines[-1]:
        assert 3 <= int(lines[-1].rsplit("reboots=", 1)[1].split()[0]) <= REBOOTS_MOST + 1
    bystander.goes_on(pause=False)
    assert sandbox.show()["state"] == "stopped", "it stays so"
    assert attacker.delete(sandbox.path).status == 204


def test_a_guest_may_reboot(make_sandbox):
    sandbox = make_sandbox()
    for _ in range(2):
        boot = sandbox.boot_id()
        sandbox.data.bash("(sleep 2; /bin/busybox reboot -f) >/dev/null 2>&1 </dev/null &", user="root")

        def is_back(before=boot):
            answer = sandbox.data.download("/proc/sys/kernel/random/boot_id")
            return answer.status == 200 and answer.body.decode() != before

        wait_until(is_back, 30, "the sandbox to be back")
    assert sandbox.show()["state"] == "ready"


@pytest.mark.long
def test_what_a_deleted_instance_leaves_is_removed(make_account, stack):
    """By the start of another one, once it is a minute old."""
    api = make_account("pro").api
    sandbox = Sandbox.create(api)
    instance = sandbox.instance
    sandbox.pause()
    api.destroy(sandbox.id)
    # The answer does not wait for the instance.
    wait_until(lambda: stack.row(sandbox.id)["state"] == "destroyed", 60, "the end of the instance", 0.2)
    folders = [stack.incus_dir / kind / f"{stack.incus.project}_{instance}" for kind in ("run", "logs")]
    old = time.time() - 120
    for folder in folders:
        if folder.exists():
            os.utime(folder, (old, old))
    stamp = stack.incus_dir / "run" / ".sandlot-orphans"
    if stamp.exists():
        os.utime(stamp, (old, old))
    other = Sandbox.create(api)
    kept = [stack.incus_dir / kind / f"{stack.incus.project}_{other.instance}" for kind in ("run", "logs")]
    checkpoint = api.post(f"{other.path}/checkpoints", {"name": "c"}).json()["id"]
    Sandbox.create(api, template=checkpoint)
    wait_until(lambda: not any(folder.exists() for folder in folders), 30, "the removal")
    assert all(folder.is_dir() for folder in kept)
