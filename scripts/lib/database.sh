# SPDX-License-Identifier: GPL-2.0-or-later
# MariaDB: a server of the stack's own, reached over a socket only.
# shellcheck shell=bash

DATABASE_NAME=sandlot
DATABASE_LOGIN=sandlot

database_client()
{
    mariadb --no-defaults --socket "$DATABASE_SOCKET" --user root "$@"
}

database_answers()
{
    database_client -e 'SELECT 1'
}

database_write_config()
{
    write_file 644 root:root "$ETC_DIR/mariadb.cnf" <<END
[mariadbd]
user                    = $DATABASE_USER
datadir                 = $MYSQL_DIR
socket                  = $RUN_DIR/database/mysqld.sock
pid-file                = $RUN_DIR/database/mysqld.pid
tmpdir                  = /tmp
skip-networking
skip-name-resolve
character-set-server    = utf8mb4
collation-server        = utf8mb4_bin
innodb-buffer-pool-size = 128M
innodb-log-file-size    = 48M
max-connections         = 200
performance-schema      = OFF
END
}

# A server that was killed while it made its first files leaves a directory without
# this mark: it is made anew.
database_make_files()
{
    [[ -e $STATE_ROOT/mysql.made ]] && return 0
    rm -rf "$MYSQL_DIR" "$MARKS_DIR"
    mkdir -p "$MARKS_DIR"
    install -d -m 700 -o "$DATABASE_USER" -g "$DATABASE_USER" "$MYSQL_DIR"
    # The one-off server of the installation needs no durability. --force: a machine may not
    # be able to look up its own name, and no account here is bound to one.
    mariadb-install-db --no-defaults --force --user="$DATABASE_USER" --datadir="$MYSQL_DIR" \
        --auth-root-authentication-method=socket --skip-test-db --skip-name-resolve \
        --innodb-flush-log-at-trx-commit=0 --innodb-log-file-size=48M ||
        die "mariadb-install-db could not make the database's files"
    touch "$STATE_ROOT/mysql.made"
}

database_make_login()
{
    local password

    if [[ ! -s $ETC_DIR/database-password ]]; then
        openssl rand -hex 24 | write_file 640 "root:$WORKER_USER" "$ETC_DIR/database-password"
    fi
    password=$(<"$ETC_DIR/database-password")
    database_client <<END
CREATE DATABASE IF NOT EXISTS $DATABASE_NAME CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
CREATE USER IF NOT EXISTS '$DATABASE_LOGIN'@'localhost' IDENTIFIED BY '$password';
ALTER USER '$DATABASE_LOGIN'@'localhost' IDENTIFIED BY '$password';
GRANT ALL PRIVILEGES ON $DATABASE_NAME.* TO '$DATABASE_LOGIN'@'localhost';
END
}

# database_start: the server answers, the database and its login are there.
database_start()
{
    user_ensure "$DATABASE_USER" /nonexistent
    if ! service_running mariadbd; then
        strays_end mariadbd "$ETC_DIR/mariadb.cnf"
        database_write_config
        database_make_files
        rm -rf "$RUN_DIR/database"
        # Only this directory is the server's to write; programs use the link.
        install -d -m 755 -o "$DATABASE_USER" "$RUN_DIR/database"
        ln -sfn database/mysqld.sock "$DATABASE_SOCKET"
        service_start mariadbd root -- mariadbd --defaults-file="$ETC_DIR/mariadb.cnf"
    fi
    service_wait mariadbd 60 database_answers || die "MariaDB does not answer; see also $LOG_DIR/mariadbd.log"
    database_make_login
}

database_stop()
{
    service_stop mariadbd 60
    strays_end mariadbd "$ETC_DIR/mariadb.cnf"
    rm -f "$DATABASE_SOCKET"
}
