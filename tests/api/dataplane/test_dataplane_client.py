# SPDX-License-Identifier: GPL-2.0-or-later
"""The public client of the protocol, the npm package `e2b` as it was published, through nginx and
the gate."""

import os
import subprocess

import pytest

pytestmark = pytest.mark.parallel

PARTS = ("files", "watch", "large", "commands", "pty", "links")


@pytest.mark.parametrize("part, client", [
    *((part, "e2b") for part in PARTS), ("commands", "e2b-2.45"),
    *(pytest.param(part, "e2b-2.45", marks=pytest.mark.long) for part in PARTS if part != "commands")])
def test_the_public_client(installed, stack, shared_sandbox, part, client):
    done = subprocess.run(
        ["node", "client.mjs", part],
        cwd=installed,
        env={
            "PATH": os.environ["PATH"],
            "NODE_EXTRA_CA_CERTS": stack.ca_file,
            "API_URL": stack.base_url,
            "API_KEY": shared_sandbox.api.key,
            "SANDBOX_ID": shared_sandbox.id,
            "CLIENT": client,
        },
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("transport", [
    "binary-http2", "json-gzip", "grpc-web", *(pytest.param(name, marks=pytest.mark.long) for name in (
        "binary", "binary-gzip", "grpc-web-gzip", "grpc-web-json", "web-binary", "web-grpc-web", "web-grpc-web-json"))])
def test_generated_clients(installed, stack, shared_sandbox, transport):
    """The protocol's own libraries, with messages in protobuf, in the framing of gRPC-web, and compressed."""
    done = subprocess.run(
        ["node", "generated.mjs", transport],
        cwd=installed,
        env={
            "PATH": os.environ["PATH"],
            "NODE_EXTRA_CA_CERTS": stack.ca_file,
            "BASE_URL": shared_sandbox.data.origin.url,
            "TOKEN": shared_sandbox.data.token,
        },
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
