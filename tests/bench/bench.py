# SPDX-License-Identifier: GPL-2.0-or-later
"""What the benchmarks share: the modules of the API suite, which stack they measure, an nginx to compare with, and
percentiles. Import it before modules of tests/api/lib."""

import contextlib
import functools
import os
import pathlib
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve()
sys.path.insert(0, str(HERE.parents[1] / "api" / "lib"))

# pylint: disable=wrong-import-position
import client  # noqa: E402
import contract  # noqa: E402
import dataplane_contract  # noqa: E402
from stack import Stack, read_assignments, wait_until  # noqa: E402

TICK = os.sysconf("SC_CLK_TCK")
UNITS = {"us": 0.001, "ms": 1.0, "s": 1000.0}

# An nginx with the stack's certificate and its own defaults for everything else.
NGINX = """
user root;
worker_processes auto;
worker_rlimit_nofile 16384;
pid {dir}/pid;
error_log {dir}/error.log;
events {{ worker_connections 8192; }}
http {{
    access_log {dir}/access.log;
    client_body_temp_path {dir}/body;
    proxy_temp_path {dir}/proxy;
    fastcgi_temp_path {dir}/fastcgi;
    uwsgi_temp_path {dir}/uwsgi;
    scgi_temp_path {dir}/scgi;
    server {{
        listen 127.0.0.1:{port} ssl http2;
        ssl_certificate {certificate};
        ssl_certificate_key {key};
        ssl_protocols TLSv1.2 TLSv1.3;
        {location}
    }}
}}
"""


def find_env(program, given):
    candidates = [given] if given else [
        os.environ.get("SANDLOT_STACK_ENV"),
        HERE.parents[2] / "run" / "quickstart.env",
        "/var/lib/sandlot/quickstart/stack.env",
    ]
    for candidate in candidates:
        if candidate and pathlib.Path(candidate).is_file():
            return candidate
    return sys.exit(f"{program}: no running stack found: run scripts/quickstart, or give --env FILE")


def open_stack(path):
    """quickstart.env holds what a client needs; the stack.env beside the state holds the rest."""
    values = read_assignments(path)
    if "SANDLOT_STATE_ROOT" in values:
        return Stack(path)
    config = next(
        (word for word in values["SANDLOT_CTL"].split() if word.endswith("sandlot.conf")), None
    )
    if not config:
        sys.exit(f"{path} names no sandlot.conf in SANDLOT_CTL; give a stack.env")
    root = pathlib.Path(config).parents[1]
    return Stack(root / "stack.env")


def measure_alone():
    """From here on this process's clients do what a client of anybody's does: they compare no answer with its
    schema, and all connections share what they know of TLS. For figures in which the client's own work counts."""
    contract.check = dataplane_contract.check = lambda *_: None
    client.ssl.create_default_context = functools.cache(client.ssl.create_default_context)


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, round(share * (len(ordered) - 1)))]


def family(pid):
    """The process and its children, as far as there are any."""
    try:
        children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    except FileNotFoundError:
        return []
    return [pid, *(member for child in children for member in family(int(child)))]


def processor_seconds(pid):
    """What the process has used until now, all of its threads."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except FileNotFoundError:
        return 0
    return (int(fields[11]) + int(fields[12])) / TICK


def processor_seconds_with_ended(pid):
    """The same with what its children have used that have ended."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / TICK


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class PlainNginx:
    """An nginx with one location, which does what must be done anyway and no more."""

    def __init__(self, stack, location):
        self.dir = tempfile.mkdtemp(prefix="sandlot-bench-")
        self.port = free_port()
        config = pathlib.Path(self.dir, "nginx.conf")
        config.write_text(NGINX.format(
            dir=self.dir, port=self.port, location=location,
            certificate=stack.settings["tls_certificate_file"],
            key=stack.settings["tls_certificate_key_file"]), encoding="utf-8")
        self.process = subprocess.Popen(["nginx", "-c", str(config), "-g", "daemon off;"])
        wait_until(self.listens, 10, "the plain nginx")

    def listens(self):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()
        shutil.rmtree(self.dir)


def in_ms(text):
    number, unit = re.fullmatch(r"([0-9.]+)([a-z]+)", text).groups()
    return float(number) * UNITS[unit]


def wrk(port, host, path, connections, seconds, *headers, script=None):
    """Requests a second, median in ms, number of requests, answers that were none. script: a file for wrk."""
    done = subprocess.run(
        ["wrk", "--timeout", "10s", "-t", "1", "-c", str(connections), "-d", f"{seconds}s", "--latency",
         *(["-s", script] if script else []), "-H", f"Host: {host}", *(word for header in headers for word in ("-H", header)),
         f"https://127.0.0.1:{port}{path}"],
        check=True, capture_output=True, text=True).stdout
    rate = float(re.search(r"Requests/sec:\s+([0-9.]+)", done).group(1))
    median = in_ms(re.search(r"50%\s+([0-9.]+[a-z]+)", done).group(1))
    count = int(re.search(r"(\d+) requests in", done).group(1))
    bad = re.search(r"Non-2xx or 3xx responses: (\d+)", done)
    return rate, median, count, int(bad.group(1)) if bad else 0


# --- what goes through to a server in a sandbox ---

def serve(sandbox, port):
    """gate_upstream.c in the sandbox: answers of the size that the path names."""
    with tempfile.TemporaryDirectory() as directory:
        program = pathlib.Path(directory, "server")
        subprocess.run(["gcc", "-O2", "-static", "-o", program, HERE.with_name("gate_upstream.c")], check=True)
        sandbox.data.upload("/tmp/server", program.read_bytes())
    sandbox.data.check("chmod 755 /tmp/server")
    sandbox.data.background("/tmp/server", str(port))
    wait_until(lambda: sandbox.preview(port).request("GET", "/").status == 200, 10, "the server in the sandbox")


def pids_in(sandbox, program):
    """On this machine, of a program in the sandbox."""
    inside = f"incus.monitor.*|{sandbox.instance}"
    found = subprocess.run(["pgrep", "-f", program], capture_output=True, text=True, check=False)
    return [int(pid) for pid in found.stdout.split()
            if re.search(inside, pathlib.Path(f"/proc/{pid}/cgroup").read_text(encoding="utf-8"))]


def running_s(pids):
    """Seconds that these processes have run, and wrk before them."""
    own = resource.getrusage(resource.RUSAGE_CHILDREN)
    total = own.ru_utime + own.ru_stime
    for pid in pids:
        with contextlib.suppress(OSError):
            total += int(pathlib.Path(f"/proc/{pid}/schedstat").read_text(encoding="ascii").split()[0]) / 1e9
    return total


class Contender:
    """What listens on a port, and the processes that work for it."""

    def __init__(self, port, pids):
        self.port = port
        self.pids = pids

    def turn(self, host, path, connections, seconds):
        """Requests a second, median in ms, seconds of processor time for each, answers that were none."""
        before = running_s(self.pids)
        rate, median, count, bad = wrk(self.port, host, path, connections, seconds)
        return rate, median, (running_s(self.pids) - before) / max(count, 1), bad
