# SPDX-License-Identifier: GPL-2.0-or-later
"""Proxies in the fake internet, at an address of this stack alone, since the host itself connects to them."""

import json
import pathlib
import subprocess
import sys

from outside_network import number_of, run
from stack import wait_until

SERVE = pathlib.Path(__file__).parent / "outside" / "proxies.py"


class ProxiesOutside:
    def __init__(self, internet, directory):
        self.internet = internet
        self.directory = pathlib.Path(directory)
        self.address = f"192.0.2.{number_of(internet.stack)}"
        self.process = None
        self.others = {}

    def route(self, verb, check=True, address=None):
        self.internet.on_host("route", verb, f"{address or self.address}/32", "via", self.internet.far, "dev", self.internet.link,
                              check=check)

    def start(self):
        namespace = self.internet.namespace
        run("ip", "-n", namespace, "addr", "add", f"{self.address}/32", "dev", "lo")
        self.route("add")
        self.serve()

    def serve(self):
        ready = self.directory / "ready"
        ready.unlink(missing_ok=True)
        self.process = subprocess.Popen(
            self.internet.in_namespace(sys.executable, str(SERVE), str(self.directory), self.address))
        wait_until(ready.exists, 15, "the proxies")

    def serve_also(self, address):
        """At one more address: a program of its own."""
        run("ip", "-n", self.internet.namespace, "addr", "add", f"{address}/32", "dev", "lo")
        self.route("add", address=address)
        ready = self.directory / "ready"
        ready.unlink(missing_ok=True)
        self.others[address] = subprocess.Popen(
            self.internet.in_namespace(sys.executable, str(SERVE), str(self.directory), address))
        wait_until(ready.exists, 15, "the proxies")

    def unserve(self, address):
        self.others[address].kill()
        self.others.pop(address).wait()
        self.route("del", check=False, address=address)

    def end(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        self.end()
        self.route("del", check=False)

    def requests(self):
        path = self.directory / "proxied"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
