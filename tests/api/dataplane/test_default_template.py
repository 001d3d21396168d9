# SPDX-License-Identifier: GPL-2.0-or-later
"""What people try first in the default template."""

import pytest

pytestmark = pytest.mark.parallel


@pytest.mark.parametrize("script, expected", [
    ("python3 -m pip --version", "pip "),
    ("python3 -m venv /tmp/venv && /tmp/venv/bin/pip --version", "pip "),
    ("TZ=Europe/Berlin date -d @0 '+%H %Z'", "01 CET\n"),
    ("python3 -c 'import zoneinfo; print(zoneinfo.ZoneInfo(\"Asia/Tokyo\"))'", "Asia/Tokyo\n"),
])
def test_what_people_try_first(sandbox, script, expected):
    assert sandbox.data.check(script).startswith(expected)
