/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/runtimes.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"
#include "network/firewall_client.h"

struct entry {
    struct host host;
    struct runtime *runtime;
    struct firewall *firewall; /* NULL: the host has none */
};

struct runtimes {
    const struct settings *settings;
    runtimes_opener *opener;
    struct entry *entries;
    unsigned count;
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

static void entry_deinit(struct entry *entry)
{
    runtime_close(entry->runtime);
    firewall_close(entry->firewall);
    host_deinit(&entry->host);
}

void runtimes_free(struct runtimes *runtimes)
{
    if (!runtimes)
        return;
    for (unsigned i = 0; i < runtimes->count; i++)
        entry_deinit(&runtimes->entries[i]);
    free(runtimes->entries);
    free(runtimes);
}

static bool is_same(const struct host *a, const struct host *b)
{
    return str_equal(a->url, b->url) && str_equal(a->server_cert, b->server_cert) &&
           str_equal(a->project, b->project) && str_equal(a->pool, b->pool) &&
           str_equal(a->nic_prefix, b->nic_prefix) && str_equal(a->firewall_url, b->firewall_url);
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

/* The client certificate is shown to Incus and to firewalls alike, unless they have another. */
static int open_firewall(const struct settings *settings, struct entry *entry, struct error **err)
{
    bool own = *settings->firewall_client_cert_file;
    struct firewall_options options = {
        .url = entry->host.firewall_url,
        .ca_file = settings->firewall_ca_file,
        .client_cert_file =
            own ? settings->firewall_client_cert_file : settings->incus_client_cert_file,
        .client_key_file =
            own ? settings->firewall_client_key_file : settings->incus_client_key_file,
    };
    return options.url ? firewall_open(&options, &entry->firewall, err) : 0;
}

static struct entry *find(struct runtimes *runtimes, uint32_t host_id)
{
    for (unsigned i = 0; i < runtimes->count; i++)
        if (runtimes->entries[i].host.id == host_id)
            return &runtimes->entries[i];
    return NULL;
}

int runtimes_get(struct runtimes *runtimes, struct db *db, uint32_t host_id,
                 struct runtime **runtime, struct error **err)
{
    struct entry fresh = {0};
    if (host_get(db, host_id, &fresh.host, err) < 0)
        return -1;
    struct entry *entry = find(runtimes, host_id);
    if (entry && is_same(&entry->host, &fresh.host)) {
        host_deinit(&fresh.host);
    } else {
        if (open_runtime(runtimes, &fresh, err) < 0 ||
            open_firewall(runtimes->settings, &fresh, err) < 0) {
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
    entry->runtime->tick = NULL;
    *runtime = entry->runtime;
    return 0;
}

struct firewall *runtimes_firewall(struct runtimes *runtimes, uint32_t host_id)
{
    struct entry *entry = find(runtimes, host_id);
    return entry ? entry->firewall : NULL;
}
