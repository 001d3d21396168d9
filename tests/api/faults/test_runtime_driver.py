# SPDX-License-Identifier: GPL-2.0-or-later
"""The runtime driver alone, over the unix socket and over HTTPS with a client certificate."""

import base64
import json
import os
import random
import secrets
import signal
import socket
import subprocess
import threading
import time

import pytest

from stack import Incus, wait_until

pytestmark = pytest.mark.long

PROJECT = "sandlot-probe"


@pytest.fixture(scope="module")
def program(stack):
    path = os.environ.get("SANDLOT_RUNTIME_PROBE")
    path = path or stack.root / "build" / "tests" / "api" / "lib" / "runtime_probe"
    assert os.access(path, os.X_OK), f"{path} is not built: make check builds it"
    return path


@pytest.fixture(scope="module")
def pool(stack):
    return stack.query("SELECT pool FROM hosts LIMIT 1")[0]["pool"]


@pytest.fixture(scope="module")
def image(stack):
    return stack.query(
        "SELECT fingerprint FROM template_versions WHERE state = 'ready' AND image <> '' ORDER BY id DESC LIMIT 1"
    )[0]["fingerprint"]


class Probe:
    """One call of the driver at a time, each from a process of its own."""

    def __init__(self, program, pool, *options):
        self.command = [program, "--project", PROJECT, "--pool", pool, *options]

    def start(self, verb, *options):
        return subprocess.Popen([*self.command, *options, verb], stdout=subprocess.PIPE)

    def call(self, verb, *options):
        """What the driver found; longest_gap_ms is the time a lease went without a sign of life."""
        with self.start(verb, *options) as process:
            output, _ = process.communicate(timeout=120)
        document = json.loads(output)
        assert document["longest_gap_ms"] <= 2500, document
        return document

    def check(self, verb, *options):
        document = self.call(verb, *options)
        assert document["ok"], document
        return document


@pytest.fixture(scope="module")
def unix(stack, program, pool, image):
    probe = Probe(program, pool, "--url", f"unix://{stack.incus.socket_path}")
    probe.check("prepare")
    # A source is of one image; an earlier run may have left those of others.
    probe.command += ["--source", f"probe-{image[:12]}"]
    probe.check("build-source", "--image", image)
    return probe


def free_port():
    """Not of the kernel's own choice: a connection of someone else could have it a moment later,
    and keeps it for a minute after its end."""
    while True:
        port = random.randrange(20000, 32000)
        with socket.socket() as probe:
            try:
                probe.bind(("", port))
            except OSError:
                continue
        return port


def make_certificate(directory, name):
    certificate, key = str(directory / f"{name}.pem"), str(directory / f"{name}.key")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        + ["-days", "2", "-subj", f"/CN={name}", "-keyout", key, "-out", certificate],
        check=True,
        capture_output=True,
    )
    return certificate, key


@pytest.fixture(scope="module")
def listening(stack, tmp_path_factory):
    """The daemon listens on HTTPS and trusts one client: (url, server certificate, its files)."""
    directory = tmp_path_factory.mktemp("certificates")
    server = stack.incus.request("GET", "/1.0")
    before = server["config"].get("core.https_address", "")
    address = f"127.0.0.1:{free_port()}"
    stack.incus.request("PATCH", "/1.0", {"config": {"core.https_address": address}})
    server_file = directory / "server.pem"
    server_file.write_text(server["environment"]["certificate"], encoding="ascii")
    certificate, key = make_certificate(directory, "client")
    lines = open(certificate, encoding="ascii").read().splitlines()
    body = {"type": "client", "name": "probe", "certificate": "".join(lines[1:-1])}
    stack.incus.request("POST", "/1.0/certificates", body)
    yield f"https://{address}", str(server_file), (certificate, key), directory
    der = base64.b64decode(body["certificate"])
    fingerprint = subprocess.run(["sha256sum"], input=der, capture_output=True, check=True).stdout
    stack.incus.request("DELETE", f"/1.0/certificates/{fingerprint[:64].decode()}")
    stack.incus.request("PATCH", "/1.0", {"config": {"core.https_address": before}})


@pytest.fixture
def https(program, pool, listening, unix):
    url, server, (certificate, key), _ = listening
    return Probe(
        program, pool, "--url", url, "--server-cert", server,
        "--client-cert", certificate, "--client-key", key, *unix.command[-2:],
    )  # fmt: skip


@pytest.fixture
def instance(unix):
    """Options of an instance of its own, which is gone afterwards."""
    options = ["--name", "p" + secrets.token_hex(5), "--address", f"10.99.1.{secrets.randbelow(250) + 2}"]
    yield options
    unix.check("destroy", *options[:2])


def whole_life(probe, instance):
    name = instance[:2]
    assert probe.check("inspect", *name)["status"] == "absent"
    probe.check("create", *instance)
    probe.check("create", *instance)
    assert probe.check("inspect", *name)["status"] == "running"
    listed = {one["name"]: one for one in probe.check("list")["instances"]}
    assert listed[name[1]]["sandbox"] == "sbx_probe"
    assert listed[name[1]]["status"] == "running"
    assert not [one for one in listed if one.startswith("probe-")]

    assert probe.check("pause", *name)["origin"] == "memory"
    assert probe.check("inspect", *name)["status"] == "paused"
    probe.check("pause", *name)
    assert probe.check("resume", *name)["origin"] == "memory"
    assert probe.check("inspect", *name)["status"] == "running"
    probe.check("resume", *name)

    assert probe.check("pause", *name, "--disk-only")["origin"] == "disk"
    assert probe.check("inspect", *name)["status"] == "stopped"
    assert probe.check("resume", *name)["origin"] == "disk"

    probe.check("pause", *name)
    assert probe.check("resume", *name, "--disk-only")["origin"] == "disk"

    probe.check("destroy", *name)
    probe.check("destroy", *name)
    assert probe.check("inspect", *name)["status"] == "absent"
    assert name[1] not in {one["name"] for one in probe.check("list")["instances"]}


def test_a_whole_life_over_the_unix_socket(unix, instance):
    whole_life(unix, instance)


@pytest.mark.one_host
def test_a_whole_life_over_https(https, instance):
    whole_life(https, instance)


def events_of(probe, count, act):
    """What the driver hears from the moment that its stream has begun and act() was called."""
    with subprocess.Popen([*probe.command, "--events", str(count), "listen"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr.readline() == "begin\n", process.stdout.read()
            act()
            output, _ = process.communicate(timeout=60)
        finally:
            process.kill()
    document = json.loads(output)
    assert document["ok"], document
    return document["events"]


@pytest.mark.parametrize("over", ["unix", pytest.param("https", marks=pytest.mark.one_host)])
def test_what_happens_to_instances_is_heard(over, request, unix, instance, stack):
    probe, daemon, name = request.getfixturevalue(over), Incus(stack.incus.socket_path, PROJECT), instance[1]
    unix.check("create", *instance)

    def restart():
        daemon.request("PUT", f"/1.0/instances/{name}/state", {"action": "restart", "force": True})

    def kill_init():
        os.kill(daemon.request("GET", f"/1.0/instances/{name}/state")["pid"], signal.SIGKILL)

    assert events_of(probe, 1, restart) == [["restarted", name]]
    assert events_of(probe, 1, kill_init) == [["ended", name]]


def test_a_server_with_another_certificate_is_not_listened_to(program, pool, listening):
    url, server, (certificate, key), directory = listening
    other, _ = make_certificate(directory, "other-events")
    for trusted, shown in ((other, (certificate, key)), (server, make_certificate(directory, "unknown"))):
        probe = Probe(program, pool, "--url", url, "--server-cert", trusted)
        probe.command += ["--client-cert", shown[0], "--client-key", shown[1]]
        refused = probe.call("listen")
        assert (refused["ok"], refused["error"]) == (False, "ERR_RUNTIME_UNAVAILABLE"), refused
        assert refused["events"] == []


def test_preparing_again_changes_nothing(unix, image):
    unix.check("prepare")
    first = unix.check("build-source", "--image", image)
    assert first["fingerprint"].startswith(image) or image.startswith(first["fingerprint"])
    assert first["virtual_machine"] is False


def test_what_is_not_there(unix):
    name = ["--name", "no-such-instance"]
    for verb in ("pause", "resume"):
        refused = unix.call(verb, *name)
        assert (refused["ok"], refused["error"]) == (False, "ERR_NOT_FOUND"), refused
    refused = unix.call("create", *name, "--source", "no-such-source")
    assert not refused["ok"], refused
    assert unix.check("inspect", *name)["status"] == "absent"


def test_an_instance_is_confined(unix, instance, stack):
    unix.check("create", *instance)
    daemon = Incus(stack.incus.socket_path, PROJECT)
    config = daemon.instance(instance[1])["expanded_config"]
    assert config.get("security.privileged", "false") == "false"
    assert config.get("security.nesting", "false") == "false"
    assert config["security.guestapi"] == "false"
    assert config["limits.memory"] and config["limits.cpu"] and config["limits.processes"]
    assert config["limits.memory.swap"] == "false"
    assert "io_uring_setup" in config["security.syscalls.deny"]


def test_a_daemon_that_is_not_there(program, pool, listening):
    for url in ("unix:///nowhere/unix.socket", f"https://127.0.0.1:{free_port()}"):
        certificate, key = listening[2]
        probe = Probe(program, pool, "--url", url, "--server-cert", listening[1])
        probe.command += ["--client-cert", certificate, "--client-key", key]
        refused = probe.call("inspect", "--name", "x")
        assert (refused["ok"], refused["error"]) == (False, "ERR_RUNTIME_UNAVAILABLE"), refused


def test_a_server_with_another_certificate_is_not_spoken_to(program, pool, listening):
    url, _, (certificate, key), directory = listening
    other, _ = make_certificate(directory, "other-server")
    probe = Probe(program, pool, "--url", url, "--server-cert", other)
    probe.command += ["--client-cert", certificate, "--client-key", key]
    refused = probe.call("inspect", "--name", "x")
    assert (refused["ok"], refused["error"]) == (False, "ERR_RUNTIME_UNAVAILABLE"), refused


def test_a_client_that_is_not_trusted(program, pool, listening):
    url, server, _, directory = listening
    certificate, key = make_certificate(directory, "stranger")
    probe = Probe(program, pool, "--url", url, "--server-cert", server)
    probe.command += ["--client-cert", certificate, "--client-key", key]
    refused = probe.call("create", "--name", "stranger")
    assert not refused["ok"], refused
    assert refused["error"] != "ERR_OUTCOME_UNKNOWN", refused


def test_a_call_ends_when_its_lease_is_lost(unix, instance, stack):
    daemon = stack.daemon("incusd")
    os.kill(daemon.pid, signal.SIGSTOP)
    try:
        started = time.monotonic()
        lost = unix.call("create", *instance, "--tick-fails-after-ms", "1")
        assert time.monotonic() - started < 4, "the daemon hangs, the call does not"
    finally:
        os.kill(daemon.pid, signal.SIGCONT)
    assert (lost["ok"], lost["error"]) == (False, "ERR_LEASE_LOST"), lost
    # Whoever takes over brings it to the end that it wants, whatever was begun.
    wait_until(
        lambda: unix.call("create", *instance)["ok"]
        and unix.check("inspect", *instance[:2])["status"] == "running",
        20,
        "the one who takes over",
    )


def test_the_daemon_killed_in_the_middle_of_a_create(unix, instance, stack):
    daemon = stack.daemon("incusd")
    with unix.start("create", *instance) as process:
        killer = threading.Timer(0.08, os.kill, (daemon.pid, signal.SIGKILL))
        killer.start()
        output, _ = process.communicate(timeout=60)
    wait_until(daemon.is_gone, 5, "the daemon's end")
    daemon.start(stack.incus.answers)
    document = json.loads(output)
    if not document["ok"]:
        assert document["error"] in ("ERR_OUTCOME_UNKNOWN", "ERR_RUNTIME_UNAVAILABLE"), document
    unix.check("destroy", *instance[:2])
    assert unix.check("inspect", *instance[:2])["status"] == "absent"
