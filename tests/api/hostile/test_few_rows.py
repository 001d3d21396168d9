# SPDX-License-Identifier: GPL-2.0-or-later
"""Tables and processes that no tenant makes larger: their rows are of operators, or one of each kind."""

import json
import pathlib
import re

import pytest

import contract
from client import Api
from stack import wait_until

OF_OPERATORS = ("plans", "users", "teams", "identities", "hosts", "host_pools", "host_joins", "keepers", "fronts", "keyring_keys",
                "allowed_images", "egress_profiles")
ONE_ROW = ("access_revision", "template_uses", "event_sequencer")
PLACES = 8  # leases of a team for changes with If-Match
# Would change what the test signs in with.
LEFT_OUT = {"logout", "revokeKey", "removeMember"}


def counts(stack):
    return {table: stack.query(f"SELECT COUNT(*) AS n FROM {table}")[0]["n"] for table in OF_OPERATORS + ONE_ROW}


def concrete(path, values):
    return re.sub(r"\{(\w+)\}", lambda found: values.get(found[1], "none"), path)


def example_of(operation):
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("example")
    return json.loads(json.dumps(body).replace('"acme"', '"TEAM"')) if body else None


def test_no_call_adds_rows_of_operators(stack, make_account):
    """Each call that the document describes, with its example, of an owner and of somebody without a key."""
    owner = make_account("pro")
    sandbox = owner.api.create()
    before = counts(stack)
    assert [before[table] for table in ONE_ROW] == [1] * len(ONE_ROW)
    answered = 0
    for api in (owner.api, Api(stack, None)):
        for method, path, operation in contract.operations():
            if method == "GET" or operation["operationId"] in LEFT_OUT:
                continue
            values = {"id": sandbox["id"], "port": "3000"} if "/sandboxes/" in path else {"slug": owner.team, "name": "one"}
            body = json.loads(json.dumps(example_of(operation)).replace("TEAM", owner.team))
            answer = api.request(method, concrete(path, values), body)
            if "/operator/" in path:
                assert answer.status in (401, 403, 404), (method, path, answer)
            answered += 200 <= answer.status < 300
    assert answered > 10, "the examples are good for something"
    after = counts(stack)
    assert after == before


@pytest.mark.parallel
def test_changes_of_many_records_share_few_leases(stack, account):
    for _ in range(10):
        made = account.api.post("/v1/webhooks", {"url": "https://hooks.example.com/"})
        assert made.status == 201, made
        path = f"/v1/webhooks/{made.json()['id']}"
        answer = account.api.request("PATCH", path, {"enabled": False}, {"If-Match": "*"})
        assert answer.status == 200, answer
    (team,) = stack.query("SELECT id FROM teams WHERE slug = %s", account.team)
    (row,) = stack.query("SELECT COUNT(*) AS n FROM leases WHERE name LIKE %s", f"if-match.{team['id']}.%")
    assert 1 < row["n"] <= PLACES


def parent_of(pid):
    return int(pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[1])


def monitors(stack):
    """A dispatcher's processes are its children, and monitors of hosts are children of one of these."""
    parents = {}
    for pid in stack.processes("sandlot-dispatcher"):
        try:
            parents[pid] = parent_of(pid)
        except OSError:
            continue
    return [pid for pid, parent in parents.items() if parents.get(parents.get(parent)) is not None]


def test_each_host_has_one_monitor(stack):
    """Several dispatchers run, and one has the monitors."""
    (row,) = stack.query("SELECT COUNT(*) AS n FROM hosts")
    assert len({parent_of(parent_of(pid)) for pid in wait_until(lambda: monitors(stack), 30, "monitors")}) == 1
    wait_until(lambda: len(monitors(stack)) == row["n"], 30, "one monitor for each host")
