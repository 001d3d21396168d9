# SPDX-License-Identifier: GPL-2.0-or-later
"""What people try first in the default template."""

import pytest

pytestmark = pytest.mark.parallel

WHEEL = """
import zipfile
with zipfile.ZipFile("/tmp/found-1-py3-none-any.whl", "w") as wheel:
    wheel.writestr("found.py", "")
    wheel.writestr("found-1.dist-info/METADATA", "Metadata-Version: 2.1\\nName: found\\nVersion: 1\\n")
    wheel.writestr("found-1.dist-info/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    wheel.writestr("found-1.dist-info/RECORD", "")
"""


@pytest.mark.parametrize("script, expected", [
    ("python3 -m pip --version", "pip "),
    ("python3 -m venv /tmp/venv && /tmp/venv/bin/pip --version", "pip "),
    (f"python3 -c '{WHEEL}'; pip install --quiet --no-index /tmp/*.whl; python3 -c 'import found; print(found.__name__)'", "found\n"),
    ("TZ=Europe/Berlin date -d @0 '+%H %Z'", "01 CET\n"),
    ("python3 -c 'import zoneinfo; print(zoneinfo.ZoneInfo(\"Asia/Tokyo\"))'", "Asia/Tokyo\n"),
])
def test_what_people_try_first(sandbox, script, expected):
    assert sandbox.data.check(script).startswith(expected)
