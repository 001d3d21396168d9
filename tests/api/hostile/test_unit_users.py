# SPDX-License-Identifier: GPL-2.0-or-later
"""Each program has a user of its own, which can read neither the memory nor the secrets of another one."""

import collections
import grp
import os
import pathlib
import pwd
import subprocess

import pytest

pytestmark = [pytest.mark.parallel, pytest.mark.one_host]

# The files that a program may open; its user is refused all others.
CALLS_HOSTS = {"key_ring", "database_password", "incus_socket"}
MAY = {
    "sandlot-api": CALLS_HOSTS, "sandlot-files": CALLS_HOSTS, "sandlot-pauses": CALLS_HOSTS, "sandlot-copies": CALLS_HOSTS,
    "sandlot-wake": CALLS_HOSTS, "sandlot-dispatcher": CALLS_HOSTS,
    "sandlot-records": {"key_ring", "database_password"}, "sandlot-gate": {"key_ring", "database_password"},
    "sandlot-events": {"key_ring", "database_password"}, "sandlot-sshd": {"key_ring", "database_password", "ssh_host_key"},
    "sandlot-firewall": set(),
}
PROGRAMS = ["sandlot-api", "sandlot-gate", "sandlot-events", "sandlot-dispatcher", "sandlot-ssh", "sandlot-firewall"]

# Becomes the user in three numbers, tries each of the rest, and says which it could.
TRY = """
import os, socket, sys
uid, gid, groups, *targets = sys.argv[1:]
os.setgroups([int(one) for one in groups.split(",") if one])
os.setresgid(*[int(gid)] * 3)
os.setresuid(*[int(uid)] * 3)
for target in targets:
    name, _, path = target.partition("=")
    try:
        if name.endswith("_socket"):
            socket.socket(socket.AF_UNIX).connect(path)
        else:
            os.close(os.open(path, os.O_RDWR if name == "memory" else os.O_RDONLY))
        print(name)
    except OSError:
        pass
"""


def identity(pid):
    """Uid, gid and groups of a process, as the kernel has them."""
    lines = dict(line.split(":", 1) for line in pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines())
    return (int(lines["Uid"].split()[1]), int(lines["Gid"].split()[1]), tuple(sorted(map(int, lines["Groups"].split()))))


@pytest.fixture(scope="module")
def users(stack):
    """Name of the user: its identity, and the pids of its processes."""
    found = collections.defaultdict(lambda: (None, []))
    for program in PROGRAMS:
        for pid in stack.processes(program):
            who = identity(pid)
            name = pwd.getpwuid(who[0]).pw_name
            assert found[name][0] in (None, who), f"two processes of {name} differ"
            found[name] = (who, [*found[name][1], pid])
    return dict(found)


def secrets_of(stack):
    settings = stack.settings
    paths = {"key_ring": settings["key_file"], "database_password": settings["database_password_file"],
             "admin_password": settings["database_admin_password_file"], "ssh_host_key": settings["ssh_host_key_file"],
             "tls_key": settings["tls_certificate_key_file"], "incus_socket": stack.incus_dir / "unix.socket"}
    if "incus_client_key_file" in settings:
        paths["client_key"] = settings["incus_client_key_file"]
    return {name: str(path) for name, path in paths.items()}


def attempt(who, targets):
    uid, gid, groups = who
    done = subprocess.run(["/usr/bin/python3", "-c", TRY, str(uid), str(gid), ",".join(map(str, groups)),
                           *(f"{name}={path}" for name, path in targets)], capture_output=True, text=True, timeout=60, check=True)
    return set(done.stdout.split())


def test_each_program_has_its_user(users):
    assert set(users) == set(MAY)
    assert len({who[0] for who, _ in users.values()}) == len(MAY) and 0 not in {who[0] for who, _ in users.values()}


@pytest.mark.parametrize("user", sorted(MAY))
def test_a_user_reads_its_own_secrets_alone(stack, users, user):
    targets = secrets_of(stack)
    # Root opens each file, so a refusal of another user is not a missing file.
    assert attempt((0, 0, ()), targets.items()) == set(targets)
    allowed = set(MAY[user])
    if "client_key" in targets and "incus_socket" in allowed:
        allowed.add("client_key")
    assert attempt(users[user][0], targets.items()) == allowed


@pytest.mark.parametrize("user", sorted(MAY))
def test_no_user_writes_the_memory_of_a_worker(users, user):
    """Not even of its own processes: a worker's memory holds keys of everybody."""
    pids = [pid for name, (_, of) in users.items() if name != "sandlot-firewall" for pid in of]
    targets = [("memory", f"/proc/{pid}/mem") for pid in pids]
    assert attempt((0, 0, ()), targets) == {"memory"}
    assert attempt(users[user][0], targets) == set()


def test_a_secret_has_no_other_readers(stack):
    """By the files themselves: no bit for others, and the group of the programs that need it."""
    groups = {"key_ring": "sandlot", "database_password": "sandlot", "ssh_host_key": "sandlot-sshd", "client_key": "sandlot-runtime"}
    for name, path in secrets_of(stack).items():
        status = os.stat(path)
        if name in groups:
            assert (status.st_mode & 0o7777, grp.getgrgid(status.st_gid).gr_name) == (0o640, groups[name]), name
        elif not name.endswith("_socket"):
            assert not status.st_mode & 0o077, name
