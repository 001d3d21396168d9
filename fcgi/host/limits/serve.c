/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "limits/serve.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/sizing.h"
#include "base/str.h"

#define CALLER_MS   200 /* for the line of one who is connected */
#define SWEEP_MS    2000
#define ANSWER_SIZE 512

/* Whether a whole line came in time. */
static bool receive(int fd, char line[SIZING_MAX])
{
    size_t size = 0;
    while (size < SIZING_MAX - 1) {
        ssize_t got = recv(fd, line + size, SIZING_MAX - 1 - size, 0);
        if (got <= 0)
            return false;
        size += (size_t)got;
        line[size] = '\0';
        char *end = memchr(line, '\n', size);
        if (end) {
            *end = '\0';
            return strlen(line) == (size_t)(end - line);
        }
    }
    return false;
}

/* The disk first: of all it may be refused, and the processors are kept from then on. What is
 * mounted cannot be taken back, and comes last. */
static int size(struct limits *limits, const char *line, struct error **err)
{
    struct order order;
    int64_t begun_us = clock_monotonic_us();
    if (order_read(line, &order, err) < 0)
        return -1;
    if ((order.disk_gb && disk_size(&limits->disks, &order, err) < 0) ||
        groups_size(&limits->groups, &order, err) < 0 ||
        (order.mount_count && volumes_mount(&limits->volumes, &limits->groups, &order, err) < 0))
        return error_context(err, "instance %s", order.instance);
    log_info("instance has its size", LOG_STR("instance", order.instance),
             LOG_INT("cpu", order.cpu), LOG_INT("memory_mb", order.memory_mb),
             LOG_INT("disk_gb", order.disk_gb), LOG_INT("volumes", order.mount_count),
             LOG_INT("duration_us", clock_monotonic_us() - begun_us));
    return 0;
}

static int check(const struct limits *limits, struct error **err)
{
    if (groups_check(&limits->groups, err) < 0)
        return -1;
    if (disks_check(&limits->disks, err) < 0)
        return -1;
    return volumes_check(&limits->volumes, err);
}

static void answer(struct limits *limits, int fd)
{
    const struct timeval most = {.tv_usec = CALLER_MS * 1000};
    char line[SIZING_MAX], text[ANSWER_SIZE] = SIZING_DONE;
    error_auto err = NULL;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most);
    if (!receive(fd, line))
        return;
    if (str_equal(line, SIZING_CHECK))
        check(limits, &err);
    else if (size(limits, line, &err) < 0)
        log_info("an instance is not given its size here, and Incus is asked", LOG_ERROR(err));
    if (err)
        snprintf(text, sizeof text, "%s\n", err->message);
    send(fd, text, strlen(text), MSG_NOSIGNAL);
    shutdown(fd, SHUT_WR); /* whoever else may have it */
}

int limits_serve(struct limits *limits, struct error **err)
{
    struct hold *hold = limits->groups.hold;
    struct pollfd wait[] = {{.fd = STDIN_FILENO, .events = POLLIN},
                            {.fd = hold_fd(hold), .events = POLLIN}};
    for (;;) {
        int ready = poll(wait, ARRAY_SIZE(wait), hold_count(hold) ? SWEEP_MS : -1);
        if (ready == 0)
            hold_sweep(hold);
        if (ready <= 0)
            continue;
        if (wait[1].revents)
            hold_look(hold);
        if (!wait[0].revents)
            continue;
        int fd = accept4(STDIN_FILENO, NULL, NULL, SOCK_CLOEXEC);
        if (fd >= 0) {
            answer(limits, fd);
            close(fd);
        } else if (errno != EINTR && errno != EAGAIN && errno != ECONNABORTED) {
            return error_set_errno(err, ERR_CONFIG, errno,
                                   "file descriptor 0 takes no connections");
        }
    }
}
