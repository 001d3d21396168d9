# SPDX-License-Identifier: GPL-2.0-or-later
# MariaDB, or Oracle's MySQL (DATABASE_SERVER): a server of the stack's own, reached over a socket only.
# shellcheck shell=bash

DATABASE_NAME=sandlot
DATABASE_LOGIN=sandlot
DATABASE_ADMIN=sandlot_admin

database_client()
{
    mariadb --no-defaults --socket "$DATABASE_SOCKET" --user root "$@"
}

database_answers()
{
    database_client -e 'SELECT 1'
}

# Servers of several stacks delete each other's temporary tables in a shared folder.
database_make_tmp()
{
    install -d -m 700 -o "$DATABASE_USER" -g "$DATABASE_USER" "$MYSQL_DIR.tmp"
}

# database_refuses: the server answers, and refuses root, who has a password there.
database_refuses()
{
    local said

    said=$(database_answers 2>&1) && return 1
    [[ $said == *'(28000)'* ]]
}

# database_decides: waiting longer changes nothing.
database_decides()
{
    database_answers || database_refuses
}

mariadb_write_config()
{
    database_make_tmp
    write_file 644 root:root "$ETC_DIR/mariadb.cnf" <<END
[mariadbd]
user                    = $DATABASE_USER
datadir                 = $MYSQL_DIR
socket                  = $RUN_DIR/database/mysqld.sock
pid-file                = $RUN_DIR/database/mysqld.pid
tmpdir                  = $MYSQL_DIR.tmp
skip-networking
skip-name-resolve
character-set-server    = utf8mb4
collation-server        = utf8mb4_bin
innodb-buffer-pool-size = 128M
innodb-log-file-size    = 48M
max-connections         = 200
performance-schema      = OFF
${DATABASE_SETTINGS:-}
END
}

mariadb_make_files()
{
    # The one-off server of the installation needs no durability. --force: a machine may not
    # be able to look up its own name, and no account here is bound to one.
    database_make_tmp
    mariadb-install-db --no-defaults --force --user="$DATABASE_USER" --datadir="$MYSQL_DIR" --tmpdir="$MYSQL_DIR.tmp" \
        --auth-root-authentication-method=socket --skip-test-db --skip-name-resolve \
        --innodb-flush-log-at-trx-commit=0 --innodb-log-file-size=48M ||
        die "mariadb-install-db could not make the database's files"
}

# A server that was killed while it made its first files leaves a directory without
# this mark: it is made anew.
database_make_files()
{
    [[ -e $STATE_ROOT/mysql.made ]] && return 0
    rm -rf "$MYSQL_DIR" "$MARKS_DIR"
    mkdir -p "$MARKS_DIR"
    install -d -m 700 -o "$DATABASE_USER" -g "$DATABASE_USER" "$MYSQL_DIR"
    "${DATABASE_SERVER}_make_files"
    touch "$STATE_ROOT/mysql.made"
}

# database_strays_end: of either server, as an earlier run may have had the other.
database_strays_end()
{
    strays_end mariadbd "$ETC_DIR/mariadb.cnf"
    strays_end mysqld "$ETC_DIR/mysql.cnf"
}

# The programs read; what else they may, `sandlotctl migrate` says table by table. In the database
# with _check behind its name, `sandlotctl restore --check` tries backups.
database_make_login()
{
    local password admin_password

    if [[ ! -s $ETC_DIR/database-password ]]; then
        openssl rand -hex 24 | write_file 640 "root:$WORKER_GROUP" "$ETC_DIR/database-password"
    fi
    if [[ ! -s $ETC_DIR/database-admin-password ]]; then
        openssl rand -hex 24 | write_file 600 root:root "$ETC_DIR/database-admin-password"
    fi
    password=$(<"$ETC_DIR/database-password")
    admin_password=$(<"$ETC_DIR/database-admin-password")
    database_client <<END
CREATE DATABASE IF NOT EXISTS $DATABASE_NAME CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
CREATE USER IF NOT EXISTS '$DATABASE_LOGIN'@'localhost' IDENTIFIED BY '$password';
ALTER USER '$DATABASE_LOGIN'@'localhost' IDENTIFIED BY '$password';
GRANT SELECT ON $DATABASE_NAME.* TO '$DATABASE_LOGIN'@'localhost';
CREATE USER IF NOT EXISTS '$DATABASE_ADMIN'@'localhost' IDENTIFIED BY '$admin_password';
ALTER USER '$DATABASE_ADMIN'@'localhost' IDENTIFIED BY '$admin_password';
GRANT ALL PRIVILEGES ON $DATABASE_NAME.* TO '$DATABASE_ADMIN'@'localhost' WITH GRANT OPTION;
GRANT ALL PRIVILEGES ON ${DATABASE_NAME}_check.* TO '$DATABASE_ADMIN'@'localhost';
END
}

# database_start: the server answers, the database and its login are there.
database_start()
{
    local program=mariadbd

    user_ensure "$DATABASE_USER" /nonexistent
    if [[ $DATABASE_SERVER == mysql ]]; then
        mysql_ensure
        program=$MYSQLD
    fi
    if ! service_running database; then
        database_strays_end
        "${DATABASE_SERVER}_write_config"
        database_make_files
        rm -rf "$RUN_DIR/database"
        # Only this directory is the server's to write; programs use the link.
        install -d -m 755 -o "$DATABASE_USER" "$RUN_DIR/database"
        ln -sfn database/mysqld.sock "$DATABASE_SOCKET"
        service_start database root -- "$program" --defaults-file="$ETC_DIR/$DATABASE_SERVER.cnf"
    fi
    service_wait database 60 database_answers || die "the database does not answer; see also $LOG_DIR/database.log"
    database_make_login
}

database_stop()
{
    service_stop database 60
    database_strays_end
    rm -f "$DATABASE_SOCKET"
}
