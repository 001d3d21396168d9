# SPDX-License-Identifier: GPL-2.0-or-later
"""Webhooks against a real receiver: signed, in order, again and again, and only where they may go."""

import threading
import time

import pytest

import events
from client import assert_error
from receiver import Receiver, is_signed
from stack import wait_until

pytestmark = pytest.mark.parallel


@pytest.fixture
def receiver():
    receiver = Receiver()
    yield receiver
    receiver.close()


@pytest.fixture
def make_webhook(api):
    def make(url, **fields):
        answer = api.post("/v1/webhooks", {"url": url, **fields})
        assert answer.status == 201, answer
        return answer.json()
    made = []
    yield lambda url, **fields: made.append(make(url, **fields)) or made[-1]
    for webhook in made:
        assert api.delete(f"/v1/webhooks/{webhook['id']}").status in (204, 404)


def patch(api, webhook, **fields):
    answer = api.request("PATCH", f"/v1/webhooks/{webhook['id']}", fields)
    assert answer.status == 200, answer
    return answer.json()


def messages(api, webhook):
    return api.get(f"/v1/webhooks/{webhook['id']}/messages").json()["messages"]


def only_message(api, webhook, state, timeout_s=60):
    """The message of a webhook, as soon as it is in a state."""
    return wait_until(
        lambda: next((one for one in messages(api, webhook) if one["state"] == state), None), timeout_s, state, 0.2)


def hurry(stack, webhook):
    """What is to be sent again is due now."""
    stack.query("UPDATE webhook_messages SET next_at_ms = 1 WHERE webhook_id = %s", webhook["id"])
    stack.query("UPDATE webhooks SET due_at_ms = 1 WHERE id = %s AND due_at_ms IS NOT NULL", webhook["id"])


def test_the_life_of_a_sandbox_arrives_signed_and_in_order(api, receiver, make_webhook, make_sandbox):
    webhook = make_webhook(receiver.url)
    assert webhook["secret"].startswith("whsec_") and webhook["enabled"] and webhook["kinds"] == []
    sandbox = make_sandbox()
    sandbox.pause()
    api.destroy(sandbox.id)
    receiver.wait(4)
    assert receiver.kinds() == ["sandbox.created", "sandbox.started", "sandbox.paused", "sandbox.deleted"]
    told = events.page(api, f"sandbox_id={sandbox.id}")["events"]
    for (headers, body), content, event in zip(receiver.requests, receiver.bodies(), told):
        assert is_signed(webhook["secret"], headers, body)
        assert not is_signed("whsec_" + "A" * 43 + "=", headers, body)
        assert headers["webhook-id"] == event["id"]
        assert content == {"type": event["kind"], "timestamp": event["at"], "data": event}
    shown = api.get(f"/v1/webhooks/{webhook['id']}").json()
    assert "secret" not in shown and messages(api, webhook) == []
    wait_until(lambda: api.get(f"/v1/webhooks/{webhook['id']}").json()["delivered_at"], 30, "the time of delivery")


def test_kinds_and_enabled(api, receiver, make_webhook, make_sandbox):
    webhook = make_webhook(receiver.url, kinds=["sandbox.started"])
    first = make_sandbox()
    receiver.wait(1)
    assert patch(api, webhook, enabled=False)["enabled"] is False
    time.sleep(2)
    second = make_sandbox()
    events.until(api, "sandbox.started", f"sandbox_id={second.id}")
    time.sleep(1)
    assert len(receiver.requests) == 1
    patch(api, webhook, enabled=True, kinds=["sandbox.started", "sandbox.deleted"])
    receiver.wait(2)
    assert [body["data"]["sandbox_id"] for body in receiver.bodies()] == [first.id, second.id]
    assert patch(api, webhook, kinds=[])["kinds"] == []


def test_changes_at_the_same_time_both_stay(api, stack, receiver, make_webhook):
    """Both have read the webhook before either writes: its row is locked meanwhile."""
    webhook = make_webhook(receiver.url)
    changes = [{"enabled": False}, {"kinds": ["sandbox.paused"], "url": receiver.url + "/other"}]
    threads = [threading.Thread(target=patch, args=(api, webhook), kwargs=one) for one in changes]
    lock = stack.database()
    try:
        lock.begin()
        with lock.cursor() as cursor:
            cursor.execute("SELECT id FROM webhooks WHERE id = %s FOR UPDATE", webhook["id"])
            for thread in threads:
                thread.start()
            wait_until(lambda: len(stack.query("SELECT 1 FROM information_schema.processlist WHERE db = DATABASE()"
                                               " AND info LIKE 'UPDATE webhooks SET url%%'")) == len(changes), 30, "the writes")
        lock.rollback()
    finally:
        lock.close()
        for thread in threads:
            thread.join()
    shown = api.get(f"/v1/webhooks/{webhook['id']}").json()
    assert {name: shown[name] for one in changes for name in one} == {name: one[name] for one in changes for name in one}


@pytest.mark.parametrize("fields, field", [
    ({"url": "ftp://example.com/"}, "/url"), ({"url": "https://"}, "/url"), ({"url": "https://u:p@example.com"}, "/url"),
    ({"url": "https://example.com/#x"}, "/url"), ({"url": "https://example.com/" + "x" * 2000}, "/url"),
    ({"url": "https://example.com/\u00e9"}, "/url"), ({}, "/url"),
    ({"url": "https://example.com/", "kinds": ["sandbox.bored"]}, "/kinds/0")])
def test_wrong_input(module_account, fields, field):
    assert_error(module_account.api.post("/v1/webhooks", fields), 422, "invalid_request", field)


def test_a_team_has_so_many(api, make_webhook):
    for number in range(10):
        make_webhook(f"https://example.com/{number}", enabled=False)
    assert_error(api.post("/v1/webhooks", {"url": "https://example.com/"}), 422, "invalid_request", "/url")
    assert len(api.get("/v1/webhooks").json()["webhooks"]) == 10


def test_another_team_sees_and_changes_nothing(api, other_account, receiver, make_webhook):
    webhook = make_webhook(receiver.url)
    path, other = f"/v1/webhooks/{webhook['id']}", other_account.api
    for method, where, body in (("GET", path, None), ("PATCH", path, {"enabled": False}), ("DELETE", path, None),
                                ("POST", path + "/rotate", None), ("POST", path + "/test", None),
                                ("GET", path + "/messages", None)):
        assert_error(other.request(method, where, body), 404, "not_found")
    assert other.get("/v1/webhooks").json()["webhooks"] == []
    other.create()
    time.sleep(1)
    assert receiver.requests == []


def test_the_test_button(api, receiver, make_webhook):
    webhook = make_webhook(receiver.url)
    answer = api.post(f"/v1/webhooks/{webhook['id']}/test")
    assert answer.status == 202
    headers, body = receiver.wait(1)
    assert is_signed(webhook["secret"], headers, body) and receiver.kinds() == ["webhook.test"]
    sent = only_message(api, webhook, "delivered")
    assert sent["id"] == answer.json()["id"] == headers["webhook-id"] and sent["last_status"] == 200
    receiver.answer = 500
    api.post(f"/v1/webhooks/{webhook['id']}/test")
    assert only_message(api, webhook, "dead")["last_status"] == 500


def test_a_webhook_has_so_many_waiting_messages(api, stack, receiver, make_webhook):
    """A receiver that does not answer makes no list without end out of tests."""
    webhook = make_webhook(receiver.url)
    late = int(time.time() * 1000) + 3600000
    stack.query("INSERT INTO webhook_messages (id, webhook_id, message_id, kind, body, state, created_at_ms, next_at_ms)"
                " SELECT CONCAT('whm_', LPAD(seq, 6, '0'), RIGHT(%s, 20)), %s, seq, 'webhook.test', '{}', 'waiting',"
                " %s, %s FROM seq_1_to_1000", webhook["id"], webhook["id"], late, late)
    path = f"/v1/webhooks/{webhook['id']}/test"
    assert_error(api.post(path), 429, "rate_limited")
    stack.query("DELETE FROM webhook_messages WHERE webhook_id = %s LIMIT 1", webhook["id"])
    assert api.post(path).status == 202


def test_redirects_are_not_followed(api, receiver, make_webhook):
    receiver.answer = 302
    webhook = make_webhook(receiver.url)
    api.post(f"/v1/webhooks/{webhook['id']}/test")
    dead = only_message(api, webhook, "dead")
    assert dead["last_status"] == 302 and "redirect" in dead["last_error"]
    assert len(receiver.requests) == 1


@pytest.mark.parametrize("host", [
    "10.0.0.1", "192.168.77.1:8080", "169.254.169.254", "[::1]:9", "[::ffff:10.0.0.1]", "0.0.0.0:9", "[fd00::1]",
    "100.64.0.1", "2130706433.invalid."])
def test_private_addresses_are_refused(api, make_webhook, host):
    webhook = make_webhook(f"http://{host}/")
    api.post(f"/v1/webhooks/{webhook['id']}/test")
    dead = only_message(api, webhook, "dead")
    assert dead["last_status"] is None
    assert "not allowed" in dead["last_error"] or host.endswith("invalid."), dead


def test_sandboxes_are_no_targets(api, make_webhook, sandbox):
    webhook = make_webhook(f"http://{sandbox.address}:49983/health")
    api.post(f"/v1/webhooks/{webhook['id']}/test")
    assert "sandboxes" in only_message(api, webhook, "dead")["last_error"]


def test_again_until_it_is_taken(api, stack, receiver, make_webhook, make_sandbox):
    receiver.answer = 503
    webhook = make_webhook(receiver.url, kinds=["sandbox.created"])
    sandbox = make_sandbox()
    waiting = only_message(api, webhook, "waiting")
    assert waiting["attempts"] >= 1 and waiting["last_status"] == 503 and waiting["next_at"]
    hurry(stack, webhook)
    second = receiver.wait(2)
    first = receiver.requests[0]
    assert second[1] == first[1] and second[0]["webhook-id"] == first[0]["webhook-id"]
    receiver.answer = 204
    hurry(stack, webhook)
    wait_until(lambda: messages(api, webhook) == [] or hurry(stack, webhook), 30, "the delivery", 0.5)
    assert {body["data"]["sandbox_id"] for body in receiver.bodies()} == {sandbox.id}


def test_dead_letters_are_kept_and_sent_again(api, stack, receiver, make_webhook, make_sandbox):
    receiver.answer = 410
    webhook = make_webhook(receiver.url, kinds=["sandbox.created"])
    make_sandbox()
    only_message(api, webhook, "waiting")
    stack.query("UPDATE webhook_messages SET attempts = 8 WHERE webhook_id = %s", webhook["id"])
    hurry(stack, webhook)
    dead = only_message(api, webhook, "dead")
    assert dead["next_at"] is None and dead["attempts"] == 9
    path = f"/v1/webhooks/{webhook['id']}/messages"
    receiver.answer = 200
    before = len(receiver.requests)
    assert api.post(f"{path}/{dead['id']}/resend").status == 202
    headers, body = receiver.wait(before + 1)
    assert headers["webhook-id"] == dead["message_id"] and is_signed(webhook["secret"], headers, body)
    wait_until(lambda: messages(api, webhook) == [], 30, "the end of the message")
    assert_error(api.post(f"{path}/{dead['id']}/resend"), 404, "not_found")


def test_all_dead_letters_are_sent_again_as_far_as_there_is_room(api, stack, receiver, make_webhook):
    """The call sends the oldest messages first, and no test message."""
    def add(state, count, kind="sandbox.died", first=0):
        ids = [f"whm_{state[0]}{number:025}" for number in range(first, first + count)]
        rows = [value for one in ids for value in (one, webhook["id"], one, kind, state, 2 ** 60)]
        stack.query("INSERT INTO webhook_messages (id, webhook_id, message_id, kind, body, state, attempts, created_at_ms, next_at_ms)"
                    " VALUES " + ", ".join(["(%s, %s, %s, %s, '{}', %s, 9, 1, %s)"] * count), *rows)

    webhook = make_webhook(receiver.url)
    path = f"/v1/webhooks/{webhook['id']}"
    add("dead", 3)
    add("dead", 1, "webhook.test", first=3)
    add("waiting", 998)
    answer = api.post(f"{path}/resend")
    assert (answer.status, answer.json()) == (202, {"resent": 2, "left": 1})
    receiver.wait(2)
    assert {headers["webhook-id"][-1] for headers, _ in receiver.requests} == {"0", "1"}
    stack.query("DELETE FROM webhook_messages WHERE webhook_id = %s AND state = 'waiting'", webhook["id"])
    add("waiting", 1000)
    assert_error(api.post(f"{path}/resend"), 429, "rate_limited")
    stack.query("DELETE FROM webhook_messages WHERE webhook_id = %s AND state = 'waiting'", webhook["id"])
    assert api.post(f"{path}/resend").json() == {"resent": 1, "left": 0}
    receiver.wait(3)
    wait_until(lambda: [one["kind"] for one in messages(api, webhook)] == ["webhook.test"], 30, "the end of the messages")
    assert api.post(f"{path}/resend").json() == {"resent": 0, "left": 0}


def test_a_new_secret_beside_the_old_one(api, stack, receiver, make_webhook):
    webhook = make_webhook(receiver.url)
    rotated = api.post(f"/v1/webhooks/{webhook['id']}/rotate").json()
    assert rotated["secret"] != webhook["secret"] and rotated["old_secret_until"]
    api.post(f"/v1/webhooks/{webhook['id']}/test")
    headers, body = receiver.wait(1)
    assert is_signed(webhook["secret"], headers, body) and is_signed(rotated["secret"], headers, body)
    stack.query("UPDATE webhooks SET old_secret_until_ms = 1 WHERE id = %s", webhook["id"])
    api.post(f"/v1/webhooks/{webhook['id']}/test")
    headers, body = receiver.wait(2)
    assert not is_signed(webhook["secret"], headers, body) and is_signed(rotated["secret"], headers, body)
    stored = stack.query("SELECT secret, old_secret FROM webhooks WHERE id = %s", webhook["id"])[0]
    assert rotated["secret"].encode() not in stored["secret"] and webhook["secret"].encode() not in stored["old_secret"]


def test_a_slow_receiver_delays_no_other(api, receiver, make_webhook, make_sandbox):
    release = threading.Event()
    slow = Receiver()
    slow.answer = lambda handler: release.wait(60)
    try:
        make_webhook(slow.url)
        make_webhook(receiver.url)
        sandbox = make_sandbox()
        slow.wait(1)
        api.destroy(sandbox.id)
        receiver.wait(3)
        assert receiver.kinds() == ["sandbox.created", "sandbox.started", "sandbox.deleted"]
        assert len(slow.requests) == 1, "the next of the same sandbox comes behind it"
    finally:
        release.set()
        slow.close()


@pytest.mark.parametrize("head, piece", [
    (b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 65536),
    (b"HTTP/1.1 200 OK\r\n", b"X-More: " + b"x" * 8000 + b"\r\n"),
], ids=["body", "headers"])
def test_an_answer_without_end_is_cut_off(api, receiver, make_webhook, head, piece):
    def pour(handler):
        try:
            handler.wfile.write(head)
            while True:
                handler.wfile.write(piece)
        except OSError:
            handler.close_connection = True
    receiver.answer = pour
    webhook = make_webhook(receiver.url)
    api.post(f"/v1/webhooks/{webhook['id']}/test")
    assert "too long" in only_message(api, webhook, "dead")["last_error"]
