# SPDX-License-Identifier: GPL-2.0-or-later
"""A machine that is no host yet, beside a stack of two: scripts/host-join makes it, in namespaces."""

import base64
import json
import os
import pathlib
import re
import signal
import subprocess
import urllib.parse

SCRIPT = pathlib.Path(__file__).parents[3] / "scripts" / "host-join"


class BareMachine:
    def __init__(self, stack):
        self.stack = stack
        self.name = stack.root.name
        port = urllib.parse.urlsplit(stack.base_url).port
        network = f"198.19.{port // 64 % 256}"
        self.front = f"{network}.{port % 64 * 4 + 1}:{port}"
        self.address = f"{network}.{port % 64 * 4 + 2}"
        first, second = stack.range.split(".")[:2]
        self.range = f"{first}.{second}.192.0/18"
        self.network = f"{first}.{second}.0.0/16"

    def token(self, name, check=True, **options):
        """What `sandlotctl host token` prints, or the failed process with check=False."""
        options = {"range": self.range, "network": self.network, "nic-prefix": self.stack.nic_prefix,
                   "front": self.front, **options}
        words = [word for option, value in options.items() for word in (f"--{option}", value)]
        return self.stack.ctl("host", "token", name, *words, check=check)

    @staticmethod
    def secret(token):
        return json.loads(base64.b64decode(token))["token"]

    @staticmethod
    def with_pin_of_another(token):
        text = json.loads(base64.b64decode(token))
        text["pin"] = "sha256//" + base64.b64encode(bytes(32)).decode()
        return base64.b64encode(json.dumps(text).encode()).decode()

    def begin(self, token):
        """The script, in a process group of its own."""
        script = subprocess.Popen([SCRIPT, "--stack", self.name, "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, start_new_session=True, text=True)
        script.stdin.write(token + "\n")
        script.stdin.close()
        return script

    def join(self, token):
        """Whether it succeeded, and all that was said."""
        script = self.begin(token)
        said = script.stdout.read()
        return script.wait() == 0, said

    def join_and_die_at(self, token, step):
        """Killed with all that it waits for, when that step has begun; daemons stay."""
        script = self.begin(token)
        said = ""
        begun = re.compile(rf"^  \[\d+/\d+\] {re.escape(step)} ", re.MULTILINE)
        while not begun.search(said):
            letter = script.stdout.read(1)
            assert letter, f"it ended before {step!r}: {said}"
            said += letter
        os.killpg(script.pid, signal.SIGKILL)
        script.wait()
        script.stdout.close()

    def file(self, name):
        return self.stack.root / "bare" / "etc" / "join" / name

    def discard(self):
        subprocess.run([SCRIPT, "--stack", self.name, "--discard"], check=True, capture_output=True)
