# SPDX-License-Identifier: GPL-2.0-or-later
"""An agent that is killed, and the one that comes after it."""

import os
import signal
import time

from agent_case import BINARY, AgentTest
from agent_client import Agent


class Guard(AgentTest):
    def setUp(self):
        self.guarded = Agent(BINARY, "--trust-local-peers", "--guard")
        self.addCleanup(self.end)

    def end(self):
        if self.guarded.process.poll() is None:
            self.guarded.process.kill()
            self.guarded.process.wait(10)

    def agent_pid(self):
        guard = self.guarded.process.pid
        with open(f"/proc/{guard}/task/{guard}/children") as children:
            return int(children.read().split()[0])

    def name(self, pid):
        with open(f"/proc/{pid}/comm") as comm:
            return comm.read().strip()

    def kill(self, number=signal.SIGKILL):
        """End an agent that is older than a second; the next one's pid."""
        pid = self.agent_pid()
        time.sleep(1.1)
        os.kill(pid, number)
        self.eventually(lambda: not os.path.exists(f"/proc/{pid}"))
        self.guarded.wait_until_up()
        self.assertNotEqual(self.agent_pid(), pid)
        return self.agent_pid()

    def test_the_next_one_knows_what_the_first_was_told(self):
        envs = {"A": "1", "EMPTY": "", "LONG": "x" * 60000, "SIGNS": "a=b\nc ü"}
        self.assertEqual(self.guarded.init(envs).status, 204)
        self.assertEqual(self.name(self.guarded.process.pid), "sandlot-guard")
        for number in (signal.SIGKILL, signal.SIGSEGV):
            stream = self.guarded.start("sleep", "100")
            pid = stream.message()[1]["event"]["start"]["pid"]
            self.assertEqual(self.name(self.kill(number)), "sandlot-agent")
            with self.assertRaises((ConnectionError, EOFError)):
                stream.message()
            known = self.guarded.send("GET", "/envs").json()
            self.assertEqual(known, {"SANDLOT_SANDBOX_ID": "sbx_test", **envs})
            self.error(self.guarded.send("GET", "/metrics", secret="00" * 32), 401)
            self.assertEqual(self.guarded.run("/bin/sh", "-c", "echo $A")[0], b"1\n")
            os.kill(pid, signal.SIGKILL)
        # What it is told later counts, and nothing of before.
        self.assertEqual(self.guarded.init({"B": "2"}).status, 204)
        self.kill()
        self.assertEqual(self.guarded.send("GET", "/envs").json(),
                         {"SANDLOT_SANDBOX_ID": "sbx_test", "B": "2"})

    def test_one_that_was_told_nothing(self):
        self.kill()
        self.error(self.guarded.send("GET", "/envs"), 503)
        self.assertEqual(self.guarded.init({"A": "1"}).status, 204)

    def test_an_early_end_is_for_init(self):
        os.kill(self.agent_pid(), signal.SIGKILL)
        self.assertEqual(self.guarded.process.wait(10), 1)

    def test_both_end_together(self):
        pid = self.agent_pid()
        self.assertEqual(self.guarded.stop(), 0)
        self.eventually(lambda: not os.path.exists(f"/proc/{pid}"))
        self.setUp()
        pid = self.agent_pid()
        self.guarded.process.kill()
        self.guarded.process.wait(10)
        self.eventually(lambda: not os.path.exists(f"/proc/{pid}"))

    def test_one_that_cannot_start(self):
        other = Agent(BINARY, "--trust-local-peers")
        self.addCleanup(other.stop)
        self.assertEqual(os.spawnl(os.P_WAIT, BINARY, BINARY, "--guard", "--listen", "127.0.0.1",
                                   "--port", str(other.port)), 1)
