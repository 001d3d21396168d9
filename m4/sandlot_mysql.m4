dnl SPDX-License-Identifier: GPL-2.0-or-later
dnl SANDLOT_MYSQL: Oracle's libmysqlclient or MariaDB Connector/C; db/mysql_compat.h hides what
dnl differs. Sets MYSQL_CFLAGS, MYSQL_LIBS and mysql_client.

dnl A pkg-config name proves nothing: MariaDB ships a mysqlclient.pc of its own. The header does.
AC_DEFUN([SANDLOT_MYSQL_FLAVOUR], [
    sandlot_save_CPPFLAGS=$CPPFLAGS
    CPPFLAGS="$CPPFLAGS $MYSQL_CFLAGS"
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[
#include <mysql.h>
#ifdef MARIADB_PACKAGE_VERSION
#error this is MariaDB Connector/C
#endif
    ]], [[]])], [mysql_client=mysqlclient], [
        AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[
#include <mysql.h>
#ifndef MARIADB_PACKAGE_VERSION
#error this is not MariaDB Connector/C
#endif
        ]], [[]])], [mysql_client=mariadb], [mysql_client=broken])
    ])
    CPPFLAGS=$sandlot_save_CPPFLAGS
])

AC_DEFUN([SANDLOT_MYSQL], [
AC_ARG_WITH([mysql],
    [AS_HELP_STRING([--with-mysql=CLIENT], [mysqlclient, mariadb, or auto (default)])],
    [], [with_mysql=auto])
AS_CASE([$with_mysql], [auto|mysqlclient|mariadb], [],
    [AC_MSG_ERROR([--with-mysql takes auto, mysqlclient or mariadb, not "$with_mysql"])])

mysql_client=none
AS_IF([test "$with_mysql" != mariadb], [
    dnl The .pc file carries the library's version: 21 is MySQL 8.0.
    PKG_CHECK_MODULES([MYSQL], [mysqlclient >= 21], [SANDLOT_MYSQL_FLAVOUR], [:])
    AS_IF([test "$with_mysql" = mysqlclient && test "$mysql_client" != mysqlclient],
        [mysql_client=none])
])
AS_IF([test "$mysql_client" = none && test "$with_mysql" != mysqlclient], [
    PKG_CHECK_MODULES([MYSQL], [libmariadb >= 3.1], [SANDLOT_MYSQL_FLAVOUR], [:])
])
AS_CASE([$mysql_client],
    [none], [AC_MSG_ERROR([no MySQL client library for --with-mysql=$with_mysql: install libmysqlclient (>= 8.0) or MariaDB Connector/C (>= 3.1; Debian: libmariadb-dev)])],
    [broken], [AC_MSG_ERROR([mysql.h does not compile: see config.log])])
])
