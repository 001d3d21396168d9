# SPDX-License-Identifier: GPL-2.0-or-later
"""sandlot, the command line for users, called as they do."""

import contextlib
import json
import os
import signal
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

    @contextlib.contextmanager
    def begin(self, *words, environment=None, **options):
        """It runs beside the test, and ends with it at the latest. A run in the background ignores SIGINT otherwise."""
        began = subprocess.Popen([self.program, *map(str, words)], env=environment or self.environment,
                                 preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL), **options)
        try:
            yield began
            began.wait(120)
        finally:
            began.kill()
            began.wait()
            for stream in filter(None, (began.stdout, began.stderr)):
                stream.close()

    def say(self, *words, **options):
        """What it says when it succeeds."""
        done = self(*words, **options)
        assert done.returncode == 0, done
        return done.stdout.decode()

    def json(self, *words):
        return json.loads(self.say(*words, "--json"))

    def terminal(self, *words, **options):
        return Terminal([str(self.program), *words], self.environment, **options)
