# SPDX-License-Identifier: GPL-2.0-or-later
"""Certificates of an authority that the operator trusts, with an entry point that trusts one."""

import secrets
import subprocess

import pytest

from entry_point import entry_point
from ssh import Ssh
from stack import wait_until

pytestmark = pytest.mark.parallel


def keygen(*words):
    subprocess.run(["ssh-keygen", "-q", *map(str, words)], check=True, stdin=subprocess.DEVNULL)


def make_key(path, kind="ed25519"):
    keygen("-t", kind, "-N", "", "-C", "of a test", "-f", path)
    return path.with_name(path.name + ".pub").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    """The files of two keys: the authority that is trusted, and one that is not."""
    folder = tmp_path_factory.mktemp("authority")
    for name in ("trusted", "other"):
        make_key(folder / name)
    return folder


@pytest.fixture(scope="module")
def entry(stack, authority):
    trusted = "# Those of the operator.\n\n" + (authority / "trusted.pub").read_text(encoding="utf-8")
    with entry_point(stack, {"ca": trusted}, ssh_user_ca_file="{folder}/ca", ssh_principal_prefix="user:",
                     ssh_refusal_rate=1000) as entry:
        yield entry


@pytest.fixture
def sign(authority):
    """Certify the key of an Ssh(), which presents the certificate from then on."""
    def sign(ssh, *options, by="trusted", principals, label="of a test"):
        serial = str(secrets.randbits(64))
        keygen("-s", authority / by, "-I", label, "-z", serial, "-n", principals, *options,
               ssh.identity.with_suffix(".pub"))
        return serial
    return sign


@pytest.fixture
def ssh(stack, entry, tmp_path):
    return Ssh(stack, tmp_path, entry=entry)


def assert_refused(ssh, who="new"):
    done = ssh(who, "true")
    assert done.returncode == 255 and b"Permission denied (publickey)" in done.stderr, done


@pytest.mark.parametrize("kind", ["ed25519", "ecdsa", "rsa"])
def test_a_certificate_signs_its_principal_in(stack, entry, account, sandbox, tmp_path, sign, kind):
    ssh = Ssh(stack, tmp_path, kind=kind, entry=entry)
    assert_refused(ssh, sandbox.id)
    serial = sign(ssh, "-V", "-5m:+1h", principals=f"web,user:{account.user},root", label="laptop of alice")
    assert ssh.say(sandbox.id, "echo in") == "in\n"
    (begun,) = entry.logs("SSH session started", serial)
    assert f"user={account.user}" in begun and "laptop of alice" in begun and "key=ssk_" in begun


def test_it_stands_as_a_key_of_the_user_which_ends_its_sessions(entry, account, sandbox, ssh, sign, authority):
    sign(ssh, principals=f"user:{account.user}")
    for _ in range(2):
        assert ssh(sandbox.id, "true").returncode == 0
    (key,) = account.api.get("/v1/ssh_keys").json()["ssh_keys"]
    assert key["name"] == "certificates" and key["teams"] is None
    assert key["public_key"] == " ".join((authority / "trusted.pub").read_text(encoding="utf-8").split()[:2])
    open_one = ssh.start(sandbox.id, "echo in; sleep 600")
    assert open_one.stdout.readline() == b"in\n"
    assert account.api.delete(f"/v1/ssh_keys/{key['id']}").status == 204
    assert open_one.wait(60) == 255
    assert ssh(sandbox.id, "true").returncode == 0
    (made,) = account.api.get("/v1/ssh_keys").json()["ssh_keys"]
    assert made["id"] != key["id"]


@pytest.mark.parametrize("options, principals, reason", [
    (["-V", "-2h:-1h"], "user:{user}", "has expired"),
    (["-V", "+1h:+2h"], "user:{user}", "is not valid yet"),
    ([], "{user}", "no principal"),
    ([], "user:", "no principal"),
    ([], "user:{user},user:someone", "more than one principal"),
    ([], "user:no-such-user", "does not exist"),
    (["-O", "force-command=true"], "user:{user}", "critical options"),
    (["-O", "source-address=127.0.0.1/32"], "user:{user}", "critical options"),
], ids=lambda value: value.replace("{user}", "alice") if isinstance(value, str) else None)
def test_what_is_wrong_with_one_is_in_the_log_and_not_told(entry, account, ssh, sign, options, principals, reason):
    before = len(entry.log("SSH certificate refused", reason))
    sign(ssh, *options, principals=principals.format(user=account.user))
    assert_refused(ssh)
    wait_until(lambda: len(entry.log("SSH certificate refused", reason)) > before, 60, reason)


def test_another_authority_is_not_believed(entry, account, ssh, sign):
    sign(ssh, by="other", principals=f"user:{account.user}")
    assert_refused(ssh)
    assert entry.logs("SSH certificate refused", "an authority that is not in")


def test_a_disabled_user_has_none(stack, entry, account, sandbox, ssh, sign):
    sign(ssh, principals=f"user:{account.user}")
    assert ssh(sandbox.id, "true").returncode == 0
    stack.ctl("user", "disable", account.user)
    assert_refused(ssh, sandbox.id)
    stack.ctl("user", "enable", account.user)
    assert ssh(sandbox.id, "true").returncode == 0


def test_what_a_certificate_does_not_permit(account, sandbox, ssh, sign):
    sign(ssh, "-O", "clear", principals=f"user:{account.user}")
    assert ssh.say(sandbox.id, "echo in") == "in\n"
    assert b"PTY allocation request failed" in ssh(sandbox.id, "true", options=["-tt"]).stderr
    forward = ["-o", "ExitOnForwardFailure=yes", "-R", "0:127.0.0.1:9"]
    assert ssh(sandbox.id, "true", options=forward).returncode == 255
    assert b"forwarding failed" in ssh(sandbox.id, options=["-W", "127.0.0.1:9"]).stderr
    sign(ssh, "-O", "clear", "-O", "permit-pty", "-O", "permit-port-forwarding", principals=f"user:{account.user}")
    assert ssh.say(sandbox.id, "test -t 0 && echo has one", options=["-tt"]).startswith("has one")
    assert ssh(sandbox.id, "true", options=forward).returncode == 0


def test_the_key_of_a_certificate_signs_nobody_in_by_itself(account, sandbox, ssh, sign):
    sign(ssh, principals=f"user:{account.user}")
    assert ssh(sandbox.id, "true").returncode == 0
    ssh.identity.with_name(ssh.identity.name + "-cert.pub").unlink()
    assert_refused(ssh, sandbox.id)


def test_without_an_authority_there_are_no_certificates(stack, account, sandbox, tmp_path, sign):
    ssh = Ssh(stack, tmp_path)
    sign(ssh, principals=account.user)
    assert_refused(ssh, sandbox.id)


@pytest.mark.parametrize("text, says", [
    ("", "no SSH authority"), ("# nothing\n", "no SSH authority"), ("ssh-ed25519 AAAA\n", "line 1"),
    ("# an RSA key\nssh-rsa AAAAB3NzaC1yc2E=\n", "line 2"),
])
def test_a_file_of_authorities_that_is_wrong(stack, text, says):
    with pytest.raises(AssertionError, match=says):
        with entry_point(stack, {"ca": text}, ssh_user_ca_file="{folder}/ca"):
            pass
