/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The processes that monitor the hosts, and the process that looks after agents. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "db/lease_board.h"
#include "db/named_lease.h"
#include "dispatcher/agent_pulse.h"
#include "dispatcher/agent_refresh.h"
#include "dispatcher/dispatcher.h"
#include "dispatcher/host_monitor.h"
#include "host/host.h"

/* The longest delay until the monitor of a new host starts, or restarts after its process has
 * ended. */
#define HOSTS_COMPARE_MS 3000

/* From the monitors of hosts to the process for agents: each datagram has the name of one
 * instance. */
static int restarts[2] = {-1, -1};

int dispatcher_prepare(void)
{
    if (lease_board_open() < 0)
        return -1;
    return socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, restarts);
}

/* --- monitoring --- */

static void tell_restart(const char *instance_name)
{
    if (send(restarts[0], instance_name, strlen(instance_name), 0) < 0)
        log_warning(
            "cannot report the restarted agent of an instance; the next check initialises it",
            LOG_STR("instance", instance_name), LOG_STR("reason", strerror(errno)));
}

struct monitor {
    uint32_t host_id;
    pid_t pid;
    bool wanted;
};

struct monitors {
    struct monitor *list;
    unsigned count;
};

static int monitor_host(const struct settings *settings, uint32_t host_id,
                        const volatile sig_atomic_t *stop)
{
    struct worker worker = {0};
    error_auto err = NULL;
    if (dispatcher_open(settings, &worker, &err) < 0) {
        log_error("cannot monitor a host; trying again", LOG_INT("host", host_id), LOG_ERROR(err));
        return EX_UNAVAILABLE;
    }
    struct host_monitor *monitor = host_monitor_new(&worker, host_id, tell_restart);
    while (!*stop)
        host_monitor_turn(monitor);
    host_monitor_free(monitor);
    worker_close(&worker);
    return EXIT_SUCCESS;
}

static void start_monitor(struct monitors *monitors, struct worker *worker, uint32_t host_id,
                          const volatile sig_atomic_t *stop)
{
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        db_leave(worker->db);
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (getppid() != parent)
            _exit(EXIT_SUCCESS);
        _exit(monitor_host(worker->settings, host_id, stop));
    }
    if (pid < 0) {
        log_error("cannot monitor a host; trying again", LOG_INT("host", host_id),
                  LOG_STR("reason", strerror(errno)));
        return;
    }
    monitors->list = xreallocarray(monitors->list, monitors->count + 1, sizeof *monitors->list);
    monitors->list[monitors->count++] = (struct monitor){host_id, pid, true};
}

static struct monitor *find(struct monitors *monitors, uint32_t host_id)
{
    for (unsigned i = 0; i < monitors->count; i++)
        if (monitors->list[i].host_id == host_id)
            return &monitors->list[i];
    return NULL;
}

/* Forget monitors that have ended, and end monitors that this dispatcher no longer needs. */
static void reap(struct monitors *monitors)
{
    for (unsigned i = monitors->count; i-- > 0;) {
        struct monitor *one = &monitors->list[i];
        if (!one->wanted)
            kill(one->pid, SIGTERM);
        if (waitpid(one->pid, NULL, WNOHANG) != 0)
            *one = monitors->list[--monitors->count];
    }
}

/* Start a monitor for each host, if this dispatcher holds the lease. */
static int compare(struct monitors *monitors, struct worker *worker,
                   const volatile sig_atomic_t *stop, struct error **err)
{
    struct host *hosts = NULL;
    unsigned count = 0;
    bool ours;
    if (named_lease_take(worker->db, HOST_MONITORS_LEASE, worker->lease_owner, &ours, err) < 0 ||
        (ours && host_list(worker->db, &hosts, &count, err) < 0))
        return -1;
    for (unsigned i = 0; i < monitors->count; i++)
        monitors->list[i].wanted = false;
    for (unsigned i = 0; i < count; i++) {
        struct monitor *one = find(monitors, hosts[i].id);
        if (hosts[i].condition.lost_at_ms)
            continue;
        if (one)
            one->wanted = true;
        else
            start_monitor(monitors, worker, hosts[i].id, stop);
    }
    hosts_free(hosts, count);
    return 0;
}

void hosts_monitor_serve(struct worker *worker, const volatile sig_atomic_t *stop)
{
    struct monitors monitors = {0};
    while (!*stop) {
        error_auto err = NULL;
        /* Without the database the monitors continue: their connections may recover before this
         * one. */
        if (compare(&monitors, worker, stop, &err) < 0)
            log_warning("cannot list the hosts; trying again", LOG_ERROR(err));
        reap(&monitors);
        if (!*stop)
            clock_sleep_ms(HOSTS_COMPARE_MS);
    }
    for (unsigned i = 0; i < monitors.count; i++)
        kill(monitors.list[i].pid, SIGTERM);
    for (unsigned i = 0; i < monitors.count; i++)
        waitpid(monitors.list[i].pid, NULL, 0);
    free(monitors.list);
    error_auto ignored = NULL;
    named_lease_release(worker->db, HOST_MONITORS_LEASE, worker->lease_owner, &ignored);
}

/* --- agents --- */

static void take_restarts(struct agent_refresh *refresh)
{
    char instance_name[INSTANCE_NAME_SIZE];
    ssize_t size;
    while ((size = recv(restarts[1], instance_name, sizeof instance_name - 1, 0)) > 0) {
        instance_name[size] = '\0';
        agent_refresh_restarted(refresh, instance_name);
    }
}

void agents_serve(struct worker *worker, const volatile sig_atomic_t *stop)
{
    struct agent_refresh *refresh = agent_refresh_new(worker);
    struct agent_pulse *pulse = agent_pulse_new(worker, refresh);
    while (!*stop) {
        take_restarts(refresh);
        agent_pulse_work(pulse);
        unsigned wait_ms = agent_refresh_work(refresh);
        if (!*stop)
            agent_pulse_wait(pulse, restarts[1], wait_ms);
    }
    agent_pulse_free(pulse);
    agent_refresh_free(refresh);
}
