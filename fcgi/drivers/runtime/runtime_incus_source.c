/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Template sources: stopped instances whose copies start without further preparation. */
#include "base/mem.h"
#include "base/str.h"
#include "runtime/runtime_incus.h"

static int make(struct runtime_incus *runtime, const char *source, const char *fingerprint,
                bool virtual_machine, struct error **err)
{
    json_auto_t *body = runtime_source_body(source, fingerprint, virtual_machine);
    return incus_instance_create(runtime->incus, body, err);
}

static int finish(struct runtime_incus *runtime, const char *source, struct error **err)
{
    json_auto_t *config = json_pack("{s:s}", RUNTIME_KEY_ROLE, "source");
    return runtime_patch(runtime, source, config, NULL, err);
}

/* Whether the source is there and finished; its fingerprint is that of the image it was made of. */
static int is_ready(struct runtime_incus *runtime, const char *source, bool *ready, bool *there,
                    char **fingerprint, bool *virtual_machine, struct error **err)
{
    incus_instance_auto instance = {0};
    enum runtime_status status;
    *ready = false;
    if (runtime_look(runtime, source, &instance, &status, err) < 0)
        return -1;
    *there = status != RUNTIME_ABSENT;
    if (status != RUNTIME_STOPPED ||
        !str_equal(incus_instance_config(&instance, RUNTIME_KEY_ROLE), "source"))
        return 0;
    *ready = true;
    *fingerprint = xstrdup(incus_instance_config(&instance, "volatile.base_image"));
    *virtual_machine = instance.virtual_machine;
    return 0;
}

int runtime_incus_build_source(struct runtime *base, const char *source, const char *image,
                               char **fingerprint, bool *virtual_machine, struct error **err)
{
    struct runtime_incus *runtime = runtime_incus_of(base);
    autofree char *resolved = NULL;
    bool ready, there;
    if (is_ready(runtime, source, &ready, &there, fingerprint, virtual_machine, err) < 0)
        return -1;
    if (ready)
        return 0;
    if (incus_image_resolve(runtime->incus, image, &resolved, virtual_machine, err) < 0)
        return -1;
    /* The leftover of an interrupted build. Two builds of one version at a time would disturb each
     * other; the callers build one after the other. */
    if (there && runtime_incus_destroy(base, source, err) < 0)
        return -1;
    if (make(runtime, source, resolved, *virtual_machine, err) < 0)
        return -1;
    if (finish(runtime, source, err) < 0)
        return -1;
    *fingerprint = steal_pointer(&resolved);
    return 0;
}
