dnl SPDX-License-Identifier: GPL-2.0-or-later
dnl SANDLOT_AGENT: the libraries of the agent, which is a static program. Its HTTP library is
dnl libmicrohttpd built without TLS; scripts/build-microhttpd makes one. Sets AGENT_CFLAGS,
dnl AGENT_LIBS and the conditional AGENT.
AC_DEFUN([SANDLOT_AGENT], [
AC_ARG_WITH([microhttpd],
    [AS_HELP_STRING([--with-microhttpd=PREFIX], [static libmicrohttpd (>= 1.0) without TLS for the agent; default: where scripts/build-microhttpd puts it, then pkg-config])],
    [], [with_microhttpd=])
AC_ARG_ENABLE([agent], [AS_HELP_STRING([--disable-agent], [do not build sandlot-agent])],
    [], [enable_agent=yes])
AS_IF([test "x$enable_agent" = xyes], [
    AS_IF([test -z "$with_microhttpd" && test -f /var/cache/sandlot/microhttpd/lib/libmicrohttpd.a],
        [with_microhttpd=/var/cache/sandlot/microhttpd])
    AS_IF([test -n "$with_microhttpd"],
        [AGENT_CFLAGS="-I$with_microhttpd/include"
         AGENT_LIBS="-L$with_microhttpd/lib -lmicrohttpd"],
        [PKG_CHECK_MODULES_STATIC([AGENT], [libmicrohttpd >= 1.0], [],
            [AC_MSG_ERROR([libmicrohttpd >= 1.0 not found: run scripts/build-microhttpd, or give --with-microhttpd=PREFIX, or --disable-agent])])])
    AGENT_CFLAGS="$AGENT_CFLAGS $JANSSON_CFLAGS $SODIUM_CFLAGS"
    AGENT_LIBS="$AGENT_LIBS $JANSSON_LIBS $SODIUM_LIBS -lz"
    AC_MSG_CHECKING([whether the agent's libraries link statically])
    agent_save_CFLAGS=$CFLAGS agent_save_LIBS=$LIBS
    CFLAGS="$CFLAGS -fPIE -static-pie $AGENT_CFLAGS" LIBS=$AGENT_LIBS
    AC_LINK_IFELSE([AC_LANG_PROGRAM([[
#include <sys/types.h>
#include <jansson.h>
#include <microhttpd.h>
#include <sodium.h>
#include <zlib.h>
#if MHD_VERSION < 0x01000000
#error libmicrohttpd is too old
#endif
    ]], [[
uint64_t ms;
struct MHD_Daemon *daemon = MHD_start_daemon(MHD_USE_EPOLL, 0, 0, 0, 0, 0, MHD_OPTION_END);
return daemon && MHD_get_timeout64(daemon, &ms) == MHD_YES && json_object() && sodium_init() && zlibVersion();
    ]])],
        [AC_MSG_RESULT([yes])],
        [AC_MSG_RESULT([no])
         AC_MSG_ERROR([sandlot-agent cannot be linked statically (config.log says why). It needs libmicrohttpd >= 1.0 built without TLS (scripts/build-microhttpd makes one, --with-microhttpd=PREFIX names another), libjansson.a, libsodium.a and libz.a; --disable-agent leaves it out])])
    CFLAGS=$agent_save_CFLAGS LIBS=$agent_save_LIBS
])
AM_CONDITIONAL([AGENT], [test "x$enable_agent" = xyes])
AC_SUBST([with_microhttpd])
AC_SUBST([AGENT_CFLAGS])
AC_SUBST([AGENT_LIBS])
])
