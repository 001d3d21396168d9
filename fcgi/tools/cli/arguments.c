/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/arguments.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/mem.h"
#include "base/str.h"

int cli_misuse(struct error **err, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    autofree char *message = xvasprintf(format, ap);
    va_end(ap);
    return error_set(err, ERR_CONFIG, "%s", message);
}

const char *cli_next_value(const struct cli_call *call, const char *name, size_t *at)
{
    while (*at < call->given_count) {
        const struct cli_given *given = &call->given[(*at)++];
        if (str_equal(given->option->name, name))
            return given->value ? given->value : "";
    }
    return NULL;
}

const char *cli_value(const struct cli_call *call, const char *name)
{
    const char *value, *last = NULL;
    size_t at = 0;
    while ((value = cli_next_value(call, name, &at)))
        last = value;
    return last;
}

bool cli_flag(const struct cli_call *call, const char *name)
{
    return cli_value(call, name);
}

const char *cli_operand(const struct cli_call *call, size_t at)
{
    return at < call->operand_count ? call->operands[at] : NULL;
}

static size_t word_count(const char *name)
{
    return strchr(name, ' ') ? 2 : 1;
}

static bool has_name(const struct cli_verb *verb, char **words, size_t count)
{
    size_t length = strcspn(verb->name, " ");
    const char *second = verb->name + length + (verb->name[length] == ' ');
    if (!count || !str_is_command_word(verb->name, length, words[0]))
        return false;
    return !*second || (count > 1 && str_is_command_word(second, strlen(second), words[1]));
}

const struct cli_verb *arguments_verb(char **words, size_t count, size_t *name_words)
{
    for (size_t i = 0; i < cli_verb_count; i++) {
        *name_words = word_count(cli_verbs[i].name);
        if (has_name(&cli_verbs[i], words, count))
            return &cli_verbs[i];
    }
    return NULL;
}

static const struct cli_option *find_option(const struct cli_option *options, const char *name,
                                            size_t length, char letter)
{
    for (; options && options->name; options++)
        if (name ? strlen(options->name) == length && !strncmp(options->name, name, length)
                 : letter && options->letter == letter)
            return options;
    return NULL;
}

const struct cli_option *arguments_option(const struct cli_verb *verb, const char *name,
                                          size_t length, char letter)
{
    const struct cli_option *found = find_option(verb ? verb->options : NULL, name, length, letter);
    return found ? found : find_option(cli_common_options, name, length, letter);
}

struct parser {
    char **words;
    size_t count, at;
    struct cli_call *call;
};

static void give(struct cli_call *call, const struct cli_option *option, const char *value)
{
    call->given = xreallocarray(call->given, call->given_count + 1, sizeof *call->given);
    call->given[call->given_count++] = (struct cli_given){option, value};
}

#define OPTIONS_MAX 64

/* The option of the verb, or of all verbs, whose name is like the written one; NULL: none. */
static const char *nearest_option(const struct cli_verb *verb, const char *written)
{
    const char *names[OPTIONS_MAX];
    size_t count = 0;
    const struct cli_option *tables[] = {verb ? verb->options : NULL, cli_common_options};
    for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
        for (const struct cli_option *o = tables[i]; o && o->name && count < OPTIONS_MAX; o++)
            names[count++] = o->name;
    autofree char *name =
        str_starts_with(written, "--") ? xstrndup(written + 2, strcspn(written + 2, "=")) : NULL;
    return name ? str_nearest(name, names, count) : NULL;
}

static int refuse_option(const struct cli_verb *verb, const char *written, struct error **err)
{
    const char *nearest = nearest_option(verb, written);
    return cli_misuse(err, "unknown option %s%s%s%s%s%s", written,
                      verb ? " of " : " before the command", verb ? verb->name : "",
                      nearest ? "; did you mean --" : "", nearest ? nearest : "",
                      nearest ? "?" : "");
}

/* attached: the text after "=" or the letter, or NULL. */
static int take_option(struct parser *parser, const struct cli_option *option, const char *written,
                       const char *attached, struct error **err)
{
    if (!option)
        return refuse_option(parser->call->verb, written, err);
    if (!option->argument && attached)
        return cli_misuse(err, "--%s takes no value", option->name);
    if (option->argument && !attached) {
        if (parser->at == parser->count)
            return cli_misuse(err, "--%s needs a value: %s", option->name, option->argument);
        attached = parser->words[parser->at++];
    }
    give(parser->call, option, attached);
    return 0;
}

static int take_letters(struct parser *parser, const char *word, struct error **err)
{
    for (const char *c = word + 1; *c; c++) {
        const char written[] = {'-', *c, '\0'};
        const struct cli_option *option = arguments_option(parser->call->verb, NULL, 0, *c);
        bool has_value = option && option->argument && c[1];
        if (take_option(parser, option, written, has_value ? c + 1 : NULL, err) < 0)
            return -1;
        if (has_value)
            break;
    }
    return 0;
}

static int take_word_option(struct parser *parser, const char *word, struct error **err)
{
    if (word[1] != '-')
        return take_letters(parser, word, err);
    size_t length = strcspn(word + 2, "=");
    return take_option(parser, arguments_option(parser->call->verb, word + 2, length, 0), word,
                       word[2 + length] ? word + 3 + length : NULL, err);
}

static bool is_rest(const struct cli_call *call)
{
    return call->verb->flags & CLI_REST && call->operand_count > 0;
}

/* A first word of verbs with two: the second ones. */
static int complain_second(const char *word, struct error **err)
{
    buffer_auto seconds = BUFFER_INIT(1024);
    autofree char *start = xasprintf("%s ", word);
    for (size_t i = 0; i < cli_verb_count; i++)
        if (str_starts_with(cli_verbs[i].name, start))
            buffer_printf(&seconds, "%s%s", seconds.size ? ", " : "",
                          cli_verbs[i].name + strlen(start));
    return seconds.size
               ? cli_misuse(err, "'%s' needs a second word: %s", word, buffer_string(&seconds))
               : 0;
}

static int take_verb(struct parser *parser, struct error **err)
{
    size_t name_words;
    struct cli_call *call = parser->call;
    call->verb =
        arguments_verb(parser->words + parser->at, parser->count - parser->at, &name_words);
    if (call->verb) {
        parser->at += name_words;
        return 0;
    }
    const char *word = parser->words[parser->at];
    autofree const char **names = xcalloc(cli_verb_count, sizeof *names);
    if (complain_second(word, err) < 0)
        return -1;
    for (size_t i = 0; i < cli_verb_count; i++)
        names[i] = cli_verbs[i].name;
    const char *nearest = str_nearest(word, names, cli_verb_count);
    return cli_misuse(err, "there is no command '%s'%s%s%s", word,
                      nearest ? "; did you mean '" : "", nearest ? nearest : "",
                      nearest ? "'?" : "");
}

static int take_all(struct parser *parser, struct error **err)
{
    struct cli_call *call = parser->call;
    bool only_operands = false;
    while (parser->at < parser->count) {
        char *word = parser->words[parser->at];
        bool is_option = !only_operands && word[0] == '-' && word[1];
        if (call->verb && is_rest(call))
            is_option = false;
        if (is_option && str_equal(word, "--")) {
            only_operands = true;
            parser->at++;
        } else if (is_option) {
            parser->at++;
            if (take_word_option(parser, word, err) < 0)
                return -1;
        } else if (!call->verb) {
            if (take_verb(parser, err) < 0)
                return -1;
        } else {
            call->operands[call->operand_count++] = word;
            parser->at++;
        }
    }
    return 0;
}

int arguments_parse(char **words, size_t count, struct cli_call *call, struct error **err)
{
    struct parser parser = {.words = words, .count = count, .call = call};
    call->operands = xcalloc(count + 1, sizeof *call->operands);
    if (take_all(&parser, err) < 0)
        return -1;
    /* "sandlot exec SANDBOX -- ls": the dashes only part the two. */
    if (call->verb && is_rest(call) && str_equal(cli_operand(call, 1), "--"))
        memmove(call->operands + 1, call->operands + 2,
                (call->operand_count-- - 1) * sizeof *call->operands);
    if (!call->verb || cli_flag(call, "help"))
        return 0;
    if (call->operand_count < call->verb->least || call->operand_count > call->verb->most)
        return cli_misuse(err, "give %s: sandlot %s %s",
                          call->operand_count < call->verb->least ? "more operands"
                                                                  : "fewer operands",
                          call->verb->name, call->verb->operands);
    return 0;
}

void arguments_free(struct cli_call *call)
{
    free(call->given);
    free(call->operands);
}
