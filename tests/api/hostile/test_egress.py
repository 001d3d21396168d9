# SPDX-License-Identifier: GPL-2.0-or-later
"""nginx and the firewall of a host serve the egress rules of all its sandboxes: one team's or user's connections leave
room for others, and nothing passes while a part is away."""

import contextlib
import pathlib
import re
import secrets
import subprocess

import pytest

from fake_internet import FirewallProcess
from stack import wait_until
from tenant import Sandbox
from tls_outside import HOST, serving

# conf/nftables: connections of a sandbox; of a team, and of a user.
EACH, SHARE = 256, 512
VALUE = "sk-" + secrets.token_hex(16)
RULES = [{"host": HOST, "headers": {"X-Api-Key": "${secrets.own}"}}]


@pytest.fixture(scope="module")
def outside(stack, internet, tmp_path_factory):
    with serving(stack, internet, tmp_path_factory.mktemp("tls"), HOST) as outside:
        yield outside


def with_rule(api, value=VALUE, hosts=(HOST,), **fields):
    team = {"team": fields["team"]} if "team" in fields else {}
    assert api.request("PUT", "/v1/secrets/own", {"value": value, "hosts": list(hosts), **team}).status in (200, 201)
    return Sandbox.create(api, timeout=1800, allow_internet_access=False, rules=RULES, **fields)


def hold(sandbox, count=EACH):
    """Open connections that stay."""
    sandbox.data.background("python3", sandbox.put_guest("kept_tls.py"), HOST, str(count), "/tmp/held")


def held(sandbox):
    return int(sandbox.data.check("for i in $(seq 600); do [ -s /tmp/held ] && break; sleep 0.2; done; cat /tmp/held"))


def asked(sandbox, *options):
    return sandbox.data.check(f"curl -sS --max-time 20 {' '.join(options)} https://{HOST}/ 2>&1 || true")


def is_served(sandbox, value=VALUE):
    return value in asked(sandbox)


@pytest.mark.long
def test_a_team_and_a_user_have_so_many_connections(stack, account, other_account, make_account, outside):
    """One user fills his share from two sandboxes of a team, then a team its share from two users."""
    neighbour = with_rule(make_account().api)
    team = account.make_team("pro")
    stack.ctl("team", "add-member", team, "--user", other_account.user, "--role", "member")
    first, second, third = (with_rule(account.api, team=team) for _ in range(3))
    theirs = with_rule(other_account.api, team=team)
    hold(first)
    hold(second)
    assert held(first) + held(second) == SHARE
    for one in (third, theirs, with_rule(account.api)):
        assert "connect to" in asked(one), "the team, or the user, has its share"
    assert is_served(neighbour)
    second.data.check("pkill -f kept_tls.py")
    wait_until(lambda: is_served(third), 30, "room in the team and for the user")
    hold(theirs)
    assert held(theirs) == SHARE - EACH
    assert "connect to" in asked(third), "the team has its share"
    assert is_served(neighbour)


def test_requests_past_the_rate_wait_and_are_not_refused(account, outside):
    """A connection has one at a time, so that a count of connections is one of requests. Each of 50 clients has a
    connection: one client of several would begin a second request before it knows this limit."""
    sandbox = with_rule(account.api)
    sandbox.data.check("seq 50 | xargs -P 50 -I NR curl -sS --http2 --max-time 120 --create-dirs -o '/tmp/answers/NR.#1'"
                       f" 'https://{HOST}/NR/[1-8]'")
    answers = sandbox.data.check("cat /tmp/answers/*")
    assert answers.count(VALUE) == 400


def test_the_workers_keep_no_copy_of_a_value(stack, account, outside):
    value = "sk-" + secrets.token_hex(16)
    sandbox = with_rule(account.api, value, (HOST, "other.test"))
    assert is_served(sandbox, value)
    assert account.api.request("PUT", "/v1/secrets/own", {"hosts": [HOST]}).status == 200
    wait_until(lambda: stack.row(sandbox.id)["network_due_at_ms"] is None, 60, "the dispatcher's turn")
    found = [name for name in ("sandlot-api", "sandlot-dispatcher", "sandlot-gate")
             for pid in stack.processes(name) if value.encode() in memory(pid)]
    assert not found


def memory(pid):
    """All that a process may write."""
    found = b""
    with open(f"/proc/{pid}/maps", encoding="ascii") as maps, open(f"/proc/{pid}/mem", "rb") as mem:
        for line in maps:
            span = re.match(r"([0-9a-f]+)-([0-9a-f]+) rw", line)
            if span:
                start, end = (int(one, 16) for one in span.groups())
                with contextlib.suppress(OSError, OverflowError, ValueError):
                    mem.seek(start)
                    found += mem.read(end - start)
    return found


def statements(stack):
    return int(stack.query("SHOW GLOBAL STATUS LIKE 'Com_stmt_execute'")[0]["Value"])


def test_a_policy_full_of_mentions_costs_as_much_as_one_of_each(stack, account):
    """Some twenty thousand mentions of one secret; other programs run some statements meanwhile."""
    sandbox = with_rule(account.api, hosts=["*"])
    names = ["Authorization", "Api-Key", "Apikey", "Cookie", "Job-Token", "X-Token", "X-Api-Key", "Private-Token"]
    headers = {name: "${secrets.own}" * 70 for name in names}
    before = statements(stack)
    answer = account.api.request("PUT", f"{sandbox.path}/network", {
        "allow_internet_access": False, "rules": [{"host": f"h{number}.test", "headers": headers} for number in range(32)]})
    assert answer.status == 200, answer
    assert statements(stack) - before < 5000


# --- a part is away ---


class Asking:
    """A program in a sandbox that repeats its requests, also to the server's own address. Incus reads its answers,
    because nginx may be stopped."""

    def __init__(self, sandbox, outside):
        self.read = lambda: sandbox.stack.incus.raw("GET", path)
        path = f"/1.0/instances/{sandbox.instance}/files?path=/tmp/codes"
        sandbox.data.upload("/tmp/ask.sh", f"""
            while sleep 0.2; do
                for to in "" "--resolve {HOST}:443:{outside.address}"; do
                    curl -s -o /dev/null --max-time 3 -w '%{{http_code}}\\n' $to https://{HOST}/ >>/tmp/codes
                done
            done""".encode())
        sandbox.data.background("bash", "/tmp/ask.sh")
        self.wait_for("200")

    def codes(self):
        status, text = self.read()
        return text.decode().split() if status == 200 else []

    def wait_for(self, *wanted, among=0):
        """Until each was answered behind the first so many answers; how many answers there are."""
        return wait_until(lambda: set(wanted) <= set((codes := self.codes())[among:]) and len(codes), 60, f"{wanted}")

    def wait_for_more(self, count=8):
        before = len(self.codes())
        wait_until(lambda: len(self.codes()) >= before + count, 60, "more answers")


def nginx(stack, act):
    """As the set-up does it."""
    source = pathlib.Path(__file__).parents[3]
    script = (f"SOURCE_DIR={source}; . {source}/scripts/lib/load.sh; settings_defaults; STACK={stack.root.name}; "
              f"settings_derive; nginx_{act}")
    subprocess.run(["bash", "-c", script], check=True, capture_output=True)


@pytest.mark.one_host
def test_without_nginx_nothing_passes_and_afterwards_the_rules_are_there(stack, account, outside):
    asking = Asking(with_rule(account.api), outside)
    nginx(stack, "stop")
    try:
        asking.wait_for_more()
        before = len(outside.requests())
        asking.wait_for_more()
        assert len(outside.requests()) == before
    finally:
        nginx(stack, "start")
    asking.wait_for("200", among=len(asking.codes()))


def test_without_a_database_known_rules_serve_and_lost_ones_are_closed(stack, account, outside):
    """The firewall has the values in memory alone: after its restart nothing passes until the database is there."""
    asking = Asking(with_rule(account.api), outside)
    daemon = stack.daemon("database")
    daemon.stop()
    try:
        asking.wait_for("200", among=len(asking.codes()))
        FirewallProcess(stack).restart()
        closed = asking.wait_for("503", among=len(asking.codes()))
        before = len(outside.requests())
        asking.wait_for_more()
        assert len(outside.requests()) == before and "200" not in asking.codes()[closed:]
    finally:
        daemon.start(stack.database_answers)
    asking.wait_for("200", among=len(asking.codes()))
