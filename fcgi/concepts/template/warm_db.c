/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "db/lease.h"
#include "host/host_answers.h"
#include "template/warm_row.h"

/* names that one claim reads; the same number is in the statement */
#define READY_MAX 256
/* how long claims of a burst use the same names */
#define READY_MS 500

#define COLUMNS \
    "instance_name, template_version_id, host_id, address, agent_key_id, cpu, memory_mb, disk_gb"

/* Ordering by an expression locks all rows that are read, so this statement locks none: it reads
 * names, those of the wanted size first. A claim then locks one row by its key. */
DB_STATEMENT(ready_names_statement) = {
    "warm.ready_names",
    "SELECT instance_name, cpu = ? AND memory_mb = ? AND disk_gb = ? AS fits FROM warm_instances"
    " WHERE template_version_id = ? AND state = 'ready' AND (? = 0 OR host_id = ?)"
    " AND host_id IN (SELECT id FROM hosts WHERE state = 'active' AND memory_low = 0"
    "   AND " HOST_ANSWERS("") ")"
                               " ORDER BY fits DESC, created_at_ms LIMIT 256"};
DB_STATEMENT(claim_statement) = {"warm.claim",
                                 "SELECT " COLUMNS
                                 " FROM warm_instances WHERE instance_name = ? AND state = 'ready'"
                                 " FOR UPDATE SKIP LOCKED"};
DB_STATEMENT(delete_statement) = {"warm.delete",
                                  "DELETE FROM warm_instances WHERE instance_name = ?"};
DB_STATEMENT(count_statement) = {
    "warm.count",
    "SELECT COUNT(*) FROM warm_instances WHERE template_version_id = ?"
    " AND cpu = ? AND memory_mb = ? AND disk_gb = ? AND state IN ('starting', 'ready')"};
DB_STATEMENT(insert_statement) = {
    "warm.insert", "INSERT INTO warm_instances (" COLUMNS ", state, lease_until_ms, created_at_ms)"
                   " VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'starting', ?, ?)"};
DB_STATEMENT(ready_statement) = {
    "warm.ready",
    "UPDATE warm_instances SET state = 'ready' WHERE instance_name = ? AND state = 'starting'"};
DB_STATEMENT(renew_statement) = {
    "warm.renew",
    "UPDATE warm_instances SET lease_until_ms = ? WHERE instance_name = ? AND state = 'starting'"};
DB_STATEMENT(dismiss_statement) = {"warm.dismiss",
                                   "UPDATE warm_instances SET state = 'leaving', lease_until_ms = 0"
                                   " WHERE instance_name = ? AND state <> 'leaving'"};
DB_STATEMENT(list_statement) = {
    "warm.list",
    "SELECT w.instance_name, w.template_version_id, w.host_id, w.address, w.agent_key_id, w.cpu,"
    " w.memory_mb, w.disk_gb, w.state = 'leaving', h.state = 'active' AND " HOST_ANSWERS(
        "h.") " AND (w.state = 'ready' OR"
              " w.lease_until_ms > ?) AS fits FROM warm_instances w JOIN hosts h ON h.id = "
              "w.host_id"
              " ORDER BY fits DESC, w.created_at_ms LIMIT 10000"};
DB_STATEMENT(ready_on_host_statement) = {
    "warm.ready_on_host",
    "SELECT instance_name FROM warm_instances WHERE host_id = ? AND state = 'ready' LIMIT 10000"};
DB_STATEMENT(one_statement) = {"warm.one",
                               "SELECT " COLUMNS " FROM warm_instances WHERE instance_name = ?"};
static const struct lease_table removals =
    LEASE_TABLE("warm_instances", "instance_name", "lease_until_ms", "state = 'leaving'");
DB_STATEMENT(known_statement) = {"warm.known",
                                 "SELECT 1 FROM warm_instances WHERE instance_name = ?"};
DB_STATEMENT(disk_statement) = {"warm.disk", "SELECT COALESCE(MIN(disk_gb), 10) FROM plans"};

DB_STATEMENTS(statements) = {&removals.due, &removals.take};

static void read_warm(const struct db_rows *rows, struct warm_instance *warm)
{
    db_copy_text(warm->name, rows, 0);
    db_copy_text(warm->template_version_id, rows, 1);
    warm->host_id = (uint32_t)db_get_u64(rows, 2);
    warm->address = (uint32_t)db_get_u64(rows, 3);
    warm->agent_key_id = (uint16_t)db_get_u64(rows, 4);
    warm->resources.cpu = (unsigned)db_get_u64(rows, 5);
    warm->resources.memory_mb = (unsigned)db_get_u64(rows, 6);
    warm->resources.disk_gb = (unsigned)db_get_u64(rows, 7);
}

/* Claim one instance. warm->name stays "" when another claim has it. */
static int claim_one(struct db *db, const char *instance_name, struct warm_instance *warm,
                     struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query(db, &claim_statement, DB_ARGS(db_text(instance_name)), &rows, err) < 0)
        return -1;
    if (!db_rows_next(rows))
        return 0;
    read_warm(rows, warm);
    return warm_row_delete(db, warm->name, err);
}

/* Instances that were ready a moment ago, without those that this process has claimed since. The
 * rows themselves correct outdated entries. */
struct ready {
    char template_version_id[ID_SIZE];
    struct runtime_resources resources;
    uint32_t only_host;
    int64_t until_ms;                          /* monotonic */
    char names[READY_MAX][INSTANCE_NAME_SIZE]; /* fitting ones first */
    uint32_t count, fit;
};

static bool is_of(const struct ready *ready, const char *template_version_id,
                  const struct runtime_resources *resources, uint32_t only_host)
{
    return !strcmp(ready->template_version_id, template_version_id) &&
           !memcmp(&ready->resources, resources, sizeof *resources) &&
           ready->only_host == only_host;
}

static int read_ready(struct db *db, struct ready *ready, struct error **err)
{
    db_rows_auto *rows = NULL;
    struct db_value host = db_u64(ready->only_host);
    ready->count = ready->fit = 0;
    ready->until_ms = 0;
    if (db_query(db, &ready_names_statement,
                 DB_ARGS(db_u64(ready->resources.cpu), db_u64(ready->resources.memory_mb),
                         db_u64(ready->resources.disk_gb), db_text(ready->template_version_id),
                         host, host),
                 &rows, err) < 0)
        return -1;
    while (ready->count < READY_MAX && db_rows_next(rows)) {
        db_copy_text(ready->names[ready->count], rows, 0);
        ready->count++;
        ready->fit += db_get_bool(rows, 1);
    }
    ready->until_ms = clock_monotonic_ms() + READY_MS;
    return 0;
}

/* Claim a random instance and take its name off the list. Parallel claims thus begin with different
 * ones, and no claim tries one twice. */
static int claim_drawn(struct db *db, char (*names)[INSTANCE_NAME_SIZE], uint32_t *count,
                       struct warm_instance *warm, struct error **err)
{
    char name[INSTANCE_NAME_SIZE];
    uint32_t i = randombytes_uniform(*count);
    memcpy(name, names[i], sizeof name);
    memmove(names[i], names[--*count], sizeof name);
    return claim_one(db, name, warm, err);
}

static int claim_any(struct db *db, char (*names)[INSTANCE_NAME_SIZE], uint32_t *count,
                     struct warm_instance *warm, struct error **err)
{
    while (*count && !warm->name[0])
        if (claim_drawn(db, names, count, warm, err) < 0)
            return -1;
    return 0;
}

static struct ready *find_ready(const char *template_version_id,
                                const struct runtime_resources *resources, uint32_t only_host)
{
    static struct ready ready;
    if (!is_of(&ready, template_version_id, resources, only_host)) {
        ready = (struct ready){.resources = *resources, .only_host = only_host};
        snprintf(ready.template_version_id, ID_SIZE, "%s", template_version_id);
    }
    return &ready;
}

int warm_claim(struct db *db, const char *template_version_id,
               const struct runtime_resources *resources, bool any_size, uint32_t only_host,
               uint32_t kept, struct warm_instance *warm, struct error **err)
{
    struct ready *ready = find_ready(template_version_id, resources, only_host);
    *warm = (struct warm_instance){0};
    /* Try only one name of this list: when that instance is gone, others are probably gone too. */
    if (!kept && clock_monotonic_ms() < ready->until_ms && ready->fit &&
        claim_drawn(db, ready->names, &ready->fit, warm, err) < 0)
        return -1;
    if (warm->name[0])
        return 0;
    if (read_ready(db, ready, err) < 0)
        return -1;
    if (ready->count <= kept)
        return 0;
    char(*others)[INSTANCE_NAME_SIZE] = ready->names + ready->fit;
    uint32_t left = ready->count - ready->fit;
    if (claim_any(db, ready->names, &ready->fit, warm, err) < 0)
        return -1;
    return warm->name[0] || !any_size ? 0 : claim_any(db, others, &left, warm, err);
}

int warm_row_delete(struct db *db, const char *instance_name, struct error **err)
{
    return db_exec(db, &delete_statement, DB_ARGS(db_text(instance_name)), NULL, err);
}

int warm_row_count(struct db *db, const char *template_version_id,
                   const struct runtime_resources *resources, unsigned *count, struct error **err)
{
    return DB_NUMBER(db, &count_statement,
                     DB_ARGS(db_text(template_version_id), db_u64(resources->cpu),
                             db_u64(resources->memory_mb), db_u64(resources->disk_gb)),
                     count, err);
}

int warm_row_insert(struct db *db, const struct warm_instance *warm, uint64_t lease_s,
                    struct error **err)
{
    return db_exec(db, &insert_statement,
                   DB_ARGS(db_text(warm->name), db_text(warm->template_version_id),
                           db_u64(warm->host_id), db_u64(warm->address), db_u64(warm->agent_key_id),
                           db_u64(warm->resources.cpu), db_u64(warm->resources.memory_mb),
                           db_u64(warm->resources.disk_gb), db_i64(clock_in_s(lease_s)),
                           db_i64(clock_now_ms())),
                   NULL, err);
}

static int check_starting(uint64_t matched, const char *instance_name, struct error **err)
{
    if (matched)
        return 0;
    return error_set(err, ERR_LEASE_LOST, "another process has removed warm instance %s",
                     instance_name);
}

int warm_row_renew(struct db *db, const char *instance_name, uint64_t lease_s, struct error **err)
{
    uint64_t matched;
    if (db_exec(db, &renew_statement, DB_ARGS(db_i64(clock_in_s(lease_s)), db_text(instance_name)),
                &matched, err) < 0)
        return -1;
    return check_starting(matched, instance_name, err);
}

int warm_row_ready(struct db *db, const char *instance_name, struct error **err)
{
    uint64_t matched;
    if (db_exec(db, &ready_statement, DB_ARGS(db_text(instance_name)), &matched, err) < 0)
        return -1;
    return check_starting(matched, instance_name, err);
}

int warm_dismiss(struct db *db, const char *instance_name, struct error **err)
{
    return db_exec(db, &dismiss_statement, DB_ARGS(db_text(instance_name)), NULL, err);
}

static void read_warm_listed(const struct db_rows *rows, struct warm_listed *listed)
{
    read_warm(rows, &listed->warm);
    listed->leaves = db_get_bool(rows, 8);
    listed->fits = db_get_bool(rows, 9);
}

int warm_row_list(struct db *db, struct warm_listed **list, size_t *count, struct error **err)
{
    return DB_LIST(db, &list_statement, DB_ARGS(db_i64(clock_now_ms())), read_warm_listed, list,
                   count, err);
}

static void read_warm_ready(const struct db_rows *rows, struct warm_ready *ready)
{
    db_copy_text(ready->instance_name, rows, 0);
}

int warm_ready_on_host(struct db *db, uint32_t host_id, struct warm_ready **list, size_t *count,
                       struct error **err)
{
    return DB_LIST(db, &ready_on_host_statement, DB_ARGS(db_u64(host_id)), read_warm_ready, list,
                   count, err);
}

int warm_row_take_leaving(struct db *db, uint64_t lease_s, struct warm_instance *warm,
                          struct error **err)
{
    db_rows_auto *rows = NULL;
    char name[LEASE_KEY_SIZE];
    *warm = (struct warm_instance){0};
    if (lease_take(db, &removals, NULL, lease_s * 1000, name, NULL, err) < 0)
        return -1;
    if (!name[0])
        return 0;
    if (db_query(db, &one_statement, DB_ARGS(db_text(name)), &rows, err) < 0)
        return -1;
    if (db_rows_next(rows))
        read_warm(rows, warm);
    return 0;
}

int warm_knows(struct db *db, const char *instance_name, bool *known, struct error **err)
{
    return db_query_finds(db, &known_statement, DB_ARGS(db_text(instance_name)), known, err);
}

int warm_row_disk_gb(struct db *db, unsigned *disk_gb, struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query(db, &disk_statement, DB_NO_ARGS, &rows, err) < 0)
        return -1;
    *disk_gb = db_rows_next(rows) ? (unsigned)db_get_u64(rows, 0) : 10;
    return 0;
}
