dnl SPDX-License-Identifier: GPL-2.0-or-later
dnl SANDLOT_ENABLE_FAULT_POINTS:
dnl Places where a test may stop or kill a worker; never in what is installed for use.
AC_DEFUN([SANDLOT_ENABLE_FAULT_POINTS], [
AC_ARG_ENABLE([fault-points],
    [AS_HELP_STRING([--enable-fault-points], [for tests only: let files in the run directory stop or kill workers at named steps])])
AS_IF([test "x$enable_fault_points" = xyes],
    [AC_DEFINE([SANDLOT_FAULT_POINTS], [1], [Workers can be stopped and killed at named steps])])
])
