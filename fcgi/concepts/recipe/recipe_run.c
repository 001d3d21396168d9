/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Continue recipes. The steps run by themselves inside the sandbox. A dispatcher starts a step,
 * looks at it now and then, and records the progress, so that any other dispatcher can continue.
 * Each turn is short, and teams take turns.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "account/account.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "crypto/aead.h"
#include "db/named_lease.h"
#include "recipe/recipe_cache.h"
#include "recipe/recipe_image.h"
#include "recipe/recipe_row.h"
#include "recipe/recipe_setting.h"
#include "recipe/recipe_step.h"
#include "sandbox/lifecycle.h"
#include "template/template_row.h"
#include "template/template_source.h"
#include "template/template_tag.h"

#define TURN_MS       2500  /* of a recipe whose steps are quick */
#define TURN_MOST_MS  10000 /* of any recipe, also with a slow agent */
#define LOOK_MS       60    /* at a step that has just started */
#define DEFER_MS      400
#define LATER_MS      2000
#define SILENT_MS     30000 /* after an agent did not answer; other recipes continue meanwhile */
#define ATTEMPTS_MOST 20    /* to make the sandbox */
/* A step is cached when it and the uncached ones before it took at least this long together. */
#define CACHED_AFTER_MS 1000

struct running {
    struct worker *worker;
    struct recipe_row row;
    struct lease lease;
    struct template_version version;
    json_t *whole; /* the contents that recipe_begin() has sealed */
    struct sandbox sandbox;
    struct checkpoint cached; /* id "": its sandbox begins with no cached step */
    unsigned cached_steps;
};

static const char *owner(const struct running *running)
{
    return running->worker->lease_owner;
}

/* Add a line to the build log. The build continues when this fails. */
static void say(const struct running *running, const char *line)
{
    error_auto ignored = NULL;
    log_info("template steps", LOG_STR("version", running->row.version_id), LOG_STR("step", line));
    template_row_log(running->worker->db, running->row.version_id, line, &ignored);
}

static int defer(struct running *running, unsigned ms, struct error **err)
{
    return recipe_row_defer(running->worker->db, &running->row, owner(running), ms, err);
}

static int become_ready(struct running *running, enum template_start start, struct error **err)
{
    say(running, "ready");
    if (recipe_row_started(running->worker->db, &running->row, owner(running), &running->version,
                           start, err) < 0)
        return -1;
    return defer(running, 0, err);
}

static int do_without_memory(struct running *running, const char *reason, struct error **err)
{
    autofree char *line = xasprintf("sandboxes run the start command, because the memory cannot be "
                                    "kept: %.*s",
                                    RECIPE_FAILURE_SIZE - 1, reason);
    say(running, line);
    return become_ready(running, TEMPLATE_START_COMMAND, err);
}

static int fail_at(struct running *running, const struct recipe_place *place, int step,
                   const char *failure, struct error **err)
{
    char name[16] = "base";
    autofree char *line = xasprintf("error: %.*s", RECIPE_FAILURE_SIZE - 1, failure);
    if (place)
        recipe_step_name(place, step, name);
    say(running, line);
    say(running, "failed");
    if (recipe_row_fail(running->worker->db, &running->row, owner(running), name,
                        line + strlen("error: "), err) < 0)
        return -1;
    return defer(running, 0, err);
}

/* step -1: before the first step. That the memory cannot be kept is no failure. */
static int fail(struct running *running, const struct recipe_place *place, int step,
                const char *failure, struct error **err)
{
    return running->row.state == RECIPE_STARTING ? do_without_memory(running, failure, err)
                                                 : fail_at(running, place, step, failure, err);
}

/* --- its sandbox --- */

static int open_recipe(struct running *running, const struct buffer *sealed, struct error **err)
{
    struct buffer text = BUFFER_INIT(RECIPE_SEALED_MAX);
    int result = aead_open(running->worker->ring, sealed->data, sealed->size,
                           running->row.version_id, &text, err);
    if (result == 0)
        running->whole = json_loadb(text.data ? text.data : "", text.size, 0, NULL);
    buffer_wipe(&text);
    return result;
}

static int claim(struct db *db, const char *sandbox_id, void *context, struct error **err)
{
    struct running *running = context;
    return recipe_row_set_sandbox(
        db, &running->row, owner(running), sandbox_id,
        running->row.state == RECIPE_STARTING ? running->row.step : running->cached_steps, err);
}

static int make_sandbox(struct running *running, struct error **err)
{
    struct worker *worker = running->worker;
    struct team team;
    struct plan plan;
    bool starts = running->row.state == RECIPE_STARTING;
    autofree char *metadata = xasprintf("{\"template_build\":\"%s\"}", running->row.version_id);
    say(running, starts                ? "starting a sandbox from it, to keep its memory"
                 : *running->cached.id ? "making a sandbox from a cached step"
                                       : "making a sandbox from the base");
    if (team_get_by_slug(worker->db, running->version.team_slug, &team, err) < 0 ||
        plan_get(worker->db, team.plan, &plan, err) < 0)
        return -1;
    struct sandbox_create request = {
        .user_id = running->row.user_id,
        .team = &team,
        .source = running->version.base_id,
        .version = starts ? &running->version : NULL,
        .copy = *running->cached.id ? &running->cached : NULL,
        .source_field = "/template",
        .timeout_s =
            plan.max_timeout_s < RECIPE_TIME_MAX_S ? plan.max_timeout_s : RECIPE_TIME_MAX_S,
        .choices = sandbox_choices_default,
        .metadata = metadata,
        .network = json_string_value(json_object_get(running->whole, "network")),
        .claim = claim,
        .claim_context = running,
    };
    request.allow_public_traffic = false;
    return sandbox_create(worker, &request, &running->sandbox, err);
}

static int read_keys(const struct running *running, struct recipe_keys *keys, struct error **err)
{
    return recipe_keys_read(running->worker->db, running->row.team_id, running->version.base_id,
                            json_object_get(running->whole, "recipe"), keys, err);
}

static bool may_cache(const struct running *running)
{
    const struct settings *settings = running->worker->settings;
    return settings->build_cache_gb && settings->build_cache_steps &&
           running->row.state == RECIPE_RUNNING;
}

static int find_cached(struct running *running, struct error **err)
{
    const json_t *recipe = json_object_get(running->whole, "recipe");
    autofree struct recipe_keys *keys = xmalloc(sizeof *keys);
    if (!may_cache(running) || json_is_true(json_object_get(recipe, "no_cache")))
        return 0;
    if (read_keys(running, keys, err) < 0)
        return -1;
    return recipe_cache_find(running->worker->db, running->row.team_id, keys,
                             &running->cached_steps, &running->cached, err);
}

static void forget_cached(struct running *running)
{
    running->cached_steps = 0;
    running->cached = (struct checkpoint){.id = ""};
}

/* The steps that the sandbox has already are in the log like the others. */
static void say_cached(struct running *running)
{
    const struct recipe_place place = {.recipe = json_object_get(running->whole, "recipe")};
    for (unsigned i = 0; i < running->cached_steps; i++) {
        autofree char *title = recipe_step_title(&place, i);
        autofree char *line = xasprintf("%s: cached", title);
        say(running, line);
    }
    running->row.step = running->cached_steps;
    running->row.cached_at_ms = clock_now_ms();
}

/* A cached step that cannot be used, for example because its host is full, is no reason to wait. */
static int make_or_copy(struct running *running, struct error **err)
{
    error_auto failure = NULL;
    if (find_cached(running, err) < 0)
        return -1;
    if (!*running->cached.id)
        return make_sandbox(running, err);
    if (make_sandbox(running, &failure) == 0)
        return 0;
    if (failure->code == ERR_LEASE_LOST)
        return error_move(err, &failure);
    forget_cached(running);
    return make_sandbox(running, err);
}

/* Make the sandbox. The recipe does not fail for a temporary cause. */
static int begin(struct running *running, struct error **err)
{
    error_auto failure = NULL;
    if (make_or_copy(running, &failure) == 0) {
        snprintf(running->row.sandbox_id, ID_SIZE, "%s", running->sandbox.id);
        if (running->row.state == RECIPE_RUNNING)
            say_cached(running);
        return 0;
    }
    bool later = error_is_transient(failure) || failure->code == ERR_NO_CAPACITY;
    if (failure->code == ERR_LEASE_LOST)
        return error_move(err, &failure);
    if (later && running->row.attempts < ATTEMPTS_MOST)
        return defer(running, LATER_MS, err);
    return fail(running, NULL, -1, failure->message, err);
}

/* Find the sandbox of the recipe. *there false: its absence was dealt with. */
static int find_sandbox(struct running *running, bool *there, struct error **err)
{
    error_auto missing = NULL;
    bool untouched =
        !running->row.begun && (!running->row.step || running->row.state == RECIPE_STARTING);
    *there = false;
    if (!*running->row.sandbox_id)
        return begin(running, err) < 0 ? -1 : (*there = *running->row.sandbox_id, 0);
    if (sandbox_get(running->worker->db, running->row.sandbox_id, &running->sandbox, &missing) <
        0) {
        if (missing->code != ERR_NOT_FOUND)
            return error_move(err, &missing);
        return untouched ? begin(running, err)
                         : fail(running, NULL, -1,
                                "The sandbox of the build has ended: it was deleted, or its time "
                                "was over.",
                                err);
    }
    *there = running->sandbox.state == SANDBOX_READY;
    if (*there)
        return 0;
    return running->sandbox.state == SANDBOX_CREATING ||
                   running->sandbox.state == SANDBOX_CHECKPOINTING
               ? defer(running, DEFER_MS, err)
               : fail(running, NULL, -1, "The sandbox of the build was stopped.", err);
}

static int open_place(struct running *running, struct recipe_place *place, struct error **err)
{
    const struct sandbox *sandbox = &running->sandbox;
    struct worker *worker = running->worker;
    *place = (struct recipe_place){
        .db = worker->db,
        .lease = &running->lease,
        .until = deadline_in_ms(TURN_MOST_MS),
        .team_id = running->row.team_id,
        .recipe = json_object_get(running->whole, "recipe"),
        .start = running->row.state == RECIPE_STARTING ? START_IN_AGENT
                 : running->version.virtual_machine    ? START_IN_STEPS
                                                       : START_LATER,
    };
    if (runtimes_agent(worker->runtimes, worker->db, sandbox->host_id, sandbox->address, &place->at,
                       err) < 0 ||
        agent_secret(worker->ring, sandbox->instance_name, sandbox->agent_key_id, place->secret,
                     err) < 0)
        return -1;
    if (recipe_place_read(place, err) < 0)
        return -1;
    recipe_setting_configure(place, running->row.step);
    return 0;
}

static void close_place(struct recipe_place *place)
{
    mem_wipe(place->secret, sizeof place->secret);
    json_decref(place->defaults);
    free(place->path);
}

/* --- its steps --- */

static int progress(struct running *running, struct error **err)
{
    return recipe_row_progress(running->worker->db, &running->row, owner(running), err);
}

/* *ended false: it is tried again later. */
static int end_sandbox(struct running *running, bool *ended, struct error **err)
{
    error_auto gone = NULL;
    *ended = !*running->row.sandbox_id ||
             sandbox_destroy(running->worker, running->row.sandbox_id, &gone) == 0 ||
             gone->code == ERR_NOT_FOUND;
    if (*ended)
        return 0;
    return error_is_transient(gone) ? defer(running, LATER_MS, err) : error_move(err, &gone);
}

/* Ask for the digests of images by tags, once. *found: with them, a cached step was found; the next
 * turn makes a sandbox from it. */
static int ask_digests(struct running *running, struct recipe_place *place, bool *found,
                       struct error **err)
{
    struct recipe_row *row = &running->row;
    bool ended, lacked = false;
    *found = false;
    for (unsigned i = 0; recipe_step_is_image(place, i); i++) {
        json_t *step = json_array_get(json_object_get(place->recipe, "steps"), i);
        char digest[RECIPE_DIGEST_SIZE];
        if (!recipe_lacks_digest(step))
            continue;
        lacked = true;
        if (recipe_image_digest(place, i, digest, err) < 0)
            return -1;
        if (!*digest)
            return 0;
        json_object_set_new(step, "reference", json_string(digest));
    }
    if (!lacked)
        return 0;
    if (recipe_row_seal(running->worker->db, running->worker->ring, row, owner(running),
                        running->whole, err) < 0 ||
        find_cached(running, err) < 0)
        return -1;
    *found = *running->cached.id;
    forget_cached(running);
    if (!*found || end_sandbox(running, &ended, err) < 0)
        return *found ? -1 : 0;
    return recipe_row_no_sandbox(running->worker->db, row, owner(running), err);
}

/* Change the sandbox to the image, and delete the password. The image has other defaults than the
 * template of builders, so the next turn opens the place again. */
static int image_over(struct running *running, struct recipe_place *place, bool *later,
                      struct error **err)
{
    json_t *step = json_array_get(json_object_get(place->recipe, "steps"), running->row.step);
    json_object_del(step, "user");
    json_object_del(step, "password");
    *later = true;
    /* With several stages, each begins with a step of its own. */
    if (!json_object_get(step, "stage") && recipe_image_enter(place, err) < 0)
        return -1;
    return recipe_row_seal(running->worker->db, running->worker->ring, &running->row,
                           owner(running), running->whole, err);
}

static int step_over(struct running *running, struct error **err)
{
    running->row.step++;
    running->row.begun = false;
    running->row.output_at = 0;
    return progress(running, err);
}

/* Decide how the start command comes to run. The clean-up has written it to the defaults. */
static enum template_start plan_start(const struct running *running,
                                      const struct recipe_place *place)
{
    if (!json_object_get(place->defaults, "start_command"))
        return TEMPLATE_NO_START;
    return running->version.virtual_machine ? TEMPLATE_START_COMMAND : TEMPLATE_START_PENDING;
}

/* --- its cache --- */

struct caching {
    struct running *running;
    const char *key;
};

static int add_to_cache(struct db *db, const char *checkpoint_id, void *context, struct error **err)
{
    const struct caching *caching = context;
    return recipe_cache_add(db, caching->running->row.team_id, caching->key, checkpoint_id, err);
}

/* Whether a step changes files and takes time, unlike those that only set something. */
static bool is_work(const struct recipe_place *place, unsigned step)
{
    const char *type = json_string_value(json_object_get(recipe_step_at(place, step), "type"));
    return type && !str_equal(type, "env") && !str_equal(type, "user") &&
           !str_equal(type, "workdir");
}

/* Cache the step that is over. A failure is only logged. */
static int cache_step(struct running *running, const struct recipe_place *place, struct error **err)
{
    struct recipe_row *row = &running->row;
    autofree struct recipe_keys *keys = xmalloc(sizeof *keys);
    struct caching caching = {running, NULL};
    const struct checkpoint_create wanted = {
        .user_id = row->user_id, .name = "", .claim = add_to_cache, .claim_context = &caching};
    struct checkpoint checkpoint;
    error_auto failure = NULL;
    if (!may_cache(running) || !row->step || !is_work(place, row->step - 1) ||
        clock_now_ms() - row->cached_at_ms < CACHED_AFTER_MS)
        return 0;
    if (read_keys(running, keys, err) < 0)
        return -1;
    if (row->step > keys->known)
        return 0;
    caching.key = keys->at[row->step];
    if (sandbox_checkpoint(running->worker, running->sandbox.id, &wanted, &checkpoint, &failure) <
        0)
        log_info("a step of a template build is not cached", LOG_STR("version", row->version_id),
                 LOG_ERROR(failure));
    row->cached_at_ms = clock_now_ms();
    return recipe_row_cached(running->worker->db, row, owner(running), err);
}

static int hand_over(struct running *running, struct recipe_place *place, struct error **err)
{
    /* The clean-up has written the defaults of the version. */
    if (recipe_place_clean(place, err) < 0 || recipe_place_read(place, err) < 0)
        return -1;
    say(running, "the steps are over");
    json_auto_t *config = recipe_image_config(place->defaults);
    if (config &&
        template_version_set_image(running->worker->db, running->row.version_id, config, err) < 0)
        return -1;
    return recipe_row_hand_over(running->worker->db, &running->row, owner(running),
                                running->sandbox.host_id, running->sandbox.instance_name,
                                plan_start(running, place), err);
}

/* --- its memory --- */

static int set_memory(struct db *db, const char *checkpoint_id, void *context, struct error **err)
{
    struct running *running = context;
    snprintf(running->version.memory_id, ID_SIZE, "%s", checkpoint_id);
    return template_version_set_memory(db, running->row.version_id, checkpoint_id, err);
}

static int keep_memory(struct running *running, struct recipe_place *place, struct error **err)
{
    const struct checkpoint_create wanted = {
        .user_id = running->row.user_id,
        .name = "",
        .memory = true,
        .claim = set_memory,
        .claim_context = running,
    };
    struct checkpoint checkpoint;
    error_auto failure = NULL;
    if (recipe_place_clean(place, err) < 0)
        return -1;
    say(running, "keeping the memory of the sandbox");
    if (sandbox_checkpoint(running->worker, running->sandbox.id, &wanted, &checkpoint, &failure) ==
        0)
        return become_ready(running, TEMPLATE_START_MEMORY, err);
    return do_without_memory(running, failure->message, err);
}

/* Another worker has begun to keep the memory. */
static int look_at_memory(struct running *running, struct error **err)
{
    struct checkpoint checkpoint;
    if (checkpoint_get_any(running->worker->db, running->version.memory_id, false, &checkpoint,
                           err) < 0)
        return -1;
    if (checkpoint.state == CHECKPOINT_KEPT)
        return become_ready(running, TEMPLATE_START_MEMORY, err);
    return checkpoint.state == CHECKPOINT_CREATING
               ? defer(running, DEFER_MS, err)
               : do_without_memory(running, "The worker that kept it is gone.", err);
}

static bool is_started(const struct running *running, const struct recipe_place *place)
{
    return running->row.state == RECIPE_STARTING &&
           running->row.step > recipe_step_count(place) + RECIPE_END_READY;
}

/* Start the next step. *later: start it again in the next turn. */
static int begin_step(struct running *running, struct recipe_place *place, bool *later,
                      struct error **err)
{
    struct recipe_row *row = &running->row;
    autofree char *title = recipe_step_title(place, row->step);
    enum recipe_start start;
    bool is_new = !row->begun, is_end = row->step >= recipe_step_count(place);
    if (is_new && !is_end)
        say(running, title);
    row->begun = true;
    if (progress(running, err) < 0 || recipe_step_begin(place, row->step, &start, err) < 0)
        return -1;
    if (is_new && is_end && start != RECIPE_NOTHING_TO_RUN)
        say(running, title);
    *later = start == RECIPE_START_LATER || start == RECIPE_NEW_ROOT;
    bool goes_on = row->step == recipe_step_count(place) + RECIPE_END_START;
    return start == RECIPE_NOTHING_TO_RUN || start == RECIPE_NEW_ROOT || goes_on
               ? step_over(running, err)
               : 0;
}

/* Fail the recipe. The last line of the program that fetches images is the reason. */
static int image_failed(struct running *running, struct recipe_place *place, int status,
                        const char *output, struct error **err)
{
    size_t length = strlen(output);
    while (length && output[length - 1] == '\n')
        length--;
    size_t begin = length;
    while (begin && output[begin - 1] != '\n')
        begin--;
    autofree char *said = status < 0 || begin == length
                              ? xstrdup("The program that fetches images was killed: the sandbox "
                                        "may have had too little memory.")
                              : xstrndup(output + begin, length - begin);
    return fail(running, place, (int)running->row.step, said, err);
}

/* Fail the recipe. The reason ends with the last output, also with output that an earlier look has
 * read. */
static int step_failed(struct running *running, struct recipe_place *place, int status,
                       struct error **err)
{
    uint64_t end = running->row.output_at;
    uint64_t from = end > RECIPE_TAIL_SIZE ? end - RECIPE_TAIL_SIZE : 0;
    buffer_auto output = BUFFER_INIT(65536);
    struct recipe_poll poll;
    if (recipe_step_poll(place, running->row.step, from, &poll, &output, err) < 0)
        return -1;
    const char *tail = buffer_string(&output);
    size_t length = strlen(tail);
    /* not in the middle of a character */
    if (length > RECIPE_TAIL_SIZE)
        tail += length - RECIPE_TAIL_SIZE;
    while ((*tail & 0xc0) == 0x80)
        tail++;
    if (recipe_step_is_image(place, running->row.step))
        return image_failed(running, place, status, tail, err);
    autofree char *title = recipe_step_title(place, running->row.step);
    autofree char *failure =
        status < 0 ? xasprintf("%.250s: it was killed. %s", title, tail)
                   : xasprintf("%.250s: it ended with status %d. %s", title, status, tail);
    return fail_at(running, place, (int)running->row.step, failure, err);
}

/* Look at the running step. *idle: it runs and has no new output. *later: as in begin_step(). */
static int look(struct running *running, struct recipe_place *place, bool *idle, bool *later,
                struct error **err)
{
    struct recipe_row *row = &running->row;
    buffer_auto output = BUFFER_INIT(65536);
    struct recipe_poll poll;
    if (recipe_step_poll(place, row->step, row->output_at, &poll, &output, err) < 0)
        return -1;
    if (!poll.is_there)
        return begin_step(running, place, later, err);
    row->output_at += poll.read;
    if (output.size && template_row_log_output(running->worker->db, row->version_id,
                                               buffer_string(&output), err) < 0)
        return -1;
    *idle = !poll.is_over && !poll.read;
    /* The last output may be more than one look reads. */
    if (poll.read)
        return progress(running, err);
    if (!poll.is_over)
        return 0;
    if (poll.status)
        return step_failed(running, place, poll.status, err);
    if (recipe_step_is_image(place, row->step) && image_over(running, place, later, err) < 0)
        return -1;
    return step_over(running, err) < 0 ? -1 : cache_step(running, place, err);
}

static bool is_over(const struct running *running, const struct recipe_place *place)
{
    return running->row.step >= recipe_step_count(place) + RECIPE_ENDS;
}

static int take_turn(struct running *running, struct recipe_place *place, bool *failed,
                     struct error **err)
{
    struct deadline until = deadline_within_ms(place->until, TURN_MS);
    bool later = false;
    while (!later && !deadline_passed(until)) {
        struct recipe_status status;
        bool idle = false, found;
        if (is_started(running, place))
            return keep_memory(running, place, err);
        if (is_over(running, place))
            return hand_over(running, place, err);
        if ((running->row.begun ? look(running, place, &idle, &later, err)
                                : begin_step(running, place, &later, err)) < 0 ||
            recipe_status_get(running->worker->db, running->row.version_id, &status, &found, err) <
                0)
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
static int settle(struct running *running, const struct recipe_place *place, struct error **failure,
                  struct error **err)
{
    if ((*failure)->code == ERR_INVALID_REQUEST)
        return fail(running, place, (int)running->row.step, (*failure)->message, err);
    if ((*failure)->code == ERR_LEASE_LOST || !error_is_transient(*failure))
        return error_move(err, failure);
    log_info("steps of a template wait", LOG_STR("version", running->row.version_id),
             LOG_ERROR(*failure));
    return defer(running, (*failure)->code == ERR_RUNTIME_UNAVAILABLE ? SILENT_MS : LATER_MS, err);
}

static int go_on(struct running *running, struct error **err)
{
    struct recipe_place place = {.db = NULL};
    error_auto failure = NULL;
    bool there, failed = false;
    if (*running->version.memory_id)
        return look_at_memory(running, err);
    if (find_sandbox(running, &there, err) < 0)
        return -1;
    if (!there)
        return 0;
    bool found = false;
    int result = open_place(running, &place, &failure);
    if (result == 0 && may_cache(running) && !running->row.step && !running->row.begun)
        result = ask_digests(running, &place, &found, &failure);
    if (result == 0 && !found)
        result = take_turn(running, &place, &failed, &failure);
    result = result < 0 ? settle(running, place.defaults ? &place : NULL, &failure, err)
             : failed   ? 0
                        : defer(running, DEFER_MS, err);
    close_place(&place);
    return result;
}

/* --- its end --- */

static int assign_tags(struct running *running, struct error **err)
{
    const json_t *tags = running->row.tags;
    const char *names[TEMPLATE_TAGS_MAX];
    error_auto failure = NULL;
    unsigned count = 0;
    size_t at;
    json_t *tag;
    json_array_foreach ((json_t *)(uintptr_t)tags, at, tag) {
        if (count < TEMPLATE_TAGS_MAX)
            names[count++] = json_string_value(tag);
    }
    if (!count || template_tags_assign(running->worker->db, running->version.template_id,
                                       running->version.id, names, count, "tags", &failure) == 0)
        return 0;
    if (failure->code != ERR_INVALID_REQUEST)
        return error_move(err, &failure);
    say(running, failure->message);
    return 0;
}

static int end(struct running *running, struct error **err)
{
    const struct worker *worker = running->worker;
    const struct template_version *version = &running->version;
    bool ended, copied = version->start == TEMPLATE_START_PENDING;
    if ((version->state == TEMPLATE_READY && assign_tags(running, err) < 0) ||
        (version->state == TEMPLATE_FAILED && copied &&
         template_sources_remove(worker->db, worker->runtimes, version->id, err) < 0) ||
        end_sandbox(running, &ended, err) < 0)
        return -1;
    return ended ? recipe_row_done(running->worker->db, &running->row, owner(running), err) : 0;
}

/* The version is copied: run its start command in a sandbox of its own. */
static int begin_start(struct running *running, struct error **err)
{
    struct recipe_row *row = &running->row;
    const json_t *recipe = json_object_get(running->whole, "recipe");
    bool ended;
    if (end_sandbox(running, &ended, err) < 0)
        return -1;
    if (!ended)
        return 0;
    row->step = (unsigned)json_array_size(json_object_get(recipe, "steps")) + RECIPE_END_READY;
    if (recipe_row_starting(running->worker->db, row, owner(running), err) < 0)
        return -1;
    return defer(running, 0, err);
}

static int advance(struct running *running, const struct buffer *sealed, struct error **err)
{
    struct recipe_row *row = &running->row;
    if (template_version_get(running->worker->db, row->version_id, &running->version, err) < 0 ||
        (sealed->size && open_recipe(running, sealed, err) < 0))
        return -1;
    if (running->version.state != TEMPLATE_BUILDING)
        return end(running, err);
    if (row->state == RECIPE_COPYING)
        return *running->version.copied_instance ? defer(running, DEFER_MS, err)
                                                 : begin_start(running, err);
    if (row->state == RECIPE_WAITING)
        return fail(running, NULL, -1,
                    *row->failure ? row->failure : "The steps of the build were never said.", err);
    return go_on(running, err);
}

/* --- shares --- */

/* The names of leases under which only one process at a time works on steps of a team and of a
 * user. Agents of their sandboxes may hold a process to the end of a turn, and other tenants need
 * the other processes. */
struct turn_names {
    char team[NAMED_LEASE_SIZE], user[NAMED_LEASE_SIZE];
};

static void name_turn(const struct running *running, struct turn_names *names)
{
    snprintf(names->team, sizeof names->team, "steps of %.40s", running->row.team_id);
    snprintf(names->user, sizeof names->user, "steps of %.40s", running->row.user_id);
}

static void leave_turn(const struct running *running, const struct turn_names *names)
{
    error_auto ignored = NULL; /* each lease soon runs out */
    named_lease_release(running->worker->db, names->user, owner(running), &ignored);
    error_clear(&ignored);
    named_lease_release(running->worker->db, names->team, owner(running), &ignored);
}

static int enter_turn(const struct running *running, const struct turn_names *names, bool *entered,
                      struct error **err)
{
    struct db *db = running->worker->db;
    *entered = false;
    if (named_lease_take(db, names->team, owner(running), entered, err) < 0)
        return -1;
    if (!*entered)
        return 0;
    if (named_lease_take(db, names->user, owner(running), entered, err) < 0)
        return -1;
    if (!*entered)
        leave_turn(running, names);
    return 0;
}

static int take_part(struct running *running, const struct buffer *sealed, struct error **err)
{
    struct turn_names names;
    bool entered;
    name_turn(running, &names);
    if (enter_turn(running, &names, &entered, err) < 0)
        return -1;
    if (!entered)
        return defer(running, LATER_MS, err);
    int result = advance(running, sealed, err);
    leave_turn(running, &names);
    return result;
}

int recipe_next(struct worker *worker, bool *worked, struct error **err)
{
    struct running running = {.worker = worker};
    buffer_auto sealed = BUFFER_INIT(RECIPE_SEALED_MAX);
    *worked = false;
    if (recipe_row_take(worker->db, owner(&running), worker->settings->lease_s, &running.row,
                        &sealed, err) < 0)
        return -1;
    if (!*running.row.version_id)
        return 0;
    *worked = true;
    recipe_row_keep(worker->db, &running.row, owner(&running), worker->settings->lease_s,
                    &running.lease);
    int result = take_part(&running, &sealed, err);
    json_decref(running.whole);
    json_decref(running.row.tags);
    sandbox_deinit(&running.sandbox);
    return result;
}
