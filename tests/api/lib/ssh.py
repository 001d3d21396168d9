# SPDX-License-Identifier: GPL-2.0-or-later
"""The SSH entry point, asked with OpenSSH's own programs."""

import os
import subprocess

from terminal import Terminal


class Ssh:
    """A user's key, in a folder of its own, and the programs called with it."""

    def __init__(self, stack, folder, account=None, *, kind="ed25519", entry=None, **fields):
        self.stack = stack
        self.folder = folder
        self.identity = folder / f"id_{kind}"
        self.settings = entry.settings if entry else stack.ssh_settings
        subprocess.run(["ssh-keygen", "-q", "-t", kind, "-N", "", "-C", "of a test", "-f", self.identity], check=True)
        self.public = self.identity.with_suffix(".pub").read_text(encoding="utf-8").strip()
        self.key = account and account.api.post("/v1/ssh_keys", {"public_key": self.public, **fields}).json()
        self.config = folder / "config"
        self.config.write_text(
            f"Host *\n  HostName 127.0.0.1\n  HostKeyAlias [{self.settings['host']}]:{self.settings['port']}\n"
            f"  Port {self.settings['port']}\n  UserKnownHostsFile {self.settings['known_hosts']}\n"
            f"  StrictHostKeyChecking yes\n  IdentityFile {self.identity}\n  IdentitiesOnly yes\n"
            "  IdentityAgent none\n  BatchMode yes\n  ConnectTimeout 20\n  GlobalKnownHostsFile /dev/null\n"
            "  LogLevel ERROR\n", encoding="utf-8")
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "TERM": "xterm"}

    def command(self, who, *words, options=()):
        return ["ssh", "-F", str(self.config), *options, f"{who}@sandbox", *words]

    def __call__(self, who, *words, options=(), stdin=b"", timeout_s=120):
        return subprocess.run(self.command(who, *words, options=options), input=stdin, capture_output=True,
                              env=self.environment, timeout=timeout_s, check=False)

    def say(self, who, *words, **options):
        done = self(who, *words, **options)
        assert done.returncode == 0, done
        return done.stdout.decode()

    def start(self, who, *words, options=()):
        return subprocess.Popen(self.command(who, *words, options=options), stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.environment)

    def terminal(self, who, *words, options=(), **more):
        return Terminal(self.command(who, *words, options=options), self.environment, **more)

    def run(self, program, *words, stdin=b"", timeout_s=120):
        """scp, sftp, rsync."""
        return subprocess.run([program, *map(str, words)], input=stdin, capture_output=True, env=self.environment,
                              timeout=timeout_s, check=False)
