# SPDX-License-Identifier: GPL-2.0-or-later
"""A deployment that the version before has made, whose programs are replaced one after the other."""

import ipaddress
import pathlib
import secrets
import socket
import subprocess

import fastcgi
import version_before
from second_deployment import SecondDeployment
from stack import wait_until

WORKERS = 2
ADDRESSES = 14


class DeploymentBefore(SecondDeployment):
    """With workers, without nginx and firewall. Its addresses are the last that the stack would come to."""

    def __init__(self, stack, directory):
        super().__init__(stack, directory, programs=version_before.programs())
        network = ipaddress.ip_network(self.host["address_range"])
        self.host["address_range"] = f"{network.broadcast_address - ADDRESSES - 1}/28"
        self.workers, self.key = [], None

    def __enter__(self):
        super().__enter__()
        self.ctl("template", "add", self.stack.template, "--image", "sandlot-default", "--cpu", "1", "--memory-mb", "512",
                 "--default")
        self.ctl("user", "create", "ann")
        self.key = self.ctl("key", "create", "--user", "ann", "--scope", "write")["key"]
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()
        super().__exit__()

    def settings(self):
        migrations = self.programs / "sql"
        return super().settings() | ({"sql_dir": migrations} if migrations.is_dir() else {})

    def start(self):
        """What an operator's units start."""
        path = self.directory / "api.sock"
        path.unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX) as listening, (self.directory / "api.log").open("ab") as log:
            listening.bind(str(path))
            listening.listen(64)
            self.workers = [subprocess.Popen([self.programs / "sandlot-api", "--config", self.config],
                                             stdin=listening, stdout=log, stderr=log) for _ in range(WORKERS)]
        self.start_dispatcher()

    def stop(self):
        for worker in self.workers:
            worker.terminate()
        for worker in self.workers:
            worker.wait(120)
        self.workers = []
        self.stop_dispatcher()

    def install_this_version(self):
        self.programs = pathlib.Path(self.stack.ctl_command[0]).parent
        self._write_config()

    def goes_on(self):
        """No program has ended."""
        return all(one.poll() is None for one in [*self.workers, self.dispatcher])

    def request(self, method, path, body=None, once=None):
        """once: an Idempotency-Key."""
        headers = {"Authorization": f"Bearer {self.key}", "Idempotency-Key": once or secrets.token_hex(12)}
        return fastcgi.request(self.directory / "api.sock", method, path, body, headers)

    def ask(self, status, method, path, body=None, once=None):
        answer = self.request(method, path, body, once)
        assert answer.status == status, (method, path, answer)
        return answer.json() if answer.body else None

    def create(self, once=None, **fields):
        return self.ask(201, "POST", "/v1/sandboxes", {"timeout": 3600, **fields}, once)["id"]

    def pause(self, sandbox_id):
        paused = self.ask(200, "POST", f"/v1/sandboxes/{sandbox_id}/pause")
        assert paused["state"] == "stopped", paused

    def resumed_from(self, sandbox_id):
        return self.ask(200, "POST", f"/v1/sandboxes/{sandbox_id}/resume")["sandbox"]["resumed_from"]

    def destroy(self, sandbox_id):
        instance = self.query("SELECT instance_name FROM sandboxes WHERE id = %s", sandbox_id)[0][0]
        self.ask(204, "DELETE", f"/v1/sandboxes/{sandbox_id}")
        wait_until(lambda: not self.incus.exists(instance), 120, f"the removal of {instance}", 0.2)

    def listed(self):
        return {one["id"]: one["state"] for one in self.ask(200, "GET", "/v1/sandboxes?limit=100")["sandboxes"]}
