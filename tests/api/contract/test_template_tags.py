# SPDX-License-Identifier: GPL-2.0-or-later
"""Tags of templates, their names with the team, public ones, and what they keep on disk."""

import secrets

import pytest

from client import Api, assert_error
from stack import wait_until
from tenant import Sandbox

pytestmark = pytest.mark.parallel


class Template:
    """A team's own, with two versions that are ready."""

    def __init__(self, account):
        self.account, self.team = account, account.make_team()
        self.api = Api(account.stack, account.key("write", "--team", self.team))
        self.slug = "t" + secrets.token_hex(5)
        self.path = f"/v1/templates/{self.slug}"
        sandbox = Sandbox.create(self.api)
        self.checkpoint = self.api.post(f"{sandbox.path}/checkpoints", {"name": "made"}).json()
        source = {"checkpoint_id": self.checkpoint["id"]}
        assert self.api.post("/v1/templates", {"slug": self.slug, **source}).status == 201
        assert self.api.post(f"{self.path}/versions", source).status == 201
        self.ids = [wait_until(lambda n=n: self.ready(n), 90, f"version {n}")["id"] for n in (1, 2)]
        self.api.destroy(sandbox.id)

    def ready(self, number):
        shown = self.api.get(f"{self.path}/versions/{number}").json()
        return shown if shown["state"] == "ready" else None

    def tag(self, tag, version, api=None):
        return (api or self.api).request("PUT", f"{self.path}/tags/{tag}", {"version": version})

    def tags(self):
        return {one["tag"]: one["version"] for one in self.api.get(f"{self.path}/tags").json()["tags"]}

    def end(self):
        assert self.api.delete(f"/v1/checkpoints/{self.checkpoint['id']}").status == 204
        assert self.api.delete(self.path).status == 204


@pytest.fixture(scope="module")
def owner(make_module_account):
    return make_module_account()


@pytest.fixture(scope="module")
def template(owner):
    made = Template(owner)
    yield made
    owner.clean_up()
    made.end()


@pytest.fixture(autouse=True)
def untouched(request):
    """Each test finds the template without tags, and its team's alone."""
    yield
    if "template" in request.fixturenames:
        template = request.getfixturevalue("template")
        for tag in template.tags():
            assert template.api.delete(f"{template.path}/tags/{tag}").status == 204
        assert template.api.request("PATCH", template.path, {"public": False}).status == 200


def version_of(api, reference):
    document = api.create(template=reference)
    api.destroy(document["id"])
    return document["template_version"]


def test_a_tag_points_to_a_version_and_moves(template):
    api, (one, two) = template.api, template.ids
    assert_error(api.post("/v1/sandboxes", {"template": f"{template.slug}:stable"}), 422, "template_not_found", "/template")
    made = template.tag("stable", 1)
    assert made.status == 200, made
    assert (made.json()["tag"], made.json()["version"], made.json()["template_version"]) == ("stable", 1, one)
    assert version_of(api, f"{template.slug}:stable") == one
    assert template.tag("stable", 2).status == 200 and template.tag("v1.0", 1).status == 200
    assert version_of(api, f"{template.team}/{template.slug}:stable") == two
    assert template.tags() == {"stable": 2, "v1.0": 1}
    assert {row["version"]: row["tags"] for row in api.get(f"{template.path}/versions").json()["versions"]} == {
        1: ["v1.0"], 2: ["stable"]}
    assert api.get(f"{template.path}/versions/2").json()["tags"] == ["stable"]
    assert api.delete(f"{template.path}/tags/stable").status == 204
    assert_error(api.delete(f"{template.path}/tags/stable"), 404, "not_found")
    assert_error(api.post("/v1/sandboxes", {"template": f"{template.slug}:stable"}), 422, "template_not_found", "/template")


def test_a_tag_that_was_moved_meanwhile_stays(template):
    """Two pipelines move the same tag: the second one learns of the first."""
    api, path = template.api, f"{template.path}/tags/stable"
    assert_error(api.get(path), 404, "not_found")
    new = {"If-None-Match": "*"}
    assert api.request("PUT", path, {"version": 1}, headers=new).status == 200
    assert_error(api.request("PUT", path, {"version": 2}, headers=new), 412, "precondition_failed", "If-None-Match")
    shown = api.get(path)
    assert shown.status == 200 and (shown.json()["tag"], shown.json()["version"]) == ("stable", 1), shown
    seen = {"If-Match": shown.headers["ETag"]}
    assert api.request("PUT", path, {"version": 2}, headers=seen).status == 200
    assert_error(api.request("PUT", path, {"version": 1}, headers=seen), 412, "precondition_failed", "If-Match")
    assert_error(api.request("DELETE", path, headers=seen), 412, "precondition_failed", "If-Match")
    assert template.tags() == {"stable": 2}
    assert api.request("DELETE", path, headers={"If-Match": api.get(path).headers["ETag"]}).status == 204


def test_default_and_latest(template):
    api, (one, two) = template.api, template.ids
    for tag in ("latest", "default"):
        assert version_of(api, f"{template.slug}:{tag}") == two
    assert_error(template.tag("latest", 1), 422, "invalid_request", "tag")
    assert template.tag("default", 1).status == 200
    for reference in (template.slug, f"{template.slug}:default", f"{template.team}/{template.slug}"):
        assert version_of(api, reference) == one, "the name alone follows the tag default"
    assert version_of(api, f"{template.slug}:latest") == two
    assert api.delete(f"{template.path}/tags/default").status == 204
    assert version_of(api, template.slug) == two


@pytest.mark.parametrize("tag", ["1", "Stable", "-a", ".a", "a%20b", "a%2Fb", "tpv_a", "x" * 64, "%C3%A9"])
def test_what_is_no_tag(template, tag):
    assert_error(template.tag(tag, 1), 422, "invalid_request", "tag")
    assert_error(template.api.delete(f"{template.path}/tags/{tag}"), 404, "not_found")


@pytest.mark.parametrize("body, field", [
    ({}, "/version"), ({"version": 3}, "/version"), ({"version": 0}, "/version"), ({"version": "1"}, "/version"),
    ({"version": 1, "tag": "x"}, "/tag")])
def test_what_a_tag_cannot_point_to(template, body, field):
    refused = template.api.request("PUT", f"{template.path}/tags/stable", body)
    assert_error(refused, 422, "invalid_request", field)


def test_a_template_has_so_many_tags(template, stack):
    template_id = template.api.get(template.path).json()["id"]
    for number in range(100):
        stack.query("INSERT INTO template_tags VALUES (%s, %s, %s, 1)", template_id, f"t{number}", template.ids[0])
    assert_error(template.tag("one-more", 1), 422, "invalid_request", "tag")
    assert template.tag("t7", 2).status == 200
    stack.query("DELETE FROM template_tags WHERE template_id = %s AND tag <> 't7'", template_id)
    assert template.tags() == {"t7": 2}


def test_a_deleted_version_loses_its_tags(owner):
    made = Template(owner)
    try:
        assert made.tag("stable", 2).status == 200 and made.tag("old", 1).status == 200
        assert made.api.delete(f"{made.path}/versions/2").status == 204
        assert made.tags() == {"old": 1}
    finally:
        made.end()


def test_what_others_see_of_one_that_is_not_public(template, other_account):
    stranger, name = other_account.api, f"{template.team}%2F{template.slug}"
    assert version_of(template.api, f"{template.team}/{template.slug}") == template.ids[1]
    for reference in (template.slug, f"{template.team}/{template.slug}", template.ids[0]):
        assert_error(stranger.post("/v1/sandboxes", {"template": reference}), 422, "template_not_found", "/template")
    for path in (f"/v1/templates/{name}", f"/v1/templates/{name}/versions", f"/v1/templates/{name}/tags"):
        theirs, none = stranger.get(path), stranger.get(path.replace(template.slug, "t" + "0" * 10))
        assert assert_error(theirs, 404, "not_found")["message"].replace(template.slug, "t" + "0" * 10) == \
            assert_error(none, 404, "not_found")["message"]


def test_a_public_template_is_named_with_its_team(template, other_account, stack):
    stranger, name = other_account.api, f"{template.team}/{template.slug}"
    shown = template.api.request("PATCH", template.path, {"public": True})
    assert shown.status == 200 and (shown.json()["public"], shown.json()["name"]) == (True, name), shown
    assert template.tag("stable", 1).status == 200
    used = stranger.create(template=f"{name}:stable")
    assert used["template_version"] == template.ids[0]
    assert version_of(stranger, name) == template.ids[1]
    assert_error(stranger.post("/v1/sandboxes", {"template": template.slug}), 422, "template_not_found", "/template")
    assert template.slug not in [one["slug"] for one in stranger.get("/v1/templates").json()["templates"]]

    path = f"/v1/templates/{name.replace('/', '%2F')}"
    assert stranger.get(path).json()["team"] == template.team
    assert [one["tag"] for one in stranger.get(f"{path}/tags").json()["tags"]] == ["stable"]
    version = stranger.get(f"{path}/versions/1").json()
    assert (version["checkpoint_id"], version["image"], version["log"]) == (None, None, "")
    for method, what, body in (("PATCH", "", {"public": False}), ("PUT", "/tags/stable", {"version": 2}),
                               ("DELETE", "/tags/stable", None), ("DELETE", "/versions/1", None), ("DELETE", "", None)):
        assert_error(stranger.request(method, path + what, body), 403, "team_forbidden")

    # Who uses it is not told to its owner, only that somebody does.
    message = assert_error(template.api.delete(f"{template.path}/versions/1"), 409, "template_in_use")["message"]
    assert "1 of other teams" in message and used["id"] not in message
    assert template.api.request("PATCH", template.path, {"public": False}).status == 200
    assert_error(stranger.post("/v1/sandboxes", {"template": name}), 422, "template_not_found", "/template")
    stranger.pause(used["id"])
    stranger.resume(used["id"])
    stranger.destroy(used["id"])


def test_only_the_owner_sees_failed_versions(template, other_account, stack):
    stranger, name = other_account.api, f"{template.team}/{template.slug}"
    path = f"/v1/templates/{name.replace('/', '%2F')}"

    def numbers(api):
        return [one["version"] for one in api.get(f"{path}/versions").json()["versions"]]

    assert template.api.request("PATCH", template.path, {"public": True}).status == 200
    stack.query("UPDATE template_versions SET state = 'failed' WHERE id = %s", template.ids[1])
    try:
        assert (numbers(template.api), numbers(stranger)) == ([2, 1], [1])
        assert template.api.get(f"{path}/versions/2").json()["state"] == "failed"
        assert_error(stranger.get(f"{path}/versions/2"), 404, "not_found")
        assert stranger.get(path).json()["latest_version"] == 1
        for api, known in ((template.api, "2 is failed, 1 is ready."), (stranger, "ready: 1 is ready.")):
            refused = api.post("/v1/sandboxes", {"template": f"{name}:2"})
            assert assert_error(refused, 422, "template_not_found", "/template")["message"].endswith(known)
    finally:
        stack.query("UPDATE template_versions SET state = 'ready' WHERE id = %s", template.ids[1])
        template.api.request("PATCH", template.path, {"public": False})


def test_the_deployments_beside_an_own_one_of_that_slug(stack, template):
    stack.query("UPDATE templates SET slug = %s WHERE slug = %s AND owner = (SELECT id FROM teams WHERE slug = %s)",
                stack.template, template.slug, template.team)
    try:
        assert version_of(template.api, stack.template) == template.ids[1]
        theirs = version_of(template.api, f"deployment/{stack.template}")
        assert theirs not in template.ids
        shown = template.api.get(f"/v1/templates/deployment%2F{stack.template}").json()
        assert (shown["team"], shown["public"], shown["name"]) == ("deployment", True, f"deployment/{stack.template}")
        assert template.api.get(f"/v1/templates/{stack.template}").json()["team"] == template.team
    finally:
        stack.query("UPDATE templates SET slug = %s WHERE slug = %s AND owner = (SELECT id FROM teams WHERE slug = %s)",
                    template.slug, stack.template, template.team)


def test_the_deployments_are_its_operators(stack, owner):
    path = f"/v1/templates/{stack.template}"
    for method, what, body in (("PATCH", "", {"public": True}), ("PUT", "/tags/stable", {"version": 1}),
                               ("DELETE", "/tags/stable", None)):
        assert_error(owner.api.request(method, path + what, body), 403, "team_forbidden")


def test_a_viewer_changes_nothing(stack, template, other_account):
    stack.ctl("team", "add-member", template.team, "--user", other_account.user, "--role", "viewer")
    viewer = Api(stack, other_account.key("write"))
    path = f"/v1/templates/{template.team}%2F{template.slug}"
    assert viewer.get(f"{path}?team={template.team}").status == 200
    template.api.request("PATCH", template.path, {"public": True})
    for method, what, body in (("PATCH", "", {"public": False}), ("PUT", "/tags/stable", {"version": 1}), ("DELETE", "", None)):
        assert_error(viewer.request(method, path + what, body), 403, "team_forbidden")


def test_sizes(stack, template):
    rows = template.api.get("/v1/templates").json()["templates"]
    shown = {one["name"]: one["size_mb"] for one in rows}
    versions = template.api.get(f"{template.path}/versions").json()["versions"]
    kept_mb = template.checkpoint["size_mb"]
    assert {one["size_mb"] for one in versions} == {kept_mb}
    assert shown[f"{template.team}/{template.slug}"] == kept_mb
    # The image of the default template holds a whole distribution.
    assert shown[f"deployment/{stack.template}"] > 50, rows
