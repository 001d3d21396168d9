/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "helper/criu/container.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"

#define GROUPS          "/sys/fs/cgroup"
#define PAYLOAD         "lxc.payload."
#define MOST_MEMORY_MIB 8192
#define FREEZE_MOST_MS  200
#define STATE_SIZE      16

/* --- groups --- */

/* Return whether a controller is in the list of a line of /proc/PID/cgroup. The unified hierarchy
 * has an empty list, and has all controllers. */
static bool controls(const char *controllers, const char *wanted)
{
    autofree char *list = xasprintf(",%s,", controllers);
    autofree char *word = xasprintf(",%s,", wanted);
    return !*controllers || strstr(list, word);
}

/* Return the folder of the container's group. Its name is the first of its kind in the path; groups
 * below belong to the guest. NULL: this hierarchy does not have it. */
static char *group_of(char *line, const char *controller)
{
    struct stat found;
    char *controllers = strchr(line, ':');
    char *path = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!path)
        return NULL;
    *path++ = '\0';
    path[strcspn(path, "\n")] = '\0';
    char *payload = strstr(path, PAYLOAD);
    if (!payload || !controls(++controllers, controller))
        return NULL;
    payload[strcspn(payload, "/")] = '\0';
    char *folder =
        *controllers ? xasprintf(GROUPS "/%s%s", controller, path) : xasprintf(GROUPS "%s", path);
    if (stat(folder, &found) == 0 && S_ISDIR(found.st_mode))
        return folder;
    free(folder);
    return NULL;
}

/* Find the folder of a controller's group. The unified hierarchy is the last line. */
static char *control_group(pid_t pid, const char *controller)
{
    autofree char *path = xasprintf("/proc/%d/cgroup", (int)pid);
    autofree char *line = NULL;
    size_t size = 0;
    autofclose FILE *groups = fopen(path, "re");
    while (groups && getline(&line, &size, groups) >= 0) {
        char *folder = group_of(line, controller);
        if (folder)
            return folder;
    }
    return NULL;
}

static int file_of(const char *folder, const char *name, int flags)
{
    autofree char *path = xasprintf("%s/%s", folder, name);
    return open(path, flags | O_CLOEXEC);
}

static bool read_file(const char *folder, const char *name, char out[STATE_SIZE * 2])
{
    autoclose int fd = file_of(folder, name, O_RDONLY);
    ssize_t size = fd < 0 ? -1 : read(fd, out, STATE_SIZE * 2 - 1);
    if (size <= 0)
        return false;
    out[size] = '\0';
    out[strcspn(out, "\n")] = '\0';
    return true;
}

static bool write_file(const char *folder, const char *name, const char *text)
{
    autoclose int fd = file_of(folder, name, O_WRONLY);
    return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

unsigned container_memory_mib(pid_t pid)
{
    autofree char *folder = control_group(pid, "memory");
    char text[STATE_SIZE * 2];
    uint64_t bytes;
    if (!folder ||
        (!read_file(folder, "memory.current", text) &&
         !read_file(folder, "memory.usage_in_bytes", text)) ||
        str_parse_u64(text, 0, UINT64_MAX, &bytes) < 0)
        return MOST_MEMORY_MIB;
    return (unsigned)(bytes >> 20);
}

/* --- stopped processes --- */

/* Return the state in /proc/PID/stat, which is after the name in brackets. */
static char state_of(const char *pid)
{
    autofree char *path = xasprintf("/proc/%s/stat", pid);
    char text[256];
    autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    text[size < 0 ? 0 : size] = '\0';
    const char *end = strrchr(text, ')');
    return end && end[1] == ' ' ? end[2] : '\0';
}

static bool some_process_is(const char *folder, char state)
{
    autofree char *path = xasprintf("%s/cgroup.procs", folder);
    autofree char *line = NULL;
    size_t size = 0;
    bool found = false;
    autofclose FILE *processes = fopen(path, "re");
    while (!found && processes && getline(&line, &size, processes) >= 0) {
        line[strcspn(line, "\n")] = '\0';
        found = state_of(line) == state;
    }
    return found;
}

bool container_cannot_freeze(pid_t pid)
{
    autofree char *folder = control_group(pid, "freezer");
    char text[STATE_SIZE * 2];
    return folder && read_file(folder, "freezer.state", text) && some_process_is(folder, 'T');
}

/* --- the freezer --- */

void freezer_init(struct freezer *freezer, pid_t pid)
{
    *freezer = (struct freezer){.folder = control_group(pid, "freezer")};
}

void freezer_deinit(struct freezer *freezer)
{
    free(freezer->folder);
    *freezer = (struct freezer){.folder = NULL};
}

/* Freeze or thaw, with control groups v1 or the unified hierarchy. */
static bool order(const struct freezer *freezer, bool freeze)
{
    return write_file(freezer->folder, "freezer.state", freeze ? "FROZEN" : "THAWED") ||
           write_file(freezer->folder, "cgroup.freeze", freeze ? "1" : "0");
}

static bool is_frozen(const struct freezer *freezer)
{
    char text[STATE_SIZE * 2];
    if (read_file(freezer->folder, "freezer.state", text))
        return str_equal(text, "FROZEN");
    autoclose int fd = file_of(freezer->folder, "cgroup.events", O_RDONLY);
    char events[256];
    ssize_t size = fd < 0 ? -1 : read(fd, events, sizeof events - 1);
    events[size < 0 ? 0 : size] = '\0';
    return strstr(events, "frozen 1");
}

void freezer_freeze(struct freezer *freezer)
{
    int64_t give_up_ms = clock_monotonic_ms() + FREEZE_MOST_MS;
    if (!freezer->folder || is_frozen(freezer) || !order(freezer, true))
        return;
    while (!(freezer->frozen = is_frozen(freezer)) && clock_monotonic_ms() < give_up_ms)
        clock_sleep_ms(1);
    if (!freezer->frozen)
        order(freezer, false);
}

void freezer_hold(const struct freezer *freezer)
{
    if (freezer->folder)
        order(freezer, true);
}

void freezer_thaw(const struct freezer *freezer)
{
    if (freezer->folder)
        order(freezer, false);
}
