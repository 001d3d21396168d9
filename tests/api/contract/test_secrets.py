# SPDX-License-Identifier: GPL-2.0-or-later
"""`envs` are in the sandbox and nowhere else: the bytes themselves are searched for."""

import contextlib
import json
import secrets

import pytest

from client import Api, Origin
from edge import RawConnection
from search import assert_absent, file_holds, files_below, forms, search_database, search_files, search_incus
from tenant import Sandbox
from stack import wait_until

pytestmark = pytest.mark.parallel


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
    for envs in ({name: secret, "a b": "x"}, {name: [secret]}, {name: secret + "\0"}):
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
    for url in (stack.base_url, stack.console_url):  # nginx itself refuses these, with a line in its error log
        with contextlib.closing(RawConnection(Origin(stack.ca_file, url))) as connection:
            connection.send((f"POST /v1/sandboxes?token={token} HTTP/1.1\r\nContent-Length: 99999999999\r\n"
                             f"Host: {connection.socket.server_hostname}\r\n\r\n").encode())
            assert connection.answer().status == 413
    key_secret = account.api.key.split("_", 2)[2]
    needles = {token.encode(), key_secret.encode()}
    search_database(stack, needles)
    searched = [*files_below(stack.root / "log", set()), *files_below(stack.root / "nginx", set())]
    found = [str(path) for path in searched if file_holds(path, needles)]
    assert searched and not found, found
