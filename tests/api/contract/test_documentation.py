# SPDX-License-Identifier: GPL-2.0-or-later
"""The documentation, as a reader takes it: requests are made, and what it names is there."""

import pathlib
import re
import secrets
import shlex
import subprocess

import pytest

from leavings import delete_recipe_files
from stack import wait_until

pytestmark = pytest.mark.parallel

ROOT = pathlib.Path(__file__).parents[3]
PAGES = sorted(ROOT.glob("doc/**/*.md")) + [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")]


def text_of(page):
    return (ROOT / page).read_text(encoding="utf-8")


def commands(page, begin=None):
    """The indented blocks of a page, from a heading on. Fenced blocks are output, or in another language."""
    text = re.sub(r"^```.*?^```$", "", text_of(page), flags=re.MULTILINE | re.DOTALL)
    text = text[text.index(begin):] if begin else text
    return "\n".join(re.findall(r"^    (.*)$", text, re.MULTILINE))


def requests_of(page):
    """The commands of a page, from the environment of the quickstart on."""
    return commands(page, "    . run/quickstart.env")


def run(stack, account, script):
    variables = {"SANDLOT_URL": stack.base_url, "SANDLOT_CA": stack.ca_file,
                 "SANDLOT_KEY": account.api.key}
    known = "\n".join(f"{name}={shlex.quote(str(value))}" for name, value in variables.items())
    for name, value in variables.items():
        script = re.sub(rf"^(export )?{name}=.*", f"{name}={shlex.quote(str(value))}", script, flags=re.MULTILINE)
    for old, new in ((". run/quickstart.env", known), ("--silent", "--fail-with-body --silent"),
                     ('"demo"', f'"{account.team}"'), ("team=demo", f"team={account.team}"),
                     (r'\"demo\"', rf'\"{account.team}\"')):
        script = script.replace(old, new)
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=ROOT, capture_output=True,
                          text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def assert_in_order(said, *expected):
    for part in expected:
        assert part in said, (part, said)
        said = said[said.index(part) + len(part):]


def test_the_five_requests_of_the_readme(make_account, stack):
    said = run(stack, make_account("pro"), requests_of("README.md"))
    assert_in_order(said, "hello world\n", '[{"name":"README.md"', "\nstopped\n204\n")


def test_the_first_sandbox(make_account, stack):
    said = run(stack, make_account("pro"), requests_of("doc/tutorial/first-sandbox.md"))
    assert_in_order(said, '","ready"]\nhello world\n\n[{"name":"README.md"', "\n# sandlot\n0\nhttps://", "hello world\n",
                    '",1]\n204\n204\nstopped\nmemory\nhello world\n204\n')


@pytest.fixture
def curl_settings(stack, tmp_path, monkeypatch):
    """Pages for a service with a name in the DNS and a certificate that the system trusts: both are settings of curl."""
    (tmp_path / ".curlrc").write_text(f'connect-to = "::127.0.0.1:"\ncacert = "{stack.ca_file}"\nfail-with-body\n',
                                      encoding="utf-8")
    monkeypatch.setenv("CURL_HOME", str(tmp_path))


def run_in_sandbox(stack, account, page, end="no such line"):
    """The commands of a page before an end, with ID as the id of a sandbox."""
    script = commands(page).partition(end)[0]
    return run(stack, account, script.replace("ID=sbx_…", f"ID={account.api.create()['id']}"))


@pytest.mark.usefixtures("curl_settings")
def test_volumes(make_account, stack):
    said = run(stack, make_account("pro"), commands("doc/howto/volumes.md") + '\necho "$ID"')
    assert_in_order(said, '"path":"/docs/README.md"', '"name":"README.md"', "sbx_")


@pytest.mark.usefixtures("curl_settings")
def test_the_network_policy(make_account, stack):
    said = run_in_sandbox(stack, make_account("pro"), "doc/howto/limit-the-network.md")
    assert_in_order(said, '"status":"applied"', '"verdict":"allow"', '"denials":[]')


@pytest.mark.usefixtures("curl_settings")
def test_an_exposed_port(make_account, stack):
    said = run_in_sandbox(stack, make_account("pro"), "doc/howto/expose-a-port.md")
    assert_in_order(said, '"exit_code":0', "https://p3000-", "?access_token=slt_")


@pytest.mark.usefixtures("curl_settings")
def test_the_data_plane_and_commands(make_account, stack):
    account = make_account("pro")
    said = run_in_sandbox(stack, account, "doc/reference/data-plane.md", end="BODY=")
    assert_in_order(said, '"entries":[', '"processes":[', "/files?path=/home/user/README.md&signature=v1_")
    said = run_in_sandbox(stack, account, "doc/reference/commands.md")
    assert_in_order(said, '"stdout":"Linux\\n"', '"exit_code":', "event: start", "event: stdout", "event: exit")


@pytest.mark.usefixtures("curl_settings")
def test_a_pause_when_idle(make_account, stack):
    said = run(stack, make_account("pro"), commands("doc/howto/pause-when-idle.md"))
    assert_in_order(said, '"auto_resume":true', '"idle_timeout":900')


@pytest.mark.usefixtures("curl_settings")
def test_a_webhook(make_account, stack):
    page = commands("doc/howto/webhooks.md").partition("webhook_networks_open")[0]
    said = run(stack, make_account("pro"), page.replace("https://example.com/hook", "http://127.0.0.1:9/hook"))
    assert_in_order(said, '"secret":"whsec_')


@pytest.mark.usefixtures("curl_settings")
def test_egress_proxies(make_account, stack):
    said = run_in_sandbox(stack, make_account("pro"), "doc/howto/leave-through-a-proxy.md")
    assert_in_order(said, '"name":"way"', '"password":"${secrets.way}"', '"status":"applied"', '"denials":[]')


def test_services_and_hooks(make_account, stack):
    said = run(stack, make_account("pro"), commands("doc/howto/services.md"))
    assert_in_order(said, '["web","', "stopped\ndisk\nrunning\n")


@pytest.mark.long
@pytest.mark.alone  # its commands have five minutes together
def test_building_a_template(make_account, stack, tmp_path):
    """The builds of the page, without its registries, secrets and packages of Debian."""
    account, page = make_account("pro"), "doc/howto/build-a-template.md"
    by_hand = commands(page, "## Build from a Dockerfile").split("sandlot template build mine app --registry-user")[0]
    over_api = commands(page, "## Build over the API").replace(". SOURCE/run/", ". run/")
    script = "\n".join([
        ". run/quickstart.env", "export SANDLOT_URL SANDLOT_KEY SANDLOT_CA", f"PATH={stack.root}/build:$PATH",
        f"cd {tmp_path}; export HOME=$PWD", by_hand, over_api])
    script = script.replace("apt-get update && apt-get install -y jq", "true").replace("FROM python", f"FROM {stack.template}")
    script = script.replace(r'\"python\"', rf'\"{stack.template}\"')
    try:
        said = run(stack, account, script)
        assert_in_order(said, "1\n", "hello from my template\n", "2\n", "It works\n", "building\n", '"size":', "\n2\n3\n")
        versions = "/v1/templates/api/versions"
        wait_until(lambda: {row["state"] for row in account.api.get(versions).json()["versions"]} == {"ready"}, 120, "the builds")
        assert account.api.get("/v1/templates/mine").json()["latest_version"] == 2
    finally:
        for slug in ("mine", "api"):
            account.api.delete(f"/v1/templates/{slug}")
        delete_recipe_files(stack)


def with_sandlot(stack, script, folder):
    """The command line of this build, in an empty folder that is the home."""
    return "\n".join([". run/quickstart.env", "export SANDLOT_URL SANDLOT_KEY SANDLOT_CA",
                      f"cd {folder}; export HOME=$PWD PATH={stack.root}/build:$PATH", script])


def test_the_command_line(make_account, stack, tmp_path):
    for name, text in (("src/main.py", "print(1)\n"), ("tests/run", "#!/bin/sh\necho $MODE of the tests\n")):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "tests" / "run").chmod(0o755)
    script = commands("doc/reference/cli.md")
    for old, new in (("sandlot login https://api.sandbox.example.com",
                      'sandlot login "$SANDLOT_URL" <<<"$SANDLOT_KEY"; unset SANDLOT_URL SANDLOT_KEY SANDLOT_CA'),
                     ("sandlot shell work", "sandlot exec work cat project/main.py"), ("sandlot events --follow", "timeout 3 sandlot events --follow || [ $? = 124 ]")):
        assert old in script
        script = script.replace(old, new)
    said = run(stack, make_account("pro"), with_sandlot(stack, script, tmp_path))
    assert_in_order(said, "42\n", "print(1)\n", "test of the tests\n", "sandbox.created", "sandbox.deleted")


@pytest.mark.usefixtures("curl_settings")
def test_managing_a_team(make_account, stack, tmp_path):
    owner, bob = make_account("pro"), make_account()
    team = owner.make_team()
    stack.ctl("team", "add-member", team, "--user", bob.user, "--role", "viewer")
    page = commands("doc/howto/manage-your-team.md").replace("SANDLOT_URL=https://api.sandbox.example.com\n", "")
    for old, new in (("OWNER=slk_…", f"sandlot member rm {team} {bob.user}; OWNER=$SANDLOT_KEY"), ("BOB=slk_…", f"BOB={bob.api.key}"),
                     ("sandlot invitation", f"env SANDLOT_KEY={bob.api.key} sandlot invitation"),
                     ("acme", team), ("bob", bob.user), ("keys/ID", f"keys/$(sandlot key create other --team {team} --json | jq -r .id)")):
        assert old in page, old
        page = page.replace(old, new)
    said = run(stack, owner, with_sandlot(stack, page, tmp_path))
    assert_in_order(said, bob.user, "/join#lnk_", '"role":"viewer"', f'"team":"{team}"', '"items":[')


@pytest.mark.usefixtures("curl_settings")
def test_requests_of_the_reference(make_account, stack):
    account = make_account("pro")
    begin = f". run/quickstart.env\nID={account.api.create()['id']}\n"
    for page, expected in (("api", ['"state":"ready"', '"openapi":', '"job":"nightly"']), ("states", ["ready\n", '"sandboxes":[{']),
                           ("limits", ['"limits":{']), ("sign-ins", [f'"name":"{account.user}"']), ("events", ['"events":['])):
        lines = re.findall(r"^    (curl (?:.*\\\n)*.*)$", text_of(f"doc/reference/{page}.md"), re.MULTILINE)
        said = run(stack, account, begin + "\n".join(lines).replace("team=acme", f"team={account.team}"))
        assert_in_order(said, *expected)


def as_operator(stack, page, folder, begin=None, until="no such line", **names):
    """The commands of sandlotctl of a page, from a sentence to a line, with other names, in a folder."""
    script = commands(page, begin).partition(until)[0]
    for old, new in names.items():
        script = re.sub(rf"\b{old}\b", new, script)
    program = shlex.join(map(str, stack.ctl_command))
    script = f'sandlotctl() {{ {program} "$@"; }}\ncd {folder}\n' + script
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", script], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.alone
def test_pages_of_operators(stack, tmp_path):
    """Users, plans, the audit log and egress profiles, pasted in the order of their pages."""
    mark = secrets.token_hex(4)
    names = {name: f"{name}-{mark}" for name in ("alice", "bob", "acme", "untrusted", "pro", "ci")}
    stack.ctl("plan", "create", names["pro"], "--from", "pro")
    try:
        said = as_operator(stack, "doc/howto/users-and-keys.md", tmp_path, **names)
        assert_in_order(said, "slk_", names["bob"], names["untrusted"], "/invite#inv_")
        said = as_operator(stack, "doc/howto/audit-log.md", tmp_path, begin="Operators use", until="journalctl", **names)
        assert_in_order(said, "team.set_plan", names["acme"], "rows are unchanged")
        assert '"action"' in (tmp_path / "audit.jsonl").read_text(encoding="utf-8")
        said = as_operator(stack, "doc/howto/egress-profiles.md", tmp_path, begin="Run these", until="sandlotctl profile show package", **names)
        assert_in_order(said, "git.example.com:443")
    finally:
        stack.ctl("team", "remove-member", "deployment", "--user", names["alice"], check=False)
        stack.ctl("team", "set-plan", names["acme"], "basic", check=False)
        for plan in ("untrusted", "pro"):
            stack.ctl("plan", "remove", names[plan], check=False)


def test_variables_are_set_on_their_page():
    """Each page can be pasted alone: it sets its variables, or says what the three of sandlot and ID are."""
    missing = []
    for page in [*PAGES, ROOT / "clients/php/README.md"]:
        text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        known = {"SANDLOT_URL", "SANDLOT_KEY", "SANDLOT_CA", "HOME", "PATH", "PWD"} | ({"ID"} if "`ID`" in text else set())
        for line in re.findall(r"^ {4,}(\S.*)$", text, re.MULTILINE):
            known.update(re.findall(r"(?:^|[;\s(])(?:export )?([A-Za-z_]\w*)(?:=| in )", line))
            used = set(re.findall(r"(?<!\\)\$\{?([A-Z_]\w*)", re.sub(r"'[^']*'", "", line)))
            missing += [(str(page.relative_to(ROOT)), name, line) for name in used - known]
    assert not missing


def anchors_of(page):
    """The headings of a page, as links name them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_and_files_are_there(page):
    """Links between pages, and paths of the tree that a page names."""
    text = page.read_text(encoding="utf-8")
    for link, anchor in re.findall(r"\]\(([^)#:]*)(?:#([^)]*))?\)", text):
        target = page.parent / link if link else page
        assert target.exists(), link
        assert not anchor or anchor in anchors_of(target), (link, anchor)
    for path in re.findall(r"`((?:conf|scripts|sql|tests|fcgi)/[\w./-]+)`", text):
        if "NN" not in path and "NAME" not in path and not re.search(r"note", path):
            assert (ROOT / path).exists(), path
    for path in re.findall(r"^    (scripts/[\w-]+)", text, re.MULTILINE):
        assert (ROOT / path).exists(), path


def test_commands_of_sandlotctl_are_there(stack):
    """Each `sandlotctl` command in the code of a page, in a line or a block, is one that the program knows."""
    known = subprocess.run([*stack.ctl_command, "--help"], capture_output=True, text=True,
                           check=True).stdout
    for page in PAGES:
        code = "\n".join(re.findall(r"`[^`\n]+`|^ {4}.*$", page.read_text(encoding="utf-8"), re.MULTILINE))
        for words in re.findall(r"sandlotctl ((?:[a-z][a-z-]*)(?: [a-z][a-z-]*)?)", code):
            first, *second = words.split()
            pair = f"{first} {second[0]}" if second else first
            assert re.search(rf"^\s*({re.escape(pair)}|{re.escape(first)})\b", known, re.MULTILINE), (page.name, words)


def test_commands_of_sandlot_are_there(stack):
    """Each `sandlot` command of a block, with its options, is one that the program knows."""
    program, helps = stack.root / "build" / "sandlot", {}

    def help_of(*words):
        if words not in helps:
            helps[words] = subprocess.run([program, *words, "--help"], capture_output=True, text=True, check=False)
        return helps[words]

    for page in PAGES:
        for line in re.findall(r"^    sandlot ([a-z]+ .*)$", page.read_text(encoding="utf-8").replace("\\\n", ""), re.MULTILINE):
            words = line.split(" #")[0].split(" -- ")[0].split()
            verb = next((tuple(words[:n]) for n in (2, 1) if help_of(*words[:n]).returncode == 0), None)
            assert verb, (page.name, line)
            # After exec come the words of the command in the sandbox.
            for option in re.findall(r"(?<= )--[a-z][a-z-]*", line if verb != ("exec",) else ""):
                assert option in help_of(*verb).stdout, (page.name, line, option)


def test_settings_are_there():
    """A name in the form of a setting, with a value behind it, is a setting."""
    known = set(re.findall(r"SETTING_(?:STRING|NUMBER|CHOICE)\((\w+)",
                           text_of("fcgi/drivers/config/settings.def"))) | {
        f"{name}_socket" for name in re.findall(r"^POOL\((\w+),", text_of("fcgi/drivers/config/pools.def"), re.MULTILINE)}
    for page in PAGES:
        for name in re.findall(r"^    ([a-z]\w+_\w+) = ", page.read_text(encoding="utf-8"), re.MULTILINE):
            assert name in known, (page.name, name)


def test_units_are_there():
    pools = re.findall(r"^POOL\((\w+),", text_of("fcgi/drivers/config/pools.def"), re.MULTILINE)
    units = {path.name.removesuffix(".in") for path in (ROOT / "conf" / "systemd").iterdir()} | {
        f"sandlot-{name}.{kind}" for name in pools for kind in ("service", "socket")}
    for page in PAGES:
        for name in re.findall(r"systemctl [^\n&|]*?(sandlot[\w.-]*)", page.read_text(encoding="utf-8")):
            assert name in units or f"{name}.service" in units or f"{name}.target" in units, (page.name, name)


def test_nginx_is_reloaded_as_a_service():
    """After a check of its files, as the packages do it: `nginx -s` signals a process that systemd may not know."""
    scripts = [path for folder in ("tests/machine", "conf", "debian") for path in ROOT.joinpath(folder).rglob("*") if path.is_file()]
    for path in [*PAGES, *scripts]:
        assert "nginx -s " not in path.read_text(encoding="utf-8", errors="replace"), path


def test_the_page_of_programs_lists_what_is_installed(stack):
    """Each program and script of "make install", and none that is not installed."""
    prefix = stack.root / "prefix"
    installed = {path.name for folder in ("bin", "sbin", "libexec") for path in (prefix / folder).rglob("*")
                 if path.is_file()}
    listed = {name for row in re.findall(r"^\| (`.*?) \|", text_of("doc/reference/programs.md"), re.MULTILINE)
              for name in re.findall(r"`([^`]+)`", row)}
    assert listed == installed


def first_cells(page):
    """The quoted names in the first cell of each row of a page's tables."""
    return [name for row in re.findall(r"^\| (`.*?) \|", text_of(page), re.MULTILINE)
            for name in re.findall(r"`([^`]+)`", row)]


def links_of(page):
    return set(re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text_of(page)))


def test_the_index_has_every_page():
    """The faults of upstream have an index of their own. Pages outside doc/ do not count."""
    upstream = {f"dev/upstream/{page}" for page in links_of("doc/dev/upstream/README.md") if "/" not in page}
    index = {page for page in links_of("doc/README.md") if not page.startswith("../")} | upstream
    pages = {str(page.relative_to(ROOT / "doc")) for page in ROOT.glob("doc/**/*.md")} - {"README.md"}
    assert index == pages


def test_the_page_of_errors_is_the_table():
    rows = re.findall(r"^\| `(\w+)` \| (\d+) \|", text_of("doc/reference/errors.md"), re.MULTILINE)
    table = re.findall(r'^X\(\w+, "(\w+)", (\d+)\)', text_of("fcgi/base/error_codes.def"), re.MULTILINE)
    shown = table[:[code for code, _ in table].index("insufficient_storage") + 1]
    assert set(rows) == set(shown) | {("not_served", "501")}


def test_the_page_of_the_data_plane_has_the_agents_own_errors():
    known = set(re.findall(r"^\| `(\w+)` \| \d+ \|", text_of("doc/reference/errors.md"), re.MULTILINE))
    own = [(code, status) for status, code in re.findall(r', (\d+), "(\w+)", (?:NO_)?RETRY\)$', text_of(
        "fcgi/guest/agent/common/rpc_errors.def"), re.MULTILINE) if code not in known]
    rows = re.findall(r"^\| `(\w+)` \| (\d+)(?:, (\d+))? \|", text_of("doc/reference/data-plane.md"), re.MULTILINE)
    assert own
    assert {(code, status) for code, *statuses in rows if code not in known for status in statuses if status} == set(own)


def test_the_page_of_events_has_every_kind():
    kinds = re.findall(r'^EVENT\(\w+, "([\w.]+)"\)', text_of("fcgi/concepts/event/event_kinds.def"), re.MULTILINE)
    assert sorted(name for name in first_cells("doc/reference/events.md") if "." in name) == sorted(kinds)


def test_the_page_of_metrics_has_every_name():
    sources = "".join(text_of(path) for path in ("fcgi/base/counters.def", "fcgi/concepts/metrics/gauges_db.c",
                                                 "fcgi/front/api/exposition.c"))
    names = set(re.findall(r'"(sandlot_\w+)[" ]', sources))
    assert set(first_cells("doc/reference/metrics.md")) == names


def test_the_page_of_limits_has_the_first_plans():
    """The values that a new deployment starts with."""
    columns, rows = re.search(r"INSERT INTO plans \((.*?)\) VALUES\s+(.*?);", text_of("sql/0001-schema.sql"),
                              re.DOTALL).groups()
    plans = [dict(zip(re.split(r",\s*", columns), re.findall(r"'[^']*'|\d+", row)))
             for row in re.findall(r"\(([^()]*)\)", rows)]
    shown = {name: [cell.strip().replace(",", "") for cell in cells.split("|")] for name, cells in
             re.findall(r"^\| ([\w ()`,]+?) \| (.*?) \|$", text_of("doc/reference/limits.md"), re.MULTILINE)}
    for row, column in (("running sandboxes", "sandboxes"), ("vCPUs of all running sandboxes", "vcpus"),
                        ("paused sandboxes", "stopped_sandboxes"), ("checkpoints", "checkpoints")):
        assert shown[row] == [plan[column] for plan in plans], row
    assert shown["disk of a sandbox"] == [f"{plan['disk_gb']} GiB" for plan in plans]
    assert shown["process logs of a sandbox (`process_log_kib`)"] == [f"{plan['process_log_kib']} KiB" for plan in plans]


def test_how_tos_have_commands():
    """A how-to is for doing: it shows a command, a setting, a file or numbered steps, before its second heading."""
    for page in sorted(ROOT.glob("doc/tutorial/*.md")) + sorted(ROOT.glob("doc/howto/*.md")):
        begin = page.read_text(encoding="utf-8").split("\n## ", 2)[:2]
        assert any(re.search(r"^ {4,}\S|^```|^1\. ", part, re.MULTILINE) for part in begin), page.name


def test_a_paused_sandbox_is_called_paused():
    """People read one word for a state. `stopped` is the value of the API, and stands in the form of code."""
    wrong = re.compile(r"stopped sandbox|sandbox(?:es)? (?:is|are|was|were|stays?) (?:not )?stopped|sandbox stop\b"
                       r"|stop or delete|runtime hosts?\b", re.IGNORECASE)
    sources = [path for folder, pattern in (("fcgi", "**/*.[ch]"), ("fcgi", "**/*.def"), ("conf", "**/*.json"), ("conf/man", "*"),
                                            ("console/src", "**/*.tsx")) for path in ROOT.joinpath(folder).glob(pattern)]
    found = [(str(path.relative_to(ROOT)), match.group()) for path in [*PAGES, ROOT / "NEWS", ROOT / "clients/php/README.md", *sources]
             for match in wrong.finditer(re.sub(r'"\s+"', "", path.read_text(encoding="utf-8")))]
    assert not found
