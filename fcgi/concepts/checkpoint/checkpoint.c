/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "checkpoint/checkpoint.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "checkpoint/checkpoint_row.h"

const char *const checkpoint_state_names[CHECKPOINT_STATE_COUNT] = {
#define STATE(symbol, name) [symbol] = name,
#include "checkpoint/checkpoint_state.def"
#undef STATE
};

enum checkpoint_state checkpoint_state_made(const struct checkpoint *checkpoint)
{
    if (checkpoint->for_fork)
        return CHECKPOINT_FORKING;
    return checkpoint->name[0] ? CHECKPOINT_READY : CHECKPOINT_KEPT;
}

void checkpoint_source(const struct checkpoint *checkpoint, char out[CHECKPOINT_SOURCE_SIZE])
{
    bool snapshot = checkpoint->for_fork;
    snprintf(out, CHECKPOINT_SOURCE_SIZE, "%s%s%s", snapshot ? checkpoint->agent_instance : "",
             snapshot ? "/" : "", checkpoint->instance_name);
}

static int not_found(struct error **err)
{
    return error_set(err, ERR_NOT_FOUND, "There is no such checkpoint.");
}

static int get_of_team(struct db *db, const struct team *team, const char *id,
                       struct checkpoint *checkpoint, struct error **err)
{
    if (checkpoint_get(db, id, checkpoint, err) < 0)
        return -1;
    return str_equal(checkpoint->team_id, team->id) ? 0 : not_found(err);
}

int checkpoint_resolve(struct db *db, const struct team *team, const char *reference,
                       struct checkpoint *checkpoint, struct error **err)
{
    uint64_t version = 0; /* the newest */
    if (id_is_valid("ckp_", reference))
        return get_of_team(db, team, reference, checkpoint, err);
    size_t prefix = strlen(team->slug);
    if (strncmp(reference, team->slug, prefix) == 0 && reference[prefix] == '/')
        reference += prefix + 1;
    autofree char *name = xstrdup(reference);
    char *suffix = strchr(name, ':');
    if (suffix)
        *suffix++ = '\0';
    bool newest = !suffix || str_equal(suffix, "latest") || str_equal(suffix, "default");
    if (!checkpoint_name_is_valid(name) || (!newest && !checkpoint_tag_is_valid(suffix)))
        return not_found(err);
    if (!newest) {
        error_auto missing = NULL;
        if (checkpoint_row_find(db, team->id, reference, 0, checkpoint, &missing) == 0)
            return 0;
        if (missing->code != ERR_NOT_FOUND)
            return error_move(err, &missing);
        if (str_parse_u64(suffix, 1, UINT32_MAX, &version) < 0)
            return not_found(err);
    }
    return checkpoint_row_find(db, team->id, name, (uint32_t)version, checkpoint, err);
}

bool checkpoint_is_unnamed(const struct checkpoint *checkpoint)
{
    size_t prefix = strlen(CHECKPOINT_UNNAMED);
    return str_starts_with(checkpoint->name, CHECKPOINT_UNNAMED) &&
           str_equal(checkpoint->name + prefix, checkpoint->id + strlen("ckp_"));
}

bool checkpoint_tag_is_valid(const char *tag)
{
    size_t length = strlen(tag);
    return length >= 1 && length <= CHECKPOINT_TAG_MAX &&
           strspn(tag, "abcdefghijklmnopqrstuvwxyz0123456789._-") == length;
}

bool checkpoint_name_is_valid(const char *name)
{
    size_t length = strlen(name);
    return length >= 1 && length <= CHECKPOINT_NAME_MAX &&
           strspn(name, ALPHANUMERIC "._-") == length && strspn(name, ALPHANUMERIC) > 0;
}
