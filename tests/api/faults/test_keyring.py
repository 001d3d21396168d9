# SPDX-License-Identifier: GPL-2.0-or-later
"""Old keys of a key ring: data is sealed again with the newest key, and a key that nothing needs goes."""

import pathlib
import re
import secrets
import shutil

import pytest

from doctor import doctor
from second_deployment import SecondDeployment
from stack import wait_until
from tenant import Sandbox

SEALED = {"secrets": "value", "webhooks": "secret", "sandboxes": "envs_sealed", "kept_logs": "sealed",
          "idempotency_keys": "answer_sealed"}


@pytest.fixture
def deployment(stack, account, tmp_path):
    """A deployment with the key ring of the stack, and rows of the stack that its key 1 has sealed."""
    api = account.api
    sandbox = Sandbox(api, api.create(envs={"NAME": "value"}, timeout=600))
    sandbox.data.check("echo logged")
    sandbox.pause()
    wait_until(lambda: stack.query("SELECT 1 FROM kept_logs WHERE sandbox_id = %s", sandbox.id), 30, "the kept log")
    name = "s" + secrets.token_hex(4)
    secret = api.request("PUT", f"/v1/secrets/{name}", {"value": "hidden", "hosts": ["example.com"]})
    assert secret.status in (200, 201), secret
    hook = api.post("/v1/webhooks", {"url": "https://192.0.2.1/", "kinds": ["sandbox.died"]},
                    headers={"Idempotency-Key": secrets.token_hex(8)})
    assert hook.status == 201, hook
    ids = {"secrets": ("name", name), "webhooks": ("id", hook.json()["id"]), "sandboxes": ("id", sandbox.id),
           "kept_logs": ("sandbox_id", sandbox.id), "idempotency_keys": ("user_id", stack.query("SELECT id FROM users WHERE name = %s", account.user)[0]["id"])}
    with SecondDeployment(stack, tmp_path) as other:
        shutil.copy(stack.settings["key_file"], other.directory / "keyring")
        with other._root() as cursor:  # pylint: disable=protected-access
            cursor.execute("SET FOREIGN_KEY_CHECKS = 0")
            for table, (column, value) in ids.items():
                names = ", ".join(row["Field"] if isinstance(row, dict) else row[0] for row in columns(cursor, stack, table))
                cursor.execute(f"INSERT INTO sandlot_other.{table} ({names}) SELECT {names} FROM"
                               f" {stack.settings['database_name']}.{table} WHERE {column} = %s", (value,))
        yield other


def columns(cursor, stack, table):
    """Those that can be written."""
    cursor.execute(f"SHOW COLUMNS FROM {stack.settings['database_name']}.{table} WHERE Extra NOT LIKE '%GENERATED%'")
    return cursor.fetchall()


def keys_of(deployment):
    """The keys that have sealed the values, by table."""
    return {table: {row[0][1:3].hex() for row in deployment.query(f"SELECT {column} FROM {table} WHERE LENGTH({column}) > 3")}
            for table, column in SEALED.items()}


def uses(answer, key_id=1):
    (one,) = [key["used_by"] for key in answer if key["id"] == key_id]
    return one


@pytest.mark.one_host
def test_an_old_key_goes_when_nothing_needs_it(stack, deployment):
    ring = deployment.directory / "keyring"
    assert set(map(tuple, keys_of(deployment).values())) == {("0001",)}
    assert deployment.ctl("keyring", "reseal") == {"resealed": 0, "old_keys": []}
    deployment.ctl("keyring", "rotate", str(ring))
    refused = deployment.run("keyring", "drop", str(ring))
    assert refused.returncode == 1 and "still needed" in refused.stderr, refused
    assert len(pathlib.Path(ring).read_text(encoding="utf-8").splitlines()) == 4

    answer = deployment.ctl("keyring", "reseal")
    assert answer["resealed"] == len(SEALED), answer
    assert set(map(tuple, keys_of(deployment).values())) == {("0002",)}
    still = uses(answer["old_keys"])
    assert {"sandboxes", "rows of the audit log", "requests that may be repeated"} <= set(still), still
    assert not {"secrets of teams", "environments of sandboxes", "kept logs", "secrets of webhooks"} & set(still)
    refused = deployment.run("keyring", "drop", str(ring))
    assert refused.returncode == 1 and "still needed" in refused.stderr

    with deployment._root() as cursor:  # pylint: disable=protected-access
        cursor.execute("SET FOREIGN_KEY_CHECKS = 0")
        for change in ("UPDATE sandboxes SET agent_key_id = 2", "UPDATE idempotency_keys SET body_key_id = 2",
                       "UPDATE audit_log SET mac_key_id = 2", "UPDATE audit_chain SET hash_key_id = 2"):
            cursor.execute(change.replace("UPDATE ", "UPDATE sandlot_other."))
    note = "INSERT INTO sandlot_other.fronts (name, settings, seen_at_ms) VALUES ('front2', %s, UNIX_TIMESTAMP() * 1000)"
    with deployment._root() as cursor:  # pylint: disable=protected-access
        cursor.execute(note, ('{"newest_key":1}',))
        refused = deployment.run("keyring", "drop", str(ring))
        assert refused.returncode == 1 and "front2 do not use key 2" in refused.stderr, refused
        cursor.execute(note.replace("INSERT", "REPLACE"), ('{"newest_key":2}',))
    assert deployment.ctl("keyring", "drop", str(ring)) == {"dropped": [1], "kept": []}
    lines = [line.split()[0] for line in ring.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    assert lines == ["2"]
    assert [row[0] for row in deployment.query("SELECT key_id FROM keyring_keys")] == [2]

    # Without key 1, every value still opens.
    deployment.ctl("keyring", "rotate", str(ring))
    assert deployment.ctl("keyring", "reseal")["resealed"] == len(SEALED)
    assert set(map(tuple, keys_of(deployment).values())) == {("0003",)}


def test_each_column_that_needs_a_key_is_known(stack):
    """A table that comes later, too: `keyring drop` would make its values unreadable."""
    known = (pathlib.Path(__file__).parents[3] / "fcgi/concepts/front/ring_use_db.c").read_text(encoding="utf-8")
    columns = stack.query(
        "SELECT table_name AS of_table, column_name AS name FROM information_schema.columns WHERE table_schema = DATABASE()"
        " AND (column_name LIKE '%%sealed%%' OR column_name LIKE '%%key_id' AND data_type = 'smallint')")
    assert len(columns) > 20
    assert not [one for one in columns if not re.search(rf"\b{one['of_table']}\b[^;]*\b{one['name']}\b", known)]


@pytest.mark.one_host
def test_a_value_that_does_not_open_is_named_and_stays(deployment):
    ring = deployment.directory / "keyring"
    (row,) = deployment.query("SELECT id, value FROM secrets")
    deployment.query("UPDATE secrets SET value = INSERT(value, 40, 1, CHAR(ASCII(SUBSTRING(value, 40, 1)) ^ 1))")
    deployment.ctl("keyring", "rotate", str(ring))
    refused = deployment.run("keyring", "reseal")
    assert refused.returncode == 1 and row[0] in refused.stderr and "secrets of teams" in refused.stderr, refused
    assert deployment.run("keyring", "drop", str(ring)).returncode == 1
    deployment.query("UPDATE secrets SET value = %s", row[1])
    deployment.ctl("keyring", "reseal")
    assert keys_of(deployment)["secrets"] == {"0002"}


def test_doctor_tells_the_age_of_the_newest_key(stack):
    def days():
        (said,) = [one["message"] for one in doctor(stack) if one["check"] == "key ring"]
        return int(re.search(r"The newest is (\d+) days? old; \d+ older keys? remains?\.", said).group(1))

    before = days()
    stack.query("UPDATE keyring_keys SET added_at_ms = added_at_ms - 40 * 86400000")
    try:
        assert days() - before in (40, 41)  # a day may end meanwhile
    finally:
        stack.query("UPDATE keyring_keys SET added_at_ms = added_at_ms + 40 * 86400000")
