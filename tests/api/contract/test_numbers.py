# SPDX-License-Identifier: GPL-2.0-or-later
"""Numbers keep the text that the client sent, or take the shortest form that reads back the same."""

import json
import re
import urllib.parse

import pytest

pytestmark = pytest.mark.parallel

SENT = {"tenth": "0.1", "price": "19.99", "large": "9223372036854775808", "huge": "1e400", "minus": "-0", "one": "1.0",
        "exponent": "1.50E+3", "integer": "42"}


def test_metadata_keeps_the_text_of_a_number(api):
    pairs = ",".join(f'"{key}" : {text}' for key, text in SENT.items())
    body = '{"timeout":60,"metadata":{"list":[0.1, 2,{"deep" : 1e400}],"text":"0.10","yes":true,' + pairs + "}}"
    made = api.post("/v1/sandboxes", body.encode(), headers={"Content-Type": "application/json"})
    assert made.status == 201, made
    expected = {**SENT, "list": '[0.1,2,{"deep":1e400}]', "text": "0.10", "yes": "true"}
    assert made.json()["metadata"] == expected
    path = f"/v1/sandboxes/{made.json()['id']}"
    patched = api.request("PATCH", path, b'{"metadata":{"price":0.30,"integer":null}}',
                          headers={"Content-Type": "application/json"})
    assert patched.status == 200, patched
    expected.pop("integer")
    assert patched.json()["metadata"] == {**expected, "price": "0.30"}
    for key, text in (("tenth", "0.1"), ("large", "9223372036854775808")):
        query = urllib.parse.quote(f"query[metadata][{key}]", safe="") + f"={text}"
        assert [one["id"] for one in api.list("?" + query)] == [made.json()["id"]]


@pytest.mark.parametrize("text", ["01", "1.", ".5", "-", "1e", "+1", "0x1", "NaN"])
def test_malformed_numbers_are_refused(module_account, text):
    body = ('{"metadata":{"n":' + text + "}}").encode()
    answer = module_account.api.post("/v1/sandboxes", body, headers={"Content-Type": "application/json"})
    assert (answer.status, answer.json()["error"]) == (400, "invalid_json"), answer


def test_numbers_of_answers_are_short(api, stack):
    """No double holds the used time of the account exactly."""
    made = api.create()
    api.destroy(made["id"])
    stack.query("UPDATE usage_intervals SET started_at_ms = 1700000000000, ended_at_ms = 1700000004759"
                " WHERE sandbox_id = %s", made["id"])
    answer = api.get("/v1/usage?from=2023-11-01T00:00:00Z&to=2023-12-01T00:00:00Z")
    assert answer.status == 200, answer
    numbers = re.findall(rb'":(-?[0-9.]+(?:e[+-]?[0-9]+)?)', answer.body)
    assert numbers
    for number in numbers:
        assert number.decode() in (json.dumps(json.loads(number)), number.decode().removesuffix(".0")), number
    assert b":4.759" in answer.body and b"4.7590" not in answer.body
