# SPDX-License-Identifier: GPL-2.0-or-later
"""Templates: two versions, and how a request names one of them."""

import json
import secrets

import pytest

from client import Api, assert_error
from image_registry import entry, folder, layer, shell


@pytest.fixture(scope="module")
def slug(stack):
    """A template with two versions; templates are kept, as they are in life."""
    image = stack.query(
        "SELECT image FROM template_versions v JOIN templates t ON t.id = v.template_id"
        " WHERE t.slug = %s AND v.state = 'ready' ORDER BY version DESC LIMIT 1",
        stack.template,
    )[0]["image"]
    name = "t" + secrets.token_hex(5)
    stack.ctl("template", "add", name, "--image", image, "--cpu", "1", "--memory-mb", "256")
    stack.ctl("template", "add", name, "--image", image, "--cpu", "1", "--memory-mb", "384")
    return name


def version_ids(stack, slug):
    rows = stack.query(
        "SELECT v.id, v.template_id, v.version FROM template_versions v"
        " JOIN templates t ON t.id = v.template_id WHERE t.slug = %s ORDER BY version",
        slug,
    )
    assert [row["version"] for row in rows] == [1, 2]
    return [row["id"] for row in rows], rows[0]["template_id"]


@pytest.mark.long
def test_a_bare_slug_is_the_newest_version(api, stack, slug):
    ids, _ = version_ids(stack, slug)
    document = api.create(template=slug)
    assert document["template"] == slug
    assert document["template_version"] == ids[1]
    assert document["memory_mb"] == 384


def test_a_version_can_be_pinned(api, stack, slug):
    ids, template_id = version_ids(stack, slug)
    for reference, version in ((f"{slug}:1", 0), (f"{slug}:2", 1), (f"{slug}:{ids[0]}", 0)):
        document = api.create(template=reference)
        assert document["template_version"] == ids[version], reference
        assert document["memory_mb"] == (256, 384)[version]
        api.destroy(document["id"])
    document = api.create(template_id=template_id)
    assert document["template_version"] == ids[1]


@pytest.mark.long
def test_sandboxes_of_both_versions_run(make_sandbox, slug):
    for reference in (f"{slug}:1", f"{slug}:2"):
        assert make_sandbox(template=reference).data.check("echo runs") == "runs\n"


@pytest.mark.parametrize(
    "reference",
    ["no-such", "{slug}:3", "{slug}:0", "{slug}:x", "{slug}:", ":1", "{slug}:1:1", "tpv_x", "A B"],
)
def test_what_matches_no_template(module_account, slug, reference):
    body = {"template": reference.format(slug=slug)}
    assert_error(module_account.api.post("/v1/sandboxes", body), 422, "template_not_found", "/template")


def test_an_unknown_template_id(module_account):
    body = {"template_id": "tpl_00000000000000000000000000"}
    assert_error(module_account.api.post("/v1/sandboxes", body), 422, "template_not_found", "/template_id")


def test_the_default_template_keeps_its_promises(shared_sandbox):
    """What programs that use a sandbox find in it."""
    check = shared_sandbox.data.check
    for program in ("bash", "sh", "python3", "python", "curl", "git", "sudo", "realpath", "tput", "ps"):
        check(f"command -v {program}")
    assert check("python -c 'print(6*7)'") == "42\n"
    assert check("echo $HOME; pwd") == "/home/user\n/home/user\n"
    assert check("getent passwd user | cut -d: -f6,7") == "/home/user:/bin/bash\n"
    assert "sudo" in check("id -Gn").split()
    assert check("LC_ALL=C.UTF-8 locale charmap") == "UTF-8\n"
    assert check("umask") == "0022\n"
    assert check("touch /tmp/w && stat -c %a /tmp/w") == "644\n"
    assert check("bash -l -c true 2>&1; bash -i -l -c true 2>/dev/null") == ""
    attribute = "import os; open('x', 'w'); os.setxattr('x', 'user.a', b'b'); print(os.listxattr('x'))"
    assert check(f'cd /home/user && python3 -c "{attribute}"') == "['user.a']\n"
    git = "git init -q --bare --initial-branch=main /tmp/r.git && git -C /tmp/r.git symbolic-ref HEAD"
    assert check(git) == "refs/heads/main\n"
    assert check("stat -c %a /tmp") == "1777\n"


def test_template_list(stack, slug):
    text = str(stack.ctl("template", "list"))
    assert slug in text and stack.template in text


METADATA = b"architecture: x86_64\ncreation_date: 1\n"
SILENT_INIT = b"#!/bin/sh\nexec sleep 1000\n"


@pytest.fixture
def image_without_agent(stack):
    """The fingerprint of an image whose first process is no agent."""
    folders = (folder(f"rootfs/{name}") for name in ("dev", "proc", "sbin", "sys"))
    tarball = layer(entry("metadata.yaml", METADATA), folder("rootfs"), *folders, *shell("rootfs/bin"),
                    entry("rootfs/sbin/init", SILENT_INIT, mode=0o755))
    _, answer = stack.incus.raw("POST", "/1.0/images", tarball, {"Content-Type": "application/octet-stream"})
    made = stack.incus.request("GET", json.loads(answer)["operation"] + "/wait?timeout=60")
    fingerprint = made["metadata"]["fingerprint"]
    yield fingerprint
    stack.incus.request("DELETE", f"/1.0/images/{fingerprint}")


@pytest.mark.parallel
@pytest.mark.one_host
def test_an_operators_image_without_an_agent_is_refused_after_a_trial(stack, image_without_agent):
    name = "t" + secrets.token_hex(5)
    done = stack.ctl("template", "add", name, "--image", image_without_agent, "--cpu", "1", "--memory-mb", "64", check=False)
    said = done.stderr + done.stdout
    assert done.returncode != 0 and "the agent of the trial sandbox did not answer within 15 seconds" in said, said
    rows = stack.query("SELECT v.id, v.state FROM template_versions v JOIN templates t ON t.id = v.template_id"
                       " WHERE t.slug = %s", name)
    assert [row["state"] for row in rows] == ["failed"]
    left = {prefix + rows[0]["id"].removeprefix("tpv_") for prefix in ("try-", "tpl-")}
    assert not left & stack.incus.names()
    assert not stack.query("SELECT 1 FROM host_addresses WHERE holder = %s", "try-" + rows[0]["id"].removeprefix("tpv_"))
    stack.ctl("template", "delete", name)


def test_templates_over_the_api(api, stack, slug):
    ids, template_id = version_ids(stack, slug)
    listed = {one["slug"]: one for one in api.get("/v1/templates").json()["templates"]}
    assert stack.template in listed
    shown = api.get(f"/v1/templates/{slug}").json()
    assert shown == listed[slug]
    assert (shown["id"], shown["team"], shown["latest_version"]) == (template_id, "deployment", 2)
    versions = api.get(f"/v1/templates/{slug}/versions").json()["versions"]
    assert [(one["version"], one["id"]) for one in versions] == [(2, ids[1]), (1, ids[0])]
    assert versions[1]["runtime_baseline"] == {"cpu": 1, "memory_mb": 256}
    assert {one["state"] for one in versions} == {"ready"}
    assert {one["team"] for one in versions} == {"deployment"}
    missing = assert_error(api.get("/v1/templates/no-such"), 404, "not_found")
    assert "It can use: " in missing["message"]


# --- what an error says ---


def test_an_unknown_template_names_what_there_is(api, stack, slug):
    def message(template):
        return assert_error(api.post("/v1/sandboxes", {"template": template}), 422,
                            "template_not_found", "/template")["message"]

    assert f'template "{stack.template}x"' in message(stack.template + "x")
    assert f'did you mean "{stack.template}"' in message(stack.template + "x")
    assert f" {stack.template}" in message("zzzzzzzzzzzzzzz").partition("may use:")[2]
    assert message(f"{slug}:7") == (
        f'The template "{slug}" has no such version that is ready: 2 is ready, 1 is ready.')
    assert message(f"{slug}:07") == (
        f'The template "{slug}" has no tag with this name, and no such version that is ready: 2 is ready, 1 is ready.')


# --- the team of the deployment ---


def test_members_of_the_deployments_team_own_its_templates(stack, account, other_account, slug):
    """It is a team as others are: who belongs to it sees and deletes what it owns."""
    row = stack.query("SELECT id FROM teams WHERE slug = 'deployment'")[0]
    assert row["id"] == "tea_" + 26 * "0"
    assert_error(account.api.delete(f"/v1/templates/{slug}/versions/1"), 403, "team_forbidden")
    stack.ctl("team", "add-member", "deployment", "--user", account.user)
    assert account.api.get(f"/v1/templates/{slug}/versions/1").json()["image"]
    assert other_account.api.get(f"/v1/templates/{slug}/versions/1").json()["image"] is None
    narrow = Api(stack, account.key("write", "--team", "deployment"))
    assert narrow.get("/v1/sandbox_limits").json()["team"] == "deployment"
    assert narrow.delete(f"/v1/templates/{slug}").status == 204
    assert_error(other_account.api.get(f"/v1/templates/{slug}"), 404, "not_found")


def test_the_name_of_the_deployments_team_is_taken(stack, account):
    for words in (("team", "create", "deployment", "--plan", "pro", "--owner", account.user),
                  ("user", "create", "deployment")):
        refused = stack.ctl(*words, check=False)
        assert refused.returncode == 1 and "deployment" in refused.stderr, refused.stderr
