# SPDX-License-Identifier: GPL-2.0-or-later
"""The firewall of the host that has the sandboxes, asked directly: what is really in force."""

import contextlib
import json

import fastcgi


class Firewall:
    def __init__(self, stack):
        self.stack = stack
        self.socket = stack.host_dir / "run" / "firewall.sock"

    def request(self, method, path, body=None):
        answer = fastcgi.request(self.socket, method, path, body, timeout_s=10)
        return answer.status, json.loads(answer.body) if answer.body else None

    def revision(self, sandbox_id):
        """Of the policy in force for the sandbox, or None."""
        status, answer = self.request("GET", "/v1/policies")
        assert status == 200, answer
        found = [one["revision"] for one in answer["policies"] if one["sandbox_id"] == sandbox_id]
        assert len(found) <= 1, answer
        return found[0] if found else None

    def remove(self, address, sandbox_id):
        status, answer = self.request("DELETE", f"/v1/policies/{address}?sandbox_id={sandbox_id}")
        assert status == 204, answer

    @contextlib.contextmanager
    def unreachable(self):
        """Nobody listens where the control plane looks for the firewall of any host."""
        with contextlib.closing(self.stack.database()) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT firewall_url, id FROM hosts")
            before = [(row["firewall_url"], row["id"]) for row in cursor.fetchall()]
            cursor.execute("UPDATE hosts SET firewall_url = %s",
                           (f"http+unix://{self.stack.run_dir / 'nobody.sock'}",))
            try:
                yield
            finally:
                cursor.executemany("UPDATE hosts SET firewall_url = %s WHERE id = %s", before)
