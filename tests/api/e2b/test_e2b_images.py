# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds of E2B's paths from images of a registry."""

import pytest

from image_registry import SECOND, Image, ImageRegistry, entry, layer, link, shell
from stack import wait_until
from tenant import Sandbox
from test_e2b_builds import call, nothing_is_left, requested, start, status  # noqa: F401 (a fixture)

pytestmark = pytest.mark.parallel


@pytest.fixture(scope="module")
def registry(stack, tmp_path_factory):
    registry = ImageRegistry(stack, tmp_path_factory.mktemp("registry"), 1)
    try:
        registry.start()
        yield registry
    finally:
        registry.stop()


@pytest.mark.long
def test_a_build_from_an_image(call, account, registry):  # noqa: F811
    registry.push("tools", Image([layer(*shell(), entry("etc/kept", b"kept"))], {"Env": ["A=from the image"]}), "1")
    build = requested(call)
    assert start(call, build, fromImage=f"{SECOND}/tools:1", steps=[{"type": "RUN", "args": ["echo $A >said"]}]).status == 202
    wait_until(lambda: status(call, build)["status"] in ("ready", "error"), 120, "the build")
    assert status(call, build)["status"] == "ready", status(call, build)
    made = Sandbox.create(account.api, template=build["templateID"])
    result = made.data.run("/bin/sh", "-c", "pwd; cat said /etc/kept")
    assert result.stdout == b"/home/user\nfrom the image\nkept", result
    # For a later step that installs sudo.
    said = made.data.run("/bin/sh", "-c", "stat -c '%a %U' /etc/sudoers.d; cat /etc/sudoers.d/sandlot-user", user="root")
    assert said.stdout.startswith(b"750 root\n") and b"NOPASSWD" in said.stdout, said


# As E2B's packages make them: waitForPort, waitForURL, waitForProcess.
READY = ('[ -n "$(ss -Htuln sport = :8000)" ]',
         """curl -s -o /dev/null -w "%{http_code}" 'http://127.0.0.1:8000/kept' | grep -q "200\"""",
         "pgrep httpd > /dev/null")


@pytest.mark.parametrize("ready", [
    pytest.param(READY[0], marks=pytest.mark.long), READY[1], pytest.param(READY[2], marks=pytest.mark.long)])
def test_an_image_without_tools_gets_ready(call, registry, ready):  # noqa: F811
    layers = [layer(*shell(), link("bin/grep", "busybox"), entry("etc/kept", b"kept"))]
    registry.push("toolless", Image(layers), "1")
    build = requested(call)
    assert start(call, build, fromImage=f"{SECOND}/toolless:1", steps=[], readyCmd=ready,
                 startCmd="exec httpd -f -p 8000 -h /etc").status == 202
    wait_until(lambda: status(call, build)["status"] in ("ready", "error"), 120, "the build")
    assert status(call, build)["status"] == "ready", status(call, build)


def test_a_failure_has_its_step(call, registry):  # noqa: F811
    build = requested(call)
    assert start(call, build, fromImage=f"{SECOND}/tools:none", fromImageRegistry={
        "type": "registry", "username": "a", "password": "b"}, steps=[]).status == 202
    wait_until(lambda: status(call, build)["status"] == "error", 120, "the end of the build")
    reason = status(call, build)["reason"]
    assert reason["step"] == "base" and "tools:none" in reason["message"] and "does not have it" in reason["message"]


def test_a_key_of_google_is_a_password(call, registry):  # noqa: F811
    """The registry at this port knows another user."""
    build = requested(call)
    assert start(call, build, fromImage=f"{SECOND.replace(':5000', ':5001')}/private/tools:1", steps=[], fromImageRegistry={
        "type": "gcp", "serviceAccountJson": '{"type": "service_account"}\n'}).status == 202
    wait_until(lambda: status(call, build)["status"] == "error", 120, "the end of the build")
    assert "refuses the user _json_key" in status(call, build)["reason"]["message"]
