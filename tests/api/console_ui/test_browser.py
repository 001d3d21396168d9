# SPDX-License-Identifier: GPL-2.0-or-later
"""The console in a real browser on the real stack: tests/fixtures/browser has its programs. A machine
without the browser, or without Node.js and npm, is an error here: scripts/test installs all three."""

import base64
import hashlib
import os
import pathlib
import secrets
import shutil
import subprocess
import urllib.parse

import pytest

from authenticator import openssl
from client import Api, assert_error
from console import Browser, Person, invite
from edge import process_settings
from identity_provider import IdentityProvider
from npm_packages import programs
from quiet_network import QuietNetwork, wrapper
from receiver import Receiver
from stack import wait_until
from tenant import Sandbox

pytestmark = pytest.mark.parallel


@pytest.fixture(scope="module")
def folder(stack, tmp_path_factory):
    assert shutil.which("chromium"), "chromium is not installed: scripts/test does it"
    return programs(stack, "browser", tmp_path_factory.mktemp("browser"))


@pytest.fixture(scope="module")
def chromium(stack, tmp_path_factory):
    network = QuietNetwork([urllib.parse.urlsplit(stack.console_url).port or 443])
    yield wrapper(network, shutil.which("chromium"), tmp_path_factory.mktemp("chromium") / "chromium")
    network.close()


@pytest.fixture
def browse(stack, folder, chromium):
    def run(script, timeout_s=240, **environment):
        done = subprocess.run(
            ["node", f"{script}.mjs"],
            cwd=folder, capture_output=True, text=True, timeout=timeout_s, check=False,
            env={
                **os.environ,
                "CONSOLE_URL": stack.console_url,
                "DATA_PLANE_HOST": stack.data_plane_host.split(":")[0],
                "CHROMIUM": chromium,
                **environment,
            },
        )
        assert done.returncode == 0, f"{script}.mjs:\n{done.stdout[-2000:]}\n{done.stderr[-6000:]}"

    return run


@pytest.mark.long
def test_invitation_sign_in_ended_session_and_second_factor(stack, account, other_account, browse):
    team = other_account.make_team()
    stack.ctl("team", "add-member", team, "--user", account.user, "--role", "viewer")
    browse("sign_in", USER_NAME=account.user, TEAM=team,
           INVITE=f"{stack.console_url}/invite#{invite(stack, account.user)}")


def key_hash(stack):
    """Of the certificate that the console shows."""
    connection = Browser(stack).origin.connect()
    connection.connect()
    shown = openssl("x509", "-inform", "DER", "-pubkey", "-noout", data=connection.sock.getpeercert(True))
    connection.close()
    key = openssl("pkey", "-pubin", "-outform", "DER", data=shown)
    return base64.b64encode(hashlib.sha256(key).digest()).decode()


def test_a_passkey_is_added_signs_in_and_is_removed(stack, account, browse):
    person = Person(stack, account.user)
    browse("passkeys", USER_NAME=person.name, PASSWORD=person.password, SPKI=key_hash(stack))


def test_life_of_a_sandbox(stack, account, browse):
    person = Person(stack, account.user)
    browse("life", USER_NAME=person.name, PASSWORD=person.password)


@pytest.mark.long
def test_names_are_first_and_states_have_one_word(stack, account, browse):
    person = Person(stack, account.user)
    browse("names", USER_NAME=person.name, PASSWORD=person.password)


def test_ways_into_a_sandbox_its_logs_and_its_fork(stack, account, browse):
    sandbox = Sandbox.create(account.api, timeout=900, name="work")
    sandbox.data.bash("echo first line; echo a warning >&2")
    person = Person(stack, account.user)
    browse("ways", USER_NAME=person.name, PASSWORD=person.password, SANDBOX=sandbox.id, KEY=account.api.key,
           CA_FILE=str(stack.ca_file), SSH_HOST=stack.settings["ssh_host"], SSH_PORT=stack.settings["ssh_port"])


@pytest.mark.long
def test_several_sandboxes_at_once(stack, account, browse):
    for name in ("one", "two", "three"):
        account.api.create(timeout=900, name=name)
    person = Person(stack, account.user)
    browse("choose", USER_NAME=person.name, PASSWORD=person.password)


@pytest.mark.long
def test_webhooks_and_ssh_keys(stack, account, browse, tmp_path):
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "key"], check=True)
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "parent"], check=True)
    parent = account.api.post("/v1/ssh_keys", {"name": "parent", "public_key": (tmp_path / "parent.pub").read_text()}).json()
    child = account.api.post("/v1/keys", {"name": "child", "scopes": ["write"]}).json()
    # As a program does with the token of its SSH session.
    stack.query("UPDATE api_keys SET created_by = %s WHERE id = %s", parent["id"], child["id"])
    receiver, person = Receiver(), Person(stack, account.user)
    try:
        browse("hooks", USER_NAME=person.name, PASSWORD=person.password, RECEIVER=receiver.url, PARENT="parent",
               CHILD="child", PUBLIC_KEY=(tmp_path / "key.pub").read_text(encoding="utf-8"))
    finally:
        receiver.close()
    assert len(receiver.bodies()) == 1


@pytest.mark.long
def test_secrets_are_written_and_never_shown(stack, account, other_account, browse):
    person = Person(stack, account.user)
    team = account.make_team()
    stack.ctl("team", "add-member", team, "--user", other_account.user, "--role", "member")
    theirs = other_account.api.request(
        "PUT", "/v1/secrets/theirs", {"team": team, "value": "sk-theirs", "hosts": ["api.example.com"]})
    assert theirs.status == 201, theirs
    sandbox = Sandbox.create(account.api, timeout=600, allow_internet_access=False, rules=[{"host": "api.openai.com"}])
    browse("secrets", USER_NAME=person.name, PASSWORD=person.password, SANDBOX=sandbox.id, TEAM=team)


@pytest.mark.long
def test_search_over_everything(stack, account, browse):
    name, lane = "n" + secrets.token_hex(4), "l" + secrets.token_hex(4)
    sandbox = account.api.create(timeout=600, name=name, metadata={"lane": lane})
    assert account.api.post(f"/v1/sandboxes/{sandbox['id']}/checkpoints", {"name": "before-search"}).status == 201
    person = Person(stack, account.user)
    browse("search", USER_NAME=person.name, PASSWORD=person.password, SANDBOX=sandbox["id"], NAME=name, LANE=lane,
           TEMPLATE=stack.template)


@pytest.mark.long
def test_a_viewer_looks_and_changes_nothing(stack, account, other_account, browse):
    team = account.make_team()
    sandbox = account.api.create(team=team, timeout=600)
    stack.ctl("team", "add-member", team, "--user", other_account.user, "--role", "viewer")
    person = Person(stack, other_account.user)
    browse("viewer", USER_NAME=person.name, PASSWORD=person.password, TEAM=team, SANDBOX=sandbox["id"])


@pytest.mark.long
def test_axe_finds_nothing_on_any_page(stack, account, browse):
    script = '<img src=x onerror="window.hacked=1">'
    sandbox = account.api.create(
        timeout=600, metadata={"name": script}, exposed_ports=[{"port": 3000, "protocol": "http", "public": False}])
    volume = account.api.create_volume(name="files")
    made = [
        account.api.request("PUT", f"/v1/volumes/{volume['id']}/files", {"path": f"/{script[:-1]}.txt", "content_b64": ""}),
        account.api.post(f"/v1/sandboxes/{sandbox['id']}/checkpoints", {"name": "before"}),
        account.api.post("/v1/keys", {"name": "k" * 64, "scopes": ["read"]}),
        account.api.request("PUT", f"/v1/secrets/{'s' * 63}", {"value": "v", "hosts": [f"{'h' * 63}.example.com"]}),
    ]
    assert [answer.status for answer in made] == [201] * 4, made
    stack.ctl("team", "add-member", "deployment", "--user", account.user, "--role", "owner")
    stack.ctl("doctor", check=False)
    person = Person(stack, account.user)
    browse("pages", timeout_s=400, USER_NAME=person.name, PASSWORD=person.password,
           SANDBOX=sandbox["id"], VOLUME=volume["id"], TEMPLATE=stack.template)


@pytest.mark.long
def test_pictures_of_the_documentation(stack, account, browse, tmp_path):
    """With SANDLOT_PICTURES=$PWD/doc/images it makes those of the pages again. Then make them small:
    `pngquant --quality 80-100 --strip --force --ext .png doc/images/*.png`."""
    pictures = pathlib.Path(os.environ.get("SANDLOT_PICTURES", tmp_path))
    for name in ("nightly-tests", "docs-preview", "agent-7"):
        sandbox = Sandbox.create(account.api, timeout=3600, name=name, metadata={"owner": "ada"},
                                 exposed_ports=[{"port": 3000, "public": False}, {"port": 8000, "public": True}])
    sandbox.data.upload("/home/user/app/main.py", b"print('hello')\n")
    sandbox.data.upload("/home/user/notes.txt", b"first\n")
    sandbox.data.bash("for part in api console ssh; do echo testing $part; done; echo 1 test was skipped >&2")
    sandbox.data.bash("nohup python3 -m http.server 8000 >/dev/null 2>&1 &")
    person = Person(stack, account.user)
    browse("pictures", USER_NAME=person.name, PASSWORD=person.password, SANDBOX=sandbox.id, PICTURES=str(pictures))
    assert len([*pictures.glob("console-*.png")]) == 10


@pytest.fixture
def draining_host(stack):
    """A host that nothing is put on."""
    name = "h" + secrets.token_hex(4)
    stack.query("INSERT INTO hosts (name, state, url, project, pool, nic_prefix, address_range, vcpus, memory_mb,"
                " created_at_ms) VALUES (%s, 'draining', 'unix:///nonexistent/socket', 'p', 'p', 'zx',"
                " '10.254.252.0/24', 1, 64, 0)", name)
    yield name
    stack.query("DELETE FROM hosts WHERE name = %s", name)


@pytest.fixture
def hours(stack):
    """How long ahead the plan enterprise warns: nothing that another test counts on."""
    (plan,) = [one for one in stack.ctl("plan", "list")["plans"] if one["name"] == "enterprise"]
    before = str(plan["cleanup_warning_hours"])
    yield before
    stack.ctl("plan", "set", "enterprise", f"cleanup_warning_hours={before}")


@pytest.mark.long
def test_an_operator_sees_the_deployment_and_nobody_else_does(stack, account, other_account, draining_host, hours,
                                                              browse):
    stack.ctl("team", "add-member", "deployment", "--user", account.user, "--role", "owner")
    stack.ctl("doctor", check=False)
    other_account.api.create(timeout=600, name="operated")
    stack.query("INSERT INTO sandbox_samples (sandbox_id, at_ms, span_ms, cpu_ms, memory_bytes, cache_bytes)"
                " SELECT id, UNIX_TIMESTAMP() * 1000 - 60000, 1000, 500, 1000000, 0 FROM teams WHERE slug = %s",
                other_account.team)
    account.api.create(timeout=600)
    person, nobody = (Person(stack, one.user) for one in (account, other_account))
    browse("operator", USER_NAME=person.name, PASSWORD=person.password, HOST=draining_host, TEAM=other_account.team,
           HOURS=hours)
    browse("operator", USER_NAME=nobody.name, PASSWORD=nobody.password, OPERATOR="no")


@pytest.mark.long
def test_an_owner_revokes_by_keyboard_and_reads_the_bill(stack, account, other_account, browse):
    team = account.make_team("pro")
    stack.ctl("team", "add-member", team, "--user", other_account.user, "--role", "member")
    stack.ctl("key", "create", "--user", other_account.user, "--scope", "write", "--team", team, "--name", "a-key")
    sandbox = account.api.create(team=team, timeout=600)
    person = Person(stack, account.user)
    try:
        browse("owner", USER_NAME=person.name, PASSWORD=person.password, TEAM=team, MEMBER=other_account.user,
               KEY="a-key", SANDBOX=sandbox["id"])
        assert_error(other_account.api.get(f"/v1/usage?team={account.team}"), 403, "team_forbidden")
    finally:
        account.api.destroy(sandbox["id"])


@pytest.mark.long
def test_what_a_team_has_besides_sandboxes(stack, account, other_account, browse):
    """And a program asks to be let in, which it is in the browser."""
    team = account.make_team("pro")
    sandbox = account.api.create(team=team, timeout=600)
    program, person = Browser(stack), Person(stack, account.user)
    begun = program.post("/v1/device/authorize", {"client_name": "a laptop"}).json()
    mate = "t" + secrets.token_hex(6)
    stack.ctl("user", "create", mate)
    stack.ctl("team", "add-member", team, "--user", mate, "--role", "viewer")
    chain = [account.api]
    for name in ("first", "second", "third"):
        made = chain[-1].post("/v1/keys", {"name": name, "scopes": ["write"]}).json()
        chain.append(Api(stack, made["key"]))
    assert account.api.delete(f"/v1/keys/{chain[2].get('/v1/me').json()['key']['id']}").status == 204
    browse("things", FIRST="first", THIRD="third", USER_NAME=person.name, PASSWORD=person.password, TEAM=team, MEMBER=other_account.user, MATE=mate,
           SANDBOX=sandbox["id"], TEMPLATE=stack.template, CODE=begun["user_code"], CA_FILE=str(stack.ca_file))
    given = program.post("/v1/device/token", {"grant_type": "urn:ietf:params:oauth:grant-type:device_code",
                                              "device_code": begun["device_code"]})
    assert (given.status, given.json()["key"]["name"]) == (200, "sandlot on a laptop")


@pytest.mark.long
def test_script_in_every_field_stays_text(stack, account, browse):
    """Of metadata, names of files, processes, refused hosts, volumes, checkpoints, keys, a build's log, a
    browser that signed in."""
    mark = "m" + secrets.token_hex(4)
    script = f'<img src=x{mark} onerror="window.hacked=1">'
    file = script.replace('"', "")
    sandbox = Sandbox.create(account.api, timeout=900, metadata={"note": script, script[:60]: "as a name"})
    sandbox.data.check(f"touch '/home/user/{file}'; (exec -a '{script}' sleep 600 >/dev/null 2>&1 &)")
    refused_names(sandbox, f"<b-{mark}>", f"b-{mark}")
    volume = account.api.create_volume(name=f"files-{mark}")
    written = account.api.request("PUT", f"/v1/volumes/{volume['id']}/files", {"path": f"/{file}", "content_b64": ""})
    checkpoint = account.api.post(f"{sandbox.path}/checkpoints", {"name": f"before-{mark}"})
    key = account.api.post("/v1/keys", {"name": script, "scopes": ["read"]})
    assert (written.status, checkpoint.status, key.status) == (201, 201, 201), (written, checkpoint, key)
    template = "t" + mark
    assert account.api.post("/v1/templates", {"slug": template, "checkpoint_id": checkpoint.json()["id"]}).status == 201
    rows = "FROM template_versions v JOIN templates t ON t.id = v.template_id WHERE t.slug = %s"
    wait_until(lambda: stack.query(f"SELECT v.state {rows}", template)[0]["state"] != "building", 120, "the build", 0.2)
    stack.query("INSERT INTO template_logs (template_version_id, at_byte, text) SELECT v.id, 1000000, %s FROM template_versions v"
                " JOIN templates t ON t.id = v.template_id WHERE t.slug = %s", f"Step 1\n{script}\n", template)
    person = Person(stack, account.user)
    browser = Browser(stack)
    signed_in = browser.request("POST", "/v1/login", {"name": person.name, "password": person.password},
                                headers={"User-Agent": script})
    assert signed_in.status == 200, signed_in
    browse("hostile", USER_NAME=person.name, PASSWORD=person.password, SANDBOX=sandbox.id, VOLUME=volume["id"],
           TEMPLATE=template, MARK=mark, SCRIPT=script)


ASK = """
import socket, struct, sys
label = sys.argv[1].encode()
question = bytes([len(label)]) + label + b"\\x07example\\x00" + struct.pack(">HH", 1, 1)
asking = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
asking.settimeout(3)
asking.sendto(struct.pack(">HHHHHH", 7, 256, 1, 0, 0, 0) + question, ("169.254.0.1", 53))
try:
    asking.recv(512)
except OSError:
    pass
"""


def refused_names(sandbox, script, plain):
    """Let it ask for a name that no library would ask for, and then for another. What no host name has is
    in no name that is told of, so the first is not among the denials once the second is."""
    sandbox.api.request("PUT", f"{sandbox.path}/network", {"allow_internet_access": False, "allow_out": ["allowed.example"]})
    sandbox.data.upload("/home/user/.ask.py", ASK.encode())
    for label in (script, plain):
        sandbox.data.check(f"python3 /home/user/.ask.py '{label}'")

    def targets():
        return [one["target"] for one in sandbox.api.get(f"{sandbox.path}/network/denials").json()["denials"]]

    wait_until(lambda: f"{plain}.example" in targets(), 60, "the denial of the plain name", 0.2)
    assert not [target for target in targets() if "<" in target]


@pytest.fixture
def provider(stack, tmp_path_factory):
    provider = IdentityProvider(stack, programs(stack, "oidc", tmp_path_factory.mktemp("idp")))
    try:
        provider.start()
        with process_settings(stack, "sandlot-api", **provider.settings(oidc_create_users="on")):
            yield provider
    finally:
        provider.stop()


@pytest.mark.long
def test_sign_in_through_an_identity_provider(stack, account, provider, browse, tmp_path):
    somebody = "p-" + secrets.token_hex(5)
    host = urllib.parse.urlsplit(provider.issuer)
    network = QuietNetwork([urllib.parse.urlsplit(stack.console_url).port or 443, host.port])
    try:
        browse("oidc", PROVIDER_HOST=host.hostname, PERSON=f"s-{somebody}~{somebody}~", WHO=somebody,
               NAMESAKE=f"s-{secrets.token_hex(5)}~{account.user}~",
               CHROMIUM=wrapper(network, shutil.which("chromium"), tmp_path / "chromium"))
    finally:
        network.close()


@pytest.mark.long
def test_people_join_by_a_link(stack, account, other_account, browse):
    owner, mate = (Person(stack, one.user) for one in (account, other_account))
    browse("join", USER_NAME=owner.name, PASSWORD=owner.password, TEAM=account.make_team(), MATE=mate.name,
           MATE_PASSWORD=mate.password, NEWCOMER="n" + secrets.token_hex(5))


def test_the_api_is_away_and_comes_back(stack, account, browse):
    sandbox = account.api.create(timeout=600)
    person = Person(stack, account.user)
    browse("away", USER_NAME=person.name, PASSWORD=person.password, SANDBOX=sandbox["id"])


ROWS = """
INSERT INTO sandboxes (id, team_id, created_by, route, state, visible, reserved, incarnation,
 template_slug, template_version_id, timeout_s, on_timeout, auto_resume, cpu, memory_mb, disk_gb,
 metadata, volume_mounts, network, allow_public_traffic, host_id, instance_name,
 address, agent_key_id, created_at_ms, updated_at_ms)
SELECT CONCAT('sbx_01kamqj6rk5f4v3x0e', LPAD(LOWER(HEX(seq)), 8, '0')), team_id, created_by,
 CONCAT('aaaaaaaaaaaaaaaa', LPAD(REPLACE(REPLACE(CONV(seq, 10, 6), '0', 'a'), '1', 'b'), 10, 'a')),
 'stopped', 1, 0, 1, template_slug, template_version_id, 300, 'pause', 0, 1, 512, 10,
 CONCAT('{"lane":"', seq %% 5, '"}'), '{}', network, 1, host_id, CONCAT('many', LPAD(seq, 10, '0')),
 seq, agent_key_id, created_at_ms - seq, updated_at_ms
FROM sandboxes, seq_1_to_999 WHERE id = %s
"""
METADATA = """
INSERT INTO sandbox_metadata (sandbox_id, name, team_id, value)
SELECT id, 'lane', team_id, JSON_UNQUOTE(JSON_EXTRACT(metadata, '$.lane')) FROM sandboxes
WHERE instance_name LIKE 'many%%'
"""


@pytest.fixture
def many(stack, account):
    """A thousand sandboxes, of which one is there and the others are their rows."""
    sandbox = account.api.create(metadata={"lane": "0"})
    try:
        with stack.database() as database, database.cursor() as cursor:
            cursor.execute(ROWS, (sandbox["id"],))
            cursor.execute(METADATA)
        yield
    finally:
        with stack.database() as database, database.cursor() as cursor:
            cursor.execute("DELETE FROM sandbox_metadata WHERE sandbox_id LIKE 'sbx_01kamqj6rk5f4v3x0e%'")
            cursor.execute("DELETE FROM sandboxes WHERE instance_name LIKE 'many%'")


@pytest.mark.long
def test_a_thousand_sandboxes_in_the_list(stack, account, many, browse):
    person = Person(stack, account.user)
    browse("many", USER_NAME=person.name, PASSWORD=person.password)
