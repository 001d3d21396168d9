# SPDX-License-Identifier: GPL-2.0-or-later
"""Another deployment on the same machine: a database and a project of its own, and no workers."""

import contextlib
import json
import pathlib
import shutil
import subprocess

import pymysql

from stack import Incus, wait_until

NAME = "sandlot_other"
PROJECT = "sandlot-other"


class SecondDeployment:
    """Empty, as the set-up leaves one. directory: for its settings and its key ring. project: what is in one
    that is not its own stays. programs: where those are that it begins with; the stack's."""

    def __init__(self, stack, directory, project=PROJECT, programs=None):
        self.stack = stack
        self.programs = programs or pathlib.Path(stack.ctl_command[0]).parent
        self.directory = directory
        self.config = directory / "sandlot.conf"
        (self.host,) = stack.query("SELECT * FROM hosts")
        self.project = project
        self.incus = Incus(stack.incus.socket_path, project)
        self.dispatcher = None

    def __enter__(self):
        self.remove()
        with self._root() as cursor:
            for login, rights in (("", "SELECT"), ("_admin", "ALL PRIVILEGES")):
                user = self.stack.settings[f"database{login}_user"]
                cursor.execute(f"GRANT {rights} ON {NAME}.* TO '{user}'@'localhost'"
                               f"{' WITH GRANT OPTION' * bool(login)}")
            admin = self.stack.settings["database_admin_user"]
            cursor.execute(f"GRANT ALL PRIVILEGES ON {NAME}_check.* TO '{admin}'@'localhost'")
            cursor.execute(f"CREATE DATABASE {NAME} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin")
        self._write_config()
        self.ctl("keyring", "new", str(self.directory / "keyring"))
        self.ctl("migrate")
        host = self.host
        # What addresses there are the backup says: a few are made quickly.
        few = host["address_range"].split("/")[0] + "/29"
        self.ctl("host", "add", host["name"], "--url", host["url"], "--project", self.project, "--pool", host["pool"],
                 "--range", few, "--nic-prefix", host["nic_prefix"],
                 "--vcpus", str(host["vcpus"]), "--memory-mb", str(host["memory_mb"]))
        return self

    def __exit__(self, *_):
        self.stop_dispatcher()
        self.remove()

    def settings(self):
        settings = dict(self.stack.settings)
        settings |= {name: self.directory / name for name in settings if name.endswith("_socket")
                     and name != "database_socket"}
        return settings | {"database_name": NAME, "key_file": self.directory / "keyring",
                           "pools_dir": self.directory / "pools", "database_timeout_s": 60, "warm_pool_size": 0,
                           "warm_memory_percent": 0}

    def _write_config(self):
        """What these programs know of it."""
        (self.directory / "pools").mkdir(mode=0o700, exist_ok=True)
        known = subprocess.run([self.programs / "sandlotctl", "config", "sample"], capture_output=True, text=True, check=True)
        self.config.write_text("".join(f"{name} = {value}\n" for name, value in self.settings().items()
                                       if f"\n#{name} =" in known.stdout), encoding="utf-8")

    @contextlib.contextmanager
    def _root(self):
        """Root of the machine is root of the stack's database."""
        connection = pymysql.connect(unix_socket=self.stack.database_socket, user="root", autocommit=True)
        try:
            with connection.cursor() as cursor:
                yield cursor
        finally:
            connection.close()

    def run(self, *arguments):
        return subprocess.run([self.programs / "sandlotctl", "--config", str(self.config), "--json", *arguments],
                              capture_output=True, text=True, timeout=1200, check=False)

    def ctl(self, *arguments):
        done = self.run(*arguments)
        assert done.returncode == 0, f"sandlotctl {' '.join(arguments)}: {done.stderr or done.stdout}"
        return json.loads(done.stdout)

    def query(self, sql, *arguments):
        with self._root() as cursor:
            cursor.execute(f"USE {NAME}")
            cursor.execute(sql, arguments)
            return cursor.fetchall()

    def start_dispatcher(self):
        program = self.programs / "sandlot-dispatcher"
        with (self.directory / "dispatcher.log").open("wb") as log:
            self.dispatcher = subprocess.Popen([program, "--config", self.config], stdout=log, stderr=log)

    def stop_dispatcher(self):
        if self.dispatcher:
            self.dispatcher.terminate()
            self.dispatcher.wait(120)
            self.dispatcher = None

    def _remove_instances(self):
        for name in self.incus.names():
            # One that runs is stopped first, and one that does not refuses that.
            status = self.incus.instance(name)["status"]
            if status != "Stopped":
                self.incus.request("PUT", f"/1.0/instances/{name}/state", {"action": "stop", "force": True})
            self.incus.request("DELETE", f"/1.0/instances/{name}")

    def _remove_project(self):
        self._remove_instances()
        for path in self.incus.request("GET", f"/1.0/storage-pools/{self.host['pool']}/volumes/custom"):
            self.incus.request("DELETE", path.split("?")[0])
        for profile in ("sandlot", "sandlot-vm"):
            self.incus.raw("DELETE", f"/1.0/profiles/{profile}")
        self.incus.request("DELETE", f"/1.0/projects/{PROJECT}")

    def remove(self):
        if self.project == PROJECT and self.incus.raw("GET", f"/1.0/projects/{PROJECT}")[0] == 200:
            self._remove_project()
        with self._root() as cursor:
            cursor.execute(f"DROP DATABASE IF EXISTS {NAME}")
        for path in self.directory.iterdir():
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()

    def file(self, instance, path):
        """What a file of an instance's own disk holds."""
        status, content = self.incus.raw("GET", f"/1.0/instances/{instance}/files?path={path}")
        return content if status == 200 else b""

    def wait_for_state(self, sandbox_id, state):
        wait_until(lambda: self.query("SELECT state FROM sandboxes WHERE id = %s", sandbox_id) == ((state,),),
                   120, f"{sandbox_id} being {state}")
