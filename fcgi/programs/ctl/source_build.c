/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ctl/source_build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"

/* What an image turned out to be on a host. */
struct built {
    char *fingerprint;
    bool virtual_machine;
};

static void built_deinit(struct built *built)
{
    free(built->fingerprint);
}
#define built_auto __attribute__((cleanup(built_deinit))) struct built

static int build(struct ctl *ctl, const char *version_id, const struct host *host,
                 const char *image, struct built *built, struct error **err)
{
    char source[64];
    struct runtime *runtime;
    template_source_name(version_id, source);
    if (runtimes_get(ctl->runtimes, ctl->db, host->id, &runtime, err) < 0 ||
        runtime->ops->prepare(runtime, err) < 0 ||
        runtime->ops->build_source(runtime, source, image, &built->fingerprint,
                                   &built->virtual_machine, err) < 0)
        return error_context(err, "host %s", host->name);
    return template_source_add(ctl->db, version_id, host->id, source, err);
}

/* As far as it goes: a host that does not answer keeps a stopped instance that nobody uses. */
static void remove_source(struct ctl *ctl, const char *version_id, const struct host *host)
{
    error_auto err = NULL;
    char source[64];
    struct runtime *runtime;
    template_source_name(version_id, source);
    if (template_source_remove(ctl->db, version_id, host->id, &err) < 0 ||
        runtimes_get(ctl->runtimes, ctl->db, host->id, &runtime, &err) < 0 ||
        runtime->ops->destroy(runtime, source, &err) < 0)
        fprintf(stderr, "sandlotctl: %s on host %s is left behind: %s\n", source, host->name,
                err->message);
}

/* Build on one host; all hosts must agree on what the image is. */
static int build_alike(struct ctl *ctl, struct template_version *version, const struct host *host,
                       struct error **err)
{
    built_auto built = {0};
    int64_t started_ms = clock_monotonic_ms();
    fprintf(stderr, "host %s: building %s:%u from %s\n", host->name, version->slug,
            version->version, version->image);
    if (build(ctl, version->id, host, version->image, &built, err) < 0)
        return -1;
    fprintf(stderr, "host %s: done in %.1f s\n", host->name,
            (double)(clock_monotonic_ms() - started_ms) / 1000);
    if (!*version->fingerprint) {
        snprintf(version->fingerprint, sizeof version->fingerprint, "%s", built.fingerprint);
        version->virtual_machine = built.virtual_machine;
    } else if (strcmp(version->fingerprint, built.fingerprint) != 0) {
        return error_set(err, ERR_CONFIG,
                         "host %s has another image under the name %s than the hosts before it",
                         host->name, version->image);
    }
    return 0;
}

int source_build_all(struct ctl *ctl, struct template_version *version, const struct host *hosts,
                     unsigned count, struct error **err)
{
    for (unsigned i = 0; i < count; i++) {
        if (build_alike(ctl, version, &hosts[i], err) == 0)
            continue;
        error_auto ignored = NULL;
        for (unsigned j = 0; j <= i; j++)
            remove_source(ctl, version->id, &hosts[j]);
        template_version_finish(ctl->db, version->id, false, false, "", &ignored);
        return -1;
    }
    if (template_version_finish(ctl->db, version->id, true, version->virtual_machine,
                                version->fingerprint, err) < 0)
        return -1;
    version->state = TEMPLATE_READY;
    return 0;
}

int source_build_again(struct ctl *ctl, const struct template_version *version,
                       const struct host *host, struct error **err)
{
    built_auto built = {0};
    return build(ctl, version->id, host, version->fingerprint, &built, err);
}
