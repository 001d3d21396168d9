/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sandlot-start LIBRARY forkstart NAME LXCPATH CONFIG
 * sandlot-start LIBRARY forkmigrate NAME LXCPATH CONFIG IMAGES PRESERVES_INODES
 *
 * Start or restore a container with liblxc, like incusd's helper commands of these names
 * (cmd/incusd/main_forkstart.go and main_forkmigrate.go of Incus 6.0).
 *
 * incusd is a large program, and needs 40 ms of processor time before it calls liblxc. Its process
 * becomes the container's monitor, and holds ten times as much memory as this program. LIBRARY is
 * the path of incusd's own liblxc, because incusd talks to the monitor through it.
 *
 * With cgroup v2 alone, the monitor of a restored container does not know that its group can be
 * frozen. In liblxc (5.0 to 6.0), a start notes that at its end, but a restore does not. The
 * monitor then refuses to name the group of the "freezer", and the next dump of the container
 * fails. All controllers of cgroup v2 share one group. Therefore recv() below, which liblxc calls
 * in place of the C library's, replaces the name "freezer" with that of another controller.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <lxc/lxccontainer.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/str.h"

#define VALUE_SIZE 4096

struct order {
    char *library, *name, *path, *config;
    char *images; /* NULL: start from the disk */
    bool preserves_inodes;
};

typedef struct lxc_container *container_new(const char *name, const char *path);

/* --- questions to liblxc's monitor --- */

/* A controller of Debian's kernels with a name of the same length. */
#define FREEZER             "freezer"
#define CONTROLLER          "hugetlb"
#define UNIFIED_CONTROLLERS "/sys/fs/cgroup/cgroup.controllers"

/* This container is restored on a machine with cgroup v2 alone. */
static bool replaces_freezer;

static bool unified_has(const char *controller)
{
    char line[VALUE_SIZE], *rest = NULL;
    autofclose FILE *file = fopen(UNIFIED_CONTROLLERS, "re");
    if (!file || !fgets(line, sizeof line, file))
        return false;
    for (char *word = strtok_r(line, " \n", &rest); word; word = strtok_r(NULL, " \n", &rest))
        if (str_equal(word, controller))
            return true;
    return false;
}

__attribute__((visibility("default"))) ssize_t recv(int fd, void *buffer, size_t size, int flags)
{
    ssize_t got = recvfrom(fd, buffer, size, flags, NULL, NULL);
    if (replaces_freezer && got == sizeof FREEZER && memcmp(buffer, FREEZER, sizeof FREEZER) == 0)
        memcpy(buffer, CONTROLLER, sizeof CONTROLLER);
    return got;
}

/* --- running --- */

static int fail(const char *what, const char *on)
{
    fprintf(stderr, "sandlot-start: %s %s\n", what, on);
    return EXIT_FAILURE;
}

static bool take_order(int count, char **words, struct order *order)
{
    if (count < 6)
        return false;
    bool restores = str_equal(words[2], "forkmigrate");
    *order = (struct order){words[1], words[3], words[4], words[5], NULL, false};
    if (!restores)
        return count == 6 && str_equal(words[2], "forkstart");
    if (count != 8)
        return false;
    order->images = words[6];
    order->preserves_inodes = str_equal(words[7], "true");
    return true;
}

/* Read a configuration item. It is "" if the container does not have it. */
static void read_item(struct lxc_container *container, const char *key, char value[VALUE_SIZE])
{
    int length = container->get_config_item(container, key, value, VALUE_SIZE);
    if (length <= 0 || length >= VALUE_SIZE)
        value[0] = '\0';
}

/* Open the file for the output of a start, in the folder of liblxc's log, as incusd does. Returns
 * -1 for a restore. */
static int open_output(struct lxc_container *container, const struct order *order)
{
    char log[VALUE_SIZE];
    read_item(container, "lxc.log.file", log);
    char *name = strrchr(log, '/');
    if (order->images || !name)
        return -1;
    autofree char *path = xasprintf("%.*s/forkstart.log", (int)(name - log), log);
    unlink(path);
    return open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);
}

/* Close incusd's pipes: incusd waits until all writers have closed them, and the monitor outlives
 * this process. */
static void leave_output(struct lxc_container *container, const struct order *order)
{
    autoclose int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    autoclose int log = open_output(container, order);
    int output = log >= 0 ? log : null;
    if (null < 0)
        return;
    dup2(null, STDIN_FILENO);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
}

/* Set the limits and signals that Go sets in incusd: a container has as many open files as the hard
 * limit allows. SIGPIPE is ignored, so the monitor survives clients that disconnect. */
static void be_like_incusd(void)
{
    struct rlimit limit;
    signal(SIGPIPE, SIG_IGN);
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

static bool start(struct lxc_container *container)
{
    char command[VALUE_SIZE];
    read_item(container, "lxc.execute.cmd", command);
    return container->start(container, *command != '\0', NULL);
}

static bool restore(struct lxc_container *container, const struct order *order)
{
    struct migrate_opts options = {
        .directory = order->images,
        .verbose = true,
        .preserves_inodes = order->preserves_inodes,
    };
    return container->migrate(container, MIGRATE_RESTORE, &options, sizeof options) == 0;
}

static int run(struct lxc_container *container, const struct order *order)
{
    if (!container->load_config(container, order->config))
        return fail("liblxc cannot read the configuration", order->config);
    be_like_incusd();
    leave_output(container, order);
    replaces_freezer = order->images && unified_has(CONTROLLER);
    return (order->images ? restore(container, order) : start(container)) ? EXIT_SUCCESS
                                                                          : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    struct order order;
    if (!take_order(argc, argv, &order)) {
        fputs("usage: sandlot-start LIBRARY forkstart NAME LXCPATH CONFIG\n"
              "       sandlot-start LIBRARY forkmigrate NAME LXCPATH CONFIG IMAGES true|false\n",
              stderr);
        return 2;
    }
    void *library = dlopen(order.library, RTLD_NOW);
    container_new *make = library ? (container_new *)dlsym(library, "lxc_container_new") : NULL;
    if (!make)
        return fail("cannot load liblxc:", dlerror());
    struct lxc_container *container = make(order.name, order.path);
    if (!container)
        return fail("out of memory for container", order.name);
    _exit(run(container, &order)); /* the end of the process frees liblxc's memory */
}
