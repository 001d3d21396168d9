/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "helper/criu/call.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/str.h"

#define FOLDER_FOR_MOUNTS "/dev/.incus-mounts"
#define DISK_VIEWS        ":/run/sandlot-disks/"
#define PAYLOAD           "/lxc.payload."
#define APPARMOR_ENABLED  "/sys/module/apparmor/parameters/enabled"

/* --- arguments --- */

static bool is_one_of(const char *word, const char *brief, const char *full)
{
    return str_equal(word, brief) || str_equal(word, full);
}

static pid_t pid_of(const char *text)
{
    uint64_t pid;
    return str_parse_u64(text, 1, INT32_MAX, &pid) == 0 ? (pid_t)pid : 0;
}

static void note_value(struct call *call, const char *option, const char *value)
{
    if (is_one_of(option, "-D", "--images-dir"))
        call->images = value;
    else if (is_one_of(option, "-o", "--log-file"))
        call->log = value;
    else if (is_one_of(option, "-r", "--root"))
        call->root = value;
    else if (is_one_of(option, "-t", "--tree"))
        call->pid = pid_of(value);
    else if (str_equal(option, "--cgroup-root") && strstr(value, ":" PAYLOAD))
        call->group = strchr(value, ':') + 1;
}

static bool takes_value(const char *word)
{
    return is_one_of(word, "-D", "--images-dir") || is_one_of(word, "-o", "--log-file") ||
           is_one_of(word, "-r", "--root") || is_one_of(word, "-t", "--tree") ||
           str_equal(word, "--cgroup-root");
}

/* Add a mount whose source is a link, with its target: CRIU does not follow links. */
static void add_disk_view(struct call *call, const char *word)
{
    char target[PATH_MAX];
    const char *path = strchr(word, ':') + 1;
    int place = (int)(path - word);
    words_add(&call->command,
              xasprintf("%.*s%s", place, word, realpath(path, target) ? target : path));
}

/* Return whether an option asks for a verbose log. liblxc asks for thousands of lines at each dump,
 * and each is a write. Without the option, CRIU logs warnings and errors. */
static bool asks_for_more(const char *word)
{
    return str_starts_with(word, "-v") && !getenv(CALL_LOG_ALL);
}

static void add_word(struct call *call, const char *word)
{
    /* liblxc names a control group of the unified hierarchy without its option. */
    if (str_starts_with(word, PAYLOAD))
        words_add_copy(&call->command, "--cgroup-root");
    call->leave_running = call->leave_running || is_one_of(word, "-R", "--leave-running");
    if (strstr(word, DISK_VIEWS))
        add_disk_view(call, word);
    else
        words_add_copy(&call->command, word);
}

bool call_host_has_apparmor(void)
{
    autofclose FILE *enabled = fopen(APPARMOR_ENABLED, "re");
    return enabled && fgetc(enabled) == 'Y';
}

void call_read(struct call *call, bool apparmor, char *const criu[], char *const arguments[])
{
    *call = (struct call){.verb = arguments[0] ? arguments[0] : ""};
    for (; *criu; criu++)
        words_add_copy(&call->command, *criu);
    for (char *const *word = arguments; *word; word++) {
        if (str_equal(*word, "--lsm-profile") && word[1]) {
            word++;
            if (apparmor)
                call_add(call, "--lsm-profile", *word);
        } else if (takes_value(*word) && word[1]) {
            note_value(call, word[0], word[1]);
            words_add_copy(&call->command, *word++);
            words_add_copy(&call->command, *word);
        } else if (!str_starts_with(*word, "--lsm-profile=") && !asks_for_more(*word)) {
            add_word(call, *word);
        }
    }
    /* With control groups version 1, liblxc leaves out the unified hierarchy. CRIU would restore
     * the processes into the group of the original container, which can be deleted meanwhile. */
    if (str_equal(call->verb, "restore") && call->group)
        call_add(call, "--cgroup-root", call->group);
}

void call_add(struct call *call, const char *option, const char *value)
{
    words_add_copy(&call->command, option);
    if (value)
        words_add_copy(&call->command, value);
}

void call_remove(struct call *call, const char *option)
{
    struct words before = call->command;
    call->command = (struct words){.list = NULL};
    for (size_t i = 0; i < before.count; i++) {
        if (str_equal(before.list[i], option) && i + 1 < before.count)
            i++;
        else
            words_add_copy(&call->command, before.list[i]);
    }
    words_deinit(&before);
}

void call_deinit(struct call *call)
{
    words_deinit(&call->command);
}

/* --- mounts --- */

/* Map a mount from a line of /proc/PID/mountinfo: number, parent, device, root, mount point, … */
static void map_mount(struct call *call, char *line)
{
    char *rest = NULL, *root = NULL, *point = NULL;
    char *word = strtok_r(line, " ", &rest);
    for (unsigned i = 0; word && i < 5; i++, word = strtok_r(NULL, " ", &rest)) {
        if (i == 3)
            root = word;
        point = word;
    }
    if (!root || (!str_starts_with(root, "/custom/") && !str_equal(point, FOLDER_FOR_MOUNTS)))
        return;
    words_add_copy(&call->command, "--ext-mount-map");
    words_add(&call->command, xasprintf("%s:%s", point, point));
}

void call_map_mounts(struct call *call)
{
    autofree char *path = xasprintf("/proc/%d/mountinfo", (int)call->pid);
    autofree char *line = NULL;
    size_t size = 0;
    autofclose FILE *mounts = fopen(path, "re");
    while (mounts && getline(&line, &size, mounts) >= 0)
        map_mount(call, line);
}

/* Read lxc.mount.auto = shmounts:PATH:/dev/.incus-mounts. */
static char *folder_of(const char *line)
{
    static const char key[] = "lxc.mount.auto", kind[] = "shmounts:";
    static const char end[] = ":" FOLDER_FOR_MOUNTS "\n";
    const char *value = strchr(line, '=');
    if (!str_starts_with(line, key) || !value || !str_ends_with(line, end))
        return NULL;
    value += 1 + strspn(value + 1, " ");
    if (!str_starts_with(value, kind))
        return NULL;
    value += strlen(kind);
    return xstrndup(value, strlen(value) - strlen(end));
}

/* Images of earlier versions contain the path itself, and do not use this option. */
void call_map_folder(struct call *call, const char *config)
{
    autofree char *line = NULL;
    autofree char *folder = NULL;
    size_t size = 0;
    autofclose FILE *lines = config ? fopen(config, "re") : NULL;
    while (!folder && lines && getline(&line, &size, lines) >= 0)
        folder = folder_of(line);
    if (!folder)
        return;
    words_add_copy(&call->command, "--ext-mount-map");
    words_add(&call->command, xasprintf(FOLDER_FOR_MOUNTS ":%s", folder));
}
