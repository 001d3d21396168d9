# SPDX-License-Identifier: GPL-2.0-or-later
"""Egress rules and secrets that the API refuses."""

import pytest

from client import assert_error
from tenant import Account
from tls_outside import HOST, OTHER_HOST

pytestmark = pytest.mark.parallel

BEARER = {"Authorization": "Bearer ${secrets.llm}"}


@pytest.fixture(scope="module")
def api(module_account):
    api = module_account.api
    answer = api.request("PUT", "/v1/secrets/llm", {"value": "sk-value", "hosts": [HOST]})
    assert answer.status == 201, answer
    return api


@pytest.mark.parametrize("rules, field", [
    ([{"host": "API.example.com"}], "/rules/0/host"),
    ([{"host": "*.example.com"}], "/rules/0/host"),
    ([{"host": "192.0.2.7"}], "/rules/0/host"),
    ([{"host": "api.example.com:443"}], "/rules/0/host"),
    ([{"host": f"{'a' * 59}." * 4 + "test"}], "/rules/0/host"),
    ([{}], "/rules/0/host"),
    ([{"host": HOST, "headers": {"X-Own": "v"}}], "/rules/0/headers/X-Own"),
    ([{"host": HOST, "headers": {"Cookie": "a", "cookie": "b"}}], "/rules/0/headers/Cookie"),
    ([{"host": HOST, "headers": {"Cookie": "a\nb"}}], "/rules/0/headers/Cookie"),
    ([{"host": HOST, "headers": {"Cookie": "  "}}], "/rules/0/headers/Cookie"),
    ([{"host": HOST, "headers": {"Cookie": "${secret.llm}"}}], "/rules/0/headers/Cookie"),
    ([{"host": HOST, "headers": {"Cookie": "${secrets.nothing}"}}], "/rules/0/headers/Cookie"),
    ([{"host": HOST}, {"host": OTHER_HOST, "headers": BEARER}], "/rules/1/headers/Authorization"),
    ([{"host": HOST, "headers": {}}], "/rules/0/headers"),
    ([{"host": HOST, "query": {}}], "/rules/0/query"),
    ([{"host": HOST, "query": {"a b": "c"}}], "/rules/0/query/a b"),
    ([{"host": HOST, "query": {"a": "c\n"}}], "/rules/0/query/a"),
    ([{"host": OTHER_HOST, "query": {"a": "${secrets.llm}"}}], "/rules/0/query/a"),
    ([{"host": HOST, "port": 8443}], "/rules/0/port"),
    ([{"host": HOST, "port": 81}], "/rules/0/port"),
    ([{"host": HOST, "port": "80"}], "/rules/0/port"),
    ([{"host": HOST, "port": 80, "headers": BEARER}], "/rules/0/headers/Authorization"),
    ([{"host": HOST, "port": 80, "query": {"a": "${secrets.llm}"}}], "/rules/0/query/a"),
    ([{"host": HOST, "methods": ["get"]}], "/rules/0/methods/0"),
    ([{"host": HOST, "paths": ["/a/*/b"]}], "/rules/0/paths/0"),
    ([{"host": HOST, "paths": ["a"]}], "/rules/0/paths/0"),
    ([{"host": HOST, "paths": ["/a/../b"]}], "/rules/0/paths/0"),
    ([{"host": HOST, "header": {}}], "/rules/0/header"),
    ([{"host": HOST}] * 33, "/rules"),
])
def test_a_bad_rule_is_refused_at_its_member(api, rules, field):
    assert_error(api.post("/v1/sandboxes", {"allow_internet_access": False, "rules": rules}), 422, "invalid_request", field)


@pytest.mark.parametrize("policy", [
    {"allow_internet_access": True},
    {"allow_internet_access": False, "allow_out": ["198.51.100.0/24", "0.0.0.0/0"]},
    {"allow_internet_access": False, "allow_out": ["0.0.0.0/0:443"]},
])
def test_limits_need_a_policy_that_is_closed_besides(api, policy):
    answer = api.post("/v1/sandboxes", {**policy, "rules": [{"host": HOST, "port": 80}, {"host": HOST, "methods": ["GET"]}]})
    assert_error(answer, 422, "invalid_request", "/rules/1/methods")


@pytest.mark.parametrize("name, body, field", [
    ("x", {"value": "v"}, "/hosts"),
    ("x", {"hosts": ["a.example"]}, "/value"),
    ("x", {"value": "a\nb", "hosts": ["a.example"]}, "/value"),
    ("x", {"value": "  ", "hosts": ["a.example"]}, "/value"),
    ("x", {"value": "ü", "hosts": ["a.example"]}, "/value"),
    ("x", {"value": "v" * 4097, "hosts": ["a.example"]}, "/value"),
    ("x", {"value": "v", "hosts": []}, "/hosts"),
    ("x", {"value": "v", "hosts": ["10.0.0.0/8"]}, "/hosts/0"),
    ("x", {"value": "v", "hosts": ["a.example:443"]}, "/hosts/0"),
    ("x.y", {"value": "v", "hosts": ["a.example"]}, None),
])
def test_a_bad_secret_is_refused_at_its_member(api, name, body, field):
    answer = api.request("PUT", f"/v1/secrets/{name}", body)
    assert_error(answer, 422, "invalid_request", field)
    assert "sk-" not in str(answer.json())


def test_a_policy_mentions_so_many_secrets(api):
    names = [f"m{number}" for number in range(17)]
    for name in names:
        assert api.request("PUT", f"/v1/secrets/{name}", {"value": "v", "hosts": [HOST]}).status in (200, 201)
    value = " ".join("${secrets.%s}" % name for name in names)
    answer = api.post("/v1/sandboxes", {"allow_internet_access": False, "rules": [{"host": HOST, "headers": {"Cookie": value}}]})
    assert_error(answer, 422, "invalid_request", "/rules")


@pytest.mark.parametrize("before, after, refused", [
    (["a.example"], ["a.example", "thief.example"], 1),
    (["a.example"], ["*.example"], 0),
    (["a.example"], ["*"], 0),
    (["*.b.example"], ["*.example"], 0),
    (["*.b.example"], ["b.example"], 0),
    (["*.b.example"], ["*.c.b.example", "d.b.example"], None),
    (["a.example", "b.example"], ["b.example"], None),
    (["*"], ["b.example"], None),
    (["*"], ["*"], None),
])
def test_who_adds_a_host_knows_the_value(account, before, after, refused):
    """Otherwise each member could have it sent to a server of his own."""
    assert account.api.request("PUT", "/v1/secrets/own", {"value": "v", "hosts": before}).status == 201
    answer = account.api.request("PUT", "/v1/secrets/own", {"hosts": after})
    if refused is None:
        assert answer.status == 200 and answer.json()["hosts"] == after, answer
        return
    assert_error(answer, 422, "invalid_request", f"/hosts/{refused}")
    assert account.api.get("/v1/secrets/own").json()["hosts"] == before
    assert account.api.request("PUT", "/v1/secrets/own", {"value": "w", "hosts": after}).json()["hosts"] == after


def test_a_team_has_so_many_secrets(stack):
    account = Account(stack)
    for number in range(100):
        assert account.api.request("PUT", f"/v1/secrets/s{number}", {"value": "v", "hosts": [HOST]}).status == 201
    answer = account.api.request("PUT", "/v1/secrets/more", {"value": "v", "hosts": [HOST]})
    assert_error(answer, 422, "invalid_request", "/name")
    assert len(account.api.get("/v1/secrets").json()["secrets"]) == 100
    assert account.api.request("PUT", "/v1/secrets/s5", {"value": "w"}).status == 200


def test_secrets_are_of_one_team(api, stack):
    stranger = Account(stack).api
    assert stranger.get("/v1/secrets").json() == {"secrets": []}
    assert stranger.get("/v1/secrets/llm").status == 404
    assert stranger.delete("/v1/secrets/llm").status == 404
    answer = stranger.post("/v1/sandboxes", {"allow_internet_access": False, "rules": [{"host": HOST, "headers": BEARER}]})
    assert_error(answer, 422, "invalid_request", "/rules/0/headers/Authorization")
