# SPDX-License-Identifier: GPL-2.0-or-later
"""E2B's npm packages as they were published, told a domain and a key and nothing else."""

import os
import subprocess
import urllib.parse

import pytest

from stack import wait_until

pytestmark = pytest.mark.parallel

PARTS = ("life", "pages", "pause", "network", "snapshots", "errors")


def environment(stack, account):
    return {
        "PATH": os.environ["PATH"],
        "HOME": "/nonexistent",
        "NODE_EXTRA_CA_CERTS": stack.ca_file,
        "E2B_DOMAIN": stack.data_plane_host,
        "E2B_API_URL": stack.base_url,
        "E2B_API_KEY": account.key_document("write")["e2b_key"],
    }


def run(command, folder, env, timeout=180, **options):
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=timeout, check=False,
                          **options)


def run_part(installed, stack, account, part, client, **more):
    done = run(["node", "facade.mjs", part], installed, {**environment(stack, account), "CLIENT": client, **more})
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def template(account, sandbox):
    """One of the team's, with two versions, of 256 and 384 MiB."""
    made = account.api.post(f"{sandbox.path}/checkpoints", {"name": "made"}).json()
    body = {"checkpoint_id": made["id"], "runtime_baseline": {"cpu": 1, "memory_mb": 256}}
    assert account.api.post("/v1/templates", {"slug": "tagged", **body}).status == 201
    body["runtime_baseline"]["memory_mb"] = 384
    assert account.api.post("/v1/templates/tagged/versions", body).status == 201
    wait_until(lambda: [one["state"] for one in account.api.get("/v1/templates/tagged/versions").json()["versions"]]
               == ["ready"] * 2, 90, "the builds")
    yield "tagged"
    account.clean_up()
    assert account.api.delete(f"/v1/checkpoints/{made['id']}").status == 204
    assert account.api.delete("/v1/templates/tagged").status == 204


@pytest.mark.long
def test_templates_of_the_newest_client(installed, stack, account, template):
    run_part(installed, stack, account, "templates", "e2b", TEMPLATE=template, TEAM=account.team)


@pytest.mark.parametrize("part", [pytest.param("servers", marks=pytest.mark.long), "volumes", "metrics"])
def test_what_the_newest_client_has(installed, stack, account, part):
    run_part(installed, stack, account, part, "e2b")


@pytest.mark.long
def test_all_sandboxes_at_one_host(installed, stack, account):
    """The client names the sandbox in headers."""
    env = {**environment(stack, account), "CLIENT": "e2b", "E2B_SANDBOX_URL": f"https://sandbox.{stack.data_plane_host}"}
    done = run(["node", "facade.mjs", "pause"], installed, env)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("part, client", [
    *((part, "e2b") for part in PARTS), ("life", "e2b-2.45"),
    *(pytest.param(part, client, marks=pytest.mark.long) for client in ("e2b-2.49", "e2b-2.45", "e2b-2.39") for part in PARTS
      if (part, client) != ("life", "e2b-2.45"))])
def test_the_public_client_by_itself(installed, stack, account, part, client):
    run_part(installed, stack, account, part, client)


@pytest.mark.long
def test_the_public_command_line(installed, stack, account, tmp_path):
    hook = installed / "local_names.cjs"
    env = {**environment(stack, account), "HOME": str(tmp_path), "NODE_OPTIONS": f"--require {hook}"}

    def e2b(*words, **options):
        done = run([installed / "node_modules/.bin/e2b", *words], tmp_path, env, **options)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    sandbox = account.api.create(timeout=600)
    name = sandbox["data_plane_url"].removeprefix("https://").split(".")[0]
    assert name in e2b("sandbox", "list")
    assert "State: running" in e2b("sandbox", "info", name)
    assert e2b("sandbox", "exec", name, "--", "echo", "shown") == "shown\n"
    assert e2b("sandbox", "exec", name, "--", "cat", input="piped\n") == "piped\n"
    assert "piped" in e2b("sandbox", "logs", name)
    e2b("sandbox", "pause", name)
    assert name in e2b("sandbox", "list", "--state", "paused")
    e2b("sandbox", "resume", name)
    assert sandbox["template"] in e2b("template", "list")
    e2b("sandbox", "kill", name)
    assert account.api.list() == []


@pytest.mark.long
def test_the_command_line_publishes_a_template(installed, stack, account, template, tmp_path):
    hook = installed / "local_names.cjs"
    env = {**environment(stack, account), "HOME": str(tmp_path), "NODE_OPTIONS": f"--require {hook}"}
    for word, is_public in (("publish", True), ("unpublish", False)):
        done = run([installed / "node_modules/.bin/e2b", "template", word, "--yes", template], tmp_path, env)
        assert done.returncode == 0, done.stdout + done.stderr
        assert account.api.get(f"/v1/templates/{template}").json()["public"] == is_public


def test_the_quota_is_a_rate_limit_to_it(installed, stack, make_account, own_plan):
    account = make_account("enterprise")
    own_plan(account, sandboxes=1)
    run_part(installed, stack, account, "quota", "e2b")


def test_the_domain_is_all_that_it_needs(stack):
    """Its own default is https://api.<domain>."""
    assert urllib.parse.urlsplit(stack.base_url).netloc == f"api.{stack.data_plane_host}"
