# SPDX-License-Identifier: GPL-2.0-or-later
"""Fixtures: the stack, an account of its own for each test, sandboxes that are gone afterwards."""

import pathlib
import secrets

import pytest

from client import Api, Origin
from dataplane import DataPlane
from stack import Stack, StackMissing

GUEST = pathlib.Path(__file__).parent / "guest"


def pytest_collection_modifyitems(items):
    """What stops programs at their fault points needs a build that has them."""
    for item in items:
        if "fault_points" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.faults)


@pytest.fixture(scope="session")
def stack():
    try:
        return Stack.find()
    except StackMissing as missing:
        pytest.exit(str(missing), returncode=2)


class Account:
    """A user with a personal team and a write key."""

    def __init__(self, stack, plan=None):
        self.stack = stack
        self.user = "t" + secrets.token_hex(6)
        self.team = self.user
        stack.ctl("user", "create", self.user)
        if plan:
            stack.ctl("team", "set-plan", self.team, plan)
        self.api = Api(stack, self.key("write"))

    def key(self, scope, *options):
        return self.key_document(scope, *options)["key"]

    def key_document(self, scope, *options):
        return self.stack.ctl("key", "create", "--user", self.user, "--scope", scope, *options)

    def make_team(self, plan="basic"):
        slug = "t" + secrets.token_hex(6)
        self.stack.ctl("team", "create", slug, "--plan", plan, "--owner", self.user)
        return slug

    def clean_up(self):
        api = Api(self.stack, self.key("write"))
        while sandboxes := api.list():
            for sandbox in sandboxes:
                assert api.delete(f"/v1/sandboxes/{sandbox['id']}").status in (204, 404)
        while volumes := api.get("/v1/volumes?limit=200").json()["volumes"]:
            for volume in volumes:
                assert api.delete(f"/v1/volumes/{volume['id']}").status in (204, 404)


class Sandbox:
    """A sandbox with its session at hand."""

    def __init__(self, api, document):
        self.api = api
        self.stack = api.stack
        self.id = document["id"]
        self.document = document
        self.data = DataPlane(api.stack, document["session"])

    @classmethod
    def create(cls, api, **fields):
        return cls(api, api.create(**fields))

    @property
    def path(self):
        return f"/v1/sandboxes/{self.id}"

    @property
    def instance(self):
        return self.stack.row(self.id)["instance_name"]

    @property
    def address(self):
        number = self.stack.row(self.id)["address"]
        return ".".join(str(number >> shift & 255) for shift in (24, 16, 8, 0))

    def boot_id(self):
        """The same as long as nothing has started anew."""
        return self.data.read("/proc/sys/kernel/random/boot_id")

    def show(self):
        return self.api.show(self.id)

    def pause(self):
        return self.api.pause(self.id)

    def resume(self, **fields):
        """Resume and go on with the new session; the sandbox as answered."""
        answer = self.api.resume(self.id, **fields)
        self.data = DataPlane(self.stack, answer["session"])
        return answer["sandbox"]

    def preview(self, port):
        host = self.document["data_plane_url"].removeprefix("https://")
        return Origin(self.stack.ca_file, f"https://p{port}-{host}")

    def put_guest(self, name):
        """Upload a program of tests/api/guest; its path in the sandbox."""
        path = f"/tmp/{name}"
        self.data.upload(path, (GUEST / name).read_bytes())
        return path


@pytest.fixture
def make_account(stack):
    accounts = []

    def make(plan=None):
        accounts.append(Account(stack, plan))
        return accounts[-1]

    yield make
    for account in accounts:
        account.clean_up()


@pytest.fixture
def account(make_account):
    return make_account()


@pytest.fixture
def other_account(make_account):
    """Someone else: nothing of theirs is there for the account."""
    return make_account()


@pytest.fixture
def small_plan(stack, account):
    """The account's team is on a plan of two volumes of one GiB."""
    usual = next(plan for plan in stack.ctl("plan", "list")["plans"] if plan["name"] == "enterprise")
    stack.ctl("plan", "set", "enterprise", "volumes=2")
    stack.ctl("plan", "set", "enterprise", "volume_gb=1")
    stack.ctl("team", "set-plan", account.team, "enterprise")
    yield
    for name in ("volumes", "volume_gb"):
        stack.ctl("plan", "set", "enterprise", f"{name}={usual[name]}")


@pytest.fixture
def api(account):
    return account.api


@pytest.fixture
def set_plan(stack):
    """Change a plan as an operator does; put back afterwards."""
    before = []

    def change(name, **values):
        row = stack.query("SELECT * FROM plans WHERE name = %s", name)[0]
        before.append((name, {column: row[column] for column in values}))
        stack.ctl("plan", "set", name, *(f"{column}={value}" for column, value in values.items()))

    yield change
    for name, values in reversed(before):
        stack.ctl("plan", "set", name, *(f"{column}={value}" for column, value in values.items()))


@pytest.fixture
def make_sandbox(api):
    def make(**fields):
        return Sandbox.create(api, **fields)

    return make


@pytest.fixture
def sandbox(make_sandbox):
    """A sandbox that the test may pause, resume or destroy."""
    return make_sandbox()


@pytest.fixture(scope="module")
def module_account(stack):
    account = Account(stack)
    yield account
    account.clean_up()


@pytest.fixture(scope="module")
def shared_sandbox(module_account):
    """A sandbox for tests that leave it running and write only below paths of their own."""
    ports = [{"port": port, "protocol": "http", "public": port != 3002} for port in range(3000, 3010)]
    return Sandbox.create(module_account.api, timeout=1800, exposed_ports=ports)
