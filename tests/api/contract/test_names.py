# SPDX-License-Identifier: GPL-2.0-or-later
"""Names of sandboxes: one sandbox of a team at most has a name, from the create to the delete."""

import threading
import uuid

import pytest

from client import Api, assert_error
from events import page, until

pytestmark = pytest.mark.parallel


def create(api, **body):
    return api.post("/v1/sandboxes", body)


def rename(api, sandbox_id, name):
    return api.request("PATCH", f"/v1/sandboxes/{sandbox_id}", {"name": name})


def named(api, name, query=""):
    return [row["id"] for row in api.list(f"?name={name}{query}")]


def all_at_once(calls):
    """The answers of calls that start at the same moment, in their order."""
    start, answers = threading.Barrier(len(calls)), [None] * len(calls)

    def one(at):
        start.wait()
        answers[at] = calls[at]()

    threads = [threading.Thread(target=one, args=(at,)) for at in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


def test_a_name_is_stored_shown_changed_and_cleared(make_account):
    api = make_account().api
    made = create(api, name="work", metadata={"name": "other"})
    assert made.status == 201, made
    document = made.json()
    assert list(document)[:2] == ["name", "id"] and document["name"] == "work"
    assert document["metadata"] == {"name": "other"}
    assert api.show(document["id"])["name"] == api.list()[0]["name"] == "work"
    assert rename(api, document["id"], "work").json()["name"] == "work"
    assert rename(api, document["id"], "Work.2_b-c").json()["name"] == "Work.2_b-c"
    assert (named(api, "work"), named(api, "Work.2_b-c")) == ([], [document["id"]])
    cleared = rename(api, document["id"], None)
    assert cleared.status == 200 and cleared.json()["name"] is None
    assert named(api, "Work.2_b-c") == []
    for none in (None, ""):
        assert create(api, name=none).json()["name"] is None


@pytest.mark.parametrize(
    "name", [" ", "a b", "a+b", "a:b", "a/b", "a=b", "-a", ".a", "_a", "ä", "a\n", "sbx_1", "x" * 64, "new",
             "new-keep", "keep", 1])
def test_names_that_are_none(shared_sandbox, name):
    api = shared_sandbox.api
    assert_error(create(api, name=name), 422, "invalid_request", "/name")
    refused = rename(shared_sandbox.api, shared_sandbox.id, name)
    assert_error(refused, 422, "invalid_request", "/name")
    refused = api.post(f"{shared_sandbox.path}/fork", {"name": name})
    assert_error(refused, 422, "invalid_request", "/name")


def test_a_name_is_unique_in_the_team_and_free_after_a_delete(make_account):
    account, other = make_account(), make_account()
    api = account.api
    first, second = create(api, name="only").json(), create(api).json()
    taken = {"Idempotency-Key": str(uuid.uuid4())}
    refused = api.post("/v1/sandboxes", {"name": "only"}, headers=taken)
    assert "only" in assert_error(refused, 409, "name_taken", "/name")["message"]
    assert_error(rename(api, second["id"], "only"), 409, "name_taken", "/name")
    assert api.show(second["id"])["name"] is None
    assert create(other.api, name="only").status == 201
    api.pause(first["id"])
    assert_error(create(api, name="only"), 409, "name_taken", "/name")
    assert named(api, "only") == [first["id"]]
    assert api.delete(f"/v1/sandboxes/{first['id']}").status == 204
    assert named(api, "only") == []
    # The refusal of the moment is not kept.
    made = api.post("/v1/sandboxes", {"name": "only"}, headers=taken)
    assert made.status == 201 and made.headers["Idempotent-Replayed"] is None
    again = api.post("/v1/sandboxes", {"name": "only"}, headers=taken)
    assert again.status == 201 and again.json()["id"] == made.json()["id"] and again.headers["Idempotent-Replayed"]


def test_a_refused_create_takes_no_name_and_no_quota(make_account):
    api = make_account().api
    create(api, name="held")
    before = api.get("/v1/sandbox_limits").json()["quota"]["usage"]
    for _ in range(3):
        assert_error(create(api, name="held"), 409, "name_taken", "/name")
    assert api.get("/v1/sandbox_limits").json()["quota"]["usage"] == before
    assert_error(create(api, name="failed", template="there-is-none"), 422, "template_not_found")
    assert create(api, name="failed").status == 201


def test_a_create_that_fails_on_its_host_frees_the_name(make_account):
    """The row exists when the mount is refused."""
    api = make_account().api
    api.create_volume(name="data")
    failed = create(api, name="tried", volume_mounts={"/etc/passwd": "data"})
    assert_error(failed, 422, "invalid_request", "/volume_mounts/~1etc~1passwd")
    assert until(api, "sandbox.failed")["sandbox_name"] == "tried"
    assert named(api, "tried") == []
    assert create(api, name="tried").status == 201


def test_a_path_takes_an_id_and_says_how_to_find_it(make_account):
    api = make_account().api
    api.create_volume(name="data")
    sandbox = create(api, name="work").json()
    for refused, find in ((api.get("/v1/sandboxes/work"), "/v1/sandboxes?name=NAME"),
                          (api.post("/v1/sandboxes/work/pause"), "/v1/sandboxes?name=NAME"),
                          (api.get("/v1/volumes/data"), "/v1/volumes"),
                          (api.delete("/v1/checkpoints/before"), "/v1/checkpoints/NAME")):
        assert_error(refused, 404, "not_found")
        assert f"`GET {find}` finds the id" in refused.json()["message"]
    (found,) = api.get("/v1/sandboxes?name=work").json()["sandboxes"]
    assert found["id"] == sandbox["id"]


def test_creates_at_once_with_one_name(make_account):
    api = make_account().api
    for turn in range(4):
        answers = all_at_once([lambda turn=turn: create(api, name=f"race-{turn}")] * 4)
        assert sorted(answer.status for answer in answers) == [201, 409, 409, 409], answers
        (made,) = [answer.json()["id"] for answer in answers if answer.status == 201]
        for answer in answers:
            if answer.status == 409:
                assert_error(answer, 409, "name_taken", "/name")
        assert named(api, f"race-{turn}") == [made]
        api.destroy(made)
    assert api.get("/v1/sandbox_limits").json()["quota"]["usage"]["sandboxes"] == 0


@pytest.mark.long
def test_renames_at_once_to_one_name(make_account):
    api = make_account().api
    ids = [create(api).json()["id"] for _ in range(4)]
    for turn in range(6):
        answers = all_at_once([lambda one=one, turn=turn: rename(api, one, f"race-{turn}") for one in ids])
        assert sorted(answer.status for answer in answers) == [200, 409, 409, 409], answers
        (won,) = [answer.json()["id"] for answer in answers if answer.status == 200]
        assert named(api, f"race-{turn}") == [won]


@pytest.mark.long
def test_forks_and_sandboxes_of_checkpoints_do_not_have_the_name(make_account):
    api = make_account().api
    original = create(api, name="first", timeout=600).json()
    path = f"/v1/sandboxes/{original['id']}"
    (fork,) = api.post(f"{path}/fork", {}).json()["forks"]
    assert fork["sandbox"]["name"] is None and fork["sandbox"]["forked_from"] == original["id"]
    (fork,) = api.post(f"{path}/fork", {"name": "second"}).json()["forks"]
    assert fork["sandbox"]["name"] == "second" and named(api, "second") == [fork["sandbox"]["id"]]
    assert_error(api.post(f"{path}/fork", {"name": "second"}), 409, "name_taken", "/name")
    assert_error(api.post(f"{path}/fork", {"name": "third", "count": 2}), 422, "invalid_request", "/name")
    checkpoint = api.post(f"{path}/checkpoints", {"name": "kept"}).json()
    assert checkpoint["sandbox_name"] == "first"
    for name in ("kept", "kept:1", "kept:latest"):
        assert api.get(f"/v1/checkpoints/{name}").json() == checkpoint
    for name in ("other", "kept:2", "ke%20pt", "a:b:c", "%C3%A4", "ckp_1"):
        assert_error(api.get(f"/v1/checkpoints/{name}"), 404, "not_found")
    # A repeated delete of the newest version would delete another one.
    assert_error(api.delete("/v1/checkpoints/kept"), 404, "not_found")
    assert_error(make_account().api.get("/v1/checkpoints/kept"), 404, "not_found")
    assert create(api, snapshot_id="kept").json()["name"] is None
    assert create(api, snapshot_id="kept", name="third").json()["name"] == "third"
    rename(api, original["id"], "renamed")
    assert api.get(f"/v1/checkpoints/{checkpoint['id']}").json()["sandbox_name"] == "renamed"


def test_the_name_with_other_filters(make_account):
    api = make_account().api
    made = create(api, name="found", metadata={"a": "1"}).json()
    create(api, metadata={"a": "1"})
    assert named(api, "found", "&query[metadata][a]=1&query[state][]=ready&order=asc") == [made["id"]]
    for query in ("&query[metadata][a]=2", "&query[state][]=stopped", "&template=other",
                  "&started_after=2100-01-01T00:00:00Z"):
        assert named(api, "found", query) == []
    assert_error(api.get("/v1/sandboxes?name=found&name=other"), 422, "invalid_request", "name")
    page = api.get("/v1/sandboxes?name=found&limit=1").json()
    assert "next_token" not in page
    other = api.get("/v1/sandboxes?limit=1").json()["next_token"]
    assert_error(api.get(f"/v1/sandboxes?limit=1&name=found&next_token={other}"), 422, "invalid_next_token")


def test_names_that_begin_alike(make_account):
    api = make_account().api
    ids = {name: create(api, name=name).json()["id"] for name in ("web", "web-1", "web_2", "Web", "we")}

    def found(query):
        return [row["name"] for row in api.list(f"?{query}")]

    assert found("name_prefix=web") == ["web_2", "web-1", "web"]
    assert found("name_prefix=web&order=asc&query[state][]=ready") == ["web", "web-1", "web_2"]
    assert found("name_prefix=web_") == ["web_2"] and found("name_prefix=%25") == found("name_prefix=webs") == []
    assert found(f"name_prefix={'w' * 100}") == []
    page = api.get("/v1/sandboxes?name_prefix=web&limit=2").json()
    rest = api.get(f"/v1/sandboxes?name_prefix=web&limit=2&next_token={page['next_token']}").json()
    assert [row["id"] for row in page["sandboxes"] + rest["sandboxes"]] == [ids["web_2"], ids["web-1"], ids["web"]]
    crossed = api.get(f"/v1/sandboxes?name_prefix=we&limit=2&next_token={page['next_token']}")
    assert_error(crossed, 422, "invalid_next_token")
    api.destroy(ids["web"])
    assert found("name_prefix=web") == ["web_2", "web-1"]
    assert_error(api.get("/v1/sandboxes?name=web&name_prefix=web"), 422, "invalid_request", "name_prefix")


@pytest.mark.parametrize("query", ["sandboxes?name=", "sandboxes?name_prefix=", "sandboxes?template=", "checkpoints?name="])
def test_filters_of_other_letters_find_nothing(module_account, query):
    answer = module_account.api.get(f"/v1/{query}%C3%A4")
    assert answer.status == 200 and answer.json()[query.split("?", maxsplit=1)[0]] == [], answer


def test_a_name_finds_one_sandbox_of_each_team(make_account, stack):
    account = make_account()
    team = account.make_team()
    api = Api(stack, account.key("write"))
    mine, theirs = (create(api, name="shared", team=slug).json()["id"] for slug in (account.team, team))
    assert sorted(named(api, "shared")) == sorted([mine, theirs])
    assert named(api, "shared", f"&team={team}") == [theirs]
    assert_error(create(api, name="shared", team=team), 409, "name_taken", "/name")


def test_events_usage_and_the_audit_log_show_names(make_account):
    account = make_account()
    api = account.api
    made = create(api, name="seen").json()
    rename(api, made["id"], "seen-2")
    until(api, "sandbox.updated")
    of_sandbox = page(api, f"sandbox_id={made['id']}")["events"]
    assert {event["sandbox_name"] for event in of_sandbox} == {"seen-2"}
    (changed,) = [event for event in of_sandbox if event["kind"] == "sandbox.updated"]
    assert changed["data"] == {"changed": ["name"]}
    (part,) = api.get("/v1/usage?by=sandbox").json()["parts"]
    assert (part["id"], part["name"]) == (made["id"], "seen-2")
    entries = api.get(f"/v1/audit?resource={made['id']}").json()["items"]
    assert entries and {entry["resource_name"] for entry in entries} == {"seen-2"}
    # A deleted sandbox keeps its name in the books, also when another one has it.
    api.destroy(made["id"])
    again = create(api, name="seen-2").json()
    assert again["id"] != made["id"]
    (part,) = [part for part in api.get("/v1/usage?by=sandbox").json()["parts"] if part["id"] == made["id"]]
    assert part["name"] == "seen-2"
