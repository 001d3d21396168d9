# SPDX-License-Identifier: GPL-2.0-or-later
"""What is small when it is sent and large once it is read: answers of false agents, and lists of sandboxes."""

import concurrent.futures
import pathlib
import re
import secrets

import pytest

from client import Origin, assert_error
from false_agent import replace_agent
from pools import workers_of
from stack import wait_until
from tenant import Account, Sandbox

MOST_MIB = 64  # above rest, for one request
COSTLY = ["values", "lines", "command", "stream", "tag"]
PAGE_BYTES = 4 << 20
LARGE = {"metadata": {f"k{index:02}": "\x01" * 512 for index in range(64)}, "allow_internet_access": False,
         "rules": [{"host": f"h{index}.example.com", "paths": ["/" + "x" * 500 + str(number) for number in range(48)]}
                   for index in range(30)]}


def peak_mib(pids):
    peaks = [re.search(r"VmHWM:\s+(\d+) kB", pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8")) for pid in pids]
    return max(int(peak[1]) for peak in peaks) // 1024


@pytest.fixture(scope="module")
def false_agents(make_module_account):
    """A sandbox for each answer; nearly all of the time of replacing an agent is a wait."""
    account = make_module_account()

    def make(answer):
        return replace_agent(Sandbox.create(account.api, timeout=1800, lifecycle={"on_timeout": "pause"}), answer)

    with concurrent.futures.ThreadPoolExecutor(len(COSTLY)) as several:
        return dict(zip(COSTLY, several.map(make, COSTLY)))


@pytest.mark.parametrize("answer", COSTLY)
def test_no_log_costs_much_more_than_its_size(false_agents, answer):
    """Nor ends the worker that reads it."""
    sandbox = false_agents[answer]
    stack, api = sandbox.stack, sandbox.api
    route = sandbox.document["data_plane_url"].removeprefix("https://").split(".")[0]
    workers = workers_of(stack, "api") | workers_of(stack, "pauses")
    for pid in workers:
        pathlib.Path(f"/proc/{pid}/clear_refs").write_text("5", encoding="ascii")  # the peak begins again
    before = peak_mib(workers)
    front = Origin(stack.ca_file, stack.base_url)
    keys = {"X-API-Key": api.key, "Authorization": f"Bearer {api.key}"}
    for path in (f"{sandbox.path}/logs", f"/sandboxes/{route}/logs", f"/v2/sandboxes/{route}/logs?search=none"):
        answered = front.request("GET", path, headers=keys, timeout_s=60)
        assert answered.status in (200, 503), answered
        assert len(answered.body) < 8 << 20
    sandbox.pause()
    for path in (f"{sandbox.path}/logs", f"/sandboxes/{route}/logs"):
        answered = front.request("GET", path, headers=keys, timeout_s=60)
        assert answered.status in (200, 409, 503), answered
    assert workers <= workers_of(stack, "api") | workers_of(stack, "pauses"), "no worker has ended"
    assert peak_mib(workers) - before < MOST_MIB


@pytest.fixture(scope="module")
def crowd(stack):
    """An account with large sandboxes and a small one."""
    account = Account(stack)
    for fields in [LARGE] * 9 + [{}]:
        account.api.create(timeout=1800, **fields)
    yield account
    account.clean_up()


@pytest.mark.parametrize("path", ["/v1/sandboxes?limit=200", "/v2/sandboxes?limit=100"])
def test_a_page_of_large_sandboxes_ends_early(crowd, path):
    """The document of each sandbox is as large as the body of a request may be."""
    account = crowd
    workers = workers_of(account.stack, "records") | workers_of(account.stack, "api")
    front = Origin(account.stack.ca_file, account.stack.base_url)
    keys = {"X-API-Key": account.api.key, "Authorization": f"Bearer {account.api.key}"}
    seen, token, pages = [], "", 0
    while token is not None:
        name = "next_token" if path.startswith("/v1") else "nextToken"
        answered = front.request("GET", f"{path}&{name}={token}" if token else path, headers=keys, timeout_s=60)
        assert answered.status == 200, answered
        assert len(answered.body) < 2 * PAGE_BYTES
        page = answered.json()
        rows = page["sandboxes"] if path.startswith("/v1") else page
        seen += [row.get("id") or row["sandboxID"] for row in rows]
        token = page.get("next_token") if path.startswith("/v1") else answered.headers.get("X-Next-Token")
        pages += 1
    assert len(seen) == len(set(seen)) == 10 and pages > 1, (len(seen), pages)
    assert workers <= workers_of(account.stack, "records") | workers_of(account.stack, "api"), "no worker has ended"


@pytest.mark.parallel
def test_forks_of_a_large_sandbox_are_few(account):
    made = account.api.create(**LARGE)
    answered = account.api.post(f"/v1/sandboxes/{made['id']}/fork", {"count": 100})
    error = assert_error(answered, 422, "invalid_request", "/count")
    most = int(re.search(r"at most (\d+) such forks", error["message"])[1])
    assert 1 < most < 9


@pytest.mark.parallel
def test_a_build_says_little_about_its_image(account, stack):
    """A step can replace the programs with which the service reads the results."""
    name = "t" + secrets.token_hex(5)
    steps = [{"type": "user", "user": "root"},
             {"type": "run", "command": """
cat >/usr/local/bin/head <<'END'
#!/bin/sh
case "$*" in
*template.json*) printf '{"image": {"name": "x", "envs": {"A": "%0900000d"}}}' 0 ;;
*) exec /usr/bin/head "$@" ;;
esac
END
chmod 755 /usr/local/bin/head"""}]
    assert account.api.post("/v1/templates", {"slug": name, "template": stack.template, "steps": steps}).status == 201

    def ended():
        version = account.api.get(f"/v1/templates/{name}/versions/1").json()
        return version if version["state"] != "building" else None

    version = wait_until(ended, 120, "the end of the build")
    assert version["state"] == "failed" and "more than the service asked for" in version["log"], version
    (row,) = stack.query("SELECT image_config FROM template_versions v JOIN templates t ON t.id = v.template_id"
                         " WHERE t.slug = %s", name)
    assert row["image_config"] is None


@pytest.mark.parallel
def test_a_deleted_sandbox_leaves_a_small_row(account, stack):
    """The database keeps 10,000 rows of deleted sandboxes for each team, up to 90 days."""
    sandbox = Sandbox.create(account.api, **LARGE)
    assert sum(len(str(value)) for value in stack.row(sandbox.id).values()) > 500_000
    account.api.destroy(sandbox.id)
    sandbox.wait_until_removed()
    assert sum(len(str(value)) for value in stack.row(sandbox.id).values()) < 8192
