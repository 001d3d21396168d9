/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ssh/session/target.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/ulid.h"

#define NAME_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-."

void target_deinit(struct target *target)
{
    free(target->text);
    free(target->name);
    free(target->attach_process);
    free(target->timeout);
    free(target->cpu);
    free(target->memory);
    free(target->label_name);
    free(target->team);
    for (unsigned i = 0; i < target->label_count; i++)
        free(target->labels[i]);
    *target = (struct target){0};
}

static int set(char **member, const char *word, const char *value, struct error **err)
{
    if (*member)
        return error_set(err, ERR_INVALID_REQUEST, "%s is given twice", word);
    if (!*value || *value == '-')
        return error_set(err, ERR_INVALID_REQUEST, "%s has no value", word);
    *member = xstrdup(value);
    return 0;
}

/* Take an option, such as timeout=30m. */
static int take_option(struct target *target, const char *word, struct error **err)
{
    const struct {
        const char *name;
        char **member;
    } options[] = {
        {"timeout=", &target->timeout}, {"cpu=", &target->cpu},
        {"memory=", &target->memory},   {"name=", &target->label_name},
        {"team=", &target->team},       {"attach=", &target->attach_process},
    };
    for (size_t i = 0; i < ARRAY_SIZE(options); i++)
        if (str_starts_with(word, options[i].name))
            return set(options[i].member, word, word + strlen(options[i].name), err);
    return error_set(
        err, ERR_INVALID_REQUEST,
        "'%s' is not an option; the options are timeout=, cpu=, memory=, name=, team= and attach=",
        word);
}

static int take_label(struct target *target, const char *word, struct error **err)
{
    const char *colon = strchr(word, ':');
    if (colon == word || target->label_count == TARGET_LABELS_MAX)
        return error_set(err, ERR_INVALID_REQUEST, "write metadata as KEY:VALUE, at most %d pairs",
                         TARGET_LABELS_MAX);
    target->labels[target->label_count++] =
        xasprintf("%.*s=%s", (int)(colon - word), word, colon + 1);
    return 0;
}

/* Add a word to the name. A template's name has a hyphen where the user name has a plus. */
static int take_name(struct target *target, const char *word, struct error **err)
{
    if (!*word || strspn(word, NAME_LETTERS) != strlen(word) || *word == '-')
        return error_set(err, ERR_INVALID_REQUEST, "'%s' is not a name", word);
    char *longer = target->name ? xasprintf("%s-%s", target->name, word) : xstrdup(word);
    free(target->name);
    target->name = longer;
    return 0;
}

static int take_word(struct target *target, const char *word, bool is_first, struct error **err)
{
    if (is_first && (str_equal(word, "new") || str_equal(word, "new-keep"))) {
        target->keep = str_equal(word, "new-keep");
        target->may_exist = false;
        return 0;
    }
    if (str_equal(word, "keep")) {
        target->keep = true;
        return 0;
    }
    if (!is_first && str_equal(word, "attach")) {
        target->attach = true;
        return 0;
    }
    switch (word[strcspn(word, "=:")]) {
    case '=':
        return take_option(target, word, err);
    case ':':
        return take_label(target, word, err);
    default:
        return take_name(target, word, err);
    }
}

/* Check the options next to attach. The sandbox exists already, so options of a new one are
 * refused. */
static int settle_attach(struct target *target, struct error **err)
{
    target->attach |= target->attach_process != NULL;
    if (!target->attach)
        return 0;
    if (!target->name || target->keep || target->timeout || target->cpu || target->memory ||
        target->label_name || target->team || target->label_count)
        return error_set(err, ERR_INVALID_REQUEST,
                         "with attach, give only the id or the name of a sandbox");
    target->may_exist = target->must_exist = true;
    return 0;
}

int target_parse(const char *text, struct target *target, struct error **err)
{
    *target = (struct target){.text = xstrdup(text), .may_exist = true};
    if (strlen(text) > TARGET_MAX || !str_is_utf8(text, strlen(text)))
        return error_set(err, ERR_INVALID_REQUEST, "the user name is too long, or is not UTF-8");
    target->may_exist = !strchr(text, '+');
    target->must_exist = id_is_valid("sbx_", text);
    bool is_first = true;
    for (const char *at = text;; at++, is_first = false) {
        size_t size = strcspn(at, "+");
        autofree char *word = xstrndup(at, size);
        if (take_word(target, word, is_first, err) < 0)
            return -1;
        at += size;
        if (*at)
            continue;
        target->may_exist &= target->name != NULL; /* keep alone is new-keep */
        return settle_attach(target, err);
    }
}
