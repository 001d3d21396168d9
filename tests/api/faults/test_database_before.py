# SPDX-License-Identifier: GPL-2.0-or-later
"""A database that the version before has filled is migrated while its programs run, and they go on until those of
this version take their place."""

import secrets

import pytest

from deployment_before import DeploymentBefore
from stack import wait_until

pytestmark = pytest.mark.long


@pytest.fixture
def deployment(stack, tmp_path):
    if stack.other_netns:
        pytest.skip("the second deployment is on this machine alone")
    with DeploymentBefore(stack, tmp_path) as deployment:
        yield deployment


class Left:
    """What one version leaves to the next: a sandbox that runs, a paused one, a checkpoint, a kept answer."""

    def __init__(self, deployment):
        self.once = secrets.token_hex(12)
        self.running = deployment.create(self.once, metadata={"made": "before"}, exposed_ports=[{"port": 3000}])
        self.paused = deployment.create()
        deployment.pause(self.paused)
        self.checkpoint = deployment.ask(201, "POST", f"/v1/sandboxes/{self.running}/checkpoints",
                                         {"name": "c" + secrets.token_hex(4)})["id"]

    def assert_found(self, deployment):
        """By whatever programs run now; it is as it was afterwards."""
        listed = deployment.listed()
        assert (listed[self.running], listed[self.paused]) == ("ready", "stopped"), listed
        assert deployment.create(self.once, metadata={"made": "before"}, exposed_ports=[{"port": 3000}]) == self.running
        shown = deployment.ask(200, "GET", f"/v1/sandboxes/{self.running}")
        assert shown["metadata"] == {"made": "before"} and [one["port"] for one in shown["exposed_ports"]] == [3000]
        assert deployment.resumed_from(self.paused) == "memory"
        deployment.pause(self.paused)
        made = deployment.create(snapshot_id=self.checkpoint)
        deployment.destroy(made)


def live(deployment):
    """Each verb once, and what dispatchers do by themselves."""
    one = deployment.create()
    assert deployment.listed()[one] == "ready"
    deployment.ask(200, "PATCH", f"/v1/sandboxes/{one}", {"metadata": {"a": "b"}})
    assert deployment.ask(200, "GET", "/v1/sandboxes?query%5Bmetadata%5D%5Ba%5D=b")["sandboxes"][0]["id"] == one
    deployment.pause(one)
    assert deployment.resumed_from(one) == "memory"
    checkpoint = deployment.ask(201, "POST", f"/v1/sandboxes/{one}/checkpoints", {"name": "live"})["id"]
    deployment.ask(204, "DELETE", f"/v1/checkpoints/{checkpoint}")
    deployment.destroy(one)
    due = deployment.create(timeout=2, lifecycle={"on_timeout": "pause"})
    deployment.wait_for_state(due, "stopped")
    deployment.destroy(due)
    deployment.ask(200, "GET", "/v1/usage")


def test_the_schema_of_this_version_serves_both(deployment):
    live(deployment)
    before = Left(deployment)
    (held,) = deployment.query("SELECT MAX(version) FROM schema_migrations")
    deployment.install_this_version()
    deployment.ctl("migrate")
    assert deployment.query("SELECT MAX(version) FROM schema_migrations")[0] > held
    live(deployment)
    before.assert_found(deployment)
    meanwhile = Left(deployment)
    assert deployment.goes_on()
    deployment.stop()
    deployment.start()
    live(deployment)
    for left in (before, meanwhile):
        left.assert_found(deployment)
        deployment.ask(204, "DELETE", f"/v1/checkpoints/{left.checkpoint}")
        for sandbox in (left.running, left.paused):
            deployment.destroy(sandbox)
    assert deployment.listed() == {}
    assert wait_until(lambda: not deployment.incus.names() - sources(deployment), 120, "no instance being left", 0.5)
    assert deployment.ctl("audit", "verify")


def sources(deployment):
    return {name for name in deployment.incus.names() if name.startswith("tpl-")}
