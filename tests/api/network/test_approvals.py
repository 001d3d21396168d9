# SPDX-License-Identifier: GPL-2.0-or-later
"""A policy that asks: what a sandbox tries is refused, its owner is asked, and an answer opens it."""

import pytest

from cli import Cli
from client import assert_error
from events import page, until
from stack import wait_until
from tenant import Sandbox
from fake_internet import FirewallProcess
from test_network_enforced import HERE, OTHER, REFUSED, THIRD, Flow, ask, policy, reach, reaches

pytestmark = pytest.mark.parallel

KIND = "network.approval_requested"
ROWS_MAX, EVENTS_MAX = 32, 10


@pytest.fixture
def sandbox(account, internet):
    internet.add("api.example.com", HERE)
    internet.add("other.example.com", OTHER)
    sandbox = Sandbox.create(account.api, timeout=900, ask=True)
    for name in ("reach.py", "hold.py", "ask.py"):
        sandbox.put_guest(name)
    return sandbox


def listed(sandbox):
    answer = sandbox.api.get(f"{sandbox.path}/approvals?limit=100")
    assert answer.status == 200, answer
    return {one["target"]: one for one in answer.json()["approvals"]}


def asked_for(sandbox, target):
    return wait_until(lambda: listed(sandbox).get(target), 30, f"the request for {target}", 0.2)


def answer(sandbox, approval, answer, status=200, **fields):
    got = sandbox.api.post(f"{sandbox.path}/approvals/{approval['id']}", {"answer": answer, **fields})
    assert got.status == status, got
    return got.json()


def events(sandbox):
    found = page(sandbox.api, f"kind={KIND}&limit=1000&sandbox_id={sandbox.id}")["events"]
    return [event["data"]["target"] for event in found]


# --- asking ---


def test_a_name_is_refused_asked_for_and_allowed(sandbox, internet):
    assert sandbox.document["network"]["ask"] is True
    assert sandbox.document["network"]["allow_internet_access"] is False
    (refused,) = ask(sandbox, ["A", "api.example.com"], transport="edns")
    assert refused["rcode"] == REFUSED and "approval" in refused["reason"]
    event = until(sandbox.api, KIND, f"sandbox_id={sandbox.id}")
    approval = asked_for(sandbox, "api.example.com")
    assert event["data"] == {"approval": approval["id"], "target": "api.example.com"}
    assert (approval["state"], approval["until"]) == ("pending", None)
    assert not [line for line in internet.asked() if "api.example.com" in line], "nobody outside was asked"
    answered = answer(sandbox, approval, "minutes", minutes=5)
    assert (answered["state"], answered["status"]) == ("allowed", "applied") and answered["until"]
    assert reaches(sandbox, "tcp", "api.example.com", 80), "at once"
    assert not reaches(sandbox, "tcp", OTHER, 80)
    assert listed(sandbox)["api.example.com"]["state"] == "allowed"
    checked = sandbox.api.post(f"{sandbox.path}/network/check", {"host": "api.example.com", "port": 443}).json()
    assert (checked["verdict"], checked["origin"]) == ("ask", None), "the stored policy is as it was"


def test_a_name_with_underscores_is_asked_for(sandbox, internet):
    internet.add("_my_bucket.example.com", HERE)
    (refused,) = ask(sandbox, ["A", "_my_bucket.example.com"])
    assert refused["rcode"] == REFUSED
    answer(sandbox, asked_for(sandbox, "_my_bucket.example.com"), "always")
    assert reaches(sandbox, "tcp", "_my_bucket.example.com", 80)


def test_an_address_is_asked_for_with_its_port(sandbox, internet):
    reach(sandbox, ["tcp", THIRD, 443], ["udp", THIRD, 5000])
    approval = asked_for(sandbox, f"{THIRD}:443")
    asked_for(sandbox, f"{THIRD}:5000")
    answer(sandbox, approval, "once")
    results = reach(sandbox, ["tcp", THIRD, 443], ["tcp", THIRD, 80])
    assert [result is True for result in results] == [True, False], results


def test_another_port_of_a_known_name_is_asked_for_by_name(sandbox, internet):
    policy(sandbox, ask=True, allow_out=["api.example.com:443"])
    reach(sandbox, ["tcp", "api.example.com", 80])
    approval = asked_for(sandbox, "api.example.com:80")
    answer(sandbox, approval, "always")
    assert reaches(sandbox, "tcp", "api.example.com", 80)


def test_what_no_answer_could_open_is_not_asked_for(sandbox, internet):
    policy(sandbox, ask=True, allow_out=["api.example.com"], deny_out=["other.example.com", OTHER])
    ask(sandbox, ["A", "other.example.com"], ["TXT", "text.example.com"], ["A", "-a.example.com"], ["A", "api.example.com"])
    reach(sandbox, ["tcp", OTHER, 80], ["tcp", "10.0.0.1", 80], ["tcp", "169.254.169.254", 80], ["tcp", THIRD, 53],
          ["ping", THIRD], ["udp", HERE, 443], ["tcp", THIRD, 81])
    asked_for(sandbox, f"{THIRD}:81")
    assert set(listed(sandbox)) == {f"{THIRD}:81"}


# --- answers ---


def test_always_and_never_are_entries_of_the_policy(sandbox, internet):
    ask(sandbox, ["A", "api.example.com"], ["A", "other.example.com"])
    always, never = asked_for(sandbox, "api.example.com"), asked_for(sandbox, "other.example.com")
    assert answer(sandbox, always, "always")["until"] is None
    assert answer(sandbox, never, "never")["state"] == "denied"
    network = sandbox.api.get(f"{sandbox.path}/network").json()
    assert network["allow_out"] == ["api.example.com"] and network["deny_out"] == ["other.example.com"]
    assert not listed(sandbox)
    assert reaches(sandbox, "tcp", "api.example.com", 80)
    assert ask(sandbox, ["A", "other.example.com"], transport="edns")[0]["rcode"] == REFUSED
    ask(sandbox, ["A", "third.example.com"])
    asked_for(sandbox, "third.example.com")
    assert "other.example.com" not in listed(sandbox), "the answer holds"
    assert_error(sandbox.api.post(f"{sandbox.path}/approvals/{always['id']}", {"answer": "once"}), 404, "not_found")


def test_an_answer_ends_with_its_time(sandbox, internet, stack):
    ask(sandbox, ["A", "api.example.com"])
    approval = asked_for(sandbox, "api.example.com")
    answer(sandbox, approval, "minutes", minutes=10)
    assert reaches(sandbox, "tcp", "api.example.com", 80)
    flow = Flow(sandbox, "tcp", "active", HERE, 5000)
    stack.query("UPDATE approvals SET until_ms = 1 WHERE id = %s", approval["id"])
    assert flow.await_end() == "reset"
    wait_until(lambda: not reaches(sandbox, "tcp", HERE, 80), 20, "the end of the answer", 0.3)
    assert ask(sandbox, ["A", "api.example.com"])[0]["rcode"] == REFUSED
    assert asked_for(sandbox, "api.example.com")["state"] == "pending"


@pytest.mark.alone
def test_an_answer_of_a_locked_sandbox_keeps_no_other_answer(sandbox, account, stack):
    """Another transaction may lock the row of a sandbox for long."""
    other = Sandbox.create(account.api, timeout=900, ask=True)
    for number, one in enumerate((sandbox, other)):
        stack.query("INSERT INTO approvals (id, sandbox_id, team_id, user_id, target, asked_at_ms, until_ms)"
                    " SELECT %s, id, team_id, 'usr_none', 'api.example.com', 1, 9000000000000 + %s FROM sandboxes WHERE id = %s",
                    f"apr_locked_{number}", number, one.id)

    def left(one):
        return stack.query("SELECT id FROM approvals WHERE sandbox_id = %s", one.id)

    connection = stack.database()
    try:
        connection.begin()
        with connection.cursor() as cursor:
            cursor.execute("SELECT id FROM sandboxes WHERE id = %s FOR UPDATE", sandbox.id)
            stack.query("UPDATE approvals SET until_ms = until_ms - 8999999999999 WHERE user_id = 'usr_none'")
            wait_until(lambda: not left(other), 60, "the end of the answer of the other sandbox", 0.3)
            assert left(sandbox), "its row is locked"
    finally:
        connection.close()
    wait_until(lambda: not left(sandbox), 60, "the end of the answer after the lock", 0.3)


def test_a_longer_answer_replaces_a_shorter_one(sandbox, internet):
    ask(sandbox, ["A", "api.example.com"])
    approval = asked_for(sandbox, "api.example.com")
    first = answer(sandbox, approval, "once")["until"]
    assert answer(sandbox, approval, "minutes", minutes=60)["until"] > first
    assert answer(sandbox, approval, "never")["state"] == "denied"
    assert not reaches(sandbox, "tcp", HERE, 80)


def test_bad_answers_name_their_field(sandbox, other_account, internet):
    ask(sandbox, ["A", "api.example.com"])
    path = f"{sandbox.path}/approvals/{asked_for(sandbox, 'api.example.com')['id']}"
    for body, field in (({}, "/answer"), ({"answer": "yes"}, "/answer"), ({"answer": "minutes"}, "/minutes"),
                        ({"answer": "once", "minutes": 3}, "/minutes"), ({"answer": "minutes", "minutes": 0}, "/minutes")):
        assert_error(sandbox.api.post(path, body), 422, "invalid_request", field)
    for none in ("apr_none", "%C3%A9"):
        assert_error(sandbox.api.post(f"{sandbox.path}/approvals/{none}", {"answer": "once"}), 404, "not_found")
    assert_error(other_account.api.post(path, {"answer": "once"}), 404, "not_found")
    assert_error(other_account.api.get(f"{sandbox.path}/approvals"), 404, "not_found")
    assert listed(sandbox)["api.example.com"]["state"] == "pending"
    wrong = sandbox.api.request("PUT", f"{sandbox.path}/network", {"ask": True, "allow_internet_access": True})
    assert_error(wrong, 422, "invalid_request", "/ask")


def test_another_policy_ends_requests_and_answers(sandbox, internet):
    ask(sandbox, ["A", "api.example.com"], ["A", "other.example.com"])
    answer(sandbox, asked_for(sandbox, "api.example.com"), "minutes", minutes=10)
    asked_for(sandbox, "other.example.com")
    policy(sandbox)
    assert not listed(sandbox)
    assert not reaches(sandbox, "tcp", HERE, 80)
    assert "ask" not in sandbox.api.get(f"{sandbox.path}/network").json()


def test_an_answer_for_a_stopped_sandbox_holds_after_the_resume(sandbox, internet):
    ask(sandbox, ["A", "api.example.com"])
    approval = asked_for(sandbox, "api.example.com")
    sandbox.pause()
    assert answer(sandbox, approval, "always", status=202)["status"] == "pending"
    sandbox.resume()
    assert reaches(sandbox, "tcp", "api.example.com", 80)


@pytest.mark.long
@pytest.mark.alone
def test_a_restarted_firewall_keeps_answers_and_asks_again(sandbox, internet, stack):
    ask(sandbox, ["A", "api.example.com"])
    answer(sandbox, asked_for(sandbox, "api.example.com"), "minutes", minutes=10)
    FirewallProcess(stack).restart()
    assert reaches(sandbox, "tcp", "api.example.com", 80)
    assert ask(sandbox, ["A", "other.example.com"])[0]["rcode"] == REFUSED
    asked_for(sandbox, "other.example.com")


# --- bounds ---


def test_an_event_comes_once_a_minute(sandbox, internet, stack):
    ask(sandbox, ["A", "api.example.com"])
    approval = asked_for(sandbox, "api.example.com")
    for number in range(2):
        ask(sandbox, ["A", "api.example.com"], ["A", f"n{number}.example.com"])
        asked_for(sandbox, f"n{number}.example.com")
    assert events(sandbox).count("api.example.com") == 1
    stack.query("UPDATE approvals SET asked_at_ms = asked_at_ms - 61000 WHERE id = %s", approval["id"])
    ask(sandbox, ["A", "api.example.com"])
    wait_until(lambda: events(sandbox).count("api.example.com") == 2, 30, "the second event", 0.2)
    assert asked_for(sandbox, "api.example.com")["id"] == approval["id"]


def test_a_guest_that_asks_for_everything_fills_nothing(sandbox, other_account, internet, stack):
    """Hundreds of names and addresses: few rows and events, and another team is asked meanwhile."""
    other = Sandbox.create(other_account.api, timeout=900, ask=True)
    other.put_guest("ask.py")
    for turn in range(2):
        ask(sandbox, *[["A", f"n{number}.t{turn}.example.com"] for number in range(120)])
        reach(sandbox, *[["tcp", f"198.51.100.{number}", 1000 + turn] for number in range(1, 250)])
    ask(other, ["A", "api.example.com"])
    asked_for(other, "api.example.com")
    wait_until(lambda: len(events(sandbox)) == EVENTS_MAX, 30, "the events of a minute", 0.2)
    assert len(listed(sandbox)) == EVENTS_MAX
    for _ in range(3):
        # Each turn is the next minute.
        stack.query("UPDATE approvals SET asked_at_ms = asked_at_ms - 61000 WHERE sandbox_id = %s", sandbox.id)
        before = len(events(sandbox))
        ask(sandbox, *[["A", f"n{number}.u{before}.example.com"] for number in range(40)])
        wait_until(lambda: len(events(sandbox)) > before, 30, "events of another minute", 0.2)
        (rows,) = stack.query("SELECT COUNT(*) AS count FROM approvals WHERE sandbox_id = %s", sandbox.id)
        assert rows["count"] <= ROWS_MAX
    assert events(other) == ["api.example.com"]


def test_hostile_texts_are_no_destinations(sandbox, internet):
    for label in ("<script>", "a b", "x" * 63, "-a-", "*"):
        ask(sandbox, ["A", f"{label}.example.com"])
    ask(sandbox, ["A", "plain.example.com"])
    asked_for(sandbox, "plain.example.com")
    assert set(listed(sandbox)) <= {"plain.example.com", "x" * 63 + ".example.com"}


# --- from a terminal ---


def test_answers_from_a_terminal(sandbox, stack, internet, tmp_path):
    cli = Cli(stack, tmp_path, sandbox.api.key)
    ask(sandbox, ["A", "api.example.com"], ["A", "other.example.com"])
    approval, other = asked_for(sandbox, "api.example.com"), asked_for(sandbox, "other.example.com")
    text = cli.say("network", "approvals", sandbox.id)
    assert "api.example.com" in text and approval["id"] in text
    for span in ("90", "0", "long"):
        assert cli("network", "approve", sandbox.id, approval["id"], "--for", span).returncode == 2
    cli.say("network", "approve", sandbox.id, approval["id"], "--for", "5m")
    cli.say("network", "approve", sandbox.id, other["id"], "--never")
    assert reaches(sandbox, "tcp", "api.example.com", 80)
    (left,) = cli.json("network", "approvals", sandbox.id)["approvals"]
    assert (left["id"], left["state"]) == (approval["id"], "allowed")
    cli.say("network", "set", sandbox.id, "--ask")
    assert sandbox.api.get(f"{sandbox.path}/network").json()["ask"] is True
