/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ip ARGUMENT…: wrapper of ip in incusd's PATH. It lets a start succeed after a failed restore.
 *
 * A restore that incusd gives up leaves a pair of interfaces with the route to the sandbox's
 * address. The next start would then fail to add the route ("File exists"). The wrapper deletes
 * that pair.
 */
#include "helper/network/ip.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/str.h"
#include "helper/common/run.h"
#include "helper/helper.h"

#define ANSWER_MAX 65536
#define WORD(text) ((char *)(text)) /* execvp() and posix_spawn() do not write to arguments */

const char *ip_added_address(int argc, char *const argv[])
{
    static const char *const words[] = {"-4", "route", "add", "table", "main", NULL, "dev"};
    if (argc != 9)
        return NULL;
    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (words[i] && !str_equal(argv[i + 1], words[i]))
            return NULL;
    return argv[6];
}

char *ip_link_of_route(const char *routes)
{
    static const char key[] = " dev ";
    autofree char *line = xstrndup(routes, strcspn(routes, "\n"));
    const char *found = NULL;
    for (const char *next = line; (next = strstr(next, key)); next++)
        found = next + strlen(key);
    return found && *found ? xstrndup(found, strcspn(found, " ")) : NULL;
}

/* ip names the other end after an "@", or shows its number (@if7) when it is not on this host. */
bool ip_is_stale(const char *answer, const char *link)
{
    autofree char *name = xasprintf(": %s@", link);
    const char *end = strstr(answer, name);
    if (!end)
        return false;
    end += strlen(name);
    return !str_starts_with(end, "if") || end[2] < '0' || end[2] > '9';
}

static void remove_stale(const char *ip, const char *address)
{
    autofree char *routes =
        run_read((char *[]){WORD(ip), WORD("-4"), WORD("-o"), WORD("route"), WORD("show"),
                            WORD("exact"), WORD(address), WORD("table"), WORD("main"), NULL},
                 ANSWER_MAX);
    autofree char *link = routes ? ip_link_of_route(routes) : NULL;
    if (!link)
        return;
    autofree char *answer =
        run_read((char *[]){WORD(ip), WORD("-o"), WORD("link"), WORD("show"), WORD("dev"), link,
                            WORD("type"), WORD("veth"), NULL},
                 ANSWER_MAX);
    if (answer && ip_is_stale(answer, link))
        run_wait((char *[]){WORD(ip), WORD("link"), WORD("delete"), WORD("dev"), link, NULL},
                 false);
}

int helper_ip(int argc, char **argv)
{
    static const char *const places[] = {"/usr/sbin/ip", "/sbin/ip", "/usr/bin/ip", "/bin/ip"};
    const char *ip = run_first_of(places, ARRAY_SIZE(places));
    const char *address = ip_added_address(argc, argv);
    argv[0] = WORD(ip);
    if (address) {
        if (run_wait(argv, true) == 0)
            return 0;
        remove_stale(ip, address);
    }
    return run_become(ip, argv);
}
