# SPDX-License-Identifier: GPL-2.0-or-later
"""Three database servers that decide among themselves which of them are there: Group Replication with a single primary
on Oracle's server, and Galera on MariaDB's.

Their schema is made by `sandlotctl migrate`, at the member that takes writes; rows are those of the stack's own.
"""

import contextlib
import os
import pathlib
import shutil
import subprocess

import pymysql
import pytest

from database_pair import ADDRESSES, REPLICATION, OwnDatabase, Server, free_port
from stack import wait_until

SHARED = pathlib.Path("/var/lib/sandlot/.shared")
MYSQL = SHARED / "mysql/usr"
GALERA = SHARED / "galera/usr"
GROUP = "6b7c4e0e-1f0a-4c38-9a62-5d0f2a1f7c11"
# What the programs write for themselves, and what `migrate` has written.
OWN_TABLES = ("schema_migrations", "migration_guard", "leases")


class Group(OwnDatabase):
    """members: which is in front is for them to say."""

    def _copy(self):
        self._logins()
        config = self.folder / "sandlot.conf"
        config.write_text(self._config((self.stack.root / "etc" / "sandlot.conf").read_text(encoding="utf-8")),
                          encoding="utf-8")
        subprocess.run([self.stack.ctl_command[0], "--config", config, "migrate"], check=True, timeout=300,
                       capture_output=True, text=True)
        ignored = [f"--ignore-table={self.name}.{table}" for table in OWN_TABLES]
        dump = subprocess.run(["mariadb-dump", "--no-defaults", "--single-transaction", "--no-create-info", "--replace",
                               "--complete-insert", "--hex-blob", "--skip-triggers", "--skip-add-locks",
                               "--skip-disable-keys", *ignored,
                               f"--socket={self.stack.database_socket}", "--user=root", self.name],
                              check=True, capture_output=True, timeout=120)
        subprocess.run(["mariadb", "--no-defaults", f"--socket={self.servers[0].socket}", "--user=root", self.name],
                       input=dump.stdout, check=True, capture_output=True, timeout=300)

    def rest(self):
        return [one for one in self.servers if one.process.poll() is None]


# --- Group Replication ---


class Member(Server):
    def make_files(self):
        shutil.copytree(self.dir.parent / "seed", self.dir / "data")
        (self.dir / "data/auto.cnf").unlink(missing_ok=True)
        subprocess.run(["chown", "-R", "mysql:mysql", self.dir], check=True)

    def program(self):
        # It takes writes when the group says so.
        return [MYSQL / "sbin/mysqld", f"--defaults-file={self.dir.parent}/my.cnf", "--super-read-only=ON",
                f"--report-host={self.address}"]

    def say(self, *texts):
        connection = self.root()
        try:
            with connection.cursor() as cursor:
                for text in texts:
                    cursor.execute(text)
        finally:
            connection.close()

    def takes_writes(self):
        return not self.query("SELECT @@global.super_read_only AS off")[0]["off"]

    def members(self):
        rows = self.query("SELECT MEMBER_HOST AS host, MEMBER_STATE AS state FROM"
                          " performance_schema.replication_group_members")
        return {row["host"] for row in rows if row["state"] == "ONLINE"}

    def join(self):
        """A group that is busy with its own changes may refuse it for now."""

        def joins():
            with contextlib.suppress(pymysql.MySQLError):
                self.say(f"START GROUP_REPLICATION USER='replication', PASSWORD='{REPLICATION}'")
                return True
            return False

        wait_until(joins, 120, f"{self.address} joining its group", 1)


class SinglePrimary(Group):
    def __init__(self, stack):
        if not (MYSQL / "sbin/mysqld").exists():
            pytest.skip("Oracle's server is not here: scripts/test --mysql and --faults fetch it")
        super().__init__(stack)
        self._make_seed()
        ports = [free_port() for _ in ADDRESSES]
        seeds = ",".join(f"127.0.0.1:{port}" for port in ports)
        # They talk among each other at the one address that an interface has.
        self.servers = [
            Member(self.folder, number, self.port, (
                "--gtid-mode=ON", "--enforce-gtid-consistency=ON", "--log-bin=binlog", "--innodb-redo-log-capacity=32M",
                "--innodb-buffer-pool-size=64M", "--plugin-load-add=group_replication.so",
                f"--loose-group-replication-group-name={GROUP}", "--loose-group-replication-start-on-boot=OFF",
                f"--loose-group-replication-local-address=127.0.0.1:{port}",
                f"--loose-group-replication-group-seeds={seeds}", "--loose-group-replication-ip-allowlist=127.0.0.0/8",
                "--loose-group-replication-member-expel-timeout=0",
                "--loose-group-replication-unreachable-majority-timeout=10",
                "--loose-group-replication-recovery-get-public-key=ON"))
            for number, port in enumerate(ports)]
        for server in self.servers:
            server.say("SET GLOBAL super_read_only = OFF", "SET GLOBAL read_only = OFF", "SET sql_log_bin = 0",
                       f"CREATE USER replication@'%' IDENTIFIED BY '{REPLICATION}'",
                       "GRANT REPLICATION SLAVE, CONNECTION_ADMIN, BACKUP_ADMIN, GROUP_REPLICATION_STREAM ON *.*"
                       " TO replication@'%'", "SET GLOBAL super_read_only = ON")
        self.servers[0].say("SET GLOBAL group_replication_bootstrap_group = ON")
        self.servers[0].join()
        self.servers[0].say("SET GLOBAL group_replication_bootstrap_group = OFF")
        for server in self.servers[1:]:
            server.join()
        self.wait_for(self.servers)

    def _make_seed(self):
        (self.folder / "my.cnf").write_text(
            f"[mysqld]\nbasedir = {MYSQL}\nlc-messages-dir = {MYSQL}/share/mysql\nplugin-dir = {MYSQL}/lib/mysql/plugin\n"
            "secure-file-priv = NULL\nmysqlx = OFF\n", encoding="utf-8")
        (self.folder / "seed").mkdir()
        shutil.chown(self.folder / "seed", "mysql", "mysql")
        subprocess.run([MYSQL / "sbin/mysqld", f"--defaults-file={self.folder}/my.cnf", "--user=mysql",
                        f"--datadir={self.folder}/seed", "--initialize-insecure", "--innodb-redo-log-capacity=8M"],
                       check=True, capture_output=True, timeout=300)

    def wait_for(self, servers):
        wanted = {one.address for one in servers}
        wait_until(lambda: all(one.members() == wanted for one in servers), 120, "the members in their group", 0.2)

    def primary(self):
        for server in self.rest():
            try:
                if server.takes_writes():
                    return server
            except pymysql.MySQLError:
                continue
        return None


# --- Galera ---


class Node(Server):
    def make_files(self):
        if self.number == 0:
            super().make_files()
        else:
            (self.dir / "data").mkdir()
            shutil.chown(self.dir / "data", "mysql", "mysql")

    def program(self):
        return ["mariadbd", "--no-defaults", f"--wsrep-node-name=node{self.number}"]

    def start(self, *more):
        # What carries the state to one that joins is a script, found by its name.
        os.environ["PATH"] = f"{GALERA}/bin:{os.environ['PATH'].removeprefix(f'{GALERA}/bin:')}"
        super().start(*more)

    def answers(self):
        return super().answers() and self.is_ready()

    def is_ready(self):
        rows = self.query("SHOW GLOBAL STATUS WHERE Variable_name = 'wsrep_ready'")
        return [row["Value"] for row in rows] == ["ON"]

    def return_anew(self):
        """As a machine comes back that was made anew: all it has is what the others give it."""
        shutil.rmtree(self.dir / "data")
        (self.dir / "data").mkdir()
        shutil.chown(self.dir / "data", "mysql", "mysql")
        self.start()


class Cluster(Group):
    def __init__(self, stack):
        provider = GALERA / "lib/galera/libgalera_smm.so"
        if not provider.exists():
            pytest.skip("Galera is not here: scripts/test --faults fetches it")
        super().__init__(stack)
        ports = [free_port() for _ in ADDRESSES]
        peers = ",".join(f"127.0.0.1:{port}" for port in ports)
        self.servers = []
        for number, port in enumerate(ports):
            options = ("--binlog-format=ROW", "--innodb-autoinc-lock-mode=2", "--innodb-log-file-size=16M",
                       "--innodb-buffer-pool-size=64M", "--wsrep-on=ON", f"--wsrep-provider={provider}",
                       f"--wsrep-cluster-address=gcomm://{peers}", "--wsrep-sst-method=rsync",
                       f"--wsrep-sst-receive-address={ADDRESSES[number]}:{free_port()}",
                       f"--wsrep-node-address={ADDRESSES[number]}",
                       f"--wsrep-provider-options=gmcast.listen_addr=tcp://127.0.0.1:{port};"
                       f"ist.recv_addr={ADDRESSES[number]}:{free_port()};gcache.size=16M;pc.recovery=false",
                       *(() if self.servers else ("--wsrep-new-cluster",)))
            self.servers.append(Node(self.folder, number, self.port, options))
        # When it is started again it joins.
        self.servers[0].options = tuple(one for one in self.servers[0].options if one != "--wsrep-new-cluster")

    def writer(self):
        (row,) = self.rest()[0].query("SELECT holder FROM leases WHERE name = 'database.writer'", database=self.name)
        return next(one for one in self.servers if row["holder"] == f"node{one.number}")
