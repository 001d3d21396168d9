/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "base/clock.h"
#include "ssh/listener.h"

struct counts {
    size_t of_address, of_key, of_user, of_team;
};

static struct counts count(struct listener *listener, const char *network,
                           const struct ssh_login *login, const char *team)
{
    struct counts counts = {0};
    struct connection *one;
    LIST_FOREACH(one, &listener->connections, entry)
    {
        counts.of_address += network && !strcmp(one->network, network);
        counts.of_key += login && !strcmp(one->login.key_id, login->key_id);
        counts.of_user += login && !strcmp(one->login.user_id, login->user_id);
        counts.of_team += team && !strcmp(one->team, team);
    }
    return counts;
}

const char *limit_of_address(struct listener *listener, const char *network)
{
    const struct settings *settings = listener->worker.settings;
    if (listener->connection_count >= settings->ssh_connections)
        return "all connections are in use (ssh_connections)";
    if (count(listener, network, NULL, NULL).of_address >= settings->ssh_address_connections)
        return "the address has too many connections (ssh_address_connections)";
    if (throttle_is_over(&listener->tries, network, settings->ssh_refusal_rate,
                         clock_monotonic_ms()))
        return "the address has offered too many unknown keys (ssh_refusal_rate)";
    return NULL;
}

static bool is_stranger(const struct connection *one)
{
    return !*one->login.user_id && !one->told_to_end;
}

size_t limit_rank(const struct listener *listener, const char *site)
{
    const struct connection *one;
    size_t rank = 0;
    LIST_FOREACH(one, &listener->connections, entry)
    rank += is_stranger(one) && !strcmp(one->site, site);
    return rank;
}

/* A client without a known key must not keep others out. An address that opens one connection after
 * another ends its own ones, and not that of a person who is about to sign in. */
struct connection *limit_of_strangers(struct listener *listener)
{
    struct connection *one, *last = NULL;
    size_t strangers = 0;
    LIST_FOREACH(one, &listener->connections, entry)
    if (is_stranger(one)) {
        strangers++;
        if (!last || one->rank >= last->rank) /* of the same rank, the oldest: new ones are first */
            last = one;
    }
    return strangers > listener->worker.settings->ssh_connections / 2 ? last : NULL;
}

const char *limit_of_key(struct listener *listener, const struct ssh_login *login)
{
    const struct settings *settings = listener->worker.settings;
    struct counts counts = count(listener, NULL, login, NULL);
    if (counts.of_key >= settings->ssh_key_sessions)
        return "This key has the most SSH sessions that are allowed; end one first.";
    if (counts.of_user >= settings->ssh_team_sessions)
        return "This user has the most SSH sessions that are allowed; end one first.";
    return NULL;
}

const char *limit_of_team(struct listener *listener, const char *team)
{
    if (count(listener, NULL, NULL, team).of_team >= listener->worker.settings->ssh_team_sessions)
        return "The team has the most SSH sessions that are allowed; end one first.";
    return NULL;
}
