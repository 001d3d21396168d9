# SPDX-License-Identifier: GPL-2.0-or-later
"""Certificates between fronts and hosts renew themselves: the front signs and sends, the host checks and installs."""

import contextlib
import json
import os
import pathlib
import re
import secrets
import signal
import socket
import ssl
import subprocess
import time

import pytest

from doctor import assert_says, doctor, wrong
from firewall import Firewall
from stack import wait_until
from test_doctor import changed_settings

NGINX = """user www-data;
pid {dir}/nginx.pid;
error_log {dir}/error.log;
events {{ }}
http {{ include {dir}/host/sandlot-relay.conf; }}
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def has_days(path, days):
    """Whether the certificate is valid for that many days."""
    return subprocess.run(["openssl", "x509", "-in", str(path), "-noout", "-checkend", str(86400 * days)],
                          capture_output=True, check=False).returncode == 0


def pair_of(folder, name="host.pem"):
    """What a host is sent, from the file that holds both."""
    certificate, begin, key = (folder / name).read_text(encoding="utf-8").partition("-----BEGIN PRIVATE KEY")
    assert begin
    return {"certificate": certificate.strip() + "\n", "key": begin + key}


class Deployment:
    """A front's folder with an authority, and a host with a relay of its own, in a row that takes no sandboxes."""

    def __init__(self, stack, directory, config):
        self.stack, self.dir, self.config = stack, directory, config
        self.name, self.port = "h" + secrets.token_hex(4), free_port()
        self.front, self.host = directory / "front", directory / "host"
        self.pid_file = directory / "nginx.pid"
        self.ctl("host", "authority")
        self.ctl("host", "certificate", self.name, "--range", stack.range, "--output", str(self.host), "--dir",
                 str(self.host), "--port", str(self.port))
        (directory / "nginx.conf").write_text(NGINX.format(dir=directory), encoding="utf-8")
        self.nginx = None

    def ctl(self, *arguments, check=True, config=None):
        command = [*self.stack.ctl_command]
        command[command.index("--config") + 1] = str(config or self.config)
        done = subprocess.run([*command, "--json", *arguments], capture_output=True, text=True, timeout=60, check=False)
        if not check:
            return done
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def age(self, folder, name, subject, days):
        """Replace the certificate by one with few days left, from the same authority and for the same name."""
        extensions = self.dir / "extensions"
        extensions.write_text(f"subjectAltName=DNS:{subject}\n", encoding="utf-8")
        file = folder / f"{name}.pem"
        request, key = (subprocess.run(["openssl", *words, str(file)], capture_output=True, check=True).stdout
                        for words in (("req", "-new", "-subj", f"/CN={subject}", "-key"), ("pkey", "-in")))
        signed = subprocess.run(["openssl", "x509", "-req", "-CA", str(self.front / "ca.pem"), "-CAkey", str(self.front / "ca.key"),
                                 "-days", str(days), "-extfile", str(extensions)], input=request, capture_output=True, check=True)
        file.write_bytes(signed.stdout + key)

    @contextlib.contextmanager
    def serving(self):
        (template,) = self.stack.query("SELECT url, project, pool FROM hosts LIMIT 1")
        self.nginx = subprocess.Popen(["nginx", "-c", str(self.dir / "nginx.conf"), "-g", "daemon off;"])
        self.stack.query("INSERT INTO hosts (name, state, url, project, pool, nic_prefix, address_range, vcpus, memory_mb,"
                         " relay_url, created_at_ms) VALUES (%s, 'draining', %s, %s, %s, 'zx', '10.254.252.0/24', 1, 64, %s, 0)",
                         self.name, template["url"], template["project"], template["pool"], f"https://127.0.0.1:{self.port}")
        try:
            wait_until(self.pid_file.exists, 10, "the relay")
            yield
        finally:
            self.stack.query("DELETE FROM hosts WHERE name = %s", self.name)
            self.nginx.terminate()
            self.nginx.wait()

    def workers(self):
        """The processes of nginx, also those that end."""
        return set(pathlib.Path(f"/proc/{self.nginx.pid}/task/{self.nginx.pid}/children").read_text(encoding="ascii").split())

    def connect(self):
        context = ssl.create_default_context(cafile=self.front / "ca.pem")
        context.load_cert_chain(self.front / "front.pem")
        plain = socket.create_connection(("127.0.0.1", self.port), timeout=30)
        return context.wrap_socket(plain, server_hostname=f"{self.name}.host.sandlot")

    def served(self):
        """Until when the certificate that the relay shows is valid."""
        with self.connect() as connection:
            return ssl.cert_time_to_seconds(connection.getpeercert()["notAfter"])


@pytest.fixture
def deployment(stack, tmp_path):
    with changed_settings(stack, tmp_path, relay_dir=tmp_path / "front") as config:
        (tmp_path / "front").mkdir()
        # nginx' workers are another user.
        pathlib.Path(tmp_path).chmod(0o755)
        yield Deployment(stack, tmp_path, config)


@pytest.fixture
def arrived(stack):
    """What the firewall of the host has stored."""
    path = pathlib.Path(stack.settings["firewall_state_dir"]) / "relay.new"
    path.unlink(missing_ok=True)
    yield path
    path.unlink(missing_ok=True)


def install(deployment, path, check=True):
    """As the unit does on the host."""
    text = deployment.config.read_text(encoding="utf-8")
    config = deployment.dir / "host.conf"
    config.write_text(text.replace(f"relay_dir = {deployment.front}", f"relay_dir = {deployment.host}"), encoding="utf-8")
    return deployment.ctl("host", "install", str(path), "--pid-file", str(deployment.pid_file), check=check, config=config)


def renew(deployment):
    return deployment.ctl("host", "renew", "--pid-file", str(deployment.pid_file))


def test_an_upgrade_of_a_host_writes_the_files_of_its_relay_again(deployment):
    """As the package does it on a machine without a key ring."""
    lines = [line for line in deployment.config.read_text(encoding="utf-8").splitlines()
             if line.split("=")[0].strip() not in ("relay_dir", "key_file")]
    config = deployment.dir / "host.conf"
    config.write_text("\n".join([*lines, f"relay_dir = {deployment.host}", f"key_file = {deployment.dir / 'none'}"]) + "\n",
                      encoding="utf-8")
    relay = deployment.host / "sandlot-relay.conf"
    rendered = relay.read_text(encoding="utf-8")
    assert f"listen {deployment.port} ssl" in rendered and deployment.stack.range in rendered
    relay.write_text(rendered + "# of an earlier version\n", encoding="utf-8")
    written = deployment.ctl("nginx-config", "--output", str(deployment.host), config=config)
    assert written == {"directory": str(deployment.host)}
    assert relay.read_text(encoding="utf-8") == rendered


def test_a_host_gets_a_new_certificate_while_connections_stay(stack, deployment, arrived, sandbox):
    with deployment.serving():
        assert renew(deployment) == {"front_renewed": False, "hosts": []}
        assert not arrived.exists()
        deployment.age(deployment.host, "host", f"{deployment.name}.host.sandlot", 20)
        deployment.nginx.send_signal(signal.SIGHUP)
        wait_until(lambda: deployment.served() < time.time() + 25 * 86400, 10, "an old certificate being served")
        with deployment.connect() as kept:
            # Half of a request to the firewall: nginx waits for the rest across its reload.
            kept.sendall(b"PUT /v1/relay HTTP/1.1\r\nHost: x\r\nX-Sandlot-To: firewall\r\nContent-Type: application/json\r\n"
                         b"Content-Length: 2\r\nConnection: close\r\n\r\n{")
            assert renew(deployment) == {"front_renewed": False, "hosts": [deployment.name]}
            assert arrived.stat().st_mode & 0o077 == 0
            old = deployment.workers()
            install(deployment, arrived)
            assert not arrived.exists()
            wait_until(lambda: deployment.served() > time.time() + 85 * 86400, 10, "the new certificate being served")
            kept.sendall(b"}")
            answer = b"".join(iter(lambda: kept.recv(4096), b""))
            assert answer.startswith(b"HTTP/1.1 422 "), answer
        # Until then, an old worker may take a connection.
        wait_until(lambda: not old & deployment.workers(), 10, "the end of nginx' old workers")
        assert has_days(deployment.host / "host.pem", 85)
        assert renew(deployment) == {"front_renewed": False, "hosts": []}


def test_a_front_gets_a_new_certificate(deployment, arrived):
    with deployment.serving():
        deployment.age(deployment.front, "front", "front.sandlot", 20)
        assert renew(deployment)["front_renewed"] is True
        assert has_days(deployment.front / "front.pem", 85)
        deployment.connect().close()
        assert not arrived.exists()


def test_a_host_that_does_not_answer_is_named_and_the_others_are_renewed(stack, deployment, arrived):
    with deployment.serving():
        stack.query("UPDATE hosts SET relay_url = %s WHERE name = %s", f"https://127.0.0.1:{free_port()}", deployment.name)
        done = deployment.ctl("host", "renew", "--pid-file", str(deployment.pid_file), check=False)
        assert done.returncode == 1 and f"host {deployment.name}" in done.stderr and not arrived.exists()


@pytest.mark.parallel
@pytest.mark.parametrize("foreign", ["another host", "another authority", "another key", "an older one", "no pair", "half a file"])
def test_a_host_refuses_other_pairs(deployment, tmp_path, foreign):
    other = tmp_path / "other"
    name = "another" if foreign == "another host" else deployment.name
    deployment.age(deployment.host, "host", f"{deployment.name}.host.sandlot", 80)
    if foreign == "another authority":
        config = tmp_path / "other.conf"
        (tmp_path / "elsewhere").mkdir()
        config.write_text(deployment.config.read_text(encoding="utf-8").replace(str(deployment.front), str(tmp_path / "elsewhere")),
                          encoding="utf-8")
        deployment.ctl("host", "authority", config=config)
        deployment.ctl("host", "certificate", name, "--range", "10.9.0.0/24", "--output", str(other), config=config)
    else:
        deployment.ctl("host", "certificate", name, "--range", "10.9.0.0/24", "--output", str(other))
    pair = pair_of(other)
    if foreign == "another key":
        pair["key"] = pair_of(deployment.host)["key"]
    elif foreign == "an older one":
        pair = pair_of(deployment.host)
    elif foreign == "no pair":
        pair = {"certificate": "x"}
    path, before = tmp_path / "sent", (deployment.host / "host.pem").read_bytes()
    path.write_text(json.dumps(pair)[:-100 if foreign == "half a file" else None], encoding="utf-8")
    done = install(deployment, path, check=False)
    assert done.returncode == 1 and "certificate" in done.stderr, done
    assert (deployment.host / "host.pem").read_bytes() == before and not path.exists()


@pytest.mark.parallel
@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_a_host_installs_only_files(deployment, tmp_path, kind):
    """The folder is another user's, and root reads there."""
    deployment.age(deployment.host, "host", f"{deployment.name}.host.sandlot", 20)
    deployment.ctl("host", "certificate", deployment.name, "--range", "10.9.0.0/24", "--output", str(tmp_path / "other"))
    sent, path, before = tmp_path / "sent", tmp_path / "relay.new", (deployment.host / "host.pem").read_bytes()
    sent.write_text(json.dumps(pair_of(tmp_path / "other")), encoding="utf-8")
    if kind == "link":
        path.symlink_to(sent)
    else:
        os.mkfifo(path)
    done = install(deployment, path, check=False)
    assert done.returncode == 1 and "cannot read" in done.stderr, done
    assert (deployment.host / "host.pem").read_bytes() == before
    assert not path.is_symlink() and not path.exists() and sent.exists()


@pytest.mark.parallel
def test_certificate_and_key_are_replaced_together(deployment):
    """nginx, which may start at any moment, reads both from one file."""
    text = (deployment.host / "sandlot-relay.conf").read_text(encoding="utf-8")
    names = re.findall(r"ssl_certificate(?:_key)? +(\S+);", text)
    assert names == [str(deployment.host / "host.pem")] * 2
    assert not {path.name for path in (*deployment.host.iterdir(), *deployment.front.iterdir())} & {"host.key", "front.key"}
    assert (deployment.host / "host.pem").stat().st_mode & 0o777 == 0o600
    assert (deployment.front / "front.pem").stat().st_mode & 0o777 == 0o640


def test_the_firewall_refuses_what_is_no_pair(stack, deployment, arrived):
    """Each file that it stores starts a program of root."""
    host, front = pair_of(deployment.host), pair_of(deployment.front, "front.pem")
    bodies = [{}, {"certificate": "x"}, {"certificate": "x" * 16385, "key": "y"}, {"certificate": 1, "key": "y"},
              {"certificate": "x", "key": "y"}, {**host, "key": front["key"]}, front]
    for body in bodies:
        assert Firewall(stack).request("PUT", "/v1/relay", body)[0] in (413, 422), body
    assert not arrived.exists()
    behind = {"certificate": host["certificate"] + front["key"], "key": host["key"] + front["key"]}
    answer = Firewall(stack).request("PUT", "/v1/relay", behind)
    assert answer[0] == 200, answer
    assert json.loads(arrived.read_text(encoding="utf-8")) == host


def test_doctor_tells_the_days_that_are_left(stack, deployment):
    said = [one["message"] for one in doctor(stack, deployment.config) if one["check"] == "relay"]
    assert any("front.pem has 89 days left" in one for one in said), said
    deployment.age(deployment.front, "front", "front.sandlot", 20)
    assert_says(wrong(stack, deployment.config), "relay", "has (19|20) days left.*was not renewed", "host renew")


@pytest.mark.one_host
def test_doctor_tells_the_days_of_the_certificate_for_incus(stack, deployment):
    deployment.age(deployment.front, "front", "front.sandlot", 20)
    client = deployment.front / "front.pem"
    with changed_settings(stack, deployment.dir, relay_dir=deployment.front, incus_client_cert_file=client,
                          incus_client_key_file=client) as config:
        assert_says(wrong(stack, config), "incus", "front.pem has (19|20) days left", "renew-host-certificates.md")


def test_doctor_on_a_host_without_a_front(stack, deployment, monkeypatch):
    """It checks what is there, and names the checks that it left out."""
    deployment.config.write_text("\n".join(
        line for line in deployment.config.read_text(encoding="utf-8").replace(str(deployment.front), str(deployment.host)).splitlines()
        if line.split("=")[0].strip() not in ("key_file", "database_socket", "database_host")) +
        f"\nkey_file = {deployment.dir}/none\n", encoding="utf-8")
    monkeypatch.setenv("INCUS_SOCKET", stack.incus.socket_path)
    with deployment.serving():
        findings = doctor(stack, deployment.config)
    states = {one["check"]: one["state"] for one in findings}
    assert not [one for one in findings if one["state"] == "WRONG"], findings
    assert {"settings", "incus", "pool", "criu", "versions", "kernel", "workers", "relay"} <= states.keys()
    assert states["database"] == "note" and "key file" not in states
    (left_out,) = [one["message"] for one in findings if one["check"] == "database"]
    assert "front node" in left_out and "background work" in left_out
    found = wrong(stack, deployment.config)  # its relay is down now
    assert_says(found, "relay", f"does not answer on port {deployment.port}", "Start nginx")
    with changed_settings(stack, deployment.dir, relay_dir=deployment.host, key_file=deployment.dir / "none",
                          firewall_socket=deployment.dir / "unused.sock") as config:
        assert_says(wrong(stack, config), "workers", "sandlot-firewall", "systemctl")
