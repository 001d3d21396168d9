# SPDX-License-Identifier: GPL-2.0-or-later
"""Ready-made templates: each is built as an operator does it, and used by the package that it is for, as it was
published."""

import pathlib
import subprocess

import pytest

from cli import Cli
from leavings import deleted_after
from tenant import Account, Sandbox
from test_e2b_client import environment, run

pytestmark = [pytest.mark.parallel, pytest.mark.long]

ROOT = pathlib.Path(__file__).parents[3]
SCRIPT = ROOT / "scripts/ready-template"
BUILD_S = 1500  # apt over a slow line
# A command for each template without a test of its own.
TRIALS = {"node": "node -e 'console.log(6 * 7)' && npm --version", "php": "php -r 'echo 6 * 7;' && composer --version",
          "tools": "echo 'int main(void) { return 0; }' >a.c && cc a.c && ./a.out && cmake --version"}


@pytest.fixture(scope="module")
def owner(stack):
    with deleted_after(stack):
        yield Account(stack)


def ready_template(cli, *words, **options):
    return subprocess.run([SCRIPT, *words], env=cli.environment, capture_output=True, text=True, check=False, **options)


@pytest.fixture(scope="module")
def cli(stack, owner, tmp_path_factory):
    made = Cli(stack, tmp_path_factory.mktemp("ready"), owner.api.key)
    made.environment |= {"PATH": f"{pathlib.Path(made.program).parent}:{made.environment['PATH']}"}
    return made


def build(stack, cli, owner, name):
    done = ready_template(cli, "--team", owner.team, "--base", stack.template, name, timeout=BUILD_S)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr


def use(installed, stack, owner, script):
    done = run(["node", script], installed, environment(stack, owner), timeout=400)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_list_and_unknown_names(cli):
    names = {line.split()[0] for line in ready_template(cli, "--list").stdout.splitlines()}
    assert names == {path.parent.name for path in (ROOT / "scripts/templates").glob("*/Dockerfile")}
    assert set(TRIALS) < names
    for words in (["nothing"], ["../template"], [], ["--nothing"], ["node", "nothing"]):
        done = ready_template(cli, *words)
        assert done.returncode == 2 and done.stderr, words


def test_the_code_interpreters_package(installed, stack, owner, cli):
    build(stack, cli, owner, "code-interpreter")
    use(installed, stack, owner, "code.mjs")


def test_the_desktops_package(installed, stack, owner, cli):
    build(stack, cli, owner, "desktop")
    use(installed, stack, owner, "desktop.mjs")


def test_the_browser_serves_its_developer_tools(stack, owner, cli):
    build(stack, cli, owner, "browser")
    sandbox = Sandbox.create(owner.api, template="browser")
    sandbox.data.check("for i in $(seq 300); do curl -fsSo /dev/null 127.0.0.1:9222/json/version && break; sleep 0.1; done")
    opened = sandbox.data.check("curl -fsS -X PUT '127.0.0.1:9222/json/new?data:text/html,<title>here</title>'")
    assert "webSocketDebuggerUrl" in opened
    sandbox.data.check("for i in $(seq 100); do curl -fsS 127.0.0.1:9222/json | grep -q '\"title\": \"here\"' && exit; sleep 0.1; done; exit 1")
    owner.api.destroy(sandbox.id)


@pytest.mark.parametrize("name", TRIALS)
def test_small_ones(stack, owner, cli, name):
    build(stack, cli, owner, name)
    sandbox = Sandbox.create(owner.api, template=name)
    sandbox.data.check(TRIALS[name])
    owner.api.destroy(sandbox.id)
