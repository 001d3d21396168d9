/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "helper/launcher/reboots.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"

enum {
    QUICK = 2, /* without a delay */
    MOST = 6,
    STOPPED = MOST + 1,
    APART_S = 60,
};

struct reboots {
    unsigned count;
    long long last; /* in seconds of the monotonic clock */
};

static long long now_s(void)
{
    return clock_monotonic_ms() / 1000;
}

static struct reboots read_reboots(const char *path)
{
    struct reboots reboots = {.count = 0};
    autofclose FILE *file = fopen(path, "re");
    if (!file || fscanf(file, "%3u %19lld", &reboots.count, &reboots.last) != 2)
        return (struct reboots){.count = 0};
    return reboots;
}

static void write_reboots(const char *path, unsigned count)
{
    autofclose FILE *file = fopen(path, "we");
    if (file)
        fprintf(file, "%u %lld\n", count, now_s());
}

static void count_one(const char *path)
{
    struct reboots reboots = read_reboots(path);
    long long since_s = now_s() - reboots.last; /* negative: the host has rebooted since */
    unsigned count = since_s < 0 || since_s > APART_S ? 1 : reboots.count + 1;
    write_reboots(path, count < STOPPED ? count : STOPPED);
    if (count >= STOPPED)
        setenv("LXC_TARGET", "stop", 1);
}

static void wait_for_it(const char *path)
{
    struct reboots reboots = read_reboots(path);
    if (reboots.count >= STOPPED) {
        unlink(path);
        setenv("LXC_TARGET", "stop", 1);
    } else if (reboots.count > QUICK) {
        sleep(1U << (reboots.count - QUICK - 1));
        write_reboots(path, reboots.count);
    }
}

void reboots_limit(const char *folder, const char *hook)
{
    autofree char *path = xasprintf("%s/sandlot-reboots", folder);
    if (!str_equal(getenv("LXC_TARGET"), "reboot"))
        return;
    if (str_equal(hook, "stopns"))
        count_one(path);
    else if (str_equal(hook, "stop"))
        wait_for_it(path);
}
