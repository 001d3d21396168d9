/* SPDX-License-Identifier: GPL-2.0-or-later */
/* COPY and ADD. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/str.h"
#include "dockerfile/dockerfile_walk.h"

#define SOURCES_MAX  64
#define EXCLUDES_MAX 32

/* Write a file: its content, the destination, the owner, the mode, its name in a folder. */
#define WRITE_RUN                                                                     \
    "PATH=$PATH:/usr/lib/sandlot/tools; set -e; case $2 in */) to=$2$5;; *) to=$2;; " \
    "esac; [ ! -d \"$to\" ] || to=$to/$5; mkdir -p \"$(dirname \"$to\")\";"           \
    " printf %s \"$1\" >\"$to\"; chown \"$3\" \"$to\"; chmod \"$4\" \"$to\""

/* The words of COPY: the sources, then the destination. */
struct words {
    struct dockerfile_value values[SOURCES_MAX + 1];
    size_t places[SOURCES_MAX + 1];
    size_t count;
    struct dockerfile_value owner;
    const char *mode; /* "": as the files have it */
    json_t *excludes; /* patterns of files that are left out */
    bool parents;     /* the files keep the folders of the source's path */
    bool unpacks;
    bool from_stage;
    size_t stage; /* with from_stage */
};

static void words_free(struct words *words)
{
    for (size_t i = 0; i < words->count; i++)
        free(words->values[i].text);
    free(words->owner.text);
    json_decref(words->excludes);
}

/* --- flags --- */

enum flag { CHOWN, CHMOD, FROM, LINK, PARENTS, EXCLUDE, CHECKSUM, KEEP_GIT, UNPACK, FLAGS };

/* Return whether a name can only be that of a stage: it is one further down, or a number. */
static bool is_stage_name(const struct dockerfile *file, const char *name)
{
    size_t stage;
    return !name[strspn(name, "0123456789")] || str_equal(name, "scratch") ||
           dockerfile_stage_find(file, name, file->stage_count, &stage);
}

/* Find the number of an image. The first COPY from it adds the image. */
static int find_image(const struct dockerfile_walk *walk, size_t place, const char *name,
                      size_t *number, struct error **err)
{
    size_t at, stages = walk->whole->stage_count;
    unsigned line = walk->trigger_line ? walk->trigger_line : walk->one->line;
    json_t *image;
    json_array_foreach (walk->images, at, image) {
        *number = stages + at;
        if (str_equal(json_string_value(json_object_get(image, "name")), name))
            return 0;
    }
    *number = stages + json_array_size(walk->images);
    if (*number >= DOCKERFILE_STAGES_MAX)
        return walk_refuse(walk, place, err,
                           "a build has at most %d stages and images for COPY --from together.",
                           DOCKERFILE_STAGES_MAX);
    json_array_append_new(walk->images,
                          json_pack("{s:s, s:i, s:o}", "name", name, "line", (int)line, "place",
                                    walk->trigger_line
                                        ? json_incref(walk->place)
                                        : dockerfile_place(walk->file, walk->one, place)));
    return 0;
}

static int find_stage(const struct dockerfile_walk *walk, size_t place, const char *name,
                      size_t *stage, struct error **err)
{
    if (dockerfile_stage_find(walk->whole, name, walk->number, stage))
        return 0;
    if (is_stage_name(walk->whole, name))
        return walk_refuse(walk, place, err, "no stage %.64s precedes this one.", name);
    return find_image(walk, place, name, stage, err);
}

static int read_from(const struct dockerfile_walk *walk, const struct dockerfile_flag *from,
                     struct words *words, struct error **err)
{
    autofree char *name = NULL;
    words->from_stage = from->is_given;
    if (!from->is_given)
        return 0;
    return dockerfile_walk_expand_known(walk, &from->value, &name, err) < 0
               ? -1
               : find_stage(walk, from->at, name, &words->stage, err);
}

/* Return whether the text is a list of changes such as u+x,go=rX. */
static bool is_symbolic(const char *mode)
{
    for (;; mode++) {
        mode += strspn(mode, "ugoa");
        if (!*mode || !strchr("+-=", *mode))
            return false;
        mode++;
        mode += strspn(mode, "rwxXst");
        if (*mode != ',')
            return !*mode;
    }
}

bool dockerfile_mode_is_valid(const char *mode)
{
    size_t digits = strspn(mode, "01234567");
    return (digits >= 3 && digits <= 5 && !mode[digits]) ||
           (strlen(mode) <= DOCKERFILE_MODE_MAX && is_symbolic(mode));
}

static int check_mode(const struct dockerfile_walk *walk, const struct dockerfile_flag *flag,
                      const char *mode, struct error **err)
{
    if (dockerfile_mode_is_valid(mode))
        return 0;
    return walk_refuse(walk, flag->at, err,
                       "--chmod takes three to five octal digits, such as --chmod=0755, or changes "
                       "such as --chmod=u+x,go-w.");
}

char *dockerfile_owner(const char *given)
{
    if (strchr(given, ':'))
        return xstrdup(given);
    return given[strspn(given, "0123456789")] ? xasprintf("%s:", given)
                                              : xasprintf("%s:%s", given, given);
}

/* Read --exclude, which may be there several times. */
static int read_excludes(const struct dockerfile_walk *walk, struct words *words,
                         struct error **err)
{
    static const char flag[] = "--exclude=";
    const char *text = walk->one->text;
    struct dockerfile_word word;
    size_t at = strcspn(text, " \t\r\v\f"), length = strlen(flag);
    words->excludes = json_array();
    while (dockerfile_word_next(walk->file, walk->one, &at, &word) && word.at < walk->one->rest) {
        const struct dockerfile_word value = {word.at + length, word.length - length};
        autofree char *pattern = NULL;
        if (word.length < length || strncmp(text + word.at, flag, length) != 0)
            continue;
        if (dockerfile_walk_expand_known(walk, &value, &pattern, err) < 0)
            return -1;
        if (!*pattern || *pattern == '!' || strchr(pattern, '\n'))
            return walk_refuse(walk, word.at, err,
                               "--exclude takes the pattern of files that are left out, such as "
                               "--exclude=*.txt.");
        json_array_append_new(words->excludes, json_string(pattern));
        if (json_array_size(words->excludes) > EXCLUDES_MAX)
            return walk_refuse(walk, word.at, err, "%s has at most %d --exclude.",
                               dockerfile_kind_name(walk->one->kind), EXCLUDES_MAX);
    }
    return 0;
}

/* Without --chown, the files of a stage keep their owners, and others belong to root. */
static int read_owner(const struct dockerfile_walk *walk, const struct dockerfile_flag *chown,
                      struct words *words, struct error **err)
{
    struct dockerfile_value value;
    words->owner.text = xstrdup(words->from_stage ? "" : "0:0");
    if (!chown->is_given)
        return 0;
    int result = dockerfile_walk_expand(walk, &chown->value, &value, err);
    autofree char *given = value.text;
    if (result < 0)
        return -1;
    if (!*given || strlen(given) > 64)
        return walk_refuse(walk, chown->at, err, "write --chown=USER:GROUP.");
    free(words->owner.text);
    words->owner.is_open = value.is_open;
    words->owner.text = value.is_open ? xstrdup(given) : dockerfile_owner(given);
    return 0;
}

/* Read a flag without a value, or with true or false. *is_on stays if the flag is not given. */
static int read_switch(const struct dockerfile_walk *walk, const struct dockerfile_flag *flag,
                       bool *is_on, struct error **err)
{
    static const char *const values[] = {"", "true", "1", "false", "0"};
    autofree char *text = NULL;
    if (!flag->is_given)
        return 0;
    if (dockerfile_walk_expand_known(walk, &flag->value, &text, err) < 0)
        return -1;
    for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
        if (strcasecmp(text, values[i]) != 0)
            continue;
        *is_on = i < 3;
        return 0;
    }
    return walk_refuse(walk, flag->at, err, "--%s takes true or false.", flag->name);
}

static int read_flags(const struct dockerfile_walk *walk, struct words *words, char **mode,
                      struct error **err)
{
    bool is_add = walk->one->kind == DOCKERFILE_ADD;
    struct dockerfile_flag flags[FLAGS + 1] = {
        [CHOWN] = {.name = "chown"},
        [CHMOD] = {.name = "chmod"},
        [FROM] = {.name = "from"},
        [LINK] = {.name = "link"},
        [PARENTS] = {.name = "parents"},
        [EXCLUDE] = {.name = "exclude", .repeats = true},
        [CHECKSUM] = {.name = "checksum", .unless = "fetch the file with RUN, and check it there."},
        [KEEP_GIT] = {.name = "keep-git-dir", .unless = "clone the repository with RUN."},
        [UNPACK] = {.name = "unpack", .unless = is_add ? NULL : "write ADD in place of COPY."},
    };
    bool is_linked; /* without an effect here */
    words->unpacks = is_add;
    if (dockerfile_walk_flags(walk, flags, err) < 0 ||
        read_switch(walk, &flags[LINK], &is_linked, err) < 0 ||
        read_switch(walk, &flags[PARENTS], &words->parents, err) < 0 ||
        read_switch(walk, &flags[UNPACK], &words->unpacks, err) < 0 ||
        read_from(walk, &flags[FROM], words, err) < 0 || read_excludes(walk, words, err) < 0 ||
        read_owner(walk, &flags[CHOWN], words, err) < 0)
        return -1;
    if (flags[CHMOD].is_given &&
        (dockerfile_walk_expand_known(walk, &flags[CHMOD].value, mode, err) < 0 ||
         check_mode(walk, &flags[CHMOD], *mode, err) < 0))
        return -1;
    words->mode = *mode ? *mode : "";
    return 0;
}

/* --- words --- */

static int too_many(const struct dockerfile_walk *walk, size_t at, struct error **err)
{
    return walk_refuse(walk, at, err, "%s has at most %d sources.",
                       dockerfile_kind_name(walk->one->kind), SOURCES_MAX);
}

static int read_array(const struct dockerfile_walk *walk, const json_t *array, struct words *words,
                      struct error **err)
{
    size_t at;
    json_t *text;
    json_array_foreach ((json_t *)(uintptr_t)array, at, text) {
        if (at > SOURCES_MAX)
            return too_many(walk, walk->one->rest, err);
        const struct dockerfile_apart apart = {walk->one->rest, json_string_value(text)};
        words->places[words->count] = walk->one->rest;
        if (dockerfile_expand_text(walk->file, walk->one, &apart, &walk->scope,
                                   &words->values[words->count++], err) < 0)
            return -1;
    }
    return 0;
}

static int read_words(const struct dockerfile_walk *walk, struct words *words, struct error **err)
{
    json_auto_t *array = NULL;
    struct dockerfile_word word;
    size_t at = walk->one->rest;
    if (dockerfile_walk_array(walk, at, &array, err) < 0)
        return -1;
    if (array)
        return read_array(walk, array, words, err);
    while (dockerfile_word_next(walk->file, walk->one, &at, &word)) {
        if (words->count > SOURCES_MAX)
            return too_many(walk, word.at, err);
        words->places[words->count] = word.at;
        if (dockerfile_walk_expand(walk, &word, &words->values[words->count++], err) < 0)
            return -1;
    }
    return 0;
}

/* --- steps --- */

static bool is_url(const char *text)
{
    return strstr(text, "://") || str_starts_with(text, "git@");
}

/* Remove the slashes and "./" in front: the context is the root of its sources. */
static const char *source_in_context(const char *text)
{
    while (*text == '/' || (text[0] == '.' && text[1] == '/'))
        text++;
    return *text ? text : ".";
}

static bool leads_up(const char *path)
{
    for (const char *at = path; *at; at += strcspn(at, "/"), at += *at == '/')
        if (at[0] == '.' && at[1] == '.' && (!at[2] || at[2] == '/'))
            return true;
    return false;
}

/* As in Docker, ".." leads no higher than the context. */
static int clean_source(const struct dockerfile_walk *walk, const struct words *words, size_t at,
                        struct error **err)
{
    const struct dockerfile_value *source = &words->values[at];
    if (is_url(source->text))
        return walk_refuse(walk, words->places[at], err,
                           "%s takes no URL: fetch it with RUN, for example RUN curl -fLO URL.",
                           dockerfile_kind_name(walk->one->kind));
    if (!leads_up(source->text))
        return 0;
    if (source->is_open || words->parents)
        return walk_refuse(walk, words->places[at], err,
                           "a source with --parents, or with a variable that the file does not "
                           "set, has no \"..\".");
    str_clean_path(source->text);
    return 0;
}

/* Return a text in the form of its step; the caller frees it. */
static char *text_of(const struct dockerfile_value *value, const char *text, bool is_open)
{
    return is_open && !value->is_open ? dockerfile_value_open(text) : xstrdup(text);
}

static int add_copy(struct dockerfile_walk *walk, const struct words *words, size_t at,
                    const char *hash, struct error **err)
{
    const struct dockerfile_value *source = &words->values[at];
    const struct dockerfile_value *to = &words->values[words->count - 1];
    bool is_open = source->is_open || to->is_open || words->owner.is_open;
    autofree char *from = text_of(source, source_in_context(source->text), is_open);
    autofree char *open_to = text_of(to, to->text, is_open);
    autofree char *owner = text_of(&words->owner, words->owner.text, is_open);
    json_t *step = json_pack("{s:s, s:s, s:s}", "type", hash ? "copy" : "copy_stage", "source",
                             from, "destination", open_to);
    if (hash)
        json_object_set_new(step, "files", json_string(hash));
    else
        json_object_set_new(step, "stage", json_integer((json_int_t)words->stage));
    if (*owner)
        json_object_set_new(step, "user", json_string(owner));
    json_object_set_new(step, "exact", json_true());
    if (json_array_size(words->excludes))
        json_object_set(step, "excludes", words->excludes);
    if (words->parents)
        json_object_set_new(step, "parents", json_true());
    if (*words->mode)
        json_object_set_new(step, "mode", json_string(words->mode));
    if (is_open)
        json_object_set_new(step, "open", json_true());
    if (words->unpacks)
        json_object_set_new(step, "unpack", json_true());
    return dockerfile_walk_add(walk, step, err);
}

/* Copy from a stage: its archive will have the path. */
static int add_stage_copy(struct dockerfile_walk *walk, const struct words *words, size_t at,
                          struct error **err)
{
    char number[24];
    const char *path = source_in_context(words->values[at].text);
    if (words->values[at].is_open)
        return walk_refuse(walk, words->places[at], err,
                           "the path has a variable that the file does not set: set it with ARG or "
                           "ENV first.");
    snprintf(number, sizeof number, "%zu", words->stage);
    json_t *paths = json_object_get(walk->copied, number);
    if (!paths) {
        paths = json_array();
        json_object_set_new(walk->copied, number, paths);
    }
    json_array_append_new(paths, json_string(path));
    return add_copy(walk, words, at, NULL, err);
}

static int add_heredoc(struct dockerfile_walk *walk, const struct words *words,
                       const struct dockerfile_heredoc *heredoc, struct error **err)
{
    const struct dockerfile_value *to = &words->values[words->count - 1];
    autofree char *expanded = NULL;
    if (to->is_open || words->owner.is_open)
        return walk_refuse(walk, words->places[words->count - 1], err,
                           "the destination or the owner of a here-document has a variable that "
                           "the file does not set: set it with ARG or ENV first.");
    if (heredoc->expands &&
        dockerfile_expand_heredoc(walk->file, walk->one, heredoc, &walk->scope, &expanded, err) < 0)
        return -1;
    return dockerfile_walk_add(walk,
                               json_pack("{s:s, s:s, s:s, s:[s, s, s, s, s, s, s, s, s]}", "type",
                                         "run", "user", "root", "command", walk->one->text,
                                         "arguments", "/bin/sh", "-c", WRITE_RUN, "sh",
                                         expanded ? expanded : heredoc->content, to->text,
                                         *words->owner.text ? words->owner.text : "0:0",
                                         *words->mode ? words->mode : "0644", heredoc->name),
                               err);
}

static int add_source(struct dockerfile_walk *walk, const struct words *words, size_t at,
                      struct error **err)
{
    for (size_t i = 0; i < walk->one->heredoc_count; i++)
        if (walk->one->heredocs[i].at == words->places[at])
            return add_heredoc(walk, words, &walk->one->heredocs[i], err);
    if (clean_source(walk, words, at, err) < 0)
        return -1;
    if (words->from_stage)
        return add_stage_copy(walk, words, at, err);
    if (walk->build->context)
        return add_copy(walk, words, at, walk->build->context, err);
    if (!walk->is_wanted)
        return 0;
    return error_set_field(err, ERR_INVALID_REQUEST, DOCKERFILE_CONTEXT_FIELD,
                           "Line %u of the Dockerfile copies files: upload an archive of them, and "
                           "give its hash as the context.",
                           walk->one->line);
}

static int add_steps(struct dockerfile_walk *walk, const struct words *words, struct error **err)
{
    size_t last = words->count - 1;
    if (words->count < 2)
        return walk_refuse(walk, walk->one->rest, err, "%s needs a source and a destination.",
                           dockerfile_kind_name(walk->one->kind));
    const char *to = words->values[last].text;
    size_t length = strlen(to);
    if (!length || length > DOCKERFILE_PATH_MAX)
        return walk_refuse(walk, words->places[last], err,
                           "the destination is a path of at most %d bytes.", DOCKERFILE_PATH_MAX);
    if (words->count > 2 && to[length - 1] != '/' && !str_equal(to, ".") && !str_equal(to, ".."))
        return walk_refuse(walk, words->places[last], err,
                           "several sources need a folder as destination: end it with a slash.");
    for (size_t i = 0; i < last; i++) {
        if (!*words->values[i].text)
            return walk_refuse(walk, words->places[i], err,
                               "this source is empty: give its variable a value.");
        if (strlen(words->values[i].text) > DOCKERFILE_PATH_MAX)
            return walk_refuse(walk, words->places[i], err,
                               "a source is a path of at most %d bytes.", DOCKERFILE_PATH_MAX);
        if (strchr(words->values[i].text, '\n'))
            return walk_refuse(walk, words->places[i], err, "a source has no line break.");
        if (add_source(walk, words, i, err) < 0)
            return -1;
    }
    return 0;
}

int dockerfile_walk_bind(struct dockerfile_walk *walk, const struct dockerfile_bind *bind,
                         struct error **err)
{
    struct words words = {.mode = "", .from_stage = bind->from != NULL};
    if (bind->from && find_stage(walk, bind->at, bind->from, &words.stage, err) < 0)
        return -1;
    words.count = 2;
    words.owner.text = xstrdup(bind->from ? "" : "0:0");
    words.values[0].text = xstrdup(bind->source && *bind->source ? bind->source : ".");
    words.values[1].text = xstrdup(bind->target);
    words.places[0] = words.places[1] = bind->at;
    int result = add_steps(walk, &words, err);
    words_free(&words);
    return result;
}

int dockerfile_walk_copy(struct dockerfile_walk *walk, struct error **err)
{
    struct words words = {.count = 0};
    autofree char *mode = NULL;
    int result = read_flags(walk, &words, &mode, err);
    if (result == 0)
        result = read_words(walk, &words, err);
    if (result == 0)
        result = add_steps(walk, &words, err);
    words_free(&words);
    return result;
}
