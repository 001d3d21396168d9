# SPDX-License-Identifier: GPL-2.0-or-later
"""A registry of OCI images for the sandboxes of a stack, and images to put there.

docker-registry runs in a network namespace, with a documentation address (RFC 5737) that only packets of the
stack's sandboxes are routed to. Next to it, on another port, is a registry that answers from it and
misbehaves (outside/registry.py).
"""

import dataclasses
import gzip
import hashlib
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile

from outside_network import OutsideNetwork, number_of
from stack import wait_until

# The settings of scripts/test name these as registries that are asked by HTTP. Files of tests that run beside each
# other have one each.
ADDRESSES = ("203.0.113.66", "203.0.113.67")
PLAIN, ODD, SECOND = f"{ADDRESSES[0]}:5000", f"{ADDRESSES[0]}:5001", f"{ADDRESSES[1]}:5000"
SERVE = pathlib.Path(__file__).parent / "outside" / "registry.py"
CONFIG = """version: 0.1
log: {level: warn}
storage: {filesystem: {rootdirectory: %s}, maintenance: {uploadpurging: {enabled: false}}}
http: {addr: "0.0.0.0:5000"}
"""
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}
MACHINE = MACHINES[os.uname().machine]
BUSYBOX = pathlib.Path("/bin/busybox")


# --- layers ---

def entry(name, content=b"", **fields):
    """A file of a layer, or something else with type=tarfile.…"""
    made = tarfile.TarInfo(name)
    made.size, made.mode = len(content), 0o644
    for field, value in fields.items():
        setattr(made, field, value)
    return made, content


def folder(name, mode=0o755, **fields):
    return entry(name, type=tarfile.DIRTYPE, mode=mode, **fields)


def link(name, target, kind=tarfile.SYMTYPE):
    return entry(name, type=kind, linkname=target)


def layer(*entries, compress=gzip.compress):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for made, content in entries:
            archive.addfile(made, io.BytesIO(content))
    return compress(packed.getvalue())


def shell(place="bin"):
    """The entries of a static busybox with a shell."""
    return [folder(place), entry(f"{place}/busybox", BUSYBOX.read_bytes(), mode=0o755),
            *(link(f"{place}/{name}", "busybox") for name in ("sh", "cat", "ls", "stat", "id", "readlink", "httpd", "pwd", "echo"))]


@dataclasses.dataclass
class Image:
    layers: list
    config: dict = dataclasses.field(default_factory=dict)
    machine: str = MACHINE


def digest(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


# --- the servers ---

class ImageRegistry(OutsideNetwork):
    def __init__(self, stack, directory, which=0):
        number = number_of(stack)
        super().__init__(stack, f"reg{which}", f"100.126.{number}.{2 * which}", f"100.126.{number}.{2 * which + 1}",
                         10000 + 256 * which + number)
        self.directory = pathlib.Path(directory)
        self.address = ADDRESSES[which]
        self.processes = []

    def start(self):
        self.begin([self.address], [f"{self.address}/32"], towards=("to", self.address))
        config = self.directory / "registry.yml"
        config.write_text(CONFIG % (self.directory / "images"))
        self._serve("docker-registry", "serve", str(config))
        for port in ("5001", "5002"):
            self._serve(sys.executable, str(SERVE), port, "5000")
        wait_until(self._answers, 15, "the registry")

    def _serve(self, *command):
        with (self.directory / "log").open("ab") as log:
            self.processes.append(subprocess.Popen(self.in_namespace(*command), stdout=log, stderr=log))

    def _answers(self):
        script = ("import socket\nfor port in (5000, 5001): socket.create_connection(('127.0.0.1', port), 2).close()")
        return subprocess.run(self.in_namespace(sys.executable, "-c", script), check=False, capture_output=True).returncode == 0

    def stop(self):
        for process in self.processes:
            process.kill()
            process.wait()
        self.remove()
        shutil.rmtree(self.directory / "images", ignore_errors=True)

    # --- images ---

    def _request(self, method, url, data=None, kind="application/octet-stream"):
        """Through a program in the namespace: this machine has no route to it."""
        script = ("import sys, urllib.request\n"
                  "request = urllib.request.Request(sys.argv[2], sys.stdin.buffer.read() or None, method=sys.argv[1],"
                  " headers={'Content-Type': sys.argv[3]})\n"
                  "print(urllib.request.urlopen(request).headers.get('Location', ''))")
        return subprocess.run(self.in_namespace(sys.executable, "-c", script, method, url, kind),
                              input=data or b"", check=True, capture_output=True).stdout.decode().strip()

    def _push_blob(self, repository, data):
        base = f"http://127.0.0.1:5000/v2/{repository}"
        place = self._request("POST", f"{base}/blobs/uploads/")
        self._request("PUT", f"{place}{'&' if '?' in place else '?'}digest={digest(data)}", data)

    def _manifests(self, repository):
        return self.directory / "images/docker/registry/v2/repositories" / repository / "_manifests"

    def hide(self, repository):
        """The registry has the blobs of the repository, and no manifest."""
        self._manifests(repository).rename(self.directory / f"hidden-{repository}")

    def show(self, repository):
        (self.directory / f"hidden-{repository}").rename(self._manifests(repository))

    def lose(self, data):
        """The registry answers as if it had never had this blob."""
        name = digest(data).removeprefix("sha256:")
        (self.directory / "images/docker/registry/v2/blobs/sha256" / name[:2] / name / "data").unlink()

    def _push_manifest(self, repository, tag, document):
        text = json.dumps(document).encode()
        self._request("PUT", f"http://127.0.0.1:5000/v2/{repository}/manifests/{tag}", text, document["mediaType"])
        return {"mediaType": document["mediaType"], "digest": digest(text), "size": len(text)}

    def push(self, repository, image, tag="latest"):
        """Put an image there, and return what an index says of it."""
        config = json.dumps({"architecture": image.machine, "os": "linux", "config": image.config}).encode()
        for data in {config, *image.layers}:
            self._push_blob(repository, data)
        pushed = self._push_manifest(repository, tag, {
            "schemaVersion": 2, "mediaType": MANIFEST,
            "config": {"mediaType": "application/vnd.oci.image.config.v1+json", "digest": digest(config), "size": len(config)},
            "layers": [{"mediaType": LAYER, "digest": digest(data), "size": len(data)} for data in image.layers],
        })
        return {**pushed, "platform": {"os": "linux", "architecture": image.machine}}

    def push_index(self, repository, manifests, tag="latest"):
        return self._push_manifest(repository, tag, {"schemaVersion": 2, "mediaType": INDEX, "manifests": manifests})

    def asked(self):
        """The requests that the odd registry has had."""
        return (self.directory / "log").read_text(encoding="utf-8", errors="replace").splitlines()
