# SPDX-License-Identifier: GPL-2.0-or-later
"""sandlot, the command line for users, called as they do."""

import json
import os
import subprocess

from terminal import Terminal


class Cli:
    def __init__(self, stack, folder, key):
        self.program = stack.root / "build" / "sandlot"
        self.stack = stack
        self.environment = {
            "PATH": os.environ["PATH"], "HOME": str(folder), "XDG_CONFIG_HOME": str(folder / "config"),
            "SANDLOT_URL": stack.base_url, "SANDLOT_KEY": key, "SANDLOT_CA": str(stack.ca_file),
            "TERM": "xterm"}

    def without(self, *names):
        return {name: value for name, value in self.environment.items() if name not in names}

    def __call__(self, *words, stdin=b"", environment=None, timeout_s=120):
        return subprocess.run([self.program, *map(str, words)], input=stdin, capture_output=True,
                              env=environment or self.environment, timeout=timeout_s, check=False)

    def say(self, *words, **options):
        """What it says when it succeeds."""
        done = self(*words, **options)
        assert done.returncode == 0, done
        return done.stdout.decode()

    def json(self, *words):
        return json.loads(self.say(*words, "--json"))

    def terminal(self, *words, **options):
        return Terminal([str(self.program), *words], self.environment, **options)
