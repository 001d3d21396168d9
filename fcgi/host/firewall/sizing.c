/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "firewall/sizing.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/sizing.h"
#include "base/str.h"

/* A busy pool commits what it has to write; Incus would wait for that as well. */
#define ANSWER_MS 1000
/* One that has not answered is left alone for a while: others wait for this program meanwhile. */
#define REST_MS 10000

static int64_t rest_until_ms; /* monotonic */

static int connect_to(const char *path)
{
    const struct timeval most = {.tv_sec = ANSWER_MS / 1000, .tv_usec = ANSWER_MS % 1000 * 1000};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    autoclose int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || strlen(path) >= sizeof address.sun_path)
        return -1;
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) < 0)
        return -1;
    return steal_fd(&fd);
}

int sizing_begin(const char *socket_path, const char *size)
{
    char line[SIZING_MAX];
    if (clock_monotonic_ms() < rest_until_ms)
        return -1;
    if (!size || (size_t)snprintf(line, sizeof line, "%s\n", size) >= sizeof line)
        return -1;
    autoclose int fd = connect_to(socket_path);
    if (fd < 0 || send(fd, line, strlen(line), MSG_NOSIGNAL) < 0) {
        log_info("sandlot-limits is not reached, and Incus is asked",
                 LOG_STR("socket", socket_path), LOG_INT("errno", errno));
        return -1;
    }
    return steal_fd(&fd);
}

/* It closes the connection behind its line. Returns whether the answer is SIZING_DONE. */
static bool receive(int fd, char *answer, size_t answer_size)
{
    ssize_t size = recv(fd, answer, answer_size - 1, MSG_WAITALL);
    close(fd);
    if (size < 0)
        rest_until_ms = clock_monotonic_ms() + REST_MS;
    answer[size > 0 ? size : 0] = '\0';
    return str_equal(answer, SIZING_DONE);
}

bool sizing_end(int fd)
{
    char answer[SIZING_ANSWER_SIZE];
    return fd >= 0 && receive(fd, answer, sizeof answer);
}

bool sizing_check(const char *socket_path, char answer[SIZING_ANSWER_SIZE])
{
    int fd = sizing_begin(socket_path, SIZING_CHECK);
    answer[0] = '\0';
    if (fd >= 0 && receive(fd, answer, SIZING_ANSWER_SIZE))
        return true;
    answer[strcspn(answer, "\n")] = '\0';
    if (!answer[0])
        snprintf(answer, SIZING_ANSWER_SIZE, "it does not answer on %s", socket_path);
    return false;
}
