# SPDX-License-Identifier: GPL-2.0-or-later
"""The deployment for its operators: owners of its own team, and nobody else."""

import contextlib
import re
import secrets

import pytest

import contract
from client import Api, assert_error
from console import Browser
from stack import wait_until

READS = ["/v1/operator/status", "/v1/operator/doctor", "/v1/operator/teams", "/v1/operator/sandboxes",
         "/v1/operator/users", "/v1/operator/metrics?team=deployment"]
ACTS = [("/v1/operator/teams/{team}", {"plan": "pro"}), ("/v1/operator/hosts/{host}", {"state": "draining"}),
        ("/v1/operator/plans/basic", {"checkpoint_days": 1})]


@contextlib.contextmanager
def away(stack):
    """A host beside the real ones, which nothing is put on, and which does not answer."""
    name = "h" + secrets.token_hex(4)
    stack.query("INSERT INTO hosts (name, state, url, project, pool, nic_prefix, address_range, vcpus, memory_mb,"
                " created_at_ms) VALUES (%s, 'draining', 'unix:///nonexistent/socket', 'p', 'p', 'zy',"
                " '10.254.253.0/24', 1, 64, 0)", name)
    try:
        yield name
    finally:
        stack.query("DELETE FROM hosts WHERE name = %s", name)


@pytest.fixture(scope="module")
def host(stack):
    with away(stack) as name:
        yield name


@pytest.fixture(scope="module")
def operator(stack, module_account):
    stack.ctl("team", "add-member", "deployment", "--user", module_account.user, "--role", "owner")
    return module_account


def whole_list(api, path, limit=50):
    items, token = [], ""
    while True:
        page = api.get(f"{path}?limit={limit}{token}").json()
        items += page["items"]
        if "next_token" not in page:
            return items
        token = f"&next_token={page['next_token']}"


@pytest.mark.parametrize("role", [None, "viewer", "member"])
def test_nobody_else_looks_or_acts(stack, account, host, role):
    """An owner of every team but the deployment's, and members of that who do not own it."""
    if role:
        stack.ctl("team", "add-member", "deployment", "--user", account.user, "--role", role)
    assert account.api.get("/v1/me").json()["operator"] is False
    for path in READS:
        assert_error(account.api.get(path), 403, "insufficient_scope")
    for path, body in ACTS:
        refused = account.api.request("PATCH", path.format(team=account.team, host=host), body)
        assert_error(refused, 403, "insufficient_scope")
    assert stack.query("SELECT plan FROM teams WHERE slug = %s", account.team)[0]["plan"] != "pro"
    assert_error(account.api.get("/v1/operator/hosts"), 404, "not_found")


def test_an_operators_key_for_another_team_is_none(stack, operator):
    narrow = Api(stack, operator.key("write", "--team", operator.team))
    reader = Api(stack, operator.key("read"))
    assert_error(narrow.get(READS[0]), 403, "insufficient_scope")
    assert reader.get(READS[0]).status == 200
    assert_error(reader.request("PATCH", f"/v1/operator/teams/{operator.team}", {"plan": "pro"}), 403, "insufficient_scope")


def test_how_the_deployment_stands(stack, operator):
    sandbox = operator.api.create(timeout=600)
    shown = operator.api.get("/v1/operator/status").json()
    assert {one["state"] for one in shown["sandboxes"]} >= {"ready"}
    name = stack.query("SELECT h.name FROM hosts h JOIN sandboxes s ON s.host_id = h.id WHERE s.id = %s", sandbox["id"])
    (home,) = [one for one in shown["hosts"] if one["name"] == name[0]["name"]]
    assert home["sandboxes"] >= 1 and home["used_vcpus"] >= 1 and home["state"] == "active"
    pools = {one["name"]: one for one in shown["pools"]}
    # This very request is served by one of them.
    assert pools["records"]["workers"] >= 1 and pools["records"]["serving"] <= pools["records"]["workers"]
    assert {"api", "pauses"} <= set(pools)
    assert shown.keys() - {"pools"} == stack.ctl("status").keys()


def test_sandboxes_of_a_host(stack, operator, account, host):
    sandbox = operator.api.create(timeout=600)
    (home,) = stack.query("SELECT h.name FROM hosts h JOIN sandboxes s ON s.host_id = h.id WHERE s.id = %s", sandbox["id"])

    def listed(*words):
        return [one["id"] for one in stack.ctl("sandbox", "list", "--limit", "10000", *words)["sandboxes"]]
    for words in (("--host", home["name"]), ("--host", home["name"], "--team", sandbox["team"])):
        assert sandbox["id"] in listed(*words)
    assert listed("--host", host) == listed("--host", home["name"], "--team", account.team) == []
    assert "no such host" in stack.ctl("sandbox", "list", "--host", "no-such", check=False).stderr.lower()
    shown = operator.api.get(f"/v1/operator/sandboxes?host={home['name']}").json()["items"]
    assert sandbox["id"] in {one["id"] for one in shown} and {one["host"] for one in shown} == {home["name"]}
    assert operator.api.get(f"/v1/operator/sandboxes?host={host}").json()["items"] == []
    for kind in ("host", "team"):
        for unknown in ("no-such", "%C3%A4", ""):
            for path in ("sandboxes", "metrics"):
                assert_error(operator.api.get(f"/v1/operator/{path}?{kind}={unknown}"), 422, "invalid_request", kind)


def with_other_letters():
    """Each path and each parameter of the API, with a letter that no name or id has."""
    other = "%C3%A4"
    for method, path, operation in contract.operations():
        query = [one["name"] for one in map(contract.resolve, operation.get("parameters", [])) if one["in"] == "query"]
        if "{" in path:
            yield method, re.sub("{[^}]*}", other, path), None
        elif method == "GET":
            yield from ((method, f"{path}?{name.replace('*', 'a')}={other}", None) for name in query)
    for path, body in (
            ("/v1/operator/teams", {"slug": "ä", "plan": "basic", "owner": "no-such"}),
            ("/v1/operator/teams", {"slug": "t-none", "plan": "ä", "owner": "no-such"}),
            ("/v1/operator/teams", {"slug": "t-none", "plan": "basic", "owner": "ä"}),
            ("/v1/operator/users", {"name": "ä"}), ("/v1/sandboxes", {"template": "ä"}), ("/v1/sandboxes", {"checkpoint": "ä"}),
            ("/v1/sandboxes", {"team": "ä"}), ("/v1/sandboxes", {"volume_mounts": {"/a": "ä"}}),
            ("/v1/sandboxes", {"egress_profile": "ä"})):
        yield "POST", path, body
    for name, body in (("teams", {"plan": "pro"}), ("hosts", {"state": "active"}), ("plans", {"checkpoint_days": 1}),
                       ("teams", {"plan": "ä"})):
        yield "PATCH", f"/v1/operator/{name}/%C3%A4", body


def test_other_letters_name_nothing(stack, operator):
    """A text that no name can be is no fault of the service, wherever a request has it."""
    answers = [(method, path, body, operator.api.request(method, path, body)) for method, path, body in with_other_letters()]
    assert [one for one in answers if one[-1].status >= 500] == []
    for name, body in (("teams", {"plan": "pro"}), ("hosts", {"state": "active"}), ("plans", {"checkpoint_days": 1})):
        assert_error(operator.api.request("PATCH", f"/v1/operator/{name}/%C3%A4", body), 404, "not_found")


def test_a_host_is_lost_when_its_machine_is_off(stack):
    with away(stack) as name, away(stack) as sure:
        def condition(name):
            return next(one["condition"] for one in stack.ctl("host", "list")["hosts"] if one["name"] == name)
        for one in (name, sure):
            wait_until(lambda: condition(one) == "silent", 60, "the host being silent")  # noqa: B023
        refused = stack.ctl("host", "lost", name, check=False)
        assert refused.returncode == 1 and "--yes" in refused.stderr and f"sandbox list --host {name}" in refused.stderr
        refused = stack.ctl("host", "lost", name, "--yes", check=False)
        assert refused.returncode == 1 and "15 minutes" in refused.stderr and "--powered-off" in refused.stderr
        assert condition(name) == "silent"
        stack.ctl("host", "lost", sure, "--yes", "--powered-off")
        stack.query("UPDATE hosts SET silent_since_ms = silent_since_ms - 900000 WHERE name = %s", name)
        stack.ctl("host", "lost", name, "--yes")
        assert {condition(one) for one in (name, sure)} == {"lost"}


def test_teams_page_by_page_and_their_plans(stack, operator, account):
    rows = whole_list(operator.api, "/v1/operator/teams")
    slugs = [one["slug"] for one in rows]
    assert slugs == sorted(set(slugs)) and {account.team, operator.team, "deployment"} <= set(slugs)
    first = operator.api.get("/v1/operator/teams?limit=1").json()
    assert [one["slug"] for one in first["items"]] == [first["next_token"]] == slugs[:1]
    shown = {one["slug"]: one for one in rows}[account.team]
    assert (shown["plan"], shown["members"], shown["sandboxes"]) == ("basic", 1, 0)
    path = f"/v1/operator/teams/{account.team}"
    assert operator.api.request("PATCH", path, {"plan": "pro"}).json() == {"slug": account.team, "plan": "pro"}
    assert account.api.get("/v1/sandbox_limits").json()["plan"]["name"] == "pro"
    assert_error(operator.api.request("PATCH", path, {"plan": "gold"}), 422, "invalid_request", "/plan")
    assert_error(operator.api.request("PATCH", "/v1/operator/teams/no-such", {"plan": "pro"}), 404, "not_found")
    assert_error(operator.api.get("/v1/operator/teams?next_token=No!"), 422, "invalid_next_token", "next_token")
    assert_error(operator.api.get("/v1/operator/teams?limit=0"), 422, "invalid_request", "limit")


def test_a_removed_team_is_not_listed(stack, operator, account):
    team = account.make_team()
    (row,) = stack.query("SELECT id FROM teams WHERE slug = %s", team)
    stack.ctl("team", "remove", team)
    left = "removed." + row["id"][4:]
    assert not {team, left} & {one["slug"] for one in whole_list(operator.api, "/v1/operator/teams")}
    assert_error(operator.api.request("PATCH", f"/v1/operator/teams/{left}", {"plan": "pro"}), 404, "not_found")
    assert stack.query("SELECT plan FROM teams WHERE id = %s", row["id"]) == [{"plan": "basic"}]


def test_users_and_teams_are_created(stack, operator, account):
    name, slug = (letter + secrets.token_hex(6) for letter in "ut")
    assert_error(account.api.post("/v1/operator/users", {"name": name}), 403, "insufficient_scope")
    assert_error(account.api.post("/v1/operator/teams", {"slug": slug, "plan": "pro", "owner": account.user}), 403,
                 "insufficient_scope")
    made = operator.api.post("/v1/operator/users", {"name": name})
    assert made.status == 201 and made.json()["name"] == name and made.json()["password"] is False
    link = made.json()["link"]
    assert link.startswith(stack.console_url + "/invite#inv_")
    accepted = Browser(stack).post("/v1/invites/accept", {"token": link.partition("#")[2], "password": "correct horse battery"})
    assert accepted.status == 200, accepted
    users = whole_list(operator.api, "/v1/operator/users", 3)
    assert [one["name"] for one in users] == sorted({one["name"] for one in users})
    first = operator.api.get("/v1/operator/users?limit=1").json()
    assert [one["name"] for one in first["items"]] == [first["next_token"]] == [users[0]["name"]]
    assert_error(operator.api.get("/v1/operator/users?next_token=No!"), 422, "invalid_next_token", "next_token")
    (row,) = [one for one in users if one["name"] == name]
    assert (row["password"], row["second_factor"], row["disabled_at"]) == (True, False, None)
    assert_error(operator.api.post("/v1/operator/users", {"name": name}), 409, "name_taken", "/name")
    assert_error(operator.api.post("/v1/operator/users", {"name": "No Name"}), 422, "invalid_request", "/name")

    body = {"slug": slug, "plan": "pro", "owner": account.user}
    assert_error(operator.api.post("/v1/operator/teams", {**body, "owner": "nobody-" + slug}), 422, "invalid_request", "/owner")
    assert_error(operator.api.post("/v1/operator/teams", {**body, "plan": "gold"}), 422, "invalid_request", "/plan")
    assert operator.api.post("/v1/operator/teams", body).json() == {"slug": slug, "plan": "pro"}
    assert_error(operator.api.post("/v1/operator/teams", body), 409, "name_taken", "/slug")
    owned = {one["slug"]: one["role"] for one in account.api.get("/v1/teams").json()["teams"]}
    assert owned[slug] == "owner"
    acts = [(one["action"], one["resource"]) for one in operator.api.get("/v1/audit?team=deployment&limit=200").json()["items"]
            if one["result"] == "done"]
    assert ("user.create", name) in acts and ("team.create", slug) in acts


@pytest.mark.long  # it waits for a round of samples
def test_sums_of_a_host_and_a_team(stack, operator, account):
    sandbox = account.api.create(timeout=600)
    host = stack.query("SELECT h.name FROM hosts h JOIN sandboxes s ON s.host_id = h.id WHERE s.id = %s",
                       sandbox["id"])[0]["name"]

    def points(query):
        return operator.api.get(f"/v1/operator/metrics?{query}").json()["points"]

    wait_until(lambda: points(f"team={account.team}"), 300, "the sum of the team", 1)
    assert points(f"team={account.team}")[0]["vcpus_used"] is None, "no sandbox has a span of time yet"
    wait_until(lambda: points(f"team={account.team}")[-1]["vcpus_used"] is not None, 300, "a sum with a span", 1)
    of_team, of_host = points(f"team={account.team}")[-1], points(f"host={host}")[-1]
    assert 0 < of_team["memory_used_bytes"] <= of_host["memory_used_bytes"]
    assert 0 <= of_team["vcpus_used"] < 4
    for query in ("", f"?host={host}&team={account.team}"):
        assert_error(operator.api.get("/v1/operator/metrics" + query), 422, "invalid_request", "host")


@pytest.fixture
def enterprise(stack):
    """The plan that few tests use; what they count on stays."""
    (before,) = [one for one in stack.ctl("plan", "list")["plans"] if one["name"] == "enterprise"]
    yield before
    stack.ctl("plan", "set", "enterprise", *(f"{name}={before[name]}" for name in
                                             ("checkpoint_days", "max_timeout_s", "storage_gb_month")))


def test_a_plan_is_changed(stack, operator, enterprise):
    """All that was asked for or nothing; the rest of it stays, and so do the other plans."""
    path = "/v1/operator/plans/enterprise"
    before = {one["name"]: one for one in operator.api.get("/v1/sandbox_limits").json()["plans"]}
    wanted = {"checkpoint_days": 4321, "max_timeout": 86399, "prices": {"storage_gb_month": "0.0777"}}
    changed = operator.api.request("PATCH", path, wanted)
    expected = before["enterprise"] | wanted | {"prices": before["enterprise"]["prices"] | wanted["prices"]}
    assert (changed.status, changed.json()) == (200, expected)
    after = {one["name"]: one for one in operator.api.get("/v1/sandbox_limits").json()["plans"]}
    assert (after["enterprise"], after["basic"]) == (expected, before["basic"])
    for body, field in (({"checkpoint_days": 1, "audit_days": 29}, "/audit_days"), ({"max_timeout": 0}, "/max_timeout"),
                        ({"checkpoint_days": 1, "prices": {"vcpu_hour": "much"}}, "/prices/vcpu_hour"),
                        ({"checkpoint_days": -1}, "/checkpoint_days"), ({"resource_override": 1}, "/resource_override"),
                        ({"prices": {"currency": "eur"}}, "/prices/currency"), ({"cpu_values": "1"}, "/cpu_values")):
        assert_error(operator.api.request("PATCH", path, body), 422, "invalid_request", field)
    assert operator.api.request("PATCH", path, {}).json() == expected
    assert_error(operator.api.request("PATCH", "/v1/operator/plans/no-such", {"volumes": 1}), 404, "not_found")
    (act, *_) = operator.api.get("/v1/audit?team=deployment&limit=200&resource=enterprise").json()["items"]
    assert (act["action"], act["actor"]["user"]) == ("plan.set", operator.user)


def test_a_host_is_drained_and_activated(stack, operator, host):
    for state in ("active", "draining"):
        answer = operator.api.request("PATCH", f"/v1/operator/hosts/{host}", {"state": state})
        assert answer.json() == {"name": host, "state": state}
        assert {one["name"]: one["state"] for one in stack.ctl("status")["hosts"]}[host] == state
    assert_error(operator.api.request("PATCH", f"/v1/operator/hosts/{host}", {"state": "gone"}), 422, "invalid_request", "/state")
    assert_error(operator.api.request("PATCH", "/v1/operator/hosts/none", {"state": "active"}), 404, "not_found")


def test_the_doctor_leaves_what_it_found(stack, operator):
    before = operator.api.get("/v1/operator/doctor").json()
    found = stack.ctl("doctor", check=False)
    shown = operator.api.get("/v1/operator/doctor").json()
    assert shown["made_at"] and shown["made_at"] > (before["made_at"] or "")
    assert {one["check"] for one in shown["report"]["findings"]} >= {"settings", "database", "dispatcher"}
    assert (shown["report"]["wrong"] == 0) == shown["report"]["ok"] == (getattr(found, "returncode", 0) == 0)


def test_sandboxes_of_all_teams_come_in_pages(operator, account):
    mine = [account.api.create(timeout=300, name="operated")["id"], account.api.create(timeout=300)["id"]]
    first = operator.api.get(f"/v1/operator/sandboxes?team={account.team}&limit=1").json()
    assert [one["id"] for one in first["items"]] == [mine[1]]
    second = operator.api.get(
        f"/v1/operator/sandboxes?team={account.team}&limit=1&next_token={first['next_token']}").json()
    (row,) = second["items"]
    assert (row["id"], row["name"], row["team"], row["state"]) == (mine[0], "operated", account.team, "ready")
    assert row["host"] and "next_token" not in second
    assert {*mine} <= {one["id"] for one in operator.api.get("/v1/operator/sandboxes?limit=100").json()["items"]}
    assert_error(operator.api.get("/v1/operator/sandboxes?team=nobody-has-this-one"), 422, "invalid_request", "team")
    assert_error(operator.api.get("/v1/operator/sandboxes?next_token=acme"), 422, "invalid_next_token", "next_token")
