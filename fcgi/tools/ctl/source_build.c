/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ctl/source_build.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "template/template_source.h"
#include "template/template_trial.h"

/* Log a step of a build. */
struct progress {
    const struct template_version *version;
    char host[sizeof((struct host *)NULL)->name]; /* that is at work, or was; "": none yet */
    int64_t started_ms;
};

static int begin_host(void *context, const struct host *host, struct runtime *runtime,
                      struct error **err)
{
    struct progress *progress = context;
    const struct template_version *version = progress->version;
    fprintf(stderr, "host %s: building %s:%u from %s\n", host->name, version->slug,
            version->version, version->image);
    memcpy(progress->host, host->name, sizeof progress->host);
    progress->started_ms = clock_monotonic_ms();
    return runtime->ops->prepare(runtime, err);
}

static void host_done(void *context, const struct host *host)
{
    const struct progress *progress = context;
    fprintf(stderr, "host %s: done in %.1f s\n", host->name,
            (double)(clock_monotonic_ms() - progress->started_ms) / 1000);
}

static void host_left_out(void *context, const struct host *host, const struct error *why)
{
    const struct progress *progress = context;
    fprintf(stderr,
            "host %s: cannot copy %s:%u from another host: %s. Its sandboxes start on other hosts; "
            "`sandlotctl host activate %s` tries again\n",
            host->name, progress->version->slug, progress->version->version, why->message,
            host->name);
}

/* Start a sandbox from it. A host that has no room for one now still gets the version. */
static int try_out(struct ctl *ctl, const struct template_sources *sources, struct error **err)
{
    struct runtime *runtime;
    struct template_trial trial = {
        .db = ctl->db,
        .runtimes = ctl->runtimes,
        .settings = ctl->settings,
        .version = sources->version,
        .host_id = sources->hosts[sources->host_count - 1],
    };
    if (runtimes_get(ctl->runtimes, ctl->db, trial.host_id, &runtime, err) < 0)
        return -1;
    if (template_trial_run(&trial, runtime, err) == 0)
        return 0;
    if ((*err)->code != ERR_NO_CAPACITY && (*err)->code != ERR_INSUFFICIENT_STORAGE)
        return -1;
    fprintf(stderr, "sandlotctl: cannot start a trial sandbox from the template: %s\n",
            (*err)->message);
    error_clear(err);
    return 0;
}

static int finish_body(struct db *db, void *context, struct error **err)
{
    return template_sources_finish(db, NULL, context, true, err);
}

/* As far as possible: a host that does not answer keeps an unused stopped instance. */
static void give_up(struct ctl *ctl, const struct template_sources *sources)
{
    error_auto left = NULL;
    error_auto ignored = NULL;
    if (template_sources_remove(ctl->db, ctl->runtimes, sources->version->id, &left) < 0)
        fprintf(stderr, "sandlotctl: cannot delete the unfinished source of %s: %s\n",
                sources->version->id, left->message);
    template_sources_finish(ctl->db, NULL, sources, false, &ignored);
}

int source_build_all(struct ctl *ctl, struct template_version *version, struct error **err)
{
    struct progress progress = {.version = version};
    struct template_sources sources = {
        .db = ctl->db,
        .runtimes = ctl->runtimes,
        .version = version,
        .begin = begin_host,
        .done = host_done,
        .left_out = host_left_out,
        .context = &progress,
    };
    if (template_sources_build(&sources, err) < 0 || try_out(ctl, &sources, err) < 0) {
        give_up(ctl, &sources);
        return *progress.host ? error_context(err, "host %s", progress.host) : -1;
    }
    if (db_transaction(ctl->db, finish_body, &sources, err) < 0)
        return -1;
    version->state = TEMPLATE_READY;
    return 0;
}

int source_build_again(struct ctl *ctl, const struct template_version *version,
                       const struct host *host, struct error **err)
{
    struct runtime *runtime;
    if (runtimes_get(ctl->runtimes, ctl->db, host->id, &runtime, err) < 0 ||
        runtime->ops->prepare(runtime, err) < 0 ||
        template_source_fetch(ctl->db, ctl->runtimes, version, host->id, runtime, err) < 0)
        return error_context(err, "host %s", host->name);
    return 0;
}
