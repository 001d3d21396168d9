# SPDX-License-Identifier: GPL-2.0-or-later
"""GET /v1/sandbox_limits: every member, plans as rows, usage, and the disk that a plan gives."""

import re

import pytest

from cli import Cli
from client import assert_error
from edge import process_settings
from faults import waiting  # noqa: F401 (a fixture)
from stack import wait_until
from tenant import Sandbox

pytestmark = pytest.mark.parallel

PLAN = {"name", "public", "resource_override", "cpu_values", "memory_mb_max", "disk_gb", "max_timeout", "sandboxes", "vcpus", "memory_mb",
        "stopped_sandboxes", "paused_memory_gb", "volumes", "checkpoints", "stopped_days", "checkpoint_days",
        "cleanup_warning_hours", "audit_days", "process_log_kib", "prices",
        "virtual_machines_only"}
AMOUNT = {"sandboxes", "vcpus", "memory_mb"}


def limits(api, team=None):
    response = api.get("/v1/sandbox_limits" + (f"?team={team}" if team else ""))
    assert response.status == 200, response
    return response.json()


def largest(stack):
    """The largest sandbox of any host. The dispatcher counts the processors soon after its start."""
    def look():
        (row,) = stack.query(
            "SELECT MIN(processors) AS counted, MAX(LEAST(vcpus, processors)) AS cpu,"
            " MAX(memory_mb * LEAST(memory_overcommit, 100) DIV 100) AS memory_mb"
            " FROM hosts WHERE state <> 'joining' AND lost_at_ms IS NULL")
        return row["counted"] and {name: int(row[name]) for name in ("cpu", "memory_mb")}
    return wait_until(look, 60, "the count of the hosts' processors", 0.5)


@pytest.mark.alone
def test_the_default_registry_of_images_is_shown(account, stack, tmp_path):
    cli = Cli(stack, tmp_path, account.api.key)
    assert limits(account.api)["image_registry_default"] == stack.settings["image_registry_default"]
    with process_settings(stack, "sandlot-api", image_registry_default=""):
        assert cli.json("limits")["image_registry_default"] is None
    with process_settings(stack, "sandlot-api", image_registry_default="registry.example.com:5000"):
        assert limits(account.api)["image_registry_default"] == "registry.example.com:5000"
        shown = cli.say("limits", "--team", account.team)
        assert re.search(r"^image_registry_default +registry.example.com:5000$", shown, re.MULTILINE), shown


def test_a_size_that_no_host_can_give(make_account, stack, own_plan):
    """A sandbox of that size could never start, so the create is refused at once."""
    account, host = make_account("enterprise"), largest(stack)
    api, cpu = account.api, next(value for value in (2, 4, 8, 16, 32) if value > host["cpu"])
    memory_mb = host["memory_mb"] // 128 * 128 + 1280
    own_plan(account, cpu_values=f"1,{cpu}", memory_mb_max=memory_mb + 11520)
    for body, field in (({"cpu": cpu}, "/cpu"), ({"memory_mb": memory_mb}, "/memory_mb"),
                        ({"cpu": 1, "memory_mb": memory_mb}, "/memory_mb"), ({"cpu": cpu, "memory_mb": 512}, "/cpu")):
        refused = assert_error(api.post("/v1/sandboxes", body), 422, "invalid_request", field)
        assert refused["largest"] == host and str(host["cpu"]) in refused["message"]
        baseline = {"slug": "too-large", "runtime_baseline": body, "image": "none"}
        assert api.post("/v1/templates", baseline).status == 422
    given = limits(api)
    assert given["cpu_values"] == [1] and given["memory_mb_max"] <= host["memory_mb"]


def test_a_plan_of_virtual_machines_only(make_account, own_plan):
    """A create of a container is refused; what runs already continues."""
    account = make_account("enterprise")
    api, sandbox = account.api, Sandbox.create(account.api)
    assert limits(api)["plan"]["virtual_machines_only"] is False
    own_plan(account, virtual_machines_only=1)
    assert limits(api)["plan"]["virtual_machines_only"] is True
    refused = assert_error(api.post("/v1/sandboxes", {}), 422, "plan_restricts_resources", "/template")
    assert "virtual machines only" in refused["message"]
    assert_error(api.post(f"{sandbox.path}/fork", {}), 422, "plan_restricts_resources", "/template")
    sandbox.pause()
    assert sandbox.resume()["resumed_from"] == "memory"


@pytest.mark.parametrize("plan, disk_gb, max_timeout", [
    ("basic", 10, 3600), ("pro", 20, 86400), ("enterprise", 40, 604800)])
def test_every_member(make_account, stack, plan, disk_gb, max_timeout):
    account = make_account(plan)
    given = limits(account.api)
    row = stack.query("SELECT * FROM plans WHERE name = %s", plan)[0]
    assert set(given) == {"team", "cpu", "memory_mb", "plan", "plans", "cpu_values", "memory_mb_min",
                          "memory_mb_max", "memory_mb_increment", "disk_gb", "max_timeout",
                          "network_class", "image_registry_default", "prices", "quota", "paused_memory", "per_sandbox"}
    assert given["per_sandbox"]["processes"] == 500 and all(bound > 0 for bound in given["per_sandbox"].values())
    assert given["team"] == account.team
    assert [one["name"] for one in given["plans"]] == ["basic", "pro", "enterprise"]
    assert all(set(one) == PLAN for one in given["plans"])
    assert given["plan"] in given["plans"] and given["plan"]["name"] == plan
    assert (given["disk_gb"], given["max_timeout"]) == (disk_gb, max_timeout)
    host = largest(stack)
    allowed = [int(value) for value in row["cpu_values"].split(",")]
    assert given["cpu_values"] == [value for value in allowed if value <= host["cpu"]]
    for name in ("memory_mb_min", "memory_mb_increment"):
        assert given[name] == row[name]
    step = row["memory_mb_increment"]
    assert given["memory_mb_max"] == min(row["memory_mb_max"], host["memory_mb"] // step * step)
    assert all(given["plan"][name] == given[name] for name in ("cpu_values", "memory_mb_max"))
    assert (given["cpu"], given["memory_mb"]) == (row["cpu_default"], row["memory_mb_default"])
    assert given["network_class"] == stack.settings.get("default_network_class", "internet")
    assert given["prices"] == given["plan"]["prices"] == {
        name: row[name] for name in ("currency", "vcpu_hour", "memory_gb_hour", "storage_gb_month")}
    assert all(set(given["quota"][name]) == AMOUNT for name in ("limits", "usage", "reservation"))
    assert given["quota"]["limits"] == {name: row[name] for name in AMOUNT}
    assert given["quota"]["usage"] == dict.fromkeys(AMOUNT, 0)


def test_the_reservation_is_what_a_create_takes(api):
    reservation = limits(api)["quota"]["reservation"]
    document = api.create()
    assert reservation == {"sandboxes": 1, "vcpus": document["cpu"], "memory_mb": document["memory_mb"]}
    assert limits(api)["quota"]["usage"] == reservation
    api.pause(document["id"])
    assert limits(api)["quota"]["usage"]["sandboxes"] == 0
    api.resume(document["id"])
    assert limits(api)["quota"]["usage"] == reservation
    api.destroy(document["id"])
    assert limits(api)["quota"]["usage"] == dict.fromkeys(AMOUNT, 0)


def test_paused_memory_at_its_bound(account, own_plan):
    """A paused sandbox counts with its memory; at the bound a pause keeps the disk only, or is refused."""
    api = account.api
    own_plan(account, paused_memory_gb=1)
    first, second = Sandbox.create(api), Sandbox.create(api)
    size = first.show()["memory_mb"]
    first.pause()
    assert limits(api)["paused_memory"] == {"limit_mb": 1024, "used_mb": size}
    own_plan(account, paused_memory_gb=0)
    second.pause()
    assert second.resume()["resumed_from"] == "disk"
    assert api.request("PATCH", second.path, {"lifecycle": {"on_pause_failure": "keep_running"}}).status == 200
    refused = assert_error(api.post(f"{second.path}/pause"), 422, "stopped_quota_exceeded")
    assert (refused["limit"], refused["used"]) == (0, size)
    checkpoint = api.post(f"{second.path}/checkpoints", {"memory": True})
    assert_error(checkpoint, 422, "stopped_quota_exceeded")
    assert second.show()["state"] == "ready" and second.data.check("true") == ""
    assert first.resume()["resumed_from"] == "memory"
    assert limits(api)["paused_memory"]["used_mb"] == 0


def test_usage_is_of_the_team_that_is_asked(account):
    second = account.make_team("pro")
    account.api.create(team=second, memory_mb=384)
    assert limits(account.api)["quota"]["usage"]["sandboxes"] == 0
    theirs = limits(account.api, second)
    assert theirs["team"] == second and theirs["plan"]["name"] == "pro"
    assert theirs["quota"]["usage"] == {"sandboxes": 1, "vcpus": 1, "memory_mb": 384}


@pytest.mark.alone
def test_a_changed_plan_holds_at_once(account, stack, set_plan):
    api = account.api
    stack.ctl("team", "set-plan", account.team, "pro")
    assert limits(api)["plan"]["name"] == "pro"
    assert api.create(memory_mb=256, timeout=86400)["disk_gb"] == 20
    stack.ctl("team", "set-plan", account.team, "basic")
    assert_error(api.post("/v1/sandboxes", {"memory_mb": 256}), 422, "plan_restricts_resources", "/memory_mb")
    assert_error(api.post("/v1/sandboxes", {"timeout": 86400}), 422, "invalid_request", "/timeout")
    set_plan("basic", max_timeout_s=31536000, vcpu_hour="0.1234")
    given = limits(api)
    assert given["max_timeout"] == 31536000 and given["prices"]["vcpu_hour"] == "0.1234"
    assert api.create(timeout=31536000)["timeout"] == 31536000
    assert_error(api.post("/v1/sandboxes", {"timeout": 31536001}), 422, "invalid_request", "/timeout")
    set_plan("basic", sandboxes=2)
    answer = assert_error(api.post("/v1/sandboxes", {}), 422, "sandbox_quota_exceeded")
    assert answer["quota"] == limits(api)["quota"]


def test_overrides_at_their_edges(make_account):
    api = make_account("pro").api
    given = limits(api)
    least, most, step = (given[f"memory_mb_{name}"] for name in ("min", "max", "increment"))
    for body, field in (({"memory_mb": least - step}, "/memory_mb"), ({"memory_mb": most + step}, "/memory_mb"),
                        ({"memory_mb": least + 1}, "/memory_mb"), ({"cpu": 3}, "/cpu"), ({"cpu": 16}, "/cpu")):
        assert_error(api.post("/v1/sandboxes", body), 422, "invalid_request", field)
    document = api.create(memory_mb=least, cpu=given["cpu_values"][1])
    assert (document["memory_mb"], document["cpu"]) == (least, given["cpu_values"][1])


@pytest.mark.parametrize("plan", [pytest.param("basic", marks=pytest.mark.long), "pro"])
@pytest.mark.usefixtures("waiting")
def test_the_disk_ends_where_the_plan_says(make_account, own_plan, plan):
    """The plan's size is cut down so that the test need not write gigabytes: it is smaller than any that waits."""
    sandbox_of = make_account(plan)
    own_plan(sandbox_of, disk_gb=1)
    document = sandbox_of.api.create()
    assert document["disk_gb"] == 1

    sandbox = Sandbox(sandbox_of.api, document)
    written = sandbox.data.bash("head -c 2G /dev/zero >/home/user/fill; sync; stat -c %s /home/user/fill")
    size = int(written.stdout.split()[-1])
    assert 0.2 * 2**30 < size <= 2**30, written
    sandbox.data.check("rm /home/user/fill && echo again >/home/user/x && sync")


@pytest.mark.long
@pytest.mark.usefixtures("waiting")
def test_the_memory_ends_where_it_was_asked_for(make_account):
    sandbox = Sandbox.create(make_account("enterprise").api, memory_mb=512, cpu=2)
    ended = sandbox.data.run("python3", "-c", "b = bytearray(900 << 20); print(len(b))")
    assert ended.exit_code != 0, "more memory than there is"


@pytest.mark.parametrize("envs", [
    pytest.param({"A": "\x01" * (65536 - 3)}, id="longest in JSON"),
    pytest.param({f"V{number:05d}": "" for number in range(65536 // 8)}, id="most variables", marks=pytest.mark.long)])
def test_the_largest_environment_is_taken(make_sandbox, envs):
    """64 KiB as a process gets them; also after a resume, which hands them over again."""
    sandbox = make_sandbox(envs=envs)
    name = max(envs)

    def assert_there():
        printed = sandbox.data.check(f"env -0 | grep -zac '^[VA][0-9]*='; printf %s \"${{#{name}}}\"")
        assert printed.split() == [str(len(envs)), str(len(envs[name]))]

    assert_there()
    sandbox.pause()
    sandbox.resume()
    assert_there()
