# SPDX-License-Identifier: GPL-2.0-or-later
"""Rate limits: settings of nginx, one by key and one by address, both answered 429."""

import subprocess

import edge
import ipv6
from client import Api, assert_error

MANY = 1000000


def statuses(api, count):
    answers = [api.get("/v1/sandbox_limits") for _ in range(count)]
    for answer in answers:
        if answer.status != 200:
            assert_error(answer, 429, "rate_limited")
            assert int(answer.headers["Retry-After"]) >= 1
    return [answer.status for answer in answers]


def test_one_key_is_slowed_and_others_are_not(account, other_account, stack):
    with edge.settings(stack, key_rate=2, address_rate=MANY):
        # A burst of twice the rate passes, the rest is refused until time has gone by.
        first = statuses(account.api, 12)
        assert first[:4] == [200] * 4 and 429 in first, first
        assert statuses(other_account.api, 4) == [200] * 4
        # Another key of the same user is another key.
        assert statuses(Api(stack, account.key("read")), 4) == [200] * 4


def test_an_address_is_slowed_whatever_its_keys(account, other_account, stack):
    with edge.settings(stack, key_rate=MANY, address_rate=2):
        answers = statuses(account.api, 8) + statuses(other_account.api, 8)
        assert answers[:4] == [200] * 4 and answers.count(429) >= 8, answers
        # Without a key too: nobody guesses keys faster than that.
        answers = [Api(stack, None).get("/v1/keys").status for _ in range(8)]
        assert 429 in answers, answers


def test_a_guess_does_not_use_up_its_owners_rate(account, stack):
    """Who knows the public half of a key knows nothing that counts for its owner."""
    prefix, lookup, secret = account.api.key.split("_", 2)
    guess = Api(stack, f"{prefix}_{lookup}_{secret[::-1]}")
    with edge.settings(stack, key_rate=2, address_rate=MANY):
        answers = [guess.get("/v1/sandbox_limits").status for _ in range(12)]
        assert answers[0] == 401, answers
        assert statuses(account.api, 3) == [200] * 3


def ipv6_client(stack, source):
    """One request from that address to the edge's own; its status."""
    port = stack.base_url.rpartition(":")[2]
    done = subprocess.run(
        ["curl", "-sS", "-o", "/dev/null", "-w", "%{http_code}", "--cacert", str(stack.ca_file), "--max-time", "30",
         "--interface", source, "--resolve", f"api.sandbox.localhost:{port}:[::1]",
         f"https://api.sandbox.localhost:{port}/v1/keys"],
        capture_output=True, text=True, check=True)
    return int(done.stdout)


def test_ipv6_addresses_count_by_their_network(stack):
    """Who has one of them has the other 2^64 too."""
    with ipv6.addresses(6, 1) as (ours, (other,)), edge.settings(stack, key_rate=MANY, address_rate=1):
        answers = [ipv6_client(stack, address) for address in ours * 2]
        assert answers[0] == 401 and 429 in answers, answers
        assert ipv6_client(stack, other) == 401


def test_the_usual_settings_are_back(account):
    assert statuses(account.api, 40) == [200] * 40
