/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/relay_head.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "base/instance.h"
#include "base/mem.h"
#include "base/str.h"

/* Whether the line has this field name; then *value is the text after the colon, without blanks. */
static bool line_is(const char *line, size_t size, const char *name, const char **value,
                    size_t *value_size)
{
    size_t length = strlen(name);
    if (size <= length || strncasecmp(line, name, length) != 0 || line[length] != ':')
        return false;
    *value = line + length + 1;
    *value_size = size - length - 1;
    while (*value_size && (**value == ' ' || **value == '\t')) {
        (*value)++;
        (*value_size)--;
    }
    while (*value_size && strchr(" \t\r\n", (*value)[*value_size - 1]))
        (*value_size)--;
    return true;
}

static bool is_ours(const char *line, size_t size)
{
    const char *value;
    size_t value_size;
    return line_is(line, size, AGENT_PORT_HEADER, &value, &value_size) ||
           line_is(line, size, AGENT_SECRET_HEADER, &value, &value_size);
}

/* Size of the line at the beginning, its line end included. */
static size_t line_size(const char *data, size_t size)
{
    const char *end = memchr(data, '\n', size);
    return end ? (size_t)(end + 1 - data) : size;
}

static int read_port(const char *value, size_t size, uint16_t *port)
{
    char text[6];
    uint64_t number;
    if (*port || size >= sizeof text)
        return -1;
    memcpy(text, value, size);
    text[size] = '\0';
    if (str_parse_u64(text, 1, UINT16_MAX, &number) < 0)
        return -1;
    *port = (uint16_t)number;
    return 0;
}

static int read_line(const char *line, size_t size, struct relay_head *head)
{
    const char *value;
    size_t value_size;
    if (line_is(line, size, AGENT_PORT_HEADER, &value, &value_size))
        return read_port(value, value_size, &head->port);
    if (!line_is(line, size, AGENT_SECRET_HEADER, &value, &value_size))
        return 0;
    if (head->secret)
        return -1;
    head->secret = value;
    head->secret_size = value_size;
    return 0;
}

ssize_t relay_head_parse(const char *data, size_t size, struct relay_head *head)
{
    const char *end = memmem(data, size, "\r\n\r\n", 4);
    *head = (struct relay_head){.port = 0};
    if (!end)
        return 0;
    size_t head_size = (size_t)(end + 4 - data);
    bool after_ours = false;
    for (size_t at = 0, length; at < head_size; at += length) {
        const char *line = data + at;
        length = line_size(line, head_size - at);
        if (after_ours && (*line == ' ' || *line == '\t'))
            return -1;
        if (read_line(line, length, head) < 0)
            return -1;
        after_ours = is_ours(line, length);
    }
    return (ssize_t)head_size;
}

size_t relay_head_strip(char *data, size_t head_size, size_t size)
{
    for (size_t at = 0; at < head_size;) {
        size_t length = line_size(data + at, head_size - at);
        if (!is_ours(data + at, length)) {
            at += length;
            continue;
        }
        memmove(data + at, data + at + length, size - at - length);
        mem_wipe(data + size - length, length);
        size -= length;
        head_size -= length;
    }
    return size;
}

/* Read a status line as nginx does, with any number of blanks before the status. Returns the
 * status, 0 when more has to come, -1 of other bytes. */
static int read_status(const char *data, size_t size)
{
    static const char form[] = "HTTP/1.d ";
    size_t at = 0;
    int status = 0;
    for (; at < sizeof form - 1 && at < size; at++)
        if (form[at] == 'd' ? !isdigit((unsigned char)data[at]) : data[at] != form[at])
            return -1;
    while (at < size && data[at] == ' ')
        at++;
    for (size_t end = at + 3; at < end && at < size; at++) {
        if (!isdigit((unsigned char)data[at]))
            return -1;
        status = status * 10 + (data[at] - '0');
    }
    if (at >= size)
        return 0;
    return status >= 100 && strchr(" .\r\n", data[at]) && data[at] ? status : -1;
}

/* Size of a head that has come whole, 0 of another. Its lines may end with a newline only. */
static size_t whole_head(const char *data, size_t size)
{
    for (size_t at = 0, length; at < size; at += length) {
        length = line_size(data + at, size - at);
        if (data[at + length - 1] == '\n' && (length == 1 || (length == 2 && data[at] == '\r')))
            return at + length;
    }
    return 0;
}

int relay_answer_begins(const char *data, size_t size, size_t *interim)
{
    for (*interim = 0;;) {
        int status = read_status(data + *interim, size - *interim);
        if (status <= 0 || status == 101 || status >= 200)
            return status > 0 ? 1 : status;
        size_t head_size = whole_head(data + *interim, size - *interim);
        if (!head_size)
            return 0;
        *interim += head_size;
    }
}
