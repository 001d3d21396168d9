/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sandbox/sandbox_source.h"

#include "base/str.h"

const char *source_id(const struct source *source)
{
    return source->checkpoint.id[0] ? source->checkpoint.id : source->version.id;
}

int source_no_checkpoint(const char *field, struct error **err)
{
    return error_set_field(err, ERR_TEMPLATE_NOT_FOUND, field,
                           "The team has no checkpoint with this id or name.");
}

static int find_checkpoint(struct db *db, const struct sandbox_create *request,
                           struct source *source, struct error **err)
{
    struct checkpoint *checkpoint = &source->checkpoint;
    if (checkpoint_resolve(db, request->team, request->source, checkpoint, err) < 0) {
        if (!error_clear_if(err, ERR_NOT_FOUND))
            return -1;
        return source_no_checkpoint(request->source_field, err);
    }
    return template_version_get(db, checkpoint->template_version_id, &source->version, err);
}

/* A name that no template has may be the name of a checkpoint. */
static int find_named(struct worker *worker, const struct sandbox_create *request, const char *name,
                      const char *field, struct source *source, struct error **err)
{
    error_auto no_template = NULL;
    error_auto failure = NULL;
    if (template_resolve(worker->db, request->team->id, name, field, &source->version,
                         &no_template) == 0)
        return 0;
    if (no_template->code != ERR_TEMPLATE_NOT_FOUND || !request->source)
        return error_move(err, &no_template);
    if (find_checkpoint(worker->db, request, source, &failure) == 0)
        return 0;
    return error_move(err, failure->code == ERR_TEMPLATE_NOT_FOUND ? &no_template : &failure);
}

/* No template is named like the id of a checkpoint, so the form of the name distinguishes them. */
static int find_source(struct worker *worker, const struct sandbox_create *request,
                       struct source *source, struct error **err)
{
    const char *name = request->source ? request->source : worker->settings->default_template;
    const char *field = request->source_field ? request->source_field : "/template";
    *source = (struct source){.version = {.id = ""}};
    if (request->version) {
        source->version = *request->version;
        return 0;
    }
    if (request->copy) {
        source->checkpoint = *request->copy;
        return template_version_get(worker->db, request->copy->template_version_id,
                                    &source->version, err);
    }
    if (str_equal(field, "/snapshot_id") || id_is_valid("ckp_", name))
        return find_checkpoint(worker->db, request, source, err);
    return find_named(worker, request, name, field, source, err);
}

/* The memory fixes the size and the mounts, so the request may not choose them. */
static int check_memory(const struct sandbox_create *request, const struct source *source,
                        struct error **err)
{
    const char *field = request->cpu           ? "/cpu"
                        : request->memory_mb   ? "/memory_mb"
                        : request->mount_count ? "/volume_mounts"
                                               : NULL;
    if (!source->checkpoint.memory || !field)
        return 0;
    return error_set_field(
        err, ERR_INVALID_REQUEST, field,
        "A sandbox from a checkpoint with memory must have the checkpoint's size, and no volumes.");
}

/* Use the memory that was kept for the version, if it fits the request. */
static int find_memory(struct db *db, const struct sandbox_create *request, struct source *source,
                       struct error **err)
{
    struct checkpoint *memory = &source->checkpoint;
    if (memory->id[0] || source->version.start != TEMPLATE_START_MEMORY || request->mount_count)
        return 0;
    if (checkpoint_kept(db, source->version.memory_id, memory, err) < 0)
        return -1;
    source->from_memory = memory->id[0] && (!request->cpu || request->cpu == memory->cpu) &&
                          (!request->memory_mb || request->memory_mb == memory->memory_mb);
    if (!source->from_memory)
        *memory = (struct checkpoint){.id = ""};
    return 0;
}

int source_find(struct worker *worker, const struct sandbox_create *request, bool may_remember,
                struct source *source, struct error **err)
{
    if (find_source(worker, request, source, err) < 0 || check_memory(request, source, err) < 0)
        return -1;
    return may_remember ? find_memory(worker->db, request, source, err) : 0;
}
