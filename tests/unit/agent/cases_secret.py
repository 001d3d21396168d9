# SPDX-License-Identifier: GPL-2.0-or-later
"""Who may talk to the agent."""

import json

from agent_case import BINARY, AgentTest
from agent_client import Agent


class Secret(AgentTest):
    def test_health_needs_none(self):
        self.assertEqual(self.agent.send("GET", "/health", secret=False).status, 204)

    def test_everything_else_needs_it(self):
        for method, path in (("GET", "/files?path=/etc/passwd"), ("POST", "/files?path=/tmp/x"),
                             ("GET", "/internal/ports/80"), ("GET", "/nonesuch")):
            for secret in (False, "00" * 32, self.agent.secret[:-1], "zz" * 32):
                self.error(self.agent.send(method, path, secret=secret), 401)
        reply = self.agent.send("POST", "/process.Process/List", b"{}",
                                {"Content-Type": "application/json"}, secret=False)
        self.error(reply, 401, "unauthenticated")

    def test_init_again(self):
        self.assertEqual(self.agent.init({"A": "1", "E2B_SANDBOX": "no"}).status, 204)
        self.assertEqual(self.agent.run("/bin/sh", "-c", "echo $A-$GREETING-$E2B_SANDBOX")[0],
                         b"1--true\n")
        self.assertEqual(self.agent.init(self.envs).status, 204)
        body = json.dumps({"secret": self.agent.secret}).encode()
        self.error(self.agent.send("POST", "/init", body, secret=False), 401)
        body = json.dumps({"secret": "ab" * 32}).encode()
        self.error(self.agent.send("POST", "/init", body), 400)
        self.error(self.agent.send("POST", "/init", b"{"), 400)

    def test_before_init(self):
        agent = Agent(BINARY, "--trust-local-peers")
        self.assertEqual(agent.send("GET", "/health", secret=False).status, 204)
        self.error(agent.send("GET", "/files?path=/etc/passwd"), 503)
        self.assertEqual(agent.init().status, 204)
        self.assertEqual(agent.send("GET", "/files?path=/etc/passwd").status, 200)
        self.assertEqual(agent.stop(), 0)
        with open(agent.log.name) as log:
            self.assertNotIn(agent.secret, log.read())

    def test_init_from_inside(self):
        agent = Agent(BINARY)
        self.assertIn(agent.init().status, (404,))
        agent.stop()

    def test_unknown_routes(self):
        self.error(self.agent.send("GET", "/nonesuch"), 404)
        for path, methods in (("/files?path=/x", "GET, HEAD, POST"),
                              ("/process.Process/List", "POST")):
            reply = self.agent.send("DELETE", path)
            self.assertEqual((reply.status, reply.headers.get("allow")), (405, methods))
        status, body = self.agent.unary("process.Process/Fly", {})
        self.assertEqual((status, body["code"]), (501, "unimplemented"))
        last = self.agent.stream("process.Process/Fly", {}).message()
        self.assertEqual(last[0], 2)
        self.assertEqual(last[1]["error"]["code"], "unimplemented")
