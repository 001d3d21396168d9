# SPDX-License-Identifier: GPL-2.0-or-later
"""Services of templates, which run in the memory that a create continues with."""

import pytest

from services import FOREVER, services, until
from stack import wait_until
from tenant import Sandbox
from test_template_builds import built, create, nothing_is_left, slug  # noqa: F401 (a fixture)

pytestmark = pytest.mark.parallel


def test_services_of_a_template_run_in_its_memory(account, stack):
    name = slug()
    create(account.api, name, template=stack.template, ready_command="test -e /home/user/up", services=[
        {"name": "web", "command": "touch /home/user/up; " + FOREVER, "envs": {"VALUE": "t"}, "restart": "always"},
        {"name": "extra", "command": FOREVER}])
    version = built(account.api, name, 1, timeout_s=180)
    assert version["start"] == "memory"
    sandbox = Sandbox.create(account.api, template=name)
    assert sandbox.document["resumed_from"] == "memory"
    web = until(sandbox, "web", state="running")
    assert web["started_at"] < sandbox.document["created_at"]
    other = Sandbox.create(account.api, template=name, services=[{"name": "extra", "command": "exec sleep 77777"},
                                                                 {"name": "own", "command": FOREVER}])
    shown = services(other)
    assert list(shown) == ["web", "extra", "own"] and shown["web"]["started_at"] == web["started_at"]
    assert shown["extra"]["command"] == "exec sleep 77777"
    wait_until(lambda: other.data.check("pgrep -f 'sleep 77777'"), 30, "its own service")
    # From the disk they start as well.
    assert other.api.post(f"{other.path}/stop", {"memory": False}).status == 200
    other.resume()
    assert until(other, "web", state="running")["started_at"] > web["started_at"]
    assert list(services(other)) == ["web", "extra", "own"]
