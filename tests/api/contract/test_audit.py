# SPDX-License-Identifier: GPL-2.0-or-later
"""The audit log: who did what, who may read it, what the programs' login may do with it, its chain and its age."""

import secrets
import urllib.parse

import pymysql
import pytest

from client import Api, assert_error
from stack import wait_until

pytestmark = pytest.mark.parallel


def entries(api, **query):
    return api.get("/v1/audit?" + urllib.parse.urlencode({"limit": 200, **query})).json()["items"]


@pytest.fixture
def as_admin(stack):
    """The login that migrates, which the programs do not have."""
    connection = stack.database(as_admin=True)

    def run(sql, *arguments):
        with connection.cursor() as cursor:
            return cursor.execute(sql, arguments)

    yield run
    connection.close()


def test_an_act_has_a_beginning_and_an_end(account):
    made = account.api.post("/v1/sandboxes", {"timeout": 60})
    sandbox_id, request_id = made.json()["id"], made.headers["X-Request-Id"]
    done, begun = entries(account.api, resource=sandbox_id)
    assert (done["result"], begun["result"], done["begun_id"]) == ("done", "begun", begun["id"])
    for entry in (done, begun):
        assert (entry["action"], entry["request_id"]) == ("sandbox.create", request_id)
        assert entry["actor"]["kind"] == "key" and entry["actor"]["user"] == account.user
        assert entry["address"] and entry["at"] and entry["error"] is None
    key_id = done["actor"]["id"]
    assert account.api.request("PATCH", f"/v1/sandboxes/{sandbox_id}", {"metadata": {"a": "b"}}).status == 200
    assert [e["result"] for e in entries(account.api, action="sandbox.update", actor=key_id)] == ["done"]
    account.api.destroy(sandbox_id)
    assert entries(account.api, resource=sandbox_id)[0]["action"] == "sandbox.delete"
    assert entries(account.api, actor=account.user, until=begun["at"], resource=sandbox_id) == []
    assert len(entries(account.api, actor=account.user, since=begun["at"], resource=sandbox_id)) == 5


def test_a_filter_that_is_no_text_is_refused(account):
    """It is not left out: the answer would be the whole log."""
    assert_error(account.api.get("/v1/audit?resource=%FF"), 422, "invalid_request")
    assert entries(account.api, resource="\u00e9") == []


def test_what_failed_without_a_change_has_no_entry(account):
    assert_error(account.api.post("/v1/sandboxes", {"template": "no"}), 422, "template_not_found")
    assert entries(account.api, action="sandbox.create") == []


def test_keys_and_pages(account):
    ids = [account.api.post("/v1/keys", {"scopes": ["read"]}).json()["id"] for _ in range(5)]
    assert account.api.delete(f"/v1/keys/{ids[0]}").status == 204
    seen, token = [], ""
    while token is not None:
        page = account.api.get(f"/v1/audit?action=key.create&limit=2{token}").json()
        assert len(page["items"]) <= 2
        seen += [entry["resource"] for entry in page["items"]]
        token = "&next_token=" + page["next_token"] if "next_token" in page else None
    assert seen == ids[::-1]
    token = account.api.get("/v1/audit?limit=1").json()["next_token"]
    other = account.api.get(f"/v1/audit?limit=1&action=key.create&next_token={token}")
    assert_error(other, 422, "invalid_next_token", "next_token")


@pytest.mark.parametrize("query, field", [
    ("action=sandbox.eat", "action"), ("since=yesterday", "since"), ("until=1", "until"),
    ("actor=%C3%A4", "actor"), ("actor=" + "x" * 65, "actor"), ("limit=0", "limit")])
def test_what_is_no_filter(module_account, query, field):
    assert_error(module_account.api.get("/v1/audit?" + query), 422, "invalid_request", field)


def test_who_may_read_it_and_what_a_wrong_role_leaves(stack, account, other_account):
    team = account.make_team()
    sandbox_id = account.api.post("/v1/sandboxes", {"team": team, "timeout": 60}).json()["id"]
    assert_error(other_account.api.get(f"/v1/audit?team={team}"), 403, "team_forbidden", "team")
    stack.ctl("team", "add-member", team, "--user", other_account.user, "--role", "viewer")
    assert_error(other_account.api.get(f"/v1/audit?team={team}"), 403, "insufficient_scope")
    seen = entries(other_account.api, team=team, resource=sandbox_id)
    assert len(seen) == 2 and all(entry["address"] is None for entry in seen)
    assert_error(other_account.api.delete(f"/v1/sandboxes/{sandbox_id}"), 403, "insufficient_scope")
    refused = entries(account.api, team=team, actor=other_account.user)[0]
    assert (refused["action"], refused["resource"], refused["result"], refused["error"]) == (
        "sandbox.delete", sandbox_id, "refused", "insufficient_scope")
    added = entries(account.api, team=team, action="member.add")[0]
    assert (added["actor"]["kind"], added["resource"], added["result"]) == ("operator", other_account.user, "done")
    reader = account.key_document("read")
    response = Api(stack, reader["key"]).delete(f"/v1/sandboxes/{sandbox_id}")
    assert_error(response, 403, "insufficient_scope")
    line = stack.ctl("audit", "--actor", reader["id"], "--limit", "1")
    assert (line["result"], line["resource"]) == ("refused", sandbox_id)
    account.api.destroy(sandbox_id)


def test_refused_calls_of_an_actor_have_one_row_a_minute(stack, account, other_account):
    team = account.make_team()
    stack.ctl("team", "add-member", team, "--user", other_account.user, "--role", "member")
    api = Api(stack, other_account.key("write"))
    for _ in range(5):
        refused = api.post(f"/v1/teams/{team}/invitations", {"name": account.user, "role": "member"})
        assert_error(refused, 403, "insufficient_scope")
    rows = entries(account.api, team=team, action="member.invite")
    assert [(row["result"], row["resource"]) for row in rows] == [("refused", account.user)]


def test_what_the_service_does_itself(account):
    sandbox_id = account.api.post("/v1/sandboxes", {"timeout": 1, "lifecycle": {"on_timeout": "pause"}}).json()["id"]

    def paused():
        return [(e["actor"]["id"], e["result"]) for e in entries(account.api, resource=sandbox_id)
                if e["action"] == "sandbox.pause"]

    wait_until(lambda: paused() == [("dispatcher", "done"), ("deadline", "begun")], 60, "the pause in the log")
    account.api.destroy(sandbox_id)


def test_the_login_of_the_programs_adds_and_reads(stack, account):
    made = account.api.post("/v1/keys", {"scopes": ["read"]}).json()["id"]
    row = stack.query("SELECT id FROM audit_log WHERE resource = %s", made)[0]["id"]
    for sql in ("UPDATE audit_log SET action = 'x' WHERE id = %s", "DELETE FROM audit_log WHERE id = %s",
                "UPDATE audit_chain SET seq = 0 WHERE audit_id = %s", "DELETE FROM audit_chain WHERE audit_id = %s"):
        with pytest.raises(pymysql.err.OperationalError, match="denied"):
            stack.query(sql, row)
    with pytest.raises(pymysql.err.OperationalError, match="denied"):
        stack.query("ALTER TABLE audit_log DROP COLUMN error")
    stack.query("CALL audit_prune(%s, %s, 1000)", account_team(stack, account), 1 << 50)
    assert stack.query("SELECT id FROM audit_log WHERE id = %s", row)


def account_team(stack, account):
    return stack.query("SELECT id FROM teams WHERE slug = %s", account.team)[0]["id"]


def bound_row(stack, account):
    """Of an act of the account, once it is in the chain."""
    made = account.api.post("/v1/keys", {"scopes": ["read"]}).json()["id"]
    row = stack.query("SELECT id FROM audit_log WHERE resource = %s", made)[0]["id"]
    wait_until(lambda: stack.query("SELECT seq FROM audit_chain WHERE audit_id = %s", row), 30, "its link")
    return row


def problem(stack):
    done = stack.ctl("audit", "verify", check=False)
    assert done.returncode in (0, 1), done.stderr
    return "" if done.returncode == 0 else done.stdout


def test_what_was_changed_removed_or_put_in_is_named(stack, account, as_admin):
    row = bound_row(stack, account)
    bound_row(stack, account)
    assert problem(stack) == ""
    resource = stack.query("SELECT resource FROM audit_log WHERE id = %s", row)[0]["resource"]
    as_admin("UPDATE audit_log SET resource = 'innocent' WHERE id = %s", row)
    found = problem(stack)
    as_admin("UPDATE audit_log SET resource = %s WHERE id = %s", resource, row)
    assert row in found and "changed" in found
    assert problem(stack) == ""
    as_admin("CREATE TEMPORARY TABLE kept AS SELECT * FROM audit_log WHERE id = %s", row)
    as_admin("DELETE FROM audit_log WHERE id = %s", row)
    found = problem(stack)
    as_admin("INSERT INTO audit_log SELECT * FROM kept")
    assert row in found and "removed" in found
    assert problem(stack) == ""
    as_admin("CREATE TEMPORARY TABLE link AS SELECT * FROM audit_chain WHERE audit_id = %s", row)
    as_admin("DELETE FROM audit_log WHERE id = %s", row)  # a dispatcher would bind a row without a link again
    as_admin("DELETE FROM audit_chain WHERE audit_id = %s", row)
    found = problem(stack)
    as_admin("INSERT INTO audit_chain SELECT * FROM link")
    as_admin("INSERT INTO audit_log SELECT * FROM kept")
    assert "link" in found and "was removed" in found
    forged = "aud_00" + secrets.choice("123456789") + "0" * 23
    as_admin("INSERT INTO audit_log SELECT %s, 1000, team_id, action, resource, actor_kind, actor_id, user_id, address, "
             "request_id, result, error, begun_id, mac_key_id, mac FROM audit_log WHERE id = %s", forged, row)
    found = problem(stack)
    as_admin("DELETE FROM audit_log WHERE id = %s", forged)
    assert forged in found and "inserted later" in found
    assert problem(stack) == ""


def test_an_anchor_tells_of_a_chain_that_was_cut_or_made_anew(stack, account):
    bound_row(stack, account)
    end = stack.ctl("audit", "verify")
    assert end["ok"] and end["rows"] > 0
    stack.ctl("audit", "verify", "--anchor", f"{end['link']}:{end['hash']}")
    for anchor, words in ((f"{end['link']}:{'0' * 64}", "was replaced"),
                          (f"{end['link'] + 100000}:{end['hash']}", "the end of the chain was removed")):
        done = stack.ctl("audit", "verify", "--anchor", anchor, check=False)
        assert done.returncode == 1 and words in done.stdout
    assert stack.ctl("audit", "verify", "--anchor", "nonsense", check=False).returncode == 1


DAY_MS = 86400 * 1000


def test_plans_say_how_far_it_goes_back(stack, account, as_admin):
    """A plan keeps 90 days; nobody's login but the one that migrates ends what is younger than 30."""
    team = account_team(stack, account)
    now_ms = stack.query("SELECT UNIX_TIMESTAMP() * 1000 AS now")[0]["now"]
    ids = {days: f"aud_0{days:03d}" + secrets.token_hex(11) for days in (100, 40)}
    ids[100] = "aud_00" + ids[100][6:]
    for days, name in ids.items():
        as_admin("INSERT INTO audit_log VALUES (%s, %s, %s, 'key.create', 'old', 'key', 'k', '', '', '', 'done', '', '', 1,"
                 " REPEAT('x', 32))", name, now_ms - days * DAY_MS, team)

    def left():
        return {days for days, name in ids.items() if stack.query("SELECT id FROM audit_log WHERE id = %s", name)}

    try:
        stack.ctl("audit", "prune")
        assert left() == {40}
        said = stack.ctl("audit", "--team", account.team, "--action", "audit.prune", "--limit", "1")
        assert (said["actor_kind"], said["actor"]) == ("service", "retention")
        stack.query("CALL audit_prune(%s, %s, 1000)", team, now_ms)
        assert left() == set()
    finally:
        as_admin("DELETE FROM audit_log WHERE team_id = %s AND resource = 'old'", team)
    assert entries(account.api, action="audit.prune")
