/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "template/template_source.h"

#include <stdio.h>
#include <stdlib.h>
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

/* Copy the source from the first host that can send it. Both runtimes get the same tick. */
static int copy_from(struct db *db, struct runtimes *runtimes, struct runtime *to,
                     const uint32_t *hosts, unsigned count, const char *source, struct error **err)
{
    error_set(err, ERR_NOT_FOUND, "no other host has the template");
    for (unsigned i = 0; i < count && (*err)->code != ERR_LEASE_LOST; i++) {
        struct runtime *from;
        error_clear(err);
        if (runtimes_get(runtimes, db, hosts[i], &from, err) < 0)
            continue;
        from->tick = to->tick;
        from->tick_context = to->tick_context;
        int result = to->ops->transfer->receive_source(to, from, source, err);
        from->tick = NULL;
        if (result == 0)
            return 0;
    }
    return -1;
}

/* --- building on all hosts --- */

struct sources_build {
    struct template_sources *sources;
    bool from_drained;      /* no active host has the image: look at draining ones */
    struct error *no_image; /* of the first host that lacks the image */
    uint32_t lacking[TEMPLATE_HOSTS_MAX];
    unsigned lacking_count, active_count; /* active hosts without and with the source */
};

static int begin_on(struct template_sources *sources, const struct host *host,
                    struct runtime **runtime, struct error **err)
{
    return runtimes_get(sources->runtimes, sources->db, host->id, runtime, err) < 0
               ? -1
               : sources->begin(sources->context, host, *runtime, err);
}

static void end_on(struct template_sources *sources, const struct host *host)
{
    sources->hosts[sources->host_count++] = host->id;
    if (sources->done)
        sources->done(sources->context, host);
}

static bool is_asked(const struct sources_build *build, const struct host *host)
{
    const struct template_sources *sources = build->sources;
    bool is_due = build->from_drained ? host->state == HOST_DRAINING && !sources->host_count
                                      : host->state == HOST_ACTIVE;
    return is_due && host_answers(host) && sources->host_count < TEMPLATE_HOSTS_MAX;
}

static int note_lacking(struct sources_build *build, const struct host *host, struct error **err)
{
    if (host->state == HOST_ACTIVE && build->lacking_count < TEMPLATE_HOSTS_MAX)
        build->lacking[build->lacking_count++] = host->id;
    if (build->no_image)
        error_clear(err);
    else
        error_move(&build->no_image, err);
    return 0;
}

static int build_on(void *context, const struct host *host, struct error **err)
{
    struct sources_build *build = context;
    struct runtime *runtime;
    if (!is_asked(build, host))
        return 0;
    if (begin_on(build->sources, host, &runtime, err) < 0)
        return -1;
    if (make_source(build->sources, runtime, err) < 0)
        return (*err)->code == ERR_NOT_FOUND ? note_lacking(build, host, err) : -1;
    end_on(build->sources, host);
    build->active_count += host->state == HOST_ACTIVE;
    return 0;
}

static int copy_to(struct sources_build *build, const struct host *host, struct error **err)
{
    struct template_sources *sources = build->sources;
    struct runtime *runtime;
    char source[INSTANCE_NAME_SIZE];
    runtime_source_name(sources->version->id, source);
    if (begin_on(sources, host, &runtime, err) < 0 ||
        copy_from(sources->db, sources->runtimes, runtime, sources->hosts, sources->host_count,
                  source, err) < 0)
        return -1;
    end_on(sources, host);
    build->active_count++;
    return 0;
}

/* Copy the source to the hosts without the image. A host that cannot receive it is left out, unless
 * no other active host has it. */
static int copy_to_lacking(struct sources_build *build, struct error **err)
{
    struct template_sources *sources = build->sources;
    for (unsigned i = 0; i < build->lacking_count && sources->host_count < TEMPLATE_HOSTS_MAX;
         i++) {
        struct host host;
        error_auto failure = NULL;
        if (host_get(sources->db, build->lacking[i], &host, err) < 0)
            return -1;
        int result = copy_to(build, &host, &failure);
        bool is_last = i + 1 == build->lacking_count && !build->active_count;
        if (result < 0 && failure->code != ERR_LEASE_LOST && !is_last && sources->left_out)
            sources->left_out(sources->context, &host, failure);
        host_deinit(&host);
        if (result < 0 && (failure->code == ERR_LEASE_LOST || is_last))
            return error_move(err, &failure);
    }
    return 0;
}

static int build_all(struct sources_build *build, struct error **err)
{
    struct template_sources *sources = build->sources;
    if (hosts_each(sources->db, build_on, build, NULL, err) < 0)
        return -1;
    if (!sources->host_count && build->lacking_count) {
        build->from_drained = true;
        if (hosts_each(sources->db, build_on, build, NULL, err) < 0)
            return -1;
        if (!sources->host_count)
            return error_move(err, &build->no_image);
    }
    if (copy_to_lacking(build, err) < 0)
        return -1;
    return build->active_count
               ? 0
               : error_set(err, ERR_NO_CAPACITY, "no host accepts new templates at the moment");
}

int template_sources_build(struct template_sources *sources, struct error **err)
{
    struct sources_build *build = xcalloc(1, sizeof *build);
    build->sources = sources;
    int result = build_all(build, err);
    error_clear(&build->no_image);
    free(build);
    return result;
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

int template_source_fetch(struct db *db, struct runtimes *runtimes,
                          const struct template_version *version, uint32_t host_id,
                          struct runtime *runtime, struct error **err)
{
    char source[INSTANCE_NAME_SIZE];
    uint32_t origins[TEMPLATE_ORIGINS_MAX];
    unsigned count;
    autofree char *fingerprint = NULL;
    bool virtual_machine;
    runtime_source_name(version->id, source);
    if (runtime->ops->build_source(runtime, source, version->fingerprint, &fingerprint,
                                   &virtual_machine, err) < 0) {
        if (!error_clear_if(err, ERR_NOT_FOUND) ||
            template_row_origins(db, version->id, origins, &count, err) < 0)
            return -1;
        if (copy_from(db, runtimes, runtime, origins, count, source, err) < 0)
            return error_context(err, "the host does not have the image, and cannot copy the "
                                      "template from another host");
    }
    return template_source_add(db, version->id, host_id, source, err);
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
    return hosts_try_each(db, remove_from, &removal, err);
}
