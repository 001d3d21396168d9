# SPDX-License-Identifier: GPL-2.0-or-later
# Oracle's MySQL server in the place of MariaDB, for tests: from a newer Debian release, since current
# ones carry MariaDB alone. It finds its libraries by itself, so that it runs as any program does.
# shellcheck shell=bash

MYSQL_RELEASES='forky sid'
MYSQL_ROOT=$SHARED_DIR/mysql
MYSQLD=$MYSQL_ROOT/usr/sbin/mysqld

mysql_works()
{
    [[ -x $MYSQLD ]] && "$MYSQLD" --no-defaults --version
}

# mysql_settle ROOT: where it will lie, loader and libraries are there too.
mysql_settle()
{
    local libraries=$MYSQL_ROOT/usr/lib/x86_64-linux-gnu loader

    loader=$(compgen -G "$1/usr/lib*/ld-linux*" | head -n 1)
    # The old tag, because it holds for what the libraries load, too.
    patchelf --set-interpreter "$MYSQL_ROOT${loader#"$1"}" --force-rpath \
        --set-rpath "$libraries:$MYSQL_ROOT/usr/lib/mysql/private" "$1/usr/sbin/mysqld"
}

mysql_fetch_locked()
{
    local release work=$CACHE_DIR/mysql-packages

    mysql_works && return 0
    for release in $MYSQL_RELEASES; do
        if newer_download "$release" "$work" mysql-server-core; then
            newer_unpack "$work" "$MYSQL_ROOT.new" --exclude=./usr/share/{doc,man,locale}
            mysql_settle "$MYSQL_ROOT.new"
            rm -rf "$MYSQL_ROOT" "$work"
            mv "$MYSQL_ROOT.new" "$MYSQL_ROOT"
            mysql_works && return 0
        fi
        rm -rf "$work"
    done
    return 1
}

mysql_ensure()
{
    packages_install mysql
    with_lock mysql mysql_fetch_locked || die "Oracle's MySQL server is not to be had from the machine's mirror"
}

# mysql_paths: where it finds its own things.
mysql_paths()
{
    cat <<END
[mysqld]
basedir                  = $MYSQL_ROOT/usr
lc-messages-dir          = $MYSQL_ROOT/usr/share/mysql
plugin-dir               = $MYSQL_ROOT/usr/lib/mysql/plugin
secure-file-priv         = NULL
mysqlx                   = OFF
END
}

mysql_write_config()
{
    database_make_tmp
    { mysql_paths && cat; } <<END | write_file 644 root:root "$ETC_DIR/mysql.cnf"
user                     = $DATABASE_USER
datadir                  = $MYSQL_DIR
socket                   = $RUN_DIR/database/mysqld.sock
pid-file                 = $RUN_DIR/database/mysqld.pid
tmpdir                   = $MYSQL_DIR.tmp
skip-networking
skip-name-resolve
skip-log-bin
character-set-server     = utf8mb4
collation-server         = utf8mb4_bin
innodb-buffer-pool-size  = 128M
innodb-redo-log-capacity = 96M
max-connections          = 200
performance-schema       = OFF
${DATABASE_SETTINGS:-}
END
}

# As root of the machine alone, who has no password: the server knows who is at the other end.
mysql_make_files()
{
    write_file 644 root:root "$ETC_DIR/mysql-init.sql" <<'END'
INSTALL PLUGIN auth_socket SONAME 'auth_socket.so';
ALTER USER root@localhost IDENTIFIED WITH auth_socket;
END
    "$MYSQLD" --defaults-file="$ETC_DIR/mysql.cnf" --initialize-insecure --init-file="$ETC_DIR/mysql-init.sql" ||
        die "mysqld --initialize could not make the database's files"
}

# mysql_for_units DIRECTORY: what unit tests start servers of their own from.
mysql_for_units()
{
    mysql_ensure
    rm -rf "$1"
    install -d -m 755 "$1"
    install -d -m 755 -o nobody "$1/data"
    ln -s "$MYSQLD" "$1/mysqld"
    mysql_paths >"$1/mysqld.cnf"
    "$MYSQLD" --defaults-file="$1/mysqld.cnf" --user=nobody --datadir="$1/data" --initialize-insecure \
        --innodb-redo-log-capacity=8M || die "mysqld --initialize could not make the unit tests' files"
}
