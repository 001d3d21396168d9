# SPDX-License-Identifier: GPL-2.0-or-later
"""`envs` are in the sandbox and nowhere else: the bytes themselves are searched for."""

import base64
import json
import os
import pathlib
import secrets
import urllib.parse

from client import Api
from tenant import Sandbox
from stack import wait_until


def forms(secret):
    """The secret and what it looks like when it is merely dressed up."""
    raw = secret.encode()
    found = {raw, raw.hex().encode(), raw.hex().upper().encode(), raw[::-1]}
    found.add(urllib.parse.quote(secret, safe="").encode())
    for offset in range(3):
        # Base64 of the bytes at every alignment, without the ends that depend on what is beside.
        text = base64.b64encode(b"\0" * offset + raw)
        found.add(text[4 if offset else 0 : -4])
        found.add(base64.urlsafe_b64encode(b"\0" * offset + raw)[4 if offset else 0 : -4])
    return found


def assert_absent(data, needles, where):
    if isinstance(data, str):
        data = data.encode()
    for needle in needles:
        assert needle not in data, f"{needle!r} is in {where}"


def file_holds(path, needles):
    """Whether a file of any size holds one of needles."""
    overlap = max(map(len, needles))
    tail = b""
    with open(path, "rb") as opened:
        while piece := opened.read(1 << 22):
            block = tail + piece
            if any(needle in block for needle in needles):
                return True
            tail = block[-overlap:]
    return False


def files_below(root, skipped):
    for directory, names, files in os.walk(root):
        names[:] = [name for name in names if os.path.join(directory, name) not in skipped]
        for name in files:
            path = pathlib.Path(directory, name)
            if path.is_file() and not path.is_symlink():
                yield path


def search_files(stack, needles, instance):
    """Every file under the state root, but for the disk and the memory of the sandbox itself."""
    inner = stack.instance_dir(instance)
    pools = stack.incus_dir / "storage-pools"
    # The pool is a file system in a file under disks/; it is searched where it is mounted.
    skipped = {str(stack.incus_dir / "disks"), str(pools), str(stack.root / "build")}
    searched = list(files_below(stack.root, skipped))
    searched += files_below(inner, {str(inner / "rootfs"), str(inner / "state")})
    names = {str(path.relative_to(stack.root)) for path in searched}
    assert any("log" in name for name in names) and any("mysql" in name for name in names), names
    assert any(name.endswith("backup.yaml") for name in names), "Incus' own note of the instance"
    found = [str(path) for path in searched if path.exists() and file_holds(path, needles)]
    assert not found, found


def search_database(stack, needles):
    connection = stack.database()
    try:
        with connection.cursor() as cursor:
            cursor.execute("SHOW TABLES")
            tables = [next(iter(row.values())) for row in cursor.fetchall()]
            assert "sandboxes" in tables
            for table in tables:
                cursor.execute(f"SELECT * FROM `{table}`")
                for row in cursor.fetchall():
                    for column, value in row.items():
                        data = value if isinstance(value, bytes) else str(value).encode()
                        assert_absent(data, needles, f"{table}.{column}")
    finally:
        connection.close()


def search_incus(stack, needles, instance):
    for path in (
        "/1.0/instances?recursion=2",
        f"/1.0/instances/{instance}",
        f"/1.0/instances/{instance}/state",
        "/1.0/profiles?recursion=1",
        "/1.0/operations?recursion=1",
        "/1.0/projects?recursion=1",
    ):
        status, body = stack.incus.raw("GET", path)
        assert status == 200, (path, body)
        assert_absent(body, needles, path)


def test_envs_are_in_the_sandbox_and_nowhere_else(account, stack):
    secret = "Canary." + secrets.token_hex(24) + "/+=~"
    name = "NAMED_" + secrets.token_hex(12).upper()
    needles = forms(secret) | {name.encode()}
    answers = []
    api = account.api
    real = api.origin.request

    def remembered(*arguments, **options):
        answers.append(real(*arguments, **options))
        return answers[-1]

    api.origin.request = remembered
    body = {"envs": {name: secret, "OTHER": secret}, "timeout": 900}
    key = {"Idempotency-Key": secrets.token_urlsafe(16)}
    created = api.post("/v1/sandboxes", body, headers=key)
    sandbox = Sandbox(api, created.json())
    replayed = api.post("/v1/sandboxes", body, headers=key)
    assert replayed.json()["id"] == sandbox.id

    def is_there():
        for user in ("user", "root"):
            assert sandbox.data.check(f"printf %s \"${name}\"", user=user) == secret
        environment = sandbox.data.run("/usr/bin/env").stdout
        assert f"OTHER={secret}".encode() in environment

    def is_nowhere_else():
        api.get(sandbox.path)
        api.get("/v1/sandboxes")
        Api(stack, account.key("read")).get(sandbox.path)
        for number, answer in enumerate(answers):
            assert_absent(answer.body, needles, f"answer {number}")
            assert_absent(str(answer.headers), needles, f"the head of answer {number}")
        search_incus(stack, needles, sandbox.instance)
        search_database(stack, needles)
        search_files(stack, needles, sandbox.instance)

    is_there()
    is_nowhere_else()

    # A refusal repeats nothing of what it refuses.
    for envs in ({name: secret, "1": "x"}, {name: [secret]}, {name: secret + "\0"}):
        refusal = api.post("/v1/sandboxes", {"envs": envs})
        assert refusal.status == 422
        assert_absent(refusal.body, forms(secret), "a refusal")
    broken = json.dumps({"envs": {"A": secret}}).encode()[:-1]
    refusal = api.post("/v1/sandboxes", broken, headers={"Content-Type": "application/json"})
    assert refusal.status == 400
    assert_absent(refusal.body, forms(secret), "a refusal")

    sandbox.pause()
    answers.append(api.get(sandbox.path))
    needles_at_rest = forms(secret) | {name.encode()}
    search_incus(stack, needles_at_rest, sandbox.instance)
    search_database(stack, needles_at_rest)
    sandbox.resume()
    is_there()

    # From disk the environment is handed over anew, out of the sealed copy.
    sandbox.pause()
    state = stack.instance_dir(sandbox.instance) / "state"
    for image in state.glob("pages-*.img"):
        image.unlink()
    assert sandbox.resume()["resumed_from"] == "disk"
    is_there()
    search_incus(stack, needles, sandbox.instance)
    search_database(stack, forms(secret))
    sandbox.data.check("true")
    logs = stack.root / "log"
    wait_until(lambda: any(logs.iterdir()), 5, "logs")
    found = [str(path) for path in files_below(logs, set()) if file_holds(path, forms(secret))]
    assert not found, found


def test_tokens_and_keys_are_in_no_log_and_no_column(account, make_sandbox, stack):
    sandbox = make_sandbox(exposed_ports=[{"port": 3000, "protocol": "http", "public": False}])
    token = sandbox.data.token
    assert sandbox.data.check("echo x") == "x\n"
    sandbox.preview(3000).request("GET", f"/?access_token={token}")
    sandbox.data.origin.request("GET", f"/files?path=/etc/passwd&access_token={token}")
    key_secret = account.api.key.split("_", 2)[2]
    needles = {token.encode(), key_secret.encode()}
    search_database(stack, needles)
    searched = [*files_below(stack.root / "log", set()), *files_below(stack.root / "nginx", set())]
    found = [str(path) for path in searched if file_holds(path, needles)]
    assert searched and not found, found
