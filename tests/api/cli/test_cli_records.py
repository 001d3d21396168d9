# SPDX-License-Identifier: GPL-2.0-or-later
"""sandlot: logs, forks, ports, SSH keys, members and webhooks."""

import base64
import json
import pathlib
import re
import subprocess
import unicodedata

import pytest

from cli import Cli
from stack import wait_until

pytestmark = pytest.mark.parallel


@pytest.fixture
def cli(stack, account, tmp_path):
    return Cli(stack, tmp_path, account.api.key)


def test_logs_and_their_streams(cli, sandbox):
    sandbox.data.bash("echo to stdout; echo to stderr >&2; printf 'no \\377 text'")
    done = cli("logs", sandbox.id)
    assert done.returncode == 0 and done.stdout == b"to stdout\nno \xff text" and done.stderr == b"to stderr\n", done
    streams = {"stdout": b"", "stderr": b""}
    for entry in map(json.loads, cli.say("logs", sandbox.id, "--json").splitlines()):
        data = entry["data"].encode() if entry["encoding"] == "utf-8" else base64.b64decode(entry["data"])
        streams[entry["stream"]] += data
    assert streams == {"stdout": done.stdout, "stderr": done.stderr}
    assert cli.say("logs", sandbox.id, "--to", "1d") == ""
    assert cli("logs", sandbox.id, "--from", "1d").stdout == done.stdout
    with cli.begin("logs", "-f", sandbox.id, stdout=subprocess.PIPE) as following:
        assert following.stdout.readline() == b"to stdout\n"
        sandbox.data.check("echo; echo later")
        assert following.stdout.readline() == b"no \xff text\n"
        assert following.stdout.readline() == b"later\n"
        following.terminate()


def test_a_terminal_gets_no_control_characters_of_a_log(cli, sandbox):
    sandbox.data.check("printf 'a\\033[31mb\\n'")
    terminal = cli.terminal("logs", sandbox.id)
    terminal.expect("a?[31mb")
    assert terminal.wait() == 0


def test_metrics_are_listed(cli, sandbox):
    wait_until(lambda: len(cli.say("metrics", sandbox.id).splitlines()) > 1, 60, "a sample")
    assert cli.json("metrics", sandbox.id)["memory_mb"] == sandbox.document["memory_mb"]
    rows = lines_of(cli, "metrics", sandbox.id, cols=200)[1:]
    assert all("ago" in row or "now" in row for row in rows) and any("MiB" in row for row in rows), rows
    assert "MiB" not in cli.say("metrics", sandbox.id)


def test_forks_are_made_and_refused(cli, sandbox):
    sandbox.data.check("echo kept >/tmp/kept")
    made = cli.say("fork", sandbox.id, "--count", "2", "--timeout", "10m").split()
    assert len(set(made)) == 2 and sandbox.id not in made, made
    for fork in made:
        assert cli.say("exec", "-n", fork, "cat", "/tmp/kept") == "kept\n"
        assert cli.json("show", fork)["forked_from"] == sandbox.id
    assert cli("fork", sandbox.id, "--count", "none").returncode == 2


def test_durations_have_units(cli, sandbox):
    until = cli.say("timeout", sandbox.id, "50m").strip()
    assert cli.say("extend", sandbox.id, "5m").strip() == until
    assert cli.say("extend", sandbox.id, "55m").strip() > until
    assert cli.say("timeout", sandbox.id, "1m30s").strip() < until
    assert cli.json("show", sandbox.id)["timeout"] == 90
    for wrong in ("1m1h", "1h1h", "h", "1x", ""):
        assert cli("timeout", sandbox.id, wrong).returncode == 2, wrong


def test_services_and_hooks(cli, stack, tmp_path):
    (tmp_path / "services.json").write_text(json.dumps([{"name": "web", "command": "echo up; exec sleep 1000"}]))
    (tmp_path / "hooks.json").write_text(json.dumps({"after_resume": {"command": "true"}}))
    made = cli.say("create", stack.template, "--services", tmp_path / "services.json", "--hooks", tmp_path / "hooks.json").strip()
    assert cli.json("show", made)["hooks"] == {"after_resume": {"command": "true"}}
    wait_until(lambda: cli.say("service", "logs", made, "web") == "up\n", 30, "its output")
    assert re.search(r"^web +running ", cli.say("service", "list", made), re.MULTILINE)
    cli.say("service", "restart", made, "web")
    wait_until(lambda: cli.json("service", "list", made)["services"][0]["restarts"] == 1, 30, "the restart")
    refused = cli("service", "restart", made, "none")
    assert refused.returncode == 3 and b"no service" in refused.stderr, refused
    refused = cli("create", stack.template, "--services", tmp_path / "hooks.json")
    assert refused.returncode and b"JSON array of services" in refused.stderr, refused


def test_ports_are_exposed_and_withdrawn(cli, sandbox):
    url = cli.say("port", "expose", sandbox.id, "3000").strip()
    assert url.startswith("https://p3000-")
    assert [(port["port"], port["public"]) for port in cli.json("port", "list", sandbox.id)["ports"]] == [(3000, False)]
    assert cli.say("port", "expose", sandbox.id, "3000", "--public").strip() == url
    assert cli.json("port", "list", sandbox.id)["ports"][0]["public"]
    cli.say("port", "withdraw", sandbox.id, "3000")
    assert cli.json("port", "list", sandbox.id)["ports"] == []
    assert cli("port", "expose", sandbox.id, "70000").returncode == 2


def test_ssh_keys(cli, tmp_path):
    key = tmp_path / "id"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "laptop", "-f", key], check=True)
    made = cli.say("ssh-key", "add", f"{key}.pub").strip()
    assert [(one["id"], one["name"]) for one in cli.json("ssh-key", "list")["ssh_keys"]] == [(made, "laptop")]
    refused = cli("ssh-key", "add", key)
    assert refused.returncode == 2 and b".pub" in refused.stderr, refused
    assert b"PRIVATE" not in refused.stdout + refused.stderr
    cli.say("ssh-key", "rm", made)
    assert cli.json("ssh-key", "list")["ssh_keys"] == []


def test_members_and_invitations(cli, stack, account, make_account, tmp_path):
    other = make_account()
    team = account.make_team()
    its = Cli(stack, tmp_path / "other", other.api.key)
    cli.say("member", "invite", team, other.user, "--role", "viewer")
    assert [one["team"] for one in its.json("invitation", "list")["invitations"]] == [team]
    its.say("invitation", "accept", team)
    roles = {one["name"]: one["role"] for one in cli.json("member", "list", team)["members"]}
    assert roles == {account.user: "owner", other.user: "viewer"}
    refused = its("create", "--team", team)
    assert refused.returncode == 4 and refused.stderr.endswith(b"You are a viewer of this team; viewers can read only.\n"), refused
    assert cli.say("member", "role", team, other.user, "member") == "member\n"
    cli.say("member", "rm", team, other.user)
    assert other.user not in cli.say("member", "list", team)
    cli.say("member", "invite", team, other.user)
    its.say("invitation", "decline", team)
    assert its.json("invitation", "list")["invitations"] == []
    link = cli.say("link", "create", team, "--role", "viewer", "--uses", "2", "--expires", "1h30m").strip()
    (listed,) = cli.json("link", "list", team)["links"]
    assert (listed["uses_left"], listed["role"]) == (2, "viewer") and listed["id"] in link
    assert its.say("join", link) == f"{team}\n"
    cli.say("link", "rm", team, listed["id"])
    assert cli.json("link", "list", team)["links"] == []
    assert its("join", link).returncode != 0


def test_secrets_and_rules(cli, tmp_path):
    both = ("--host", "*.example.com", "--host", "api.example.com")
    assert cli.say("secret", "set", "llm", *both[2:], stdin=b"hidden\n").strip() == "llm"
    listed = cli.say("secret", "list", "--json")
    (secret,) = json.loads(listed)["secrets"]
    assert (secret["hosts"], secret["version"]) == (["api.example.com"], 1) and "hidden" not in listed
    assert cli("secret", "set", "llm", stdin=b"").returncode != 0
    assert b"give the value again" in cli("secret", "set", "llm", "--keep-value", *both).stderr
    cli.say("secret", "set", "llm", *both, stdin=b"hidden\n")
    cli.say("secret", "set", "llm", "--keep-value", *both[:2])
    rules = [{"host": "api.example.com", "headers": {"X-Api-Key": "${secrets.llm}"}, "methods": ["GET"]}]
    (tmp_path / "rules.json").write_text(json.dumps(rules))
    cli.say("create", "--name", "ruled", "--no-internet", "--rules", tmp_path / "rules.json")
    assert cli.json("network", "show", "ruled")["rules"] == rules
    (tmp_path / "rules.json").write_text("{}")
    assert b"is not a JSON array" in cli("network", "set", "ruled", "--rules", tmp_path / "rules.json").stderr
    proxy = {"type": "http", "host": "api.example.com", "port": 3128, "username": "me", "password": "${secrets.llm}"}
    (tmp_path / "proxy.json").write_text(json.dumps(proxy))
    cli.say("network", "set", "ruled", "--internet", "--egress-proxy", tmp_path / "proxy.json")
    assert cli.json("network", "show", "ruled")["egress_proxy"] == proxy
    (tmp_path / "proxy.json").write_text("null")
    cli.say("network", "set", "ruled", "--internet", "--egress-proxy", tmp_path / "proxy.json")
    assert cli.json("network", "show", "ruled").get("egress_proxy") is None
    cli.say("rm", "ruled")
    cli.say("secret", "rm", "llm")
    assert cli.json("secret", "list")["secrets"] == []


def test_webhooks(cli):
    made = cli.json("webhook", "create", "https://hooks.example.com/x", "--kind", "sandbox.paused")
    assert made["secret"].startswith("whsec_") and made["kinds"] == ["sandbox.paused"]
    assert [one["id"] for one in cli.json("webhook", "list")["webhooks"]] == [made["id"]]
    assert "secret" not in cli.json("webhook", "show", made["id"])
    message = cli.say("webhook", "test", made["id"]).strip()
    assert message in [one["id"] for one in cli.json("webhook", "messages", made["id"])["messages"]]
    assert cli.json("webhook", "resend", made["id"]) == {"resent": 0, "left": 0}
    assert cli("webhook", "resend", made["id"], "whm_" + "0" * 26).returncode == 3, "no such dead letter"
    cli.say("webhook", "rm", made["id"])
    assert cli("webhook", "show", made["id"]).returncode == 3


def lines_of(cli, *words, cols):
    """The words of each line in a terminal, none of which is wider than it."""
    terminal = cli.terminal(*words, cols=cols)
    assert terminal.wait() == 0
    lines = re.sub("\033\\[[0-9]*m", "", terminal.said.decode()).splitlines()
    assert all(len(line) <= cols for line in lines), lines
    return [line.split() for line in lines]


def test_a_list_fits_its_terminal(cli, account):
    key = "名前" * 30
    account.api.post("/v1/keys", {"name": key, "scopes": ["read"]})
    terminal = cli.terminal("key", "list", cols=110)
    assert terminal.wait() == 0
    head, *rows = re.sub("\033\\[[0-9]*m", "", terminal.said.decode()).splitlines()
    (row,) = [row for row in rows if "名" in row]
    assert head.split()[:2] == ["ID", "NAME"], head
    assert "key_" in row and "…" in row and (" ago" in row or "now" in row), row
    assert sum(2 if unicodedata.east_asian_width(one) == "W" else 1 for one in row) <= 110, row
    text = cli.say("key", "list")
    assert key in text and " ago" not in text, text


def test_a_list_of_sandboxes_shows_names_first_and_whole(cli, account):
    made = account.api.create(name="n" * 63)["id"]
    assert lines_of(cli, "list", cols=100) == [["NAME", "ID"], ["n" * 63, made]]
    account.api.request("PATCH", f"/v1/sandboxes/{made}", {"name": "short"})
    (head, row), (whole, _) = lines_of(cli, "list", cols=80), lines_of(cli, "list", cols=200)
    assert head == ["NAME", "ID", "TEAM", "STATE", "UNTIL"], head
    assert row[:4] == ["short", made, account.team, "running"] and row[-1].startswith(("minute", "second")), row
    assert whole == [*head, "CREATED", "CPU", "MEMORY", "TEMPLATE"], whole


def test_a_record_is_a_small_page(cli, account):
    account.api.create(name="small", metadata={"owner": "ada", "lane": "3"})
    page = lines_of(cli, "show", "small", cols=80)
    assert ["name", "small"] in page and ["state", "running"] in page
    at = page.index(["metadata", "owner", "ada"])
    assert page[at + 1] == ["lane", "3"], page
    assert "-" not in {line[-1] for line in page}, page
    assert re.search("^hold_until +-$", cli.say("show", "small"), re.MULTILINE)


def test_a_name_stands_for_the_id(cli, account):
    api = account.api
    made = cli.say("create", "--name", "first", "-l", "kind=x").strip()
    assert api.show(made)["name"] == "first" and api.show(made)["metadata"] == {"kind": "x"}
    refused = cli("create", "--name", "first")
    assert refused.returncode == 1 and b"has a sandbox with the name first" in refused.stderr, refused
    refused = cli("create", "--name", "a b")
    assert refused.returncode == 1 and b"(/name)" in refused.stderr, refused
    assert cli.say("rename", "first", "second") == "second\n"
    assert cli("show", "first").returncode == 3
    shown = cli.say("show", "second").splitlines()
    assert [line.split()[:2] for line in shown[:2]] == [["name", "second"], ["id", made]]
    forked = cli.say("fork", "second", "--name", "copy").strip()
    assert cli.json("show", "copy")["id"] == forked
    # A name in the metadata, from another client, is not the name of the sandbox.
    api.request("PATCH", f"/v1/sandboxes/{made}", {"metadata": {"name": "third"}})
    assert cli("show", "third").returncode == 3
    events = [line.split()[1:4] for line in cli.say("events", "--sandbox", "second").splitlines()]
    assert ["sandbox.created", "second", made] in events, events
    assert cli.say("rename", "second") == f"{made}\n" and api.show(made)["name"] is None
    cli.say("rm", "copy", made)
    assert api.list() == []


def test_a_name_of_two_teams_is_not_guessed(cli, stack, account, tmp_path):
    team = account.make_team()
    both = Cli(stack, tmp_path / "both", account.key("write"))
    ids = [both.say("create", "--name", "shared", "--team", slug).strip() for slug in (account.team, team)]
    done = both("show", "shared")
    assert done.returncode == 1 and b"2 sandboxes have the name 'shared'; give the id of one" in done.stderr, done
    both.say("rm", *ids)


def test_checkpoints_are_named_in_all_verbs(cli, account):
    cli.say("create", "--name", "source", "--timeout", "10m")
    ids = [cli.say("checkpoint", "create", "source", name).strip() for name in ("kept", "kept", "other")]
    head, *rows = cli.say("checkpoint", "list").splitlines()
    assert head.split()[:4] == ["NAME", "VERSION", "ID", "SANDBOX"], head
    assert [row.split()[:4] for row in rows] == [
        ["other", "1", ids[2], "source"], ["kept", "2", ids[1], "source"], ["kept", "1", ids[0], "source"]]
    assert cli.json("checkpoint", "show", "other")["id"] == ids[2]
    assert cli.json("checkpoint", "show", "kept:1")["id"] == ids[0]
    assert cli.json("checkpoint", "show", "kept")["id"] == ids[1], "the newest version"
    done = cli("checkpoint", "rm", "kept")
    assert done.returncode == 1 and b"2 checkpoints have the name 'kept'" in done.stderr, done
    assert cli("checkpoint", "show", "kept:3").returncode == cli("checkpoint", "rm", "nothing").returncode == 3
    cli.say("rm", cli.say("create", "--checkpoint", "kept:1").strip())
    cli.say("checkpoint", "rm", "kept:1")
    cli.say("checkpoint", "rm", "kept", "other")
    assert account.api.get("/v1/checkpoints").json()["checkpoints"] == []


def test_states_are_the_words_of_the_console(cli):
    made = cli.say("create", "--name", "seen", "--on-timeout", "pause").strip()
    assert "running" in cli.say("show", "seen") and cli.json("show", "seen")["state"] == "ready"
    assert cli.say("pause", "seen") == "paused\n"
    assert made in cli.say("list", "--state", "paused") and made not in cli.say("list", "--state", "running")
    assert "paused" in cli.say("list") and "stopped" not in cli.say("list")
    done = cli("list", "--state", "asleep")
    assert done.returncode == 2 and b"resuming" in done.stderr, done
    refused = cli("port", "expose", "seen", "3000")
    assert refused.returncode == 1 and b"The sandbox is paused" in refused.stderr, refused
    cli.say("resume", "seen")
    assert made in cli.say("list", "--state", "running")


def test_extend_never_shortens(cli):
    cli.say("create", "--name", "long", "--timeout", "50m", "--on-timeout", "pause")
    before = cli.json("show", "long")["deadline"]
    assert cli.say("extend", "long", "1m").strip() == before == cli.json("show", "long")["deadline"]
    cli.say("pause", "long")
    cli.say("extend", "long", "1m")
    assert cli.json("show", "long")["timeout"] == 3000
    cli.say("extend", "long", "55m")
    assert cli.json("show", "long")["timeout"] == 3300 and cli.json("show", "long")["state"] == "stopped"
    cli.say("resume", "long")
    assert cli.say("timeout", "long", "5m").strip() < before


def words_of_a_verb(row):
    """The words of a row of doc/reference/cli.md, with a sandbox that is not there."""
    operands = {"PORT": "3000", "HOST": "example.com", "COMMAND": "true", "DURATION": "10m", "FOLDER": "/etc"}
    if row.startswith("cp "):
        return ["cp", "nobody:/etc/hostname", "/tmp"]
    words = re.sub(r" \[[A-Z.]+\]|\[LOCAL:\]|\.\.\.", "", row).replace("TARGET", "nobody:/tmp").split()
    return ["nobody" if word == "SANDBOX" else operands.get(word, word) for word in words]


def test_every_verb_takes_a_name_for_a_sandbox(cli):
    page = (pathlib.Path(__file__).parents[3] / "doc" / "reference" / "cli.md").read_text(encoding="utf-8")
    rows = [row for row in re.findall(r"^\| `sandlot ([a-z-]+ .*?)` \|", page, re.MULTILINE)
            if re.search("SANDBOX|SOURCE|TARGET", row)]
    calls = [words_of_a_verb(row) for row in rows]
    calls += [["events", "--sandbox", "nobody"], ["checkpoint", "list", "--sandbox", "nobody"]]
    assert len(calls) > 25, calls
    for words in calls:
        done = cli(*words)
        assert done.returncode in (3, 125) and b"there is no sandbox 'nobody'" in done.stderr, (words, done)
