/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_read.h"
#include "base/mem.h"
#include "base/str.h"
#include "dockerfile/dockerfile_text.h"

#define BYTE_ORDER_MARK "\xef\xbb\xbf"
#define HEREDOC_MARK    "<<"

struct parser {
    struct dockerfile *file;
    size_t at; /* in file->source */
};

/* A line of the file, without its end. */
struct line {
    size_t at, length;
};

static const char *text_at(const struct parser *parser, size_t at)
{
    return parser->file->source + at;
}

static bool next_line(struct parser *parser, struct line *line)
{
    const char *text = text_at(parser, parser->at);
    if (!*text)
        return false;
    line->at = parser->at;
    line->length = strcspn(text, "\n");
    parser->at += line->length + (text[line->length] == '\n');
    if (line->length && text[line->length - 1] == '\r')
        line->length--;
    return true;
}

static size_t blanks(const struct parser *parser, const struct line *line)
{
    size_t count = 0;
    while (count < line->length && dockerfile_is_blank(text_at(parser, line->at)[count]))
        count++;
    return count;
}

static bool is_empty_or_comment(const struct parser *parser, const struct line *line)
{
    size_t count = blanks(parser, line);
    return count == line->length || text_at(parser, line->at)[count] == '#';
}

/* --- directives --- */

static int set_escape(struct parser *parser, size_t at, const char *value, struct error **err)
{
    if (!str_equal(value, "\\") && !str_equal(value, "`"))
        return dockerfile_refuse_source(parser->file, at, err,
                                        "the escape character must be \\ or `.");
    parser->file->escape = *value;
    return 0;
}

/* Read "# name=value". Returns 1, 0: it is another line, or -1. */
static int read_directive(struct parser *parser, const struct line *line, struct error **err)
{
    autofree char *text = xstrndup(text_at(parser, line->at), line->length);
    char *name = text + strspn(text, " \t");
    if (*name != '#')
        return 0;
    name += 1 + strspn(name + 1, " \t");
    size_t length = 0;
    while (isalnum((unsigned char)name[length]))
        length++;
    char *value = name + length + strspn(name + length, " \t");
    if (!length || *value != '=')
        return 0;
    value += 1 + strspn(value + 1, " \t");
    size_t size = strlen(value);
    while (size && dockerfile_is_blank(value[size - 1]))
        value[--size] = '\0';
    name[length] = '\0';
    if (!strcasecmp(name, "escape"))
        return set_escape(parser, line->at + (size_t)(value - text), value, err) < 0 ? -1 : 1;
    /* No other parser is fetched, and there are no lint rules. */
    return !strcasecmp(name, "syntax") || !strcasecmp(name, "check");
}

static int read_directives(struct parser *parser, struct error **err)
{
    size_t begin = parser->at;
    struct line line;
    int found = 1;
    while (found == 1 && (begin = parser->at, next_line(parser, &line)))
        if ((found = read_directive(parser, &line, err)) < 0)
            return -1;
    parser->at = begin;
    return 0;
}

/* --- the lines of an instruction --- */

/* Return whether the next line continues this one. *length is then without the escape character. */
static bool is_continued(const struct parser *parser, const struct line *line, size_t *length)
{
    const char *text = text_at(parser, line->at);
    size_t end = line->length;
    while (end && dockerfile_is_blank(text[end - 1]))
        end--;
    *length = line->length;
    if (!end || text[end - 1] != parser->file->escape ||
        (end > 1 && text[end - 2] == parser->file->escape))
        return false;
    *length = end - 1;
    return true;
}

static void add_piece(struct dockerfile_instruction *one, size_t at, size_t source)
{
    one->pieces = xreallocarray(one->pieces, one->piece_count + 1, sizeof *one->pieces);
    one->pieces[one->piece_count++] = (struct dockerfile_piece){at, source};
}

static void read_lines(struct parser *parser, struct line line, struct dockerfile_instruction *one)
{
    struct buffer text = BUFFER_INIT(DOCKERFILE_MAX);
    size_t length, skipped = blanks(parser, &line);
    line.at += skipped;
    line.length -= skipped;
    bool more = is_continued(parser, &line, &length);
    add_piece(one, 0, line.at);
    buffer_append(&text, text_at(parser, line.at), length);
    while (more && next_line(parser, &line)) {
        if (is_empty_or_comment(parser, &line))
            continue;
        more = is_continued(parser, &line, &length);
        add_piece(one, text.size, line.at);
        buffer_append(&text, text_at(parser, line.at), length);
    }
    while (text.size && dockerfile_is_blank(text.data[text.size - 1]))
        text.data[--text.size] = '\0';
    one->text = buffer_steal(&text);
}

/* --- here-documents --- */

/* Return the name of a here-document, or NULL when the word begins none. */
static char *heredoc_name(const char *word, size_t length, bool *tabs, bool *expands)
{
    size_t at = 0;
    while (at < length && isdigit((unsigned char)word[at]))
        at++;
    if (length - at < 3 || memcmp(word + at, HEREDOC_MARK, 2) != 0)
        return NULL;
    at += 2;
    *tabs = word[at] == '-';
    at += *tabs;
    while (at < length && dockerfile_is_blank(word[at]))
        at++;
    char quote = word[at] == '"' || word[at] == '\'' ? word[at] : '\0';
    bool is_escaped = word[at] == '\\'; /* <<\EOF means the same as <<'EOF' */
    *expands = !quote && !is_escaped;
    at += quote || is_escaped;
    size_t end = at;
    while (end < length && (isalnum((unsigned char)word[end]) || strchr("_-.", word[end])))
        end++;
    if (end == at || (quote && (end == length || word[end] != quote)))
        return NULL;
    return xstrndup(word + at, end - at);
}

static int read_heredoc(struct parser *parser, const struct dockerfile_instruction *one,
                        struct dockerfile_heredoc *heredoc, bool tabs, struct error **err)
{
    buffer_auto content = BUFFER_INIT(DOCKERFILE_MAX), raw = BUFFER_INIT(DOCKERFILE_MAX);
    struct line line;
    while (next_line(parser, &line)) {
        const char *text = text_at(parser, line.at);
        size_t skipped = 0;
        while (tabs && skipped < line.length && text[skipped] == '\t')
            skipped++;
        buffer_append(&raw, text, line.length);
        buffer_append_char(&raw, '\n');
        if (line.length - skipped == strlen(heredoc->name) &&
            !memcmp(text + skipped, heredoc->name, line.length - skipped)) {
            heredoc->content = buffer_steal(&content);
            heredoc->raw = buffer_steal(&raw);
            return 0;
        }
        buffer_append(&content, text + skipped, line.length - skipped);
        buffer_append_char(&content, '\n');
    }
    return dockerfile_refuse(parser->file, one, heredoc->at, err,
                             "the here-document has no line %s at its end.", heredoc->name);
}

/* An array of JSON has no here-documents; the command [ has. */
static bool is_array(const char *text)
{
    json_auto_t *array = *text == '[' ? json_read(text, strlen(text), 0, NULL) : NULL;
    return array != NULL;
}

static int read_heredocs(struct parser *parser, struct dockerfile_instruction *one,
                         struct error **err)
{
    struct dockerfile_word word;
    size_t at = one->rest;
    if (is_array(one->text + at))
        return 0;
    while (dockerfile_word_next(parser->file, one, &at, &word)) {
        struct dockerfile_heredoc heredoc = {.at = word.at};
        bool tabs;
        heredoc.name = heredoc_name(one->text + word.at, word.length, &tabs, &heredoc.expands);
        if (!heredoc.name)
            continue;
        one->heredocs = xreallocarray(one->heredocs, one->heredoc_count + 1, sizeof *one->heredocs);
        one->heredocs[one->heredoc_count++] = heredoc;
        if (one->heredoc_count > DOCKERFILE_HEREDOCS_MAX)
            return dockerfile_refuse(parser->file, one, word.at, err,
                                     "an instruction has at most %d here-documents.",
                                     DOCKERFILE_HEREDOCS_MAX);
        if (read_heredoc(parser, one, &one->heredocs[one->heredoc_count - 1], tabs, err) < 0)
            return -1;
    }
    return 0;
}

/* --- instructions --- */

static int read_kind(const struct parser *parser, struct dockerfile_instruction *one,
                     struct error **err)
{
    const char *names[DOCKERFILE_KINDS];
    one->kind = dockerfile_kind_at(one->text, &one->rest);
    if (one->kind != DOCKERFILE_KINDS)
        return 0;
    autofree char *name = xstrndup(one->text, one->rest);
    for (char *c = name; *c; c++)
        *c = (char)toupper((unsigned char)*c);
    for (size_t i = 0; i < DOCKERFILE_KINDS; i++)
        names[i] = dockerfile_kind_name((enum dockerfile_kind)i);
    const char *nearest = str_nearest(name, names, DOCKERFILE_KINDS);
    return dockerfile_refuse(parser->file, one, 0, err, "there is no instruction %.32s%s%s%s", name,
                             nearest ? "; did you mean " : ".", nearest ? nearest : "",
                             nearest ? "?" : "");
}

/* Move one->rest behind the flags: words that begin with two hyphens. A word "--" ends them. */
static void skip_flags(const struct parser *parser, struct dockerfile_instruction *one)
{
    struct dockerfile_word word;
    size_t at = one->rest;
    while (dockerfile_word_next(parser->file, one, &at, &word) &&
           !strncmp(one->text + word.at, "--", 2)) {
        one->rest = at;
        if (word.length == 2)
            break;
    }
    while (dockerfile_is_blank(one->text[one->rest]))
        one->rest++;
}

static int refuse_count(const struct parser *parser, const struct dockerfile_instruction *one,
                        struct error **err, int most, const char *what)
{
    return dockerfile_refuse(parser->file, one, 0, err, "a Dockerfile has at most %d %s.", most,
                             what);
}

/* A trigger is one line. Otherwise the lines of its here-document would be instructions. */
static int check_trigger(const struct parser *parser, const struct dockerfile_instruction *one,
                         struct error **err)
{
    struct dockerfile_word word;
    size_t length, at = one->rest;
    if (!dockerfile_has_heredocs(dockerfile_kind_at(one->text + at, &length)))
        return 0;
    at += length + strspn(one->text + at + length, " \t");
    if (is_array(one->text + at))
        return 0;
    while (dockerfile_word_next(parser->file, one, &at, &word)) {
        bool tabs, expands;
        autofree char *name = heredoc_name(one->text + word.at, word.length, &tabs, &expands);
        if (name)
            return dockerfile_refuse(parser->file, one, word.at, err,
                                     "ONBUILD has no here-document: write the commands in one "
                                     "instruction with &&, or copy a file.");
    }
    return 0;
}

static int read_instruction(struct parser *parser, const struct line *line, struct error **err)
{
    struct dockerfile *file = parser->file;
    file->instructions =
        xreallocarray(file->instructions, file->instruction_count + 1, sizeof *file->instructions);
    struct dockerfile_instruction *one = &file->instructions[file->instruction_count++];
    *one = (struct dockerfile_instruction){.text = NULL};
    one->line = dockerfile_line(file, line->at);
    read_lines(parser, *line, one);
    if (file->instruction_count > DOCKERFILE_INSTRUCTIONS_MAX)
        return refuse_count(parser, one, err, DOCKERFILE_INSTRUCTIONS_MAX, "instructions");
    if (read_kind(parser, one, err) < 0)
        return -1;
    skip_flags(parser, one);
    if (!one->text[one->rest])
        return dockerfile_refuse(file, one, strlen(one->text), err, "%s needs an argument.",
                                 dockerfile_kind_name(one->kind));
    if (one->kind == DOCKERFILE_ONBUILD)
        return check_trigger(parser, one, err);
    return dockerfile_has_heredocs(one->kind) ? read_heredocs(parser, one, err) : 0;
}

/* --- stages --- */

/* Read the name of a stage: FROM image AS name. */
static int read_stage(struct parser *parser, size_t first, struct error **err)
{
    struct dockerfile *file = parser->file;
    const struct dockerfile_instruction *one = &file->instructions[first];
    struct dockerfile_word words[4];
    size_t at = one->rest, count = 0;
    while (count < 4 && dockerfile_word_next(file, one, &at, &words[count]))
        count++;
    if (file->stage_count == DOCKERFILE_STAGES_MAX)
        return refuse_count(parser, one, err, DOCKERFILE_STAGES_MAX, "stages");
    file->stages = xreallocarray(file->stages, file->stage_count + 1, sizeof *file->stages);
    struct dockerfile_stage *stage = &file->stages[file->stage_count++];
    *stage = (struct dockerfile_stage){.first = first};
    if (count == 1)
        return 0;
    if (count != 3 || words[1].length != 2 || strncasecmp(one->text + words[1].at, "as", 2) != 0)
        return dockerfile_refuse(file, one, words[1].at, err,
                                 "write FROM NAME or FROM NAME AS STAGE.");
    stage->name = xstrndup(one->text + words[2].at, words[2].length);
    for (char *c = stage->name; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    if (!isalpha((unsigned char)*stage->name) || words[2].length > DOCKERFILE_NAME_MAX ||
        strspn(stage->name, "abcdefghijklmnopqrstuvwxyz0123456789_.-") != words[2].length)
        return dockerfile_refuse(file, one, words[2].at, err,
                                 "the name of a stage is a letter, then letters, digits, \"_\", "
                                 "\"-\" and \".\".");
    return 0;
}

static int read_stages(struct parser *parser, struct error **err)
{
    struct dockerfile *file = parser->file;
    for (size_t i = 0; i < file->instruction_count; i++) {
        const struct dockerfile_instruction *one = &file->instructions[i];
        if (one->kind == DOCKERFILE_FROM && read_stage(parser, i, err) < 0)
            return -1;
        if (file->stage_count)
            file->stages[file->stage_count - 1].count++;
        else if (one->kind == DOCKERFILE_ARG)
            file->first_stage++;
        else
            return dockerfile_refuse(file, one, 0, err,
                                     "only ARG comes before the first FROM; this is %s.",
                                     dockerfile_kind_name(one->kind));
    }
    return file->stage_count ? 0
                             : dockerfile_refuse_source(file, strlen(file->source), err,
                                                        "there is no FROM: begin with FROM and an "
                                                        "image or a template.");
}

static int check_text(const char *text, size_t size, struct error **err)
{
    size_t lines = 0;
    if (size > DOCKERFILE_MAX)
        return error_set_field(err, ERR_INVALID_REQUEST, DOCKERFILE_FIELD,
                               "A Dockerfile has at most %d bytes.", DOCKERFILE_MAX);
    if (memchr(text, '\0', size) || !str_is_utf8(text, size))
        return error_set_field(err, ERR_INVALID_REQUEST, DOCKERFILE_FIELD,
                               "A Dockerfile is text in UTF-8, without NUL.");
    for (size_t i = 0; i < size; i++)
        lines += text[i] == '\n';
    if (lines >= DOCKERFILE_LINES_MAX)
        return error_set_field(err, ERR_INVALID_REQUEST, DOCKERFILE_FIELD,
                               "A Dockerfile has at most %d lines.", DOCKERFILE_LINES_MAX);
    return 0;
}

static int parse(struct parser *parser, struct error **err)
{
    struct line line;
    if (str_starts_with(parser->file->source, BYTE_ORDER_MARK))
        parser->at = strlen(BYTE_ORDER_MARK);
    if (read_directives(parser, err) < 0)
        return -1;
    while (next_line(parser, &line))
        if (!is_empty_or_comment(parser, &line) && read_instruction(parser, &line, err) < 0)
            return -1;
    return read_stages(parser, err);
}

int dockerfile_parse(const char *text, size_t size, struct dockerfile **file, struct error **err)
{
    *file = NULL;
    if (check_text(text, size, err) < 0)
        return -1;
    *file = xcalloc(1, sizeof **file);
    (*file)->source = xstrndup(text, size);
    (*file)->escape = '\\';
    struct parser parser = {*file, 0};
    return parse(&parser, err);
}

static void free_instruction(struct dockerfile_instruction *one)
{
    for (size_t i = 0; i < one->heredoc_count; i++) {
        free(one->heredocs[i].name);
        free(one->heredocs[i].content);
        free(one->heredocs[i].raw);
    }
    free(one->heredocs);
    free(one->pieces);
    free(one->text);
}

void dockerfile_free(struct dockerfile *file)
{
    if (!file)
        return;
    for (size_t i = 0; i < file->instruction_count; i++)
        free_instruction(&file->instructions[i]);
    for (size_t i = 0; i < file->stage_count; i++)
        free(file->stages[i].name);
    free(file->instructions);
    free(file->stages);
    free(file->source);
    free(file);
}
