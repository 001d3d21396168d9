/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/files/multipart.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/types.h>

#include "base/buffer.h"
#include "base/mem.h"
#include "base/str.h"

#define BOUNDARY_MAX 200 /* 70 by the standard */
#define PADDING_MAX  256 /* behind a delimiter */

struct multipart {
    const struct multipart_events *events;
    void *context;
    enum { IN_PREAMBLE, AFTER_DELIMITER, IN_HEAD, IN_PART, IN_EPILOGUE } state;
    char *delimiter; /* CR LF "--" and the boundary */
    size_t delimiter_size;
    size_t matched; /* matched bytes of the delimiter at the end of the input */
    size_t lent;    /* bytes of the match without a byte of the content */
    struct buffer line;
    size_t line_start; /* of the header line in hand */
};

int multipart_new(const char *content_type, const struct multipart_events *events, void *context,
                  struct multipart **multipart, struct rpc_error *error)
{
    autofree char *boundary = multipart_parameter(content_type, "boundary");
    if (!boundary || !*boundary || strlen(boundary) > BOUNDARY_MAX || strchr(boundary, '\r'))
        return rpc_error_set(error, RPC_INVALID_ARGUMENT,
                             "the Content-Type of the multipart body has no valid boundary");
    struct multipart *m = xcalloc(1, sizeof *m);
    m->events = events;
    m->context = context;
    m->delimiter = xasprintf("\r\n--%s", boundary);
    m->delimiter_size = strlen(m->delimiter);
    /* The first one may stand at the very beginning. */
    m->matched = m->lent = 2;
    buffer_init(&m->line, MULTIPART_HEAD_MAX);
    *multipart = m;
    return 0;
}

void multipart_free(struct multipart *multipart)
{
    if (!multipart)
        return;
    buffer_deinit(&multipart->line);
    free(multipart->delimiter);
    free(multipart);
}

static int malformed(const char *what, struct rpc_error *error)
{
    return rpc_error_set(error, RPC_INVALID_ARGUMENT, "the multipart body is malformed: %s", what);
}

static int emit(struct multipart *m, const char *data, size_t size, struct rpc_error *error)
{
    return size && m->state == IN_PART ? m->events->data(m->context, data, size, error) : 0;
}

/* Bytes of a part (or of the preamble) up to a delimiter, at most all. Returns how many are used,
 * -1 with an error. CR stands only at the beginning of a delimiter, so a failed match starts again
 * at the byte that failed. */
static ssize_t take_content(struct multipart *m, const char *data, size_t size,
                            struct rpc_error *error)
{
    size_t carried = m->matched; /* of the match, in earlier pieces */
    size_t at = 0;
    while (at < size && m->matched < m->delimiter_size) {
        if (!m->matched) {
            const char *cr = memchr(data + at, '\r', size - at);
            at = cr ? (size_t)(cr - data) + 1 : size;
            m->matched = cr ? 1 : 0;
        } else if (data[at] == m->delimiter[m->matched]) {
            m->matched++;
            at++;
        } else {
            if (carried && emit(m, m->delimiter + m->lent, carried - m->lent, error) < 0)
                return -1;
            carried = m->lent = m->matched = 0;
        }
    }
    if (emit(m, data, at - (m->matched - carried), error) < 0)
        return -1;
    if (m->matched == m->delimiter_size) {
        if (m->state == IN_PART && m->events->end(m->context, error) < 0)
            return -1;
        m->state = AFTER_DELIMITER;
        m->matched = m->lent = 0;
    }
    return (ssize_t)at;
}

/* Up to and with the end of the line, at most all. */
static size_t line_length(const char *data, size_t size)
{
    const char *end = memchr(data, '\n', size);
    return end ? (size_t)(end - data) + 1 : size;
}

/* "--" for the last delimiter, else padding and the end of the line. */
static ssize_t take_rest_of_delimiter(struct multipart *m, const char *data, size_t size,
                                      struct rpc_error *error)
{
    size_t used = line_length(data, size);
    if (m->line.size + used > PADDING_MAX && !str_starts_with(buffer_string(&m->line), "--"))
        used = PADDING_MAX - m->line.size;
    buffer_append(&m->line, data, used);
    const char *line = buffer_string(&m->line);
    if (str_starts_with(line, "--")) {
        m->state = IN_EPILOGUE;
        return (ssize_t)used;
    }
    bool whole = m->line.data[m->line.size - 1] == '\n';
    if (!whole && m->line.size < PADDING_MAX)
        return (ssize_t)used;
    if (!whole || strspn(line, " \t\r\n") != m->line.size)
        return malformed("there is text after a boundary", error);
    buffer_clear(&m->line);
    m->line_start = 0;
    m->state = IN_HEAD;
    return (ssize_t)used;
}

/* The value of Content-Disposition in a head of lines that end with NUL. */
static const char *find_disposition(const char *head, size_t size)
{
    static const char name[] = "Content-Disposition:";
    for (const char *line = head; line < head + size; line += strlen(line) + 1)
        if (!strncasecmp(line, name, sizeof name - 1))
            return line + sizeof name - 1;
    return NULL;
}

static int begin_part(struct multipart *m, struct rpc_error *error)
{
    const char *disposition = find_disposition(buffer_string(&m->line), m->line.size);
    autofree char *name = disposition ? multipart_parameter(disposition, "name") : NULL;
    autofree char *file_name = disposition ? multipart_file_name(disposition) : NULL;
    if (!name)
        return malformed("a part has no name in its Content-Disposition", error);
    buffer_clear(&m->line);
    m->state = IN_PART;
    /* The delimiter of a part without contents may begin with the line that ended its head. */
    m->matched = m->lent = 2;
    return m->events->begin(m->context, name, file_name, error);
}

/* Ends of lines become NUL as they come; a line that begins with a space continues the last. */
static ssize_t take_head(struct multipart *m, const char *data, size_t size,
                         struct rpc_error *error)
{
    size_t used = line_length(data, size);
    if (memchr(data, '\0', used))
        return malformed("a header has a NUL character", error);
    if (buffer_append(&m->line, data, used) < 0)
        return malformed("the header of a part is too long", error);
    if (data[used - 1] != '\n')
        return (ssize_t)used;
    char *line = m->line.data + m->line_start;
    size_t length = strcspn(line, "\r\n");
    if (!length)
        return begin_part(m, error) < 0 ? -1 : (ssize_t)used;
    memset(line + length, 0, m->line.size - m->line_start - length);
    if (m->line_start && (*line == ' ' || *line == '\t'))
        for (char *end = line - 1; !*end; end--)
            *end = ' ';
    m->line_start = m->line.size;
    return (ssize_t)used;
}

int multipart_data(struct multipart *multipart, const char *data, size_t size,
                   struct rpc_error *error)
{
    struct multipart *m = multipart;
    while (size && m->state != IN_EPILOGUE) {
        ssize_t used = m->state == AFTER_DELIMITER ? take_rest_of_delimiter(m, data, size, error)
                       : m->state == IN_HEAD       ? take_head(m, data, size, error)
                                                   : take_content(m, data, size, error);
        if (used < 0)
            return -1;
        data += used;
        size -= (size_t)used;
    }
    return 0;
}

int multipart_end(const struct multipart *multipart, struct rpc_error *error)
{
    if (multipart->state == IN_EPILOGUE)
        return 0;
    return rpc_error_set(error, RPC_INVALID_ARGUMENT,
                         "the multipart body is cut off before its end");
}
