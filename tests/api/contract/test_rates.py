# SPDX-License-Identifier: GPL-2.0-or-later
"""Rate limits: settings of nginx, one by key and one by address, both answered 429."""

import edge
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


def test_the_usual_settings_are_back(account):
    assert statuses(account.api, 40) == [200] * 40
