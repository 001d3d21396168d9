/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "helper/criu/dump.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/mem.h"
#include "common/bounded_run.h"
#include "helper/common/self.h"
#include "helper/criu/container.h"
#include "helper/criu/image.h"
#include "helper/criu/image_sync.h"
#include "helper/criu/page_server.h"

/* The longest time of a dump, and one more second for each MIB_PER_S. */
#define DUMP_S    60
#define MIB_PER_S 16

/* The longest wait for the copy of the disk, and the intervals of the checks. */
#define COPY_MOST_MS 60000
#define LOOK_MS      2
#define LOOK_SLOW_MS 20
#define SOON_MS      500

/* --- after a dump that was killed --- */

/* Delete the tables with which CRIU blocks packets. */
static void unlock_network(pid_t pid)
{
    autofree char *path = xasprintf("/proc/%d/ns/net", (int)pid);
    pid_t child = fork();
    if (child == 0) {
        int network = open(path, O_RDONLY | O_CLOEXEC);
        if (network >= 0 && setns(network, CLONE_NEWNET) == 0)
            execlp("sh", "sh", "-c",
                   "nft list tables inet | grep -o 'CRIU-[0-9A-Za-z-]*' |"
                   " while read -r table; do nft delete table inet \"$table\"; done",
                   NULL);
        _exit(127);
    }
    if (child > 0)
        waitpid(child, NULL, 0);
}

/* Start a new log. incusd reports the errors of the log, and only the first ones are passed on. The
 * old log starts with errors that do not matter to CRIU. */
static FILE *begin_log(const struct call *call)
{
    autofree char *before = call->log ? xasprintf("%s.killed", call->log) : NULL;
    if (!before)
        return NULL;
    rename(call->log, before);
    return fopen(call->log, "we");
}

static void say(const struct call *call, unsigned limit_s)
{
    autofclose FILE *log = begin_log(call);
    FILE *const outs[] = {stderr, log};
    for (size_t i = 0; i < ARRAY_SIZE(outs); i++)
        if (outs[i])
            fprintf(outs[i],
                    "Error (sandlot-criu): the dump did not end within %u s and was killed "
                    "(timed out)\n",
                    limit_s);
}

/* --- image and disk of the same moment --- */

static bool is_there(const char *folder, const struct stat *known)
{
    struct stat now;
    return stat(folder, &now) == 0 && now.st_ino == known->st_ino && now.st_dev == known->st_dev;
}

/* Wait until incusd has copied the disk. It then deletes the image from its first place, unless
 * fcgi/host/helper/btrfs has moved it before. */
static void wait_for_copy(const char *folder, const struct stat *known, int incusd)
{
    int64_t begun_ms = clock_monotonic_ms(), passed_ms = 0;
    struct pollfd end = {.fd = incusd, .events = POLLIN};
    while (passed_ms < COPY_MOST_MS && is_there(folder, known)) {
        if (poll(&end, 1, passed_ms < SOON_MS ? LOOK_MS : LOOK_SLOW_MS) != 0)
            return; /* incusd has ended, and copies nothing */
        passed_ms = clock_monotonic_ms() - begun_ms;
    }
}

static void close_all(int but)
{
    int null = open("/dev/null", O_RDWR);
    for (int fd = 0; fd <= 2; fd++)
        dup2(null, fd);
    syscall(SYS_close_range, 3, but - 1, 0);
    syscall(SYS_close_range, but + 1, ~0U, 0);
}

/* Thaw the container after its disk is copied too: files must not be newer than the memory that has
 * them open. A separate process waits, because liblxc waits for the end of this program and its
 * output. */
static void thaw_later(const struct call *call, const struct freezer *freezer, pid_t incusd)
{
    struct stat known;
    int end = (int)syscall(SYS_pidfd_open, incusd, 0);
    pid_t child = stat(call->images, &known) < 0 || end < 0 ? -1 : fork();
    if (child == 0) {
        setsid();
        close_all(end);
        wait_for_copy(call->images, &known, end);
        freezer_thaw(freezer);
        _exit(EXIT_SUCCESS);
    }
    if (child < 0)
        freezer_thaw(freezer);
    if (end >= 0)
        close(end);
}

/* --- the dump --- */

/* Freeze the container before CRIU does, or let CRIU stop each process by itself. Then the hook
 * after the dump freezes a container that is to continue, for thaw_later(). */
static void freeze(struct call *call, struct freezer *freezer)
{
    if (!container_cannot_freeze(call->pid)) {
        freezer_freeze(freezer);
        return;
    }
    call_remove(call, "--freeze-cgroup");
    if (call->leave_running)
        call_add(call, "--action-script", self_path());
    freezer->frozen = call->leave_running;
}

static int settle(const struct call *call, const struct freezer *freezer, pid_t incusd, int status)
{
    if (status == 0)
        image_seal(call->images);
    if (status == 0 && call->leave_running)
        image_mark_running(call->images);
    if (status == 0)
        image_sync(call->images);
    if (status == 0 && call->leave_running && freezer->frozen)
        thaw_later(call, freezer, incusd);
    else if (freezer->frozen)
        freezer_thaw(freezer);
    return status;
}

int dump_run(struct call *call)
{
    autofree char *container = image_owner(call->images);
    unsigned coming_mib = container ? page_server_mib(container) : 0;
    unsigned memory_mib = container_memory_mib(call->pid);
    unsigned limit_s = DUMP_S + (memory_mib + coming_mib) / MIB_PER_S;
    if (container && page_server_await(container, limit_s) < 0) {
        say(call, limit_s);
        return EXIT_FAILURE;
    }
    image_note_memory(call->images, container_memory_mib(call->pid));
    pid_t incusd = getppid();
    freezer_auto freezer;
    error_auto err = NULL;
    int status;
    freezer_init(&freezer, call->pid);
    freeze(call, &freezer);
    if (bounded_run(call->command.list, limit_s, &status, &err) == 0)
        return settle(call, &freezer, incusd,
                      WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    if (err->code == ERR_RUNTIME_STUCK) {
        unlock_network(call->pid);
        freezer_thaw(&freezer);
        say(call, limit_s);
    } else {
        fprintf(stderr, "sandlot-criu: %s\n", err->message);
    }
    return settle(call, &freezer, incusd, 128 + SIGKILL);
}
