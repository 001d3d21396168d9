# SPDX-License-Identifier: GPL-2.0-or-later
"""What an operator does with sandlotctl to users, teams, plans and sandboxes, and that the audit log has it."""

import datetime
import secrets
import subprocess
import threading

import pytest

from client import assert_error
from stack import wait_until
from tenant import Account, Sandbox
from two_hosts import TwoHosts

pytestmark = pytest.mark.parallel


def name():
    return "t" + secrets.token_hex(6)


def refused(stack, *arguments):
    done = stack.ctl(*arguments, check=False)
    assert done.returncode == 1, done.stdout
    return done.stderr


def recorded(stack, action, resource):
    rows = stack.ctl("audit", "--action", action, "--resource", resource, "--limit", "1")
    return rows and (rows["actor_kind"], rows["result"])


def test_a_user_goes_and_what_was_made_stays(stack):
    user, heir = Account(stack), Account(stack)
    sandbox_id = user.api.create(timeout=120)["id"]
    assert "only owner of the team" in refused(stack, "user", "remove", user.user)
    assert user.api.get(f"/v1/sandboxes/{sandbox_id}").status == 200
    assert "no user" in refused(stack, "user", "remove", user.user, "--heir", name())
    stack.ctl("user", "remove", user.user, "--heir", heir.user)
    assert_error(user.api.get("/v1/me"), 401, "unauthorized")
    assert heir.api.get(f"/v1/sandboxes/{sandbox_id}").json()["team"] == user.team
    assert "no such user" in refused(stack, "user", "enable", user.user).lower()
    assert recorded(stack, "user.remove", user.user) == ("operator", "done")
    assert heir.api.delete(f"/v1/sandboxes/{sandbox_id}").status == 204


def test_a_user_without_anything_goes_with_the_personal_team(stack):
    user = Account(stack)
    stack.ctl("user", "remove", user.user)
    assert_error(user.api.get("/v1/me"), 401, "unauthorized")
    stack.ctl("user", "create", user.user)  # the names are free again
    stack.ctl("user", "remove", user.user)


def test_a_team_goes_when_it_holds_nothing(stack, account):
    team = account.make_team()
    sandbox_id = account.api.post("/v1/sandboxes", {"team": team, "timeout": 120}).json()["id"]
    assert "still has sandboxes" in refused(stack, "team", "remove", team)
    assert "personal team" in refused(stack, "team", "remove", account.team)
    assert "cannot be removed" in refused(stack, "team", "remove", "deployment")
    account.api.destroy(sandbox_id)
    wait_until(lambda: stack.row(sandbox_id)["state"] == "destroyed", 60, "the removal")
    stack.ctl("team", "remove", team)
    assert_error(account.api.post("/v1/sandboxes", {"team": team}), 403, "team_forbidden", "/team")
    assert team not in [one["slug"] for one in account.api.get("/v1/teams").json()["teams"]]
    assert team not in [one["slug"] for one in stack.ctl("team", "list")["teams"]]
    assert recorded(stack, "team.remove", team) == ("operator", "done")


def test_what_a_team_and_a_user_once_had_keeps_neither(stack):
    """Deleted rows stay in the database for a while, and hold nothing."""
    user = Account(stack)
    team = user.make_team()
    sandbox_id = user.api.post("/v1/sandboxes", {"team": team, "timeout": 120}).json()["id"]
    volume = user.api.create_volume(team=team, name="once")["id"]
    checkpoint = user.api.post(f"/v1/sandboxes/{sandbox_id}/checkpoints", {"name": "once"}).json()["id"]
    template = f"/v1/templates/once?team={team}"
    made = user.api.post("/v1/templates", {"team": team, "slug": "once", "checkpoint_id": checkpoint})
    assert made.status == 201, made
    wait_until(lambda: user.api.get(template).json()["latest_version"] == 1, 120, "the template")
    for path, what in ((f"/v1/sandboxes/{sandbox_id}", "sandboxes"), (f"/v1/volumes/{volume}", "volumes"),
                       (f"/v1/checkpoints/{checkpoint}", "checkpoints"), (template, "templates")):
        wait_until(lambda what=what: f"still has {what}" in refused(stack, "team", "remove", team), 60, what)
        assert user.api.delete(path).status == 204, path
    wait_until(lambda: stack.ctl("team", "remove", team, check=False).returncode == 0, 60, "the removal of the team")
    stack.ctl("user", "remove", user.user)


@pytest.mark.long
def test_a_command_waits_for_a_slow_database(stack, account):
    """Longer than a request: the set-up of a slow machine must not fail."""
    done = []
    lock = stack.database()
    thread = threading.Thread(target=lambda: done.append(stack.ctl("team", "set-plan", account.team, "pro", check=False)))
    try:
        lock.begin()
        with lock.cursor() as cursor:
            cursor.execute("SELECT id FROM teams WHERE slug = %s FOR UPDATE", account.team)
        thread.start()
        thread.join(25)
        assert not done
        lock.rollback()
    finally:
        lock.close()
        thread.join()
    assert done[0].returncode == 0, done[0].stderr


def test_plans_are_made_and_removed(stack, account):
    plan = name()
    made = stack.ctl("plan", "create", plan, "--from", "pro")
    assert (made["name"], made["sandboxes"]) == (plan, 100)
    assert "already" in refused(stack, "plan", "create", plan, "--from", "pro")
    assert "no plan" in refused(stack, "plan", "create", name(), "--from", name())
    team = account.make_team(plan)
    assert team in refused(stack, "plan", "remove", plan)
    stack.ctl("team", "remove", team)
    stack.ctl("plan", "remove", plan)
    assert "no such plan" in refused(stack, "plan", "remove", plan)
    assert "cannot be removed" in refused(stack, "plan", "remove", "basic")
    assert recorded(stack, "plan.create", plan) == recorded(stack, "plan.remove", plan) == ("operator", "done")


def test_sandboxes_in_an_operators_hands(stack, account):
    sandbox_id = account.api.create(timeout=300, name="work")["id"]
    assert stack.ctl("sandbox", "pause", sandbox_id)["state"] == "stopped"
    words = [word for word, flag in (("paused", []), ("stopped", ["--json"])) if word in subprocess.run(
        [*stack.ctl_command, "status", *flag], capture_output=True, text=True, check=True, timeout=30).stdout]
    assert words == ["paused", "stopped"]
    named = f"{account.team}/work"
    assert stack.ctl("sandbox", "resume", named, "--timeout", "200")["state"] == "ready"
    assert recorded(stack, "sandbox.resume", sandbox_id) == ("operator", "done")
    assert len(stack.ctl("sandbox", "log", named)["lines"]) > 2
    assert "TEAM/NAME" in refused(stack, "sandbox", "pause", "work") and "TEAM/NAME" in refused(stack, "sandbox", "log", "work")
    assert "no sandbox with the name" in refused(stack, "sandbox", "pause", f"{account.team}/other")
    assert account.api.get(f"/v1/sandboxes/{sandbox_id}").json()["timeout"] == 200
    log = [line["text"] for line in stack.ctl("sandbox", "log", sandbox_id)["lines"]]
    for words in ("operation=createSandbox", "sandbox.create begun", "sandbox.pause done by=operator"):
        assert any(words in line for line in log), (words, log)
    stack.ctl("sandbox", "delete", sandbox_id)
    assert_error(account.api.get(f"/v1/sandboxes/{sandbox_id}"), 404, "not_found")
    assert "no such sandbox" in refused(stack, "sandbox", "delete", sandbox_id).lower()
    # The team's owner sees what the operator did.
    seen = [(one["action"], one["actor"]["kind"], one["result"])
            for one in account.api.get(f"/v1/audit?resource={sandbox_id}").json()["items"]]
    for action in ("sandbox.pause", "sandbox.resume", "sandbox.delete"):
        assert (action, "operator", "begun") in seen and (action, "operator", "done") in seen


def test_whoami(stack):
    assert stack.ctl("whoami")["base_url"] == stack.settings["base_url"]


def test_the_help_of_a_command_explains_its_options(stack):
    def explained(*words):
        done = subprocess.run([*stack.ctl_command, *words, "--help"], capture_output=True, text=True, timeout=30,
                              check=True)
        usage, options = done.stdout.partition("\nExamples:\n")[0].split("\nOptions:\n")
        return usage, {line.split()[0]: line for line in options.splitlines() if line}

    usage, options = explained("key", "create")
    assert usage.startswith("usage: sandlotctl key create --user USER --scope read|write [--team SLUG]...")
    assert set(options) == {"--user", "--scope", "--team", "--expires", "--name"}
    assert options["--user"].endswith("user of the key (required)") and "90d" in options["--expires"]
    assert "1h30m" in explained("sandbox", "resume")[1]["--timeout"]


def test_the_help_is_grouped(stack):
    def say(*words):
        return subprocess.run([*stack.ctl_command, *words], capture_output=True, text=True, timeout=30, check=False)

    listed = say("--help").stdout
    assert "\n\nKeys:\n  key create " in listed and "\n\nBackups:\n  backup DIR " in listed and "__manual" not in listed
    assert listed.endswith(say("help").stdout)
    assert say("help", "key", "create").stdout == say("key", "create", "--help").stdout
    group = say("keyring", "--help")
    assert group.returncode == 0 and "  keyring reseal " in group.stdout and "key create" not in group.stdout
    alone = say("keyring")
    assert alone.returncode == 2 and "needs another word" in alone.stderr and group.stdout in alone.stderr
    wrong = say("keyring", "resael")
    assert wrong.returncode == 2 and "did you mean 'keyring reseal'?" in wrong.stderr
    assert say("help", "nothing").returncode == 1


def test_spans_have_several_units(stack, account):
    made = stack.ctl("key", "create", "--user", account.user, "--scope", "read", "--expires", "1h30m")
    left = datetime.datetime.fromisoformat(made["expires_at"]) - datetime.datetime.now(datetime.timezone.utc)
    assert abs(left.total_seconds() - 5400) < 600
    assert "1h30m" in refused(stack, "key", "create", "--user", account.user, "--scope", "read", "--expires", "soon")
    assert stack.ctl("audit", "--since", "1h30m", "--action", "user.create", "--resource", account.user)["result"] == "done"
    assert stack.ctl("audit", "--until", "1h30m", "--action", "user.create", "--resource", account.user) is None


def test_columns_stand_below_each_other_with_wide_characters(stack, account):
    stack.ctl("key", "create", "--user", account.user, "--scope", "read", "--name", "名前")
    shown = subprocess.run([*stack.ctl_command, "key", "list", "--user", account.user], capture_output=True, text=True,
                           timeout=30, check=True).stdout
    head, row = (next(line for line in shown.splitlines() if word in line) for word in ("SCOPE", "名前"))
    assert head.index("SCOPE") == row.index(" read ") + 1 + len("名前"), shown


@pytest.mark.one_host
def test_a_host_that_is_changed_keeps_what_is_left_out(stack):
    hosts = TwoHosts(stack)
    options = hosts.options("local")
    pairs = dict(zip(options[::2], options[1::2]))
    kept = ("--server-cert", "--network", "--memory-overcommit", "--disk-overcommit", "--firewall", "--relay")
    required = [word for option, value in pairs.items() if option not in kept for word in (option, value)]
    same = ("firewall", "relay", "network", "memory_overcommit", "vcpus")
    before = hosts.host("local")
    disks = before["disk_overcommit"] + 1
    try:
        hosts.add("local", [*required, "--disk-overcommit", str(disks)])
        hosts.add("local", required)
        after = hosts.host("local")
        assert after["disk_overcommit"] == disks
        assert {one: after[one] for one in same} == {one: before[one] for one in same}
        hosts.add("local", [*required, "--network", before["range"]])
        hosts.add("local", [*required, "--network", "none"])
        assert hosts.host("local")["network"] is None
    finally:
        hosts.add("local", options)


@pytest.mark.parametrize("verb", ["rm", "remove", "delete"])
def test_one_word_removes(stack, verb):
    user = name()
    stack.ctl("user", "create", user)
    stack.ctl("user", verb, user)
    assert recorded(stack, "user.remove", user) == ("operator", "done")


def test_status_tells_what_the_warm_pool_had(make_account, stack):
    """The first sandbox of an unusual size starts cold, and the status shows the reason."""
    account = make_account("pro")
    for _ in range(4):  # the status lists the most frequent sizes
        sandbox = Sandbox.create(account.api, memory_mb=1408)
        account.api.destroy(sandbox.id)
    row = next(row for row in stack.ctl("status")["warm_pool"] if row["memory_mb"] == 1408)
    assert row["template"] == stack.template
    assert row["creates"] >= 4 and row["warm"] <= row["creates"]
    assert bool(row["why_cold"]) == (row["warm"] < row["creates"])
