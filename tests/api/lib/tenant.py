# SPDX-License-Identifier: GPL-2.0-or-later
"""Who uses the stack: a user with a team, and a sandbox with its session at hand."""

import pathlib
import secrets

from client import Api, Origin
from dataplane import DataPlane
from stack import wait_until

GUEST = pathlib.Path(__file__).parent / "guest"
# The slugs of all teams that this process made.
TEAMS = set()


class Account:
    """A user with a personal team and a write key."""

    def __init__(self, stack, plan=None):
        self.stack = stack
        self.user = "t" + secrets.token_hex(6)
        self.team = self.user
        TEAMS.add(self.team)
        stack.ctl("user", "create", self.user)
        if plan:
            stack.ctl("team", "set-plan", self.team, plan)
        self.api = Api(stack, self.key("write"))

    def key(self, scope, *options):
        return self.key_document(scope, *options)["key"]

    def key_document(self, scope, *options):
        return self.stack.ctl("key", "create", "--user", self.user, "--scope", scope, *options)

    def make_team(self, plan="basic"):
        slug = "t" + secrets.token_hex(6)
        TEAMS.add(slug)
        self.stack.ctl("team", "create", slug, "--plan", plan, "--owner", self.user)
        return slug

    def clean_up(self, kept=None):
        """Delete its volumes and its sandboxes, except the one to be kept."""
        api, answer = self.api, self.api.get("/v1/sandboxes")
        if answer.status != 200:  # a test has revoked its key
            api = Api(self.stack, self.key("write"))
            answer = api.get("/v1/sandboxes")
        while sandboxes := [one for one in answer.json()["sandboxes"] if one["id"] != kept]:
            for sandbox in sandboxes:
                assert api.delete(f"/v1/sandboxes/{sandbox['id']}").status in (204, 404)
            answer = api.get("/v1/sandboxes")
        while volumes := api.get("/v1/volumes?limit=200").json()["volumes"]:
            for volume in volumes:
                assert api.delete(f"/v1/volumes/{volume['id']}").status in (204, 404)


class Sandbox:
    """A sandbox with its session at hand."""

    def __init__(self, api, document):
        self.api = api
        self.stack = api.stack
        self.id = document["id"]
        self.document = document
        self.data = DataPlane(api.stack, document["session"])

    @classmethod
    def create(cls, api, **fields):
        return cls(api, api.create(**fields))

    @property
    def path(self):
        return f"/v1/sandboxes/{self.id}"

    @property
    def instance(self):
        return self.stack.row(self.id)["instance_name"]

    @property
    def address(self):
        number = self.stack.row(self.id)["address"]
        return ".".join(str(number >> shift & 255) for shift in (24, 16, 8, 0))

    def wait_until_removed(self, timeout_s=60):
        """What follows the answer of a delete; its last row."""
        return wait_until(
            lambda: (row := self.stack.row(self.id))["state"] == "destroyed" and row, timeout_s, "the removal")

    def boot_id(self):
        """The same as long as nothing has started anew."""
        return self.data.read("/proc/sys/kernel/random/boot_id")

    def show(self):
        return self.api.show(self.id)

    def pause(self):
        return self.api.pause(self.id)

    def resume(self, **fields):
        """Resume and go on with the new session; the sandbox as answered."""
        answer = self.api.resume(self.id, **fields)
        self.data = DataPlane(self.stack, answer["session"])
        return answer["sandbox"]

    def preview(self, port):
        host = self.document["data_plane_url"].removeprefix("https://")
        return Origin(self.stack.ca_file, f"https://p{port}-{host}")

    def put_guest(self, name):
        """Upload a program of tests/api/lib/guest; its path in the sandbox."""
        path = f"/tmp/{name}"
        self.data.upload(path, (GUEST / name).read_bytes())
        return path


def checkpoint_of(sandbox, **fields):
    """A checkpoint under a name of its own: its document."""
    answer = sandbox.api.post(f"{sandbox.path}/checkpoints", {"name": "c" + secrets.token_hex(3), **fields})
    assert answer.status == 201, answer
    return answer.json()


def checkpoint_instance(checkpoint):
    """What it is called in Incus."""
    return "ckp-" + checkpoint["id"].removeprefix("ckp_")
