# SPDX-License-Identifier: GPL-2.0-or-later
"""An honest tenant of another team, whose calls must go on while somebody misbehaves."""

from stack import wait_until
from tenant import Account, Sandbox

# What one call may take on a busy machine before it counts as held up. Far above what a quiet one
# takes (0.3 s for a cold create) and far below what a tenant could hold before there were bounds.
PATIENCE_S = 20
PORT = 3000
TIMEOUT_S = 1800


class Bystander:
    """Creates, previews, files and pauses, as an ordinary team does them."""

    def __init__(self, stack, plan="pro"):
        self.stack = stack
        self.account = Account(stack, plan)
        self.api = self.account.api
        self.sandbox = Sandbox.create(
            self.api, timeout=TIMEOUT_S, exposed_ports=[{"port": PORT, "protocol": "http", "public": True}]
        )
        self.sandbox.data.check("mkdir -p /tmp/site && echo well >/tmp/site/index.html")
        self.sandbox.data.background("python3", "-m", "http.server", "-d", "/tmp/site", str(PORT))
        wait_until(lambda: self.sandbox.preview(PORT).request("GET", "/").status == 200, 10, "the bystander's own server")

    def preview(self):
        answer = self.sandbox.preview(PORT).request("GET", "/", timeout_s=PATIENCE_S)
        assert (answer.status, answer.body) == (200, b"well\n"), answer

    def files(self):
        self.sandbox.data.upload("/tmp/note", b"kept")
        assert self.sandbox.data.read("/tmp/note") == b"kept"

    def exec(self):
        assert self.sandbox.data.check("echo well") == "well\n"

    def show(self):
        answer = self.api.request("GET", self.sandbox.path, timeout_s=PATIENCE_S)
        assert answer.status == 200 and answer.json()["state"] == "ready", answer

    def create(self):
        answer = self.api.request("POST", "/v1/sandboxes", {}, timeout_s=PATIENCE_S)
        assert answer.status == 201, answer
        answer = self.api.request("DELETE", f"/v1/sandboxes/{answer.json()['id']}", timeout_s=PATIENCE_S)
        assert answer.status == 204, answer

    def pause(self):
        """Pause and resume a sandbox of its own; its memory is kept."""
        other = Sandbox.create(self.api)
        boot = other.boot_id()
        other.pause()
        assert other.resume()["resumed_from"] == "memory"
        assert other.boot_id() == boot
        self.api.destroy(other.id)

    def is_whole(self):
        """Its sandbox runs, from now on for half an hour, and its server answers."""
        try:
            return (self.sandbox.resume(timeout=TIMEOUT_S)["state"] == "ready"
                    and self.sandbox.preview(PORT).request("GET", "/").status == 200)
        except (AssertionError, OSError):
            return False

    def tidy_up(self):
        """Delete what it has made beside its sandbox."""
        self.account.clean_up(kept=self.sandbox.id)

    def goes_on(self, pause=True):
        """Do each call once; the test fails if one does."""
        for call in [self.show, self.preview, self.exec, self.files, self.create] + ([self.pause] if pause else []):
            call()

    def clean_up(self):
        self.account.clean_up()
