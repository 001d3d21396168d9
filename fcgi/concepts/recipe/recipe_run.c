/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Continue recipes. The steps run by themselves inside the sandbox. A dispatcher starts a step,
 * looks at it now and then, and records the progress, so that any other dispatcher can continue.
 * Each turn is short, and teams take turns.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/notify.h"
#include "db/named_lease.h"
#include "recipe/recipe_fetch.h"
#include "recipe/recipe_image.h"
#include "recipe/recipe_progress.h"
#include "recipe/recipe_root.h"
#include "recipe/recipe_secret.h"
#include "recipe/recipe_turn.h"
#include "sandbox/lifecycle.h"
#include "template/template_row.h"
#include "template/template_source.h"

#define TURN_MS 2500 /* of a recipe whose steps are quick */
#define LOOK_MS 60   /* at a step that has just started */
/* Until the next turn; other recipes continue meanwhile. */
#define SILENT_MS  30000 /* after an agent did not answer */
#define WRITTEN_MS 500   /* while a step writes the program that the service starts */

/* --- its steps --- */

/* Change the sandbox to the image, and delete the password. The image has other defaults than the
 * template of builders, so the next turn opens the place again. */
static int image_over(struct recipe_turn *turn, struct recipe_place *place, bool *later,
                      struct error **err)
{
    json_t *step = json_array_get(json_object_get(place->recipe, "steps"), turn->row.step);
    json_object_del(step, "user");
    json_object_del(step, "password");
    *later = true;
    /* With several stages, each begins with a step of its own. */
    if (!json_object_get(step, "stage") && recipe_root_enter(place, RECIPE_FETCH_DIR, err) < 0)
        return -1;
    return recipe_row_seal(turn->worker->db, turn->worker->ring, &turn->row,
                           recipe_turn_owner(turn), turn->whole, err);
}

static int step_over(struct recipe_turn *turn, struct error **err)
{
    recipe_progress_end(turn->row.times, turn->row.step);
    turn->row.step++;
    turn->row.begun = false;
    turn->row.output_at = 0;
    return recipe_turn_progress(turn, err);
}

/* Decide how the start command and the services come to run. The clean-up has written them to the
 * defaults. */
static enum template_start plan_start(const struct recipe_turn *turn,
                                      const struct recipe_place *place)
{
    if (!json_object_get(place->defaults, "start_command") &&
        !json_array_size(json_object_get(place->defaults, "services")))
        return TEMPLATE_NO_START;
    return turn->version.virtual_machine ? TEMPLATE_START_COMMAND : TEMPLATE_START_PENDING;
}

static int hand_over(struct recipe_turn *turn, struct recipe_place *place, struct error **err)
{
    /* The clean-up has written the defaults of the version. */
    if (recipe_place_clean(place, err) < 0 || recipe_place_read(place, err) < 0)
        return -1;
    recipe_turn_say(turn, "all steps have run");
    json_auto_t *config = recipe_image_config(place->defaults);
    if (config &&
        template_version_set_image(turn->worker->db, turn->row.version_id, config, err) < 0)
        return -1;
    if (recipe_turn_find_key(turn, err) < 0 ||
        recipe_row_hand_over(turn->worker->db, &turn->row, recipe_turn_owner(turn),
                             turn->sandbox.host_id, turn->sandbox.instance_name,
                             plan_start(turn, place), turn->result_key, err) < 0)
        return -1;
    notify_send(turn->worker->settings->api_socket, NOTIFY_BUILDS);
    return 0;
}

static bool is_started(const struct recipe_turn *turn, const struct recipe_place *place)
{
    return turn->row.state == RECIPE_STARTING &&
           turn->row.step > recipe_step_count(place) + RECIPE_END_READY;
}

/* Start the next step. *later: start it again in the next turn. */
static int begin_step(struct recipe_turn *turn, struct recipe_place *place, bool *later,
                      struct error **err)
{
    struct recipe_row *row = &turn->row;
    autofree char *title = recipe_step_title(place, row->step);
    enum recipe_start start;
    bool is_new = !row->begun, is_end = row->step >= recipe_step_count(place);
    if (is_new && !is_end) {
        recipe_progress_begin(row->times, row->step, false);
        recipe_turn_say(turn, title);
    }
    row->begun = true;
    if (recipe_turn_progress(turn, err) < 0 || recipe_step_begin(place, row->step, &start, err) < 0)
        return -1;
    if (is_new && is_end && start != RECIPE_NOTHING_TO_RUN)
        recipe_turn_say(turn, title);
    *later = start == RECIPE_START_LATER || start == RECIPE_NEW_ROOT;
    bool goes_on = row->step == recipe_step_count(place) + RECIPE_END_START;
    return start == RECIPE_NOTHING_TO_RUN || start == RECIPE_NEW_ROOT || goes_on
               ? step_over(turn, err)
               : 0;
}

/* Take the digests that the step has asked for, or cache the layers that it has unpacked. Then
 * fetch more of the image. *later: the next turn begins with what was found in the cache. */
static int fetch_more(struct recipe_turn *turn, struct recipe_place *place, bool *later,
                      struct error **err)
{
    bool asked = recipe_fetch_asks(place);
    if ((asked ? recipe_turn_take_digests(turn, place, later, err)
               : recipe_turn_cache_layers(turn, place, err)) < 0)
        return -1;
    turn->row.output_at = 0;
    return *later ? 0 : begin_step(turn, place, later, err);
}

/* Fail the recipe. The last line of the program that fetches images is the reason. */
static int image_failed(struct recipe_turn *turn, struct recipe_place *place, int status,
                        const char *output, struct error **err)
{
    size_t length = strlen(output);
    while (length && output[length - 1] == '\n')
        length--;
    size_t begin = length;
    while (begin && output[begin - 1] != '\n')
        begin--;
    autofree char *said = status < 0 || begin == length
                              ? xstrdup("The program that fetches images was killed. The sandbox "
                                        "may have too little memory.")
                              : xstrndup(output + begin, length - begin);
    return recipe_turn_fail(turn, place, (int)turn->row.step, said, err);
}

/* Fail the recipe. The reason ends with the last output, also with output that an earlier look has
 * read. */
static int step_failed(struct recipe_turn *turn, struct recipe_place *place, int status,
                       struct error **err)
{
    uint64_t end = turn->row.output_at;
    uint64_t from = end > RECIPE_TAIL_SIZE ? end - RECIPE_TAIL_SIZE : 0;
    buffer_auto output = BUFFER_INIT(65536);
    struct recipe_poll poll;
    if (recipe_step_poll(place, turn->row.step, from, &poll, &output, err) < 0)
        return -1;
    const char *tail = buffer_string(&output);
    size_t length = strlen(tail);
    /* not in the middle of a character */
    if (length > RECIPE_TAIL_SIZE)
        tail += length - RECIPE_TAIL_SIZE;
    while ((*tail & 0xc0) == 0x80)
        tail++;
    if (recipe_step_is_image(place, turn->row.step))
        return image_failed(turn, place, status, tail, err);
    autofree char *title = recipe_step_title(place, turn->row.step);
    autofree char *failure =
        status < 0 ? xasprintf("%s: the command was killed. %s", title, tail)
                   : xasprintf("%s: the command ended with status %d. %s", title, status, tail);
    return recipe_turn_fail_step(turn, place, (int)turn->row.step, failure, err);
}

/* Look at the running step. *idle: it runs and has no new output. *later: as in begin_step(). */
static int look(struct recipe_turn *turn, struct recipe_place *place, bool *idle, bool *later,
                struct error **err)
{
    struct recipe_row *row = &turn->row;
    buffer_auto output = BUFFER_INIT(65536);
    struct recipe_poll poll;
    if (recipe_step_poll(place, row->step, row->output_at, &poll, &output, err) < 0)
        return -1;
    if (!poll.is_there)
        return begin_step(turn, place, later, err);
    row->output_at += poll.read;
    if (output.size &&
        template_row_log_output(turn->worker->db, row->version_id, buffer_string(&output), err) < 0)
        return -1;
    *idle = !poll.is_over && !poll.read;
    /* The last output may be more than one look reads. */
    if (poll.read)
        return recipe_turn_progress(turn, err);
    if (!poll.is_over)
        return 0;
    if (recipe_step_is_image(place, row->step) &&
        (recipe_fetch_asks(place) || poll.status == RECIPE_FETCH_MORE))
        return fetch_more(turn, place, later, err);
    if (poll.status)
        return step_failed(turn, place, poll.status, err);
    if (recipe_secrets_drop(place, row->step, err) < 0)
        return -1;
    if (recipe_step_is_image(place, row->step) && image_over(turn, place, later, err) < 0)
        return -1;
    return step_over(turn, err) < 0 ? -1 : recipe_turn_cache(turn, place, err);
}

static bool is_over(const struct recipe_turn *turn, const struct recipe_place *place)
{
    return turn->row.step >= recipe_step_count(place) + RECIPE_ENDS;
}

static int take_turn(struct recipe_turn *turn, struct recipe_place *place, bool *failed,
                     struct error **err)
{
    struct deadline until = deadline_within_ms(place->until, TURN_MS);
    bool later = false;
    while (!later && !deadline_passed(until)) {
        struct recipe_status status;
        bool idle = false, found;
        if (is_started(turn, place))
            return recipe_turn_keep_memory(turn, place, err);
        if (is_over(turn, place))
            return hand_over(turn, place, err);
        if ((turn->row.begun ? look(turn, place, &idle, &later, err)
                             : begin_step(turn, place, &later, err)) < 0 ||
            recipe_status_get(turn->worker->db, turn->row.version_id, &status, &found, err) < 0)
            return -1;
        *failed = *status.failed_step;
        if (*failed)
            return 0;
        if (idle)
            clock_sleep_ms(LOOK_MS);
    }
    return 0;
}

/* Decide after a failed turn. A silent agent may answer again; the sandbox's deadline ends the
 * attempts. */
static int settle(struct recipe_turn *turn, const struct recipe_place *place,
                  struct error **failure, struct error **err)
{
    if ((*failure)->code == ERR_INVALID_REQUEST || (*failure)->code == ERR_NO_SUCH_USER) {
        autofree char *title =
            place && turn->row.begun ? recipe_step_title(place, turn->row.step) : NULL;
        autofree char *reason =
            xasprintf("%s%s%s", title ? title : "", title ? ": " : "", (*failure)->message);
        return recipe_turn_fail(turn, place, (int)turn->row.step, reason, err);
    }
    if ((*failure)->code == ERR_PROGRAM_IS_WRITTEN)
        return recipe_turn_defer(turn, WRITTEN_MS, err);
    if ((*failure)->code == ERR_LEASE_LOST || !error_is_transient(*failure))
        return error_move(err, failure);
    log_info("cannot continue the steps of a template build; trying again",
             LOG_STR("version", turn->row.version_id), LOG_ERROR(*failure));
    return recipe_turn_defer(
        turn, (*failure)->code == ERR_RUNTIME_UNAVAILABLE ? SILENT_MS : RECIPE_LATER_MS, err);
}

static int go_on(struct recipe_turn *turn, struct error **err)
{
    struct recipe_place place = {.db = NULL};
    error_auto failure = NULL;
    bool there, failed = false;
    if (*turn->version.memory_id)
        return recipe_turn_look_at_memory(turn, err);
    if (recipe_turn_find_sandbox(turn, &there, err) < 0)
        return -1;
    if (!there)
        return 0;
    int result = recipe_turn_open(turn, &place, &failure);
    if (result == 0 && *turn->row.sandbox_id)
        result = take_turn(turn, &place, &failed, &failure);
    result = result < 0 ? settle(turn, place.defaults ? &place : NULL, &failure, err)
             : failed   ? 0
                        : recipe_turn_defer(turn, RECIPE_SOON_MS, err);
    recipe_turn_close(&place);
    return result;
}

/* --- its end --- */

static int open_recipe(struct recipe_turn *turn, const struct buffer *sealed, struct error **err)
{
    return recipe_open_sealed(turn->worker->ring, turn->row.version_id, sealed->data, sealed->size,
                              &turn->whole, err);
}

static int end(struct recipe_turn *turn, const struct buffer *sealed, struct error **err)
{
    const struct worker *worker = turn->worker;
    const struct template_version *version = &turn->version;
    bool ended, copied = version->start == TEMPLATE_START_PENDING;
    if ((version->state == TEMPLATE_FAILED && copied &&
         template_sources_remove(worker->db, worker->runtimes, version->id, err) < 0) ||
        recipe_turn_end_sandbox(turn, &ended, err) < 0)
        return -1;
    if (!ended)
        return 0;
    error_auto unreadable = NULL; /* then it is not kept */
    bool keeps = version->state == TEMPLATE_FAILED && sealed->size &&
                 open_recipe(turn, sealed, &unreadable) == 0 && recipe_may_be_kept(turn->whole);
    return recipe_row_done(worker->db, &turn->row, recipe_turn_owner(turn), keeps, err);
}

/* The version is copied: run its start command in a sandbox of its own. */
static int begin_start(struct recipe_turn *turn, struct error **err)
{
    struct recipe_row *row = &turn->row;
    const json_t *recipe = json_object_get(turn->whole, "recipe");
    bool ended;
    if (recipe_turn_end_sandbox(turn, &ended, err) < 0)
        return -1;
    if (!ended)
        return 0;
    row->step = (unsigned)json_array_size(json_object_get(recipe, "steps")) + RECIPE_END_READY;
    if (recipe_row_starting(turn->worker->db, row, recipe_turn_owner(turn), err) < 0)
        return -1;
    return recipe_turn_defer(turn, 0, err);
}

static int advance(struct recipe_turn *turn, const struct buffer *sealed, struct error **err)
{
    const struct recipe_row *row = &turn->row;
    if (sealed->size && open_recipe(turn, sealed, err) < 0)
        return -1;
    if (row->state == RECIPE_COPYING)
        return *turn->version.copied_instance ? recipe_turn_defer(turn, RECIPE_SOON_MS, err)
                                              : begin_start(turn, err);
    if (row->state == RECIPE_WAITING)
        return recipe_turn_fail(turn, NULL, -1,
                                *row->failure
                                    ? row->failure
                                    : "The client created the build and did not start it in time.",
                                err);
    return go_on(turn, err);
}

/* --- shares --- */

/* The names of leases under which only one process at a time works on steps of a team and of a
 * user. Agents of their sandboxes may hold a process to the end of a turn, and other tenants need
 * the other processes. */
struct turn_names {
    char team[NAMED_LEASE_SIZE], user[NAMED_LEASE_SIZE];
};

static void name_turn(const struct recipe_turn *turn, struct turn_names *names)
{
    snprintf(names->team, sizeof names->team, "steps of %.40s", turn->row.team_id);
    snprintf(names->user, sizeof names->user, "steps of %.40s", turn->row.user_id);
}

static void leave_turn(const struct recipe_turn *turn, const struct turn_names *names)
{
    error_auto ignored = NULL; /* each lease soon runs out */
    named_lease_release(turn->worker->db, names->user, recipe_turn_owner(turn), &ignored);
    error_clear(&ignored);
    named_lease_release(turn->worker->db, names->team, recipe_turn_owner(turn), &ignored);
}

static int enter_turn(const struct recipe_turn *turn, const struct turn_names *names, bool *entered,
                      struct error **err)
{
    struct db *db = turn->worker->db;
    *entered = false;
    if (named_lease_take(db, names->team, recipe_turn_owner(turn), entered, err) < 0)
        return -1;
    if (!*entered)
        return 0;
    if (named_lease_take(db, names->user, recipe_turn_owner(turn), entered, err) < 0)
        return -1;
    if (!*entered)
        leave_turn(turn, names);
    return 0;
}

static int take_part(struct recipe_turn *turn, const struct buffer *sealed, struct error **err)
{
    struct turn_names names;
    bool entered;
    if (template_version_get(turn->worker->db, turn->row.version_id, &turn->version, err) < 0)
        return -1;
    /* The end of a build asks no agent, and the team's next build does not wait for it. */
    if (turn->version.state != TEMPLATE_BUILDING)
        return end(turn, sealed, err);
    name_turn(turn, &names);
    if (enter_turn(turn, &names, &entered, err) < 0)
        return -1;
    if (!entered)
        return recipe_turn_defer(turn, RECIPE_LATER_MS, err);
    int result = advance(turn, sealed, err);
    leave_turn(turn, &names);
    return result;
}

int recipe_next(struct worker *worker, bool *worked, struct error **err)
{
    struct recipe_turn turn = {.worker = worker};
    buffer_auto sealed = BUFFER_INIT(RECIPE_SEALED_MAX);
    *worked = false;
    if (recipe_row_take(worker->db, recipe_turn_owner(&turn), worker->settings->lease_s, &turn.row,
                        &sealed, err) < 0)
        return -1;
    if (!*turn.row.version_id)
        return 0;
    *worked = true;
    recipe_row_keep(worker->db, &turn.row, recipe_turn_owner(&turn), worker->settings->lease_s,
                    &turn.lease);
    int result = take_part(&turn, &sealed, err);
    json_decref(turn.whole);
    json_decref(turn.row.times);
    sandbox_deinit(&turn.sandbox);
    return result;
}
