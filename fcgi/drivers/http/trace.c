/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "http/trace.h"

#include <stddef.h>
#include <string.h>

#define VERSION_LENGTH 2
#define ID_LENGTH      (TRACE_ID_SIZE - 1)
#define PARENT_LENGTH  16
#define FLAGS_LENGTH   2

static const char digits[] = "0123456789abcdef";

/* The next part, of hexadecimal digits in lower case; moves *at behind it. NULL: it is none. */
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

/* Later versions may have more behind the flags, after another dash; ff is none. */
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
