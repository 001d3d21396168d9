# SPDX-License-Identifier: GPL-2.0-or-later
"""The firewall of the stack's host, asked directly: what is really in force."""

import contextlib
import json

from stack import IncusConnection

SCHEME = "http+unix://"


class Firewall:
    def __init__(self, stack):
        self.stack = stack
        self.url = f"{SCHEME}{stack.host_dir / 'run' / 'firewall.sock'}"

    def request(self, method, path, body=None):
        connection = IncusConnection(self.url.removeprefix(SCHEME), 10)
        try:
            text = None if body is None else json.dumps(body)
            connection.request(method, path, text, {"Content-Type": "application/json"})
            response = connection.getresponse()
            answer = response.read()
            return response.status, json.loads(answer) if answer else None
        finally:
            connection.close()

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

    def _point_to(self, url):
        connection = self.stack.database()
        with contextlib.closing(connection), connection.cursor() as cursor:
            cursor.execute("UPDATE hosts SET firewall_url = %s", (url,))

    @contextlib.contextmanager
    def unreachable(self):
        """Nobody listens where the control plane looks for it."""
        self._point_to(SCHEME + str(self.stack.run_dir / "nobody.sock"))
        try:
            yield
        finally:
            self._point_to(self.url)
