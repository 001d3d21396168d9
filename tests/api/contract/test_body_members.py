# SPDX-License-Identifier: GPL-2.0-or-later
"""Odd values for each member of each JSON body, as the OpenAPI document describes them (lib/body_members.py).

A wrong value is refused with the pointer of its member. A value at a bound is not. Nothing is made: each body has an
unknown member at its end, and no id names an object.
"""

import json
import re
import time

import pytest

import body_members
import contract
from client import Origin, Response
from console import Browser, Person, some_address

pytestmark = pytest.mark.parallel

PATHS = {"sandboxes": "sbx_01kamqj6rk5f4v3x0e7s2hjw8a", "volumes": "vol_01kamqk3c9d8e7f6g5h4j3k2m1",
         "webhooks": "whk_01kamqj6rk5f4v3x0e7s2hjw8a", "port": "3000", "version": "1"}


def operations():
    """(id, method, path, schema, who calls) of each call with a JSON body."""
    for method, path, operation in contract.operations():
        content = operation.get("requestBody", {}).get("content", {}).get("application/json")
        if content:
            who = next(iter(operation["security"][0])) if operation["security"] else "public"
            yield operation["operationId"], method, path, content["schema"], who


OPERATIONS = list(operations())


class Caller:
    """One connection that stays open, from an address of its own: others do not share its rate."""

    def __init__(self, origin, address, headers):
        self.connection = origin.connect(60, address)
        self.headers = {**headers, "Content-Type": "application/json"}

    def send(self, method, path, body):
        for _ in range(30):
            answer = self.attempt(method, path, body) or self.attempt(method, path, body)
            assert answer, f"{method} {path} had no answer"
            if answer.status != 429:
                return answer
            time.sleep(float(answer.headers["Retry-After"]))
        raise AssertionError(f"{method} {path} was never served")

    def attempt(self, method, path, body):
        """None: nginx has closed the connection after its last answer."""
        try:
            self.connection.request(method, path, body, self.headers)
            response = self.connection.getresponse()
            return Response(response, response.read())
        except OSError:  # also http.client.RemoteDisconnected
            self.connection.close()
            return None


@pytest.fixture(scope="module")
def callers(stack, module_account):
    api, address = Origin(stack.ca_file, stack.base_url), some_address()
    browser = Person(stack, module_account.user).browser
    found = {"key": Caller(api, address, {"Authorization": f"Bearer {module_account.api.key}"}),
             "session": Caller(browser.origin, browser.address, browser.headers()),
             "public": Caller(browser.origin, address, Browser(stack, address).headers())}
    yield found
    for caller in found.values():
        caller.connection.close()


def target_of(path):
    """A path in which no id names an object."""
    kind = path.split("/")[2]
    target = path.replace("{id}", PATHS.get(kind, "none"))
    return re.sub(r"{(\w+)}", lambda found: PATHS.get(found[1], "none"), target)


@pytest.mark.parametrize("operation, method, path, schema, who", OPERATIONS, ids=[one[0] for one in OPERATIONS])
def test_each_member(callers, operation, method, path, schema, who):
    target, seen, faults = target_of(path), set(), []
    for case in body_members.cases(schema, method == "PATCH"):
        answer = callers[who].send(method, target, case.text.encode())
        body = json.loads(answer.body)
        if answer.status not in seen:
            contract.check(method, target, answer)
            seen.add(answer.status)
        fault = body_members.fault(case, answer.status, body)
        if fault:
            faults.append(fault)
    assert not faults, f"{operation}: {len(faults)} of its answers are wrong, such as\n" + "\n".join(faults[:20])
    assert seen >= {400, 422}


def test_every_body_is_tried():
    """A description that this file cannot read is no reason to leave a call out."""
    for operation, method, _, schema, _ in OPERATIONS:
        verdicts = {case.verdict for case in body_members.cases(schema, method == "PATCH")}
        assert verdicts >= {body_members.REFUSED, body_members.ADMITTED, body_members.NOT_JSON}, operation
    assert len(OPERATIONS) > 50
