# SPDX-License-Identifier: GPL-2.0-or-later
"""Public keys that sign in over SSH, as the API and the administration keep them."""

import subprocess
import time

import pytest

from client import Api, assert_error
from ssh import Ssh
from stack import wait_until

pytestmark = pytest.mark.parallel

RSA_1024 = ("ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAgQDZ8yF0dB8q0z9sC3H8R3+gq3mVJxX5rYg0m2V0wV1cXQ3lJr0n1J0u5qk6bVhHqkQW"
            "v0o3k1QmQ8e0p3m5sV1sK0d5oYk2x8r5c9l0QH1r2n0f8w2kF3d1b7p6u9z4y5x6w7v8u9t0s1r2q3p4o5n6m7l8k9j0i1h2g3f4e5d6cw==")


def public_key(folder, kind="ed25519", *options):
    subprocess.run(["ssh-keygen", "-q", "-t", kind, *options, "-N", "", "-C", "me@here", "-f", folder / kind], check=True)
    return (folder / f"{kind}.pub").read_text(encoding="utf-8")


def fingerprint(folder, kind):
    return subprocess.run(["ssh-keygen", "-lf", folder / f"{kind}.pub"], capture_output=True, text=True,
                          check=True).stdout.split()[1]


def add(api, **fields):
    answer = api.post("/v1/ssh_keys", fields)
    assert answer.status == 201, answer
    return answer.json()


@pytest.mark.parametrize("kind", ["ed25519", "ecdsa", "rsa"])
def test_a_key_is_added_listed_and_removed(api, tmp_path, kind):
    text = public_key(tmp_path, kind)
    made = add(api, public_key=text)
    assert made["id"].startswith("ssk_") and made["name"] == "me@here" and made["teams"] is None
    assert made["fingerprint"] == fingerprint(tmp_path, kind)
    assert made["public_key"] == " ".join(text.split()[:2])
    assert api.get("/v1/ssh_keys").json()["ssh_keys"] == [made]
    assert made["id"] not in str(api.get("/v1/keys").json())
    assert_error(api.delete(f"/v1/keys/{made['id']}"), 404, "not_found")
    assert api.delete(f"/v1/ssh_keys/{made['id']}").status == 204
    assert api.get("/v1/ssh_keys").json()["ssh_keys"] == []
    assert add(api, public_key=text, name="again")["name"] == "again"


def test_a_stolen_key_is_revoked_with_the_keys_that_it_added(account, other_account, stack, tmp_path):
    stolen = Api(stack, account.key("write"))
    (stolen_id,) = {key["id"] for key in account.api.get("/v1/keys").json()["keys"]} - {account.api.get("/v1/me").json()["key"]["id"]}
    made = add(stolen, public_key=public_key(tmp_path))
    other = stolen.post("/v1/keys", {"scopes": ["write"]}).json()
    own = add(account.api, public_key=public_key(tmp_path, "ecdsa"))
    assert made["created_by"] == other["created_by"] == stolen_id != own["created_by"]
    assert account.api.get("/v1/ssh_keys").json()["ssh_keys"] == [own, made]
    assert_error(account.api.delete(f"/v1/keys/{stolen_id}?with_created=yes"), 422, "invalid_request", "with_created")
    assert account.api.delete(f"/v1/keys/{stolen_id}").status == 204
    assert Api(stack, other["key"]).get("/v1/me").status == 200
    # The list has the keys that a revoked key created, but no revoked key.
    third = Api(stack, other["key"]).post("/v1/keys", {"scopes": ["read"], "name": "third"}).json()
    names = {"keys": [{"id": one["id"], "name": one["name"]} for one in (other, third, made)]}
    assert account.api.get(f"/v1/keys/{stolen_id}/created").json() == names
    assert account.api.delete(f"/v1/keys/{other['id']}").status == 204
    names["keys"].pop(0)
    assert account.api.get(f"/v1/keys/{stolen_id}/created").json() == names
    assert account.api.get(f"/v1/ssh_keys/{made['id']}/created").json() == {"keys": []}
    assert_error(other_account.api.get(f"/v1/keys/{stolen_id}/created"), 404, "not_found")
    assert account.api.delete(f"/v1/keys/{other['id']}?with_created=true").status == 204
    assert account.api.get(f"/v1/keys/{stolen_id}/created").json() == {"keys": names["keys"][1:]}
    assert account.api.get("/v1/ssh_keys").json()["ssh_keys"] == [own, made], "another key added it"
    stack.ctl("key", "revoke", stolen_id, "--with-created")
    assert account.api.get("/v1/ssh_keys").json()["ssh_keys"] == [own]


def test_a_key_belongs_to_one_user(api, other_account, tmp_path):
    text = public_key(tmp_path)
    made = add(api, public_key=text)
    for someone in (api, other_account.api):
        assert_error(someone.post("/v1/ssh_keys", {"public_key": text}), 409, "name_taken", "/public_key")
    assert_error(other_account.api.delete(f"/v1/ssh_keys/{made['id']}"), 404, "not_found")
    assert other_account.api.get("/v1/ssh_keys").json()["ssh_keys"] == []


def test_a_key_reaches_no_further_than_the_one_that_adds_it(account, stack, tmp_path):
    second = account.make_team()
    narrow = Api(stack, account.key("write", "--team", second))
    made = add(narrow, public_key=public_key(tmp_path))
    assert made["teams"] == [second]
    text = public_key(tmp_path, "ecdsa")
    assert_error(narrow.post("/v1/ssh_keys", {"public_key": text, "teams": [account.team]}), 403, "team_forbidden",
                 "/teams/0")
    wide = add(account.api, public_key=text)
    assert [one["id"] for one in narrow.get("/v1/ssh_keys").json()["ssh_keys"]] == [made["id"]]
    assert_error(narrow.delete(f"/v1/ssh_keys/{wide['id']}"), 404, "not_found")
    reader = Api(stack, account.key("read"))
    assert_error(reader.delete(f"/v1/ssh_keys/{wide['id']}"), 403, "insufficient_scope")


@pytest.mark.parametrize("wrong", [
    "", "ssh-ed25519", "ssh-ed25519 AAAA", "ssh-ed25519 not base64", "ssh-dss AAAAB3NzaC1kc3MAAACBAP", "nonsense",
    "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjE=",
    "ssh-rsa AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl", RSA_1024,
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJlAAAA", "ssh-rsa " + "A" * 8000,
], ids=lambda text: text[:24])
def test_what_is_no_public_key(module_account, wrong):
    refused = assert_error(module_account.api.post("/v1/ssh_keys", {"public_key": wrong}), 422, "invalid_request", "/public_key")
    assert wrong[-20:] == "" or wrong[-20:] not in str(refused)


def test_the_administration_adds_lists_and_removes(stack, account, tmp_path):
    public_key(tmp_path)
    made = stack.ctl("ssh-key", "add", str(tmp_path / "ed25519.pub"), "--user", account.user, "--name", "by hand")
    assert made["fingerprint"] == fingerprint(tmp_path, "ed25519") and made["user"] == account.user
    listed = stack.ctl("ssh-key", "list", "--user", account.user)["ssh_keys"]
    assert [one["id"] for one in listed] == [made["id"]]
    assert stack.ctl("ssh-key", "add", str(tmp_path / "ed25519"), "--user", account.user, check=False).returncode
    stack.ctl("ssh-key", "remove", made["id"])
    assert account.api.get("/v1/ssh_keys").json()["ssh_keys"] == []


def test_the_record_of_the_host_key(stack):
    said = stack.ctl("ssh-record", "--name", "ssh.example.com")
    public = stack.root / "etc" / "ssh_host_key.pub"
    (record,) = [line for line in subprocess.run(["ssh-keygen", "-r", "ssh.example.com", "-f", public],
                                                 capture_output=True, text=True, check=True).stdout.splitlines()
                 if line.split()[4] == "2"]
    assert record.split()[3:] == [str(said["algorithm"]), "2", said["sha256"]]


@pytest.mark.parametrize("end", ["removed", pytest.param("expired", marks=pytest.mark.long)])
def test_a_session_ends_with_its_key(stack, account, sandbox, tmp_path, end):
    expires = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 30))
    ssh = Ssh(stack, tmp_path, account, **({"expires_at": expires} if end == "expired" else {}))
    open_one = ssh.start(sandbox.id, "echo in; sleep 600")
    assert open_one.stdout.readline() == b"in\n"
    if end == "removed":
        assert account.api.delete(f"/v1/ssh_keys/{ssh.key['id']}").status == 204
    assert open_one.wait(60) == 255
    assert b"removed or has expired" in open_one.stderr.read()
    assert ssh(sandbox.id, "true").returncode == 255


def test_a_member_who_was_removed_loses_the_session(stack, account, other_account, tmp_path):
    team = account.make_team()
    stack.ctl("team", "add-member", team, "--user", other_account.user, "--role", "member")
    sandbox = account.api.create(team=team)
    ssh = Ssh(stack, tmp_path, other_account)
    open_one = ssh.start(sandbox["id"], "echo in; sleep 600")
    assert open_one.stdout.readline() == b"in\n"
    assert account.api.delete(f"/v1/teams/{team}/members/{other_account.user}").status == 204
    assert open_one.wait(60) == 255
    assert b"no longer reaches the team" in open_one.stderr.read()
    assert ssh(sandbox["id"], "true").returncode == 255


def test_a_disabled_user_signs_in_no_more(stack, account, sandbox, tmp_path):
    ssh = Ssh(stack, tmp_path, account)
    assert ssh(sandbox.id, "true").returncode == 0
    stack.ctl("user", "disable", account.user)
    refused = ssh(sandbox.id, "true")
    assert refused.returncode == 255 and "Permission denied (publickey)" in str(refused.stderr), refused
    stack.ctl("user", "enable", account.user)
    # A dispatcher cuts all connections of the sandbox, also new ones.
    wait_until(lambda: stack.row(sandbox.id)["sessions_due_at_ms"] is None, 60, "the end of the connections")
    assert ssh(sandbox.id, "true").returncode == 0
