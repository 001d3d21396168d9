# SPDX-License-Identifier: GPL-2.0-or-later
"""The stack with an archive: a folder, or a server with the interface of S3, which is OpenStack Swift from
Debian's packages, unpacked and not installed."""

import contextlib
import datetime
import hashlib
import hmac
import os
import pathlib
import shutil
import socket
import subprocess
import urllib.parse
import urllib.request

import pytest

from edge import process_settings, replace
from stack import wait_until

SERVER = pathlib.Path(__file__).resolve().parents[2] / "fixtures" / "s3" / "server.py"
PACKAGES = (SERVER.parent / "packages.txt").read_text(encoding="utf-8").split()
ARCHIVING = ("sandlot-dispatcher", "sandlot-api", "sandlot-gate")


@contextlib.contextmanager
def archive_settings(stack, **changed):
    """All programs that archive and fetch, with these settings. Checkpoints that other tests have left stay
    uncopied."""
    stack.query("UPDATE checkpoints SET archived = 2 WHERE archived = 0 AND state = 'ready'")
    with contextlib.ExitStack() as programs:
        programs.enter_context(process_settings(stack, ARCHIVING[0], **changed))
        for program in ARCHIVING[1:]:
            replace(stack, program)
            programs.callback(replace, stack, program)
        yield
        programs.pop_all().close()


class Folder:
    """An archive in a folder."""

    def __init__(self, path):
        self.path = path
        path.mkdir()
        path.chmod(0o777)
        self.settings = {"archive_url": path}

    def keys(self):
        return sorted(str(one.relative_to(self.path)) for one in self.path.rglob("*") if one.is_file())

    def read(self, key):
        return (self.path / key).read_bytes()

    def write(self, key, data):
        (self.path / key).write_bytes(data)

    def remove(self, key):
        (self.path / key).unlink()

    @contextlib.contextmanager
    def away(self):
        """As an NFS mount that was taken away."""
        aside = self.path.with_name("aside")
        self.path.rename(aside)
        try:
            yield
        finally:
            aside.rename(self.path)

    def close(self):
        shutil.rmtree(self.path)


class Swift:
    """An archive in a bucket."""

    ID, SECRET, BUCKET = "test:tester", "a/secret+of=tests", "copies"

    def __init__(self, folder):
        self.folder = folder
        folder.chmod(0o755)
        self.unpacked = folder / "unpacked"
        self.unpacked.mkdir()
        self._unpack()
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.bucket = f"http://127.0.0.1:{self.port}/{self.BUCKET}"
        self.data = folder / "data"
        self.data.mkdir()
        self.credentials = folder / "credentials"
        self.write_credentials(self.SECRET)
        self.settings = {"archive_url": f"{self.bucket}/of-a-test", "archive_credentials_file": self.credentials}
        self.process = None
        self.start()
        self.request("PUT", "")

    def _unpack(self):
        packages = self.folder / "packages"
        packages.mkdir()
        done = subprocess.run(["apt-get", "download", "-q", *PACKAGES], cwd=packages, capture_output=True, text=True,
                              timeout=180, check=False)
        if done.returncode:
            pytest.skip(f"apt cannot fetch Swift: {done.stderr.strip()[-300:]}")
        for package in packages.glob("*.deb"):
            subprocess.run(["dpkg-deb", "-x", package, self.unpacked], check=True)

    def write_credentials(self, secret):
        self.credentials.write_text(f"{self.ID}\n{secret}\n", encoding="utf-8")
        self.credentials.chmod(0o640)
        shutil.chown(self.credentials, group="sandlot")

    def start(self):
        libraries = next(self.unpacked.glob("usr/lib/*-linux-gnu"))
        environment = {**os.environ, "PYTHONPATH": str(self.unpacked / "usr/lib/python3/dist-packages"),
                       "LD_LIBRARY_PATH": str(libraries), "PYTHONDONTWRITEBYTECODE": "1"}
        log = open(self.folder / "server.log", "ab")
        self.process = subprocess.Popen(
            ["/usr/bin/python3", SERVER, self.data, str(self.port), self.ID, self.SECRET], stdout=subprocess.PIPE,
            stderr=log, env=environment, text=True)
        log.close()
        assert self.process.stdout.readline() == "ready\n", (self.folder / "server.log").read_text(encoding="utf-8")[-2000:]

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def request(self, method, path, body=b"", query=""):
        """Signed as S3 has it (Signature Version 4), by the words of its manual."""
        url = urllib.parse.urlsplit(self.bucket + path)
        at = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
        scope = f"{at[:8]}/us-east-1/s3/aws4_request"
        hashed = hashlib.sha256(body).hexdigest()
        headers = {"host": url.netloc, "x-amz-content-sha256": hashed, "x-amz-date": at}
        names = ";".join(sorted(headers))
        canonical = "\n".join([method, url.path, query, *(f"{name}:{headers[name]}" for name in sorted(headers)), "", names,
                               hashed])
        to_sign = "\n".join(["AWS4-HMAC-SHA256", at, scope, hashlib.sha256(canonical.encode()).hexdigest()])
        key = f"AWS4{self.SECRET}".encode()
        for part in (*scope.split("/"), to_sign):
            signature = hmac.new(key, part.encode(), hashlib.sha256)
            key = signature.digest()
        headers["Authorization"] = (f"AWS4-HMAC-SHA256 Credential={self.ID}/{scope}, SignedHeaders={names},"
                                    f" Signature={signature.hexdigest()}")
        request = urllib.request.Request(f"{self.bucket}{path}{'?' if query else ''}{query}", data=body or None,
                                         method=method, headers=headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.read()

    def keys(self):
        """With what multipart uploads have left, which Swift keeps in a bucket beside it."""
        found = self.request("GET", "", query="list-type=2").decode()
        keys = [part.partition("</Key>")[0] for part in found.split("<Key>")[1:]]
        uploads = self.request("GET", "", query="uploads=").decode()
        return sorted([key.removeprefix("of-a-test/") for key in keys] + ["upload"] * uploads.count("<Upload>"))

    def read(self, key):
        return self.request("GET", f"/of-a-test/{key}")

    def write(self, key, data):
        self.request("PUT", f"/of-a-test/{key}", data)

    def remove(self, key):
        self.request("DELETE", f"/of-a-test/{key}")

    @contextlib.contextmanager
    def away(self):
        self.stop()
        try:
            yield
        finally:
            self.start()

    @contextlib.contextmanager
    def full(self):
        (self.data / "full").touch()
        try:
            yield
        finally:
            (self.data / "full").unlink()

    def close(self):
        self.stop()


def row_of(stack, object_id):
    """The row of the copy of a sandbox or a checkpoint."""
    rows = stack.query("SELECT * FROM archives WHERE current_of = %s", object_id)
    return rows[0] if rows else None


def until_archived(stack, object_id):
    return wait_until(lambda: (row := row_of(stack, object_id)) and row["state"] == "whole" and row, 300,
                      "the object being in the archive")


def until_nothing_is_left(stack, object_id):
    wait_until(lambda: not stack.query("SELECT id FROM archives WHERE object_id = %s", object_id), 60,
               "the rows of its copies to be deleted")
