/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Quotes and variables. The text is built in the open form of struct dockerfile_value. When all
 * variables were known, it is closed at the end.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "dockerfile/dockerfile_text.h"

#define DEPTH_MAX 8 /* of words in words */
#define ONLY_THE_SANDBOX                                                                         \
    "only the sandbox of the build knows this variable: set it with ARG or ENV first, or write " \
    "${NAME:-word}."

struct expansion {
    const struct dockerfile *file;
    const struct dockerfile_instruction *one; /* for the places of errors */
    const struct dockerfile_scope *scope;
    const char *text; /* the part from first to end */
    size_t end;
    size_t place; /* of its first byte in the instruction's text */
    size_t first;
    bool is_apart;   /* it is not a part of the instruction: quotes are characters */
    bool in_pattern; /* escapes stay, for dockerfile_pattern.c */
    bool is_open;
    unsigned kept_words; /* how many words around this one the sandbox expands */
    struct buffer out;
};

static int refuse(const struct expansion *expansion, size_t at, struct error **err,
                  const char *message)
{
    size_t place =
        expansion->is_apart ? expansion->place : expansion->place + at - expansion->first;
    return dockerfile_refuse(expansion->file, expansion->one, place, err, "%s", message);
}

static int take(struct expansion *expansion, size_t at, char c, struct error **err)
{
    if (++*expansion->scope->expanded > DOCKERFILE_EXPANDED_MAX)
        return refuse(expansion, expansion->first, err,
                      "the values of the variables up to this line are too long together.");
    if (c == '}' && expansion->kept_words)
        return refuse(expansion, at, err,
                      "the default of this variable has a brace, and the file does not set the "
                      "variable: set it with ENV first, or write the default without a brace.");
    if (c == '$')
        buffer_append_char(&expansion->out, '\\');
    buffer_append_char(&expansion->out, c);
    return 0;
}

static int take_text(struct expansion *expansion, size_t at, const char *text, struct error **err)
{
    for (; *text; text++)
        if (take(expansion, at, *text, err) < 0)
            return -1;
    return 0;
}

static size_t name_length(const char *text, size_t left)
{
    size_t length = 0;
    while (length < left && (isalnum((unsigned char)text[length]) || text[length] == '_'))
        length++;
    return length && isdigit((unsigned char)*text) ? 1 : length;
}

/* NESTED: the value is an open text. */
enum variable { VARIABLE_UNSET, VARIABLE_KNOWN, VARIABLE_OPEN, VARIABLE_NESTED };

static enum variable find(const struct dockerfile_scope *scope, const char *name,
                          const char **value)
{
    const json_t *found = json_object_get(scope->env, name);
    *value = json_string_value(found);
    if (found)
        return *value ? VARIABLE_KNOWN : VARIABLE_OPEN;
    found = json_object_get(scope->args, name);
    *value = json_string_value(json_is_array(found) ? json_array_get(found, 0) : found);
    if (json_is_array(found))
        return VARIABLE_NESTED;
    if (found)
        return *value ? VARIABLE_KNOWN : VARIABLE_UNSET;
    return scope->whole || isdigit((unsigned char)*name) ? VARIABLE_UNSET : VARIABLE_OPEN;
}

static int expand(struct expansion *expansion, size_t *at, char stop, unsigned depth,
                  struct error **err);

/* Turn \$ into a dollar sign. */
static void close_text(char *text)
{
    char *out = text;
    for (const char *at = text; *at; at++) {
        if (at[0] == '\\' && at[1] == '$')
            at++;
        *out++ = *at;
    }
    *out = '\0';
}

/* Append the beginning ("${NAME") of a variable that the file does not set; the sandbox of the
 * build expands it. A backslash before it would escape it there. */
static int keep_variable(struct expansion *expansion, size_t at, const char *name,
                         struct error **err)
{
    struct buffer *out = &expansion->out;
    if (out->size && out->data[out->size - 1] == '\\')
        return refuse(expansion, at, err,
                      "a backslash precedes a variable that the file does not set: set the "
                      "variable with ENV first.");
    expansion->is_open = true;
    buffer_printf(out, "${%s", name);
    return 0;
}

/* Append the value of an ARG that has such variables. */
static int keep_value(struct expansion *expansion, size_t at, const char *value, struct error **err)
{
    struct buffer *out = &expansion->out;
    *expansion->scope->expanded += strlen(value);
    if (*expansion->scope->expanded > DOCKERFILE_EXPANDED_MAX)
        return refuse(expansion, at, err,
                      "the values of the variables up to this line are too long together.");
    if (expansion->kept_words || (out->size && out->data[out->size - 1] == '\\'))
        return refuse(expansion, at, err, ONLY_THE_SANDBOX);
    expansion->is_open = true;
    buffer_append_string(out, value);
    return 0;
}

/* Skip a word, or expand it; *at is behind the operator, then at the brace. */
static int expand_word(struct expansion *expansion, size_t *at, bool wanted, unsigned depth,
                       struct error **err)
{
    struct buffer *out = &expansion->out;
    size_t kept = out->size;
    bool was_open = expansion->is_open;
    if (depth >= DEPTH_MAX)
        return refuse(expansion, *at, err, "the variables are nested too deeply.");
    if (expand(expansion, at, '}', depth + 1, err) < 0)
        return -1;
    if (!wanted && out->size > kept) {
        out->size = kept;
        out->data[kept] = '\0';
        expansion->is_open = was_open;
    }
    return 0;
}

/* Expand a word of a pattern up to the character stop, and take it out of the result. *text: the
 * caller's. */
static int read_pattern(struct expansion *expansion, size_t *at, char stop, unsigned depth,
                        char **text, struct error **err)
{
    struct buffer *out = &expansion->out;
    size_t kept = out->size, begin = *at;
    bool was_open = expansion->is_open, was_pattern = expansion->in_pattern;
    *text = NULL;
    if (depth >= DEPTH_MAX)
        return refuse(expansion, *at, err, "the variables are nested too deeply.");
    expansion->in_pattern = true;
    expansion->is_open = false;
    int result = expand(expansion, at, stop, depth + 1, err);
    bool is_open = expansion->is_open;
    expansion->in_pattern = was_pattern;
    expansion->is_open = was_open;
    if (result < 0 || buffer_overflowed(out))
        return result < 0 ? -1 : refuse(expansion, begin, err, "the value is too long.");
    *text = xstrndup(out->size ? out->data + kept : "", out->size - kept);
    close_text(*text);
    if (out->size > kept) {
        out->size = kept;
        out->data[kept] = '\0';
    }
    return is_open ? refuse(expansion, begin, err,
                            "the pattern has a variable that the file does not set: set it with "
                            "ARG or ENV first.")
                   : 0;
}

/* Expand ${NAME#pattern}, ${NAME%pattern} and ${NAME/pattern/text}. */
static int expand_pattern(struct expansion *expansion, size_t *at, const char *name, unsigned depth,
                          struct error **err)
{
    const char *value;
    autofree char *pattern = NULL, *text = NULL;
    size_t begin = *at;
    struct dockerfile_pattern_use use = {.sign = expansion->text[(*at)++]};
    enum variable state = find(expansion->scope, name, &value);
    if (state == VARIABLE_OPEN || state == VARIABLE_NESTED)
        return refuse(expansion, begin, err, ONLY_THE_SANDBOX);
    use.value = value ? value : "";
    use.is_whole = *at < expansion->end && expansion->text[*at] == use.sign;
    *at += use.is_whole;
    if (read_pattern(expansion, at, use.sign == '/' ? '/' : '}', depth, &pattern, err) < 0)
        return -1;
    if (use.sign == '/' && *at >= expansion->end)
        return refuse(expansion, begin, err, "write ${NAME/PATTERN/TEXT}.");
    *at += use.sign == '/';
    if (use.sign == '/' && read_pattern(expansion, at, '}', depth, &text, err) < 0)
        return -1;
    use.pattern = pattern;
    use.text = text;
    autofree char *result = dockerfile_pattern_apply(&use, expansion->scope->expanded);
    if (*expansion->scope->expanded > DOCKERFILE_EXPANDED_MAX)
        return refuse(expansion, begin, err,
                      "the values of the variables up to this line are too long together.");
    return result ? take_text(expansion, begin, result, err)
                  : refuse(expansion, begin, err,
                           "the pattern has more than 60 characters, or the value is too long.");
}

/* ${NAME:?word}: fail with the word. */
static int refuse_unset(struct expansion *expansion, size_t *at, const char *name, unsigned depth,
                        struct error **err)
{
    size_t begin = *at;
    autofree char *word = NULL;
    if (read_pattern(expansion, at, '}', depth, &word, err) < 0)
        return -1;
    autofree char *message = xasprintf("%s: %s.", name, *word ? word : "it has no value");
    return refuse(expansion, begin, err, message);
}

/* Expand at the operator behind the name in braces, up to the closing brace. */
static int expand_operator(struct expansion *expansion, size_t *at, const char *name,
                           unsigned depth, struct error **err)
{
    const char *value;
    enum variable state = find(expansion->scope, name, &value);
    size_t begin = *at;
    bool colon = expansion->text[*at] == ':';
    char sign = *at + colon < expansion->end ? expansion->text[*at + colon] : '\0';
    if (!colon && sign && strchr("#%/", sign))
        return expand_pattern(expansion, at, name, depth, err);
    if (!sign || !strchr("-+?", sign))
        return refuse(expansion, begin, err,
                      "this form of a variable is not supported: write $NAME, ${NAME}, "
                      "${NAME:-word}, ${NAME:+word}, ${NAME:?word}, ${NAME#pattern}, "
                      "${NAME%pattern} or ${NAME/pattern/text}.");
    *at += colon + 1u;
    bool is_set = state == VARIABLE_KNOWN && (*value || !colon);
    if (state == VARIABLE_NESTED || (sign == '?' && state == VARIABLE_OPEN))
        return refuse(expansion, begin, err, ONLY_THE_SANDBOX);
    if (sign == '?' && !is_set)
        return refuse_unset(expansion, at, name, depth, err);
    if (state == VARIABLE_OPEN) {
        if (keep_variable(expansion, begin, name, err) < 0)
            return -1;
        buffer_printf(&expansion->out, ":%c", sign);
        expansion->kept_words++;
        int result = expand_word(expansion, at, true, depth, err);
        expansion->kept_words--;
        buffer_append_char(&expansion->out, '}');
        return result;
    }
    if (sign != '+' && is_set && take_text(expansion, begin, value, err) < 0)
        return -1;
    return expand_word(expansion, at, sign == '+' ? is_set : !is_set, depth, err);
}

/* Expand at a dollar sign; *at is moved behind the variable. */
static int expand_variable(struct expansion *expansion, size_t *at, unsigned depth,
                           struct error **err)
{
    size_t begin = *at;
    bool braces = begin + 1 < expansion->end && expansion->text[begin + 1] == '{';
    size_t from = begin + 1 + braces;
    size_t length = name_length(expansion->text + from, expansion->end - from);
    autofree char *name = xstrndup(expansion->text + from, length);
    const char *value;
    *at = from + length;
    if (!length && !braces)
        return take(expansion, begin, '$', err);
    if (!length || length > DOCKERFILE_NAME_MAX || *at >= expansion->end + !braces)
        return refuse(expansion, begin, err,
                      "write the name of a variable and a closing brace after ${.");
    if (braces && expansion->text[*at] != '}') {
        if (expand_operator(expansion, at, name, depth, err) < 0)
            return -1;
        if (*at >= expansion->end)
            return refuse(expansion, begin, err, "${ has no closing brace.");
    } else {
        enum variable state = find(expansion->scope, name, &value);
        if ((state == VARIABLE_KNOWN && take_text(expansion, begin, value, err) < 0) ||
            (state == VARIABLE_NESTED && keep_value(expansion, begin, value, err) < 0))
            return -1;
        if (state == VARIABLE_OPEN) {
            if (keep_variable(expansion, begin, name, err) < 0)
                return -1;
            buffer_append_char(&expansion->out, '}');
        }
    }
    *at += braces;
    return 0;
}

/* Expand inside double quotes; *at is behind the first one, then at the second one. */
static int expand_quoted(struct expansion *expansion, size_t *at, unsigned depth,
                         struct error **err)
{
    char escape = expansion->file->escape;
    while (*at < expansion->end && expansion->text[*at] != '"') {
        char c = expansion->text[*at];
        char next = *at + 1 < expansion->end ? expansion->text[*at + 1] : '\0';
        if (c == '$') {
            if (expand_variable(expansion, at, depth, err) < 0)
                return -1;
            continue;
        }
        if (c == escape && (next == '"' || next == '$' || next == escape)) {
            ++*at;
            c = next;
        }
        if (take(expansion, *at, c, err) < 0)
            return -1;
        ++*at;
    }
    return 0;
}

static int take_single_quoted(struct expansion *expansion, size_t *at, struct error **err)
{
    for (; *at < expansion->end && expansion->text[*at] != '\''; ++*at)
        if (take(expansion, *at, expansion->text[*at], err) < 0)
            return -1;
    return 0;
}

/* Expand at a quote; *at is moved behind the closing one. */
static int expand_quote(struct expansion *expansion, size_t *at, unsigned depth, struct error **err)
{
    size_t begin = (*at)++;
    if ((expansion->text[begin] == '"' ? expand_quoted(expansion, at, depth, err)
                                       : take_single_quoted(expansion, at, err)) < 0)
        return -1;
    if (*at >= expansion->end)
        return refuse(expansion, begin, err, "a quote has no closing quote.");
    ++*at;
    return 0;
}

/* Expand up to the character stop, or to the end; '\0': to the end. */
static int expand(struct expansion *expansion, size_t *at, char stop, unsigned depth,
                  struct error **err)
{
    while (*at < expansion->end && (!stop || expansion->text[*at] != stop)) {
        char c = expansion->text[*at];
        bool is_quote = !expansion->is_apart && (c == '"' || c == '\'');
        int result;
        if (is_quote)
            result = expand_quote(expansion, at, depth, err);
        else if (c == '$')
            result = expand_variable(expansion, at, depth, err);
        else {
            bool escapes = c == expansion->file->escape && *at + 1 < expansion->end &&
                           (!expansion->is_apart || expansion->text[*at + 1] == '$');
            /* A pattern does not contain the backslash that escapes "}" or "/". */
            if (escapes && expansion->in_pattern && !strchr("}/", expansion->text[*at + 1]))
                buffer_append_char(&expansion->out, '\\');
            *at += escapes;
            result = take(expansion, *at, expansion->text[*at], err);
            ++*at;
        }
        if (result < 0)
            return -1;
        if (buffer_overflowed(&expansion->out))
            return refuse(expansion, expansion->first, err, "the value is too long.");
    }
    return 0;
}

char *dockerfile_value_open(const char *text)
{
    struct buffer out = BUFFER_INIT(2 * DOCKERFILE_MAX);
    for (; *text; text++) {
        if (*text == '$')
            buffer_append_char(&out, '\\');
        buffer_append_char(&out, *text);
    }
    return buffer_steal(&out);
}

int dockerfile_expand(const struct dockerfile *file, const struct dockerfile_instruction *one,
                      const struct dockerfile_word *word, const struct dockerfile_scope *scope,
                      struct dockerfile_value *value, struct error **err)
{
    struct expansion expansion = {
        .file = file,
        .one = one,
        .scope = scope,
        .text = one->text,
        .end = word->at + word->length,
        .place = word->at,
        .first = word->at,
        .out = BUFFER_INIT(DOCKERFILE_VALUE_MAX),
    };
    size_t at = expansion.first;
    int result = expand(&expansion, &at, '\0', 0, err);
    *value = (struct dockerfile_value){buffer_steal(&expansion.out), expansion.is_open};
    if (!value->is_open)
        close_text(value->text);
    return result;
}

int dockerfile_expand_text(const struct dockerfile *file, const struct dockerfile_instruction *one,
                           const struct dockerfile_apart *apart,
                           const struct dockerfile_scope *scope, struct dockerfile_value *value,
                           struct error **err)
{
    struct expansion expansion = {
        .file = file,
        .one = one,
        .scope = scope,
        .text = apart->text,
        .end = strlen(apart->text),
        .place = apart->at,
        .is_apart = true,
        .out = BUFFER_INIT(DOCKERFILE_MAX),
    };
    size_t at = expansion.first;
    int result = expand(&expansion, &at, '\0', 0, err);
    *value = (struct dockerfile_value){buffer_steal(&expansion.out), expansion.is_open};
    if (!value->is_open)
        close_text(value->text);
    return result;
}

int dockerfile_expand_heredoc(const struct dockerfile *file,
                              const struct dockerfile_instruction *one,
                              const struct dockerfile_heredoc *heredoc,
                              const struct dockerfile_scope *scope, char **text, struct error **err)
{
    const struct dockerfile_apart apart = {heredoc->at, heredoc->content};
    struct dockerfile_value value;
    int result = dockerfile_expand_text(file, one, &apart, scope, &value, err);
    *text = value.text;
    if (result == 0 && value.is_open)
        result = dockerfile_refuse(file, one, heredoc->at, err,
                                   "the here-document has a variable that the file does not set: "
                                   "set it with ARG or ENV, or write <<'%s' to keep dollar signs.",
                                   heredoc->name);
    return result;
}
