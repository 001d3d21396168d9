/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recipe/recipe_turn.h"

#include "base/log.h"
#include "base/mem.h"
#include "template/template_row.h"

const char *recipe_turn_owner(const struct recipe_turn *turn)
{
    return turn->worker->lease_owner;
}

void recipe_turn_say(const struct recipe_turn *turn, const char *line)
{
    error_auto ignored = NULL;
    log_info("template build step", LOG_STR("version", turn->row.version_id),
             LOG_STR("step", line));
    template_row_log(turn->worker->db, turn->row.version_id, line, &ignored);
}

int recipe_turn_defer(struct recipe_turn *turn, unsigned ms, struct error **err)
{
    return recipe_row_defer(turn->worker->db, &turn->row, recipe_turn_owner(turn), ms, err);
}

int recipe_turn_ready(struct recipe_turn *turn, enum template_start start, struct error **err)
{
    recipe_turn_say(turn, "ready");
    if (recipe_row_started(turn->worker->db, &turn->row, recipe_turn_owner(turn), &turn->version,
                           start, err) < 0)
        return -1;
    return recipe_turn_defer(turn, 0, err);
}

int recipe_turn_no_memory(struct recipe_turn *turn, const char *reason, struct error **err)
{
    autofree char *line =
        xasprintf("cannot save the memory, so each sandbox will run the start command: %s", reason);
    recipe_turn_say(turn, line);
    return recipe_turn_ready(turn, TEMPLATE_START_COMMAND, err);
}

int recipe_turn_fail_step(struct recipe_turn *turn, const struct recipe_place *place, int step,
                          const char *failure, struct error **err)
{
    char name[16] = "base";
    autofree char *line = xasprintf("error: %s", failure);
    if (place)
        recipe_step_name(place, step, name);
    recipe_turn_say(turn, line);
    recipe_turn_say(turn, "failed");
    const struct recipe_failure reason = {
        .step = name,
        .message = failure,
        .no_user = place ? place->no_user : NULL,
    };
    if (recipe_row_fail(turn->worker->db, &turn->row, recipe_turn_owner(turn), &reason, err) < 0)
        return -1;
    return recipe_turn_defer(turn, 0, err);
}

int recipe_turn_fail(struct recipe_turn *turn, const struct recipe_place *place, int step,
                     const char *failure, struct error **err)
{
    return turn->row.state == RECIPE_STARTING
               ? recipe_turn_no_memory(turn, failure, err)
               : recipe_turn_fail_step(turn, place, step, failure, err);
}

int recipe_turn_progress(struct recipe_turn *turn, struct error **err)
{
    return recipe_row_progress(turn->worker->db, &turn->row, recipe_turn_owner(turn), err);
}
