# SPDX-License-Identifier: GPL-2.0-or-later
"""A session as users have it, recorded: a sandbox by SSH, a pause, a resume, and a preview of its server.
With SANDLOT_PICTURES=$PWD/doc/images it makes the recording of the documentation again."""

import os
import pathlib
import subprocess
import time

import pytest

from cli import Cli
from recording import CONTROL, Recording
from ssh import Ssh
from stack import wait_until

pytestmark = pytest.mark.parallel

PAGE = "still here"


def test_a_session_is_recorded(stack, account, tmp_path):
    ssh, cli = Ssh(stack, tmp_path, account), Cli(stack, tmp_path / "home", account.api.key)
    recording = Recording("A sandbox by SSH, paused and resumed, and a preview of its web server")
    pictures = pathlib.Path(os.environ.get("SANDLOT_PICTURES", tmp_path))

    begun = time.monotonic()
    recording.typed("$ ", "ssh new+keep+name=work@ssh.example.com")
    terminal = ssh.terminal("new+keep+name=work", rows=24, cols=100)
    shown = terminal.expect("$ ")
    *notice, prompt = shown.split("\n")
    recording.answered("\n".join(notice), time.monotonic() - begun)
    for command in (f"echo {PAGE} >index.html", "setsid python3 -m http.server 3000 &>/dev/null &", "exit"):
        if command == "exit":
            wait_until(lambda: cli("exec", "-n", "work", "curl", "-s", "127.0.0.1:3000").returncode == 0, 60, "the server")
        recording.typed(CONTROL.sub("", prompt) + "$ ", command)
        terminal.type(command + "\r")
        if command != "exit":
            terminal.expect("$ ")
    terminal.wait()

    def run(*words):
        begun = time.monotonic()
        recording.typed("$ ", " ".join(["sandlot", *words]))
        said = cli.say(*words)
        recording.answered(said, time.monotonic() - begun)
        return said.strip()

    run("pause", "work")
    run("resume", "work")
    address = run("port", "expose", "work", "3000", "--public")
    begun = time.monotonic()
    recording.typed("$ ", f"curl {address}")
    page = subprocess.run(["curl", "-sS", "--cacert", stack.ca_file, "--connect-to", "::127.0.0.1:", address],
                          capture_output=True, text=True, timeout=60, check=True).stdout
    recording.answered(page, time.monotonic() - begun)

    text = recording.text().replace(stack.data_plane_host, "sandbox.example.com")
    assert PAGE in page and "paused" in text and "memory" in text, text
    (pictures / "session.svg").write_text(recording.svg().replace(stack.data_plane_host, "sandbox.example.com"),
                                          encoding="utf-8")
