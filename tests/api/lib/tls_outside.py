# SPDX-License-Identifier: GPL-2.0-or-later
"""A TLS server outside that nginx's egress proxy reaches: in a namespace of its own, with an address
(RFC 5737) of this stack alone, since the host itself connects to it. The stack's nginx verifies it by the
stack's authority (egress_authorities_file in scripts/test)."""

import ipaddress
import json
import pathlib
import secrets
import subprocess
import sys

from stack import wait_until

SERVE = pathlib.Path(__file__).parent / "outside" / "tls_echo.py"
# Names of this run: a firewall knows those of an earlier one for a while.
ZONE = f"z{secrets.token_hex(3)}.test"
HOST, OTHER_HOST = f"api.{ZONE}", f"other.{ZONE}"


def run(*command, check=True):
    return subprocess.run(command, check=check, capture_output=True, text=True).stdout


class TlsOutside:
    def __init__(self, stack, directory):
        self.stack = stack
        self.directory = pathlib.Path(directory)
        number = int(ipaddress.ip_network(stack.range).network_address) >> 16 & 255
        self.address = f"198.51.100.{number}"
        self.near, self.far = f"100.125.{number}.0", f"100.125.{number}.1"
        self.namespace, self.link = f"sandlot-tls-{stack.nic_prefix}", f"0tls-{stack.nic_prefix}"
        self.process = None

    # --- certificates ---

    def certify(self, file, *names, signed=True):
        """A certificate of these names, by the stack's authority or by itself."""
        tls = self.stack.root / "tls"
        path, request, extensions = (self.directory / (file + end) for end in (".pem", ".csr", ".ext"))
        run("openssl", "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
            "-subj", f"/CN={names[0]}", "-keyout", f"{path}.key", "-out", str(request))
        extensions.write_text("subjectAltName=" + ",".join(f"DNS:{name}" for name in names) + "\n")
        signer = ["-CA", str(tls / "ca.pem"), "-CAkey", str(tls / "ca.key")] if signed else ["-signkey", f"{path}.key"]
        run("openssl", "x509", "-req", "-in", str(request), *signer, "-days", "30", "-extfile", str(extensions),
            "-set_serial", "0x" + pathlib.Path("/proc/sys/kernel/random/uuid").read_text().strip().replace("-", ""),
            "-out", str(path))
        path.write_text(path.read_text() + pathlib.Path(f"{path}.key").read_text())

    def show(self, file):
        """The certificate of new connections."""
        (self.directory / "certificate").write_text(file + ".pem")

    # --- up and down ---

    def on_host(self, *arguments, check=True):
        """ip in the network of the host that has the sandboxes, whose nginx comes here."""
        netns = self.stack.other_netns
        return run("ip", *(["-n", netns] if netns else []), *arguments, check=check)

    def start(self):
        self.remove()
        self.certify("good", HOST, OTHER_HOST)
        self.certify("strange", "strange.test")
        self.certify("own", HOST, signed=False)
        self.show("good")
        run("ip", "netns", "add", self.namespace)
        self.on_host("link", "add", self.link, "type", "veth", "peer", "name", "eth0", "netns", self.namespace)
        self.on_host("addr", "add", f"{self.near}/31", "dev", self.link)
        self.on_host("link", "set", self.link, "up")
        for arguments in (("addr", "add", f"{self.far}/31", "dev", "eth0"), ("link", "set", "eth0", "up"),
                          ("link", "set", "lo", "up"), ("route", "add", "default", "via", self.near),
                          ("addr", "add", f"{self.address}/32", "dev", "lo")):
            run("ip", "-n", self.namespace, *arguments)
        self.on_host("route", "add", f"{self.address}/32", "via", self.far, "dev", self.link)
        self.process = subprocess.Popen(
            ["ip", "netns", "exec", self.namespace, sys.executable, str(SERVE), str(self.directory), self.address])
        wait_until(lambda: "LISTEN" in run("ip", "netns", "exec", self.namespace, "ss", "-tln"), 15, "the TLS server")

    def remove(self):
        for pid in run("ip", "netns", "pids", self.namespace, check=False).split():
            subprocess.run(["kill", "-KILL", pid], check=False)
        self.on_host("link", "del", self.link, check=False)
        run("ip", "netns", "del", self.namespace, check=False)

    def stop(self):
        self.remove()
        if self.process:
            self.process.wait()

    def requests(self):
        path = self.directory / "requests"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
