# SPDX-License-Identifier: GPL-2.0-or-later
"""What a sandbox cannot reach: other sandboxes, the host, metadata services, private
networks. Each refusal stands beside something that the same program does reach."""

import ipaddress
import json
import pathlib
import secrets
import signal
import socket
import subprocess
import sys
import urllib.parse

import pytest

from tenant import GUEST, Sandbox
from stack import wait_until

pytestmark = pytest.mark.parallel

PORT = 18080
PUBLIC = "11.22.33.44"  # stands for the internet
METADATA = "169.254.169.254"
PRIVATE = ("10.201.7.7", "172.20.7.7", "192.168.207.7", "100.64.7.7")


class Listener:
    """guest/listen.py somewhere: who came is in a file."""

    def __init__(self, command_prefix, path):
        self.path = pathlib.Path(path)
        self.process = subprocess.Popen(
            [*command_prefix, sys.executable, str(GUEST / "listen.py"), str(PORT), str(path)]
        )
        wait_until(self.seen, 10, "the listener")

    def seen(self):
        return self.path.read_text(encoding="utf-8").splitlines() if self.path.exists() else []

    def close(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


def nobodys_address(stack):
    """The last of the sandboxes' range; the first are given away first."""
    return str(ipaddress.ip_network(stack.range)[-2])


@pytest.fixture(scope="module")
def outside(tmp_path_factory, stack):
    """A network beyond the host: a public address, metadata, private addresses, and somebody
    who has the address of a sandbox that might be."""
    name = "sandlot-" + secrets.token_hex(3)
    addresses = [PUBLIC, METADATA, *PRIVATE, nobodys_address(stack)]

    def ip(*arguments, check=True):
        subprocess.run(["ip", *arguments], check=check, capture_output=True)

    ip("netns", "add", name)
    try:
        ip("link", "add", name[-6:] + "a", "type", "veth", "peer", "name", "eth0", "netns", name)
        ip("link", "set", name[-6:] + "a", "up")
        ip("addr", "add", "192.0.0.9/31", "dev", name[-6:] + "a")
        ip("-n", name, "addr", "add", "192.0.0.8/31", "dev", "eth0")
        ip("-n", name, "link", "set", "eth0", "up")
        ip("-n", name, "link", "set", "lo", "up")
        ip("-n", name, "route", "add", "default", "via", "192.0.0.9")
        for address in addresses:
            ip("-n", name, "addr", "add", f"{address}/32", "dev", "lo")
            ip("route", "add", f"{address}/32", "via", "192.0.0.8")
        path = tmp_path_factory.mktemp("outside") / "seen"
        listener = Listener(["ip", "netns", "exec", name], path)
        yield listener
        listener.close()
    finally:
        for address in addresses:
            ip("route", "del", f"{address}/32", check=False)
        ip("link", "del", name[-6:] + "a", check=False)
        ip("netns", "del", name, check=False)


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    """A service of the host on every address."""
    listener = Listener([], tmp_path_factory.mktemp("host") / "seen")
    yield listener
    listener.close()


@pytest.fixture(scope="module")
def pair(module_account):
    """Two sandboxes; the second one serves on all addresses."""
    first = Sandbox.create(module_account.api, timeout=900)
    second = Sandbox.create(module_account.api, timeout=900)
    for sandbox in (first, second):
        sandbox.put_guest("reach.py")
        sandbox.put_guest("listen.py")
        sandbox.data.background("python3", "/tmp/listen.py", str(PORT), "/tmp/seen")
        sandbox.data.check("until grep -q listening /tmp/seen 2>/dev/null; do sleep 0.05; done")
    return first, second


def reach(sandbox, *targets):
    """What the sandbox, as root, reaches of targets."""
    text = sandbox.data.check(f"python3 /tmp/reach.py '{json.dumps(targets)}'", user="root")
    return dict(zip((tuple(target) for target in targets), json.loads(text)))


def assert_unreachable(results):
    reached = [target for target, result in results.items() if result is True]
    assert not reached, results


def assert_arrives(sandbox, outside):
    """A datagram to the internet gets there: so would those that were sent before it."""
    mark = secrets.token_hex(8)
    reach(sandbox, ["send", PUBLIC, PORT, mark])
    wait_until(lambda: any(mark in line for line in outside.seen()), 5, "the control datagram")


def host_addresses():
    """(address, interface) of everything the host answers to."""
    links = json.loads(subprocess.run(["ip", "-j", "addr"], check=True, capture_output=True).stdout)
    for link in links:
        for entry in link.get("addr_info", []):
            if not ipaddress.ip_address(entry["local"]).is_loopback:
                yield entry["local"], link["ifname"]


def host_address():
    """An IPv4 address of the host that is not there for the sandboxes' sake."""
    return next(
        address
        for address, _ in host_addresses()
        if ":" not in address and not ipaddress.ip_address(address).is_link_local
    )


def host_interface(sandbox):
    return sandbox.stack.incus.instance(sandbox.instance)["config"]["volatile.eth0.host_name"]


def test_the_probe_itself_works(pair, outside):
    first, _ = pair
    results = reach(
        first,
        ["tcp", "127.0.0.1", PORT],
        ["udp", "127.0.0.1", PORT],
        ["ping", "127.0.0.1"],
        ["tcp", first.address, PORT],
        ["tcp", PUBLIC, PORT],
        ["ping", PUBLIC],
    )
    assert all(result is True for result in results.values()), results
    assert_arrives(first, outside)


def test_sandboxes_cannot_reach_each_other(pair):
    first, second = pair
    for one, other in ((first, second), (second, first)):
        before = other.data.read("/tmp/seen")
        assert_unreachable(
            reach(
                one,
                ["ping", other.address],
                ["tcp", other.address, 49983],
                ["tcp", other.address, 49984],
                ["tcp", other.address, PORT],
                ["udp", other.address, PORT],
            )
        )
        assert other.data.read("/tmp/seen") == before, "nothing has come through"


@pytest.mark.one_host
def test_sandboxes_cannot_reach_the_runtime_host(pair, host, stack):
    first, _ = pair
    nginx = urllib.parse.urlsplit(stack.base_url).port or 443
    addresses = {address for address, _ in host_addresses() if ":" not in address}
    assert "169.254.0.1" in addresses, "the sandbox's gateway is an address of the host"
    before = host.seen()
    targets = []
    for address in sorted(addresses):
        targets += [["ping", address], ["udp", address, PORT]]
        targets += [["tcp", address, port] for port in (nginx, PORT, 22, 3306, 8443, 111)]
        targets += [["send", address, PORT, "to the host"]]
    results = reach(first, *targets)
    assert_unreachable({key: value for key, value in results.items() if key[0] != "send"})
    assert host.seen() == before, "nothing has come through"


def test_sandboxes_cannot_reach_the_host_over_ipv6(pair, host, stack):
    first, _ = pair
    nginx = urllib.parse.urlsplit(stack.base_url).port or 443
    mine = host_interface(first)
    targets = [["ping", "ff02::1%eth0"], ["ping", "ff02::2%eth0"]]
    for address, interface in host_addresses():
        if ":" not in address:
            continue
        if ipaddress.ip_address(address).is_link_local:
            if interface != mine:
                continue
            address += "%eth0"
        targets += [["ping", address], ["tcp", address, nginx], ["tcp", address, PORT]]
    before = host.seen()
    assert_unreachable(reach(first, *targets))
    assert host.seen() == before


def test_metadata_and_private_networks(pair, outside):
    first, _ = pair
    mark = secrets.token_hex(8)
    targets = []
    for address in (METADATA, *PRIVATE):
        targets += [["ping", address], ["tcp", address, PORT], ["tcp", address, 80]]
    connections = [line for line in outside.seen() if line.startswith("tcp")]
    assert_unreachable(reach(first, *targets))
    assert connections == [line for line in outside.seen() if line.startswith("tcp")]
    reach(first, *[["send", address, PORT, mark] for address in (METADATA, *PRIVATE)])
    assert_arrives(first, outside)
    assert not [line for line in outside.seen() if mark in line]
    assert reach(first, ["tcp", PUBLIC, PORT])[("tcp", PUBLIC, PORT)] is True


def test_a_forged_source_address_leaves_no_sandbox(pair, outside, host):
    first, second = pair
    mark = secrets.token_hex(8)
    reach(first, ["spoof", PUBLIC, PORT, f"own-{mark}", first.address])
    wait_until(lambda: any(f"own-{mark}" in line for line in outside.seen()), 5, "the control datagram")
    machine = host_address()
    targets = [
        ["spoof", destination, PORT, f"forged-{mark}", source]
        for destination in (PUBLIC, second.address, machine, "169.254.0.1")
        for source in (second.address, "10.99.99.99", PUBLIC, "8.8.8.8", machine, "127.0.0.1")
    ]
    reach(first, *targets)
    # What was sent later through the same path has arrived, so what was sent before would have.
    reach(first, ["spoof", PUBLIC, PORT, f"last-{mark}", first.address])
    wait_until(lambda: any(f"last-{mark}" in line for line in outside.seen()), 5, "the last datagram")
    arrived = outside.seen() + host.seen() + second.data.read("/tmp/seen").decode().splitlines()
    assert not [line for line in arrived if f"forged-{mark}" in line]


def test_another_address_cannot_be_taken(pair, outside):
    """Root in the sandbox cannot configure its interfaces: neither the neighbour's address nor any."""
    first, second = pair
    for command in (
        f"ip addr add {second.address}/32 dev eth0",
        "ip link set dev eth0 address 02:00:00:00:00:01",
        "ip route add 198.51.100.0/24 dev eth0",
        "ip link add dummy0 type dummy",
    ):
        result = first.data.bash(command, user="root")
        assert result.exit_code != 0 and b"not permitted" in result.stderr, result
    assert second.data.check("echo still mine") == "still mine\n"


@pytest.mark.one_host
def test_the_host_tells_no_address_by_arp(pair):
    """On the link of a sandbox it answers for what that link has, and for nothing else."""
    for sandbox in pair:
        link = host_interface(sandbox)
        value = pathlib.Path(f"/proc/sys/net/ipv4/conf/{link}/arp_ignore").read_text(encoding="ascii")
        assert value.strip() == "1"


# Advertisements of a router and of a neighbour, and solicitations from senders that do not exist.
SPEAK_FOR_OTHERS = """
import socket, struct, sys
for kind in (socket.SOCK_RAW, socket.SOCK_DGRAM):
    try:
        socket.socket(socket.AF_PACKET, kind, socket.htons(0x0806))
        sys.exit("frames can be sent")
    except OSError:
        pass
link, host = socket.if_nametoindex("eth0"), socket.inet_pton(socket.AF_INET6, sys.argv[1])
prefix = struct.pack("!BBBBIII", 3, 4, 64, 0xc0, 3600, 3600, 0) + socket.inet_pton(socket.AF_INET6, "2001:db8:66::")
router = struct.pack("!BBHBBHII", 134, 0, 0, 64, 0, 1800, 0, 0) + prefix
for number in range(1, 1500):
    address = f"fe80::66:{number:x}"
    with socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6) as sender:
        sender.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 255)
        sender.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_UNICAST_HOPS, 255)
        sender.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_LOOP, 0)  # it believes nothing of this itself
        sender.setsockopt(socket.IPPROTO_IPV6, 78, 1)  # IPV6_FREEBIND
        sender.bind((address, 0, 0, link))
        own = b"\\2\\0\\0\\0" + struct.pack("!H", number)
        neighbour = socket.inet_pton(socket.AF_INET6, address) + b"\\2\\1" + own
        sender.sendto(struct.pack("!BBHI", 135, 0, 0, 0) + host + b"\\1\\1" + own, (sys.argv[1], 0, 0, link))
        sender.sendto(struct.pack("!BBHI", 136, 0, 0, 0x20000000) + neighbour, ("ff02::1", 0, 0, link))
        sender.sendto(router, ("ff02::1", 0, 0, link))
"""


@pytest.mark.one_host
def test_root_speaks_for_nobody_else_on_the_link(pair):
    """No frames and no VLAN; what it says about neighbours and routers leaves nothing on the host."""
    first, _ = pair
    link = host_interface(first)

    def known():
        return [subprocess.run(["ip", "-6", what, "show", "dev", link], capture_output=True, text=True, check=True).stdout
                for what in ("addr", "route", "neigh")]
    before = known()
    host = next(word for word in before[0].split() if word.startswith("fe80")).partition("/")[0]
    first.data.upload("/tmp/speak.py", SPEAK_FOR_OTHERS.encode())
    first.data.check(f"python3 /tmp/speak.py {host}", user="root")
    assert known() == before
    refused = first.data.bash("ip link add link eth0 name eth0.5 type vlan id 5", user="root")
    assert refused.exit_code != 0 and b"not permitted" in refused.stderr, refused


def test_the_address_of_a_gone_sandbox_leads_to_no_stranger(stack, outside):
    """Neither what the gate sends nor what other hosts send through this one."""
    gone, mark = nobodys_address(stack), secrets.token_hex(8)
    before = [line for line in outside.seen() if line.startswith("tcp ")]
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((gone, PORT), 10)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
        for host, text in ((gone, f"gone-{mark}"), (PUBLIC, f"there-{mark}")):
            try:
                datagrams.sendto(text.encode(), (host, PORT))
            except OSError:  # the filter says so at once
                assert host == gone
    wait_until(lambda: any(f"there-{mark}" in line for line in outside.seen()), 5, "the control datagram")
    assert [line for line in outside.seen() if line.startswith("tcp ")] == before
    assert not [line for line in outside.seen() if f"gone-{mark}" in line]


@pytest.mark.one_host
def test_isolation_holds_after_a_resume(pair, outside, host):
    first, second = pair
    first.pause()
    first.resume()
    machine = host_address()
    assert_unreachable(
        reach(
            first,
            ["ping", second.address],
            ["tcp", second.address, PORT],
            ["tcp", machine, PORT],
            ["tcp", METADATA, PORT],
        )
    )
    assert reach(first, ["tcp", PUBLIC, PORT])[("tcp", PUBLIC, PORT)] is True


def test_a_sandbox_is_no_way_into_the_kernel_of_the_host(pair):
    first, _ = pair
    checks = {
        "mount a disk of the host": "mount -t ext4 /dev/vda /mnt",
        "make a device node": "mknod /tmp/disk b 254 0 && head -c1 /tmp/disk",
        "nest a user namespace": "unshare -U true",
        "write to the host's sysctl": "echo 1 > /proc/sys/kernel/panic",
        "speak to the runtime daemon": "test -e /dev/incus/sock || test -e /dev/lxd/sock",
        "load a module": "modprobe dummy",
    }
    for what, script in checks.items():
        assert first.data.bash(script, user="root").exit_code != 0, what
    uid = first.data.check("awk '{print $2}' /proc/self/uid_map", user="root").split()[0]
    assert int(uid) > 0, "root of the sandbox is nobody on the host"
