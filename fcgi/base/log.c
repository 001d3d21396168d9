/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"

/* A line takes as many fields as fit; each value is cut by itself, so that one endless value leaves
 * room for the others. */
#define LINE_MAX_BYTES   16384
#define VALUE_MAX_BYTES  4096
#define LINE_USUAL_BYTES 511
#define CONTEXT_MAX      6

static const char *const level_names[] = {"debug", "info", "warning", "error"};

static struct {
    const char *program;
    enum log_level least;
    enum log_format format;
    int fd;
    char *path;
} state = {"sandlot", LOG_LEVEL_INFO, LOG_FORMAT_TEXT, STDERR_FILENO, NULL};

/* Each thread works on something of its own. */
static _Thread_local struct {
    const char *key;
    char value[64];
} context[CONTEXT_MAX];

void log_init(const char *program)
{
    state.program = program;
}

void log_configure(enum log_level least, enum log_format format)
{
    state.least = least;
    state.format = format;
}

int log_to_file(const char *path)
{
    free(state.path);
    state.path = xstrdup(path);
    return log_reopen();
}

int log_reopen(void)
{
    if (!state.path)
        return 0;
    int fd = open(state.path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640);
    if (fd < 0)
        return -1;
    if (state.fd != STDERR_FILENO)
        close(state.fd);
    state.fd = fd;
    return 0;
}

void log_context_set(const char *key, const char *value)
{
    for (size_t i = 0; i < CONTEXT_MAX; i++) {
        if (context[i].key && !strcmp(context[i].key, key)) {
            if (!value)
                context[i].key = NULL;
            else
                snprintf(context[i].value, sizeof context[i].value, "%s", value);
            return;
        }
    }
    for (size_t i = 0; value && i < CONTEXT_MAX; i++) {
        if (!context[i].key) {
            context[i].key = key;
            snprintf(context[i].value, sizeof context[i].value, "%s", value);
            return;
        }
    }
}

void log_context_clear(void)
{
    for (size_t i = 0; i < CONTEXT_MAX; i++)
        context[i].key = NULL;
}

/* The text in double quotes with JSON escapes. Every byte above ASCII is escaped, so that a line is
 * always valid JSON. Too long a text is cut and still closed. */
static void append_quoted(struct buffer *line, const char *text)
{
    size_t most = line->size + VALUE_MAX_BYTES;
    buffer_append_char(line, '"');
    for (const char *c = text; *c && line->size < most; c++) {
        unsigned char byte = (unsigned char)*c;
        if (byte == '"' || byte == '\\')
            buffer_printf(line, "\\%c", byte);
        else if (byte < 0x20 || byte >= 0x7f)
            buffer_printf(line, "\\u%04x", byte);
        else
            buffer_append_char(line, (char)byte);
    }
    buffer_append_char(line, '"');
}

static void append_pair(struct buffer *line, const char *key, const char *string, int64_t number)
{
    if (line->size + strlen(key) + VALUE_MAX_BYTES + 64 > LINE_MAX_BYTES)
        return;
    bool is_json = state.format == LOG_FORMAT_JSON;
    buffer_append_string(line, is_json ? ",\"" : " ");
    buffer_append_string(line, key);
    buffer_append_string(line, is_json ? "\":" : "=");
    if (!string)
        buffer_printf(line, "%" PRId64, number);
    else if (state.format == LOG_FORMAT_TEXT && *string && !strpbrk(string, " \t\r\n\"\\=") &&
             strlen(string) < VALUE_MAX_BYTES &&
             strspn(string, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                            "-_.:/*@+~,;") == strlen(string))
        buffer_append_string(line, string);
    else
        append_quoted(line, string);
}

void log_write(enum log_level level, const char *message, const struct log_field *fields,
               size_t count)
{
    if (level < state.least)
        return;
    buffer_auto line = BUFFER_INIT(LINE_MAX_BYTES);
    buffer_reserve(&line, LINE_USUAL_BYTES);
    char now[CLOCK_ISO8601_SIZE];
    clock_format_iso8601(clock_now_ms(), now);
    if (state.format == LOG_FORMAT_JSON) {
        buffer_printf(&line, "{\"time\":\"%s\",\"level\":\"%s\",\"program\":\"%s\",\"pid\":%d", now,
                      level_names[level], state.program, (int)getpid());
        append_pair(&line, "message", message, 0);
    } else {
        buffer_printf(&line, "%s %s %s[%d] %s", now, level_names[level], state.program,
                      (int)getpid(), message);
    }
    for (size_t i = 0; i < CONTEXT_MAX; i++)
        if (context[i].key)
            append_pair(&line, context[i].key, context[i].value, 0);
    for (size_t i = 1; i < count; i++)
        if (fields[i].key)
            append_pair(&line, fields[i].key, fields[i].string, fields[i].number);
    buffer_append_string(&line, state.format == LOG_FORMAT_JSON ? "}\n" : "\n");
    if (write(state.fd, line.data, line.size) < 0 && errno == EBADF)
        abort();
}

const char *log_error_symbol_(const struct error *err)
{
    return err ? error_symbol(err->code) : "";
}

const char *log_error_message_(const struct error *err)
{
    return err ? err->message : "";
}
