/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The memory in which the start command of a version runs. */
#include <stdio.h>

#include "recipe/recipe_turn.h"
#include "sandbox/lifecycle.h"

static int set_memory(struct db *db, const char *checkpoint_id, void *context, struct error **err)
{
    struct recipe_turn *turn = context;
    snprintf(turn->version.memory_id, ID_SIZE, "%s", checkpoint_id);
    return template_version_set_memory(db, turn->row.version_id, checkpoint_id, err);
}

int recipe_turn_keep_memory(struct recipe_turn *turn, struct recipe_place *place,
                            struct error **err)
{
    const struct checkpoint_create wanted = {
        .user_id = turn->row.user_id,
        .name = "",
        .memory = true,
        .claim = set_memory,
        .claim_context = turn,
    };
    struct checkpoint checkpoint;
    error_auto failure = NULL;
    if (recipe_place_clean(place, err) < 0)
        return -1;
    recipe_turn_say(turn, "saving the memory of the sandbox");
    if (sandbox_checkpoint(turn->worker, turn->sandbox.id, &wanted, &checkpoint, &failure) == 0)
        return recipe_turn_ready(turn, TEMPLATE_START_MEMORY, err);
    return recipe_turn_no_memory(turn, failure->message, err);
}

int recipe_turn_look_at_memory(struct recipe_turn *turn, struct error **err)
{
    struct checkpoint checkpoint;
    if (checkpoint_get_any(turn->worker->db, turn->version.memory_id, false, &checkpoint, err) < 0)
        return -1;
    if (checkpoint.state == CHECKPOINT_KEPT && checkpoint.memory)
        return recipe_turn_ready(turn, TEMPLATE_START_MEMORY, err);
    return checkpoint.state == CHECKPOINT_CREATING
               ? recipe_turn_defer(turn, RECIPE_SOON_MS, err)
               : recipe_turn_no_memory(turn, "The process that saved the memory died.", err);
}
