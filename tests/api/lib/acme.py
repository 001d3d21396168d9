# SPDX-License-Identifier: GPL-2.0-or-later
"""A certificate authority (Pebble), certbot as an operator runs it, sandlot-acme between them, and an nginx that shows
what comes of it: all beside the stack, with settings of their own."""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import urllib.request

from entry_point import free_port
from stack import wait_until

DOMAIN = "sandbox.localhost"
TXT, SOA, NS, A = 16, 6, 2, 1

# As systemd does it: who starts a unit waits until it says that it serves.
START = """#!/usr/bin/python3
import os, socket, subprocess
ready = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
ready.bind("{folder}/notify")
ready.settimeout(120)
with open("{folder}/sandlot-acme.log", "ab") as log:
    process = subprocess.Popen(["{program}", "--config", "{config}"], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                               env={{"NOTIFY_SOCKET": "{folder}/notify"}}, start_new_session=True)
try:
    assert ready.recv(100) == b"READY=1"
finally:
    os.unlink("{folder}/notify")
with open("{folder}/sandlot-acme.pid", "w") as file:
    file.write(str(process.pid))
"""


class Answer:
    def __init__(self, wire):
        self.id, self.flags, _, self.answers, self.authorities, _ = struct.unpack(">6H", wire[:12])
        self.rcode = self.flags & 15
        self.is_ours = bool(self.flags & 0x400)
        self.recurses = bool(self.flags & 0x80)
        self.values = self._texts(wire)

    def _texts(self, wire):
        at, found = self._skip_name(wire, 12) + 4, []
        for _ in range(self.answers):
            at = self._skip_name(wire, at)
            kind, _, _, size = struct.unpack(">HHIH", wire[at:at + 10])
            data = wire[at + 10:at + 10 + size]
            if kind == TXT:
                found.append(data[1:1 + data[0]].decode())
            at += 10 + size
        return sorted(found)

    @staticmethod
    def _skip_name(wire, at):
        while wire[at] and wire[at] < 0xc0:
            at += 1 + wire[at]
        return at + (2 if wire[at] else 1)


def question(name, kind):
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    return struct.pack(">6H", 0x4321, 0, 1, 0, 0, 0) + labels + b"\0" + struct.pack(">HH", kind, 1)


def receive(connection, size):
    data = b""
    while len(data) < size and (piece := connection.recv(size - len(data))):
        data += piece
    return data


class Deployment:
    """Settings, sandlot-acme and nginx; certificates are certbot's."""

    def __init__(self, stack, folder):
        self.stack = stack
        self.folder = folder
        self.programs = pathlib.Path(stack.ctl_command[0]).parent
        self.config = folder / "sandlot.conf"
        self.dns_port = free_port()
        self.port = free_port()
        self.live = folder / "letsencrypt" / "live" / DOMAIN
        self.nginx = None
        self.values = folder / "acme"
        self.values.mkdir()
        (folder / "log").mkdir()
        settings = stack.settings | {
            "acme_dir": self.values, "acme_port": self.dns_port, "acme_addresses": "127.0.0.1, ::1",
            "listen_port": self.port, "redirect_port": 0, "metrics_port": 0,
            "tls_certificate_file": self.live / "fullchain.pem", "tls_certificate_key_file": self.live / "privkey.pem",
            "nginx_log_dir": folder / "log", "gate_cache_dir": folder / "gate-cache",
            "firewall_http_socket": folder / "firewall.sock"}
        self.config.write_text("".join(f"{name} = {value}\n" for name, value in settings.items()), encoding="utf-8")
        for name, text in {"start": START.format(folder=folder, config=self.config,
                                                 program=self.programs / "sandlot-acme"),
                           "stop": f"#!/bin/sh\nkill $(cat {folder}/sandlot-acme.pid)\n"}.items():
            (folder / name).write_text(text, encoding="utf-8")
            (folder / name).chmod(0o755)

    def ctl(self, *arguments):
        return subprocess.run([self.programs / "sandlotctl", "--config", self.config, *arguments],
                              capture_output=True, text=True, timeout=120, check=False)

    # --- sandlot-acme ---

    def is_started(self):
        with contextlib.suppress(OSError):
            pid = (self.folder / "sandlot-acme.pid").read_text(encoding="ascii")
            stat = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
            return "(sandlot-acme) " in stat and "(sandlot-acme) Z" not in stat
        return False

    def start(self):
        subprocess.run([self.folder / "start"], check=True)

    def stop(self):
        if self.is_started():
            subprocess.run([self.folder / "stop"], check=True)

    def udp(self, wire, address="127.0.0.1"):
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        with socket.socket(family, socket.SOCK_DGRAM) as asking:
            asking.settimeout(60)
            asking.sendto(wire, (address, self.dns_port))
            return Answer(asking.recv(65536))

    def tcp(self, *wires, address="127.0.0.1"):
        """All at once over one connection."""
        with socket.create_connection((address, self.dns_port), 60) as connection:
            connection.sendall(b"".join(struct.pack(">H", len(wire)) + wire for wire in wires))
            return [Answer(receive(connection, struct.unpack(">H", receive(connection, 2))[0])) for _ in wires]

    # --- nginx ---

    def start_nginx(self):
        (self.folder / "nginx.conf").write_text(
            f"user root; daemon off; worker_processes 1; pid {self.folder}/nginx.pid; error_log {self.folder}/log/error.log;\n"
            f"events {{ }} http {{ access_log off; include {self.folder}/sites/*.conf; }}\n", encoding="utf-8")
        done = self.ctl("nginx-config", "--output", str(self.folder / "sites"))
        assert done.returncode == 0, done.stderr
        self.nginx = subprocess.Popen(["/usr/sbin/nginx", "-c", self.folder / "nginx.conf"])
        wait_until(lambda: self.nginx.poll() is None and self.listens(), 60, "nginx")

    def listens(self):
        with socket.socket() as one:
            return one.connect_ex(("127.0.0.1", self.port)) == 0

    def shown(self, name, roots=None):
        """The certificate that nginx shows under a name: as a dictionary if roots signed it, else as bytes."""
        context = ssl.create_default_context(cadata=roots)
        if not roots:
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        with socket.create_connection(("127.0.0.1", self.port), 60) as plain, \
                context.wrap_socket(plain, server_hostname=name) as tls:
            return tls.getpeercert() if roots else tls.getpeercert(binary_form=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
        if self.nginx:
            self.nginx.send_signal(signal.SIGTERM)
            self.nginx.wait(60)


class Pebble:
    """The authority, which asks one DNS server for everything."""

    def __init__(self, folder, dns_port):
        self.folder = folder
        self.port, self.management_port = free_port(), free_port()
        self.dns_port = dns_port
        self.own_ca = folder / "pebble.pem"
        self.process = None

    def __enter__(self):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                        "-keyout", self.folder / "pebble.key", "-out", self.own_ca, "-days", "2", "-subj", "/CN=localhost",
                        "-addext", "subjectAltName=DNS:localhost"], check=True, capture_output=True)
        config = {"listenAddress": f"127.0.0.1:{self.port}", "managementListenAddress": f"127.0.0.1:{self.management_port}",
                  "certificate": str(self.own_ca), "privateKey": str(self.folder / "pebble.key"),
                  "httpPort": free_port(), "tlsPort": free_port()}
        (self.folder / "pebble.json").write_text(json.dumps({"pebble": config}), encoding="utf-8")
        with (self.folder / "pebble.log").open("wb") as log:
            self.process = subprocess.Popen(
                ["pebble", "-config", self.folder / "pebble.json", "-dnsserver", f"127.0.0.1:{self.dns_port}"],
                stdout=log, stderr=log,
                env=os.environ | {"PEBBLE_VA_NOSLEEP": "1", "PEBBLE_WFE_NONCEREJECT": "0", "PEBBLE_AUTHZREUSE": "0"})
        wait_until(self.answers, 60, "Pebble")
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(60)

    def answers(self):
        assert self.process.poll() is None, (self.folder / "pebble.log").read_text(encoding="utf-8")
        with socket.socket() as one, socket.socket() as other:
            return not one.connect_ex(("127.0.0.1", self.port)) and \
                not other.connect_ex(("127.0.0.1", self.management_port))

    def roots(self):
        context = ssl.create_default_context(cafile=self.own_ca)
        with urllib.request.urlopen(f"https://localhost:{self.management_port}/roots/0", context=context, timeout=60) as got:
            return got.read().decode()


class Certbot:
    def __init__(self, deployment, authority):
        self.folder = deployment.folder
        self.deployment = deployment
        self.authority = authority

    def __call__(self, *arguments):
        return subprocess.run(
            ["certbot", *arguments, "--config-dir", self.folder / "letsencrypt", "--work-dir", self.folder / "work",
             "--logs-dir", self.folder / "log", "--non-interactive"], capture_output=True, text=True, timeout=540, check=False,
            env={"PATH": os.environ["PATH"], "REQUESTS_CA_BUNDLE": str(self.authority.own_ca)})

    def issue(self, deploy_hook):
        """As doc/install.md says, but for the places and for how units are started."""
        ctl = f"{self.deployment.programs}/sandlotctl --config {self.deployment.config}"
        done = self(
            "certonly", "--manual", "--preferred-challenges", "dns", "-d", DOMAIN, "-d", f"*.{DOMAIN}",
            "--manual-auth-hook", f'{ctl} acme add "$CERTBOT_DOMAIN" --value "$CERTBOT_VALIDATION"',
            "--manual-cleanup-hook", f'{ctl} acme remove "$CERTBOT_DOMAIN" --value "$CERTBOT_VALIDATION"',
            "--pre-hook", str(self.folder / "start"), "--post-hook", str(self.folder / "stop"),
            "--deploy-hook", deploy_hook, "--server", f"https://localhost:{self.authority.port}/dir",
            "--agree-tos", "--register-unsafely-without-email")
        assert done.returncode == 0, done.stdout + done.stderr

    def renew(self):
        done = self("renew", "--force-renewal", "--no-random-sleep-on-renew")
        assert done.returncode == 0, done.stdout + done.stderr


def missing():
    """The programs that are not installed."""
    return [name for name in ("certbot", "pebble", "openssl") if not shutil.which(name)]
