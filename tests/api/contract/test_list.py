# SPDX-License-Identifier: GPL-2.0-or-later
"""The list: filters of any bytes, pages bound to their filters, stable while rows come and go."""

import threading
import urllib.parse

import pytest

from client import Api, assert_error

pytestmark = pytest.mark.parallel

SHOWN = ("creating", "ready", "restoring", "checkpointing", "stopping", "stopped", "copying")


def quoted(data):
    """Every byte percent-encoded."""
    return "".join(f"%{byte:02X}" for byte in data)


def metadata_query(**pairs):
    return "&".join(f"{quoted(b'query[metadata][' + name.encode() + b']')}={quoted(value.encode())}"
                    for name, value in pairs.items())


def pages(api, query, limit):
    """All ids of a list, page by page."""
    ids, token = [], ""
    while True:
        response = api.get(f"/v1/sandboxes?limit={limit}&{query}{token}")
        assert response.status == 200, response
        body = response.json()
        assert len(body["sandboxes"]) <= limit
        ids += [row["id"] for row in body["sandboxes"]]
        if "next_token" not in body:
            return ids
        assert len(body["sandboxes"]) == limit
        token = "&next_token=" + body["next_token"]


ODD_KEYS = ["k", " ", "a b", "a+b", "a&b=c", "[", "]", "][", "a]b", "%41", "%", "é", "日本", "\U0001f600",
            "\t", "\x01", "\x7f", "'", '"', "\\", "/", "~", "?", "#", "_", "%_", "K", "k ", "nul-free"]


@pytest.fixture(scope="module")
def odd(module_account):
    """A sandbox whose metadata has keys that are easily got wrong."""
    given = {key: f"v {key}" for key in ODD_KEYS}
    document = module_account.api.create(metadata=given)
    assert document["metadata"] == given
    return document


@pytest.mark.parametrize("key", ODD_KEYS, ids=[repr(key) for key in ODD_KEYS])
def test_any_key_finds_its_sandbox(module_account, odd, key):
    api = module_account.api
    name, value = quoted(key.encode()), quoted(f"v {key}".encode())
    assert [row["id"] for row in api.list(f"?query[metadata][{name}]={value}")] == [odd["id"]]
    assert api.list(f"?query[metadata][{name}]={value}%20") == []
    assert api.list(f"?query[metadata][{name}]={value}%00") == []


def test_every_byte_is_taken_as_key_and_value(module_account, odd):
    """What is no text is in no metadata: it matches nothing, and is no error."""
    for byte in range(256):
        data = quoted(bytes([byte]))
        for query in (f"query[metadata][{data}]=x", f"query[metadata][k]={data}",
                      f"query[metadata][x{data}]=%FF{data}%00"):
            assert module_account.api.list("?" + query) == [], query
    whole = quoted(bytes(range(256)))
    assert module_account.api.list(f"?query[metadata][{whole}]={whole}") == []
    # A key ends where it ends, whatever follows a NUL.
    assert module_account.api.list("?query[metadata][k%00]=v%20k") == []
    assert odd["metadata"]["k"] == "v k"


@pytest.mark.parametrize("query, field", [
    ("query[metadata][]=x", "query[metadata][]"), ("query[metadata]=x", "query[metadata]"),
    ("query[metadata][a=x", "query[metadata][a"), ("query[state]=ready", "query[state]"),
    ("query[state][]=%FF", "query[state][]"), ("query[state][]=Ready", "query[state][]"),
    ("query[state][]=", "query[state][]"), ("query[state][]=destroyed", "query[state][]"),
    ("query[metadata][a]=1&query[metadata][a]=1", "query[metadata][a]"),
    ("limit=0", "limit"), ("limit=201", "limit"), ("limit=-1", "limit"), ("limit=1.0", "limit"),
    ("limit=01", "limit"), ("limit=", "limit"), ("limit=1&limit=2", "limit"), ("team=%00", "team"),
    ("query[metadata][a]=%G0", "query[metadata][a]"), ("te%00am=x", "te%00am"),
])
def test_queries_that_are_refused(module_account, query, field):
    assert_error(module_account.api.get("/v1/sandboxes?" + query), 422, "invalid_request", field)


def test_the_edges_of_the_query(module_account):
    api = module_account.api
    for limit in (1, 200):
        assert api.get(f"/v1/sandboxes?limit={limit}").status == 200
    eight = "&".join(f"query[metadata][k{n}]=v" for n in range(8))
    assert api.get(f"/v1/sandboxes?{eight}").status == 200
    assert_error(api.get(f"/v1/sandboxes?{eight}&query[metadata][k8]=v"), 422, "invalid_request",
                 "query[metadata]")
    # The longest key and value that a sandbox can have.
    key, value = "\U0001f600" * 64, "\U0001f600" * 512
    assert api.list("?" + metadata_query(**{key: value})) == []
    states = "&".join("query[state][]=ready" for _ in range(64))
    assert api.get(f"/v1/sandboxes?{states}").status == 200
    assert_error(api.get(f"/v1/sandboxes?{states}&limit=1"), 422, "invalid_request")


def test_states_and_their_aliases(api, make_sandbox, stack):
    """Rows are put into every state by hand: some last for milliseconds only."""
    ids = {state: make_sandbox().id for state in SHOWN}
    # No operation holds them and their instances are theirs: the dispatcher leaves them alone.
    connection = stack.database()
    with connection.cursor() as cursor:
        cursor.execute("START TRANSACTION")
        for state, sandbox_id in ids.items():
            cursor.execute("UPDATE sandboxes SET version = UUID_SHORT(), state = %s WHERE id = %s", (state, sandbox_id))
        cursor.execute("COMMIT")
    try:
        for state, sandbox_id in ids.items():
            assert [row["id"] for row in api.list(f"?query[state][]={state}")] == [sandbox_id]
        paused = [ids["stopped"], ids["copying"]]
        live = [ids[state] for state in SHOWN if ids[state] not in paused]
        assert pages(api, "query[state][]=running", 2) == sorted(live, reverse=True)
        assert pages(api, "query[state][]=paused", 2) == sorted(paused, reverse=True)
        assert pages(api, "query[state][]=running&query[state][]=paused", 1) == sorted(
            ids.values(), reverse=True)
        two = "query[state][]=stopping&query[state][]=creating&query[state][]=creating"
        assert set(pages(api, two, 1)) == {ids["stopping"], ids["creating"]}
    finally:
        for sandbox_id in ids.values():
            stack.query("UPDATE sandboxes SET version = UUID_SHORT(), state = 'ready' WHERE id = %s", sandbox_id)
        connection.close()


def test_a_token_is_bound_to_its_filters(account, other_account, stack, api):
    for number in range(3):
        api.create(metadata={"a": "1", "b": "2", "n": str(number)})
    both = metadata_query(a="1", b="2")
    answer = api.get(f"/v1/sandboxes?limit=1&{both}").json()
    token = "&next_token=" + answer["next_token"]
    # The same filters in another order and spelling, another page size, another key of the user.
    swapped = "query[metadata][b]=2&query%5Bmetadata%5D%5Ba%5D=%31"
    reader = Api(stack, account.key("read"))
    for asker, query in ((api, f"limit=2&{both}"), (api, f"limit=2&{swapped}"), (reader, f"limit=2&{both}")):
        assert len(asker.list(f"?{query}{token}")) == 2
    others = ["", metadata_query(a="1"), metadata_query(a="1", b="3"), metadata_query(a="1", c="2"),
              both + "&query[state][]=ready", both + f"&team={account.team}",
              metadata_query(a="12", b="")]
    for query in others:
        assert_error(api.get(f"/v1/sandboxes?{query}{token}"), 422, "invalid_next_token", "next_token")
    assert_error(other_account.api.get(f"/v1/sandboxes?{both}{token}"), 422, "invalid_next_token")
    raw = answer["next_token"]
    for broken in ("", "x", raw[:-1], raw + "A", raw[:10] + ("A" if raw[10] != "A" else "B") + raw[11:],
                   raw.swapcase(), "%00", "%FF", urllib.parse.quote(raw + "=")):
        refused = api.get(f"/v1/sandboxes?{both}&next_token={broken}")
        assert refused.status == 422, (broken, refused)


@pytest.mark.long
def test_pages_are_stable_while_rows_come_and_go(make_account):
    account = make_account("pro")
    api = account.api
    steady = [api.create(metadata={"steady": "1"})["id"] for _ in range(8)]
    stop, failures = threading.Event(), []

    def churn():
        while not stop.is_set():
            response = api.post("/v1/sandboxes", {"metadata": {"steady": "0"}})
            if response.status != 201:
                failures.append(response)
                return
            api.delete(f"/v1/sandboxes/{response.json()['id']}")

    threads = [threading.Thread(target=churn) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for round_number in range(12):
            for query in ("", "query[state][]=running", "query[metadata][steady]=1"):
                ids = pages(api, query, 1 + round_number % 3)
                assert len(ids) == len(set(ids)), "no row twice"
                assert ids == sorted(ids, reverse=True), "newest first"
                assert set(steady) <= set(ids), "none skipped"
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert not failures, failures
    # What was not there at the first page does not come in later, what is gone is gone.
    first = api.get("/v1/sandboxes?limit=3").json()
    api.destroy(steady[2])
    newest = api.create()["id"]
    rest = [row["id"] for row in api.list(f"?limit=50&next_token={first['next_token']}")]
    assert newest not in rest and steady[2] not in rest
    assert [row["id"] for row in first["sandboxes"]] + rest == sorted(set(steady) - {steady[2]}, reverse=True)


def test_teams(account, stack):
    second = account.make_team()
    api = account.api
    mine, theirs = api.create()["id"], api.create(team=second)["id"]
    assert pages(api, "", 1) == sorted([mine, theirs], reverse=True), "every team of the key"
    assert pages(api, f"team={second}", 1) == [theirs]
    assert pages(api, f"team={account.team}", 1) == [mine]
    narrow = Api(stack, account.key("read", "--team", second))
    assert pages(narrow, "", 1) == [theirs]
    assert_error(narrow.get(f"/v1/sandboxes?team={account.team}"), 403, "team_forbidden", "team")
    assert_error(api.get("/v1/sandboxes?team=no-such"), 403, "team_forbidden", "team")
    assert_error(api.get("/v1/sandboxes?team=" + quoted("é".encode())), 403, "team_forbidden", "team")


def test_what_is_deleted_is_in_no_index(make_sandbox, stack):
    sandbox = make_sandbox(metadata={"a": "1"})
    sandbox.api.destroy(sandbox.id)
    assert sandbox.api.list("?query[metadata][a]=1") == []
    rows = stack.query("SELECT COUNT(*) AS n FROM sandbox_metadata WHERE sandbox_id = %s", sandbox.id)
    assert rows[0]["n"] == 0


@pytest.fixture(scope="module")
def row(module_account):
    """Three sandboxes, one after the other, of an account that has others too; the middle one is red."""
    return [module_account.api.create(metadata={"row": "one", "colour": colour})
            for colour in ("blue", "red", "blue")]


@pytest.mark.parametrize("limit", [1, 2, 50])
@pytest.mark.parametrize("filters", ["", "&query[state][]=running", "&template=python",
                                     "&started_after=2020-01-01T00:00:00Z&query[state][]=ready"])
def test_oldest_first(module_account, row, filters, limit):
    query = metadata_query(row="one") + filters
    ids = [one["id"] for one in row]
    assert pages(module_account.api, query + "&order=asc", limit) == ids
    assert pages(module_account.api, query + "&order=desc", limit) == ids[::-1]
    assert pages(module_account.api, query, limit) == ids[::-1]


def test_oldest_first_of_all(module_account, row):
    newest_first = pages(module_account.api, "", 2)
    assert pages(module_account.api, "order=asc", 2) == newest_first[::-1]
    assert pages(module_account.api, "order=asc&query[state][]=running", 1) == newest_first[::-1]


def test_started_after_is_the_time_that_is_shown(module_account, row):
    def after(one):
        return pages(module_account.api, metadata_query(row="one") + "&started_after=" + one["created_at"], 50)

    ids = [one["id"] for one in row]
    assert [after(one) for one in row] == [[ids[2], ids[1]], [ids[2]], []]


def test_templates_and_all_filters_at_once(stack, module_account, row):
    api = module_account.api
    ids = [one["id"] for one in row]
    assert {row_["template"] for row_ in api.list("?template=" + row[0]["template"])} == {row[0]["template"]}
    version = stack.row(ids[0])["template_version_id"]
    assert set(ids) <= {one["id"] for one in api.list("?template=" + version)}
    assert api.list("?template=none-of-this-name") == []
    query = metadata_query(row="one", colour="blue") + "&query[state][]=running&order=asc"
    for more in ("", f"&template={row[0]['template']}", "&started_after=2020-01-01T00:00:00Z"):
        assert pages(api, query + more, 1) == [ids[0], ids[2]]


def test_a_token_belongs_to_its_order_and_filters(module_account, row):
    api = module_account.api
    query = metadata_query(row="one")
    token = api.get(f"/v1/sandboxes?limit=1&{query}").json()["next_token"]
    for other in ("order=asc", "template=python", "started_after=2020-01-01T00:00:00Z"):
        assert_error(api.get(f"/v1/sandboxes?limit=1&{query}&{other}&next_token={token}"), 422,
                     "invalid_next_token")


@pytest.mark.parametrize("query, field", [("order=up", "order"), ("started_after=x", "started_after")])
def test_an_order_or_time_that_is_none(module_account, query, field):
    refused = module_account.api.get("/v1/sandboxes?" + query)
    assert_error(refused, 422, "invalid_request")
    assert refused.json()["field"] == field
