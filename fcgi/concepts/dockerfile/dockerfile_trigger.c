/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ONBUILD: instructions that run when another Dockerfile begins with the result. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "dockerfile/dockerfile_walk.h"

#define FIRST_LINE    "FROM scratch\n"
#define TRIGGER_SHOWN 200 /* bytes in a message */

int dockerfile_walk_onbuild(struct dockerfile_walk *walk, struct error **err)
{
    const char *text = walk->one->text + walk->one->rest;
    size_t length;
    enum dockerfile_kind kind = dockerfile_kind_at(text, &length);
    json_t *triggers = json_object_get(walk->config, DOCKERFILE_TRIGGERS);
    if (kind == DOCKERFILE_KINDS)
        return walk_refuse(walk, walk->one->rest, err,
                           "there is no instruction %.32s: write ONBUILD and an instruction.",
                           text);
    if (kind == DOCKERFILE_FROM || kind == DOCKERFILE_ONBUILD || kind == DOCKERFILE_MAINTAINER)
        return walk_refuse(walk, walk->one->rest, err, "ONBUILD cannot have %s.",
                           dockerfile_kind_name(kind));
    if (!triggers) {
        triggers = json_array();
        json_object_set_new(walk->config, DOCKERFILE_TRIGGERS, triggers);
    }
    json_array_append_new(triggers, json_string(text));
    return 0;
}

/* --- running them --- */

/* Write the triggers as a Dockerfile; the caller frees it. NULL: they are too long. Each is one
 * line, as Docker stores them. */
static char *text_of(const json_t *triggers)
{
    struct buffer text = BUFFER_INIT(DOCKERFILE_MAX + sizeof FIRST_LINE);
    size_t at, size = 0;
    json_t *one;
    json_array_foreach ((json_t *)(uintptr_t)triggers, at, one)
        size += json_string_length(one) + 1;
    if (size > DOCKERFILE_MAX)
        return NULL;
    buffer_append_string(&text, FIRST_LINE);
    json_array_foreach ((json_t *)(uintptr_t)triggers, at, one)
        buffer_printf(&text, "%s\n", json_string_value(one) ? json_string_value(one) : "");
    return buffer_steal(&text);
}

/* Let an error name the line of the FROM, and the trigger instead of its line. */
static void put_place(const json_t *triggers, unsigned line, struct error *error)
{
    unsigned number = 0, column;
    int length = 0;
    const char *join = ": ";
    if (sscanf(error->message, "Line %u, column %u: %n", &number, &column, &length) != 2) {
        /* It copies files, and there is no context. */
        sscanf(error->message, "Line %u of the Dockerfile %n", &number, &length);
        join = ", which ";
    }
    const char *trigger =
        number > 1 ? json_string_value(json_array_get(triggers, number - 2)) : NULL;
    char *message = trigger ? xasprintf("Line %u: the base has ONBUILD %.*s%s%s", line,
                                        (int)str_cut(trigger, TRIGGER_SHOWN), trigger, join,
                                        error->message + length)
                            : xasprintf("Line %u: the base has ONBUILD: %s", line, error->message);
    free(error->message);
    error->message = message;
}

static int walk_all(struct dockerfile_walk *walk, const struct dockerfile *file, struct error **err)
{
    walk->file = file;
    for (size_t i = 1; i < file->instruction_count; i++) {
        walk->one = &file->instructions[i];
        if (walk->one->kind == DOCKERFILE_FROM || walk->one->kind == DOCKERFILE_ONBUILD)
            return walk_refuse(walk, 0, err, "ONBUILD cannot have %s.",
                               dockerfile_kind_name(walk->one->kind));
        if (dockerfile_walk_instruction(walk, err) < 0)
            return -1;
    }
    return 0;
}

int dockerfile_walk_triggers(struct dockerfile_walk *walk, const json_t *triggers, bool is_base,
                             struct error **err)
{
    const struct dockerfile_instruction *from = walk->one;
    size_t before = json_array_size(walk->steps);
    dockerfile_auto *file = NULL;
    if (!json_array_size(triggers))
        return 0;
    autofree char *text = text_of(triggers);
    if (!text)
        return walk_refuse(walk, from->rest, err,
                           "the ONBUILD instructions of the base have more than %d bytes.",
                           DOCKERFILE_MAX);
    walk->trigger_line = from->line;
    int result = dockerfile_parse(text, strlen(text), &file, err);
    if (result == 0)
        result = walk_all(walk, file, err);
    if (result < 0)
        put_place(triggers, from->line, *err);
    walk->file = walk->whole;
    walk->one = from;
    /* A build from this base and one from a base without ONBUILD never have equal steps. */
    if (result == 0 && is_base && json_array_size(walk->steps) == before)
        result = dockerfile_walk_add(walk, json_pack("{s:s, s:{}}", "type", "env", "envs"), err);
    for (size_t i = before; is_base && i < json_array_size(walk->steps); i++)
        json_object_set_new(json_array_get(walk->steps, i), DOCKERFILE_TRIGGERS, json_true());
    walk->trigger_line = 0;
    return result;
}
