# SPDX-License-Identifier: GPL-2.0-or-later
"""A database that has no connection left, or a table that somebody else has locked."""

import contextlib
import os
import pathlib
import signal

import pymysql
import pytest

from client import assert_error
from doctor import assert_says, wrong
from faults import InBackground, quiet  # noqa: F401
from pools import shares
from stack import wait_until

pytestmark = pytest.mark.long


@contextlib.contextmanager
def administrator(stack):
    connection = pymysql.connect(unix_socket=stack.database_socket, user="root", autocommit=True,
                                 database=stack.settings.get("database_name", "sandlot"))
    try:
        with connection.cursor() as cursor:
            yield cursor
    finally:
        connection.close()


def records_workers(stack):
    parent = int((stack.run_dir / "records.pid").read_text(encoding="ascii").split()[0])
    children = pathlib.Path(f"/proc/{parent}/task/{parent}/children").read_text(encoding="ascii")
    return [int(pid) for pid in children.split()]


def test_no_connection_is_left(account, make_sandbox, stack):
    """Workers that begin then try again; who asks waits for them."""
    sandbox = make_sandbox()
    with administrator(stack) as cursor:
        cursor.execute("SELECT @@GLOBAL.max_connections")
        (usual,) = cursor.fetchone()
        cursor.execute("SET GLOBAL max_connections = 10")
        try:
            for pid in records_workers(stack):
                os.kill(pid, signal.SIGKILL)
            wait_until(lambda: wrong(stack), 30, "what doctor says", 0.5)
            assert_says(wrong(stack), "database", "Too many connections", "database_")
            asked = InBackground(account.api.get, "/v1/sandboxes")
            assert sandbox.data.run("echo", "goes on").exit_code == 0
        finally:
            cursor.execute("SET GLOBAL max_connections = %s", (usual,))
    assert asked.result(120).status == 200
    wait_until(lambda: not wrong(stack), 60, "nothing being wrong", 0.5)


def test_a_locked_table_is_not_waited_for(make_sandbox, stack):
    """As a backup that locks tables does; requests are refused before their connections break."""
    sandbox = make_sandbox()
    with administrator(stack) as cursor:
        cursor.execute("LOCK TABLES sandboxes WRITE")
        try:
            refused = sandbox.api.get(sandbox.path)
        finally:
            cursor.execute("UNLOCK TABLES")
    assert_error(refused, 503, "runtime_unavailable")
    assert int(refused.headers["Retry-After"]) > 0
    assert sandbox.show()["state"] == "ready"


def test_reads_of_one_team_have_what_nobody_else_wants(account, make_account, stack):
    """All workers of the pool, while no other request waits there; who comes then is next."""
    workers = len(records_workers(stack))
    other = make_account()
    with administrator(stack) as cursor:
        cursor.execute("LOCK TABLES sandboxes WRITE")
        try:
            reads = [InBackground(account.api.get, "/v1/sandboxes") for _ in range(2 * workers)]
            wait_until(lambda: shares(stack, "records") == workers, 30, "all workers serving one team", 0.01)
            next_one = InBackground(other.api.get, "/v1/me")
        finally:
            cursor.execute("UNLOCK TABLES")
    assert next_one.result(60).status == 200
    for read in reads:
        assert read.result(60).status in (200, 503), read.result(60)
