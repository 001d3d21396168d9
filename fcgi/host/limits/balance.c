/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "limits/balance.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"

#define NOTED_MAX   16384
#define NUMBER_SIZE 32
/* The control group of an instance appears within this time after its team is noted. */
#define START_MS 120000
/* The share of the former average in the new one. So an instance that is busy every few seconds
 * counts as busy all the time. */
#define KEPT 0.75
/* An instance that uses less than this part of a processor does not count as busy. */
#define NOISE 0.05

struct noted {
    char instance[ORDER_NAME_SIZE];
    uint64_t team;
    int64_t seen_ms; /* monotonic: noted, or running */
    bool runs;
    uint64_t used_us; /* 0: not known */
    struct balance_use use;
};

struct balance {
    char *folder;
    struct noted *list;
    unsigned count, room;
    int64_t run_ms; /* monotonic, of the last run */
};

/* --- notes --- */

static char *path_of(const struct balance *balance, const char *instance)
{
    return xasprintf("%s/%s", balance->folder, instance);
}

/* Returns false when too many are noted. */
static bool set(struct balance *balance, const char *instance, uint64_t team)
{
    struct noted *noted = balance->list, *end = noted + balance->count;
    while (noted < end && !str_equal(noted->instance, instance))
        noted++;
    if (noted == end) {
        if (balance->count == NOTED_MAX)
            return false;
        if (balance->count == balance->room) {
            balance->room = balance->room ? balance->room * 2 : 16;
            balance->list = xreallocarray(balance->list, balance->room, sizeof *balance->list);
        }
        noted = &balance->list[balance->count++];
        *noted = (struct noted){.team = 0};
        snprintf(noted->instance, sizeof noted->instance, "%s", instance);
    }
    noted->team = team;
    noted->seen_ms = clock_monotonic_ms();
    return true;
}

static void read_note(struct balance *balance, const char *instance)
{
    const struct tenant tenant = team_note_read(balance->folder, instance);
    if (tenant.team)
        set(balance, instance, tenant.team);
}

struct balance *balance_open(const char *folder)
{
    struct balance *balance = xcalloc(1, sizeof *balance);
    balance->folder = xstrdup(folder);
    mkdir(folder, 0700);
    DIR *notes = opendir(folder);
    for (const struct dirent *entry; notes && (entry = readdir(notes));)
        if (order_name_is_valid(entry->d_name))
            read_note(balance, entry->d_name);
    if (notes)
        closedir(notes);
    return balance;
}

void balance_close(struct balance *balance)
{
    free(balance->folder);
    free(balance->list);
    free(balance);
}

unsigned balance_count(const struct balance *balance)
{
    return balance->count;
}

void balance_note(struct balance *balance, const char *instance, const struct tenant *tenant)
{
    autofree char *path = path_of(balance, instance);
    char text[TENANT_SIZE];
    if (!set(balance, instance, tenant->team))
        return;
    tenant_print(tenant, text);
    unlink(path);
    if (symlink(text, path) < 0)
        log_warning("cannot write the file with the team of an instance",
                    LOG_STR("instance", instance), LOG_INT("errno", errno));
}

static void forget(struct balance *balance, struct noted *noted)
{
    autofree char *path = path_of(balance, noted->instance);
    unlink(path);
    *noted = balance->list[--balance->count];
}

/* --- use --- */

static void read_use(struct noted *noted, const struct groups *groups, int64_t passed_ms)
{
    error_auto failure = NULL;
    struct group_use now;
    if (groups_use(groups, noted->instance, &now, &failure) < 0) {
        if (failure->code != ERR_NOT_FOUND)
            return; /* it may still run */
        noted->runs = false;
        noted->used_us = 0;
        noted->use.busy = 0;
        return;
    }
    noted->runs = true;
    double busy = 0;
    if (noted->used_us && now.used_us > noted->used_us && passed_ms > 0)
        busy = (double)(now.used_us - noted->used_us) / 1000 / (double)passed_ms;
    noted->use =
        (struct balance_use){now.cpus ? now.cpus : 1, noted->use.busy * KEPT + busy * (1 - KEPT)};
    noted->used_us = now.used_us;
}

static void read_all(struct balance *balance, const struct groups *groups)
{
    int64_t now_ms = clock_monotonic_ms(), passed_ms = now_ms - balance->run_ms;
    balance->run_ms = now_ms;
    for (unsigned i = balance->count; i-- > 0;) {
        struct noted *noted = &balance->list[i];
        read_use(noted, groups, passed_ms);
        if (noted->runs)
            noted->seen_ms = now_ms;
        else if (now_ms - noted->seen_ms > START_MS)
            forget(balance, noted);
    }
}

/* --- weights --- */

/* Return the weight of each instance of a team: TEAM_WEIGHT divided by the number of processors
 * that the team keeps busy. This number is (sum of x)² / sum of x², where x is the use of each
 * processor of an instance. It is right if all of these are equally busy. */
double balance_weight(const struct balance_use *uses, unsigned count)
{
    double sum = 0, squares = NOISE * NOISE;
    for (unsigned i = 0; i < count; i++) {
        sum += uses[i].busy;
        squares += uses[i].busy * uses[i].busy / uses[i].cpus;
    }
    double processors = sum * sum / squares;
    return processors > 1 ? TEAM_WEIGHT / processors : TEAM_WEIGHT;
}

static int by_team(const void *a, const void *b)
{
    const struct noted *left = a, *right = b;
    return left->team < right->team ? -1 : left->team > right->team;
}

static void weigh_team(const struct noted *list, unsigned count, struct groups *groups,
                       struct balance_use *uses)
{
    for (unsigned i = 0; i < count; i++)
        uses[i] = list[i].use;
    double each = balance_weight(uses, count);
    for (unsigned i = 0; i < count; i++) {
        error_auto err = NULL;
        double weight = each * uses[i].cpus;
        if (list[i].runs && groups_weigh(groups, list[i].instance,
                                         weight < TEAM_WEIGHT ? weight : TEAM_WEIGHT, &err) < 0)
            log_info("cannot set the weight of an instance; it keeps its weight",
                     LOG_STR("instance", list[i].instance), LOG_ERROR(err));
    }
}

void balance_run(struct balance *balance, struct groups *groups)
{
    read_all(balance, groups);
    if (!balance->count)
        return;
    autofree struct balance_use *uses = xcalloc(balance->count, sizeof *uses);
    qsort(balance->list, balance->count, sizeof *balance->list, by_team);
    for (unsigned from = 0, to; from < balance->count; from = to) {
        for (to = from; to < balance->count && !by_team(&balance->list[from], &balance->list[to]);)
            to++;
        weigh_team(&balance->list[from], to - from, groups, uses);
    }
}
