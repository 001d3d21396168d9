# SPDX-License-Identifier: GPL-2.0-or-later
"""The stack under test: its settings, its administration program, its database, its daemons."""

import contextlib
import http.client
import json
import os
import pathlib
import shlex
import signal
import socket
import subprocess
import time

import pymysql

REQUIRED = (
    "SANDLOT_URL",
    "SANDLOT_CONSOLE_URL",
    "SANDLOT_DATA_PLANE_HOST",
    "SANDLOT_CA",
    "SANDLOT_TEMPLATE",
    "SANDLOT_CTL",
    "SANDLOT_STATE_ROOT",
    "SANDLOT_INCUS_SOCKET",
    "SANDLOT_INCUS_PROJECT",
    "SANDLOT_DATABASE_SOCKET",
    "SANDLOT_DATABASE_PASSWORD_FILE",
    "SANDLOT_NIC_PREFIX",
    "SANDLOT_RANGE",
    "SANDLOT_SSH_HOST",
    "SANDLOT_SSH_PORT",
    "SANDLOT_SSH_KNOWN_HOSTS",
)


class StackMissing(Exception):
    """There is no stack to test against; the text says what to do."""


def read_assignments(path):
    """The shell assignments of a stack.env or quickstart.env."""
    values = {}
    for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        for word in shlex.split(line):
            name, separator, value = word.partition("=")
            if separator:
                values[name] = value
    return values


def read_settings(path):
    """Those of a sandlot.conf."""
    settings = {}
    for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
        name, separator, value = line.partition("=")
        if separator and not name.lstrip().startswith("#"):
            settings[name.strip()] = value.strip()
    return settings


# A machine that is busy with something else may take long for anything: no wait ends before.
PATIENCE_S = 90


def comes_true(condition, timeout_s, pause_s=None):
    """Poll until condition() is true; what it gave last. Each poll takes processor time from the event that the test waits
    for. Without pause_s, the pauses therefore grow with the time that has passed, from 0.05 s to 0.25 s."""
    begun = time.monotonic()
    while not (value := condition()) and (passed := time.monotonic() - begun) < timeout_s:
        time.sleep(pause_s or min(max(passed / 10, 0.05), 0.25))
    return value


def wait_until(condition, timeout_s, what, pause_s=None):
    """Poll until condition() is true and return what it gave; fail after timeout_s, or PATIENCE_S if that is longer."""
    timeout_s = max(timeout_s, PATIENCE_S)
    value = comes_true(condition, timeout_s, pause_s)
    assert value, f"not within {timeout_s} s: {what}"
    return value


class IncusConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout_s):
        super().__init__("incus", timeout=timeout_s)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Incus:
    """The runtime daemon, asked directly: what is really there."""

    def __init__(self, socket_path, project):
        self.socket_path = socket_path
        self.project = project

    def raw(self, method, path, body=None, headers=None, timeout_s=180):
        connection = IncusConnection(self.socket_path, timeout_s)
        try:
            separator = "&" if "?" in path else "?"
            connection.request(
                method, f"{path}{separator}project={self.project}", body=body, headers=headers or {}
            )
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()

    def request(self, method, path, body=None):
        """An answer's metadata; an operation is waited for."""
        text = None if body is None else json.dumps(body)
        _, answer = self.raw(method, path, text, {"Content-Type": "application/json"})
        document = json.loads(answer)
        if document["type"] == "async":
            _, answer = self.raw("GET", document["operation"] + "/wait?timeout=60")
            document = json.loads(answer)
        if document["type"] == "error":
            raise AssertionError(f"incus: {method} {path}: {document['error']}")
        return document["metadata"]

    def names(self):
        return {path.split("?")[0].rsplit("/", 1)[1] for path in self.request("GET", "/1.0/instances")}

    def instance(self, name):
        return self.request("GET", f"/1.0/instances/{name}")

    def exists(self, name):
        return self.raw("GET", f"/1.0/instances/{name}")[0] != 404

    def answers(self):
        try:
            return self.raw("GET", "/1.0")[0] == 200
        except OSError:
            return False

    def freeze(self, name):
        self.request("PUT", f"/1.0/instances/{name}/state", {"action": "freeze", "timeout": 30})

    def unfreeze(self, name):
        self.request("PUT", f"/1.0/instances/{name}/state", {"action": "unfreeze", "timeout": 30})

    def write_file(self, name, path, content):
        status, answer = self.raw(
            "POST",
            f"/1.0/instances/{name}/files?path={path}",
            content,
            {"X-Incus-type": "file", "X-Incus-write": "overwrite"},
        )
        assert status == 200, answer


class Stack:
    def __init__(self, env_file):
        self.env_file = pathlib.Path(env_file)
        if not self.env_file.is_file():
            raise StackMissing(f"there is no {env_file}: run scripts/test, or scripts/quickstart")
        env = read_assignments(env_file)
        missing = [name for name in REQUIRED if not env.get(name)]
        if missing:
            raise StackMissing(f"{env_file} does not set {', '.join(missing)}")
        self.base_url = env["SANDLOT_URL"]
        self.console_url = env["SANDLOT_CONSOLE_URL"]
        self.data_plane_host = env["SANDLOT_DATA_PLANE_HOST"]
        self.ca_file = env["SANDLOT_CA"]
        self.template = env["SANDLOT_TEMPLATE"]
        self.ctl_command = shlex.split(env["SANDLOT_CTL"])
        self.root = pathlib.Path(env["SANDLOT_STATE_ROOT"])
        self.nic_prefix = env["SANDLOT_NIC_PREFIX"]
        self.range = env["SANDLOT_RANGE"]
        self.ssh_settings = {name.removeprefix("SANDLOT_SSH_").lower(): env[name]
                             for name in REQUIRED if name.startswith("SANDLOT_SSH_")}
        self.database_socket = env["SANDLOT_DATABASE_SOCKET"]
        self.database_password_file = env["SANDLOT_DATABASE_PASSWORD_FILE"]
        self.incus = Incus(env["SANDLOT_INCUS_SOCKET"], env["SANDLOT_INCUS_PROJECT"])
        # The relay and the network namespace of the host that has all sandboxes, where that is another
        # one than this machine (scripts/quickstart --hosts 2).
        self.other_relay = env.get("SANDLOT_OTHER_RELAY")
        self.other_netns = env.get("SANDLOT_OTHER_NETNS")
        self._incus_dir = pathlib.Path(env["SANDLOT_INCUS_SOCKET"]).parent
        self.run_dir = self.root / "run"
        self.settings = read_settings(self.root / "etc" / "sandlot.conf")

    @classmethod
    def find(cls):
        env_file = os.environ.get("SANDLOT_STACK_ENV")
        if not env_file:
            raise StackMissing(
                "SANDLOT_STACK_ENV does not name the stack.env of a running stack: run scripts/test"
            )
        return cls(env_file)

    @property
    def incus_dir(self):
        """The state of Incus, with its mounts: those of another host are in a namespace of its own."""
        if not self.other_netns:
            return self._incus_dir
        pid = (self.root / "other" / "run" / "incusd.pid").read_text(encoding="ascii").split()[0]
        return pathlib.Path(f"/proc/{pid}/root{self._incus_dir}")

    @property
    def host_dir(self):
        """The run and log folders of what the host with the sandboxes has of its own are in it."""
        return self._incus_dir.parent

    def on_host(self, *command):
        """In the network of that host."""
        return [*(["ip", "netns", "exec", self.other_netns] if self.other_netns else []), *command]

    @property
    def lease_s(self):
        return int(self.settings.get("lease_s", "60"))

    def ctl(self, *arguments, check=True):
        """Run sandlotctl --json; its answer, or the failed process with check=False."""
        done = subprocess.run(
            [*self.ctl_command, "--json", *arguments],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        if not check:
            return done
        assert done.returncode == 0, f"sandlotctl {' '.join(arguments)}: {done.stderr or done.stdout}"
        return json.loads(done.stdout) if done.stdout.strip() else None

    def database(self, as_admin=False):
        """A new connection of the programs' login, or of the one that migrates; the caller closes it."""
        which = "database_admin" if as_admin else "database"
        password = pathlib.Path(self.settings[f"{which}_password_file"]).read_text(encoding="utf-8")
        return pymysql.connect(
            unix_socket=self.database_socket,
            user=self.settings[f"{which}_user"],
            password=password.split("\n", 1)[0],
            database=self.settings.get("database_name", "sandlot"),
            autocommit=True,
            cursorclass=pymysql.cursors.DictCursor,
        )

    @contextlib.contextmanager
    def snapshot(self):
        """Queries that all see the database of one moment."""
        connection = self.database()
        try:
            with connection.cursor() as cursor:
                cursor.execute("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
                cursor.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")

                def query(sql, *arguments):
                    cursor.execute(sql, arguments)
                    return cursor.fetchall()

                yield query
        finally:
            connection.close()

    def query(self, sql, *arguments):
        connection = self.database()
        try:
            with connection.cursor() as cursor:
                cursor.execute(sql, arguments)
                return cursor.fetchall()
        finally:
            connection.close()

    def database_answers(self):
        try:
            self.database().close()
            return True
        except pymysql.MySQLError:
            return False

    def warnings(self, since):
        """The last of what the programs have warned of since a time like 2027-01-31T12:00:00."""
        found = []
        for path in (self.root / "log").glob("*.log"):
            with path.open("rb") as log:
                log.seek(max(0, path.stat().st_size - 500_000))
                lines = log.read().decode(errors="replace").splitlines()
            found += [line[:400] for line in lines if line > since and line.split(" ", 2)[1:2] in (["warning"], ["error"])]
        return sorted(found)[-40:]

    def row(self, sandbox_id):
        """The row of a sandbox, also after its end."""
        rows = self.query("SELECT * FROM sandboxes WHERE id = %s", sandbox_id)
        assert len(rows) == 1, f"{sandbox_id} has {len(rows)} rows"
        return rows[0]

    def instance_dir(self, name):
        """Where the storage pool keeps the instance."""
        pool = self.query("SELECT pool FROM hosts LIMIT 1")[0]["pool"]
        found = list((self.incus_dir / "storage-pools" / pool / "containers").glob(f"*{name}"))
        assert len(found) == 1, f"{name}: {found}"
        return found[0]

    def processes(self, program):
        """Pids of the stack's processes of that program."""
        root = str(self.root).encode() + b"/"
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
                environment = (entry / "environ").read_bytes()
            except OSError:
                continue
            if not words[0] or os.path.basename(words[0]).decode(errors="replace") != program:
                continue
            if any(root in word for word in words) or root in environment:
                found.append(int(entry.name))
        return sorted(found)

    def daemon(self, program):
        """The one process of that program that runs for good: incusd also runs as its own helper,
        `incusd fork…`. That of the host with the sandboxes. "database": whichever server that is."""
        if program == "incusd":
            return Daemon(self, int((self.host_dir / "run" / "incusd.pid").read_text(encoding="ascii").split()[0]))
        if program == "database":
            program = "mysqld" if self.processes("mysqld") else "mariadbd"
        found = []
        for pid in self.processes(program):
            with contextlib.suppress(OSError):  # a helper that has ended meanwhile
                found.append(Daemon(self, pid))
        # A helper is a child of the daemon, and until its exec looks exactly like it.
        pids = {one.pid for one in found}
        (daemon,) = [one for one in found
                     if one.parent not in pids and not one.arguments[1].startswith((b"fork", b"callhook"))]
        return daemon


class Daemon:
    """A running daemon that a test stops and that starts again exactly as it was."""

    def __init__(self, stack, pid):
        base = pathlib.Path("/proc") / str(pid)
        self.pid = pid
        self.parent = int((base / "stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[1])
        self.arguments = [word for word in (base / "cmdline").read_bytes().split(b"\0")[:-1]]
        self.environment = dict(
            item.split(b"=", 1) for item in (base / "environ").read_bytes().split(b"\0") if b"=" in item
        )
        self.log = os.readlink(base / "fd" / "2")
        self.namespaces = self._namespaces(base)
        self.pid_file = self._pid_file(stack)
        self.prepare = self._prepare(stack)

    @staticmethod
    def _namespaces(base):
        """Of its host, where that is another one than this machine; they outlive it."""
        found = {}
        for option, name in (("--net", "net"), ("--mount", "mnt")):
            if os.readlink(base / "ns" / name) != os.readlink(f"/proc/self/ns/{name}"):
                found[option] = os.open(base / "ns" / name, os.O_RDONLY)
        return found

    def _on_its_host(self, command):
        if not self.namespaces:
            return command
        return ["nsenter", *(f"{option}=/proc/self/fd/{fd}" for option, fd in self.namespaces.items()), "--", *command]

    def _pid_file(self, stack):
        for path in [*stack.run_dir.glob("*.pid"), *(stack.host_dir / "run").glob("*.pid")]:
            if path.read_text(encoding="utf-8").split()[:1] == [str(self.pid)]:
                return path
        return None

    def _prepare(self, stack):
        """What the unit and the set-up run before each start of Incus."""
        if os.path.basename(self.arguments[0]) != b"incusd":
            return None
        self.environment[b"SANDLOT_NIC_PREFIX"] = stack.nic_prefix.encode()
        return stack.root / "prefix" / "libexec" / "sandlot" / "incusd-prepare"

    def stop(self):
        os.kill(self.pid, signal.SIGTERM)
        wait_until(self.is_gone, 20, f"the end of process {self.pid}")

    def is_gone(self):
        try:
            stat = (pathlib.Path("/proc") / str(self.pid) / "stat").read_text(encoding="utf-8")
        except OSError:
            return True
        return stat.rsplit(")", 1)[1].split()[0] == "Z"

    def start(self, is_ready):
        """Start it again and wait until it is of use."""
        if self.prepare:
            subprocess.run(self._on_its_host([self.prepare]), env=self.environment, check=True,
                           pass_fds=self.namespaces.values())
        log = self.log if os.path.isabs(self.log) and os.path.exists(self.log) else os.devnull
        with open(log, "ab") as output:
            process = subprocess.Popen(
                self._on_its_host(self.arguments),
                pass_fds=self.namespaces.values(),
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        self.pid = process.pid
        if self.pid_file:
            # The set-up's own note of who runs: pid, start time, boot.
            stat = pathlib.Path(f"/proc/{self.pid}/stat").read_text(encoding="utf-8")
            start = stat.rsplit(")", 1)[1].split()[19]
            boot = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()
            self.pid_file.write_text(f"{self.pid} {start} {boot}\n", encoding="utf-8")
        wait_until(is_ready, 120, f"{self.arguments[0].decode()} being back", 0.1)
