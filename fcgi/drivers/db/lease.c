/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "db/lease.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/rest.h"
#include "db/connection.h"
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
    /* Each look reads all due rows, of which one team may have thousands. A line with so many rows
     * is kept for ten times as long as its look took: looks then take a tenth of the time of a
     * process, and a new row waits for KEPT_MOST_MS at most. */
    KEPT_ROWS = 256,
    KEPT_SHARE = 10,
    KEPT_LEAST_MS = 50,
    KEPT_MOST_MS = 1000,
    LINES_MAX = 8, /* tables whose lines a process keeps */
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

/* The line of a table: the due rows in the order of their turns. */
struct line {
    const struct lease_table *table;
    struct candidate *rows;
    size_t count;
    int64_t until_ms; /* monotonic: the next look */
};

/* The lines that this process keeps. */
static struct line lines[LINES_MAX];

/* The rows of teams whose turn is longest ago come first. */
static int look(struct db *db, struct line *line, struct error **err)
{
    db_rows_auto *rows = NULL;
    uint64_t work = hash_text(HASH_START, line->table->line.name);
    int64_t started_ms = clock_monotonic_ms();
    line->count = 0;
    line->until_ms = 0;
    if (db_query(db, &line->table->line, DB_ARGS(db_i64(clock_now_ms())), &rows, err) < 0)
        return -1;
    while (line->count < LEASE_LINE_MAX && db_rows_next(rows)) {
        line->rows = xreallocarray(line->rows, line->count + 1, sizeof *line->rows);
        struct candidate *one = &line->rows[line->count];
        db_copy_text(one->key, rows, 0);
        one->team = hash_text(HASH_START, db_get_text(rows, 1));
        one->of = hash_text(work, db_get_text(rows, 1));
        one->last_turn = last_turn(one->of);
        one->of_team = db_get_u64(rows, 2);
        const char *user = db_get_text(rows, 3);
        one->user = *user ? hash_text(HASH_START, user) : 0;
        one->place = line->count++;
    }
    if (line->count)
        qsort(line->rows, line->count, sizeof *line->rows, compare);
    int64_t now_ms = clock_monotonic_ms(), kept_ms = (now_ms - started_ms) * KEPT_SHARE;
    if (line->count >= KEPT_ROWS)
        line->until_ms = now_ms + (kept_ms < KEPT_LEAST_MS  ? KEPT_LEAST_MS
                                   : kept_ms > KEPT_MOST_MS ? KEPT_MOST_MS
                                                            : kept_ms);
    return 0;
}

/* Return the line of a table; a table without one replaces the one that ends first. */
static struct line *line_of(const struct lease_table *table)
{
    struct line *first = lines;
    for (size_t i = 0; i < LINES_MAX; i++) {
        if (lines[i].table == table)
            return &lines[i];
        if (lines[i].until_ms < first->until_ms)
            first = &lines[i];
    }
    first->table = table;
    first->until_ms = 0;
    return first;
}

static void drop_row(struct line *line, size_t at)
{
    line->count--;
    memmove(&line->rows[at], &line->rows[at + 1], (line->count - at) * sizeof *line->rows);
}

/* --- rows whose transaction failed --- */

enum { REST_FIRST_MS = 1000, REST_MOST_MS = 60000 };

/* The row of the transaction in hand; "": none. */
static char in_hand[2 * LEASE_KEY_SIZE];

static void name_row(char name[sizeof in_hand], const struct lease_table *table, const char *key)
{
    snprintf(name, sizeof in_hand, "%.63s %s", table->line.name, key);
}

/* Without the database, no row could be taken. */
void lease_transaction_ended(const struct error *failure)
{
    if (*in_hand && failure && failure->code != ERR_DB_UNAVAILABLE && failure->code != ERR_DB_FULL)
        rest_after_failure(in_hand, REST_FIRST_MS, REST_MOST_MS);
    *in_hand = '\0';
}

static bool row_rests(const struct lease_table *table, const char *key)
{
    char name[sizeof in_hand];
    name_row(name, table, key);
    return rest_lasts(name);
}

/* --- one row --- */

/* Lock the first row of a line that no other process has. No key: none. */
static int lock_first(struct db *db, struct line *line, char key[LEASE_KEY_SIZE],
                      struct db_rows **rows, struct error **err)
{
    const struct lease_table *table = line->table;
    for (size_t at = 0, tries = 0; at < line->count && tries < TRIES_MOST;) {
        const struct candidate one = line->rows[at];
        /* The team or user may have its share of the processes. */
        if (row_rests(table, one.key) || !lease_board_enter(one.team, one.user)) {
            at++;
            continue;
        }
        tries++;
        drop_row(line, at);
        db_rows_free(*rows);
        *rows = NULL;
        if (db_query(db, &table->due, DB_ARGS(db_text(one.key), db_i64(clock_now_ms())), rows,
                     err) < 0)
            return -1;
        if (!db_rows_next(*rows))
            continue; /* another process has it by now */
        snprintf(key, LEASE_KEY_SIZE, "%s", one.key);
        if (db_in_transaction(db))
            name_row(in_hand, table, key);
        note_turn(one.of);
        return 0;
    }
    lease_board_leave();
    return 0;
}

/* Lock the next row of a table without teams, or of the team that has its turn. No key: none. */
static int lock_next(struct db *db, const struct lease_table *table, char key[LEASE_KEY_SIZE],
                     struct db_rows **rows, struct error **err)
{
    *key = '\0';
    if (!table->line.sql) {
        if (db_query(db, &table->due, DB_ARGS(db_i64(clock_now_ms())), rows, err) < 0)
            return -1;
        snprintf(key, LEASE_KEY_SIZE, "%s", db_rows_next(*rows) ? db_get_text(*rows, 0) : "");
        return 0;
    }
    struct line *line = line_of(table);
    if (clock_monotonic_ms() < line->until_ms && (lock_first(db, line, key, rows, err) < 0 || *key))
        return *key ? 0 : -1;
    return look(db, line, err) < 0 ? -1 : lock_first(db, line, key, rows, err);
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
    /* The attempt may have waited for the database until after the end of the lease. */
    if (failure->code != ERR_LEASE_LOST && clock_monotonic_ms() < lease->lost_at_ms)
        return 0;
    error_recode(&failure, ERR_LEASE_LOST);
    return error_move(err, &failure);
}

int lease_check(struct lease *lease, struct error **err)
{
    lease->renew_at_ms = 0;
    return lease_tick(lease, err);
}
