/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ip ARGUMENT…: wrapper of ip in incusd's PATH. It lets a start succeed after a failed restore.
 *
 * A restore that incusd gives up leaves a pair of interfaces with the route to the sandbox's
 * address. The next start would then fail to add the route ("File exists"). The wrapper deletes
 * that pair. If one end is in the network namespace of a container that was killed, the kernel
 * deletes the pair, some time after the last process has ended: the wrapper waits for this.
 */
#include "helper/network/ip.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "helper/common/run.h"
#include "helper/helper.h"

#define ANSWER_MAX  65536
#define PAIR_END_MS 20000 /* the longest wait for the kernel */
#define LOOK_MS     100
#define WORD(text)  ((char *)(text)) /* execvp() and posix_spawn() do not write to arguments */

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

/* Return the link of the route to an address; the caller frees it. NULL: there is no route. */
static char *link_to(const char *ip, const char *address)
{
    autofree char *routes =
        run_read((char *[]){WORD(ip), WORD("-4"), WORD("-o"), WORD("route"), WORD("show"),
                            WORD("exact"), WORD(address), WORD("table"), WORD("main"), NULL},
                 ANSWER_MAX);
    return routes ? ip_link_of_route(routes) : NULL;
}

static void remove_stale(const char *ip, const char *link)
{
    autofree char *answer =
        run_read((char *[]){WORD(ip), WORD("-o"), WORD("link"), WORD("show"), WORD("dev"),
                            WORD(link), WORD("type"), WORD("veth"), NULL},
                 ANSWER_MAX);
    if (answer && ip_is_stale(answer, link))
        run_wait((char *[]){WORD(ip), WORD("link"), WORD("delete"), WORD("dev"), WORD(link), NULL},
                 false);
}

/* Wait until no other link has the route. */
static void clear_route(const char *ip, const char *address, const char *own)
{
    int64_t give_up_ms = clock_monotonic_ms() + PAIR_END_MS;
    do {
        autofree char *link = link_to(ip, address);
        if (!link || str_equal(link, own))
            return;
        remove_stale(ip, link);
        clock_sleep_ms(LOOK_MS);
    } while (clock_monotonic_ms() < give_up_ms);
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
        clear_route(ip, address, argv[8]);
    }
    return run_become(ip, argv);
}
