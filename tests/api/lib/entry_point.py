# SPDX-License-Identifier: GPL-2.0-or-later
"""An SSH entry point of a test's own beside the stack's, with settings that nobody else has."""

import contextlib
import pathlib
import socket
import subprocess
import tempfile

from stack import wait_until

RIGHTS = "-all,+setuid,+setgid,+kill"


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class EntryPoint:
    def __init__(self, stack, folder, settings, prepare=None):
        self.port = free_port()
        self.log_file = folder / "log"
        self.known_hosts = folder / "known_hosts"
        user = pathlib.Path(stack.settings["ssh_host_key_file"]).group()
        group = pathlib.Path(stack.settings["key_file"]).group()
        config = folder / "sandlot.conf"
        config.write_text("".join(f"{name} = {value}\n" for name, value in
                                  (stack.settings | settings | {"ssh_port": self.port}).items()), encoding="utf-8")
        host_key = pathlib.Path(stack.settings["ssh_host_key_file"] + ".pub").read_text(encoding="utf-8")
        self.known_hosts.write_text(f"[ssh.of.a.test]:{self.port} {host_key}", encoding="utf-8")
        # As scripts/quickstart starts the stack's, under another name, by which no test knows that one.
        with self.log_file.open("wb") as log:
            self.process = subprocess.Popen(
                ["setpriv", "--reuid", user, "--regid", group, "--groups", user, "--inh-caps", RIGHTS,
                 "--ambient-caps", RIGHTS, "--bounding-set", RIGHTS, "bash", "-c", 'exec -a "$0" "$@"', "of-a-test",
                 stack.root / "prefix" / "sbin" / "sandlot-ssh", "--config", config], stdout=log, stderr=log, preexec_fn=prepare)

    @property
    def settings(self):
        """What Ssh() needs to know of it."""
        return {"host": "ssh.of.a.test", "port": str(self.port), "known_hosts": str(self.known_hosts)}

    def answers(self):
        assert self.process.poll() is None, self.log()
        with socket.socket() as one:
            return one.connect_ex(("127.0.0.1", self.port)) == 0

    def log(self, *words):
        """The lines that have all of these words."""
        lines = self.log_file.read_text(encoding="utf-8").splitlines()
        return [line for line in lines if all(word in line for word in words)]

    def logs(self, *words):
        wait_until(lambda: self.log(*words), 60, f"a line of {words}")
        return self.log(*words)


@contextlib.contextmanager
def entry_point(stack, files=(), prepare=None, **settings):
    """files: names and contents; a setting's {folder} is where they are. prepare: what its process does first."""
    with tempfile.TemporaryDirectory(prefix="sandlot-ssh-") as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        for file, text in dict(files).items():
            (folder / file).write_text(text, encoding="utf-8")
        settings = {key: str(value).format(folder=folder) for key, value in settings.items()}
        entry = EntryPoint(stack, folder, settings, prepare)
        try:
            wait_until(entry.answers, 60, "the entry point")
            yield entry
        finally:
            entry.process.terminate()
            entry.process.wait(60)
