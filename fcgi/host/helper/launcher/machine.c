/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "helper/launcher/machine.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/str.h"
#include "helper/common/run.h"

static int refuse(const char *word)
{
    fprintf(stderr, "incusd-exec: forklimits: unknown argument '%s'\n", word);
    return EXIT_FAILURE;
}

static bool parse_limit(const char *text, rlim_t *limit)
{
    uint64_t number;
    if (str_equal(text, "unlimited")) {
        *limit = RLIM_INFINITY;
        return true;
    }
    if (str_parse_u64(text, 0, INT64_MAX, &number) < 0)
        return false;
    *limit = (rlim_t)number;
    return true;
}

/* limit: "memlock:SOFT:HARD", the only one that incusd sets. */
static bool set_limit(char *limit)
{
    struct rlimit values;
    const char *name = strsep(&limit, ":"), *soft = strsep(&limit, ":");
    return str_equal(name, "memlock") && soft && limit && parse_limit(soft, &values.rlim_cur) &&
           parse_limit(limit, &values.rlim_max) && setrlimit(RLIMIT_MEMLOCK, &values) == 0;
}

static bool pass_descriptor(const char *number)
{
    uint64_t fd;
    return str_parse_u64(number, 0, INT_MAX, &fd) == 0 && fcntl((int)fd, F_SETFD, 0) == 0;
}

int machine_start(char **words)
{
    for (char **word = words + 1; *word; word++) {
        if (str_equal(*word, "--") && word[1])
            return run_become(word[1], word + 1);
        char *equals = strchr(*word, '=');
        if (!equals)
            return refuse(*word);
        if (strncmp(*word, "limit=", 6) == 0
                ? !set_limit(equals + 1)
                : strncmp(*word, "fd=", 3) != 0 || !pass_descriptor(equals + 1))
            return refuse(*word);
    }
    return refuse("the end");
}
