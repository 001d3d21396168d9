# SPDX-License-Identifier: GPL-2.0-or-later
"""Database servers that a stack's programs use in place of their own: a primary and a replica with semi-synchronous
replication, or one on a file system that is soon full.

They encrypt, and each listens at an address of this machine of its own. What they hold at first is a copy of the
stack's database; what is written to them stays there.
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

ADDRESSES = ("127.0.0.1", "127.0.0.3", "127.0.0.4")
PROGRAMS = ("sandlot-api", "sandlot-gate", "sandlot-events", "sandlot-dispatcher", "sandlot-ssh")
REPLICATION = "replication-of-the-test"
SMALL_MIB = 400
BINARY_LOG = ("--log-bin=binlog", "--binlog-format=ROW", "--gtid-strict-mode=ON", "--log-slave-updates=ON")
# The primary acknowledges nothing that its replica does not have.
SEMI_SYNC = ("--rpl-semi-sync-master-enabled=ON", "--rpl-semi-sync-master-timeout=60000",
             "--rpl-semi-sync-master-wait-point=AFTER_SYNC", "--rpl-semi-sync-slave-enabled=ON",
             "--rpl-semi-sync-master-wait-no-slave=OFF")


def free_port():
    with socket.socket() as one:
        one.bind(("0.0.0.0", 0))
        return one.getsockname()[1]


class Server:
    def __init__(self, folder, number, port, options):
        self.address, self.port, self.number, self.options = ADDRESSES[number], port, number, options
        self.dir = folder / str(number)
        self.dir.mkdir()
        self.socket = self.dir / "socket"
        shutil.chown(self.dir, "mysql", "mysql")
        self.process = None
        self.make_files()
        self.start()

    def make_files(self):
        subprocess.run(["mariadb-install-db", "--no-defaults", "--user=mysql", f"--datadir={self.dir}/data",
                        "--auth-root-authentication-method=socket", "--skip-test-db", "--skip-name-resolve"],
                       check=True, capture_output=True, timeout=300)

    def program(self):
        return ["mariadbd", "--no-defaults", f"--read-only={'ON' if self.number else 'OFF'}"]

    def start(self, *more):
        with open(self.dir / "log", "ab") as log:
            self.process = subprocess.Popen(
                [*self.program(), "--user=mysql", f"--datadir={self.dir}/data", f"--socket={self.socket}",
                 f"--pid-file={self.dir}/pid", f"--bind-address={self.address}", f"--port={self.port}",
                 f"--server-id={self.number + 1}", "--skip-name-resolve",
                 "--character-set-server=utf8mb4", "--collation-server=utf8mb4_bin", "--max-connections=200",
                 f"--ssl-ca={self.dir.parent}/ca.pem", f"--ssl-cert={self.dir.parent}/server.pem",
                 f"--ssl-key={self.dir.parent}/server.key", *self.options, *more],
                stdout=log, stderr=log)
        wait_until(self.answers, 120, f"the database at {self.address}", 0.1)

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


class OwnDatabase:
    """servers: their programs. The first takes writes."""

    def __init__(self, stack):
        self.stack = stack
        self.name = stack.settings.get("database_name", "sandlot")
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="sandlot-database-"))
        self.folder.chmod(0o755)
        self.port = free_port()
        self._certificates()
        self.servers = []

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

    def _config(self, usual):
        lines = [line for line in usual.splitlines() if not re.match(r"database_(socket|host|port) *=", line)]
        lines += [f"database_host = {','.join(one.address for one in self.servers)}", f"database_port = {self.port}",
                  f"database_tls_ca_file = {self.folder}/ca.pem"]
        return "\n".join(lines) + "\n"

    def _logins(self):
        login = {which: (self.stack.settings[f"{which}_user"],
                         pathlib.Path(self.stack.settings[f"{which}_password_file"]).read_text(encoding="utf-8").split("\n")[0])
                 for which in ("database", "database_admin")}
        first = self.servers[0]
        first.query(f"CREATE DATABASE `{self.name}` CHARACTER SET utf8mb4 COLLATE utf8mb4_bin")
        for user, password in login.values():
            first.query("CREATE USER %s@'%%' IDENTIFIED BY %s REQUIRE SSL", user, password)
            first.query(f"GRANT ALL ON `{self.name}`.* TO %s@'%%' WITH GRANT OPTION", user)

    def _copy(self):
        self._logins()
        first = self.servers[0]
        dump = subprocess.run(["mariadb-dump", "--no-defaults", "--single-transaction", "--routines", "--skip-triggers",
                               f"--socket={self.stack.database_socket}", "--user=root", self.name],
                              check=True, capture_output=True, timeout=120)
        # What definers are of the stack's own server, whoever loads it defines here.
        text = re.sub(rb"DEFINER=`[^`]*`@`[^`]*`", b"", dump.stdout)
        subprocess.run(["mariadb", "--no-defaults", f"--socket={first.socket}", "--user=root", self.name],
                       input=text, check=True, capture_output=True, timeout=120)

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
        self._copy()
        try:
            config.write_text(self._config(usual), encoding="utf-8")
            self._restart_programs()
            yield
        finally:
            config.write_text(usual, encoding="utf-8")
            # They were taken, and made anew, by those whom the pair told of them.
            self.stack.query("UPDATE host_addresses SET holder = NULL WHERE holder IN"
                             " (SELECT instance_name FROM warm_instances)")
            self.stack.query("DELETE FROM warm_instances")
            self._restart_programs()

    def end(self):
        for server in self.servers:
            server.end()
        shutil.rmtree(self.folder)


class DatabasePair(OwnDatabase):
    def __init__(self, stack):
        super().__init__(stack)
        self.servers = [Server(self.folder, number, self.port, BINARY_LOG + SEMI_SYNC) for number in (0, 1)]
        self.primary, self.replica = self.servers
        self.replica.query(
            f"CHANGE MASTER TO MASTER_HOST='{ADDRESSES[0]}', MASTER_PORT={self.port}, MASTER_USER='replication',"
            f" MASTER_PASSWORD='{REPLICATION}', MASTER_USE_GTID=slave_pos, MASTER_CONNECT_RETRY=1")
        self.primary.query(f"CREATE USER replication@'%' IDENTIFIED BY '{REPLICATION}'")
        self.primary.query("GRANT REPLICATION SLAVE ON *.* TO replication@'%'")
        self.replica.query("START SLAVE")

    def _copy(self):
        super()._copy()
        wait_until(self.is_level, 60, "the replica having everything", 0.1)

    def is_level(self):
        at = [server.query("SELECT @@gtid_current_pos AS at")[0]["at"] for server in (self.primary, self.replica)]
        return at[0] == at[1]

    def promote(self):
        """What a tool for failover does when the primary is gone."""
        self.replica.query("STOP SLAVE")
        self.replica.query("RESET SLAVE ALL")
        # It has no replica that could acknowledge.
        self.replica.query("SET GLOBAL rpl_semi_sync_master_enabled = OFF")
        self.replica.query("SET GLOBAL read_only = OFF")


class SmallDatabase(OwnDatabase):
    """One server, whose data directory has a file system of its own."""

    def __init__(self, stack, options=()):
        super().__init__(stack)
        image, self.disk = self.folder / "disk.img", self.folder / "disk"
        self.disk.mkdir()
        with image.open("wb") as file:
            file.truncate(SMALL_MIB << 20)
        subprocess.run(["mkfs.ext4", "-q", "-m", "0", image], check=True, capture_output=True)
        subprocess.run(["mount", "-o", "loop", image, self.disk], check=True)
        self.disk.chmod(0o755)
        for name in ("ca.pem", "server.pem", "server.key"):
            (self.disk / name).symlink_to(self.folder / name)
        self.servers = [Server(self.disk, 0, self.port, ("--innodb-log-file-size=24M", *options))]

    def fill(self):
        """Not a byte is left."""
        with (self.disk / "ballast").open("wb", buffering=0) as ballast, contextlib.suppress(OSError):
            while ballast.write(bytes(65536)):
                pass

    def has_ended(self):
        """InnoDB may end the whole server in a rollback or a purge that finds no room."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.servers[0].process.wait(5)
            return True
        return False

    def make_room(self):
        """Who has ended is started again, as systemd does."""
        (self.disk / "ballast").unlink()
        if self.has_ended():
            self.servers[0].start()

    def end(self):
        self.servers[0].end()
        subprocess.run(["umount", self.disk], check=True)
        super().end()
