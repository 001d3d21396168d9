# SPDX-License-Identifier: GPL-2.0-or-later
"""What a sandbox may ask of the kernel, and that what people run in it does not miss the rest."""

import fnmatch
import functools
import json
import pathlib
import re
import secrets
import shutil
import subprocess
import tarfile

import pytest

from client import assert_error
from stack import wait_until
from tenant import Sandbox

pytestmark = pytest.mark.parallel

# What root, and with it every program, can gain.
KEPT = {
    0: "chown", 1: "dac_override", 3: "fowner", 4: "fsetid", 5: "kill", 6: "setgid", 7: "setuid", 8: "setpcap",
    10: "net_bind_service", 13: "net_raw", 18: "sys_chroot", 19: "sys_ptrace", 22: "sys_boot", 29: "audit_write",
    31: "setfcap",
}  # fmt: skip
FAMILIES = {1, 2, 10, 16}
NETLINK = {0, 4, 9, 15}

# Files below /proc and /sys that open for writing, and why that harms nobody.
WRITABLE = {
    "/proc/PID/*": "of the process itself; the kernel checks what it writes to which of them",
    "/proc/PID/net/*": "modes only: none of them takes a write, and all are of the sandbox's network namespace",
    "/proc/sys/kernel/ns_last_pid": "the next number in the sandbox's own process namespace",
    "/proc/sys/kernel/pid_max": "of the sandbox's own process namespace, and never above the host's",
    "/proc/sys/kernel/msg*": "of the sandbox's own IPC namespace",
    "/proc/sys/kernel/auto_msgmni": "has had no effect for years",
    "/proc/sys/kernel/sem*": "of the sandbox's own IPC namespace",
    "/proc/sys/kernel/shm*": "of the sandbox's own IPC namespace",
    "/proc/sys/fs/mqueue/*": "of the sandbox's own IPC namespace; the bytes are limited by RLIMIT_MSGQUEUE",
    "/proc/sys/net/*": "of the sandbox's own network namespace",
}


@pytest.fixture(scope="module")
def sandbox(module_account):
    return Sandbox.create(module_account.api, timeout=900)


@pytest.fixture(scope="module", params=["root", "user"])
def surface(request, sandbox):
    path = sandbox.put_guest("surface.py")
    return json.loads(sandbox.data.check(f"python3 {path}", user=request.param))


@functools.cache
def foreign_of_the_kernel():
    """How this machine's own programs fare with calls of other architectures: a kernel that is built without those of
    32-bit programs ends the caller, confined or not."""
    program = "import json, surface; print(json.dumps(surface.foreign_calls()))"
    said = subprocess.run(["/usr/bin/python3", "-c", program], cwd=pathlib.Path(__file__).parents[1] / "lib" / "guest",
                          capture_output=True, text=True, check=True)
    return json.loads(said.stdout)


def assert_closed(surface, kept=frozenset(KEPT)):
    numbers = {number for number in range(64) if surface["capabilities"]["CapBnd"] >> number & 1}
    assert numbers == kept
    assert surface["clone"].pop("none") == "done"
    assert set(surface["clone"].values()) == {"EPERM"}, surface["clone"]
    assert set(surface["calls"].values()) <= {"EPERM", "ENOSYS"}, surface["calls"]
    for name, result in surface["foreign"].items():
        ended = foreign_of_the_kernel()[name]
        assert result == (ended if ended.startswith("signal") else "ENOSYS"), (name, result)
    assert {int(one) for one, result in surface["families"].items() if result == "done"} == FAMILIES
    assert {int(one) for one, result in surface["netlink"].items() if result == "done"} == NETLINK


def test_calls_families_and_capabilities(surface):
    assert_closed(surface)


def test_a_resume_keeps_it_all(module_account):
    sandbox = Sandbox.create(module_account.api)
    path = sandbox.put_guest("surface.py")
    boot = sandbox.boot_id()
    sandbox.pause()
    assert sandbox.resume()["resumed_from"] == "memory"
    assert sandbox.boot_id() == boot
    assert_closed(json.loads(sandbox.data.check(f"python3 {path}", user="root")))
    module_account.api.destroy(sandbox.id)


NET_ADMIN = 12
ROUTING = "ip rule; ip -6 rule; ip route; ip -6 route; ip -o address show dev lo"
OWN_ROUTING = ("ip rule add from 10.9.8.0/24 lookup main priority 99 && ip route add 10.9.8.0/24 dev lo && "
               "ip -6 address add fd00:9::1/64 dev lo && ip -6 route add fd00:8::/64 dev eth0")
ROUTES = "ip addr add 198.51.100.7/32 dev lo && ip route add 203.0.113.0/24 via 169.254.0.1 && ip route del 203.0.113.0/24"


def may_route(sandbox):
    """Whether root changes addresses and routes; nothing else is more than anywhere."""
    path = sandbox.put_guest("surface.py")
    result = sandbox.data.bash(ROUTES, user="root")
    kept = set(KEPT) | ({NET_ADMIN} if result.exit_code == 0 else set())
    assert_closed(json.loads(sandbox.data.check(f"python3 {path}", user="root")), kept)
    assert result.exit_code == 0 or b"Operation not permitted" in result.stderr, result.stderr
    assert sandbox.data.bash(ROUTES).exit_code != 0, "only root"
    sandbox.data.bash("ip addr del 198.51.100.7/32 dev lo", user="root")
    return result.exit_code == 0


def checkpoint(sandbox):
    answer = sandbox.api.post(f"{sandbox.path}/checkpoints", {"name": "c" + secrets.token_hex(3)})
    assert answer.status == 201, answer
    return answer.json()["id"]


@pytest.fixture(scope="module")
def routing_template(stack):
    """A template whose operator lets root change interfaces and routes."""
    image = stack.query("SELECT image FROM template_versions v JOIN templates t ON t.id = v.template_id"
                        " WHERE t.slug = %s AND v.state = 'ready' ORDER BY version DESC LIMIT 1", stack.template)[0]["image"]
    slug = "t" + secrets.token_hex(5)
    stack.ctl("template", "add", slug, "--image", image, "--cpu", "1", "--memory-mb", "256", "--net-admin")
    return slug


def version_of(api, slug):
    return api.get(f"/v1/templates/{slug}/versions").json()["versions"][0]


@pytest.mark.long
def test_interfaces_and_routes_by_template(module_account, routing_template, stack):
    api = module_account.api
    assert version_of(api, routing_template)["net_admin"] is True
    assert version_of(api, stack.template)["net_admin"] is False
    sandbox = Sandbox.create(api, template=routing_template)
    assert may_route(sandbox)
    for command in ("true", OWN_ROUTING):  # what a new network has, and its own
        sandbox.data.check(command, user="root")
        before = sandbox.data.check(ROUTING)
        sandbox.pause()
        assert sandbox.resume()["resumed_from"] == "memory"
        assert sandbox.data.check(ROUTING) == before
    assert "fd00:8::/64" in before and "from 10.9.8.0/24" in before
    assert may_route(sandbox)
    copy = Sandbox.create(api, template=checkpoint(sandbox))
    assert may_route(copy)
    for one in (sandbox, copy):
        api.destroy(one.id)


def test_another_address_is_of_no_use(module_account, routing_template):
    """Packets with an address that is not the sandbox's do not leave its link."""
    sandbox = Sandbox.create(module_account.api, template=routing_template)
    sandbox.data.check("ip addr add 198.51.100.7/32 dev eth0", user="root")
    program = (
        "import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(2); "
        "s.bind(('{0}', 0)); s.sendto(b'\\0\\1\\1\\0\\0\\1' + bytes(6) + b'\\1a\\0\\0\\1\\0\\1', ('169.254.0.1', 53)); s.recv(512)"
    )
    asked = sandbox.data.bash(f"python3 -c \"{program.format(sandbox.address)}\"")
    assert asked.exit_code == 0, "the resolver answers the sandbox's own address"
    assert b"timed out" in sandbox.data.bash(f"python3 -c \"{program.format('198.51.100.7')}\"").stderr
    module_account.api.destroy(sandbox.id)


def test_teams_cannot_build_it(module_account, routing_template):
    api = module_account.api
    sandbox = Sandbox.create(api, template=routing_template)
    body = {"slug": "t" + secrets.token_hex(5), "checkpoint_id": checkpoint(sandbox)}
    assert_error(api.post("/v1/templates", body | {"net_admin": True}), 422, "invalid_request", "/net_admin")
    made = api.post("/v1/templates", body)
    assert made.status == 201 and made.json()["version"]["net_admin"] is False, made
    wait_until(lambda: version_of(api, body["slug"])["state"] == "ready", 60, "the build")
    own = Sandbox.create(api, template=body["slug"])
    assert not may_route(own)
    for one in (sandbox, own):
        api.destroy(one.id)


@pytest.mark.parametrize("user", ["root", "user"])
def test_every_file_of_the_kernel_that_can_be_written_is_known(sandbox, user):
    path = sandbox.put_guest("writable.py")
    found = sandbox.data.check(f"python3 {path}", user=user).split()
    assert "/proc/PID/comm" in found, "the program sees what can be written"
    unknown = [one for one in found if not any(fnmatch.fnmatch(one, known) for known in WRITABLE)]
    assert not unknown


@pytest.mark.parametrize("user", ["root", "user"])
def test_nothing_is_written_through_lxcfs(sandbox, user):
    """Its files of processors are the host's. What is written is what stands there already."""
    if "lxcfs" not in sandbox.data.check("cat /proc/mounts"):
        pytest.skip("lxcfs is not here")
    script = (
        "for file in $(find /sys/devices/system/cpu -type f) /proc/cpuinfo /proc/meminfo; do"
        " if : 2>/dev/null >>$file; then echo $file; fi; done"
    )
    assert sandbox.data.bash(script, user=user).stdout == b""
    knob = "/sys/devices/system/cpu/cpu0/power/pm_qos_resume_latency_us"
    host = pathlib.Path(knob)
    if host.exists():
        before = host.read_text(encoding="ascii")
        refused = sandbox.data.bash(f"echo {before.strip()} >{knob}", user=user)
        assert refused.exit_code != 0 and b"Read-only file system" in refused.stderr
        assert host.read_text(encoding="ascii") == before


HIDDEN = ["/proc/interrupts", "/proc/softirqs", "/proc/vmstat", "/proc/zoneinfo", "/proc/buddyinfo", "/proc/schedstat",
          "/proc/partitions", "/proc/keys", "/proc/key-users", "/proc/pressure/*", "/proc/irq/*", "/sys/block/*",
          "/sys/devices/virtual/block/*", "/sys/kernel/slab/*"]  # fmt: skip


def test_the_host_behind_it_is_not_seen(sandbox):
    for path in HIDDEN:
        assert sandbox.data.bash(f"cat {path} 2>/dev/null; ls -d {path.replace('*', '?*')} 2>/dev/null | grep '/.*/.*/'",
                                 user="root").stdout in (b"", path.encode() + b"\n"), path  # fmt: skip
    assert sandbox.data.bash("find /sys -name backing_file 2>/dev/null", user="root").stdout == b""


def assert_own_disk_alone(sandbox):
    """Of the pool's quota groups a sandbox sees its own, and its size in the agent's numbers."""
    seen = sandbox.data.check("cd /sys/fs/btrfs && find . -mindepth 1 -printf '%y %f\\n'", user="root").splitlines()
    assert {"f referenced", "f max_referenced"} <= set(seen)
    assert not [one for one in seen if not one.startswith("f ")], "no directory of another group, or of the pool"
    size = sandbox.document["disk_gb"] << 30
    assert int(sandbox.data.check("cat /sys/fs/btrfs/max_referenced")) >= size
    assert sandbox.data.request("GET", "/metrics").json()["disk_total"] == size
    wrote = sandbox.data.bash("echo 1 >/sys/fs/btrfs/max_referenced", user="root")
    assert b"Read-only file system" in wrote.stderr


@pytest.mark.long
def test_of_the_pool_it_sees_its_own_group(module_account):
    """One that waited, one made anew from a disk, and both after a pause."""
    api = module_account.api
    first = Sandbox.create(api)
    copy = Sandbox.create(api, template=checkpoint(first))
    for sandbox in (first, copy):
        assert_own_disk_alone(sandbox)
        sandbox.pause()
        assert sandbox.resume()["resumed_from"] == "memory"
        assert_own_disk_alone(sandbox)
        api.destroy(sandbox.id)


def test_no_crash_runs_a_program_of_the_host(sandbox):
    limits = sandbox.data.check("cat /proc/self/limits")
    assert re.search(r"Max core file size +1 +1 ", limits)


# --- what still works ---


PACKAGE = """
set -e
rm -rf /tmp/repository && mkdir -p /tmp/made/DEBIAN /tmp/made/usr/bin /tmp/repository
printf 'Package: made\\nVersion: 1\\nArchitecture: all\\nMaintainer: x <x@y.zz>\\nDescription: x\\n' >/tmp/made/DEBIAN/control
printf '#!/bin/sh\\nchown nobody /usr/bin/made && setcap cap_net_raw+ep /usr/bin/made || true\\n' >/tmp/made/DEBIAN/postinst
printf '#!/bin/sh\\necho made well\\n' >/tmp/made/usr/bin/made
chmod 755 /tmp/made/DEBIAN/postinst /tmp/made/usr/bin/made
dpkg-deb --build --root-owner-group /tmp/made /tmp/repository/made.deb
size=$(stat -c %s /tmp/repository/made.deb)
sum=$(sha256sum /tmp/repository/made.deb | cut -d ' ' -f 1)
{ cat /tmp/made/DEBIAN/control; printf 'Filename: ./made.deb\\nSize: %s\\nSHA256: %s\\n' $size $sum; } >/tmp/repository/Packages
echo 'deb [trusted=yes] file:/tmp/repository ./' >/tmp/made.list
options='-o Dir::Etc::sourcelist=/tmp/made.list -o Dir::Etc::sourceparts=-'
sudo apt-get $options update
sudo apt-get $options install -y made
made
sudo apt-get remove -y made
"""


def test_packages_are_installed(sandbox):
    """With sudo, from a repository, through apt's and dpkg's own children and users."""
    assert "made well" in sandbox.data.check(PACKAGE)


PROGRAMS = """
import asyncio, ctypes, multiprocessing, os, signal, socket, subprocess, tempfile, threading, time
with multiprocessing.get_context("spawn").Pool(2) as pool:
    assert pool.map(abs, [-1, -2]) == [1, 2]
with multiprocessing.Pool(2) as pool:
    assert pool.map(abs, [-3]) == [3]
assert subprocess.run(["sh", "-c", "exit 3"]).returncode == 3
async def echo():
    server = await asyncio.start_server(lambda r, w: w.write_eof(), "::", 0)
    await asyncio.open_connection("localhost", server.sockets[0].getsockname()[1])
asyncio.run(echo())
from multiprocessing import shared_memory
shared_memory.SharedMemory(create=True, size=1 << 20).unlink()
libc = ctypes.CDLL(None, use_errno=True)
watch = libc.inotify_init1(0)
assert watch >= 0 and libc.inotify_add_watch(watch, b"/tmp", 0x100) > 0
socket.socket(socket.AF_INET, socket.SOCK_STREAM).setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
signal.setitimer(signal.ITIMER_REAL, 100)
print("all well")
"""


def test_programs_run(sandbox):
    sandbox.data.upload("/tmp/programs.py", b"if __name__ == '__main__':\n" + b"".join(
        b"    " + line.encode() + b"\n" for line in PROGRAMS.strip().splitlines()))  # fmt: skip
    assert sandbox.data.check("python3 /tmp/programs.py") == "all well\n"
    assert sandbox.data.check("sudo -u user id -un; su -s /bin/sh -c 'id -un' user 2>&1; true").startswith("user")
    assert sandbox.data.check("ping -c1 127.0.0.1 || busybox ping -c1 127.0.0.1", user="root")
    assert "lo" in sandbox.data.check("ip -o addr; ss -ltn >/dev/null; ip route")
    assert sandbox.data.check("nproc; free >/dev/null; ps aux >/dev/null; top -bn1 >/dev/null; df >/dev/null")
    assert sandbox.data.check("chroot / id -un; git init -q /tmp/g; strace -V 2>&1 | head -1 || true", user="root")
    size = sandbox.data.check("df --output=size -BM /dev/shm | tail -1").strip()
    assert size == "256M", "half of its memory"


def libraries_of(program):
    """Where the loader and the libraries of a program are, as the machine's loader finds them."""
    listed = subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout
    return {found for found in re.findall(r"(/\S+)", listed) if "(" not in found}


def pack(archive, *, programs, folders=()):
    """A tar of programs of this machine, with their libraries in one folder, which replace none of the guest's."""
    with tarfile.open(archive, "w") as tar:
        for program in programs:
            tar.add(pathlib.Path(program).resolve(), f"bin/{pathlib.Path(program).name}")
        for library in set().union(*(libraries_of(program) for program in programs)):
            tar.add(pathlib.Path(library).resolve(), f"lib/{pathlib.Path(library).name}")
        for folder in folders:
            tar.add(folder, "bin")


SERVE = """
const http = require("http"), { Worker } = require("worker_threads"), { spawnSync } = require("child_process");
new Worker("process.exit(0)", { eval: true }).on("exit", () => {
  const child = spawnSync("sh", ["-c", "echo well"]).stdout.toString().trim();
  http.createServer((request, answer) => {
    answer.setHeader("Content-Type", "text/html");
    answer.end(`<p id=a></p><script>fetch("/x").then(() => document.getElementById("a").textContent = "all " + "${child}")</script>`);
  }).listen(3000, "127.0.0.1");
});
"""
CHROMIUM = "/usr/lib/chromium"
LIBRARIES = "LD_LIBRARY_PATH=/opt/p/lib"


@pytest.fixture(scope="module")
def larger(stack, module_account, tmp_path_factory):
    """A sandbox with this machine's Node and Chromium, which the default template does not have."""
    archive = tmp_path_factory.mktemp("programs") / "programs.tar"
    programs = [shutil.which("node"), f"{CHROMIUM}/chromium"]
    assert all(programs) and pathlib.Path(programs[1]).exists(), "scripts/packages/test.txt names both"
    pack(archive, programs=programs, folders=[CHROMIUM])
    stack.ctl("team", "set-plan", module_account.team, "pro")
    sandbox = Sandbox.create(module_account.api, memory_mb=2048, timeout=900)
    with archive.open("rb") as file:
        answer = sandbox.data.upload_octets("/tmp/programs.tar", file)
    assert answer.status in (200, 201), answer
    sandbox.data.check("sudo mkdir /opt/p && sudo tar -x -f /tmp/programs.tar -C /opt/p && rm /tmp/programs.tar")
    sandbox.data.upload("/tmp/serve.js", SERVE.encode())
    return sandbox


@pytest.mark.long
def test_node_serves_a_page_that_chromium_shows(larger):
    larger.data.background("/bin/bash", "-c", f"{LIBRARIES} exec /opt/p/bin/node /tmp/serve.js 2>/tmp/serve.log")
    larger.data.check("for i in $(seq 300); do curl -sf http://127.0.0.1:3000/ >/dev/null && exit; sleep 0.1; done;"
                      " cat /tmp/serve.log >&2; exit 1")
    page = larger.data.check(
        f"{LIBRARIES} timeout 150 /opt/p/bin/chromium --headless --no-sandbox --disable-gpu"
        " --no-first-run --virtual-time-budget=5000 --dump-dom http://127.0.0.1:3000/ 2>/tmp/chromium.log"
        " || { tail -20 /tmp/chromium.log >&2; exit 1; }")
    assert '<p id="a">all well</p>' in page, page


def test_a_server_with_open_connections_is_paused_and_resumed(module_account):
    sandbox = Sandbox.create(module_account.api)
    sandbox.data.background("python3", "-m", "http.server", "3000")
    sandbox.data.check("until python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", 3000))'; do sleep 0.1; done")
    for _ in range(2):
        sandbox.pause()
        assert sandbox.resume()["resumed_from"] == "memory"
    assert "200" in sandbox.data.check("curl -s -o /dev/null -w '%{http_code}' http://127.0.0.1:3000/")
    filters = sandbox.data.check("grep Seccomp_filters /proc/1/status")
    assert filters.split() == ["Seccomp_filters:", "2"], "no filter is added by a resume"
    module_account.api.destroy(sandbox.id)
