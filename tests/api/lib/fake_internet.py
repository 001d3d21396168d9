# SPDX-License-Identifier: GPL-2.0-or-later
"""An internet of its own for the sandboxes of a stack: a network namespace with documentation
addresses (RFC 5737), its DNS, HTTP, TLS and echo servers.

Only packets of the stack's sandboxes are routed there, by a rule on their source, so that stacks
side by side do not share it.
"""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys

from outside_network import OutsideNetwork, number_of, run
from stack import read_settings, wait_until

SERVE = pathlib.Path(__file__).parent / "outside" / "serve.py"
NETWORKS = ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24")
ADDRESSES = [f"{network[:-4]}{last}" for network in NETWORKS for last in (7, 8, 9, 10, 11)]


class FakeInternet(OutsideNetwork):
    def __init__(self, stack, directory):
        number = number_of(stack)
        super().__init__(stack, "out", f"100.127.{number}.0", f"100.127.{number}.1", 20000 + number)
        self.directory = pathlib.Path(directory)
        self.process = None
        self.zone = {}

    # --- up and down ---

    def start(self):
        self.begin(ADDRESSES, NETWORKS)
        self._serve()

    def _serve(self):
        for name in ("server.pem", "server.key"):
            shutil.copy(self.stack.root / "tls" / name, self.directory)
        (self.directory / "addresses").write_text("\n".join([self.far, *ADDRESSES]))
        self.publish({})
        self.process = subprocess.Popen(self.in_namespace(sys.executable, str(SERVE), str(self.directory)))
        wait_until(self.seen, 15, "the servers of the fake internet")

    def stop(self):
        if self.process:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
        self.remove()

    # --- names ---

    def publish(self, zone):
        """The zone from now on: {"name": {"A": [["192.0.2.7", ttl], …]}}."""
        draft = self.directory / "zone.new"
        draft.write_text(json.dumps(zone), encoding="utf-8")
        draft.rename(self.directory / "zone.json")
        self.zone = zone

    def add(self, name, *addresses, ttl=60, **more):
        entry = {"A": [[address, ttl] for address in addresses]} if addresses else {}
        self.publish({**self.zone, name: {**entry, **more}})

    def inside(self, *command):
        return run(*self.in_namespace(*command))

    def _lines(self, name):
        path = self.directory / name
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else []

    def asked(self):
        return self._lines("asked")

    def seen(self):
        return self._lines("seen")

    def await_line(self, text, timeout_s=10):
        wait_until(lambda: any(text in line for line in self.seen()), timeout_s, f"{text!r} outside")


class FirewallProcess:
    """sandlot-firewall of the host that has the sandboxes, with other settings or not at all for a while."""

    def __init__(self, stack):
        self.stack = stack
        self.config = stack.host_dir / "etc" / "sandlot.conf"

    def pids(self):
        return [pid for pid in self.stack.processes("sandlot-firewall") if self._is_of_host(pid)]

    def _is_of_host(self, pid):
        with contextlib.suppress(OSError):
            return bytes(self.config) in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        return False

    def restart(self):
        """End it; its watcher starts it again."""
        (before,) = self.pids()
        subprocess.run(["kill", "-TERM", str(before)], check=True)
        wait_until(lambda: (pids := self.pids()) and before not in pids, 15, "another sandlot-firewall")

    @contextlib.contextmanager
    def stopped(self):
        """Its watcher is held too, so that nobody starts it again."""
        watcher = next(pid for pid in self.stack.processes("multiwatch") if self._watches(pid))
        os.kill(watcher, signal.SIGSTOP)
        try:
            for pid in self.pids():
                os.kill(pid, signal.SIGTERM)
            wait_until(lambda: not self._running(), 15, "the end of sandlot-firewall")
            yield
        finally:
            os.kill(watcher, signal.SIGCONT)
            wait_until(self._running, 15, "another sandlot-firewall")

    def _watches(self, pid):
        return b"sandlot-firewall" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes() and self._is_of_host(pid)

    def _running(self):
        """Those that are no remains for the watcher to take away."""
        found = []
        for pid in self.pids():
            with contextlib.suppress(OSError):
                os.readlink(f"/proc/{pid}/exe")
                found.append(pid)
        return found

    def forget(self):
        """What does not outlive a reboot."""
        for path in pathlib.Path(read_settings(self.config)["firewall_state_dir"]).iterdir():
            path.unlink()

    def load_network(self):
        """As the unit at boot does it."""
        source = pathlib.Path(__file__).parents[3]
        script = (
            f"SOURCE_DIR={source}; . {source}/scripts/lib/load.sh; settings_defaults; "
            f"STACK={self.stack.root.name}; settings_derive; "
            f"{'other_host ' if self.stack.other_netns else ''}firewall_load"
        )
        subprocess.run(["bash", "-c", script], check=True, capture_output=True)

    def set(self, name, value):
        lines = [
            line
            for line in self.config.read_text(encoding="utf-8").splitlines()
            if line.split("=")[0].strip() != name
        ]
        if value is not None:
            lines.append(f"{name} = {value}")
        self.config.write_text("\n".join(lines) + "\n", encoding="utf-8")
