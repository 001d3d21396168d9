/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "limits/serve.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/sizing.h"
#include "base/str.h"
#include "limits/inside.h"
#include "limits/shared_memory.h"

#define CALLER_MS   200 /* to receive the line of a connected client */
#define SWEEP_MS    2000
#define REST_MS     200 /* without descriptors or memory for a connection that waits */
#define ANSWER_SIZE 512
/* Processes that work in instances. Beyond these limits, Incus mounts the volumes, and shared
 * memory keeps its size. */
#define MOUNTING_MAX      32
#define MOUNTING_TEAM_MAX 8

/* Receive a line. Returns false when it is incomplete after CALLER_MS. */
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

/* Set the sizes. The disk comes first, because it may be refused. The processors follow, because
 * they are kept from then on. Mounts cannot be undone, so finish_apart() makes them last. */
static int size(struct limits *limits, const struct order *order, struct error **err)
{
    if ((order->disk_gb && disk_size(&limits->disks, order, err) < 0) ||
        groups_size(&limits->groups, order, err) < 0)
        return error_context(err, "instance %s", order->instance);
    return 0;
}

static void reply(int fd, const struct order *order, int64_t begun_us, const struct error *failure)
{
    char text[ANSWER_SIZE] = SIZING_DONE;
    if (failure) {
        log_info("cannot set the size of an instance; Incus sets it",
                 LOG_STR("instance", order ? order->instance : ""), LOG_ERROR(failure));
        snprintf(text, sizeof text, "%s\n", failure->message);
    } else if (order && order->cpu) {
        log_info("set the size of an instance", LOG_STR("instance", order->instance),
                 LOG_INT("cpu", order->cpu), LOG_INT("memory_mb", order->memory_mb),
                 LOG_INT("disk_gb", order->disk_gb), LOG_INT("volumes", order->mount_count),
                 LOG_INT("duration_us", clock_monotonic_us() - begun_us));
    }
    send(fd, text, strlen(text), MSG_NOSIGNAL);
    shutdown(fd, SHUT_WR); /* even if another process has the connection open */
}

/* Resize the shared memory. A failure is only logged: the sandbox can run without it. */
static void size_shared_memory(const struct limits *limits, const struct order *order)
{
    error_auto err = NULL;
    if (shared_memory_size(&limits->groups, order, limits->volumes.inside_ms, &err) < 0)
        log_info("cannot set the size of an instance's /dev/shm",
                 LOG_STR("instance", order->instance), LOG_ERROR(err));
}

/* Do the work inside the instance and answer, in a separate process. A hostile disk can delay the
 * mount of its volumes up to INSIDE_MS, and the orders of other tenants must not wait for that. */
static void finish_apart(struct limits *limits, int fd, const struct order *order, int64_t begun_us)
{
    error_auto err = NULL;
    pid_t pid = places_has_room(&limits->mounting, &order->tenant) ? fork() : -1;
    if (pid > 0) {
        places_take(&limits->mounting, &order->tenant, (uint64_t)pid);
        return;
    }
    if (pid == 0)
        size_shared_memory(limits, order);
    if (pid < 0 && order->mount_count)
        error_set(&err, ERR_RUNTIME_REFUSED,
                  "%u instances are getting volumes at this moment, or %u of this team or user, "
                  "which is the most",
                  limits->mounting.count, limits->mounting.most_of_tenant);
    else if (order->mount_count &&
             volumes_mount(&limits->volumes, &limits->groups, order, &err) < 0)
        error_context(&err, "instance %s", order->instance);
    reply(fd, order, begun_us, err);
    if (pid == 0) {
        inside_wait();
        _exit(0);
    }
}

static void reap(struct limits *limits)
{
    pid_t pid;
    while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
        places_leave(&limits->mounting, (uint64_t)pid);
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
    char line[SIZING_MAX];
    struct order order;
    int64_t begun_us = clock_monotonic_us();
    error_auto err = NULL;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most);
    if (!receive(fd, line))
        return;
    if (str_equal(line, SIZING_CHECK)) {
        check(limits, &err);
        reply(fd, NULL, begun_us, err);
    } else if (order_read(line, &order, &err) < 0) {
        reply(fd, NULL, begun_us, err);
    } else {
        if (order.tenant.team)
            balance_note(limits->balance, order.instance, &order.tenant);
        if (!order.cpu || size(limits, &order, &err) < 0)
            reply(fd, &order, begun_us, err);
        else
            finish_apart(limits, fd, &order, begun_us);
    }
}

/* Returns -1 if file descriptor 0 takes no connections. */
static int accept_one(struct limits *limits)
{
    int fd = accept4(STDIN_FILENO, NULL, NULL, SOCK_CLOEXEC);
    if (fd >= 0) {
        answer(limits, fd);
        close(fd);
        return 0;
    }
    if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
        log_error("cannot accept a connection", LOG_STR("reason", strerror(errno)));
        clock_sleep_ms(REST_MS);
        return 0;
    }
    return errno == EINTR || errno == EAGAIN || errno == ECONNABORTED ? 0 : -1;
}

static int wait_ms(int64_t until_ms)
{
    int64_t left_ms = until_ms - clock_monotonic_ms();
    return left_ms > 0 ? (int)left_ms : 0;
}

int limits_serve(struct limits *limits, struct error **err)
{
    struct spread *spread = limits->spread;
    limits->mounting = (struct places){.most = MOUNTING_MAX, .most_of_tenant = MOUNTING_TEAM_MAX};
    int64_t sweep_at_ms = 0; /* monotonic */
    struct pollfd wait[] = {{.fd = STDIN_FILENO, .events = POLLIN},
                            {.fd = spread_fd(spread), .events = POLLIN}};
    for (;;) {
        bool again = limits->mounting.count || balance_count(limits->balance);
        int most_ms = again ? wait_ms(sweep_at_ms) : -1;
        int ready = poll(wait, ARRAY_SIZE(wait), spread_wait_ms(spread, most_ms));
        reap(limits);
        if (clock_monotonic_ms() >= sweep_at_ms) {
            spread_look(spread);
            balance_run(limits->balance, &limits->groups);
            spread_pass_over_weights(spread);
            sweep_at_ms = clock_monotonic_ms() + SWEEP_MS;
        }
        if (ready > 0 && wait[1].revents)
            spread_look(spread);
        spread_run(spread, &limits->groups);
        if (ready > 0 && wait[0].revents && accept_one(limits) < 0)
            return error_set_errno(err, ERR_CONFIG, errno,
                                   "file descriptor 0 is not a listening socket");
    }
}
