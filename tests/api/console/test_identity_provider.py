# SPDX-License-Identifier: GPL-2.0-or-later
"""Sign-in through a real identity provider: OpenID Connect, code flow with PKCE."""

import secrets
import urllib.parse

import pytest

from client import assert_error
from console import Browser
from edge import process_settings
from identity_provider import IdentityProvider, Visitor
from npm_packages import programs

pytestmark = pytest.mark.long  # most of it is the installation of the package

MEMORY = "__Host-sandlot_oidc"


@pytest.fixture(scope="module")
def provider(stack, tmp_path_factory):
    provider = IdentityProvider(stack, programs(stack, "oidc", tmp_path_factory.mktemp("idp")))
    teams = [name + secrets.token_hex(4) for name in ("acme", "ops")]
    provider.teams = teams
    stack.ctl("user", "create", "boss" + teams[0])
    for slug in teams:
        stack.ctl("team", "create", slug, "--plan", "pro", "--owner", "boss" + teams[0])
    groups = f"devs={teams[0]}:viewer,leads={teams[0]}:owner,ops={teams[1]}:member,nobody=no-such-team:member"
    try:
        provider.start()
        with process_settings(stack, "sandlot-api", **provider.settings(oidc_create_users="on", oidc_groups=groups)):
            yield provider
    finally:
        provider.stop()


class Guest(Browser):
    """A browser that keeps what the way to the provider leaves with it."""

    memory = None

    def go(self, path):
        """A navigation: no header of the console's, and another site may have begun it."""
        headers = {"Cookie": f"{MEMORY}={self.memory}"} if self.memory else {}
        response = self.raw("GET", path, None, headers | {"Sec-Fetch-Site": "cross-site"})
        for given in response.headers.get_all("Set-Cookie") or []:
            name, _, rest = given.partition("=")
            value = rest.partition(";")[0] or None
            if name == MEMORY:
                self.memory = value
                assert "SameSite=Lax" in given and "HttpOnly" in given and "Secure" in given
            else:
                self.cookie = value
                assert "SameSite=Strict" in given
        return response

    def begin(self, path="/"):
        response = self.go("/v1/login/oidc?" + urllib.parse.urlencode({"return": path}))
        assert response.status == 302, response
        return response.headers["Location"]

    def come_back(self, location):
        assert location.startswith(self.stack.console_url + "/v1/login/oidc/callback?"), location
        return self.go(location.removeprefix(self.stack.console_url))


def failure_of(response):
    """What the console is told behind the '#'."""
    page, _, told = response.headers["Location"].partition("#")
    assert response.status == 302 and page.endswith("/sign-in"), response.headers.items()
    return dict(urllib.parse.parse_qsl(told))


class Somebody:
    """Whom the provider knows by a subject of its own; name and groups are the provider's to change."""

    def __init__(self, name=None, groups=()):
        self.subject = "s-" + secrets.token_hex(6)
        self.name = "P." + self.subject + "@example.com" if name is None else name
        self.groups = groups

    @property
    def known_as(self):
        return f"{self.subject}~{self.name}~{','.join(self.groups)}"

    @property
    def user(self):
        """The name that is made of theirs."""
        return "p-" + self.subject


def sign_in(provider, somebody, path="/"):
    guest = Guest(provider.stack)
    return guest, guest.come_back(Visitor(provider).sign_in(guest.begin(path), somebody.known_as))


def roles(guest):
    return {team["slug"]: team["role"] for team in guest.get("/v1/me").json()["teams"]}


def test_the_console_offers_it(stack, provider):
    assert Browser(stack).get("/v1/login").json() == {"password": True, "oidc": {"name": "The works"}, "header": False}


def test_what_the_provider_is_asked(stack, provider):
    guest = Guest(stack)
    first, second = (dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(guest.begin()).query)) for _ in range(2))
    assert first["response_type"] == "code" and first["code_challenge_method"] == "S256"
    assert first["redirect_uri"] == stack.console_url + "/v1/login/oidc/callback"
    assert first["client_id"] == provider.client_id and first["scope"] == "openid profile"
    assert all(first[name] != second[name] for name in ("state", "nonce", "code_challenge"))


@pytest.mark.parametrize("algorithm", ["ES256", "RS256"])
def test_a_new_user_is_made_and_known_again(stack, provider, algorithm):
    """By keys of either kind, which are asked for when they are new."""
    provider.restart(algorithm=algorithm)
    somebody = Somebody()
    guest, response = sign_in(provider, somebody, "/sandboxes?x=1#y")
    assert response.status == 302 and response.headers["Location"] == stack.console_url + "/sandboxes?x=1#y"
    assert guest.memory is None
    me = guest.get("/v1/me").json()
    assert me["user"]["name"] == somebody.user and me["session"]["method"] == "oidc"
    assert me["password"] is False and me["second_factor"] is False
    assert me["default_team"] == somebody.user
    somebody.name = "another"
    again, _ = sign_in(provider, somebody)
    assert again.get("/v1/me").json()["user"] == me["user"]


def test_a_name_that_somebody_has_here_lets_nobody_in(stack, provider, account):
    somebody = Somebody(name=account.user)
    guest, response = sign_in(provider, somebody)
    assert failure_of(response)["error"] == "invalid_credentials" and guest.cookie is None
    # Until an operator says that they are the same.
    stack.ctl("user", "link", account.user, "--subject", somebody.subject)
    guest, _ = sign_in(provider, somebody)
    assert guest.get("/v1/me").json()["user"]["name"] == account.user
    refused = stack.ctl("user", "link", account.user, "--subject", somebody.subject, check=False)
    assert refused.returncode == 1 and "already" in refused.stderr
    stack.ctl("user", "disable", account.user)
    try:
        assert_error(guest.get("/v1/me"), 401, "unauthorized")
        assert failure_of(sign_in(provider, somebody)[1])["error"] == "invalid_credentials"
    finally:
        stack.ctl("user", "enable", account.user)


def test_somebody_without_a_name(provider):
    assert failure_of(sign_in(provider, Somebody(name="@@"))[1])["error"] == "invalid_credentials"


def test_teams_follow_groups(stack, provider):
    acme, ops = provider.teams
    somebody = Somebody(groups=["devs", "ops", "others"])
    guest, _ = sign_in(provider, somebody)
    assert roles(guest) == {somebody.user: "owner", acme: "viewer", ops: "member"}
    # What an operator says stays; the rest is as the groups are at the next sign-in.
    stack.ctl("team", "remove-member", ops, "--user", somebody.user)
    stack.ctl("team", "add-member", ops, "--user", somebody.user, "--role", "viewer")
    somebody.groups = ["leads", "devs"]
    guest, _ = sign_in(provider, somebody)
    assert roles(guest) == {somebody.user: "owner", acme: "owner", ops: "viewer"}
    somebody.groups = []
    guest, _ = sign_in(provider, somebody)
    assert roles(guest) == {somebody.user: "owner", ops: "viewer"}


def test_what_comes_back_must_have_gone_from_here(stack, provider):
    """Another browser's answer signs nobody in, nor does one that was changed or comes again."""
    known_as = Somebody().known_as
    victim, attacker = Guest(stack), Guest(stack)
    victim.begin()
    foreign = Visitor(provider).sign_in(attacker.begin(), known_as)
    for guest in (victim, Guest(stack)):
        assert failure_of(guest.come_back(foreign))["error"] == "invalid_credentials" and guest.cookie is None
    # The right browser, with another state, with the issuer of another provider, and with no code.
    guest = Guest(stack)
    back = Visitor(provider).sign_in(guest.begin(), known_as)
    memory = guest.memory
    for old, new in (("state=", "state=x"), ("code=", "nocode="), ("iss=", "iss=https%3A%2F%2Fevil.example&was=")):
        assert old in back
        guest.memory = memory
        assert failure_of(guest.come_back(back.replace(old, new)))["error"] == "invalid_credentials"
        assert guest.cookie is None and guest.memory is None
    guest.memory = memory
    assert guest.come_back(back).headers["Location"] == stack.console_url + "/"
    guest.memory, guest.cookie = memory, None
    assert failure_of(guest.come_back(back))["error"] == "invalid_credentials" and guest.cookie is None


def test_it_goes_on_at_the_console_only(stack, provider):
    for path in ("//evil.example", "https://evil.example", "/\\evil.example", "sandboxes", "/a\r\nb", "/" + "x" * 512):
        response = Guest(stack).go("/v1/login/oidc?" + urllib.parse.urlencode({"return": path}))
        assert failure_of(response)["error"] == "invalid_request", path


def test_a_refusal_of_the_provider_is_told(stack, provider):
    guest = Guest(stack)
    state = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(guest.begin()).query))["state"]
    told = failure_of(guest.go(f"/v1/login/oidc/callback?error=access_denied&state={state}&extra=1"))
    assert told["error"] == "invalid_credentials" and "access_denied" in told["message"]


def test_a_provider_that_is_away(stack, provider):
    guest = Guest(stack)
    back = Visitor(provider).sign_in(guest.begin(), Somebody().known_as)
    provider.stop()
    try:
        assert failure_of(guest.come_back(back))["error"] == "runtime_unavailable" and guest.cookie is None
        assert Browser(stack).get("/v1/login").status == 200
    finally:
        provider.start()


def test_a_code_that_the_provider_does_not_take(stack, provider):
    """It was given to another provider's memory: the one that runs now knows nothing of it."""
    guest = Guest(stack)
    back = Visitor(provider).sign_in(guest.begin(), Somebody().known_as)
    provider.restart()
    told = failure_of(guest.come_back(back))
    assert told["error"] == "invalid_credentials" and "invalid_grant" in told["message"]
