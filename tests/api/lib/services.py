# SPDX-License-Identifier: GPL-2.0-or-later
"""The services of a sandbox, as the API shows them."""

from stack import wait_until

FOREVER = "echo up $VALUE; exec sleep 100000"


def services(sandbox):
    answer = sandbox.api.get(f"{sandbox.path}/services")
    assert answer.status == 200, answer
    return {one["name"]: one for one in answer.json()["services"]}


def until(sandbox, name, **members):
    wait_until(lambda: {**services(sandbox)[name], **members} == services(sandbox)[name], 60, f"{members} of {name}")
    return services(sandbox)[name]


def log(sandbox, name):
    answer = sandbox.api.get(f"{sandbox.path}/logs?service={name}")
    assert answer.status == 200, answer
    return "".join(entry["data"] for entry in answer.json()["logs"])
