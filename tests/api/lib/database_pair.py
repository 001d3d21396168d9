# SPDX-License-Identifier: GPL-2.0-or-later
"""A primary and a replica with semi-synchronous replication that a stack's programs use in place of their server.

Both encrypt, and listen at two addresses of this machine. What they hold at first is a copy of the stack's
database; what is written to them stays there.
"""

import contextlib
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile

import pymysql

from stack import wait_until

ADDRESSES = ("127.0.0.1", "127.0.0.3")
PROGRAMS = ("sandlot-api", "sandlot-gate", "sandlot-events", "sandlot-dispatcher", "sandlot-ssh")
REPLICATION = "replication-of-the-test"


def free_port():
    with socket.socket() as one:
        one.bind(("0.0.0.0", 0))
        return one.getsockname()[1]


class Server:
    def __init__(self, folder, number, port):
        self.address, self.port, self.number = ADDRESSES[number], port, number
        self.dir = folder / str(number)
        self.dir.mkdir()
        self.socket = self.dir / "socket"
        shutil.chown(self.dir, "mysql", "mysql")
        subprocess.run(["mariadb-install-db", "--no-defaults", "--user=mysql", f"--datadir={self.dir}/data",
                        "--auth-root-authentication-method=socket", "--skip-test-db", "--skip-name-resolve"],
                       check=True, capture_output=True, timeout=300)
        self.process = None
        self.start()

    def start(self):
        with open(self.dir / "log", "ab") as log:
            self.process = subprocess.Popen(
                ["mariadbd", "--no-defaults", "--user=mysql", f"--datadir={self.dir}/data", f"--socket={self.socket}",
                 f"--pid-file={self.dir}/pid", f"--bind-address={self.address}", f"--port={self.port}",
                 f"--server-id={self.number + 1}", "--log-bin=binlog", "--binlog-format=ROW", "--gtid-strict-mode=ON",
                 "--log-slave-updates=ON", f"--read-only={'ON' if self.number else 'OFF'}", "--skip-name-resolve",
                 "--character-set-server=utf8mb4", "--collation-server=utf8mb4_bin", "--max-connections=200",
                 # The primary acknowledges nothing that its replica does not have.
                 "--rpl-semi-sync-master-enabled=ON", "--rpl-semi-sync-master-timeout=60000",
                 "--rpl-semi-sync-master-wait-point=AFTER_SYNC", "--rpl-semi-sync-slave-enabled=ON",
                 "--rpl-semi-sync-master-wait-no-slave=OFF",
                 f"--ssl-ca={self.dir.parent}/ca.pem", f"--ssl-cert={self.dir.parent}/server.pem",
                 f"--ssl-key={self.dir.parent}/server.key"],
                stdout=log, stderr=log)
        wait_until(self.answers, 60, f"the database at {self.address}", 0.1)

    def root(self):
        return pymysql.connect(unix_socket=str(self.socket), user="root", autocommit=True,
                               cursorclass=pymysql.cursors.DictCursor)

    def answers(self):
        with contextlib.suppress(pymysql.MySQLError):
            self.root().close()
            return True
        return False

    def query(self, sql, *arguments, database=None):
        connection = self.root()
        try:
            with connection.cursor() as cursor:
                if database:
                    connection.select_db(database)
                cursor.execute(sql, arguments or None)
                return cursor.fetchall()
        finally:
            connection.close()

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def end(self):
        if self.process.poll() is None:
            self.kill()


class DatabasePair:
    def __init__(self, stack):
        self.stack = stack
        self.name = stack.settings.get("database_name", "sandlot")
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="sandlot-pair-"))
        self.folder.chmod(0o755)
        self.port = free_port()
        self._certificates()
        self.primary, self.replica = (Server(self.folder, number, self.port) for number in (0, 1))
        self.replica.query(
            f"CHANGE MASTER TO MASTER_HOST='{ADDRESSES[0]}', MASTER_PORT={self.port}, MASTER_USER='replication',"
            f" MASTER_PASSWORD='{REPLICATION}', MASTER_USE_GTID=slave_pos, MASTER_CONNECT_RETRY=1")
        self.primary.query(f"CREATE USER replication@'%' IDENTIFIED BY '{REPLICATION}'")
        self.primary.query("GRANT REPLICATION SLAVE ON *.* TO replication@'%'")
        self.replica.query("START SLAVE")

    def _certificates(self):
        def openssl(*arguments):
            subprocess.run(["openssl", *arguments], check=True, capture_output=True, cwd=self.folder)

        names = "subjectAltName=" + ",".join(f"IP:{address},DNS:{address}" for address in ADDRESSES)
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                "-subj", "/CN=authority of the test", "-keyout", "ca.key", "-out", "ca.pem")
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=database",
                "-keyout", "server.key", "-out", "server.csr")
        (self.folder / "names").write_text(names + "\n", encoding="ascii")
        openssl("x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
                "-extfile", "names", "-out", "server.pem")
        shutil.chown(self.folder / "server.key", "mysql", "mysql")

    # --- the stack's programs ---

    def _copy(self):
        login = {which: (self.stack.settings[f"{which}_user"],
                         pathlib.Path(self.stack.settings[f"{which}_password_file"]).read_text(encoding="utf-8").split("\n")[0])
                 for which in ("database", "database_admin")}
        self.primary.query(f"CREATE DATABASE `{self.name}` CHARACTER SET utf8mb4 COLLATE utf8mb4_bin")
        for user, password in login.values():
            self.primary.query("CREATE USER %s@'%%' IDENTIFIED BY %s REQUIRE SSL", user, password)
            self.primary.query(f"GRANT ALL ON `{self.name}`.* TO %s@'%%'", user)
        dump = subprocess.run(["mariadb-dump", "--no-defaults", "--single-transaction", "--routines", "--skip-triggers",
                               f"--socket={self.stack.database_socket}", "--user=root", self.name],
                              check=True, capture_output=True, timeout=120)
        # What definers are of the stack's own server, whoever loads it defines here.
        text = re.sub(rb"DEFINER=`[^`]*`@`[^`]*`", b"", dump.stdout)
        subprocess.run(["mariadb", "--no-defaults", f"--socket={self.primary.socket}", "--user=root", self.name],
                       input=text, check=True, capture_output=True, timeout=120)
        wait_until(self.is_level, 60, "the replica having everything", 0.1)

    def is_level(self):
        at = [server.query("SELECT @@gtid_current_pos AS at")[0]["at"] for server in (self.primary, self.replica)]
        return at[0] == at[1]

    def _restart_programs(self):
        before = {pid for program in PROGRAMS for pid in self.stack.processes(program)}
        for pid in before:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)

        def there():
            now = {pid for program in PROGRAMS for pid in self.stack.processes(program)}
            return not now & before and len(now) >= len(before) and self.stack.ctl("status", check=False).returncode == 0

        wait_until(there, 60, "the programs with other settings", 0.2)

    @contextlib.contextmanager
    def in_use(self):
        """The programs' settings name the pair."""
        config = self.stack.root / "etc" / "sandlot.conf"
        usual = config.read_text(encoding="utf-8")
        lines = [line for line in usual.splitlines() if not re.match(r"database_(socket|host|port) *=", line)]
        lines += [f"database_host = {','.join(ADDRESSES)}", f"database_port = {self.port}",
                  f"database_tls_ca_file = {self.folder}/ca.pem"]
        self._copy()
        try:
            config.write_text("\n".join(lines) + "\n", encoding="utf-8")
            self._restart_programs()
            yield
        finally:
            config.write_text(usual, encoding="utf-8")
            # They were taken, and made anew, by those whom the pair told of them.
            self.stack.query("UPDATE host_addresses SET holder = NULL WHERE holder IN"
                             " (SELECT instance_name FROM warm_instances)")
            self.stack.query("DELETE FROM warm_instances")
            self._restart_programs()

    def promote(self):
        """What a tool for failover does when the primary is gone."""
        self.replica.query("STOP SLAVE")
        self.replica.query("RESET SLAVE ALL")
        # It has no replica that could acknowledge.
        self.replica.query("SET GLOBAL rpl_semi_sync_master_enabled = OFF")
        self.replica.query("SET GLOBAL read_only = OFF")

    def end(self):
        self.primary.end()
        self.replica.end()
        shutil.rmtree(self.folder)
