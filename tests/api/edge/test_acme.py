# SPDX-License-Identifier: GPL-2.0-or-later
"""Certificates with wildcards from an authority that speaks ACME, without anybody's DNS plug-in: sandlot-acme."""

import contextlib
import os
import pathlib
import signal
import socket
import subprocess
import tempfile

import pytest

import acme
import ipv6
from acme import DOMAIN, NS, SOA, TXT, Certbot, Deployment, Pebble, question
from doctor import doctor, wrong
from stack import wait_until

CHALLENGE = f"_acme-challenge.{DOMAIN}"
ONE, TWO = "a" * 43, "--" + "B" * 40 + "_"  # they may begin like options


@pytest.fixture
def deployment(stack):
    """In a folder that every user can enter, as /etc is one."""
    with tempfile.TemporaryDirectory(prefix="sandlot-acme-") as folder:
        pathlib.Path(folder).chmod(0o755)
        with Deployment(stack, pathlib.Path(folder)) as made:
            yield made


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_what_is_asked_and_answered(deployment, address):
    deployment.start()
    ask = question(CHALLENGE, TXT)
    empty = deployment.udp(ask, address)
    assert (empty.id, empty.rcode, empty.answers, empty.authorities) == (0x4321, 0, 0, 1)
    assert empty.is_ours and not empty.recurses
    for value in (ONE, TWO):
        done = deployment.ctl("acme", "add", DOMAIN, "--value", value)
        assert done.returncode == 0, done.stderr
    assert deployment.udp(ask, address).values == sorted([ONE, TWO])
    # Resolvers mix the letters up, against forgery.
    assert deployment.udp(question(f"_aCme-CHALLENGE.{DOMAIN.upper()}", TXT), address).values == sorted([ONE, TWO])
    answers = deployment.tcp(ask, question(CHALLENGE, SOA), question(CHALLENGE, NS), ask, address=address)
    assert [one.answers for one in answers] == [2, 1, 1, 2] and answers[3].values == sorted([ONE, TWO])
    assert deployment.ctl("acme", "remove", CHALLENGE, "--value", TWO).returncode == 0
    assert deployment.udp(ask, address).values == [ONE]
    for name, rcode in ((DOMAIN, 5), ("example.com", 5), (f"x.{CHALLENGE}", 3), (f"_acme-challenge.x.{DOMAIN}", 5)):
        answer = deployment.udp(question(name, TXT), address)
        assert (answer.rcode, answer.answers) == (rcode, 0), name


def test_hooks_that_are_wrong(deployment):
    for (name, value), field in ((("example.com", ONE), "DOMAIN"), ((f"p3000.{DOMAIN}", ONE), "DOMAIN"),
                         ((DOMAIN, "short"), "--value"), ((DOMAIN, "../" + "a" * 40), "--value")):
        for verb in ("add", "remove"):
            done = deployment.ctl("acme", verb, name, "--value", value)
            assert done.returncode == 1 and f"({field})" in done.stderr, done
    assert not list(deployment.values.iterdir())
    deployment.values.rmdir()
    done = deployment.ctl("acme", "add", DOMAIN, "--value", ONE)
    assert done.returncode == 1 and str(deployment.values) in done.stderr, done


def test_nonsense_ends_nothing(deployment):
    deployment.start()
    ask = question(CHALLENGE, TXT)
    for wire in (b"", b"x", ask[:20], ask[:-1], b"\xff" * 512, b"\0" * 12, ask[:2] + b"\x84\0" + ask[4:], ask + b"\0" * 4000):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sending:
            sending.sendto(wire, ("127.0.0.1", deployment.dns_port))
        with socket.create_connection(("127.0.0.1", deployment.dns_port), 60) as connection:
            connection.sendall(len(wire).to_bytes(2, "big") + wire)
    assert deployment.udp(ask).rcode == 0
    assert deployment.tcp(ask)[0].rcode == 0


def from_address(deployment, address):
    asking = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    asking.bind((address, 0))
    asking.connect(("::1", deployment.dns_port))
    asking.settimeout(60)
    return asking


def drain(asking):
    count = 0
    with contextlib.suppress(BlockingIOError):
        while asking.recv(65536):
            count += 1
    return count


def test_answers_to_one_network_are_bounded(deployment):
    """Who is named as the one who asked gets little, and others get theirs."""
    deployment.start()
    ask = question(CHALLENGE, TXT)
    with ipv6.addresses(2, 1) as ((first, second), (other,)), contextlib.closing(from_address(deployment, first)) as one, \
            contextlib.closing(from_address(deployment, second)) as two, \
            contextlib.closing(from_address(deployment, other)) as bystander:
        one.setblocking(False)
        two.setblocking(False)
        sent = answered = 0
        while sent == answered and sent < 100000:
            for asking in (one, two) * 20:
                asking.send(ask)
            sent += 40
            # Questions are taken in their order: what came before the bystander's has been seen.
            bystander.send(ask)
            assert bystander.recv(65536)
            answered += drain(one) + drain(two)
        assert answered < sent


def test_an_address_that_is_taken(deployment):
    with socket.create_server(("127.0.0.1", deployment.dns_port)):
        done = subprocess.run([deployment.programs / "sandlot-acme", "--config", deployment.config], capture_output=True,
                              text=True, timeout=60, check=False)
    assert done.returncode == 69
    assert f"cannot listen on 127.0.0.1 port {deployment.dns_port}: Address already in use" in done.stderr


# A machine of its own, with a resolver at two of its addresses; who is asked has one right of root's.
ALONE = """
ip link set lo up
for address in 192.0.2.1/32 192.0.2.2/32 169.254.7.7/32 2001:db8::1/128; do ip address add $address dev lo; done
python3 -c 'import socket, time
for address in ("127.0.0.53", "192.0.2.2"):
    one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    one.bind((address, 53))
    globals()[address] = one
open("FOLDER/bound", "w").close()
time.sleep(600)' &
until test -e FOLDER/bound; do sleep 0.1; done
exec setpriv --reuid nobody --regid nogroup --clear-groups --inh-caps -all,+net_bind_service \
    --ambient-caps -all,+net_bind_service --bounding-set -all,+net_bind_service "$0" --config "$1"
"""


def children(pid):
    return [int(one) for one in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()]


def test_every_address_that_is_free(deployment):
    """Without acme_addresses: not those of a link alone, and none that another program has."""
    lines = deployment.config.read_text(encoding="utf-8").splitlines()
    deployment.config.write_text("\n".join(
        [line for line in lines if line.split(" ")[0] not in ("acme_addresses", "acme_port")]) + "\n", encoding="utf-8")
    deployment.config.chmod(0o644)
    with (deployment.folder / "log" / "alone").open("wb") as log:
        alone = subprocess.Popen(["unshare", "--net", "--pid", "--fork", "bash", "-c",
                                  ALONE.replace("FOLDER", str(deployment.folder)),
                                  deployment.programs / "sandlot-acme", deployment.config], stdout=log, stderr=log)
    (child,) = wait_until(lambda: children(alone.pid), 60, "its start")
    try:
        wait_until(lambda: "listening" in (deployment.folder / "log" / "alone").read_text(encoding="utf-8"), 60, "its start")
        done = subprocess.run(["nsenter", "--net", "--target", str(child), "ss", "-Hlntup", "sport = :53"], capture_output=True,
                              text=True, check=True)
        ours = sorted((line.split()[0], line.split()[4]) for line in done.stdout.splitlines() if "sandlot-acme" in line)
    finally:
        # The first process of its machine: all others go with it, and it outlives who started it as another user.
        os.kill(child, signal.SIGKILL)
        alone.wait(60)
    assert ours == sorted((kind, f"{address}:53") for kind in ("tcp", "udp")
                          for address in ("127.0.0.1", "192.0.2.1", "[::1]", "[2001:db8::1]"))
    assert "192.0.2.2 port 53: Address already in use" in (deployment.folder / "log" / "alone").read_text(encoding="utf-8")


@pytest.mark.skipif(acme.missing(), reason=f"not installed: {acme.missing()}")
def test_issue_renew_and_reload(stack, deployment):
    """From nothing to a certificate, as the pages say; its renewal, which nginx shows without being stopped."""
    folder = deployment.folder
    with Pebble(folder, deployment.dns_port) as authority:
        certbot = Certbot(deployment, authority)
        certbot.issue(f"test ! -e {folder}/nginx.pid || kill -HUP $(cat {folder}/nginx.pid)")
        assert not list(deployment.values.iterdir()), "what the hooks have left"
        wait_until(lambda: not deployment.is_started(), 60, "the end of sandlot-acme")

        deployment.start_nginx()
        for name in (f"api.{DOMAIN}", f"p3000-{'a' * 26}.{DOMAIN}", DOMAIN):
            shown = deployment.shown(name, authority.roots())
        assert set(shown["subjectAltName"]) == {("DNS", DOMAIN), ("DNS", f"*.{DOMAIN}")}
        said = [one for one in doctor(stack, deployment.config) if one["check"] == "certificate"]
        assert [one["state"] for one in said] == ["ok"], said

        master = deployment.nginx.pid
        before = deployment.shown(f"api.{DOMAIN}")
        certbot.renew()
        wait_until(lambda: deployment.shown(f"api.{DOMAIN}") != before, 60, "the new certificate")
        deployment.shown(f"api.{DOMAIN}", authority.roots())
        assert deployment.nginx.pid == master and deployment.nginx.poll() is None
        wait_until(lambda: not deployment.is_started(), 60, "the end of sandlot-acme")

        # A hook that does not reach nginx.
        (folder / "nginx.pid").rename(folder / "nginx.pid.away")
        certbot.renew()
        found = [one for one in wrong(stack, deployment.config) if one["check"] == "certificate"]
        assert len(found) == 1 and "nginx shows another certificate" in found[0]["message"], found
        deployment.nginx.send_signal(signal.SIGHUP)
        wait_until(lambda: not [one for one in wrong(stack, deployment.config) if one["check"] == "certificate"], 60,
                   "the doctor being content")
