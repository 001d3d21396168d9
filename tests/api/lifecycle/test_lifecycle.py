# SPDX-License-Identifier: GPL-2.0-or-later
"""The life of a sandbox: create, show, list, pause, resume, destroy."""

import datetime
import gzip
import subprocess
import threading
import time

import pytest

from client import assert_error
from tenant import Sandbox
from stack import read_assignments, wait_until

pytestmark = pytest.mark.parallel


def counter(sandbox):
    """Pid and number of the counting program."""
    pid, number = sandbox.data.read("/tmp/count").split()
    return int(pid), int(number)


def start_counter(sandbox):
    program = sandbox.put_guest("counter.py")
    pid = sandbox.data.background("python3", program, "/tmp/count")

    def counts():
        return sandbox.data.download("/tmp/count").status == 200 and counter(sandbox)[0] == pid

    wait_until(counts, 10, "the first number")
    return pid


def parse_time(text):
    assert text.endswith("Z"), text
    return datetime.datetime.fromisoformat(text.removesuffix("Z") + "+00:00")


def test_the_whole_path(make_sandbox, stack):
    sandbox = make_sandbox(exposed_ports=[{"port": 3000, "protocol": "http", "public": True}])
    assert sandbox.data.check("echo from the sandbox").strip() == "from the sandbox"

    sandbox.data.upload("/home/user/notes/one.txt", b"first\n")
    assert sandbox.data.read("/home/user/notes/one.txt") == b"first\n"

    program = sandbox.put_guest("preview_server.py")
    sandbox.data.background("python3", program, "127.0.0.1", "3000")
    preview = sandbox.preview(3000)
    wait_until(lambda: preview.request("GET", "/").status == 200, 10, "the preview")

    pid = start_counter(sandbox)
    assert sandbox.pause()["state"] == "stopped"
    assert stack.incus.instance(sandbox.instance)["status"] == "Stopped"
    resumed = sandbox.resume()
    assert resumed["state"] == "ready"
    assert resumed["resumed_from"] == "memory"
    first = counter(sandbox)
    wait_until(lambda: counter(sandbox)[1] > first[1], 5, "the counter going on")
    assert counter(sandbox)[0] == pid
    assert preview.request("GET", "/").status == 200

    instance = sandbox.instance
    sandbox.api.destroy(sandbox.id)
    assert_error(sandbox.api.get(sandbox.path), 404, "not_found")
    sandbox.wait_until_removed()
    assert not stack.incus.exists(instance)


def test_create_answers_the_sandbox_and_a_session(api, account, stack):
    document = api.create(timeout=120, metadata={"run": "42"})
    session = document.pop("session")
    assert document["id"].startswith("sbx_") and len(document["id"]) == 30
    assert document["team"] == account.team
    assert document["state"] == "ready"
    assert document["template"] == stack.template
    assert document["template_version"].startswith("tpv_")
    assert document["snapshot_id"] is None
    assert document["timeout"] == 120
    assert document["lifecycle"] == {
        "on_timeout": "kill", "auto_resume": False, "pause_memory": True, "on_pause_failure": "disk",
        "idle_timeout": None, "idle_connections": "wait"}
    assert document["volume_mounts"] == {}
    assert document["cpu"] >= 1 and document["memory_mb"] >= 256
    assert document["disk_gb"] == 10
    assert document["metadata"] == {"run": "42"}
    assert document["network"]["allow_internet_access"] is True
    assert document["exposed_ports"] == []
    assert document["stopped_at"] is None and document["resumed_from"] is None
    assert "envs" not in document
    deadline = parse_time(document["deadline"])
    left_s = (deadline - datetime.datetime.now(datetime.timezone.utc)).total_seconds()
    assert 110 < left_s <= 121

    assert session["data_plane_url"] == document["data_plane_url"]
    route, _, parent = document["data_plane_url"].removeprefix("https://").partition(".")
    assert parent == stack.data_plane_host
    assert len(route) == 26 and set(route) <= set("abcdefghijklmnopqrstuvwxyz234567")
    assert parse_time(session["expires_at"]) > datetime.datetime.now(datetime.timezone.utc)
    assert session["access_token"] not in str(document)

    assert api.show(document["id"]) == document
    assert api.list() == [document]


def test_defaults_of_an_empty_request(api):
    response = api.post("/v1/sandboxes")
    assert response.status == 201, response
    document = response.json()
    assert document["timeout"] == 300
    assert document["metadata"] == {}


def test_auto_pause_is_shorthand(api):
    document = api.create(auto_pause=True)
    assert document["lifecycle"] == {
        "on_timeout": "pause", "auto_resume": False, "pause_memory": True, "on_pause_failure": "disk",
        "idle_timeout": None, "idle_connections": "wait"}


def test_cpu_and_memory_overrides_are_for_plans_that_allow_them(make_account):
    basic = make_account().api
    assert_error(
        basic.post("/v1/sandboxes", {"memory_mb": 768}), 422, "plan_restricts_resources", "/memory_mb"
    )
    assert_error(basic.post("/v1/sandboxes", {"cpu": 2}), 422, "plan_restricts_resources", "/cpu")
    pro = make_account("pro").api
    sandbox = Sandbox.create(pro, cpu=2, memory_mb=768)
    assert (sandbox.document["cpu"], sandbox.document["memory_mb"]) == (2, 768)
    assert sandbox.document["disk_gb"] == 20
    # The host has set it, and Incus hears of it later.
    wait_until(lambda: sandbox.stack.incus.instance(sandbox.instance)["expanded_config"]["limits.memory"] == "768MiB",
               60, "Incus knowing the size", 0.2)
    assert_error(pro.post("/v1/sandboxes", {"cpu": 3}), 422, "invalid_request", "/cpu")
    assert_error(pro.post("/v1/sandboxes", {"memory_mb": 700}), 422, "invalid_request", "/memory_mb")


@pytest.mark.parametrize("size", [{}, {"cpu": 2}, {"cpu": 2, "memory_mb": 1024}])
def test_the_first_command_finds_what_was_asked_for(make_account, size):
    """Also in an instance that waited in another size, and was called something else."""
    sandbox = Sandbox.create(make_account("pro").api, **size)
    found = sandbox.data.check("nproc; free -m | awk '/^Mem:/ { print $2 }'; hostname; cat /etc/hostname").split()
    document = sandbox.document
    assert found == [str(document["cpu"]), str(document["memory_mb"]), "sandbox", "sandbox"]
    assert "sandbox" in sandbox.data.read("/etc/hosts").decode().split()


def test_pause_and_resume_keep_a_counting_process(sandbox):
    pid = start_counter(sandbox)
    boot_id = sandbox.boot_id()
    begun, before = time.monotonic(), counter(sandbox)[1]
    paused = sandbox.pause()
    assert paused["state"] == "stopped"
    assert paused["stopped_at"] is not None
    assert sandbox.show()["state"] == "stopped"
    # In which the counter stands still, and would be ten further had it gone on.
    time.sleep(1.0)
    resumed = sandbox.resume()
    assert resumed["resumed_from"] == "memory"
    assert resumed["stopped_at"] is None
    after = counter(sandbox)
    assert after[0] == pid, "the same process goes on"
    most = 10 * (time.monotonic() - begun - 1.0) + 2
    assert before <= after[1] < before + most, "from the number where it was"
    wait_until(lambda: counter(sandbox)[1] > after[1], 5, "the counter going on")
    assert sandbox.boot_id() == boot_id
    guest_clock = float(sandbox.data.check("date +%s.%N"))
    assert abs(guest_clock - time.time()) < 2, "the wall clock jumps forward"


@pytest.mark.long
def test_several_pauses_in_a_row(sandbox):
    pid = start_counter(sandbox)
    for _ in range(3):
        sandbox.pause()
        assert sandbox.resume()["resumed_from"] == "memory"
        assert counter(sandbox)[0] == pid


@pytest.mark.parametrize("image", ["plain", pytest.param("packed", marks=pytest.mark.long)])
def test_what_lies_in_tmpfs_is_kept(sandbox, stack, image):
    sandbox.data.check("head -c 8M /dev/urandom >/dev/shm/kept; cd /dev/shm; md5sum kept >/tmp/sum; ln -s kept link")
    sandbox.pause()
    state = stack.instance_dir(sandbox.instance) / "state"
    files = list(state.glob("tmpfs-*.img"))
    assert max(file.stat().st_size for file in files) > 8 << 20
    if image == "packed":
        for file in files:
            file.write_bytes(gzip.compress(file.read_bytes(), 1))
        (state / "sandlot-plain").unlink()
        (state / "sandlot-sizes").unlink()
    assert sandbox.resume()["resumed_from"] == "memory"
    sandbox.data.check("cd /dev/shm && md5sum -c /tmp/sum && test $(readlink link) = kept")


def restored(sandbox, stack):
    """The places of the sandbox's image: during a pause, and between a resume and its deletion."""
    state = stack.instance_dir(sandbox.instance) / "state"
    images = state.resolve().parents[2] / "sandlot-images"
    return state, images / f"{state.resolve().parent.name}.restored"


def test_a_resume_leaves_the_deletion_of_its_image_to_others(sandbox, stack):
    sandbox.pause()
    state, waiting = restored(sandbox, stack)
    assert state.stat().st_ino == 256, "a subvolume"
    assert sandbox.resume()["resumed_from"] == "memory"
    assert not state.exists()
    wait_until(lambda: not waiting.exists(), 60, "the deletion of the image")


@pytest.mark.long
def test_an_image_whose_deletion_was_interrupted(sandbox, stack):
    """It stays until the next sweep. A resume before deletes its own image itself: one at most waits."""
    sandbox.pause()
    state, waiting = restored(sandbox, stack)
    subprocess.run(["btrfs", "subvolume", "snapshot", state, waiting], check=True, capture_output=True)
    assert sandbox.resume()["resumed_from"] == "memory"
    assert not state.exists()
    sandbox.pause()
    assert sandbox.resume()["resumed_from"] == "memory"
    wait_until(lambda: not waiting.exists(), 150, "the sweep")


def test_pause_of_a_paused_sandbox_changes_nothing(sandbox):
    first = sandbox.pause()
    again = sandbox.api.post(f"{sandbox.path}/pause")
    assert again.status == 200, again
    assert again.json() == first


def test_stop_and_connect_are_the_same_calls(sandbox):
    stopped = sandbox.api.post(f"{sandbox.path}/stop")
    assert stopped.status == 200, stopped
    assert stopped.json()["state"] == "stopped"
    connected = sandbox.api.post(f"{sandbox.path}/connect", {"timeout": 60})
    assert connected.status == 200, connected
    assert set(connected.json()) == {"session", "sandbox"}
    assert connected.json()["sandbox"]["state"] == "ready"
    assert set(connected.json()["session"]) == {"data_plane_url", "access_token", "expires_at"}


@pytest.mark.parametrize("name", ["resume", "connect"])
def test_resume_of_a_running_sandbox_refreshes_the_deadline(sandbox, name):
    pid = start_counter(sandbox)
    response = sandbox.api.post(f"{sandbox.path}/{name}", {"timeout": 1000})
    assert response.status == 200, response
    answer = response.json()
    assert answer["sandbox"]["timeout"] == 1000
    assert answer["sandbox"]["resumed_from"] is None
    assert parse_time(answer["sandbox"]["deadline"]) > parse_time(sandbox.document["deadline"])
    left_s = parse_time(answer["sandbox"]["deadline"]).timestamp() - time.time()
    assert 990 < left_s <= 1001
    assert counter(sandbox)[0] == pid
    sandbox.data.token = answer["session"]["access_token"]
    assert sandbox.data.check("echo still here") == "still here\n"


def test_resume_without_timeout_uses_the_sandbox_s_own(make_sandbox):
    sandbox = make_sandbox(timeout=200)
    time.sleep(1.1)
    refreshed = sandbox.resume()
    assert refreshed["timeout"] == 200
    assert parse_time(refreshed["deadline"]) > parse_time(sandbox.document["deadline"])


def test_resume_waits_for_a_pause_in_flight(sandbox):
    pid = start_counter(sandbox)
    results = []
    pausing = threading.Thread(
        target=lambda: results.append(sandbox.api.post(f"{sandbox.path}/pause", timeout_s=30))
    )
    pausing.start()
    wait_until(lambda: sandbox.show()["state"] == "stopping", 5, "the pause in flight", 0.01)
    resumed = sandbox.resume()
    pausing.join()
    assert results[0].status == 200, results
    assert resumed["state"] == "ready"
    assert resumed["resumed_from"] == "memory"
    assert counter(sandbox)[0] == pid


def make_memory_unusable(stack, sandbox, how):
    """Break the memory image as happens in life."""
    if how == "image lost":
        state = stack.instance_dir(sandbox.instance) / "state"
        assert state.is_dir(), "a memory image must be there"
        for image in state.glob("pages-*.img"):
            image.unlink()
    else:
        # A file that a process holds open is another size than at the pause.
        stack.incus.write_file(sandbox.instance, "/home/user/held.txt", b"longer than before\n")


@pytest.mark.parametrize("how", ["image lost", pytest.param("open file changed", marks=pytest.mark.long)])
def test_resume_from_disk_when_memory_cannot_be_restored(make_sandbox, stack, how):
    secret = "value-of-the-environment"
    sandbox = make_sandbox(envs={"KEPT": secret})
    pid = start_counter(sandbox)
    sandbox.data.upload("/home/user/kept.txt", b"kept\n")
    sandbox.data.upload("/home/user/held.txt", b"held\n")
    sandbox.data.background("/bin/sh", "-c", "exec sleep 1000 </home/user/held.txt")
    boot_id = sandbox.boot_id()
    route = sandbox.document["data_plane_url"]
    sandbox.pause()
    make_memory_unusable(stack, sandbox, how)
    logs = stack.incus_dir / "logs"
    restores = len(list(logs.glob(f"*{sandbox.instance}/snapshot_restore_*")))
    resumed = sandbox.resume()
    assert len(list(logs.glob(f"*{sandbox.instance}/snapshot_restore_*"))) == restores + 1, "one attempt is wasted"
    assert resumed["id"] == sandbox.id
    assert resumed["state"] == "ready"
    assert resumed["resumed_from"] == "disk"
    assert resumed["data_plane_url"] == route
    assert sandbox.data.read("/home/user/kept.txt") == b"kept\n"
    assert sandbox.data.check("echo $KEPT").strip() == secret
    assert sandbox.data.bash(f"test -e /proc/{pid} && grep -q counter.py /proc/{pid}/cmdline").exit_code
    assert sandbox.boot_id() != boot_id
    # And the next pause has a memory image again.
    pid = start_counter(sandbox)
    sandbox.pause()
    assert sandbox.resume()["resumed_from"] == "memory"
    assert counter(sandbox)[0] == pid


def test_destroy_leaves_nothing(make_sandbox, stack):
    sandbox = make_sandbox(exposed_ports=[{"port": 3000, "protocol": "http", "public": True}])
    instance = sandbox.instance
    assert stack.query("SELECT COUNT(*) AS n FROM host_addresses WHERE holder = %s", instance)[0]["n"]
    sandbox.api.destroy(sandbox.id)

    assert_error(sandbox.api.delete(sandbox.path), 404, "not_found")
    assert_error(sandbox.api.get(sandbox.path), 404, "not_found")
    for action in ("pause", "stop", "resume", "connect"):
        assert_error(sandbox.api.post(f"{sandbox.path}/{action}"), 404, "not_found")
    assert_error(sandbox.api.get(f"{sandbox.path}/ports/3000"), 404, "not_found")
    assert sandbox.api.list() == []
    gone = sandbox.data.call("process.Process/List", {})
    assert gone.status == 404, gone
    assert sandbox.preview(3000).request("GET", "/").status == 404

    assert sandbox.wait_until_removed()["reserved"] == 0
    assert not stack.incus.exists(instance)
    assert not stack.query("SELECT 1 FROM host_addresses WHERE holder = %s", instance)


def test_destroy_of_a_paused_sandbox(sandbox, stack):
    sandbox.pause()
    instance = sandbox.instance
    sandbox.api.destroy(sandbox.id)
    assert_error(sandbox.api.get(sandbox.path), 404, "not_found")
    sandbox.wait_until_removed()
    assert not stack.incus.exists(instance)


def test_destroy_wins_over_a_pause_in_flight(sandbox, stack):
    instance = sandbox.instance
    results = []
    pausing = threading.Thread(target=lambda: results.append(sandbox.api.post(f"{sandbox.path}/pause")))
    pausing.start()
    wait_until(lambda: sandbox.show()["state"] == "stopping", 5, "the pause in flight", 0.01)
    sandbox.api.destroy(sandbox.id)
    pausing.join()
    assert results[0].status in (404, 409), results
    assert_error(sandbox.api.get(sandbox.path), 404, "not_found")
    sandbox.wait_until_removed()
    assert not stack.incus.exists(instance)


def test_destroy_wins_over_a_create_in_flight(account, stack):
    api = account.api
    results = []
    creating = threading.Thread(target=lambda: results.append(api.post("/v1/sandboxes", {})))
    creating.start()
    found = wait_until(api.list, 10, "the sandbox in the list", 0.005)
    api.destroy(found[0]["id"])
    creating.join()
    assert results[0].status in (201, 404, 409), results
    row = wait_until(
        lambda: (r := stack.row(found[0]["id"]))["state"] == "destroyed" and r, 10, "the end of the row"
    )
    assert row["reserved"] == 0
    # The daemon may have been in the middle of making it.
    wait_until(lambda: not stack.incus.exists(row["instance_name"]), 30, "the end of the instance")


def test_an_instance_that_ends_by_itself_is_noticed(sandbox, stack):
    sandbox.data.upload("/home/user/kept.txt", b"kept\n")
    sandbox.data.background("/usr/bin/sudo", "/sbin/poweroff", "-f")
    wait_until(
        lambda: stack.incus.instance(sandbox.instance)["status"] == "Stopped", 10, "the instance's end"
    )
    wait_until(lambda: sandbox.show()["state"] == "stopped", 90, "the end being noticed", 0.2)
    assert sandbox.resume()["resumed_from"] == "disk"
    assert sandbox.data.read("/home/user/kept.txt") == b"kept\n"


def test_port_inspection(make_sandbox):
    ports = [
        {"port": 3000, "protocol": "http", "public": True},
        {"port": 3001, "protocol": "http", "public": False},
    ]
    sandbox = make_sandbox(exposed_ports=ports)
    assert sandbox.document["exposed_ports"] == ports
    response = sandbox.api.get(f"{sandbox.path}/ports/3000")
    assert response.status == 200, response
    inspected = response.json()
    host = "p3000-" + sandbox.document["data_plane_url"].removeprefix("https://")
    assert inspected == {
        "port": 3000,
        "protocol": "http",
        "public": True,
        "host": inspected["host"],
        "url": f"https://{host}",
        "gateway_status": "no_listener",
    }
    assert inspected["host"] in (host, host.rsplit(":", 1)[0])
    for address in ("127.0.0.1", "0.0.0.0"):
        pid = sandbox.data.background("python3", "-m", "http.server", "--bind", address, "3001")
        wait_until(
            lambda: sandbox.api.get(f"{sandbox.path}/ports/3001").json()["gateway_status"] == "ready",
            5,
            f"a listener on {address}",
        )
        sandbox.data.signal(pid, "SIGKILL")
        wait_until(
            lambda: sandbox.api.get(f"{sandbox.path}/ports/3001").json()["gateway_status"]
            == "no_listener",
            5,
            f"no listener on {address}",
        )
    assert_error(sandbox.api.get(f"{sandbox.path}/ports/4000"), 404, "not_found")
    sandbox.pause()
    assert_error(sandbox.api.get(f"{sandbox.path}/ports/3000"), 409, "sandbox_not_running")


def test_the_address_of_a_deleted_sandbox_serves_the_next_one(account, stack):
    """Nothing that closes it stays behind."""
    sandbox = Sandbox.create(account.api)
    address = sandbox.address
    account.api.destroy(sandbox.id)
    sandbox.wait_until_removed()
    table = read_assignments(stack.env_file)["SANDLOT_NFT_TABLE"]
    listing = ["nft", "list", "set", "inet", table, "gone"]
    closed = subprocess.run(listing, check=True, capture_output=True, text=True).stdout
    assert address not in closed.replace(",", " ").split()
