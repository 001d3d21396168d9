/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "harness/recorder.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/mem.h"

#define INSTANCES_MAX 32

struct instance {
    char name[64]; /* "": a free place */
    char sandbox_id[64];
    char address[16];
    pid_t agent; /* 0: none runs */
    enum runtime_status status;
};

static struct instance instances[INSTANCES_MAX];
static struct buffer calls = BUFFER_INIT(65536);
static struct {
    char call[32];
    enum error_code code;
} planned;

/* --- what was asked for --- */

static int record(const char *call, const char *name, struct error **err)
{
    buffer_printf(&calls, "%s %s\n", call, name);
    if (strcmp(planned.call, call) != 0)
        return 0;
    planned.call[0] = '\0';
    return error_set(err, planned.code, "the test has planned that %s fails", call);
}

unsigned recorder_count(const char *call)
{
    unsigned count = 0;
    size_t length = strlen(call);
    for (const char *line = buffer_string(&calls); *line; line = strchr(line, '\n') + 1)
        count += !strncmp(line, call, length) && line[length] == ' ';
    return count;
}

const char *recorder_calls(void)
{
    return buffer_string(&calls);
}

void recorder_forget(void)
{
    buffer_deinit(&calls);
    planned.call[0] = '\0';
}

void recorder_fail(const char *call, enum error_code code)
{
    snprintf(planned.call, sizeof planned.call, "%s", call);
    planned.code = code;
}

/* --- instances --- */

static struct instance *find(const char *name)
{
    for (size_t i = 0; i < INSTANCES_MAX; i++)
        if (!strcmp(instances[i].name, name))
            return &instances[i];
    return NULL;
}

static void __attribute__((noreturn)) become_agent(const struct instance *instance)
{
    const char *program = HARNESS_BUILD_DIR "/sandlot-agent";
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int fd = 0; fd <= STDERR_FILENO; fd++)
        dup2(null, fd);
    execl(program, program, "--listen", instance->address, "--trust-local-peers", (char *)NULL);
    _exit(127);
}

static int start_agent(struct instance *instance, struct error **err)
{
    instance->agent = fork();
    if (instance->agent == 0)
        become_agent(instance);
    if (instance->agent < 0)
        return error_set(err, ERR_RUNTIME_FAILED, "the agent of %s cannot be started",
                         instance->name);
    instance->status = RUNTIME_RUNNING;
    return 0;
}

static void end_agent(struct instance *instance)
{
    if (instance->agent > 0) {
        kill(instance->agent, SIGKILL);
        waitpid(instance->agent, NULL, 0);
    }
    instance->agent = 0;
    instance->status = RUNTIME_STOPPED;
}

void recorder_end(void)
{
    for (size_t i = 0; i < INSTANCES_MAX; i++)
        end_agent(&instances[i]);
    memset(instances, 0, sizeof instances);
    recorder_forget();
}

/* --- operations; those that no test of a handler has needed yet are not there --- */

static int absent(const char *name, struct error **err)
{
    return error_set(err, ERR_NOT_FOUND, "there is no instance %s", name);
}

static int create(struct runtime *runtime, const struct runtime_instance *wanted,
                  struct error **err)
{
    (void)runtime;
    if (record("create", wanted->name, err) < 0)
        return -1;
    struct instance *instance = find(wanted->name);
    if (!instance && !(instance = find("")))
        return error_set(err, ERR_RUNTIME_REFUSED, "the recorder has no room for an instance");
    snprintf(instance->name, sizeof instance->name, "%s", wanted->name);
    snprintf(instance->address, sizeof instance->address, "%s", wanted->address);
    snprintf(instance->sandbox_id, sizeof instance->sandbox_id, "%s", wanted->sandbox_id);
    return instance->agent ? 0 : start_agent(instance, err);
}

static int inspect(struct runtime *runtime, const char *name, enum runtime_status *status,
                   struct error **err)
{
    (void)runtime;
    const struct instance *instance = find(name);
    *status = instance ? instance->status : RUNTIME_ABSENT;
    return record("inspect", name, err);
}

static int pause_instance(struct runtime *runtime, const char *name,
                          const struct runtime_resources *resources, enum runtime_pause how,
                          enum runtime_origin *origin, struct error **err)
{
    (void)runtime, (void)resources;
    bool keep_memory = how == RUNTIME_PAUSE_MEMORY || how == RUNTIME_PAUSE_MEMORY_OR_DISK;
    struct instance *instance = find(name);
    if (record("pause", name, err) < 0)
        return -1;
    if (!instance)
        return absent(name, err);
    *origin = keep_memory ? RUNTIME_FROM_MEMORY : RUNTIME_FROM_DISK;
    if (!keep_memory) {
        end_agent(instance);
        return 0;
    }
    kill(instance->agent, SIGSTOP);
    instance->status = RUNTIME_PAUSED;
    return 0;
}

static int resume(struct runtime *runtime, const char *name,
                  const struct runtime_resources *resources, bool with_memory,
                  enum runtime_origin *origin, struct error **err)
{
    (void)runtime, (void)resources;
    struct instance *instance = find(name);
    if (record("resume", name, err) < 0)
        return -1;
    if (!instance)
        return absent(name, err);
    if (instance->status == RUNTIME_RUNNING)
        return 0;
    *origin = with_memory && instance->agent ? RUNTIME_FROM_MEMORY : RUNTIME_FROM_DISK;
    if (*origin == RUNTIME_FROM_DISK) {
        end_agent(instance);
        return start_agent(instance, err);
    }
    kill(instance->agent, SIGCONT);
    instance->status = RUNTIME_RUNNING;
    return 0;
}

static int destroy(struct runtime *runtime, const char *name, struct error **err)
{
    (void)runtime;
    struct instance *instance = find(name);
    if (record("destroy", name, err) < 0)
        return -1;
    if (instance) {
        end_agent(instance);
        *instance = (struct instance){0};
    }
    return 0;
}

static void close_runtime(struct runtime *runtime)
{
    free(runtime);
}

static const struct runtime_ops operations = {
    .memory = &runtime_no_memory,
    .volume = &runtime_no_volumes,
    .transfer = &runtime_no_transfers,
    .measure = &runtime_no_measures,
    .event = &runtime_no_events,
    .create = create,
    .inspect = inspect,
    .pause = pause_instance,
    .resume = resume,
    .destroy = destroy,
    .close = close_runtime,
};

int recorder_open(const struct runtime_host *host, struct runtime **runtime, struct error **err)
{
    (void)host, (void)err;
    *runtime = xcalloc(1, sizeof **runtime);
    (*runtime)->ops = &operations;
    return 0;
}
