# SPDX-License-Identifier: GPL-2.0-or-later
"""A stack of two hosts, or three: the cable between the first two, the Incus of each, and which of them takes sandboxes."""

import contextlib
import pathlib
import subprocess

from killing import stopped
from stack import Incus, wait_until
from tenant import Sandbox


class TwoHosts:
    def __init__(self, stack):
        self.stack = stack
        rows = {row["name"] for row in stack.query("SELECT name FROM hosts")}
        self.names = [name for name in ("local", "other", "third") if name in rows]

    @classmethod
    def up(cls, stack):
        """Both answer, and have the same templates."""
        both = cls(stack)
        both.becomes("up")
        both.add_again("local")
        return both

    def host(self, name="other"):
        return next(one for one in self.stack.ctl("host", "list")["hosts"] if one["name"] == name)

    def condition(self):
        return self.host()["condition"]

    def becomes(self, condition):
        wait_until(lambda: self.condition() == condition, 90, f"the other host being {condition}", 0.2)

    def take(self, *names):
        """New sandboxes go to these hosts."""
        for name in self.names:
            self.stack.ctl("host", *(["activate", name] if name in names else ["drain", name, "--stay"]))

    def add_again(self, name):
        """With what it has, so that templates are built on it that came while it took none."""
        self.add(name, self.options(name))

    def options(self, name):
        """How it is added."""
        one = self.host(name)
        (row,) = self.stack.query("SELECT server_cert FROM hosts WHERE name = %s", name)
        values = {option: one[option.replace("-", "_")] for option in (
            "url", "project", "pool", "range", "network", "nic-prefix", "vcpus", "memory-mb", "memory-overcommit",
            "disk-overcommit", "firewall", "relay")}
        if row["server_cert"]:
            certificate = self.stack.root / f"{name}-of-a-test.crt"
            certificate.write_text(row["server_cert"], encoding="utf-8")
            values["server-cert"] = certificate
        return [word for option, value in values.items() if value is not None for word in (f"--{option}", str(value))]

    def add(self, name, options):
        self.stack.ctl("host", "add", name, *options)

    def make(self, api, name, **fields):
        """A sandbox on that host; then both take new ones. The size keeps it from what waited elsewhere."""
        self.take(name)
        try:
            document = api.create(**fields)
        finally:
            self.take(*self.names)
        sandbox = Sandbox(api, document)
        assert self.of(sandbox) == name
        return sandbox

    def of(self, sandbox):
        (row,) = self.stack.query("SELECT h.name FROM sandboxes s JOIN hosts h ON h.id = s.host_id WHERE s.id = %s",
                                  sandbox.id)
        return row["name"]

    def host_of(self, table, id):
        """Of a volume or a checkpoint."""
        (row,) = self.stack.query(f"SELECT h.name FROM {table} t JOIN hosts h ON h.id = t.host_id WHERE t.id = %s", id)
        return row["name"]

    @contextlib.contextmanager
    def full(self, name):
        """All its memory is promised; its size stays, so that a request is refused for now and not for good."""
        (row,) = self.stack.query("SELECT memory_mb * memory_overcommit AS promised FROM hosts WHERE name = %s", name)
        self.stack.query("UPDATE hosts SET used_memory_mb = used_memory_mb + %s WHERE name = %s", row["promised"], name)
        try:
            yield
        finally:
            self.stack.query("UPDATE hosts SET used_memory_mb = used_memory_mb - %s WHERE name = %s", row["promised"], name)

    @contextlib.contextmanager
    def nearly_full(self, name, free_mb=2048):
        """So much of its memory is left, less than the others have."""
        row, *_ = self.stack.query("SELECT memory_mb * memory_overcommit DIV 100 - used_memory_mb AS free FROM hosts"
                                   " WHERE name = %s", name)
        taken = max(int(row["free"]) - free_mb, 0)
        self.stack.query("UPDATE hosts SET used_memory_mb = used_memory_mb + %s WHERE name = %s", taken, name)
        try:
            yield
        finally:
            self.stack.query("UPDATE hosts SET used_memory_mb = used_memory_mb - %s WHERE name = %s", taken, name)

    def incus(self, name):
        folder = "" if name == "local" else name
        return Incus(str(self.stack.root / folder / "incus" / "unix.socket"), self.host(name)["project"])

    def incus_pid(self, name):
        folder = self.stack.root / ("" if name == "local" else name)
        return int((folder / "run" / "incusd.pid").read_text(encoding="ascii").split()[0])

    def pool(self, name):
        """The folder of its storage pool, as its Incus sees it."""
        (row,) = self.stack.query("SELECT pool FROM hosts WHERE name = %s", name)
        folder = self.stack.root / ("" if name == "local" else name)
        return pathlib.Path(f"/proc/{self.incus_pid(name)}/root{folder}/incus/storage-pools") / row["pool"]

    def btrfs(self, name, *words, check=True):
        """On a host; paths are below its pool()."""
        pid = self.incus_pid(name)
        inside = [str(word).removeprefix(f"/proc/{pid}/root") for word in words]
        return subprocess.run(["nsenter", "-t", str(pid), "-m", "btrfs", *inside], capture_output=True, text=True, check=check).stdout

    def having(self, instance):
        """The hosts that have an instance of this name, whole or not."""
        return [name for name in self.names if self.incus(name).exists(instance)]

    def move(self, sandbox, name, check=True):
        return self.stack.ctl("sandbox", "move", sandbox.id, name, check=check)

    # --- a host that was lost ---

    def _strays(self, name):
        rows = self.stack.query("SELECT instance_name FROM sandboxes WHERE state <> 'destroyed'"
                                " UNION SELECT instance_name FROM warm_instances")
        known = {row["instance_name"] for row in rows}
        return {one for one in self.incus(name).names() if one.startswith(("sbx-", "warm-")) and one not in known}

    def found_again(self):
        """As if the loss had been a mistake, which no command offers: its sources are built again, and what
        nobody knows any more is removed before another gets its address."""
        self.stack.query("UPDATE hosts SET lost_at_ms = NULL WHERE name = 'other'")
        self.becomes("up")
        self.add_again("other")
        wait_until(lambda: not self._strays("other"), 120, "the other host without what was lost", 0.5)

    # --- the cable ---

    def _cable(self, state):
        subprocess.run(["ip", "link", "set", f"0o-{self.stack.nic_prefix}", state], check=True)
        if state == "up":  # which the kernel forgets with the link
            netns = ["ip", "-n", self.stack.other_netns]
            near = subprocess.run(["ip", "-br", "-4", "address", "show", f"0o-{self.stack.nic_prefix}"],
                                  capture_output=True, text=True, check=True).stdout.split()[2].split("/")[0]
            subprocess.run([*netns, "route", "replace", "default", "via", near], check=True)

    @contextlib.contextmanager
    def cut(self):
        """Nothing gets through while this holds."""
        self._cable("down")
        try:
            yield
        finally:
            self._cable("up")
        if any(one["name"] == "other" for one in self.stack.ctl("host", "list")["hosts"]):
            self.becomes("up")

    # --- its processes ---

    def pids(self, *names):
        return [int((self.stack.root / "other" / "run" / f"{name}.pid").read_text(encoding="ascii").split()[0])
                for name in names]

    @contextlib.contextmanager
    def frozen(self, *names):
        """They are there and do nothing. The relay's workers are frozen with their master."""
        pids = [pid for one in self.pids(*names) for pid in (one, *children(one))]
        with stopped(pids):
            yield
        self.becomes("up")


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as listed:
        return [int(one) for one in listed.read().split()]
