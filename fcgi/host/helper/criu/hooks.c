/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "helper/criu/hooks.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/str.h"
#include "helper/criu/container.h"

#define LINK "eth0"

/* The settings of the container's link in its configuration. */
struct link {
    char *hwaddr, *address, *gateway;
};

static void take(const char *line, const char *key, char **value)
{
    const char *from = strchr(line, '=');
    size_t length = strlen(key);
    if (!from || strncmp(line, key, length) != 0 || line[length] != ' ')
        return;
    from += 1 + strspn(from + 1, " ");
    free(*value);
    *value = xstrndup(from, strcspn(from, " \n"));
}

static void read_link(struct link *link)
{
    const char *config = getenv("SANDLOT_CONFIG");
    autofree char *line = NULL;
    size_t size = 0;
    autofclose FILE *lines = config ? fopen(config, "re") : NULL;
    while (lines && getline(&line, &size, lines) >= 0) {
        take(line, "lxc.net.0.hwaddr", &link->hwaddr);
        take(line, "lxc.net.0.ipv4.address", &link->address);
        take(line, "lxc.net.0.ipv4.gateway", &link->gateway);
    }
}

static char *commands_for(const struct link *link)
{
    return xasprintf("link set dev " LINK " address %s\n"
                     "address flush dev " LINK "\n"
                     "address add %s dev " LINK "\n"
                     "route replace %s dev " LINK "\n"
                     "route replace default via %s dev " LINK "\n",
                     link->hwaddr, link->address, link->gateway, link->gateway);
}

static int fail(const char *what)
{
    fprintf(stderr,
            "sandlot-criu: the restored container keeps the addresses of its original: %s: %s\n",
            what, strerror(errno));
    return EXIT_FAILURE;
}

/* Replace the original's addresses on the network. ip does this in the container's network. */
static int renumber(pid_t pid)
{
    struct link link = {.hwaddr = NULL};
    read_link(&link);
    if (!link.hwaddr || !link.address || !link.gateway) {
        errno = ENOENT;
        return fail("its configuration has no new address");
    }
    autofree char *commands = commands_for(&link);
    autofree char *path = xasprintf("/proc/%d/ns/net", (int)pid);
    autoclose int network = open(path, O_RDONLY | O_CLOEXEC);
    autoclose int input = memfd_create("commands", MFD_CLOEXEC);
    if (network < 0 || setns(network, CLONE_NEWNET) < 0)
        return fail("cannot enter its network");
    if (input < 0 || write(input, commands, strlen(commands)) != (ssize_t)strlen(commands) ||
        lseek(input, 0, SEEK_SET) < 0 || dup2(input, STDIN_FILENO) < 0)
        return fail("cannot write the commands for ip");
    execlp("ip", "ip", "-batch", "-", NULL);
    return fail("cannot run ip");
}

/* Freeze a container that CRIU could not freeze (dump.c), before CRIU lets its processes go. */
static int hold(pid_t pid)
{
    freezer_auto freezer;
    freezer_init(&freezer, pid);
    freezer_hold(&freezer);
    return EXIT_SUCCESS;
}

/* Thaw the container: an image of an earlier version may have the frozen state. */
static int let_go_on(pid_t pid)
{
    freezer_auto freezer;
    freezer_init(&freezer, pid);
    freezer_thaw(&freezer);
    return EXIT_SUCCESS;
}

int hooks_act(const char *action)
{
    const char *text = getenv("CRTOOLS_INIT_PID");
    bool renumbers = str_equal(action, "post-restore"), holds = str_equal(action, "post-dump");
    uint64_t pid;
    if (!renumbers && !holds && !str_equal(action, "post-resume"))
        return EXIT_SUCCESS;
    if (!text || str_parse_u64(text, 1, INT32_MAX, &pid) < 0) {
        errno = EINVAL;
        return fail("CRIU gave no process of the container");
    }
    if (holds)
        return hold((pid_t)pid);
    return renumbers ? renumber((pid_t)pid) : let_go_on((pid_t)pid);
}
