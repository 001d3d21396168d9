# SPDX-License-Identifier: GPL-2.0-or-later
"""Denied names are watched by the host's firewall for all teams: nobody has all of the room, and what
cannot be watched is never open."""

import json
import secrets

from firewall import Firewall
from stack import wait_until
from tenant import Sandbox

PER_TEAM = 1024
PER_POLICY = 256
HERE = "203.0.113.7"


def names(count, tag=None):
    tag = tag or secrets.token_hex(4)
    return [f"n{number}.{tag}.example" for number in range(count)]


def put(sandbox, **fields):
    return sandbox.api.request("PUT", f"{sandbox.path}/network", {"allow_internet_access": True, **fields})


def test_a_team_has_a_share(api, other_account):
    """Different names of all sandboxes count; the same ones in another policy count once."""
    sandboxes = [Sandbox.create(api, allow_internet_access=False) for _ in range(2)]
    first = names(PER_POLICY)
    for number in range(PER_TEAM // PER_POLICY - 1):
        fields = {"deny_out": names(PER_POLICY), "allow_internet_access": False}
        answer = api.request("POST", "/v1/sandboxes", fields)
        assert answer.status == 201, (number, answer)
    assert put(sandboxes[0], deny_out=first).status in (200, 202)
    assert put(sandboxes[1], deny_out=first).status in (200, 202), "the same names cost nothing"

    def is_refused(answer, field="/deny_out"):
        assert answer.status == 422, answer
        assert answer.json()["error"] == "invalid_request" and answer.json()["field"] == field, answer
        assert str(PER_TEAM) in answer.json()["message"]

    is_refused(put(sandboxes[1], deny_out=first[:-1] + names(2)[:1]))
    is_refused(api.request("POST", "/v1/sandboxes", {"deny_out": ["one.too.many.example"]}))
    proxy = {"type": "http", "host": "one.too.many.example", "port": 3128}
    is_refused(api.request("POST", "/v1/sandboxes", {"egress_proxy": proxy}), "/egress_proxy")
    assert api.get(f"{sandboxes[1].path}/network").json()["deny_out"] == first, "the former policy stays"
    # Networks and wildcards are not looked up, and another team has a share of its own.
    assert put(sandboxes[1], deny_out=["*.example", "198.51.100.0/24"]).status in (200, 202)
    assert other_account.api.request("POST", "/v1/sandboxes", {"deny_out": names(3)}).status == 201


def test_names_that_cannot_be_watched_yet_leave_the_former_policy(account, internet, bystander):
    """Who always denies new names is refused by the firewall after some thousand: `pending`, not open."""
    tag = secrets.token_hex(4)
    internet.publish({f"*.{tag}.example": {"A": [["203.0.113.11", 60]]}, "denied.example.net": {"A": [[HERE, 60]]}})
    sandbox = Sandbox.create(account.api, timeout=900, allow_internet_access=False)
    sandbox.put_guest("reach.py")

    def reaches(address):
        targets = json.dumps([["tcp", address, 80]])
        return json.loads(sandbox.data.check(f"python3 /tmp/reach.py '{targets}'", user="root"))[0] is True

    answers = []
    for number in range(8):
        denied = ["denied.example.net", *(f"n{index}-{number}.{tag}.example" for index in range(PER_POLICY - 1))]
        answer = put(sandbox, deny_out=denied)
        assert answer.status in (200, 202), answer
        answers.append(answer.json()["status"])
        reason = answer.json()["status_reason"]
        assert (reason is None) == (answers[-1] == "applied")
        assert reason is None or f"-{number}.{tag}.example yet" in reason, reason
        assert not reaches(HERE), (number, answers)
    assert answers[0] == "applied" and answers[-1] == "pending", answers
    in_force = Firewall(sandbox.stack).revision(sandbox.id)
    assert in_force == answers.index("pending") + 1, "the last that could be watched"
    bystander.goes_on(pause=False)
    # A policy without new names is in force at once.
    assert put(sandbox, deny_out=["denied.example.net"]).json()["status"] == "applied"
    assert not reaches(HERE) and reaches("203.0.113.10")


def test_denied_names_with_more_addresses_than_there_is_room_close_the_sandbox(account, internet):
    """A name may have 64 addresses: what does not fit must not be open."""
    tag = secrets.token_hex(4)
    zone = {"few.example.net": {"A": [[HERE, 60]]}}
    for number in range(80):
        addresses = [[f"11.{number}.0.{last}", 60] for last in range(1, 61)]
        zone[f"n{number}.{tag}.example"] = {"A": addresses}
    internet.publish(zone)
    sandbox = Sandbox.create(account.api, timeout=900, allow_internet_access=False)
    sandbox.put_guest("reach.py")

    def reaches(address):
        targets = json.dumps([["tcp", address, 80]])
        return json.loads(sandbox.data.check(f"python3 /tmp/reach.py '{targets}'", user="root"))[0] is True

    put(sandbox, deny_out=[name for name in zone if name != "few.example.net"])
    wait_until(lambda: not reaches("203.0.113.10"), 60, "the end of what is allowed beside them")
    wait_until(
        lambda: sandbox.api.get(f"{sandbox.path}/network").json()["status"] == "pending", 60, "pending", 1
    )
    assert put(sandbox, deny_out=["few.example.net"]).json()["status"] == "applied"
    assert reaches("203.0.113.10") and not reaches(HERE)
