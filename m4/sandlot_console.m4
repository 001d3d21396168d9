dnl SPDX-License-Identifier: GPL-2.0-or-later
dnl SANDLOT_CONSOLE:
dnl Whether the console in the browser is built: with Node.js and npm where they are, taken as it is from
dnl a release's tarball, or not at all. Sets console to built, prebuilt or no.
AC_DEFUN([SANDLOT_CONSOLE], [
AC_ARG_WITH([console],
    [AS_HELP_STRING([--with-console], [build the console; needs Node.js 18 or later and npm, which loads libraries (default: when both are there, and npm reaches a registry)])],
    [], [with_console=auto])
AC_PATH_PROG([NODE], [node])
AC_PATH_PROG([NPM], [npm])
console=no
AS_IF([test "x$with_console" = xno], [],
    [test -f "$srcdir/console/prebuilt/index.html"], [console=prebuilt],
    [test -n "$NPM" && test -n "$NODE" &&
        "$NODE" -e 'process.exit(parseInt(process.versions.node) >= 18 ? 0 : 1)'], [console=built],
    [test "x$with_console" = xyes],
        [AC_MSG_ERROR([--with-console needs Node.js 18 or later and npm (Debian: nodejs, npm)])])
AM_CONDITIONAL([CONSOLE_BUILT], [test "$console" = built])
AM_CONDITIONAL([CONSOLE_PREBUILT], [test "$console" = prebuilt])
CONSOLE_WANTED=$with_console
AC_SUBST([CONSOLE_WANTED])
])
