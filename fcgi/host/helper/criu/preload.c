/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sandlot-criu.so: loaded into CRIU before the C library.
 *
 * A mount that maps user ids has the option "idmapped" in /proc/PID/mountinfo. CRIU (4.2) refuses
 * options that it does not know. fgets() below, which CRIU calls in place of the C library's,
 * leaves this one out. helper/criu/id_map.c maps the ids again before a restore.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define OPTION ",idmapped"
/* Number, parent, device, root and mount point are before the options of a mount. */
#define FIELDS_BEFORE 5

static char *options_of(char *line)
{
    for (unsigned i = 0; line && i < FIELDS_BEFORE; i++) {
        line = strchr(line, ' ');
        if (line)
            line++;
    }
    return line;
}

static void leave_out(char *line)
{
    const size_t length = strlen(OPTION);
    char *options = options_of(line);
    char *end = options ? options + strcspn(options, " ") : NULL;
    char *found = options ? strstr(options, OPTION) : NULL;
    if (found && found < end && (found[length] == ',' || found[length] == ' '))
        memmove(found, found + length, strlen(found + length) + 1);
}

__attribute__((visibility("default"))) char *fgets(char *line, int size, FILE *file)
{
    char *got = fgets_unlocked(line, size, file);
    if (got)
        leave_out(got);
    return got;
}
