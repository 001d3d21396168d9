# SPDX-License-Identifier: GPL-2.0-or-later
"""What `sandlotctl backup` and `restore` refuse before they do anything, and what a backup prints."""

import json
import os
import re
import subprocess

import pytest

pytestmark = pytest.mark.parallel


def refused(stack, *arguments):
    done = stack.ctl(*arguments, check=False)
    assert done.returncode == 1, done.stdout
    return done.stderr


def test_a_backup_goes_to_a_new_folder(stack, tmp_path):
    assert "is not a folder" in refused(stack, "backup", "s3://bucket/name", "--without-keys")
    assert "exists already" in refused(stack, "backup", str(tmp_path), "--without-keys")
    (tmp_path / "new.partial").mkdir()
    assert "did not end" in refused(stack, "backup", str(tmp_path / "new"), "--without-keys")
    assert not (tmp_path / "new").exists()


def test_somebody_says_what_becomes_of_the_key_ring(stack, tmp_path):
    new = str(tmp_path / "new")
    assert "Choose one" in refused(stack, "backup", new)
    assert "Choose one" in refused(stack, "backup", new, "--without-keys", "--recipient", "0" * 64)
    assert "64 hexadecimal digits" in refused(stack, "backup", new, "--recipient", "abc")
    empty = tmp_path / "empty"
    empty.touch()
    assert not (tmp_path / "new.partial").exists()
    assert "is empty" in refused(stack, "backup", new, "--passphrase-file", str(empty))


def test_a_sandbox_that_is_chosen_must_be_there(stack, tmp_path):
    new = str(tmp_path / "new")
    missing = "sbx_01kamqm3d7e9r5t2y8w4q6z1xc"
    assert f"no sandbox {missing}" in refused(stack, "backup", new, "--without-keys", "--sandbox", missing)
    assert "not both" in refused(
        stack, "backup", new, "--without-keys", "--no-sandboxes", "--sandbox", missing)
    assert list(tmp_path.iterdir()) == []


def test_a_recipient_has_a_private_key_in_a_file(stack, tmp_path):
    path = tmp_path / "identity"
    made = stack.ctl("backup", "recipient", str(path))
    assert len(made["recipient"]) == 64 and made["recipient"] not in path.read_text(encoding="ascii")
    assert os.stat(path).st_mode & 0o777 == 0o600
    assert "cannot write" in refused(stack, "backup", "recipient", str(path))


def test_only_a_whole_backup_is_restored(stack, tmp_path):
    manifest = tmp_path / "manifest.json"
    assert "is not a complete backup" in refused(stack, "restore", str(tmp_path))
    manifest.write_text("{", encoding="ascii")
    assert "is not JSON" in refused(stack, "restore", str(tmp_path))
    document = {"format": 1, "made_at": "2026-11-22T00:00:00.000Z", "schema_version": 9999, "left_out": [],
                "files": [{"kind": "database", "path": "../dump", "host": "", "name": "", "of": "", "stamp": "",
                           "reused": False, "size": 1, "sha256": "0" * 64}]}
    manifest.write_text(json.dumps(document), encoding="ascii")
    assert "a manifest of another version" in refused(stack, "restore", str(tmp_path))
    document["files"][0]["path"] = "dump"
    manifest.write_text(json.dumps(document), encoding="ascii")
    assert "newer than" in refused(stack, "restore", str(tmp_path))
    document["schema_version"] = 1
    manifest.write_text(json.dumps(document), encoding="ascii")
    assert "cannot read" in refused(stack, "restore", str(tmp_path))
    (tmp_path / "dump").write_bytes(b"xx")
    assert "has 2 bytes, but the backup's list says 1" in refused(stack, "restore", str(tmp_path))


@pytest.mark.long
@pytest.mark.alone
def test_a_backup_says_what_it_writes(stack, account, tmp_path):
    """Volumes come first."""
    volume = account.api.create_volume(name="small")
    backup = subprocess.run([*stack.ctl_command, "backup", str(tmp_path / "new"), "--without-keys", "--no-sandboxes"],
                            check=True, capture_output=True, text=True, timeout=600)
    first, *said = backup.stderr.splitlines()
    assert first == "writing the database"
    (number,) = [one for one, line in enumerate(said) if line.endswith(f": writing {volume['id']}")]
    assert re.fullmatch(r"\d+ of \d+: writing vol_\w{26}", said[number])
    assert re.fullmatch(r"\d+ of \d+: \d+\.\d MiB in \d+\.\d s", said[number + 1]), said
