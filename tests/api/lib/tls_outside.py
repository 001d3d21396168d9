# SPDX-License-Identifier: GPL-2.0-or-later
"""A TLS server outside that nginx's egress proxy reaches: in a namespace of its own, with an address
(RFC 5737) of this stack alone, since the host itself connects to it. The stack's nginx verifies it by the
stack's authority (egress_authorities_file in scripts/test)."""

import contextlib
import json
import pathlib
import secrets
import subprocess
import sys

from outside_network import OutsideNetwork, number_of, run
from stack import wait_until

SERVE = pathlib.Path(__file__).parent / "outside" / "tls_echo.py"
# Names of this run: a firewall knows those of an earlier one for a while.
ZONE = f"z{secrets.token_hex(3)}.test"
HOST, OTHER_HOST = f"api.{ZONE}", f"other.{ZONE}"


class TlsOutside(OutsideNetwork):
    def __init__(self, stack, directory):
        number = number_of(stack)
        super().__init__(stack, "tls", f"100.125.{number}.0", f"100.125.{number}.1")
        self.directory = pathlib.Path(directory)
        self.address = f"198.51.100.{number}"
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

    def start(self):
        self.certify("good", HOST, OTHER_HOST)
        self.certify("strange", "strange.test")
        self.certify("own", HOST, signed=False)
        self.show("good")
        self.begin([self.address], [f"{self.address}/32"])
        self.process = subprocess.Popen(
            self.in_namespace(sys.executable, str(SERVE), str(self.directory), self.address))
        wait_until(lambda: ":443 " in run(*self.in_namespace("ss", "-tln")), 15, "the TLS server")

    def stop(self):
        self.remove()
        if self.process:
            self.process.wait()

    def requests(self):
        path = self.directory / "requests"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


@contextlib.contextmanager
def serving(stack, internet, folder, *names):
    """The server, which has these names in the fake internet."""
    outside = TlsOutside(stack, folder)
    try:
        outside.start()
        for name in names:
            internet.add(name, outside.address)
        yield outside
    finally:
        outside.stop()
