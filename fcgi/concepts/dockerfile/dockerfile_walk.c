/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parts that several instructions have: flags, arrays, pairs, steps. */
#include "dockerfile/dockerfile_walk.h"

#include <stdlib.h>
#include <string.h>

#include "base/json_read.h"
#include "base/mem.h"
#include "base/str.h"

int dockerfile_walk_add(struct dockerfile_walk *walk, json_t *step, struct error **err)
{
    json_object_set_new(step, "line",
                        json_integer(walk->trigger_line ? walk->trigger_line : walk->one->line));
    json_array_append_new(walk->steps, step);
    walk->bytes += json_dumpb(step, NULL, 0, JSON_COMPACT);
    if (json_array_size(walk->steps) > DOCKERFILE_STEPS_MAX)
        return walk_refuse(walk, 0, err,
                           "a build has at most %d steps; each source of COPY is one.",
                           DOCKERFILE_STEPS_MAX);
    if (walk->bytes > DOCKERFILE_STEPS_BYTES_MAX)
        return walk_refuse(
            walk, 0, err,
            "the instructions up to this line, with their variables, have more than %zu KiB.",
            DOCKERFILE_STEPS_BYTES_MAX >> 10);
    return 0;
}

int dockerfile_walk_expand(const struct dockerfile_walk *walk, const struct dockerfile_word *word,
                           struct dockerfile_value *value, struct error **err)
{
    return dockerfile_expand(walk->file, walk->one, word, &walk->scope, value, err);
}

int dockerfile_walk_expand_known(const struct dockerfile_walk *walk,
                                 const struct dockerfile_word *word, char **text,
                                 struct error **err)
{
    struct dockerfile_value value;
    int result = dockerfile_walk_expand(walk, word, &value, err);
    *text = value.text;
    if (result == 0 && value.is_open)
        return walk_refuse(walk, word->at, err, WALK_UNKNOWN);
    return result;
}

/* --- flags --- */

static int take_flag(const struct dockerfile_walk *walk, const struct dockerfile_word *word,
                     struct dockerfile_flag *flags, struct error **err)
{
    const char *text = walk->one->text + word->at + 2;
    size_t length = word->length - 2;
    const char *equals = memchr(text, '=', length);
    autofree char *name = xstrndup(text, equals ? (size_t)(equals - text) : length);
    const char *kind = dockerfile_kind_name(walk->one->kind);
    struct dockerfile_flag *flag = flags;
    while (flag->name && !str_equal(flag->name, name))
        flag++;
    if (!flag->name)
        return walk_refuse(walk, word->at, err, "%s has no flag --%.32s here.", kind, name);
    if (flag->unless)
        return walk_refuse(walk, word->at, err, "%s --%s is not supported: %s", kind, name,
                           flag->unless);
    if (flag->is_given && !flag->repeats)
        return walk_refuse(walk, word->at, err, "--%s is given twice.", name);
    flag->is_given = true;
    flag->at = word->at;
    flag->value.at = equals ? word->at + 3 + (size_t)(equals - text) : word->at + word->length;
    flag->value.length = word->at + word->length - flag->value.at;
    return 0;
}

int dockerfile_walk_flags(const struct dockerfile_walk *walk, struct dockerfile_flag *flags,
                          struct error **err)
{
    struct dockerfile_word word;
    size_t at = strcspn(walk->one->text, " \t\r\v\f");
    while (dockerfile_word_next(walk->file, walk->one, &at, &word) && word.at < walk->one->rest)
        if (word.length > 2 && take_flag(walk, &word, flags, err) < 0)
            return -1;
    return 0;
}

/* --- arrays --- */

int dockerfile_walk_array(const struct dockerfile_walk *walk, size_t at, json_t **array,
                          struct error **err)
{
    const char *text = walk->one->text + at;
    size_t blanks = strspn(text, "[ \t");
    *array = NULL;
    if (*text != '[')
        return 0;
    if (text[blanks] == '\'')
        return walk_refuse(walk, at + blanks, err,
                           "write the strings of the exec form in double quotes: [\"…\", \"…\"].");
    json_t *read = json_read(text, strlen(text), 0, NULL);
    bool fits = json_is_array(read);
    for (size_t i = 0; fits && i < json_array_size(read); i++)
        fits = json_is_string(json_array_get(read, i));
    if (fits)
        *array = read;
    else
        json_decref(read);
    return 0;
}

json_t *dockerfile_walk_shell_words(const struct dockerfile_walk *walk)
{
    return walk->shell ? json_copy(walk->shell) : json_pack("[s, s]", DOCKERFILE_USUAL_SHELL);
}

/* --- pairs --- */

/* Return the length of the name: up to the equals sign outside of quotes. Only the names of labels
 * may be quoted. 0: there is no name. */
static size_t name_length(const struct dockerfile_walk *walk, const struct dockerfile_word *word)
{
    const char *text = walk->one->text + word->at;
    char quote = '\0';
    size_t at = 0;
    for (; at < word->length && (quote || text[at] != '='); at++) {
        bool is_quote = text[at] == '"' || text[at] == '\'';
        if ((is_quote || text[at] == '$') && walk->one->kind != DOCKERFILE_LABEL)
            return 0;
        if (is_quote && (!quote || quote == text[at]))
            quote = quote ? '\0' : text[at];
    }
    return at < word->length ? at : 0;
}

static int take_old_form(const struct dockerfile_walk *walk, const struct dockerfile_word *name,
                         dockerfile_take_pair *take, void *context, struct error **err)
{
    const char *text = walk->one->text;
    struct dockerfile_word value = {.at = name->at + name->length};
    autofree char *copy = xstrndup(text + name->at, name->length);
    while (dockerfile_is_blank(text[value.at]))
        value.at++;
    value.length = strlen(text + value.at);
    if (!value.length)
        return walk_refuse(walk, name->at, err, "%s needs a value: write %.64s=VALUE.",
                           dockerfile_kind_name(walk->one->kind), copy);
    return take(context, copy, name->at, &value, err);
}

int dockerfile_walk_pairs(const struct dockerfile_walk *walk, dockerfile_take_pair *take,
                          void *context, struct error **err)
{
    const char *text = walk->one->text;
    struct dockerfile_word word;
    size_t at = walk->one->rest;
    bool is_first = true;
    while (dockerfile_word_next(walk->file, walk->one, &at, &word)) {
        size_t length = name_length(walk, &word);
        if (!length && memchr(text + word.at, '=', word.length) &&
            walk->one->kind != DOCKERFILE_LABEL)
            return walk_refuse(walk, word.at, err,
                               "write NAME=VALUE; the name has no quotes and no variables.");
        if (!length && is_first)
            return take_old_form(walk, &word, take, context, err);
        if (!length)
            return walk_refuse(walk, word.at, err, "write NAME=VALUE; quote a value with blanks.");
        autofree char *name = xstrndup(text + word.at, length);
        struct dockerfile_word value = {word.at + length + 1, word.length - length - 1};
        if (length > DOCKERFILE_NAME_MAX)
            return walk_refuse(walk, word.at, err, "the name is longer than %d characters.",
                               DOCKERFILE_NAME_MAX);
        if (take(context, name, word.at, &value, err) < 0)
            return -1;
        is_first = false;
    }
    return 0;
}
