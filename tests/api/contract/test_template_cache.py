# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds do not repeat the steps of earlier builds."""

import pytest

from leavings import delete_recipe_files
from stack import wait_until
from tenant import Sandbox
from test_template_builds import built, create, nothing_is_left, slug  # noqa: F401 (a fixture)
from test_template_steps import HASH, archive, upload

pytestmark = pytest.mark.parallel

CACHED = "SELECT r.*, c.state, c.size_mb FROM recipe_cache r LEFT JOIN checkpoints c ON c.id = r.checkpoint_id" \
         " JOIN teams t ON t.id = r.team_id WHERE t.slug = %s"


@pytest.fixture(autouse=True)
def no_cached_step_is_left(stack, nothing_is_left):  # noqa: F811
    yield
    delete_recipe_files(stack)


def run(command):
    """A step that is worth a place in the cache."""
    return {"type": "run", "command": f"{command}; sleep 1.2"}


def uses(version):
    """For each step in the log: whether the build took it from the cache."""
    titles = [line.split(" ", 1)[1] for line in version["log"].splitlines() if " step " in line and " | " not in line and " error:" not in line]
    return [title.endswith(": cached") for title in titles]


def shown(version):
    return [(step["state"], step["cached"], step["seconds"] is not None and step["seconds"] >= 1) for step in version["steps"]]


class Builds:
    def __init__(self, account, stack):
        self.api, self.name, self.stack, self.count = account.api, slug(), stack, 0

    def make(self, steps, state="ready", **fields):
        self.count += 1
        body = {"template": self.stack.template, "steps": steps, **fields}
        if self.count == 1:
            create(self.api, self.name, **body)
        else:
            assert self.api.post(f"/v1/templates/{self.name}/versions", body).status == 201
        return built(self.api, self.name, self.count, state, timeout_s=120)

    def read(self, command):
        sandbox = Sandbox.create(self.api, template=self.name)
        said = sandbox.data.check(command)
        self.api.destroy(sandbox.id)
        return said


@pytest.fixture
def builds(account, stack):
    return Builds(account, stack)


def test_the_same_steps_run_once(builds):
    steps = [{"type": "env", "envs": {"WORD": "said"}}, run("date +%N >~/first"), run("echo $WORD >~/second"),
             {"type": "workdir", "path": "/tmp"}]
    assert uses(builds.make(steps)) == [False] * 4
    first = builds.read("cat ~/first ~/second; pwd")
    assert uses(builds.make(steps)) == [True] * 4
    assert builds.read("cat ~/first ~/second; pwd") == first
    # The last line changes.
    steps[2] = run("echo other >~/second")
    assert uses(builds.make(steps)) == [True, True, False, False]
    assert builds.read("cat ~/first ~/second").split() == [first.split()[0], "other"]


@pytest.mark.long
def test_what_the_key_of_a_step_includes(builds):
    steps = [{"type": "env", "envs": {"WORD": "said"}}, run("echo $WORD >~/first"), {"type": "workdir", "path": "/tmp"}]
    assert uses(builds.make(steps)) == [False] * 3
    # Another start: the steps are the same, and the last one is too short to be cached.
    assert uses(builds.make(steps, runtime_baseline={"cpu": 1, "memory_mb": 384})) == [True, True, False]
    # The key of a step includes all steps before it.
    steps[0] = {"type": "env", "envs": {"WORD": "new"}}
    assert uses(builds.make(steps)) == [False] * 3


def test_the_progress_of_the_steps(builds, account):
    steps = [{"type": "env", "envs": {"WORD": "hidden"}}, run("echo first"), run("exit 3")]
    failed = builds.make(steps, state="failed")
    assert [step["name"] for step in failed["steps"]] == ["1", "2", "3"]
    assert [step["title"] for step in failed["steps"]] == ["env WORD", "run echo first; sleep 1.2", "run exit 3; sleep 1.2"]
    assert all(step["line"] is None for step in failed["steps"])
    assert shown(failed) == [("done", False, False), ("done", False, True), ("failed", False, False)]
    assert failed["steps"][2]["seconds"] is None
    steps[2:] = [run("true"), {"type": "run", "command": "sleep 10"}, {"type": "workdir", "path": "/tmp"}]
    assert builds.api.post(f"/v1/templates/{builds.name}/versions", {"template": builds.stack.template, "steps": steps}).status == 201

    def long_step():
        version = account.api.get(f"/v1/templates/{builds.name}/versions/2").json()
        return version if version["steps"] and version["steps"][3]["state"] == "running" and version["steps"][3]["seconds"] >= 1 else None

    assert shown(wait_until(long_step, 60, "the long step")) == [
        ("done", True, False), ("done", True, False), ("done", False, True), ("running", False, True), ("waiting", False, False)]
    assert account.api.delete(f"/v1/templates/{builds.name}/versions/2").status == 204


@pytest.mark.long
def test_no_cache_runs_all_and_replaces(builds):
    steps = [run("date +%N >~/first")]
    builds.make(steps)
    first = builds.read("cat ~/first")
    assert uses(builds.make(steps, no_cache=True)) == [False]
    second = builds.read("cat ~/first")
    assert second != first
    assert uses(builds.make(steps)) == [True]
    assert builds.read("cat ~/first") == second


def test_files_count_by_their_content(builds):
    api = builds.api
    steps = [{"type": "copy", "files": HASH, "source": ".", "destination": "/home/user/"}, run("cat ~/one >~/copy")]
    upload(api, archive(one=b"1"))
    builds.make(steps)
    upload(api, archive(one=b"2"))  # another one under the same name
    assert uses(builds.make(steps)) == [False, False]
    assert uses(builds.make(steps)) == [True, True]
    assert builds.read("cat ~/copy ~/one") == "22"


@pytest.mark.long
def test_a_step_counts_the_files_that_it_copies(builds):
    """The context of a Dockerfile is one archive."""
    api = builds.api
    files = {"one": b"1", "two__a": b"2", "two__b": b"3", "unused": b"4"}
    text = (f"FROM {builds.stack.template}\nCOPY one /opt/\nRUN cat /opt/one >/opt/said && sleep 1.2\n"
            "COPY two/* /opt/two/\nRUN cat /opt/two/* >>/opt/said && sleep 1.2\n")

    def make(**changes):
        upload(api, archive(**{**files, **changes}))
        builds.count += 1
        body = {"dockerfile": text, "context": HASH}
        if builds.count == 1:
            create(api, builds.name, **body)
        else:
            assert api.post(f"/v1/templates/{builds.name}/versions", body).status == 201
        return built(api, builds.name, builds.count, timeout_s=120)

    assert uses(make()) == [False] * 4
    assert "nothing has changed" in make(unused=b"5")["log"]
    assert uses(make(two__b=b"6")) == [True, True, False, False]
    assert builds.read("cat /opt/said") == "126"
    assert uses(make(two__c=b"7")) == [True, True, False, False]
    assert builds.read("cat /opt/said") == "1237"
    assert uses(make(one=b"8")) == [False] * 4
    assert builds.read("cat /opt/said") == "823"


@pytest.mark.long
def test_a_failed_step_is_not_cached(builds):
    builds.make([run("true"), {"type": "run", "command": "sleep 1.2; exit 3"}], state="failed")
    failed = builds.make([run("true"), {"type": "run", "command": "sleep 1.2; exit 3"}], state="failed")
    assert uses(failed) == [True, False]


def test_teams_do_not_share(builds, other_account, stack):
    steps = [run("date +%N >~/first")]
    builds.make(steps)
    assert uses(Builds(other_account, stack).make(steps)) == [False]


@pytest.mark.long
def test_a_cached_step_that_is_lost_runs_again(builds, account, stack):
    steps = [run("date +%N >~/first")]
    builds.make(steps)
    (cached,) = stack.query(CACHED, account.team)
    name = stack.query("SELECT instance_name FROM checkpoints WHERE id = %s", cached["checkpoint_id"])[0]["instance_name"]
    stack.incus.request("DELETE", f"/1.0/instances/{name}")
    wait_until(lambda: name not in stack.incus.names(), 60, "the end of the instance")
    steps.append({"type": "run", "command": "true"})
    assert uses(builds.make(steps)) == [False, False]
    assert builds.read("wc -l <~/first") == "1\n"


@pytest.mark.long
def test_an_equal_version_has_the_same_files(builds, account, stack):
    """It is a version of its own, also in another template, and outlives the one whose files it has."""
    steps = [run("date +%N >~/first"), {"type": "workdir", "path": "/tmp"}]
    first = builds.make(steps, tags=["old"])
    said = builds.read("cat ~/first; pwd")
    second = builds.make(steps, tags=["new"])
    assert uses(second) == [True, True] and "nothing has changed since version 1" in second["log"]
    assert shown(second) == [("done", True, False)] * 2
    assert (second["size_mb"], second["base_version"]) == (first["size_mb"], first["base_version"])
    assert second["tags"] == ["new"] and second["finished_at"] > first["finished_at"]
    other = Builds(account, stack)
    assert f"since version 2 of {builds.name}" in other.make(steps)["log"]
    for builds_of in (builds, other):
        assert builds_of.read("cat ~/first; pwd") == said
    wait_until(lambda: account.api.delete(f"/v1/templates/{builds.name}/versions/1").status == 204, 60, "the end of its sandboxes")
    wait_until(lambda: account.api.delete(f"/v1/templates/{builds.name}/versions/2").status == 204, 60, "the end of its sandboxes")
    sources = [f"tpl-{version['id'][4:]}" for version in (first, second)]
    wait_until(lambda: not set(sources) & set(stack.incus.names()), 60, "the end of their files")
    assert other.read("cat ~/first; pwd") == said


@pytest.mark.long
def test_an_equal_version_whose_files_are_lost_is_built(builds, stack):
    steps = [run("date +%N >~/first")]
    version = builds.make(steps)
    stack.incus.request("DELETE", f"/1.0/instances/tpl-{version['id'][4:]}")
    wait_until(lambda: f"tpl-{version['id'][4:]}" not in stack.incus.names(), 60, "the end of the source")
    again = builds.make(steps)
    assert uses(again) == [True] and "nothing has changed" not in again["log"].split("all steps have run")[1]
    assert builds.read("wc -l <~/first") == "1\n"


def test_it_is_hidden_and_counts_nowhere(builds, account, stack):
    builds.make([run("true")])
    (cached,) = stack.query(CACHED, account.team)
    assert cached["state"] == "kept"
    assert account.api.get("/v1/checkpoints").json()["checkpoints"] == []
    assert account.api.get(f"/v1/checkpoints/{cached['checkpoint_id']}").status == 404
    assert not stack.query("SELECT 1 FROM memory_images WHERE id = %s", cached["checkpoint_id"])


def test_the_cache_of_a_team_is_bounded(builds, account, stack):
    """Beyond the bound, the longest unused step goes, with its disk. The test moves the bound by rows that seem newer."""
    builds.make([run("true")])
    (cached,) = stack.query(CACHED, account.team)
    name = stack.query("SELECT instance_name FROM checkpoints WHERE id = %s", cached["checkpoint_id"])[0]["instance_name"]
    limit = int(stack.settings.get("build_cache_steps", 200))
    stack.query("INSERT INTO recipe_cache (team_id, step_key, checkpoint_id, used_at_ms) VALUES "
                + ", ".join(f"('{cached['team_id']}', SHA2('{i}', 256), '{cached['checkpoint_id'][:-4]}{i:04}', {cached['used_at_ms'] + 1000})"
                            for i in range(limit)))
    wait_until(lambda: not stack.query(CACHED, account.team), 180, "the end of the surplus and of what has no disk")
    wait_until(lambda: name not in stack.incus.names(), 60, "the end of its disk")


@pytest.mark.parametrize(("trigger", "steps"), [
    ("RUN date +%N >/once; sleep 1.2", ["run", "run", "run"]),
    pytest.param("STOPSIGNAL SIGINT", ["env", "run", "run"], marks=pytest.mark.long),
])
def test_onbuild_of_a_base_is_cached(account, stack, trigger, steps):
    """Steps behind those of ONBUILD are found again, and the version has the settings of ONBUILD all the same."""
    api, base = account.api, slug()
    create(api, base, dockerfile=f"FROM {stack.template}\nONBUILD EXPOSE 82\nONBUILD {trigger}\n")
    built(api, base, 1)
    versions = []
    for last in ("one", "two", "two"):
        create(api, name := slug(), dockerfile=f"FROM {base}\nRUN sleep 1.2\nRUN echo {last} >/last\n")
        versions.append(built(api, name, 1, timeout_s=120))
    for version in versions:
        assert version["image_config"]["exposed_ports"] == ["82/tcp"], version
        assert [step["title"].split()[0] for step in version["steps"]] == steps
    assert [step["cached"] for step in versions[1]["steps"]] == [True, True, False], versions[1]
    assert "nothing has changed since version 1" in versions[2]["log"], versions[2]
