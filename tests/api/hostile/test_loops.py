# SPDX-License-Identifier: GPL-2.0-or-later
"""A key or a sandbox that repeats one call, or one act, without an end: what a neighbour does meanwhile takes no turn of his."""

import contextlib
import threading
import time

import pytest

from stack import wait_until
from tenant import Sandbox, checkpoint_of

THREADS = 6
IDLE = {"idle_timeout": 30, "on_timeout": "pause"}
HEADERS = ("Api-Key", "Apikey", "Authorization", "Cookie", "Token", "X-Token", "X-Api-Key", "X-Auth-Token")
ENDLESS = "while :; do echo noise; (setsid sleep 1 &) 2>/dev/null; done"


@contextlib.contextmanager
def repeated(*calls):
    """Each call again and again in a thread of its own; how often each was answered, by status."""
    over = threading.Event()
    counts, failures = {}, []

    def work(call):
        while not over.is_set():
            try:
                status = call().status
            except Exception as failure:  # also an answer that the contract does not have
                failures.append(failure)
                return
            counts[status] = counts.get(status, 0) + 1

    threads = [threading.Thread(target=work, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    try:
        yield counts
    finally:
        over.set()
        for thread in threads:
            thread.join()
    assert not failures, failures[:3]
    assert not [status for status in counts if status >= 500 and status != 503], counts


@pytest.fixture
def hostile(make_account):
    return make_account("pro").api


def rules(letter):
    """The most that a policy may have, with a secret whose value is long."""
    return {"allow_internet_access": False, "rules": [
        {"host": f"{letter}{number}.example.com", "headers": {name: "${secrets.long}" for name in HEADERS}}
        for number in range(32)]}


def own_policy(bystander):
    """The neighbour's own policy comes into force."""
    path = f"{bystander.sandbox.path}/network"
    answer = bystander.api.request("PUT", path, {"allow_internet_access": True, "deny_out": ["192.0.2.7"]}, timeout_s=60)
    assert answer.status == 200, answer
    wait_until(lambda: bystander.api.get(path).json()["status"] == "applied", 60, "the policy")


@pytest.mark.long
def test_policies_and_secrets_that_change_without_end(hostile, own_bystander):
    put_secret = {"value": "v" * 4096, "hosts": ["*"]}
    assert hostile.request("PUT", "/v1/secrets/long", put_secret).status == 201
    sandboxes = [Sandbox.create(hostile, timeout=1800, **rules("a")) for _ in range(3)]

    def change(one, letter):
        return lambda: hostile.request("PUT", f"{one.path}/network", rules(letter), timeout_s=60)

    calls = [change(one, letter) for one in sandboxes for letter in ("a", "b")]
    calls.append(lambda: hostile.request("PUT", "/v1/secrets/long", put_secret, timeout_s=60))
    with repeated(*calls) as counts:
        wait_until(lambda: counts.get(200, 0) > len(calls), 60, "changed policies")
        own_bystander.goes_on()
        own_policy(own_bystander)


@pytest.mark.long
def test_a_key_that_holds_and_releases_without_end(hostile, bystander):
    """From the API and from inside; the neighbour's idle sandbox is paused meanwhile."""
    asleep = Sandbox.create(bystander.api, timeout=1800, lifecycle=IDLE)
    held = Sandbox.create(hostile, timeout=1800, lifecycle=IDLE)
    held.data.check("curl -sf -d '{\"seconds\": 1}' http://127.0.0.1:49983/hold")
    held.data.background("sh", "-c", "while :; do for s in 0 1 604800; do curl -s -d \"{\\\"seconds\\\": $s}\" http://127.0.0.1:49983/hold; done; done")
    calls = [lambda seconds=seconds: hostile.request("PUT", f"{held.path}/hold", {"seconds": seconds}, timeout_s=60)
             for seconds in (60, 3600) * 2]
    calls += [lambda: hostile.request("DELETE", f"{held.path}/hold", timeout_s=60) for _ in range(2)]
    with repeated(*calls) as counts:
        wait_until(lambda: counts.get(200, 0) + counts.get(204, 0) > 20, 60, "holds")
        bystander.goes_on()
        wait_until(lambda: asleep.show()["state"] == "stopped", 200, "the pause of the idle neighbour", 1)


@pytest.mark.long
def test_hooks_that_print_fork_and_change_without_end(hostile, bystander):
    hooks = {kind: {"command": ENDLESS, "timeout": 2} for kind in ("before_pause", "after_resume", "after_fork")}
    own = Sandbox.create(bystander.api, timeout=1800, hooks={"before_pause": {"command": "true"}, "after_resume": {"command": "true"}})
    sandboxes = [Sandbox.create(hostile, timeout=1800, hooks=hooks, lifecycle={"on_timeout": "pause"}) for _ in range(4)]

    def act(one, name):
        return lambda: hostile.request("POST", f"{one.path}/{name}", {}, timeout_s=120)

    def change(one, value):
        return lambda: hostile.request("PATCH", one.path, {"hooks": value, "timeout": 1}, timeout_s=60)

    calls = [act(one, name) for one in sandboxes[:2] for name in ("pause", "resume")]
    calls += [change(one, value) for one in sandboxes[2:] for value in (None, hooks)]
    calls += [act(one, "resume") for one in sandboxes[2:]]  # which their deadlines have paused
    with repeated(*calls) as counts:
        wait_until(lambda: counts.get(200, 0) > len(calls), 60, "changes")
        bystander.goes_on()
        own.pause()
        own.resume()


@pytest.mark.long
def test_checkpoints_and_rollbacks_without_end(hostile, bystander):
    sandboxes = [Sandbox.create(hostile, timeout=1800) for _ in range(2)]
    marks = [checkpoint_of(one) for one in sandboxes]

    def back(one, mark):
        return lambda: hostile.request("POST", f"{one.path}/rollback", {"checkpoint": mark["id"]}, timeout_s=120)

    def grow(one):
        def call():
            made = hostile.request("POST", f"{one.path}/checkpoints", {"name": f"c{time.monotonic_ns()}"}, timeout_s=120)
            if made.status == 201:
                hostile.request("DELETE", f"/v1/checkpoints/{made.json()['id']}", timeout_s=120)
            return made
        return call

    calls = [back(one, mark) for one, mark in zip(sandboxes, marks)] + [grow(one) for one in sandboxes]
    with repeated(*calls) as counts:
        wait_until(lambda: counts.get(200, 0) + counts.get(201, 0) > 2, 60, "checkpoints and rollbacks")
        bystander.goes_on()
        own = checkpoint_of(bystander.sandbox)
        assert bystander.api.delete(f"/v1/checkpoints/{own['id']}").status == 204


def test_services_that_end_at_once_and_print_without_end(hostile, bystander):
    services = [{"name": f"s{number}", "command": "yes noise" if number % 2 else "exit 1", "restart": "always",
                 "health": {"command": "yes", "interval": 1, "timeout": 1}} for number in range(16)]
    sandbox = Sandbox.create(hostile, timeout=1800, services=services)
    calls = [lambda number=number: hostile.request("POST", f"{sandbox.path}/services/s{number}/restart", timeout_s=60)
             for number in range(3)]
    calls += [lambda: hostile.request("GET", f"{sandbox.path}/logs?service=s1&limit=1000", timeout_s=60),
              lambda: hostile.request("GET", f"{sandbox.path}/services", timeout_s=60)]
    with repeated(*calls) as counts:
        wait_until(lambda: counts.get(200, 0) > len(calls), 60, "answers about services")
        bystander.goes_on()


def test_webhooks_that_come_and_go_without_end(hostile, bystander, stack):
    """Rows of deleted webhooks are few."""
    def come_and_go():
        made = hostile.request("POST", "/v1/webhooks", {"url": "http://127.0.0.1:9/"}, timeout_s=60)
        return hostile.request("DELETE", f"/v1/webhooks/{made.json()['id']}", timeout_s=60) if made.status == 201 else made

    streams = [lambda: hostile.request("GET", "/v1/events?wait=1", timeout_s=60) for _ in range(THREADS)]
    with repeated(*[come_and_go] * THREADS, *streams) as counts:
        wait_until(lambda: counts.get(204, 0) > 120, 120, "deleted webhooks")
        bystander.goes_on()
    (rows,) = stack.query("SELECT COUNT(*) AS count FROM webhooks w JOIN memberships m ON m.team_id = w.team_id JOIN api_keys k"
                          " ON k.user_id = m.user_id WHERE k.lookup = %s", hostile.key.split("_")[1])
    assert 100 <= rows["count"] <= 110, rows
