dnl SPDX-License-Identifier: GPL-2.0-or-later
dnl Compiler and linker flags that are used when the compiler knows them.

dnl SANDLOT_TRY_CFLAGS(VARIABLE, FLAG...): append each flag that compiles without a warning.
AC_DEFUN([SANDLOT_TRY_CFLAGS], [
for sandlot_flag in $2; do
    AS_VAR_PUSHDEF([sandlot_cache], [sandlot_cv_cflag_$sandlot_flag])
    AC_CACHE_CHECK([whether $CC takes $sandlot_flag], [sandlot_cache], [
        sandlot_save_CFLAGS=$CFLAGS
        CFLAGS="$CFLAGS -Werror $sandlot_flag"
        AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#include <string.h>]], [[return (int)strlen("");]])],
            [AS_VAR_SET([sandlot_cache], [yes])], [AS_VAR_SET([sandlot_cache], [no])])
        CFLAGS=$sandlot_save_CFLAGS
    ])
    AS_VAR_IF([sandlot_cache], [yes], [$1="$$1 $sandlot_flag"])
    AS_VAR_POPDEF([sandlot_cache])
done
])

dnl SANDLOT_TRY_LDFLAGS(VARIABLE, FLAG...): append each flag that links.
AC_DEFUN([SANDLOT_TRY_LDFLAGS], [
for sandlot_flag in $2; do
    AS_VAR_PUSHDEF([sandlot_cache], [sandlot_cv_ldflag_$sandlot_flag])
    AC_CACHE_CHECK([whether the linker takes $sandlot_flag], [sandlot_cache], [
        sandlot_save_LDFLAGS=$LDFLAGS
        LDFLAGS="$LDFLAGS $sandlot_flag"
        AC_LINK_IFELSE([AC_LANG_PROGRAM([], [])],
            [AS_VAR_SET([sandlot_cache], [yes])], [AS_VAR_SET([sandlot_cache], [no])])
        LDFLAGS=$sandlot_save_LDFLAGS
    ])
    AS_VAR_IF([sandlot_cache], [yes], [$1="$$1 $sandlot_flag"])
    AS_VAR_POPDEF([sandlot_cache])
done
])

dnl SANDLOT_DEFINE_DIR(NAME, DIRECTORY, DESCRIPTION): the directory, its variables expanded, as a
dnl string in config.h, so that another directory compiles again what names it.
AC_DEFUN([SANDLOT_DEFINE_DIR], [
sandlot_dir=$(
    test "x$prefix" = xNONE && prefix=$ac_default_prefix
    test "x$exec_prefix" = xNONE && exec_prefix=$prefix
    eval "sandlot_dir=\"$2\""
    eval "sandlot_dir=\"$sandlot_dir\""
    eval "sandlot_dir=\"$sandlot_dir\""
    AS_ECHO(["$sandlot_dir"])
)
AC_DEFINE_UNQUOTED([$1], ["$sandlot_dir"], [$3])
])
