/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "db/lease.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "db/lease_board.h"

/* Cloned machines have the same name, and their processes may have the same numbers. */
void lease_name_owner(char owner[LEASE_OWNER_SIZE], const char *program)
{
    struct utsname host;
    unsigned char random[4];
    char digits[2 * sizeof random + 1];
    uname(&host);
    randombytes_buf(random, sizeof random);
    snprintf(owner, LEASE_OWNER_SIZE, "%.20s/%.24s/%s/%d", program, host.nodename,
             sodium_bin2hex(digits, sizeof digits, random, sizeof random), (int)getpid());
}

/* --- whose turn it is --- */

enum {
    /* The number of teams whose last turn is known. A team without a known turn comes first. So a
     * team with many rows gets at most one turn in TURNS_KNOWN while other teams have rows. */
    TURNS_KNOWN = 256,
    /* Other processes hold as many rows at most, in the moment between their look and their take.
     */
    TRIES_MOST = 64,
};

/* The last turns that this process gave, in any order. */
struct turn {
    uint64_t of; /* a team's, of one kind of work */
    uint64_t number;
};
static struct turn turns[TURNS_KNOWN];
static uint64_t turns_given;

struct candidate {
    char key[LEASE_KEY_SIZE];
    uint64_t team, user;    /* user 0: none */
    uint64_t of, last_turn; /* 0: none that is known */
    size_t place;           /* in the line */
    uint64_t of_team;       /* which one of its team's rows it is; 1: the first */
};

#define HASH_START 0xcbf29ce484222325u

static uint64_t hash_text(uint64_t hash, const char *text)
{
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u; /* FNV-1a: the ids are ours */
    return hash;
}

static uint64_t last_turn(uint64_t of)
{
    for (size_t i = 0; i < TURNS_KNOWN; i++)
        if (turns[i].of == of)
            return turns[i].number;
    return 0;
}

static void note_turn(uint64_t of)
{
    struct turn *oldest = turns;
    for (size_t i = 0; i < TURNS_KNOWN; i++) {
        if (turns[i].of == of) {
            oldest = &turns[i];
            break;
        }
        if (turns[i].number < oldest->number)
            oldest = &turns[i];
    }
    *oldest = (struct turn){of, ++turns_given};
}

static int compare(const void *a, const void *b)
{
    const struct candidate *left = a, *right = b;
    if (left->of_team != right->of_team)
        return left->of_team < right->of_team ? -1 : 1;
    if (left->last_turn != right->last_turn)
        return left->last_turn < right->last_turn ? -1 : 1;
    return left->place < right->place ? -1 : left->place > right->place;
}

/* The first rows of each team: those of teams whose turn is longest ago come first. */
static int read_line(struct db *db, const struct lease_table *table, struct candidate **line,
                     size_t *count, struct error **err)
{
    db_rows_auto *rows = NULL;
    uint64_t work = hash_text(HASH_START, table->line.name);
    *count = 0;
    if (db_query(db, &table->line, DB_ARGS(db_i64(clock_now_ms())), &rows, err) < 0)
        return -1;
    while (*count < LEASE_LINE_MAX && db_rows_next(rows)) {
        *line = xreallocarray(*line, *count + 1, sizeof **line);
        struct candidate *one = &(*line)[*count];
        db_copy_text(one->key, rows, 0);
        one->team = hash_text(HASH_START, db_get_text(rows, 1));
        one->of = hash_text(work, db_get_text(rows, 1));
        one->last_turn = last_turn(one->of);
        one->of_team = db_get_u64(rows, 2);
        const char *user = db_get_text(rows, 3);
        one->user = *user ? hash_text(HASH_START, user) : 0;
        one->place = (*count)++;
    }
    if (*count)
        qsort(*line, *count, sizeof **line, compare);
    return 0;
}

/* --- one row --- */

/* Lock the next row of a table without teams, or of the team that has its turn. No key: none. */
static int lock_next(struct db *db, const struct lease_table *table, char key[LEASE_KEY_SIZE],
                     struct db_rows **rows, struct error **err)
{
    autofree struct candidate *line = NULL;
    size_t count;
    *key = '\0';
    if (!table->line.sql) {
        if (db_query(db, &table->due, DB_ARGS(db_i64(clock_now_ms())), rows, err) < 0)
            return -1;
        snprintf(key, LEASE_KEY_SIZE, "%s", db_rows_next(*rows) ? db_get_text(*rows, 0) : "");
        return 0;
    }
    if (read_line(db, table, &line, &count, err) < 0)
        return -1;
    for (size_t i = 0, tries = 0; i < count && tries < TRIES_MOST; i++) {
        if (!lease_board_enter(line[i].team, line[i].user))
            continue; /* the team or user has its share of the processes */
        tries++;
        db_rows_free(*rows);
        *rows = NULL;
        if (db_query(db, &table->due, DB_ARGS(db_text(line[i].key), db_i64(clock_now_ms())), rows,
                     err) < 0)
            return -1;
        if (!db_rows_next(*rows))
            continue; /* another process has it by now */
        snprintf(key, LEASE_KEY_SIZE, "%s", line[i].key);
        note_turn(line[i].of);
        return 0;
    }
    lease_board_leave();
    return 0;
}

int lease_lock(struct db *db, const struct lease_table *table, char key[LEASE_KEY_SIZE],
               struct error **err)
{
    db_rows_auto *rows = NULL;
    return lock_next(db, table, key, &rows, err);
}

int lease_take(struct db *db, const struct lease_table *table, const char *owner, uint64_t lease_ms,
               char key[LEASE_KEY_SIZE], unsigned *attempts, struct error **err)
{
    db_rows_auto *rows = NULL;
    if (lock_next(db, table, key, &rows, err) < 0)
        return -1;
    if (!*key)
        return 0;
    struct db_value until = db_i64(clock_in_ms(lease_ms));
    if (!table->has_owner)
        return db_exec(db, &table->take, DB_ARGS(until, db_text(key)), NULL, err);
    if (attempts)
        *attempts = (unsigned)db_get_u64(rows, 1) + 1;
    return db_exec(db, &table->take, DB_ARGS(until, db_text(owner), db_text(key)), NULL, err);
}

static int set_time(struct db *db, const struct lease_table *table, const char *key,
                    const char *owner, uint64_t ms, uint64_t *matched, struct error **err)
{
    struct db_value until = db_i64(clock_in_ms(ms));
    if (!table->has_owner)
        return db_exec(db, &table->renew, DB_ARGS(until, db_text(key)), matched, err);
    return db_exec(db, &table->renew, DB_ARGS(until, db_text(key), db_text(owner)), matched, err);
}

int lease_renew(struct db *db, const struct lease_table *table, const char *key, const char *owner,
                uint64_t lease_ms, struct error **err)
{
    uint64_t matched;
    if (set_time(db, table, key, owner, lease_ms, &matched, err) < 0)
        return -1;
    return matched ? 0
                   : error_set(err, ERR_LEASE_LOST, "another process has taken the lease %s", key);
}

int lease_defer(struct db *db, const struct lease_table *table, const char *key, const char *owner,
                uint64_t delay_ms, struct error **err)
{
    return set_time(db, table, key, owner, delay_ms, NULL, err);
}

void lease_keep(struct lease *lease, struct db *db, const struct lease_table *table,
                const char *key, const char *owner, uint64_t lease_ms)
{
    int64_t now_ms = clock_monotonic_ms();
    *lease = (struct lease){.db = db, .table = table, .lease_ms = lease_ms};
    snprintf(lease->key, sizeof lease->key, "%s", key);
    snprintf(lease->owner, sizeof lease->owner, "%s", owner);
    lease->renew_at_ms = now_ms + (int64_t)lease_ms / 4;
    lease->lost_at_ms = now_ms + (int64_t)lease_ms;
}

int lease_tick(struct lease *lease, struct error **err)
{
    int64_t now_ms = clock_monotonic_ms();
    if (now_ms < lease->renew_at_ms)
        return 0;
    error_auto failure = NULL;
    if (lease_renew(lease->db, lease->table, lease->key, lease->owner, lease->lease_ms, &failure) ==
        0) {
        lease->renew_at_ms = now_ms + (int64_t)lease->lease_ms / 4;
        lease->lost_at_ms = now_ms + (int64_t)lease->lease_ms;
        return 0;
    }
    if (failure->code != ERR_LEASE_LOST && now_ms < lease->lost_at_ms)
        return 0;
    error_recode(&failure, ERR_LEASE_LOST);
    return error_move(err, &failure);
}

int lease_check(struct lease *lease, struct error **err)
{
    lease->renew_at_ms = 0;
    return lease_tick(lease, err);
}
