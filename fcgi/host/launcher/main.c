/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * incusd-exec: what incusd calls instead of itself for its helper commands, where INCUS_EXEC_PATH
 * names it. It mends what follows and passes everything else on. Most of it is about containers
 * that are restored from a memory image (`forkmigrate NAME LXCPATH CONFIG IMAGES …`).
 *
 *  - A start that does not end (`forkstart NAME LXCPATH CONFIG`) would wait for ever, and incusd
 *    with it. The places that liblxc mounts on, which root of the sandbox may have made named
 *    pipes of, are looked at before. A start is killed after START_S seconds with all that came of
 *    it, a restore after as many and one more for each 16 MiB of its image. The place of a mount
 *    in a running container (`forkmount lxc-mount -- NAME LXCPATH CONFIG SOURCE TARGET …`) is
 *    looked at likewise, as it would keep the next start from its disk from coming up.
 *  - incusd's own program takes a while before it starts anything, and as the monitor of a
 *    container holds much memory: sandlot-start, beside this program, is run instead.
 *  - Incus up to 6.0 passes the bare name of the instance, which is the container's name in the
 *    project "default" only. Elsewhere the container comes up under a name that incusd does not
 *    know: incusd reports success and the instance as stopped, while its processes run on. The
 *    directory of CONFIG has the right name. (lxc/incus#3692)
 *  - A restore that fails, or a start before liblxc has come to its hooks, leaves the interfaces
 *    that were made for it on the host, with the route to the address of the sandbox, so that no
 *    other start can follow.
 *  - When a restored container ends, liblxc does not know its network namespace and sets no
 *    LXC_NET_NS for the hook `callhook … stopns`; incusd then takes the hook for the other one
 *    (`stop`) and never stops the network devices. Each such container leaves a base chain at
 *    prerouting in nftables, and the kernel allows 1024 of those. A routed device needs nothing
 *    from the namespace, so any path does, and one that is no namespace cannot be entered by
 *    mistake.
 *  - A container that ends while incusd is away, because incusd was killed while it paused it for
 *    one, calls its hooks in vain: liblxc gives the interface back to the host and nobody removes
 *    it. The route to the sandbox's address stays with it, and no start can have that address
 *    again. By the last hook (`callhook … stop`) incusd has removed the interface; where it has
 *    not, this does.
 *  - A guest that reboots again and again is started by incusd each time (reboots.h).
 *  - A pause that was cut off leaves a part of the image, which the sandbox's disk quota pays for,
 *    and incusd does not know of it. A start from the disk needs none.
 *  - A copy of a sandbox with its memory has the image of its original, and incusd starts it from
 *    the disk: its own records do not say that the copy was paused. Where the configuration says
 *    that it is to go on, its first start is a restore of that image, which fcgi/host/btrfs
 *    has put aside. What asks incusd for a restore instead (`incus restore --stateful`) gets it
 *    back.
 *  - incusd is started for each hook of a container, only to ask the incusd that runs to do
 *    something: this asks in its place (hook.h).
 *  - What is counted by user, such as queued signals and message queues, the kernel compares for
 *    all sandboxes together with the limits of who made the sandbox: those are lifted here, and
 *    each sandbox has limits of its own. A container starts through sandlot-confine, which leaves
 *    it the system calls of the machine's own kind; a restored one has that filter in its image.
 *  - A sandbox sees of the pool's quota groups its own (disk_view.h).
 *  - A waiting instance that is handed over with volumes has them before incusd is told (given.h).
 *  - A host answers ARP for all its addresses on every link (links.h).
 *
 * On failure its last line on standard error is what the control plane reads in the words of incusd
 * (fcgi/drivers/incus/incus_answer.c).
 */
#include <errno.h>
#include <limits.h>
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
#include "base/str.h"
#include "common/bounded.h"
#include "common/mount_note.h"
#include "launcher/disk_view.h"
#include "launcher/given.h"
#include "launcher/hook.h"
#include "launcher/incusd.h"
#include "launcher/links.h"
#include "launcher/memory.h"
#include "launcher/mount_points.h"
#include "launcher/orphans.h"
#include "launcher/reboots.h"

#define START_S     60
#define STUCK       124 /* the status of what was killed after its time */
#define CANNOT_RUN  127
#define ERRORS_TOLD 3

static char own[PATH_MAX]; /* this program's path; "" where it is not known */

/* A program beside this one. NULL: there is none. The caller frees it. */
static char *beside(const char *name)
{
    const char *slash = strrchr(own, '/');
    char *path = xasprintf("%.*s/%s", (int)(slash ? slash - own : 0), own, name);
    if (access(path, X_OK) == 0)
        return path;
    free(path);
    return NULL;
}

static int fail(const struct error *err)
{
    const char *what = err->code == ERR_INVALID_REQUEST ? "mount point " : "";
    fprintf(stderr, "incusd-exec: %s%s\n", what, err->message);
    return err->code == ERR_RUNTIME_STUCK ? STUCK : EXIT_FAILURE;
}

static int pass_on(char **words)
{
    words[0] = (char *)incusd_program(); /* which execvp() does not write to */
    execvp(words[0], words);
    fprintf(stderr, "incusd-exec: %s cannot be run: %s\n", words[0], strerror(errno));
    return CANNOT_RUN;
}

static int run_bounded(char *const command[], unsigned limit_s)
{
    error_auto err = NULL;
    int status;
    if (bounded_run(command, limit_s, &status, &err) < 0)
        return fail(err);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* --- starts --- */

struct start {
    char *name, *lxc_path, *config_path;
    char *image, *inodes; /* of a restore: where from, and whether the disk has the same ones */
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

/* Where the machine lets root do so; its own limits hold otherwise. */
static void lift_limits(void)
{
    static const int kinds[] = {RLIMIT_SIGPENDING, RLIMIT_MSGQUEUE, RLIMIT_MEMLOCK};
    const struct rlimit none = {RLIM_INFINITY, RLIM_INFINITY};
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        setrlimit((__rlimit_resource_t)kinds[i], &none);
}

/* Its last words are those of incusd's own command. */
static int run_liblxc(const struct start *start)
{
    autofree char *confine = start->image ? NULL : beside("sandlot-confine");
    autofree char *starter = beside("sandlot-start");
    autofree char *library = incusd_library();
    char *command[16], verb[] = "forkmigrate", from_disk[] = "forkstart";
    size_t count = 0;
    if (confine)
        command[count++] = confine;
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
    return run_bounded(command, start->limit_s);
}

static int prepare(const struct start *start, struct error **err)
{
    hook_take_over(start->config_path, own);
    if (given_settle(MOUNT_NOTES, start->name, &start->config, err) < 0 ||
        disk_view_prepare(&start->config, err) < 0)
        return -1;
    return start->image ? 0 : mount_points_check(&start->config, err);
}

static int launch(const struct start *start)
{
    error_auto err = NULL;
    return prepare(start, &err) < 0 ? fail(err) : run_liblxc(start);
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
    /* What a copy of another container is to be called and where it is to be found, for
     * sandlot-criu, and its log. */
    setenv("SANDLOT_CONFIG", start->config_path, 1);
    setenv("SANDLOT_LOG", log, 1);
}

/* The start of one that goes on. */
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
        fprintf(stderr, "incusd-exec: the memory of %s is not there any more: %s\n", start->name,
                start->image);
        return EXIT_FAILURE;
    }
    start->inodes = statfs(folder, &found) == 0 && found.f_type == BTRFS_SUPER_MAGIC ? yes : no;
    int result = launch(start);
    if (result == 0)
        memory_remove(folder);
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

/* After a start or a restore. */
static int clean_up(const struct start *start, int result)
{
    if (result != 0)
        links_remove(&start->config);
    if (result == STUCK)
        orphans_remove_groups(start->name);
    return result;
}

/* forkstart NAME LXCPATH CONFIG */
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

/* The name of the folder that a file is in. */
static char *folder_name(const char *path)
{
    const char *slash = strrchr(path, '/'), *end = slash ? slash : path, *begin = end;
    while (begin > path && begin[-1] != '/')
        begin--;
    return xstrndup(begin, (size_t)(end - begin));
}

/* forkmigrate NAME LXCPATH CONFIG IMAGES INODES */
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
    return clean_up(&start, launch(&start));
}

/* --- mounts and hooks --- */

/* forkmount lxc-mount -- NAME LXCPATH CONFIG SOURCE TARGET … */
static int forkmount(char **words)
{
    container_config_auto config = {0};
    error_auto err = NULL;
    if (given_has(MOUNT_NOTES, words[4], words[7], words[8]))
        return EXIT_SUCCESS;
    if (container_config_read(words[6], &config, &err) < 0 ||
        mount_point_check(&config, words[8], &err) < 0)
        return fail(err);
    words[0] = (char *)incusd_program();
    return run_bounded(words, START_S);
}

/* forkumount lxc-umount -- NAME LXCPATH CONFIG TARGET: of one that it was given, perhaps. */
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

/* callhook FOLDER PROJECT NAME HOOK */
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

int main(int argc, char **argv)
{
    const char *verb = argc > 1 ? argv[1] : "";
    ssize_t size = readlink("/proc/self/exe", own, sizeof own - 1);
    own[size < 0 ? 0 : size] = '\0';
    if (str_equal(verb, "forkstart") && argc > 4)
        return forkstart(argv);
    if (str_equal(verb, "forkmigrate") && argc > 6)
        return forkmigrate(argv);
    if (str_equal(verb, "forkmount") && argc > 8 && str_equal(argv[2], "lxc-mount") &&
        str_equal(argv[3], "--"))
        return forkmount(argv);
    if (str_equal(verb, "forkumount") && argc > 7 && str_equal(argv[2], "lxc-umount") &&
        str_equal(argv[3], "--"))
        return forkumount(argv);
    if (str_equal(verb, "callhook"))
        return callhook(argv, argc > 5 ? argv[5] : "");
    return pass_on(argv);
}
