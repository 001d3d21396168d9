# SPDX-License-Identifier: GPL-2.0-or-later
"""Who may do what: API keys, scopes, teams, data-plane tokens."""

import datetime
import secrets

import pytest

from client import Api, assert_error
from stack import wait_until

pytestmark = pytest.mark.parallel


def unauthorized(response):
    body = assert_error(response, 401, "unauthorized")
    assert response.headers["WWW-Authenticate"].startswith("Bearer")
    return body


def test_wrong_keys_all_get_the_same_answer(stack, account):
    good = account.key("write")
    prefix, lookup, secret = good.split("_", 2)
    assert (prefix, len(lookup), len(secret)) == ("slk", 12, 43)
    other = "A" if secret[0] != "A" else "B"
    wrong = [
        "x",
        "slk_",
        f"slk_{lookup}",
        f"slk_{lookup}_",
        f"slk_{lookup}_{other}{secret[1:]}",
        f"slk_{lookup}_{secret}x",
        f"slk_{'a' * 12}_{secret}",
        good.upper(),
        "slk_" + "a" * 5000,
    ]
    messages = set()
    for key in wrong:
        messages.add(unauthorized(Api(stack, key).get("/v1/sandboxes"))["message"])
    assert len(messages) == 1, messages
    api = Api(stack, None)
    for value in (good, f"Basic {good}", f"Token {good}", "Bearer", "Bearer "):
        unauthorized(api.request("GET", "/v1/sandboxes", headers={"Authorization": value}))
    lower = api.request("GET", "/v1/sandboxes", headers={"Authorization": f"bearer {good}"})
    assert lower.status == 200, "the name of the scheme is case-insensitive"


def test_an_expired_key(stack, account):
    soon = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=2)
    api = Api(stack, account.key("write", "--expires", soon.strftime("%Y-%m-%dT%H:%M:%SZ")))
    assert api.get("/v1/sandboxes").status == 200
    wait_until(lambda: api.get("/v1/sandboxes").status == 401, 5, "the end of the key")
    unauthorized(api.get("/v1/sandboxes"))


def test_a_read_key_reads(stack, account, sandbox):
    """tests/api/contract/test_openapi.py: it changes nothing."""
    reader = Api(stack, account.key("read"))
    assert reader.show(sandbox.id)["id"] == sandbox.id
    assert [one["id"] for one in reader.list()] == [sandbox.id]


def test_teams(stack, make_account):
    account, stranger = make_account(), make_account()
    second = account.make_team()
    document = account.api.create(team=second)
    assert document["team"] == second
    assert [one["id"] for one in account.api.list(f"?team={second}")] == [document["id"]]
    assert account.api.list(f"?team={account.team}") == []

    for team in (stranger.team, "no-team-of-that-name"):
        assert_error(account.api.post("/v1/sandboxes", {"team": team}), 403, "team_forbidden", "/team")
        assert_error(account.api.get(f"/v1/sandboxes?team={team}"), 403, "team_forbidden", "team")

    narrow = Api(stack, account.key("write", "--team", second))
    assert narrow.show(document["id"])["id"] == document["id"]
    assert_error(
        narrow.post("/v1/sandboxes", {"team": account.team}), 403, "team_forbidden", "/team"
    )
    other = Api(stack, account.key("write", "--team", account.team))
    assert_error(other.get(f"/v1/sandboxes/{document['id']}"), 404, "not_found")


def test_without_a_team_the_only_one_is_meant(stack, make_account):
    """A key that does not reach the personal team, but one other, needs no team in its requests;
    the answers say which one it was. Among several, none is guessed."""
    account = make_account()
    second, third = account.make_team(), account.make_team("pro")
    narrow = Api(stack, account.key("write", "--team", second))
    assert narrow.create()["team"] == second
    assert narrow.create_volume(name="only")["team"] == second
    for path in ("/v1/sandbox_limits", "/v1/usage"):
        assert narrow.get(path).json()["team"] == second
    checkpoint = narrow.post(f"/v1/sandboxes/{narrow.create()['id']}/checkpoints", {"name": "c"}).json()
    made = narrow.post("/v1/templates", {"slug": "only", "checkpoint_id": checkpoint["id"]}).json()
    assert (made["team"], made["version"]["team"]) == (second, second)
    assert narrow.get("/v1/templates/only/versions/1").json()["team"] == second

    both = Api(stack, account.key("write", "--team", second, "--team", third))
    refused = assert_error(both.post("/v1/sandboxes", {}), 403, "team_forbidden", "/team")
    assert second in refused["message"] and third in refused["message"]
    unknown = assert_error(both.get(f"/v1/usage?team={second}x"), 403, "team_forbidden", "team")
    assert f'did you mean "{second}"' in unknown["message"] and third in unknown["message"]
    assert account.team not in unknown["message"]


def test_an_idempotency_key_does_not_carry_over_to_another_team(stack, make_account):
    account = make_account()
    narrow = [Api(stack, account.key("write", "--team", account.make_team())) for _ in range(2)]
    key = {"Idempotency-Key": "the-same"}
    first = narrow[0].post("/v1/sandboxes", {}, headers=key)
    assert first.status == 201
    assert_error(narrow[1].post("/v1/sandboxes", {}, headers=key), 422, "idempotency_key_reused")
    assert narrow[0].post("/v1/sandboxes", {}, headers=key).json()["id"] == first.json()["id"]


# --- the data plane ---


def test_both_headers_are_taken(data):
    assert data.origin.request("GET", "/health").status == 204, "without a token"
    for headers in ({"X-Access-Token": data.token}, {"Authorization": f"Bearer {data.token}"}):
        response = data.origin.request("GET", "/files?path=/etc/passwd", headers=headers)
        assert response.status == 200, response


def wrong_tokens(token):
    yield ""
    yield "x"
    yield token[:-1]
    yield token + "A"
    yield ("A" if token[0] != "A" else "B") + token[1:]
    middle = len(token) // 2
    yield token[:middle] + ("A" if token[middle] != "A" else "B") + token[middle + 1 :]
    yield secrets.token_urlsafe(96)
    yield "a" * 4000


def test_data_plane_with_wrong_tokens(data):
    for token in wrong_tokens(data.token):
        for headers in ({"X-Access-Token": token}, {"Authorization": f"Bearer {token}"}):
            response = data.origin.request("GET", "/files?path=/etc/passwd", headers=headers)
            assert_error(response, 401, "unauthorized")


def test_session_tokens_are_no_api_keys(stack, data):
    unauthorized(Api(stack, data.token).get("/v1/sandboxes"))


@pytest.mark.parametrize(
    "method, path",
    [
        ("POST", "/init"),
        ("GET", "/init"),
        ("POST", "/init/"),
        ("POST", "//init"),
        ("POST", "/%69nit"),
        ("POST", "/x/../init"),
        ("GET", "/internal/ports/49983"),
        ("GET", "/internal/"),
        ("GET", "/internal"),
        ("GET", "/%69nternal/ports/22"),
        ("GET", "//internal/ports/22"),
    ],
)
def test_internal_routes_are_not_there_from_outside(data, method, path):
    for headers in (data.headers(), {}):
        response = data.origin.request(method, path, b"{}" if method == "POST" else None, headers)
        assert response.status == 404 or (not headers and response.status == 401), response
        assert b"listener" not in response.body


def test_the_agent_s_own_secret_is_not_taken_from_a_client(data):
    headers = {**data.headers(), "X-Sandlot-Agent-Secret": "0" * 64}
    response = data.origin.request("GET", "/files?path=/etc/passwd", headers=headers)
    assert response.status == 200, "what a client sends under that name is replaced"


def test_the_agent_does_not_trust_what_is_beside_it(shared_sandbox):
    """From inside the sandbox only /health answers."""
    code = shared_sandbox.data.check(
        "curl -s -o /dev/null -w '%{http_code} ' http://127.0.0.1:49983/health;"
        "curl -s -o /dev/null -w '%{http_code} ' 'http://127.0.0.1:49983/files?path=/etc/shadow';"
        "curl -s -o /dev/null -w '%{http_code} ' -d '{}' http://127.0.0.1:49983/process.Process/List;"
        "curl -s -o /dev/null -w '%{http_code} ' -d '{\"secret\":\"'$(printf %064d 1)'\",\"envs\":{},"
        '"sandbox_id":"sbx_x","default_user":"user"}\' http://127.0.0.1:49983/init;'
        "curl -s -o /dev/null -w '%{http_code}' http://127.0.0.1:49983/internal/ports/22"
    ).split()
    assert code[0] == "204"
    assert all(one in ("401", "403", "404") for one in code[1:]), code
    assert shared_sandbox.data.check("echo unchanged") == "unchanged\n"
