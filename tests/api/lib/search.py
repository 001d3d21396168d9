# SPDX-License-Identifier: GPL-2.0-or-later
"""Search for bytes that must not be there: in files, in the database, in what Incus tells."""

import base64
import os
import pathlib
import urllib.parse


def forms(secret):
    """The secret and what it looks like when it is merely dressed up."""
    raw = secret.encode()
    found = {raw, raw.hex().encode(), raw.hex().upper().encode(), raw[::-1]}
    found.add(urllib.parse.quote(secret, safe="").encode())
    for offset in range(3):
        # Base64 of the bytes at every alignment, without the ends that depend on what is beside.
        text = base64.b64encode(b"\0" * offset + raw)
        found.add(text[4 if offset else 0 : -4])
        found.add(base64.urlsafe_b64encode(b"\0" * offset + raw)[4 if offset else 0 : -4])
    return found


def assert_absent(data, needles, where):
    if isinstance(data, str):
        data = data.encode()
    for needle in needles:
        assert needle not in data, f"{needle!r} is in {where}"


def file_holds(path, needles):
    """Whether a file of any size holds one of needles."""
    overlap = max(map(len, needles))
    tail = b""
    with open(path, "rb") as opened:
        while piece := opened.read(1 << 22):
            block = tail + piece
            if any(needle in block for needle in needles):
                return True
            tail = block[-overlap:]
    return False


def files_below(root, skipped):
    for directory, names, files in os.walk(root):
        names[:] = [name for name in names if os.path.join(directory, name) not in skipped]
        for name in files:
            path = pathlib.Path(directory, name)
            if path.is_file() and not path.is_symlink():
                yield path


def search_files(stack, needles, instance):
    """Every file under the state root, but for the disk and the memory of the sandbox itself."""
    inner = stack.instance_dir(instance)
    pools = stack.incus_dir / "storage-pools"
    # The pool is a file system in a file under disks/; it is searched where it is mounted.
    skipped = {str(stack.incus_dir / "disks"), str(pools), str(stack.root / "build")}
    searched = list(files_below(stack.root, skipped))
    searched += files_below(inner, {str(inner / "rootfs"), str(inner / "state")})
    names = {str(path) for path in searched}
    assert any("log" in name for name in names) and any("mysql" in name for name in names), names
    assert any(name.endswith("backup.yaml") for name in names), "Incus' own note of the instance"
    found = [str(path) for path in searched if path.exists() and file_holds(path, needles)]
    assert not found, found


def search_database(stack, needles):
    connection = stack.database()
    try:
        with connection.cursor() as cursor:
            cursor.execute("SHOW TABLES")
            tables = [next(iter(row.values())) for row in cursor.fetchall()]
            assert "sandboxes" in tables
            for table in tables:
                cursor.execute(f"SELECT * FROM `{table}`")
                for row in cursor.fetchall():
                    for column, value in row.items():
                        data = value if isinstance(value, bytes) else str(value).encode()
                        assert_absent(data, needles, f"{table}.{column}")
    finally:
        connection.close()


def search_incus(stack, needles, instance):
    for path in (
        "/1.0/instances?recursion=2",
        f"/1.0/instances/{instance}",
        f"/1.0/instances/{instance}/state",
        "/1.0/profiles?recursion=1",
        "/1.0/operations?recursion=1",
        "/1.0/projects?recursion=1",
    ):
        status, body = stack.incus.raw("GET", path)
        assert status == 200, (path, body)
        assert_absent(body, needles, path)
