/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "template/template_source.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "template/template_row.h"

static int make_source(struct template_sources *sources, struct runtime *runtime,
                       struct error **err)
{
    struct template_version *version = sources->version;
    char source[INSTANCE_NAME_SIZE];
    autofree char *fingerprint = NULL;
    bool first = !sources->host_count;
    runtime_source_name(version->id, source);
    if (runtime->ops->build_source(runtime, source, version->image, &fingerprint,
                                   &version->virtual_machine, err) < 0 ||
        runtime->ops->measure_source(runtime, source, fingerprint, version->virtual_machine,
                                     &version->size_mb, err) < 0)
        return -1;
    if (!first && strcmp(fingerprint, version->fingerprint) != 0)
        return error_set(err, ERR_RUNTIME_REFUSED,
                         "the hosts have different images under the name %s", version->image);
    snprintf(version->fingerprint, sizeof version->fingerprint, "%s", fingerprint);
    return 0;
}

static int build_on(void *context, const struct host *host, struct error **err)
{
    struct template_sources *sources = context;
    struct runtime *runtime;
    if (host->state != HOST_ACTIVE || !host_answers(host) ||
        sources->host_count == TEMPLATE_HOSTS_MAX)
        return 0;
    if (runtimes_get(sources->runtimes, sources->db, host->id, &runtime, err) < 0 ||
        sources->begin(sources->context, host, runtime, err) < 0 ||
        make_source(sources, runtime, err) < 0)
        return -1;
    sources->hosts[sources->host_count++] = host->id;
    if (sources->done)
        sources->done(sources->context, host);
    return 0;
}

int template_sources_build(struct template_sources *sources, struct error **err)
{
    if (hosts_each(sources->db, build_on, sources, NULL, err) < 0)
        return -1;
    return sources->host_count
               ? 0
               : error_set(err, ERR_NO_CAPACITY, "no host accepts new templates at the moment");
}

static int finish_version(struct db *db, const char *lease_owner,
                          const struct template_version *version, bool ready, struct error **err)
{
    return lease_owner ? template_row_built(db, lease_owner, version, ready, err)
                       : template_version_finish(db, version->id, ready, version->virtual_machine,
                                                 version->fingerprint, err);
}

int template_sources_finish(struct db *db, const char *lease_owner,
                            const struct template_sources *sources, bool ready, struct error **err)
{
    const struct template_version *version = sources->version;
    char source[INSTANCE_NAME_SIZE];
    runtime_source_name(version->id, source);
    if (finish_version(db, lease_owner, version, ready, err) < 0 ||
        (ready && template_row_measured(db, version->id, version->size_mb, err) < 0))
        return -1;
    for (unsigned i = 0; ready && i < sources->host_count; i++)
        if (template_source_add(db, version->id, sources->hosts[i], source, err) < 0)
            return -1;
    return 0;
}

int template_source_copy(struct db *db, struct runtimes *runtimes, struct template_twin *twin,
                         struct error **err)
{
    char from[INSTANCE_NAME_SIZE], to[INSTANCE_NAME_SIZE];
    struct runtime *runtime;
    runtime_source_name(twin->from_id, from);
    runtime_source_name(twin->to_id, to);
    if (template_row_origin(db, twin->from_id, &twin->host_id, err) < 0 ||
        runtimes_get(runtimes, db, twin->host_id, &runtime, err) < 0)
        return -1;
    runtime->tick = twin->tick;
    runtime->tick_context = twin->context;
    int result = runtime->ops->copy(runtime, from, to, RUNTIME_SOURCE, twin->to_id, NULL, err);
    runtime->tick = NULL;
    return result;
}

/* --- removal --- */

struct removal {
    struct db *db;
    struct runtimes *runtimes;
    char source[INSTANCE_NAME_SIZE];
};

static int remove_from(void *context, const struct host *host, struct error **err)
{
    struct removal *removal = context;
    struct runtime *runtime;
    if (runtimes_get(removal->runtimes, removal->db, host->id, &runtime, err) < 0)
        return -1;
    return runtime->ops->destroy(runtime, removal->source, err);
}

int template_sources_remove(struct db *db, struct runtimes *runtimes, const char *version_id,
                            struct error **err)
{
    struct removal removal = {.db = db, .runtimes = runtimes};
    runtime_source_name(version_id, removal.source);
    return hosts_each(db, remove_from, &removal, NULL, err);
}
