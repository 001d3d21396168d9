/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "firewall/sizing.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/sizing.h"
#include "base/str.h"

/* Connect without waiting, because one thread serves the requests of all sandboxes. A socket with a
 * full queue counts as closed. */
static int connect_to(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    autoclose int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || strlen(path) >= sizeof address.sun_path)
        return -1;
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) < 0)
        return -1;
    return steal_fd(&fd);
}

int sizing_begin(const char *socket_path, const char *size)
{
    char line[SIZING_MAX];
    if (!size || (size_t)snprintf(line, sizeof line, "%s\n", size) >= sizeof line)
        return -1;
    autoclose int fd = connect_to(socket_path);
    if (fd < 0 || send(fd, line, strlen(line), MSG_NOSIGNAL) < 0) {
        log_info("cannot connect to sandlot-limits; Incus sets the size of the instance",
                 LOG_STR("socket", socket_path), LOG_INT("errno", errno));
        return -1;
    }
    return steal_fd(&fd);
}

/* sandlot-limits closes the connection after its line. */
bool sizing_end(int fd, char answer[SIZING_ANSWER_SIZE])
{
    size_t size = strlen(answer);
    ssize_t got = recv(fd, answer + size, SIZING_ANSWER_SIZE - 1 - size, MSG_DONTWAIT);
    if (got > 0)
        answer[size + (size_t)got] = '\0';
    if (got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR)))
        return false;
    close(fd);
    return true;
}

bool sizing_is_done(const char *answer)
{
    return str_equal(answer, SIZING_DONE);
}
