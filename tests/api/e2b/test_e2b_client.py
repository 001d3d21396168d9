# SPDX-License-Identifier: GPL-2.0-or-later
"""E2B's npm package as it was published, told a domain and a key and nothing else."""

import os
import subprocess
import urllib.parse

import pytest


def run(installed, stack, account, part, client):
    key = account.key_document("write")["e2b_key"]
    done = subprocess.run(
        ["node", "facade.mjs", part],
        cwd=installed,
        env={
            "PATH": os.environ["PATH"],
            "NODE_EXTRA_CA_CERTS": stack.ca_file,
            "E2B_DOMAIN": stack.data_plane_host,
            "E2B_API_URL": stack.base_url,
            "E2B_API_KEY": key,
            "CLIENT": client,
        },
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("client", ["e2b", "e2b-2.45"])
@pytest.mark.parametrize("part", ["life", "pages", "pause", "network", "snapshots", "errors"])
def test_the_public_client_by_itself(installed, stack, account, part, client):
    run(installed, stack, account, part, client)


def test_the_quota_is_a_rate_limit_to_it(installed, stack, make_account, set_plan):
    account = make_account("enterprise")
    set_plan("enterprise", sandboxes=1)
    run(installed, stack, account, "quota", "e2b")


def test_the_domain_is_all_that_it_needs(stack):
    """Its own default is https://api.<domain>."""
    assert urllib.parse.urlsplit(stack.base_url).netloc == f"api.{stack.data_plane_host}"
