# SPDX-License-Identifier: GPL-2.0-or-later
"""What the set-up scripts show of their steps."""

import pathlib
import subprocess

import pytest

pytestmark = pytest.mark.parallel

STEPS = pathlib.Path(__file__).resolve().parents[3] / "scripts" / "lib" / "steps.sh"

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
