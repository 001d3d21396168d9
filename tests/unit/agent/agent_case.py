# SPDX-License-Identifier: GPL-2.0-or-later
"""One agent for a class of tests."""

import os
import shutil
import tempfile
import time
import unittest
import urllib.parse

from agent_client import Agent

BINARY = os.environ["SANDLOT_AGENT"]
ROOT = os.getuid() == 0
HOME = os.path.expanduser("~")


def quote(path):
    return urllib.parse.quote(path, safe="")


class AgentTest(unittest.TestCase):
    envs = {"GREETING": "hello", "PATH_LIKE": "a:b"}

    @classmethod
    def setUpClass(cls):
        cls.agent = Agent(BINARY, "--trust-local-peers")
        assert cls.agent.init(cls.envs).status == 204
        cls.folder = os.path.realpath(tempfile.mkdtemp())

    @classmethod
    def tearDownClass(cls):
        cls.agent.stop()
        shutil.rmtree(cls.folder)

    def eventually(self, check, within_s=5):
        deadline = time.monotonic() + within_s
        while not check():
            self.assertLess(time.monotonic(), deadline, "did not happen in time")
            time.sleep(0.02)

    def error(self, reply, status, code=None):
        self.assertEqual(reply.status, status)
        if status != 429:  # also for messages that are too large, which no time makes smaller
            self.assertEqual("retry-after" in reply.headers, status in (503, 507))
        body = reply.json()
        self.assertEqual(body["code"], code or status)
        self.assertTrue(body["message"])
        return body["message"]
