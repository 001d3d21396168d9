# SPDX-License-Identifier: GPL-2.0-or-later
"""Completion of the command line in the shells themselves, with names that the service knows."""

import pytest

from cli import Cli
from tenant import Sandbox
from terminal import Terminal

pytestmark = pytest.mark.parallel

SHELLS = {
    "bash": ["bash", "--norc", "--noprofile", "-i"],
    "zsh": ["zsh", "-f", "-i"],
    "fish": ["fish", "--no-config", "-i"],
}
SET_UP = {
    "bash": "PS1='> '; source <(sandlot completion bash)",
    "zsh": "PS1='> '; autoload -Uz compinit; compinit -D; source <(sandlot completion zsh)",
    "fish": "function fish_prompt; echo '> '; end; sandlot completion fish | source",
}


@pytest.fixture(scope="module")
def sandbox(module_account):
    return Sandbox.create(module_account.api, timeout=1800, name="workbench")


@pytest.fixture(scope="module")
def cli(stack, module_account, sandbox, tmp_path_factory):
    return Cli(stack, tmp_path_factory.mktemp("completion"), module_account.api.key)


@pytest.fixture(params=SHELLS)
def shell(cli, request):
    """A shell at a terminal that has taken the script."""
    environment = cli.environment | {"PATH": f"{cli.program.parent}:/usr/bin:/bin", "TERM": "dumb", "LC_ALL": "C.UTF-8"}
    terminal = Terminal(SHELLS[request.param], environment)
    terminal.type(SET_UP[request.param] + "; echo is re''ady\r")
    terminal.expect("is ready")
    yield terminal
    terminal.kill()


def test_what_is_begun_is_completed(shell, sandbox):
    for begun, rest in (("sandlot checkp", "oint"), ("sandlot create --on-t", "imeout"), ("sandlot key rev", "oke")):
        shell.type(begun)
        shell.expect(begun)
        shell.type("\t")
        shell.expect(rest)
        shell.type("\x15")
    # A name that the service knows, and the line is what is run.
    shell.type("sandlot show workb")
    shell.expect("workb")
    shell.type("\t")
    shell.expect("ench")
    shell.type("\r")
    shell.expect(sandbox.id)
