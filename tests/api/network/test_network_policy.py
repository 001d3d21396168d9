# SPDX-License-Identifier: GPL-2.0-or-later
"""Network policies as the interface takes, shows and explains them, and egress profiles."""

import os
import pathlib
import secrets
import subprocess

import pytest

from client import Api, assert_error
from firewall import Firewall
from stack import wait_until

pytestmark = pytest.mark.parallel

CLASSES = {
    "internet": {"allow_internet_access": True, "allow_package_registry_access": False},
    "registries": {"allow_internet_access": False, "allow_package_registry_access": True},
    "isolated": {"allow_internet_access": False, "allow_package_registry_access": False},
}


@pytest.fixture
def defaults(stack):
    """The policy of a request that says nothing."""
    chosen = stack.settings.get("default_network_class", "internet")
    return {**CLASSES[chosen], "allow_out": [], "deny_out": [], "egress_profiles": [],
            "allow_public_traffic": True}


@pytest.fixture
def make_profile(stack):
    names = []

    def make(*entries):
        name = "p" + secrets.token_hex(5)
        names.append(name)
        stack.ctl("profile", "set", name, *(entries or ["--empty"]))
        return name

    yield make
    for name in names:
        # What includes it is deleted by then, or an earlier failure says so.
        stack.ctl("profile", "delete", name, check=False)


def wanted(network):
    return {name: value for name, value in network.items() if name not in ("status", "status_reason")}


def network(api, sandbox, **fields):
    response = api.request("PUT", f"/v1/sandboxes/{sandbox}/network", fields)
    assert response.status in (200, 202), response
    assert response.json()["status"] == {200: "applied", 202: "pending"}[response.status]
    return response.json()


# --- what is asked for is what is shown ---


def test_a_request_that_says_nothing(api, defaults):
    created = api.create()
    assert wanted(created["network"]) == defaults
    assert created["network"]["status"] == "applied"


def test_a_create_with_everything(api, make_profile):
    first, second = make_profile("a.example"), make_profile("b.example")
    asked = {"allow_internet_access": False, "allow_package_registry_access": True,
             "allow_public_traffic": False,
             "allow_out": ["API.example.com:443", "*.example.org", "my_bucket.example.net",
                           "_mongodb._tcp.example.net", "203.0.113.0/24", "203.0.113.9:80", "2001:db8::/32",
                           "[2001:db8::1]:443"],
             "deny_out": ["203.0.113.7", "0.0.0.0/0"]}
    created = api.create(**asked, egress_profile=first, egress_profiles=[second, first])
    assert wanted(created["network"]) == {**asked, "egress_profiles": [first, second]}
    assert api.show(created["id"])["network"] == created["network"]
    shown = api.get(f"/v1/sandboxes/{created['id']}/network")
    assert shown.status == 200 and shown.json() == created["network"]


def test_a_put_replaces_everything_but_public_traffic(api, defaults):
    sandbox = api.create(allow_out=["a.example"], deny_out=["b.example"], allow_internet_access=False,
                         allow_public_traffic=False)["id"]
    assert wanted(network(api, sandbox, deny_out=["c.example"])) == {
        **defaults, "deny_out": ["c.example"], "allow_public_traffic": False}
    assert wanted(network(api, sandbox)) == {**defaults, "allow_public_traffic": False}
    assert wanted(network(api, sandbox, allow_public_traffic=True)) == defaults
    shown = api.show(sandbox)["network"]
    assert wanted(shown) == defaults and shown["status"] == "applied"


def test_public_traffic_is_patched_too(api):
    sandbox = api.create(allow_out=["a.example"])["id"]
    response = api.request("PATCH", f"/v1/sandboxes/{sandbox}", {"allow_public_traffic": False})
    assert response.status == 200
    assert response.json()["network"]["allow_public_traffic"] is False
    assert response.json()["network"]["allow_out"] == ["a.example"]


# --- what is refused ---


NO_ENTRIES = ["", " ", "a b", "http://x.example", "x.example/y", "*", "*.", "a.*.example", "a..b", ".a",
              "-a.example", "a_-.example", "a.example:0", "a.example:65536", "a.example:https", "a.example:",
              "1.2.3", "1.2.3.4.5", "256.1.1.1", "1.2.3.4/33", "1.2.3.4/24", "1.2.3.4:0", "127.1", "::1/129",
              "2001:db8::1/32", "[2001:db8::1", "[1.2.3.4]:80", "::ffff:192.0.2.1", "x" * 64 + ".example",
              "\u00fc.example"]


@pytest.mark.parametrize("entry", NO_ENTRIES)
def test_what_is_no_entry_is_named_by_its_place(module_account, entry):
    for member in ("allow_out", "deny_out"):
        body = {member: ["ok.example", entry]}
        assert_error(module_account.api.post("/v1/sandboxes", body), 422, "invalid_request", f"/{member}/1")


def test_a_put_is_checked_as_a_create_is(api, sandbox):
    before = sandbox.show()["network"]
    for body, field in (
        ({"allow_out": ["a.example", "203.0.113.7/24"]}, "/allow_out/1"),
        ({"deny_out": ["x"] * 257}, "/deny_out"),
        ({"allow_out": "x.example"}, "/allow_out"),
        ({"egress_profile": "no-such"}, "/egress_profile"),
        ({"egress_profiles": ["package-registries", "no-such"]}, "/egress_profiles/1"),
        ({"allow_internet_acces": False}, "/allow_internet_acces"),
        ({"status": "applied"}, "/status"),
        (None, None),
    ):
        response = api.request("PUT", f"{sandbox.path}/network", body)
        assert_error(response, 422, "invalid_request", field)
    assert sandbox.show()["network"] == before


def test_host_bits_are_shown_as_the_network_they_belong_to(api):
    answer = assert_error(api.post("/v1/sandboxes", {"deny_out": ["203.0.113.7/24"]}), 422, "invalid_request",
                          "/deny_out/0")
    assert "203.0.113.0/24" in answer["message"]


def test_an_unknown_profile_says_which_there_are(api, make_profile):
    name = make_profile()
    for asked in ("no-such", "No Such", "\u00e9"):
        answer = assert_error(api.post("/v1/sandboxes", {"egress_profiles": [asked]}), 422, "invalid_request",
                              "/egress_profiles/0")
        assert name in answer["message"] and "package-registries" in answer["message"]


def test_256_entries_and_one_more(api, sandbox):
    entries = [f"host-{number}.example:{number + 1}" for number in range(256)]
    networks = [f"198.51.{number}.0/24" for number in range(256)]
    stored = network(api, sandbox.id, allow_out=entries, deny_out=networks)
    assert stored["allow_out"] == entries and stored["deny_out"] == networks
    assert stored["status"] == "applied"
    for member in ("allow_out", "deny_out"):
        response = api.request("PUT", f"{sandbox.path}/network", {member: entries + ["one.more"]})
        assert_error(response, 422, "invalid_request", f"/{member}")


def test_seventeen_profiles(api, make_profile):
    names = [make_profile() for _ in range(17)]
    assert api.create(egress_profiles=names[:16])["network"]["egress_profiles"] == names[:16]
    response = api.post("/v1/sandboxes", {"egress_profile": names[16], "egress_profiles": names[:16]})
    assert_error(response, 422, "invalid_request", "/egress_profiles/15")


# --- explained ---


@pytest.fixture(scope="module")
def explained(module_account, stack):
    """A closed sandbox with a bit of everything."""
    name = "p" + secrets.token_hex(5)
    stack.ctl("profile", "set", name, "*.mirror.example:443")
    created = module_account.api.create(
        allow_internet_access=False,
        egress_profiles=[name],
        allow_out=["api.example.com:443", "*.example.com", "203.0.113.0/24", "203.0.113.7:22",
                   "tie.example", "10.0.0.0/8", "2001:db8::/32"],
        deny_out=["bad.example.com", "203.0.113.7", "tie.example", "203.0.113.0/25:8080"])
    yield module_account.api, f"/v1/sandboxes/{created['id']}/network/check", name
    module_account.api.destroy(created["id"])
    stack.ctl("profile", "delete", name)


def test_the_verdict_of_a_draft(explained):
    """Asked before it is stored; the stored one stays what it is."""
    api, path, profile = explained
    ask = {"host": "api.example.com", "port": 443}
    stored = api.get(path.removesuffix("/check")).json()
    drafts = [({"allow_internet_access": False}, "deny", None), ({"allow_internet_access": True}, "allow", None),
              ({"allow_out": ["10.0.0.0/8", "*.example.com"]}, "allow", "/allow_out/1"),
              ({"allow_internet_access": True, "deny_out": ["api.example.com"]}, "deny", "/deny_out/0")]
    for draft, verdict, origin in drafts:
        answer = api.post(path, {**ask, "policy": draft})
        assert answer.status == 200 and (answer.json()["verdict"], answer.json()["origin"]) == (verdict, origin), answer
    mirror = {"host": "pypi.mirror.example", "port": 443, "policy": {"egress_profiles": [profile]}}
    assert api.post(path, mirror).json()["origin"] == f"egress_profiles/{profile}"
    assert api.post(path, ask).json()["origin"] == "/allow_out/0"
    assert api.get(path.removesuffix("/check")).json() == stored
    for draft, field in (({"allow_out": ["not a host!"]}, "/policy/allow_out/0"), ({"allow": []}, "/policy/allow"),
                         ({"egress_profiles": ["no-such"]}, "/policy/egress_profiles/0")):
        assert_error(api.post(path, {**ask, "policy": draft}), 422, "invalid_request", field)


@pytest.mark.parametrize("host, port, verdict, entry, origin, reason", [
    ("api.example.com", 443, "allow", "api.example.com:443", "/allow_out/0", "entry"),
    ("API.Example.COM.", 443, "allow", "api.example.com:443", "/allow_out/0", "entry"),
    ("api.example.com", 80, "allow", "*.example.com", "/allow_out/1", "entry"),
    ("a.b.example.com", 1, "allow", "*.example.com", "/allow_out/1", "entry"),
    ("bad.example.com", 443, "deny", "bad.example.com", "/deny_out/0", "entry"),
    ("x.bad.example.com", 443, "allow", "*.example.com", "/allow_out/1", "entry"),
    ("example.com", 443, "deny", None, None, "default"),
    ("tie.example", 443, "deny", "tie.example", "/deny_out/2", "entry"),
    ("pypi.mirror.example", 443, "allow", "*.mirror.example:443", "egress_profiles/{profile}", "entry"),
    ("pypi.mirror.example", 80, "deny", None, None, "default"),
    ("203.0.113.200", 8080, "allow", "203.0.113.0/24", "/allow_out/2", "entry"),
    ("203.0.113.20", 8080, "deny", "203.0.113.0/25:8080", "/deny_out/3", "entry"),
    ("203.0.113.7", 443, "deny", "203.0.113.7", "/deny_out/1", "entry"),
    ("203.0.113.7", 22, "allow", "203.0.113.7:22", "/allow_out/3", "entry"),
    ("198.51.100.1", 443, "deny", None, None, "default"),
    ("10.1.2.3", 443, "deny", None, None, "protected_network"),
    ("169.254.169.254", 80, "deny", None, None, "protected_network"),
    ("168.63.129.16", 80, "deny", None, None, "protected_network"),
    ("127.0.0.1", 80, "deny", None, None, "protected_network"),
    ("::ffff:10.1.2.3", 443, "deny", None, None, "protected_network"),
    ("2001:db8::1", 443, "deny", None, None, "ipv6"),
    ("[2001:db8::1]", 443, "deny", None, None, "ipv6"),
    ("::1", 443, "deny", None, None, "ipv6"),
    ("203.0.113.8", 53, "deny", None, None, "name_service"),
    ("api.example.com", 853, "deny", None, None, "name_service"),
])
def test_the_verdict_names_what_decides(explained, host, port, verdict, entry, origin, reason):
    api, path, profile = explained
    response = api.post(path, {"host": host, "port": port})
    assert response.status == 200, response
    answer = response.json()
    origin = origin and origin.format(profile=profile)
    assert [answer[name] for name in ("host", "port", "verdict", "entry", "origin", "reason")] == [
        host, port, verdict, entry, origin, reason], answer
    assert answer["message"].endswith(".")


def test_the_default_decides_in_an_open_sandbox(api):
    path = f"/v1/sandboxes/{api.create(allow_internet_access=True, deny_out=['203.0.113.0/24'])['id']}/network/check"
    answer = api.post(path, {"host": "example.com", "port": 443}).json()
    assert (answer["verdict"], answer["reason"], answer["entry"]) == ("allow", "default", None)
    assert "entry for networks" in answer["message"]
    assert api.post(path, {"host": "203.0.113.1", "port": 443}).json()["verdict"] == "deny"
    assert api.post(path, {"host": "8.8.8.8", "port": 443}).json()["verdict"] == "allow"


def test_other_sandboxes_are_protected(api, sandbox):
    other = api.create()
    address = api.stack.row(other["id"])["address"]
    host = ".".join(str(address >> shift & 255) for shift in (24, 16, 8, 0))
    answer = api.post(f"{sandbox.path}/network/check", {"host": host, "port": 80}).json()
    assert (answer["verdict"], answer["reason"]) == ("deny", "protected_network")


@pytest.mark.parametrize("body, field", [
    ({}, "/host"), ({"host": "a.example"}, "/port"), ({"host": "a.example", "port": 0}, "/port"),
    ({"host": "a.example", "port": 65536}, "/port"), ({"host": "a.example", "port": "443"}, "/port"),
    ({"host": "", "port": 1}, "/host"), ({"host": "a b", "port": 1}, "/host"),
    ({"host": "127.1", "port": 1}, "/host"), ({"host": "10.0.0.0/8", "port": 1}, "/host"),
    ({"host": "*.a.example", "port": 1}, "/host"), ({"host": "x" * 255, "port": 1}, "/host"),
    ({"host": "a.example", "port": 1, "protocol": "tcp"}, "/protocol"), (None, None),
])
def test_questions_that_are_none(explained, body, field):
    api, path, _ = explained
    assert_error(api.post(path, body), 422, "invalid_request", field)


def test_a_read_key_may_ask(explained, module_account, stack):
    _, path, _ = explained
    reader = Api(stack, module_account.key("read"))
    assert reader.post(path, {"host": "a.example", "port": 443}).status == 200


def test_denials_of_a_sandbox_that_tried_nothing(api, sandbox):
    response = api.get(f"{sandbox.path}/network/denials")
    assert response.status == 200 and response.json() == {"denials": []}
    sandbox.pause()
    assert api.get(f"{sandbox.path}/network/denials").json() == {"denials": []}


# --- egress profiles ---


def test_profiles_are_kept_by_the_operator(stack, make_profile):
    name = make_profile("A.example.", "*.b.example:443", "203.0.113.0/24")
    shown = stack.ctl("profile", "show", name)
    assert shown["entries"] == ["a.example", "*.b.example:443", "203.0.113.0/24"]
    assert shown["sandboxes"] == 0
    assert name in [one["name"] for one in stack.ctl("profile", "list")["profiles"]]
    stack.ctl("profile", "set", name, "c.example")
    assert stack.ctl("profile", "show", name)["entries"] == ["c.example"]
    stack.ctl("profile", "delete", name)
    assert stack.ctl("profile", "show", name, check=False).returncode == 1


def test_profiles_come_from_files(stack, make_profile, tmp_path):
    name = make_profile()
    path = tmp_path / "entries"
    path.write_text("# a remark\na.example b.example:443\n\n  203.0.113.0/24  # another\n", encoding="utf-8")
    assert stack.ctl("profile", "set", name, "first.example", "--file", str(path))["entries"] == [
        "first.example", "a.example", "b.example:443", "203.0.113.0/24"]
    assert stack.ctl("profile", "set", name, "--empty")["entries"] == []


@pytest.mark.parametrize("arguments", [
    ("profile", "set", "bad name", "a.example"), ("profile", "set", "fine"),
    ("profile", "set", "fine", "https://a.example"), ("profile", "set", "fine", "--file", "/nonexistent"),
    ("profile", "delete", "package-registries"), ("profile", "delete", "no-such"), ("profile", "show", "no-such"),
])
def test_what_profiles_refuse(stack, arguments):
    done = stack.ctl(*arguments, check=False)
    assert done.returncode == 1 and done.stderr, done
    assert stack.ctl("profile", "show", "fine", check=False).returncode == 1


def test_sandboxes_follow_their_profile(api, stack, make_profile):
    firewall = Firewall(stack)
    name = make_profile("a.example")
    inside, outside = api.create(egress_profiles=[name])["id"], api.create()["id"]
    paused = api.create(egress_profiles=[name])["id"]
    api.pause(paused)
    check = {"host": "b.example", "port": 443}
    network(api, inside, allow_internet_access=False, egress_profiles=[name])
    assert api.post(f"/v1/sandboxes/{inside}/network/check", check).json()["verdict"] == "deny"
    assert stack.ctl("profile", "set", name, "b.example")["sandboxes"] == 2
    assert api.post(f"/v1/sandboxes/{inside}/network/check", check).json()["verdict"] == "allow"
    wait_until(lambda: firewall.revision(inside) == 3, 15, "the firewall having the profile's change")
    wait_until(lambda: api.show(inside)["network"]["status"] == "applied", 5, "the row saying so")
    assert firewall.revision(outside) == 1
    assert api.show(paused)["network"]["status"] == "pending"
    api.resume(paused)
    assert firewall.revision(paused) == 2
    assert api.show(paused)["network"]["status"] == "applied"

    refused = stack.ctl("profile", "delete", name, check=False)
    assert refused.returncode == 1 and "2 sandboxes" in refused.stderr
    network(api, inside)
    api.destroy(paused)
    stack.ctl("profile", "delete", name)


@pytest.fixture
def registries(stack):
    """The profile of the package registries with one more entry."""
    before = stack.ctl("profile", "show", "package-registries")["entries"]
    stack.ctl("profile", "set", "package-registries", "registry.example:443", *before)
    yield "registry.example"
    stack.ctl("profile", "set", "package-registries", *(before or ["--empty"]))


def test_the_registries_are_a_profile(api, registries):
    verdicts = []
    for allowed in (True, False):
        sandbox = api.create(allow_internet_access=False, allow_package_registry_access=allowed)["id"]
        check = api.post(f"/v1/sandboxes/{sandbox}/network/check", {"host": registries, "port": 443}).json()
        verdicts.append((check["verdict"], check["origin"]))
    assert verdicts == [("allow", "egress_profiles/package-registries"), ("deny", None)]


ASKED = {
    "apt-get": "http://deb.example/debian\nhttp://[2001:db8::1]/debian\nfile:///srv/debian",
    "npm": '{"registry": "https://user:secret@npm.example/", "@scope:registry": "https://scope.example:8443/x"}',
    "yarn": "undefined",
    "pip3": "global.index-url='https://pip.example/simple'\n:env:.extra-index-url='http://127.0.0.1:3141/'",
    "go": "https://proxy.example,https://second.example|direct",
    "gem": "*** CURRENT SOURCES ***\n\nhttps://gems.example/",
    "conda": "channel_alias: https://conda.example/",
}


def test_registries_are_those_of_the_machines_own_package_managers(tmp_path):
    for name, answer in ASKED.items():
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\ncat <<'END'\n{answer}\nEND\n", encoding="utf-8")
        program.chmod(0o755)
    (tmp_path / "config.toml").write_text('[registries.own]\nindex = "sparse+https://cargo.example/"\n')
    # As in Debian's cloud images.
    (tmp_path / "apt-get").write_text(f"#!/bin/sh\ncat <<'END'\n{ASKED['apt-get']}\nmirror+file:{tmp_path}/mirrors/\nEND\n",
                                      encoding="utf-8")
    (tmp_path / "mirrors").write_text("# http://remark.example/\nhttps://cloud.example/debian\tpriority:1\n", encoding="utf-8")
    listed = tmp_path / "list"
    listed.write_text("# remark\n*.files.example:443 # more\n203.0.113.0/24\n", encoding="utf-8")
    script = pathlib.Path(__file__).parents[3] / "scripts" / "package-registries"
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "CARGO_HOME": str(tmp_path)}
    done = subprocess.run([script, listed], env=environment, capture_output=True, text=True, check=True)
    found = set(done.stdout.split())
    assert {"deb.example:80", "npm.example:443", "scope.example:8443", "pip.example:443", "proxy.example:443",
            "second.example:443", "gems.example:443", "conda.example:443", "cargo.example:443",
            "*.files.example:443", "203.0.113.0/24", "cloud.example:443"} <= found
    assert "remark.example" not in done.stdout and "127.0.0.1" not in done.stdout and "secret" not in done.stdout
