/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sandlot-criu.so: loaded into CRIU before the C library.
 *
 * A mount that maps user ids has the option "idmapped" in /proc/PID/mountinfo. CRIU (4.2) refuses
 * options that it does not know. fgets() below, which CRIU calls in place of the C library's,
 * leaves this one out. helper/criu/id_map.c maps the ids again before a restore.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "helper/criu/page_server.h"

#define OPTION ",idmapped"
/* Number, parent, device, root and mount point are before the options of a mount. */
#define FIELDS_BEFORE 5

static char *options_of(char *line)
{
    for (unsigned i = 0; line && i < FIELDS_BEFORE; i++) {
        line = strchr(line, ' ');
        if (line)
            line++;
    }
    return line;
}

static void leave_out(char *line)
{
    const size_t length = strlen(OPTION);
    char *options = options_of(line);
    char *end = options ? options + strcspn(options, " ") : NULL;
    char *found = options ? strstr(options, OPTION) : NULL;
    if (found && found < end && (found[length] == ',' || found[length] == ' '))
        memmove(found, found + length, strlen(found + length) + 1);
}

__attribute__((visibility("default"))) char *fgets(char *line, int size, FILE *file)
{
    char *got = fgets_unlocked(line, size, file);
    if (got)
        leave_out(got);
    return got;
}

/* --- memory that comes later (helper/criu/page_server.h) --- */

#define SERVER_SOCKET "lazy-pages.socket"

typedef long (*call_function)(long number, ...);
typedef int (*connect_function)(int fd, const struct sockaddr *address, socklen_t size);

static call_function real_call(void)
{
    static call_function found;
    if (!found)
        found = (call_function)dlsym(RTLD_NEXT, "syscall");
    return found;
}

/* A process in the container's namespaces may not call userfaultfd(). It has inherited the device,
 * which serves as a permission. Without flags, CRIU only asks for the features of the kernel. */
static long open_userfaultfd(long flags)
{
    if (!flags || !getenv(PAGES_ENVIRONMENT) || fcntl(PAGES_DEVICE_FD, F_GETFD) < 0)
        return real_call()(SYS_userfaultfd, flags);
    int fd = ioctl(PAGES_DEVICE_FD, USERFAULTFD_IOC_NEW, flags);
    real_call()(SYS_close, PAGES_DEVICE_FD);
    return fd;
}

__attribute__((visibility("default"))) long syscall(long number, ...)
{
    long words[6];
    va_list list;
    va_start(list, number);
    for (unsigned i = 0; i < 6; i++)
        words[i] = va_arg(list, long);
    va_end(list);
    if (number == SYS_userfaultfd)
        return open_userfaultfd(words[0]);
    return real_call()(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}

/* CRIU closes all files that it does not know in the first process of a container. */
__attribute__((visibility("default"))) int close(int fd)
{
    if (fd == PAGES_DEVICE_FD && getenv(PAGES_ENVIRONMENT))
        return 0;
    return (int)real_call()(SYS_close, fd);
}

__attribute__((visibility("default"))) int connect(int fd, const struct sockaddr *address,
                                                   socklen_t size)
{
    const struct sockaddr_un *local = (const struct sockaddr_un *)address;
    if (getenv(PAGES_ENVIRONMENT) && address->sa_family == AF_UNIX &&
        strcmp(local->sun_path, SERVER_SOCKET) == 0) {
        int result = dup2(PAGES_SOCKET_FD, fd);
        close(PAGES_SOCKET_FD);
        return result < 0 ? -1 : 0;
    }
    connect_function real = (connect_function)dlsym(RTLD_NEXT, "connect");
    return real(fd, address, size);
}
