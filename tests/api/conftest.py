# SPDX-License-Identifier: GPL-2.0-or-later
"""Fixtures: the stack, an account of its own for each test, sandboxes that are gone afterwards."""

import collections
import datetime
import secrets

import pytest

from bystander import Bystander
from console import Person
from npm_packages import installed  # noqa: F401 (a fixture)
from fake_internet import FakeInternet
from ssh import Ssh
from stack import Stack, StackMissing
from tenant import Account, Sandbox


# Of tests that go beside others: the folder whose files share the one fake internet, the files that share a registry of
# images, and the files of template builds, of which a dispatcher makes few at a time. One process has each group. They begin
# first, with other files that take minutes.
# Of the rest, the files with the most tests come first, so that the processes end at about the same time.
ONE_INTERNET = "network/"
BUILDS, IMAGES = "contract/test_template_", ("contract/test_template_images.py", "contract/test_template_mounts.py")
FIRST = (ONE_INTERNET, BUILDS, "e2b/test_e2b_builds.py", "console_ui/", "hostile/test_idleness.py", "hostile/test_page_server.py",
         "lifecycle/test_idle.py", "lifecycle/test_lazy_pages.py", "lifecycle/test_rollback.py", "lifecycle/test_silent_agents.py",
         "lifecycle/test_timers.py")


def pytest_collection_modifyitems(config, items):
    """Mark the tests that need a build with fault points: a point stops any worker that reaches it, so they run alone.
    Let the longest files begin first in a parallel run."""
    for item in items:
        fixtures = getattr(item, "fixturenames", ())
        if "fault_points" in fixtures:
            item.add_marker(pytest.mark.faults)
            item.add_marker(pytest.mark.alone)
        if "internet" in fixtures and item.get_closest_marker("parallel") and not item.nodeid.startswith(ONE_INTERNET):
            raise pytest.UsageError(f"{item.nodeid} shares the fake internet: its file belongs into {ONE_INTERNET}")
        if "quiet" in fixtures and item.get_closest_marker("parallel") and not item.get_closest_marker("alone"):
            raise pytest.UsageError(f"{item.nodeid} waits for everything at rest: it cannot go beside others")
    if hasattr(config, "workerinput"):
        sizes = collections.Counter(_file_of(item) for item in items)
        items.sort(key=lambda item: (not item.nodeid.startswith(FIRST), -sizes[_file_of(item)]))


def _file_of(item):
    return item.nodeid.split("::", 1)[0]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """A process takes the tests of a file, or of a group of files."""
    from xdist.scheduler import LoadScopeScheduling  # pylint: disable=import-outside-toplevel

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            file = nodeid.split("::", 1)[0]
            if file.startswith(ONE_INTERNET):
                return ONE_INTERNET
            if file in IMAGES:
                return IMAGES[0]
            return BUILDS if file.startswith(BUILDS) else file

    return ByFile(config, log)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """What fails is shown with what the programs warned of meanwhile."""
    report = (yield).get_result()
    stack = getattr(item, "funcargs", {}).get("stack")
    if report.failed and stack:
        since = datetime.datetime.utcfromtimestamp(call.start).isoformat()
        report.sections.append(("warnings of the programs", "\n".join(stack.warnings(since))))


@pytest.fixture(scope="session")
def stack():
    try:
        return Stack.find()
    except StackMissing as missing:
        pytest.exit(str(missing), returncode=2)


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
def person(stack, account):
    """The account's user, who can sign in to the console."""
    return Person(stack, account.user)


@pytest.fixture
def small_plan(account, own_plan):
    """The account's team is on a plan of two volumes of one GiB."""
    own_plan(account, volumes=2, volume_gb=1)


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
def own_plan(stack):
    """Give the team of an account a plan of its own with other values: tests beside this one use the others."""
    before = []

    def change(account, **values):
        plan = stack.query("SELECT plan FROM teams WHERE slug = %s", account.team)[0]["plan"]
        own = "p" + secrets.token_hex(6)
        stack.ctl("plan", "create", own, "--from", plan)
        before.append((account.team, plan, own))
        stack.ctl("plan", "set", own, *(f"{column}={value}" for column, value in values.items()))
        stack.ctl("team", "set-plan", account.team, own)

    yield change
    for team, plan, own in reversed(before):
        stack.ctl("team", "set-plan", team, plan)
        stack.ctl("plan", "remove", own)


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
def make_module_account(stack):
    accounts = []

    def make(plan=None):
        accounts.append(Account(stack, plan))
        return accounts[-1]

    yield make
    for account in reversed(accounts):
        account.clean_up()


@pytest.fixture(scope="module")
def module_account(make_module_account):
    return make_module_account()


@pytest.fixture(scope="module")
def shared_sandbox(module_account):
    """A sandbox for tests that leave it running and write only below paths of their own."""
    ports = [{"port": port, "protocol": "http", "public": port != 3002} for port in range(3000, 3010)]
    return Sandbox.create(module_account.api, timeout=1800, exposed_ports=ports)


@pytest.fixture(scope="module")
def data(shared_sandbox):
    """The data plane of shared_sandbox."""
    return shared_sandbox.data


@pytest.fixture(scope="module")
def ssh(stack, module_account, tmp_path_factory):
    """A client of the module's account."""
    return Ssh(stack, tmp_path_factory.mktemp("ssh"), module_account)


@pytest.fixture(scope="module")
def bystanders():
    """At most one: that of the module's tests, which leave it as it was."""
    made = []
    yield made
    for honest in made:
        honest.clean_up()


@pytest.fixture
def bystander(stack, bystanders):
    """An honest tenant of another team, who is there before a test does harm, and after it for the next test."""
    if bystanders and not bystanders[0].is_whole():
        bystanders.pop().clean_up()
    if not bystanders:
        bystanders.append(Bystander(stack))
    yield bystanders[0]
    bystanders[0].tidy_up()


@pytest.fixture
def own_bystander(stack):
    """The same, for a test that changes him."""
    honest = Bystander(stack)
    yield honest
    honest.clean_up()


@pytest.fixture(scope="module")
def internet(stack, tmp_path_factory):
    """An internet of the tests' own; the firewall of scripts/test asks it for names."""
    internet = FakeInternet(stack, tmp_path_factory.mktemp("outside"))
    try:
        internet.start()
        yield internet
    finally:
        internet.stop()
