/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/trace.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"

#define VERSION_LENGTH 2
#define ID_LENGTH      (TRACE_ID_SIZE - 1)
#define PARENT_LENGTH  16
#define FLAGS_LENGTH   2

/* Id, parent and flags, which all versions begin with. */
#define REST_LENGTH (ID_LENGTH + 1 + PARENT_LENGTH + 1 + FLAGS_LENGTH)
#define HEADER      "traceparent: 00-"

static _Thread_local struct {
    char id[TRACE_ID_SIZE]; /* "": none */
    char header[sizeof HEADER + REST_LENGTH];
} current;

static const char digits[] = "0123456789abcdef";

/* The next part, of hexadecimal digits in lower case; moves *at behind it. NULL for any other
 * text. */
static const char *take(const char **at, size_t length, bool may_be_zero)
{
    const char *part = *at;
    if (strspn(part, digits) != length || (!may_be_zero && strspn(part, "0") >= length))
        return NULL;
    *at = part + length;
    return part;
}

static bool take_dash(const char **at)
{
    return *(*at)++ == '-';
}

/* Later versions may have more behind the flags, after another dash; ff is not a version. */
static bool may_end(const char *version, const char *at)
{
    bool first = strncmp(version, "00", VERSION_LENGTH) == 0;
    return *at == '\0' || (!first && *at == '-');
}

bool trace_id_read(const char *traceparent, char id[TRACE_ID_SIZE])
{
    const char *at = traceparent, *version, *found;
    if (!at || !(version = take(&at, VERSION_LENGTH, true)) ||
        strncmp(version, "ff", VERSION_LENGTH) == 0 || !take_dash(&at) ||
        !(found = take(&at, ID_LENGTH, false)) || !take_dash(&at) ||
        !take(&at, PARENT_LENGTH, false) || !take_dash(&at) || !take(&at, FLAGS_LENGTH, true) ||
        !may_end(version, at))
        return false;
    memcpy(id, found, ID_LENGTH);
    id[ID_LENGTH] = '\0';
    return true;
}

void trace_begin(const char *traceparent)
{
    trace_end();
    if (!trace_id_read(traceparent, current.id))
        return;
    /* Pass on only the known part of a later version, as the standard says. */
    snprintf(current.header, sizeof current.header, HEADER "%.*s", REST_LENGTH,
             traceparent + VERSION_LENGTH + 1);
    log_context_set("trace_id", current.id);
}

void trace_end(void)
{
    current.id[0] = '\0';
    log_context_set("trace_id", NULL);
}

const char *trace_id(void)
{
    return *current.id ? current.id : NULL;
}

const char *trace_header(void)
{
    return *current.id ? current.header : NULL;
}
