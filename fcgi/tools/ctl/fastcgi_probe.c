/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ctl/fastcgi_probe.h"

#include <errno.h>
#include <fastcgi.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/mem.h"

/* A management record of a type that does not exist: version 1, type, no request id, no contents.
 * The specification has an answer for it, FCGI_UNKNOWN_TYPE. FCGI_GET_VALUES would be the natural
 * question, but libfcgi 2.4 reads past its end and never answers. */
static const unsigned char question[FCGI_HEADER_LEN] = {FCGI_VERSION_1, 0xff};

static int connect_to(const char *path, int *fd, struct error **err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path)
        return error_set(err, ERR_CONFIG, "%s is too long for the path of a Unix socket", path);
    memcpy(address.sun_path, path, strlen(path) + 1);
    autoclose int fresh = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fresh < 0)
        return error_set_errno(err, ERR_CONFIG, errno, "cannot create a socket");
    if (connect(fresh, (const struct sockaddr *)&address, sizeof address) < 0)
        return errno == EAGAIN
                   ? error_set(err, ERR_RUNTIME_UNAVAILABLE, "the queue of %s is full", path)
                   : error_set_errno(err, ERR_CONFIG, errno, "cannot connect to %s", path);
    *fd = steal_fd(&fresh);
    return 0;
}

int socket_probe(const char *path, struct error **err)
{
    autoclose int fd = -1;
    return connect_to(path, &fd, err);
}

int fastcgi_probe(const char *socket_path, int wait_ms, struct error **err)
{
    unsigned char answer[FCGI_HEADER_LEN];
    autoclose int fd = -1;
    if (connect_to(socket_path, &fd, err) < 0)
        return -1;
    struct pollfd readable = {.fd = fd, .events = POLLIN};
    if (send(fd, question, sizeof question, MSG_NOSIGNAL) != (ssize_t)sizeof question ||
        poll(&readable, 1, wait_ms) != 1 ||
        recv(fd, answer, sizeof answer, 0) != (ssize_t)sizeof answer)
        return error_set(err, ERR_RUNTIME_UNAVAILABLE, "no worker at %s answered within %d ms",
                         socket_path, wait_ms);
    if (answer[0] != FCGI_VERSION_1 || answer[1] != FCGI_UNKNOWN_TYPE)
        return error_set(err, ERR_CONFIG, "the program that listens on %s does not speak FastCGI",
                         socket_path);
    return 0;
}
