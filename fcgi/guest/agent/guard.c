/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/guard.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/common/users.h"
#include "agent/defaults.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

/* An agent that is killed sooner than this will be again. */
#define LIFE_LEAST_MS 1000

struct kept {
    volatile bool known; /* false while nothing is kept, or it is being changed */
    unsigned char digest[SHARED_SECRET_DIGEST];
    char user[USER_NAME_MAX + 1];
    size_t size;
    char entries[ENVIRONMENT_BYTES_MAX]; /* "NAME=value", each with its NUL */
};

static struct kept *kept; /* shared by guard and agent; NULL: no guard */

/* Until the agent has ended; how it did. */
static int watch(pid_t agent, const sigset_t *signals)
{
    int status;
    while (waitpid(agent, &status, WNOHANG) != agent) {
        int number = 0;
        if (sigwait(signals, &number) == 0 && number != SIGCHLD)
            kill(agent, SIGTERM);
    }
    return status;
}

/* Until an agent has ended by itself, or was killed too early. */
static void watch_over(pid_t agent, int64_t began_ms, const sigset_t *signals)
{
    int status = watch(agent, signals);
    if (WIFEXITED(status))
        exit(WEXITSTATUS(status));
    log_warning("the agent was killed; starting it again", LOG_INT("signal", WTERMSIG(status)));
    if (clock_monotonic_ms() - began_ms < LIFE_LEAST_MS)
        exit(1);
}

int guard_begin(struct error **err)
{
    kept = mmap(NULL, sizeof *kept, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (kept == MAP_FAILED)
        return error_set_errno(err, ERR_INTERNAL, errno, "out of memory for the guard");
    pid_t guard = getpid();
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGCHLD);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    for (;;) {
        int64_t began_ms = clock_monotonic_ms();
        pid_t agent = fork();
        if (agent < 0)
            return error_set_errno(err, ERR_INTERNAL, errno, "cannot start the agent");
        if (agent == 0)
            break;
        prctl(PR_SET_NAME, "sandlot-guard");
        prctl(PR_SET_DUMPABLE, 0); /* it holds the sandbox's environment */
        watch_over(agent, began_ms, &signals);
    }
    prctl(PR_SET_NAME, "sandlot-agent");
    /* The guard may have ended before this. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != guard)
        _exit(1);
    return 0;
}

void guard_keep(const struct agent *agent)
{
    if (!kept)
        return;
    kept->known = false;
    mem_wipe(kept->entries, kept->size);
    char *at = kept->entries;
    for (size_t i = 0; i < agent->environment.count; i++)
        at = stpcpy(at, agent->environment.entries[i]) + 1;
    kept->size = (size_t)(at - kept->entries);
    memcpy(kept->digest, agent->secret.digest, sizeof kept->digest);
    strncpy(kept->user, agent->default_user, USER_NAME_MAX);
    kept->known = true;
}

/* The set was within its bounds when it was kept. */
static void recall_entry(struct environment *environment, const char *entry)
{
    struct rpc_error ignored;
    size_t length = strcspn(entry, "=");
    autofree char *name = xstrndup(entry, length);
    environment_set(environment, name, entry + length + 1, &ignored);
}

bool guard_recall(struct agent *agent)
{
    if (!kept || !kept->known)
        return false;
    const char *end = kept->entries + kept->size;
    for (const char *entry = kept->entries; entry < end; entry += strlen(entry) + 1)
        recall_entry(&agent->environment, entry);
    memcpy(agent->secret.digest, kept->digest, sizeof kept->digest);
    agent->secret.known = true;
    free(agent->default_user);
    agent->default_user = xstrdup(kept->user);
    defaults_auto defaults;
    defaults_read(&defaults);
    agent->workdir = steal_pointer(&defaults.workdir);
    return true;
}
