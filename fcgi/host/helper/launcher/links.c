/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "helper/launcher/links.h"

#include <fcntl.h>
#include <net/if.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"

/* Return the number of the other end of a pair, which may be in another namespace. 0: the link does
 * not exist. */
static unsigned peer_of(const char *link)
{
    autofree char *path = xasprintf("/sys/class/net/%s/iflink", link);
    autofclose FILE *file = fopen(path, "re");
    unsigned peer = 0;
    return file && fscanf(file, "%9u", &peer) == 1 ? peer : 0;
}

static void close_one(const char *link)
{
    char peer[IF_NAMESIZE];
    unsigned number = peer_of(link);
    if (!number || number == if_nametoindex(link) || !if_indextoname(number, peer))
        return;
    autofree char *path = xasprintf("/proc/sys/net/ipv4/conf/%s/arp_ignore", peer);
    autofclose FILE *file = fopen(path, "we");
    if (file)
        fputs("1\n", file);
}

void links_close(const struct container_config *config)
{
    for (unsigned i = 0; i < config->link_count; i++)
        close_one(config->links[i]);
}

static void remove_one(const char *link)
{
    pid_t pid = fork();
    if (pid == 0) {
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        dup2(null, STDOUT_FILENO);
        dup2(null, STDERR_FILENO);
        execlp("ip", "ip", "link", "delete", link, "type", "veth", NULL);
        _exit(127);
    }
    if (pid > 0)
        waitpid(pid, NULL, 0);
}

void links_remove(const struct container_config *config)
{
    for (unsigned i = 0; i < config->link_count; i++)
        if (if_nametoindex(config->links[i]))
            remove_one(config->links[i]);
}
