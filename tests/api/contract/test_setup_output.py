# SPDX-License-Identifier: GPL-2.0-or-later
"""What the set-up scripts show of their steps."""

import pathlib
import re
import subprocess

import pytest

from stack import wait_until

pytestmark = pytest.mark.parallel

SCRIPTS = pathlib.Path(__file__).resolve().parents[3] / "scripts"
STEPS = SCRIPTS / "lib" / "steps.sh"

SCRIPT = """
set -euo pipefail
. "$0"
LOG_DIR=$1
work() { echo "$1" >>"$LOG_DIR/done"; }
some() {
    step "packages" work packages
    if [[ $DEMO == yes ]]; then
        step "demonstration" work demonstration
    fi
    for name in a b; do
        step "template $name" work "$name"
    done
}
step "before" work before
steps_of some
step "after" work after
"""


@pytest.mark.parametrize("demo", ["yes", "no"])
def test_each_step_has_its_number_of_all_and_is_done_once(tmp_path, demo):
    done = subprocess.run(["bash", "-c", SCRIPT, STEPS, tmp_path], env={"DEMO": demo, "PATH": "/usr/bin:/bin"},
                          capture_output=True, text=True, check=True)
    titles = ["packages", *["demonstration"] * (demo == "yes"), "template a", "template b"]
    numbered = [f"[{number}/{len(titles) + 1}] {title}" for number, title in enumerate(titles, 2)]
    assert [line[:60].strip() for line in done.stdout.splitlines()] == ["before", *numbered, "after"]
    words = (tmp_path / "done").read_text(encoding="utf-8").split()
    assert words == ["before", *[title.removeprefix("template ") for title in titles], "after"]


# The steps of a host that joins, none of which does anything but the one that asks the front.
JOIN = """
set -euo pipefail
. "$0/steps.sh"
. "$0/join.sh"
LOG_DIR=$1
JOIN_DIR=$1
for name in places token machine files config incus pool fronts firewall relay offer wait; do
    eval "join_$name() { :; }"
done
join_take() { JOIN_NAME=h2 JOIN_STATE=$FRONT_SAYS; }
join_run TOKEN
"""


@pytest.mark.parametrize(("state", "steps", "end"), [
    ("joining", 13, "Host h2 is active and gets sandboxes."),
    ("active", 4, "Host h2 is active already."),
])
def test_a_host_that_joins_numbers_its_steps(tmp_path, state, steps, end):
    done = subprocess.run(["bash", "-c", JOIN, SCRIPTS / "lib", tmp_path], check=True, capture_output=True, text=True,
                          env={"FRONT_SAYS": state, "PATH": "/usr/bin:/bin"})
    *shown, last = done.stdout.splitlines()
    assert [line.split()[0] for line in shown] == [f"[{number}/13]" for number in range(1, steps + 1)]
    assert last == end


@pytest.mark.parametrize("script", ["quickstart", "setup", "host-join"])
def test_steps_stand_in_functions_which_are_counted(script):
    """One step alone, which is not a part of a row, needs no number."""
    text = (SCRIPTS / script).read_text(encoding="utf-8")
    outside = re.sub(r"^\w+\(\)\n\{\n.*?^\}\n", "", text, flags=re.MULTILINE | re.DOTALL)
    assert len(re.findall(r"^ *(?:step|stack_stop|join_steps|installed_up)\b(?!\(\))", outside, re.MULTILINE)) <= 1


AHEAD = """
set -euo pipefail
. "$0"
LOG_DIR=$1
steps_init
at_exit ahead_end
ahead works bash -c 'echo made >"$0/made"' "$LOG_DIR"
ahead fails false
ahead lasts bash -c 'echo $$ >"$0/pid"; exec sleep 1000' "$LOG_DIR"
step "made" wait_for 60 test -s "$LOG_DIR/made"
step "begun" wait_for 60 test -s "$LOG_DIR/pid"
"""


def test_what_runs_ahead_fails_no_step_and_ends_with_the_program(tmp_path):
    subprocess.run(["bash", "-c", AHEAD, STEPS, tmp_path], env={"PATH": "/usr/bin:/bin"}, capture_output=True, check=True)
    assert (tmp_path / "made").read_text(encoding="utf-8") == "made\n"
    process = pathlib.Path("/proc") / (tmp_path / "pid").read_text(encoding="utf-8").strip()
    wait_until(lambda: not process.exists(), 20, "the end of what was ahead")
