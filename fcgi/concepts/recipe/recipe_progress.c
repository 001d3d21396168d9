/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recipe/recipe_progress.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"

json_t *recipe_progress_titles(const json_t *recipe)
{
    const struct recipe_place place = {.recipe = recipe};
    json_t *titles = json_array();
    for (unsigned i = 0; i < recipe_step_count(&place); i++) {
        char name[16];
        autofree char *text = recipe_step_text(&place, i);
        json_t *line = json_object_get(recipe_step_at(&place, i), "line");
        recipe_step_name(&place, (int)i, name);
        json_array_append_new(
            titles, json_pack("{s:s, s:s, s:O?}", "name", name, "title", text, "line", line));
    }
    return titles;
}

/* An entry is [begin, end, cached]; end 0: the step runs. */
void recipe_progress_begin(json_t *times, unsigned step, bool cached)
{
    json_int_t now_ms = clock_now_ms();
    while (json_array_size(times) > step)
        json_array_remove(times, json_array_size(times) - 1);
    /* The process that began with cached steps has ended before it could record them. */
    while (json_array_size(times) < step)
        json_array_append_new(times, json_pack("[I, I, b]", now_ms, now_ms, 1));
    json_array_append_new(
        times, json_pack("[I, I, b]", now_ms, cached ? now_ms : (json_int_t)0, (int)cached));
}

static json_int_t time_at(const json_t *entry, size_t at)
{
    return json_integer_value(json_array_get(entry, at));
}

void recipe_progress_end(json_t *times, unsigned step)
{
    json_t *entry = json_array_get(times, step);
    if (entry && !time_at(entry, 1))
        json_array_set_new(entry, 1, json_integer(clock_now_ms()));
}

static const char *state_of(const json_t *entry, bool failed, bool is_over)
{
    if (failed)
        return "failed";
    if (!entry)
        return "waiting";
    if (time_at(entry, 1))
        return "done";
    return is_over ? "failed" : "running";
}

static json_t *seconds_of(const json_t *entry, bool is_over)
{
    json_int_t end_ms = time_at(entry, 1);
    if (!entry || (!end_ms && is_over))
        return json_null();
    if (!end_ms)
        end_ms = clock_now_ms();
    return json_real((double)(end_ms - time_at(entry, 0)) / 1000);
}

json_t *recipe_progress_to_json(const json_t *titles, const json_t *times, const char *failed_step,
                                bool is_over)
{
    json_t *steps = json_array();
    size_t at;
    json_t *title;
    json_array_foreach ((json_t *)(uintptr_t)titles, at, title) {
        const json_t *entry = json_array_get(times, at);
        const char *name = json_string_value(json_object_get(title, "name"));
        json_t *line = json_object_get(title, "line");
        bool failed = *failed_step && entry && at + 1 == json_array_size(times) &&
                      str_equal(name, failed_step);
        json_array_append_new(steps, json_pack("{s:s, s:O, s:o, s:s, s:b, s:o}", "name", name,
                                               "title", json_object_get(title, "title"), "line",
                                               line ? json_incref(line) : json_null(), "state",
                                               state_of(entry, failed, is_over), "cached",
                                               json_is_true(json_array_get(entry, 2)), "seconds",
                                               seconds_of(entry, is_over)));
    }
    return steps;
}
