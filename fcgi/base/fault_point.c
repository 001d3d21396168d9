/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/fault_point.h"

#ifdef SANDLOT_FAULT_POINTS

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"

#define LOOK_AGAIN_MS 2

static const char *const names[] = {
#define FAULT_POINT(symbol, name) [symbol] = name,
#include "base/fault_points.def"
#undef FAULT_POINT
};

static char *directory;

void fault_point_open(const char *api_socket)
{
    const char *slash = strrchr(api_socket, '/');
    free(directory);
    directory = slash ? xasprintf("%.*s/faults", (int)(slash - api_socket), api_socket) : NULL;
}

/* The armed action, if it is meant for this program. */
static bool read_action(const char *path, bool *kills)
{
    char action[8] = "", program[64] = "";
    autofclose FILE *file = fopen(path, "re");
    if (!file || fscanf(file, "%7s %63s", action, program) < 1)
        return false;
    *kills = str_equal(action, "kill");
    return !program[0] || str_equal(program, program_invocation_short_name);
}

void fault_point(enum fault_point point)
{
    bool kills;
    if (!directory)
        return;
    autofree char *armed = xasprintf("%s/%s", directory, names[point]);
    autofree char *taken = xasprintf("%s.%d", armed, (int)getpid());
    if (!read_action(armed, &kills) || rename(armed, taken) < 0)
        return;
    log_warning("fault point", LOG_STR("point", names[point]),
                LOG_STR("action", kills ? "kill" : "wait"));
    if (kills)
        raise(SIGKILL);
    while (access(taken, F_OK) == 0)
        clock_sleep_ms(LOOK_AGAIN_MS);
}

#endif
