/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/runtimes.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "network/firewall_client.h"

/* The time for which a worker trusts a way to a host that it has read. */
#define WAY_MS              1000
#define UNREACHABLE_RETRY_S 5

struct entry {
    struct host host;
    struct runtime *runtime;
    struct firewall *firewall; /* NULL: the host has none */
};

/* The way to a host and its condition, as its row had them at read_ms. */
struct way {
    uint32_t host_id;
    int64_t read_ms; /* monotonic */
    char *host_name, *relay_url;
    struct http_link *link; /* NULL: direct */
    struct host_condition condition;
};

struct runtimes {
    const struct settings *settings;
    runtimes_opener *opener;
    bool regardless;
    struct entry *entries;
    unsigned count;
    struct way *ways;
    unsigned way_count;
    struct way *replaced; /* callers that wait may still use their links */
    unsigned replaced_count;
};

struct runtimes *runtimes_new(const struct settings *settings)
{
    struct runtimes *runtimes = xcalloc(1, sizeof *runtimes);
    runtimes->settings = settings;
    runtimes->opener = runtime_incus_open;
    return runtimes;
}

void runtimes_open_by(struct runtimes *runtimes, runtimes_opener *opener)
{
    runtimes->opener = opener;
}

void runtimes_regardless(struct runtimes *runtimes)
{
    runtimes->regardless = true;
}

static void entry_deinit(struct entry *entry)
{
    runtime_close(entry->runtime);
    firewall_close(entry->firewall);
    host_deinit(&entry->host);
}

static void way_deinit(struct way *way)
{
    http_link_free(way->link);
    free(way->host_name);
    free(way->relay_url);
}

void runtimes_free(struct runtimes *runtimes)
{
    if (!runtimes)
        return;
    for (unsigned i = 0; i < runtimes->way_count; i++)
        way_deinit(&runtimes->ways[i]);
    for (unsigned i = 0; i < runtimes->replaced_count; i++)
        way_deinit(&runtimes->replaced[i]);
    free(runtimes->ways);
    free(runtimes->replaced);
    for (unsigned i = 0; i < runtimes->count; i++)
        entry_deinit(&runtimes->entries[i]);
    free(runtimes->entries);
    free(runtimes);
}

static bool is_same(const struct host *a, const struct host *b)
{
    return str_equal(a->url, b->url) && str_equal(a->server_cert, b->server_cert) &&
           str_equal(a->project, b->project) && str_equal(a->pool, b->pool) &&
           str_equal(a->nic_prefix, b->nic_prefix) && str_equal(a->firewall_url, b->firewall_url) &&
           str_equal(a->relay_url, b->relay_url) && str_equal(a->name, b->name);
}

static int open_runtime(const struct runtimes *runtimes, struct entry *entry, struct error **err)
{
    const struct settings *settings = runtimes->settings;
    const struct host *host = &entry->host;
    struct runtime_host target = {
        .url = host->url,
        .server_cert = host->server_cert,
        .client_cert_file = settings->incus_client_cert_file,
        .client_key_file = settings->incus_client_key_file,
        .project = host->project,
        .pool = host->pool,
        .nic_prefix = host->nic_prefix,
    };
    return runtimes->opener(&target, &entry->runtime, err);
}

/* Incus and firewalls get the same client certificate, unless the settings name another one for
 * firewalls. A host with a relay needs no address for its firewall. */
static int open_firewall(const struct settings *settings, struct entry *entry, struct error **err)
{
    bool own = *settings->firewall_client_cert_file;
    struct firewall_options options = {
        .url = entry->host.firewall_url,
        .host_name = entry->host.name,
        .relay_url = entry->host.relay_url,
        .relay_dir = settings->relay_dir,
        .ca_file = settings->firewall_ca_file,
        .client_cert_file =
            own ? settings->firewall_client_cert_file : settings->incus_client_cert_file,
        .client_key_file =
            own ? settings->firewall_client_key_file : settings->incus_client_key_file,
    };
    return options.url || options.relay_url ? firewall_open(&options, &entry->firewall, err) : 0;
}

static struct entry *find(struct runtimes *runtimes, uint32_t host_id)
{
    for (unsigned i = 0; i < runtimes->count; i++)
        if (runtimes->entries[i].host.id == host_id)
            return &runtimes->entries[i];
    return NULL;
}

/* --- conditions --- */

static int unreachable(int64_t since_ms, struct error **err)
{
    char since[CLOCK_ISO8601_SIZE];
    error_set(err, ERR_HOST_UNREACHABLE,
              "The host of this object has not answered since %s; try again later.",
              clock_format_iso8601(since_ms, since));
    (*err)->retry_after_s = UNREACHABLE_RETRY_S;
    return -1;
}

/* Refuse work on a host. since_ms: since when the needed part of the host has not answered; 0: it
 * answers. */
static int refuse(const struct runtimes *runtimes, const struct host_condition *condition,
                  int64_t since_ms, struct error **err)
{
    if (runtimes->regardless)
        return 0;
    if (condition->lost_at_ms)
        return error_set(err, ERR_HOST_LOST,
                         "The host is lost, with all its sandboxes, volumes and checkpoints.");
    return since_ms ? unreachable(since_ms, err) : 0;
}

/* --- ways --- */

static struct way *find_way(struct runtimes *runtimes, uint32_t host_id)
{
    for (unsigned i = 0; i < runtimes->way_count; i++)
        if (runtimes->ways[i].host_id == host_id)
            return &runtimes->ways[i];
    runtimes->ways = xreallocarray(runtimes->ways, runtimes->way_count + 1, sizeof *runtimes->ways);
    struct way *way = &runtimes->ways[runtimes->way_count++];
    *way = (struct way){.host_id = host_id};
    return way;
}

/* An operator changes the address of a host a few times in its life, so this list stays short. */
static void keep_replaced(struct runtimes *runtimes, const struct way *way)
{
    if (!way->host_name)
        return;
    runtimes->replaced =
        xreallocarray(runtimes->replaced, runtimes->replaced_count + 1, sizeof *runtimes->replaced);
    runtimes->replaced[runtimes->replaced_count++] = *way;
}

static int note_way(struct runtimes *runtimes, const struct host *host, struct way **way,
                    struct error **err)
{
    const char *credentials = runtimes->settings->relay_dir;
    if (host->relay_url && !*credentials)
        return error_set(err, ERR_CONFIG,
                         "cannot connect to host %s through its relay: set relay_dir to the folder "
                         "of the certificates",
                         host->name);
    *way = find_way(runtimes, host->id);
    (*way)->read_ms = clock_monotonic_ms();
    (*way)->condition = host->condition;
    if (str_equal((*way)->relay_url, host->relay_url) && str_equal((*way)->host_name, host->name))
        return 0;
    keep_replaced(runtimes, *way);
    (*way)->host_name = xstrdup(host->name);
    (*way)->relay_url = xstrdup_or_null(host->relay_url);
    (*way)->link = host->relay_url ? http_link_new(host->name, host->relay_url, credentials) : NULL;
    return 0;
}

/* *way NULL: all hosts are reached directly. */
static int look_up_way(struct runtimes *runtimes, struct db *db, uint32_t host_id, struct way **way,
                       struct error **err)
{
    struct host host;
    *way = NULL;
    if (!*runtimes->settings->relay_dir)
        return 0;
    *way = find_way(runtimes, host_id);
    if ((*way)->host_name && clock_monotonic_ms() - (*way)->read_ms < WAY_MS)
        return 0;
    if (host_get(db, host_id, &host, err) < 0)
        return -1;
    int result = note_way(runtimes, &host, way, err);
    host_deinit(&host);
    return result;
}

static int look_up_open_way(struct runtimes *runtimes, struct db *db, uint32_t host_id,
                            struct way **way, struct error **err)
{
    if (look_up_way(runtimes, db, host_id, way, err) < 0)
        return -1;
    return *way ? refuse(runtimes, &(*way)->condition, (*way)->condition.down_since_ms, err) : 0;
}

int runtimes_link(struct runtimes *runtimes, struct db *db, uint32_t host_id,
                  const struct http_link **link, struct error **err)
{
    struct way *way;
    if (look_up_open_way(runtimes, db, host_id, &way, err) < 0)
        return -1;
    *link = way ? way->link : NULL;
    return 0;
}

void runtimes_note_condition(struct runtimes *runtimes, uint32_t host_id,
                             const struct host_condition *condition)
{
    find_way(runtimes, host_id)->condition = *condition;
}

int runtimes_check(struct runtimes *runtimes, struct db *db, uint32_t host_id, struct error **err)
{
    struct way *way;
    if (look_up_way(runtimes, db, host_id, &way, err) < 0)
        return -1;
    return way ? refuse(runtimes, &way->condition,
                        way->relay_url ? way->condition.silent_since_ms : 0, err)
               : 0;
}

int runtimes_agent(struct runtimes *runtimes, struct db *db, uint32_t host_id, uint32_t address,
                   struct agent_place *place, struct error **err)
{
    *place = (struct agent_place){.address = address};
    return runtimes_link(runtimes, db, host_id, &place->link, err);
}

int runtimes_relay(struct runtimes *runtimes, struct db *db, uint32_t host_id,
                   struct relay_place *relay, struct error **err)
{
    struct way *way;
    if (look_up_open_way(runtimes, db, host_id, &way, err) < 0)
        return -1;
    *relay = way ? (struct relay_place){way->host_name, way->relay_url} : (struct relay_place){0};
    return 0;
}

/* --- connections --- */

static int open_entry(struct runtimes *runtimes, struct entry *entry, struct error **err)
{
    struct way *way;
    return note_way(runtimes, &entry->host, &way, err) < 0 ||
                   open_runtime(runtimes, entry, err) < 0 ||
                   open_firewall(runtimes->settings, entry, err) < 0
               ? -1
               : 0;
}

static int check_way(const struct runtimes *runtimes, const struct host *host, struct error **err)
{
    return refuse(runtimes, &host->condition, host->relay_url ? host->condition.silent_since_ms : 0,
                  err);
}

static struct runtime *lend(struct entry *entry)
{
    entry->runtime->tick = NULL;
    return entry->runtime;
}

int runtimes_get(struct runtimes *runtimes, struct db *db, uint32_t host_id,
                 struct runtime **runtime, struct error **err)
{
    struct entry fresh = {0};
    if (host_get(db, host_id, &fresh.host, err) < 0)
        return -1;
    if (check_way(runtimes, &fresh.host, err) < 0) {
        host_deinit(&fresh.host);
        return -1;
    }
    struct entry *entry = find(runtimes, host_id);
    if (entry && is_same(&entry->host, &fresh.host)) {
        host_deinit(&fresh.host);
    } else {
        if (open_entry(runtimes, &fresh, err) < 0) {
            entry_deinit(&fresh);
            return -1;
        }
        if (entry) {
            entry_deinit(entry);
        } else {
            runtimes->entries =
                xreallocarray(runtimes->entries, runtimes->count + 1, sizeof *runtimes->entries);
            entry = &runtimes->entries[runtimes->count++];
        }
        *entry = fresh;
    }
    *runtime = lend(entry);
    return 0;
}

int runtimes_of(struct runtimes *runtimes, struct db *db, const struct host *host,
                struct runtime **runtime, struct error **err)
{
    struct entry *entry = find(runtimes, host->id);
    if (!entry || !is_same(&entry->host, host))
        return runtimes_get(runtimes, db, host->id, runtime, err);
    if (check_way(runtimes, host, err) < 0)
        return -1;
    *runtime = lend(entry);
    return 0;
}

struct firewall *runtimes_firewall(struct runtimes *runtimes, uint32_t host_id)
{
    struct entry *entry = find(runtimes, host_id);
    return entry ? entry->firewall : NULL;
}
