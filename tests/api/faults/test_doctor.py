# SPDX-License-Identifier: GPL-2.0-or-later
"""sandlotctl doctor and status with something really wrong: one sentence says what, one what to do."""

import contextlib
import datetime
import http.server
import os
import pathlib
import re
import shutil
import signal
import socket
import ssl
import subprocess
import threading

import pytest

from doctor import assert_says, doctor, wrong
from faults import InBackground, settle
from killing import TRACER, HeldStarts, parent_of, stopped
from stack import wait_until


@pytest.fixture(autouse=True)
def quiet(stack):
    settle(stack)
    wait_until(lambda: not wrong(stack), 30, "nothing being wrong", 0.5)
    yield
    settle(stack)


@contextlib.contextmanager
def changed_settings(stack, tmp_path, **values):
    """The stack's settings with other values in a file beside them."""
    path = tmp_path / "sandlot.conf"
    lines = (stack.root / "etc" / "sandlot.conf").read_text(encoding="utf-8").splitlines()
    kept = [line for line in lines if line.split("=")[0].strip() not in values]
    path.write_text("\n".join(kept + [f"{name} = {value}" for name, value in values.items()]) + "\n", encoding="utf-8")
    yield path


def test_all_is_well(stack):
    checks = {one["check"] for one in doctor(stack) if one["state"] == "ok"}
    assert {"settings", "key file", "database", "clock", "host", "events", "pool", "criu", "template", "dispatcher", "operations",
            "warm pool", "workers", "nginx", "ports", "certificate"} <= checks
    status = stack.ctl("status")
    assert status["problems"] == [] and all(host["events"] is True for host in status["hosts"])


def check(stack):
    """As a monitor runs it."""
    done = subprocess.run([*stack.ctl_command, "check"], capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout.count("\n") == 1 and not done.stderr, done
    assert re.search(r" \| wrong=\d+;;0 looked_at=\d+ time=\d+\.\d{3}s$", done.stdout.rstrip()), done.stdout
    return done


@pytest.mark.long
def test_a_monitor_is_told_in_one_line(stack):
    done = check(stack)
    assert done.returncode == 0 and done.stdout.startswith("SANDLOT OK - "), done


@pytest.mark.long
def test_the_database_is_down(stack):
    daemon = stack.daemon("database")
    daemon.stop()
    try:
        done = check(stack)
        assert done.returncode == 2 and done.stdout.startswith("SANDLOT CRITICAL - database: "), done
        assert_says(wrong(stack), "database", "cannot|connect", "server runs")
        done = stack.ctl("status", check=False)
        assert done.returncode == 1 and "database" in done.stderr
    finally:
        daemon.start(stack.database_answers)


@pytest.mark.long
def test_clocks_that_differ(stack):
    clocks = [one["message"] for one in doctor(stack) if one["check"] == "clock" and one["state"] == "ok"]
    hosts = len(stack.ctl("host", "list")["hosts"])
    assert len(clocks) == 1 + hosts, clocks  # of the database's server and of each host
    fast = wrong(stack, under=("faketime", "-m", "-f", "+10s"))
    assert_says(fast, "clock", r"database's server is (9|10)\d{3} ms behind", "NTP")
    assert [one["check"] for one in fast] == ["clock"] * (1 + hosts), fast


@pytest.mark.long
def test_incus_is_down(stack):
    daemon = stack.daemon("incusd")
    daemon.stop()
    try:
        assert_says(wrong(stack), "host", "cannot connect to Incus", "Incus runs")
    finally:
        daemon.start(stack.incus.answers)


@pytest.mark.long
def test_the_schema_is_old(stack):
    connection = stack.database(as_admin=True)
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT * FROM schema_migrations ORDER BY version DESC LIMIT 1")
            row = cursor.fetchone()
            cursor.execute("DELETE FROM schema_migrations WHERE version = %s", row["version"])
            try:
                assert_says(wrong(stack), "database", "schema", "sandlotctl migrate")
            finally:
                names = ", ".join(row)
                cursor.execute(f"INSERT INTO schema_migrations ({names}) VALUES ({', '.join(['%s'] * len(row))})",
                               list(row.values()))
    finally:
        connection.close()


def said_of(stack, check):
    (one,) = [one for one in doctor(stack) if one["check"] == check]
    return one


def said_of_memory(stack):
    return said_of(stack, "memory")


def test_a_pause_that_was_to_store_no_memory(sandbox, stack):
    assert sandbox.api.post(f"{sandbox.path}/pause", {"memory": False}).status == 200
    assert sandbox.resume()["resumed_from"] == "disk"
    said = said_of(stack, "pause")
    assert said["state"] == "ok" and "stored no memory" in said["message"], said


@pytest.mark.long
def test_memory_that_was_lost(make_sandbox, stack):
    """An image that does not restore, and a memory that CRIU cannot dump."""
    stack.query("UPDATE operations SET last_error = '' WHERE state = 'done'")
    assert said_of_memory(stack)["state"] == "ok"
    unreadable, undumpable = make_sandbox(), make_sandbox()
    unreadable.pause()
    for image in (stack.instance_dir(unreadable.instance) / "state").iterdir():
        image.unlink()
    assert unreadable.resume()["resumed_from"] == "disk"
    said = said_of_memory(stack)
    assert said["state"] == "note" and "lost 1 time;" in said["message"]
    assert f"resume of sandbox {unreadable.id}: Incus" in said["message"]

    with undumpable.data.start("/usr/bin/python3", "-c", TRACER) as tracing:
        next(tracing)
        next(tracing)  # it traces another process
        undumpable.pause()
    said = said_of_memory(stack)
    assert "lost 2 times;" in said["message"]
    assert f"pause of sandbox {undumpable.id}: Incus" in said["message"]


@pytest.mark.long
def test_a_start_that_nothing_ends(make_sandbox, stack):
    """Who would end it is stopped itself."""
    sandbox = make_sandbox()
    assert sandbox.api.post(f"{sandbox.path}/pause", {"memory": False}).status == 200
    with HeldStarts(stack, sandbox.instance) as starts:
        resume = InBackground(sandbox.api.request, "POST", f"{sandbox.path}/resume", timeout_s=600)
        with stopped(parent_of(pid) for pid in starts.wait()):
            wait_until(lambda: any(one["check"] == "starts" for one in wrong(stack)), 300, "what doctor says of it", 5)
            assert_says(wrong(stack), "starts", r"busy with \d+ starts? for minutes", "restart incusd")
    resume.result(600)
    wait_until(lambda: not wrong(stack), 60, "nothing being wrong", 1)


@pytest.mark.faults
def test_no_dispatcher_is_alive(stack):
    pools = [pid for pid in stack.processes("multiwatch")
             if b"sandlot-dispatcher" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()]
    processes = pools + stack.processes("sandlot-dispatcher")
    if not pools:
        pytest.skip("the dispatchers are units of their own")
    for pid in processes:
        os.kill(pid, signal.SIGSTOP)
    try:
        # Until the lease of the one that watched is over.
        wait_until(lambda: wrong(stack), 60, "the notice", 0.3)
        assert_says(wrong(stack), "dispatcher", "No dispatcher is running", "sandlot-dispatcher")
        assert any("No dispatcher runs" in one for one in stack.ctl("status")["problems"])
    finally:
        for pid in processes:
            os.kill(pid, signal.SIGCONT)


@pytest.mark.long
def test_nothing_listens_and_no_worker_answers(stack, tmp_path):
    with changed_settings(stack, tmp_path, listen_port=1, redirect_port=2, api_socket=tmp_path / "none.sock") as path:
        found = wrong(stack, path)
    assert_says(found, "nginx", "Nothing listens on port 1 ", "Start nginx")
    assert_says(found, "nginx", "Nothing listens on port 2 .*browsers", "Start nginx")
    assert_says(found, "workers", "api_socket", "Start the workers")


class Unreached(http.server.BaseHTTPRequestHandler):
    """nginx whose user may not open the sockets of the workers."""

    def do_GET(self):
        self.send_response(502)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.mark.long
def test_nginx_cannot_open_the_sockets_of_the_workers(stack, tmp_path):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(stack.root / "tls" / "server.pem", stack.root / "tls" / "server.key")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Unreached) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            with changed_settings(stack, tmp_path, listen_port=server.server_address[1]) as path:
                found = wrong(stack, path)
        finally:
            server.shutdown()
    assert_says(found, "nginx", "with status 502", "group www-data")


@pytest.mark.long
def test_nothing_listens_over_ipv6(stack, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as server, \
            changed_settings(stack, tmp_path, redirect_port=server.getsockname()[1]) as path:
        found = wrong(stack, path)
    assert_says(found, "nginx", "over IPv6, so browsers", "nginx-config")


@pytest.mark.long
def test_ports_are_held(stack):
    setting = pathlib.Path("/proc/sys/net/ipv4/tcp_tw_reuse")
    before = setting.read_text(encoding="ascii")
    setting.write_text("2", encoding="ascii")
    try:
        assert_says(wrong(stack), "ports", "net.ipv4.tcp_tw_reuse is 2", "sysctl net.ipv4.tcp_tw_reuse=1")
    finally:
        setting.write_text(before, encoding="ascii")


@pytest.mark.long
def test_the_certificate_has_expired(stack, tmp_path):
    key, certificate = tmp_path / "key.pem", tmp_path / "old.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-keyout", key, "-out", tmp_path / "new.pem", "-subj", "/CN=x", "-days", "3"],
                   check=True, capture_output=True)
    with changed_settings(stack, tmp_path, tls_certificate_file=tmp_path / "new.pem", tls_certificate_key_file=key) as path:
        found = wrong(stack, path)
    assert_says(found, "certificate", "expires soon", "Renew it")
    assert_says(found, "certificate", "is not for api.sandbox.localhost", "Get a certificate")
    assert_says(found, "certificate", "another certificate, which is valid until", "Reload nginx")
    begin = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(days=9)
    subprocess.run(["openssl", "req", "-new", "-key", key, "-out", tmp_path / "request.pem", "-subj", "/CN=x"], check=True)
    (tmp_path / "index").write_text("")
    (tmp_path / "serial").write_text("01\n")
    (tmp_path / "ca.conf").write_text(
        f"[ca]\ndefault_ca = own\n[own]\ndatabase = {tmp_path}/index\nserial = {tmp_path}/serial\nnew_certs_dir = {tmp_path}\n"
        "default_md = sha256\npolicy = any\n[any]\ncommonName = supplied\n")
    stamp = "%y%m%d%H%M%SZ"
    subprocess.run(["openssl", "ca", "-batch", "-selfsign", "-config", tmp_path / "ca.conf", "-keyfile", key,
                    "-in", tmp_path / "request.pem", "-out", certificate, "-startdate", begin.strftime(stamp),
                    "-enddate", (begin + datetime.timedelta(days=1)).strftime(stamp)], check=True, capture_output=True)
    with changed_settings(stack, tmp_path, tls_certificate_file=certificate, tls_certificate_key_file=key) as path:
        assert_says(wrong(stack, path), "certificate", "expired at", "Renew it")


@pytest.mark.long
def test_settings_name_templates_that_do_not_exist(stack, tmp_path):
    default = stack.settings.get("default_template", "python")
    with changed_settings(stack, tmp_path, image_templates=f"ubuntu:22.04={default}, node:22=nod", image_builder_template="buildr") as path:
        found = wrong(stack, path)
    assert len([one for one in found if one["check"] == "template"]) == 2, found
    assert_says(found, "template", "image_templates has the template nod:", "Correct the setting")
    assert_says(found, "template", "image_builder_template has the template buildr:", "Correct the setting")


@pytest.mark.long
def test_the_key_file_can_be_read_by_others(stack, tmp_path):
    copy = tmp_path / "keyring"
    shutil.copy(stack.settings["key_file"], copy)
    copy.chmod(0o644)
    with changed_settings(stack, tmp_path, key_file=copy) as path:
        assert_says(wrong(stack, path), "key file", "mode 0644", "Only the user and the group")


@pytest.mark.long
def test_a_setting_is_mistyped(stack, tmp_path):
    with changed_settings(stack, tmp_path, lease="6") as path:
        assert_says(wrong(stack, path), "settings", "lease", "Correct the file")


@pytest.mark.long
def test_versions_of_a_host_are_compared(stack):
    said = [one["message"] for one in doctor(stack) if one["check"] == "versions"]
    for component in ("Incus", "liblxc", "btrfs-progs", "CRIU"):
        assert any(message.startswith(f"{component} ") for message in said), (component, said)


@pytest.mark.faults
@pytest.mark.parametrize("answer, what", [("", "does not run"), ("Version: 3.17.1", "3.17")], ids=["none", "too old"])
def test_criu_cannot_keep_memory(stack, tmp_path, answer, what):
    """incusd starts anew with another CRIU in front."""
    (tmp_path / "criu").write_text(f"#!/bin/sh\necho '{answer}'\n")
    (tmp_path / "criu").chmod(0o755)
    tmp_path.chmod(0o755)
    daemon = stack.daemon("incusd")
    before = daemon.environment[b"PATH"]
    daemon.stop()
    daemon.environment[b"PATH"] = str(tmp_path).encode() + b":" + before
    daemon.start(stack.incus.answers)
    try:
        assert_says(wrong(stack), "criu", what, "install-criu")
    finally:
        daemon.stop()
        daemon.environment[b"PATH"] = before
        daemon.start(stack.incus.answers)


@pytest.mark.faults
def test_the_warm_pool_is_empty_and_operations_are_stuck(sandbox, stack):
    daemon = stack.daemon("incusd")
    sandbox_id = sandbox.id
    daemon.stop()
    try:
        sandbox.api.destroy(sandbox_id)
        stack.query("UPDATE warm_instances SET state = 'leaving', lease_until_ms = 0")
        wait_until(lambda: stack.query(
            "SELECT 1 FROM operations WHERE state = 'running' AND attempts >= 4"), 60, "a fourth attempt", 0.3)
        found = wrong(stack)
        assert_says(found, "warm pool", "no ready instance", "sandlot-dispatcher")
        assert_says(found, "operations", f"destroy of sandbox {sandbox_id} .* failed \\d times", "dispatcher")
    finally:
        daemon.start(stack.incus.answers)
    wait_until(lambda: not wrong(stack), 3 * stack.lease_s + 60, "all being well again", 0.5)


@pytest.mark.long
def test_nobody_gives_instances_their_size(stack):
    path = stack.run_dir / "limits.sock"
    assert any(one["check"] == "sizing" and one["state"] == "ok" for one in doctor(stack))
    path.rename(path.with_suffix(".away"))
    try:
        assert_says(wrong(stack), "sizing", "sandlot-limits does not answer on .*limits.sock", "sandlot-limits runs there")
    finally:
        path.with_suffix(".away").rename(path)
    with stopped(stack.processes("sandlot-limits")):
        assert_says(wrong(stack), "sizing", "sandlot-limits does not answer", "sandlot-limits runs there")
    wait_until(lambda: not wrong(stack), 60, "all being well again", 0.5)


@pytest.mark.long
def test_lxcfs_can_be_written(stack):
    """As it is mounted by itself: what is written to the processors' files reaches the host's."""
    if not os.path.ismount("/var/lib/lxcfs"):
        pytest.skip("lxcfs is not here")
    assert any(one["check"] == "lxcfs" and one["state"] == "ok" for one in doctor(stack))
    subprocess.run(["mount", "-o", "remount,rw", "/var/lib/lxcfs"], check=True)
    try:
        assert_says(wrong(stack), "lxcfs", "is writable", "remount,ro")
    finally:
        subprocess.run(["mount", "-i", "-o", "remount,ro", "/var/lib/lxcfs"], check=True)


@pytest.mark.long
def test_what_the_kernel_counts_for_all_is_low(stack):
    path = pathlib.Path("/proc/sys/fs/aio-max-nr")
    before = path.read_text(encoding="ascii")
    path.write_text("65536", encoding="ascii")
    try:
        assert_says(wrong(stack), "kernel", "fs.aio-max-nr is 65536", "load-network")
    finally:
        path.write_text(before, encoding="ascii")
