# SPDX-License-Identifier: GPL-2.0-or-later
"""Every call of the data plane as root and as users without rights: whose home, whose files, whose
process."""

import base64
import json
import secrets

import pytest

from dataplane import Stream, collect

pytestmark = pytest.mark.parallel

USERS = {"root": "/root", "user": "/home/user", "worker": "/home/worker"}


@pytest.fixture(scope="module")
def data(shared_sandbox):
    data = shared_sandbox.data
    data.check("groupadd crew; groupadd second; useradd -m -s /bin/sh -G crew,second worker", user="root")
    return data


@pytest.fixture(params=USERS)
def user(request):
    return request.param


def home(user):
    return USERS[user]


def query(path, user):
    return f"/files?path={path}&username={user}"


def test_files(data, user):
    name = secrets.token_hex(6)
    for path in (f"{name}/a", f"~/{name}/b"):
        answer = data.upload_octets(path, b"octets", user=user)
        assert answer.status == 200, answer
    answer = data.upload_multipart([(f"{name}/c", b"a part")], user=user)
    assert answer.json()[0]["path"] == f"{home(user)}/{name}/c"
    stat = data.check(f"stat -c '%U:%G %a' {home(user)}/{name} {home(user)}/{name}/[abc]", user="root")
    assert stat.splitlines() == [f"{user}:{user} 755"] + [f"{user}:{user} 644"] * 3
    assert data.download(f"{name}/a", user=user).body == b"octets"
    assert data.download(f"{name}/a", {"Range": "bytes=1-2"}, user=user).body == b"ct"
    body = {"source_paths": [f"{name}/a", f"~/{name}/b"], "destination": f"{name}/d", "username": user}
    answer = data.request("POST", "/files/compose", json.dumps(body).encode(),
                          {"Content-Type": "application/json"})
    assert answer.json()["path"] == f"{home(user)}/{name}/d"
    assert data.check(f"stat -c '%U:%G %a' {home(user)}/{name}/d", user="root") == f"{user}:{user} 644\n"


def test_filesystem(data, user):
    name = secrets.token_hex(6)
    base = f"{home(user)}/{name}"

    def call(method, message):
        answer = data.call(f"filesystem.Filesystem/{method}", message, user=user)
        assert answer.status == 200, (method, answer)
        return answer.json()

    made = call("MakeDir", {"path": f"{name}/deep"})["entry"]
    assert (made["path"], made["owner"], made["group"], made["mode"]) == (
        f"{base}/deep", user, user, 0o755)
    watcher = call("CreateWatcher", {"path": name})["watcherId"]
    watching = Stream(*data.open_stream("filesystem.Filesystem/WatchDir", {"path": name}, user=user))
    assert "start" in next(watching)
    data.upload_octets(f"{name}/f", b"x", user=user)
    moved = call("Move", {"source": f"{name}/f", "destination": f"{name}/other/g"})["entry"]
    assert (moved["path"], moved["owner"]) == (f"{base}/other/g", user)
    assert data.check(f"stat -c %U {base}/other", user="root") == f"{user}\n"
    assert call("Stat", {"path": f"~/{name}/other/g"})["entry"]["size"] in (1, "1")
    listed = call("ListDir", {"path": name, "depth": 2})["entries"]
    assert [entry["path"] for entry in listed] == [
        f"{base}/deep", f"{base}/other", f"{base}/other/g"]
    assert next(watching)["filesystem"]["name"] == "f"
    watching.close()
    assert call("GetWatcherEvents", {"watcherId": watcher})["events"]
    call("RemoveWatcher", {"watcherId": watcher})
    call("Remove", {"path": name})
    assert data.call("filesystem.Filesystem/Stat", {"path": base}, user=user).status == 404


def test_processes(data, user):
    text = data.run("/bin/sh", "-c", "id -un; id -gn; pwd; umask; echo $HOME $USER $LOGNAME; echo $PATH;"
                    " id -Gn; touch made; stat -c '%U %a' made; rm made", user=user)
    assert text.exit_code == 0, text
    lines = text.stdout.decode().splitlines()
    assert lines[:5] == [user, user, home(user), "0022", f"{home(user)} {user} {user}"]
    assert {"/usr/bin", "/bin"} <= set(lines[5].split(":"))
    groups = {"root": {"root"}, "user": {"user", "sudo"}, "worker": {"worker", "crew", "second"}}
    assert groups[user] <= set(lines[6].split()), lines[6]
    assert lines[7] == f"{user} 644"
    assert data.run("/bin/sh", "-c", "pwd", cwd="~", user=user).stdout.decode() == home(user) + "\n"
    refused = data.run("/bin/sh", "-c", "cat /etc/shadow", user=user)
    assert (refused.exit_code == 0) == (user == "root")
    login = data.run("/bin/bash", "-l", "-c", "echo $0; pwd", user=user)
    assert login.stdout.decode().splitlines()[-1] == home(user) and login.stderr == b""


def test_a_process_is_spoken_to(data, user):
    """All calls on it carry the user as well, and none of them minds."""
    def call(method, message):
        answer = data.call(f"process.Process/{method}", message, user=user)
        assert answer.status == 200, (method, answer)
        return answer.json()

    with data.start("/bin/cat", user=user, stdin=True) as stream:
        pid = next(stream)["event"]["start"]["pid"]
        follow = Stream(*data.open_stream("process.Process/Connect", {"process": {"pid": pid}}, user=user))
        next(follow)
        call("SendInput", {"process": {"pid": pid}, "input": {"stdin": base64.b64encode(b"in").decode()}})
        for one in (stream, follow):
            assert base64.b64decode(next(one)["event"]["data"]["stdout"]) == b"in"
        assert pid in [process["pid"] for process in call("List", {})["processes"]]
        call("CloseStdin", {"process": {"pid": pid}})
        assert collect(follow).exit_code == 0
    connection, response = data.open_stream("process.Process/Start", {
        "process": {"cmd": "/bin/sh"}, "pty": {"size": {"cols": 80, "rows": 24}}}, user=user)
    with Stream(connection, response) as terminal:
        pid = next(terminal)["event"]["start"]["pid"]
        call("Update", {"process": {"pid": pid}, "pty": {"size": {"cols": 99, "rows": 33}}})
        typed = base64.b64encode(b"stat -c owner=%U $(tty); stty size\n").decode()
        call("SendInput", {"process": {"pid": pid}, "input": {"pty": typed}})
        shown = b""
        while b"33 99" not in shown:
            shown += base64.b64decode(next(terminal)["event"].get("data", {}).get("pty", ""))
        assert f"owner={user}".encode() in shown
        call("SendSignal", {"process": {"pid": pid}, "signal": "SIGNAL_SIGKILL"})
        assert collect(terminal).status == "signal: killed"


def test_users_that_are_not_there(data):
    stranger = "nobody-by-that-name"
    assert data.download("x", user=stranger).status == 401
    assert data.upload_octets("/tmp/x", b"x", user=stranger).status == 401
    for method in ("Stat", "MakeDir", "ListDir", "Remove", "CreateWatcher"):
        answer = data.call(f"filesystem.Filesystem/{method}", {"path": "/tmp"}, user=stranger)
        assert (answer.status, answer.json()["code"]) == (401, "unauthenticated"), (method, answer)
    answer = data.call("filesystem.Filesystem/Move", {"source": "/a", "destination": "/b"}, user=stranger)
    assert answer.status == 401
    for method, message in (("filesystem.Filesystem/WatchDir", {"path": "/tmp"}),
                            ("process.Process/Start", {"process": {"cmd": "/bin/true"}})):
        connection, response = data.open_stream(method, message, user=stranger)
        assert b'"unauthenticated"' in response.read()
        connection.close()


def test_without_a_list_of_users_root_can_write_one(sandbox):
    data = sandbox.data
    data.check("mv /etc/passwd /etc/passwd.away", user="root")
    answer = data.request("POST", "/exec", json.dumps({"cmd": "true"}).encode(), {"Content-Type": "application/json"})
    assert (answer.status, answer.json()["error"]) == (400, "failed_precondition"), answer
    assert "no user list" in answer.json()["message"]
    assert data.download("/etc/group", user="root").status == 200
    data.check("mv /etc/passwd.away /etc/passwd", user="root")
    assert data.check("id -un") == "user\n"
