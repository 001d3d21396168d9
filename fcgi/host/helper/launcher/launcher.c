/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * incusd-exec COMMAND…: run incusd's helper commands with the workarounds in workarounds.def.
 *
 * INCUS_EXEC_PATH names this program, and incusd calls it in place of itself. Other commands are
 * passed to incusd. After a failure, the control plane reads the last line on standard error, in
 * the words of incusd (fcgi/drivers/incus/incus_answer.c).
 *
 * - forkstart NAME LXCPATH CONFIG: start. It is killed with all descendants after START_S seconds,
 *   because incusd would wait forever.
 * - forkmigrate NAME LXCPATH CONFIG IMAGES …: restore, with one more second for each 16 MiB.
 * - forkmount, forkumount: volumes of a running container.
 * - callhook: the hooks of a container.
 * - forklimits: the start of a virtual machine's QEMU.
 */
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/memory_loss.h"
#include "base/str.h"
#include "common/bounded_run.h"
#include "common/mount_note.h"
#include "helper/common/run.h"
#include "helper/common/self.h"
#include "helper/confine/confine.h"
#include "helper/helper.h"
#include "helper/launcher/disk_view.h"
#include "helper/launcher/granted_mounts.h"
#include "helper/launcher/hook.h"
#include "helper/launcher/incusd.h"
#include "helper/launcher/links.h"
#include "helper/launcher/machine.h"
#include "helper/launcher/memory.h"
#include "helper/launcher/mount_points.h"
#include "helper/launcher/orphans.h"
#include "helper/launcher/processors.h"
#include "helper/launcher/reboots.h"

#define START_S     60
#define STUCK       124 /* exit status after a timeout */
#define ERRORS_TOLD 3

/* Return the path of a program in the same folder; the caller frees it. NULL: it does not exist. */
static char *beside(const char *name)
{
    autofree char *path = self_beside(name);
    return access(path, X_OK) == 0 ? steal_pointer(&path) : NULL;
}

static int fail(const struct error *err)
{
    const char *what = err->code == ERR_INVALID_REQUEST ? "mount point " : "";
    fprintf(stderr, "incusd-exec: %s%s\n", what, err->message);
    return err->code == ERR_RUNTIME_STUCK ? STUCK : EXIT_FAILURE;
}

static int pass_on(char **words)
{
    words[0] = (char *)incusd_program(); /* execvp() does not write to arguments */
    return run_become(words[0], words);
}

/* Run a command with a time limit. before: see bounded_run_after(); may be NULL. */
static int run_bounded(int (*before)(void), char *const command[], unsigned limit_s)
{
    error_auto err = NULL;
    int status;
    if (bounded_run_after(before, command, limit_s, &status, &err) < 0)
        return fail(err);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* --- starts --- */

struct start {
    char *name, *lxc_path, *config_path;
    char *image, *inodes; /* for a restore: the image's folder, and whether the disk keeps its inode
                             numbers */
    unsigned limit_s;
    struct container_config config;
};

static void start_deinit(struct start *start)
{
    free(start->name);
    free(start->image);
    container_config_deinit(&start->config);
}
#define start_auto __attribute__((cleanup(start_deinit))) struct start

/* Remove limits, if the machine allows it to root. Otherwise its own limits apply. */
static void lift_limits(void)
{
    static const int kinds[] = {RLIMIT_SIGPENDING, RLIMIT_MSGQUEUE, RLIMIT_MEMLOCK};
    const struct rlimit none = {RLIM_INFINITY, RLIM_INFINITY};
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        setrlimit((__rlimit_resource_t)kinds[i], &none);
}

/* Run liblxc. The last lines of its output are those of incusd's own command. */
static int run_liblxc(const struct start *start)
{
    autofree char *starter = beside("sandlot-start");
    autofree char *library = incusd_library();
    char *command[16], verb[] = "forkmigrate", from_disk[] = "forkstart";
    size_t count = 0;
    if (starter && library) {
        command[count++] = starter;
        command[count++] = library;
    } else {
        command[count++] = (char *)incusd_program();
    }
    command[count++] = start->image ? verb : from_disk;
    command[count++] = start->name;
    command[count++] = start->lxc_path;
    command[count++] = start->config_path;
    command[count++] = start->image;
    command[count++] = start->inodes;
    command[count] = NULL;
    /* A restored container has the filter in its image. */
    return run_bounded(start->image ? NULL : confine_calls, command, start->limit_s);
}

static int prepare(const struct start *start, struct error **err)
{
    autofree char *own = self_beside("incusd-exec");
    hook_take_over(start->config_path, own);
    if (granted_mounts_settle(MOUNT_NOTES, start->name, &start->config, err) < 0 ||
        disk_view_prepare(&start->config, err) < 0)
        return -1;
    if (start->image)
        return 0;
    if (mount_points_check(&start->config, err) < 0)
        return -1;
    return processors_configure(PROCESSORS_ROOT, start->config_path, &start->config, err);
}

/* Delete the note about an earlier memory, and return its path for the wrapper of CRIU; the caller
 * frees it. */
static char *forget_loss(const struct start *start)
{
    const char *log = start->config.log_file;
    const char *slash = log ? strrchr(log, '/') : NULL;
    if (!slash)
        return NULL;
    char *path = xasprintf("%.*s/" MEMORY_LOSS_FILE, (int)(slash - log), log);
    unlink(path);
    return path;
}

static int launch(const struct start *start)
{
    error_auto err = NULL;
    autofree char *loss = forget_loss(start);
    if (loss && start->image)
        setenv(MEMORY_LOSS_ENVIRONMENT, loss, 1);
    processors_uncover();
    if (prepare(start, &err) < 0)
        return fail(err);
    int result = run_liblxc(start);
    if (result == 0 && start->image)
        processors_correct(PROCESSORS_ROOT, start->name, &start->config);
    return result;
}

static void tell_errors(const char *log)
{
    autofree char *line = NULL;
    size_t size = 0;
    autofclose FILE *lines = fopen(log, "re");
    for (unsigned told = 0; lines && told < ERRORS_TOLD && getline(&line, &size, lines) >= 0;) {
        if (!strstr(line, "Error"))
            continue;
        fputs(line, stderr);
        told++;
    }
}

static void restore_from(struct start *start, const char *folder)
{
    autofree char *log = xasprintf("%s/restore.log", folder);
    start->image = memory_image(folder);
    start->limit_s = START_S + memory_read_s(start->image);
    /* For the wrapper of CRIU: the configuration has the name and address of a copy, and the log
     * must be outside a shared image. */
    setenv("SANDLOT_CONFIG", start->config_path, 1);
    setenv("SANDLOT_LOG", log, 1);
}

/* Start a container from the memory image of another one. */
static int go_on(struct start *start, const char *folder)
{
    static char yes[] = "true", no[] = "false";
    struct statfs found;
    if (!memory_mark_used(folder))
        return EXIT_FAILURE;
    incusd_lend_environment();
    restore_from(start, folder);
    autoclose int held = memory_hold(start->image);
    if (held < 0) {
        fprintf(stderr, "incusd-exec: the saved memory of %s does not exist any more: %s\n",
                start->name, start->image);
        return EXIT_FAILURE;
    }
    start->inodes = statfs(folder, &found) == 0 && found.f_type == BTRFS_SUPER_MAGIC ? yes : no;
    int result = launch(start);
    if (result == 0)
        memory_retire(start->name, folder);
    else
        tell_errors(getenv("SANDLOT_LOG"));
    return result;
}

static int start_from_disk(const struct start *start, const char *memory)
{
    autofree char *state = xasprintf("%s/%s/state", start->lxc_path, start->name);
    memory_remove(memory);
    memory_remove(state);
    orphans_remove(&start->config, start->lxc_path);
    return launch(start);
}

/* Delete the leftovers of a failed start or restore. */
static int clean_up(const struct start *start, int result)
{
    if (result != 0)
        links_remove(&start->config);
    if (result == STUCK)
        orphans_remove_groups(start->name);
    return result;
}

/* Handle forkstart NAME LXCPATH CONFIG. */
static int forkstart(char **words)
{
    start_auto start = {xstrdup(words[2]), words[3], words[4], .limit_s = START_S};
    autofree char *memory = xasprintf("%s/%s/sandlot-memory", start.lxc_path, start.name);
    error_auto err = NULL;
    if (container_config_read(start.config_path, &start.config, &err) < 0)
        return fail(err);
    lift_limits();
    links_close(&start.config);
    int result = memory_is_of_other(&start.config, start.name, memory)
                     ? go_on(&start, memory)
                     : start_from_disk(&start, memory);
    return clean_up(&start, result);
}

/* Return the name of the folder that a file is in. */
static char *folder_name(const char *path)
{
    const char *slash = strrchr(path, '/'), *end = slash ? slash : path, *begin = end;
    while (begin > path && begin[-1] != '/')
        begin--;
    return xstrndup(begin, (size_t)(end - begin));
}

/* Handle forkmigrate NAME LXCPATH CONFIG IMAGES INODES. */
static int forkmigrate(char **words)
{
    start_auto start = {folder_name(words[4]), words[3], words[4], .inodes = words[6]};
    error_auto err = NULL;
    if (container_config_read(start.config_path, &start.config, &err) < 0)
        return fail(err);
    memory_give_back(words[5]);
    restore_from(&start, words[5]);
    lift_limits();
    links_close(&start.config);
    int result = launch(&start);
    /* incusd would delete the image before it answers. */
    if (result == 0)
        memory_retire(start.name, words[5]);
    return clean_up(&start, result);
}

/* --- mounts and hooks --- */

/* Handle forkmount move-mount -- PID PIDFD TYPE SOURCE TARGET …. */
static int forkmount(char **words)
{
    autofree char *container = granted_mounts_container(words[4]);
    container_config_auto config = {.rootfs = xasprintf("/proc/%s/root", words[4])};
    error_auto err = NULL;
    if (container && granted_mounts_has(MOUNT_NOTES, container, words[7], words[8]))
        return EXIT_SUCCESS;
    if (mount_point_check(&config, words[8], &err) < 0)
        return fail(err);
    words[0] = (char *)incusd_program();
    return run_bounded(NULL, words, START_S);
}

/* Handle forkumount lxc-umount -- NAME LXCPATH CONFIG TARGET. The note is deleted: the volume may
 * be one of sandlot-limits. */
static int forkumount(char **words)
{
    mount_note_remove(MOUNT_NOTES, words[4]);
    return pass_on(words);
}

static void mend_end(const char *hook)
{
    const char *config_path = getenv("LXC_CONFIG_FILE");
    const char *network = getenv("LXC_NET_NS");
    container_config_auto config = {0};
    error_auto err = NULL;
    if (str_equal(hook, "stopns") && (!network || !*network))
        setenv("LXC_NET_NS", "/dev/null", 1);
    if (!config_path || container_config_read(config_path, &config, &err) < 0)
        return;
    reboots_limit(config.run_folder, hook);
    if (str_equal(hook, "stop"))
        links_remove(&config);
}

/* Handle callhook FOLDER PROJECT NAME HOOK. */
static int callhook(char **words, const char *hook)
{
    error_auto err = NULL;
    if (str_equal(hook, "stopns") || str_equal(hook, "stop"))
        mend_end(hook);
    if (str_equal(hook, "stop") && !str_equal(getenv("LXC_TARGET"), "reboot"))
        mount_note_remove(MOUNT_NOTES, words[4]);
    int result = hook_call(words, &err);
    if (result < 0)
        return fail(err);
    return result ? pass_on(words) : EXIT_SUCCESS;
}

int helper_incusd_exec(int argc, char **argv)
{
    const char *verb = argc > 1 ? argv[1] : "";
    if (str_equal(verb, "forkstart") && argc > 4)
        return forkstart(argv);
    if (str_equal(verb, "forkmigrate") && argc > 6)
        return forkmigrate(argv);
    if (str_equal(verb, "forkmount") && argc > 8 && str_equal(argv[2], "move-mount") &&
        str_equal(argv[3], "--"))
        return forkmount(argv);
    if (str_equal(verb, "forkumount") && argc > 7 && str_equal(argv[2], "lxc-umount") &&
        str_equal(argv[3], "--"))
        return forkumount(argv);
    if (str_equal(verb, "callhook"))
        return callhook(argv, argc > 5 ? argv[5] : "");
    if (str_equal(verb, "forklimits"))
        return machine_start(argv + 1);
    return pass_on(argv);
}
