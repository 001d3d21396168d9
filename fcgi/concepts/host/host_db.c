/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "host/host_check.h"

/* How long a client should wait before it asks a full deployment again. */
#define CAPACITY_RETRY_S 5
/* Room on a disk comes back when somebody deletes something. */
#define STORAGE_RETRY_S 60

#define COLUMNS                                                                     \
    "h.id, h.name, h.state, h.url, h.server_cert, h.project, h.pool, h.nic_prefix," \
    " h.address_range, h.vcpus, h.memory_mb, h.firewall_url, h.disk_overcommit"
#define USED                                                                         \
    " (SELECT CAST(COALESCE(SUM(s.cpu), 0) AS UNSIGNED) FROM sandboxes s"            \
    "   WHERE s.host_id = h.id AND s.reserved = 1),"                                 \
    " (SELECT CAST(COALESCE(SUM(s.memory_mb), 0) AS UNSIGNED) FROM sandboxes s"      \
    "   WHERE s.host_id = h.id AND s.reserved = 1),"                                 \
    " (SELECT COUNT(*) FROM sandboxes s WHERE s.host_id = h.id AND s.reserved = 1)," \
    " COALESCE(p.total_mb, 0), COALESCE(p.used_mb, 0), COALESCE(p.promised_gb, 0)"

static const struct db_statement get_statement = {
    "host.get", "SELECT " COLUMNS " FROM hosts h WHERE h.id = ?", true};
static const struct db_statement get_by_name_statement = {
    "host.get_by_name", "SELECT " COLUMNS " FROM hosts h WHERE h.name = ?", true};
static const struct db_statement list_statement = {
    "host.list",
    "SELECT " COLUMNS "," USED " FROM hosts h LEFT JOIN host_pools p ON p.host_id = h.id"
    " ORDER BY h.name LIMIT 10000",
    true};
static const struct db_statement set_state_statement = {
    "host.set_state", "UPDATE hosts SET state = ? WHERE name = ?", false};

/* One level of the lock is enough: asking again while it is held would add another. */
static const struct db_statement watch_lock_statement = {
    "host.watch_lock",
    "SELECT IF(COALESCE(IS_USED_LOCK(n), 0) = CONNECTION_ID(), 1, GET_LOCK(n, 0))"
    " FROM (SELECT LEFT(CONCAT('sandlot.watch.', DATABASE()), 64) AS n) names",
    true};

static const struct db_statement watched_statement = {
    "host.watched",
    "SELECT IS_USED_LOCK(LEFT(CONCAT('sandlot.watch.', DATABASE()), 64)) IS NOT NULL", true};

#define HEARD_LOCK "LEFT(CONCAT('sandlot.events.', ?, '.', DATABASE()), 64)"
static const struct db_statement heard_lock_statement = {
    "host.heard_lock",
    "SELECT IF(COALESCE(IS_USED_LOCK(n), 0) = CONNECTION_ID(), 1, GET_LOCK(n, 0))"
    " FROM (SELECT " HEARD_LOCK " AS n) names",
    true};
static const struct db_statement heard_unlock_statement = {
    "host.heard_unlock", "SELECT RELEASE_LOCK(" HEARD_LOCK ")", true};
static const struct db_statement heard_statement = {
    "host.heard", "SELECT IS_USED_LOCK(" HEARD_LOCK ") IS NOT NULL", true};

/* --- writing a host --- */

static const struct db_statement lock_all_statement = {
    "host.lock_all", "SELECT id, name, address_range FROM hosts ORDER BY id FOR UPDATE", false};
static const struct db_statement insert_statement = {
    "host.insert",
    "INSERT INTO hosts (name, state, url, server_cert, project, pool, nic_prefix, address_range,"
    " vcpus, memory_mb, firewall_url, disk_overcommit, created_at_ms)"
    " VALUES (?, 'active', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    false};
static const struct db_statement update_statement = {
    "host.update",
    "UPDATE hosts SET url = ?, server_cert = ?, project = ?, pool = ?, nic_prefix = ?,"
    " address_range = ?, vcpus = ?, memory_mb = ?, firewall_url = ?, disk_overcommit = ?"
    " WHERE name = ?",
    false};
static const struct db_statement address_in_use_statement = {
    "host.address_in_use",
    "SELECT address FROM host_addresses"
    " WHERE host_id = ? AND (holder IS NOT NULL OR policy_of IS NOT NULL) LIMIT 1",
    false};
static const struct db_statement delete_addresses_statement = {
    "host.delete_addresses", "DELETE FROM host_addresses WHERE host_id = ?", false};

/* The numbers 0 to 65535 as four hexadecimal digits: one statement for a whole range. Recursive
 * queries would do as well, but both servers stop them at a thousand rows unless told otherwise. */
#define DIGIT                                                                                    \
    "(SELECT 0 AS n UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4" \
    " UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8"               \
    " UNION ALL SELECT 9 UNION ALL SELECT 10 UNION ALL SELECT 11 UNION ALL SELECT 12"            \
    " UNION ALL SELECT 13 UNION ALL SELECT 14 UNION ALL SELECT 15)"
#define NUMBER "(d3.n * 4096 + d2.n * 256 + d1.n * 16 + d0.n)"
static const struct db_statement insert_addresses_statement = {
    "host.insert_addresses",
    "INSERT INTO host_addresses (host_id, address)"
    " SELECT CAST(? AS UNSIGNED), CAST(? AS UNSIGNED) + " NUMBER " FROM " DIGIT
    " d3 CROSS JOIN " DIGIT " d2 CROSS JOIN " DIGIT " d1 CROSS JOIN " DIGIT " d0 WHERE " NUMBER
    " < ?",
    false};

/* --- placement --- */

/* An unlocked look at who might have room; the decision is made under the lock. */
static const struct db_statement candidates_statement = {
    "host.candidates",
    "SELECT c.id FROM (SELECT h.id, h.vcpus, h.memory_mb,"
    " (SELECT CAST(COALESCE(SUM(s.cpu), 0) AS UNSIGNED) FROM sandboxes s"
    "   WHERE s.host_id = h.id AND s.reserved = 1) AS used_vcpus,"
    " (SELECT CAST(COALESCE(SUM(s.memory_mb), 0) AS UNSIGNED) FROM sandboxes s"
    "   WHERE s.host_id = h.id AND s.reserved = 1) AS used_memory_mb"
    " FROM hosts h JOIN template_sources t ON t.host_id = h.id"
    " WHERE t.template_version_id = ? AND h.state = 'active' AND (? = 0 OR h.id = ?)) c"
    " WHERE c.used_vcpus + ? <= c.vcpus AND c.used_memory_mb + ? <= c.memory_mb"
    " ORDER BY CAST(c.memory_mb AS SIGNED) - CAST(c.used_memory_mb AS SIGNED) DESC, c.id"
    " LIMIT 1000",
    false};
static const struct db_statement lock_statement = {
    "host.lock", "SELECT state, vcpus, memory_mb FROM hosts WHERE id = ? FOR UPDATE", false};

/* --- storage --- */

static const struct db_statement lock_pool_statement = {
    "host.lock_pool",
    "SELECT p.total_mb, p.used_mb, p.promised_gb,"
    " (SELECT h.disk_overcommit FROM hosts h WHERE h.id = p.host_id)"
    " FROM host_pools p WHERE p.host_id = ? FOR UPDATE",
    false};
static const struct db_statement promise_statement = {
    "host.promise_disk", "UPDATE host_pools SET promised_gb = promised_gb + ? WHERE host_id = ?",
    false};
static const struct db_statement promised_statement = {
    "host.promised_disk",
    "SELECT (SELECT CAST(COALESCE(SUM(disk_gb), 0) AS UNSIGNED) FROM sandboxes"
    "   WHERE host_id = ? AND state <> 'destroyed')"
    " + (SELECT CAST(COALESCE(SUM(size_gb), 0) AS UNSIGNED) FROM volumes"
    "   WHERE host_id = ? AND taken = 1)",
    false};
static const struct db_statement put_pool_statement = {
    "host.put_pool",
    "INSERT INTO host_pools (host_id, total_mb, used_mb, promised_gb, measured_at_ms)"
    " VALUES (?, ?, ?, ?, ?) ON DUPLICATE KEY UPDATE total_mb = VALUES(total_mb),"
    " used_mb = VALUES(used_mb), promised_gb = VALUES(promised_gb),"
    " measured_at_ms = VALUES(measured_at_ms)",
    false};

static const struct db_statement reserved_statement = {
    "host.reserved",
    "SELECT CAST(COALESCE(SUM(cpu), 0) AS UNSIGNED), CAST(COALESCE(SUM(memory_mb), 0) AS UNSIGNED)"
    " FROM sandboxes WHERE host_id = ? AND reserved = 1",
    false};
static const struct db_statement free_address_statement = {
    "host.free_address",
    "SELECT address FROM host_addresses"
    " WHERE host_id = ? AND holder IS NULL AND policy_of IS NULL"
    " ORDER BY released_at_ms, address LIMIT 1 FOR UPDATE SKIP LOCKED",
    false};
static const struct db_statement claim_address_statement = {
    "host.claim_address",
    "UPDATE host_addresses SET holder = ? WHERE host_id = ? AND address = ? AND holder IS NULL",
    false};

/* The index starts with the host, so the few hosts are read first: never a look at each address. */
static const struct db_statement held_statement = {
    "host.held_addresses",
    "SELECT STRAIGHT_JOIN a.host_id, a.address FROM hosts h"
    " JOIN host_addresses a ON a.host_id = h.id WHERE a.holder = ?",
    false};
static const struct db_statement release_statement = {
    "host.release_address",
    "UPDATE host_addresses SET holder = NULL, released_at_ms = ?"
    " WHERE host_id = ? AND address = ? AND holder = ?",
    false};

static const struct db_statement *const statements[] = {
    &get_statement,
    &get_by_name_statement,
    &list_statement,
    &set_state_statement,
    &watch_lock_statement,
    &watched_statement,
    &heard_lock_statement,
    &heard_unlock_statement,
    &heard_statement,
    &lock_all_statement,
    &insert_statement,
    &update_statement,
    &address_in_use_statement,
    &delete_addresses_statement,
    &insert_addresses_statement,
    &candidates_statement,
    &lock_statement,
    &lock_pool_statement,
    &promise_statement,
    &promised_statement,
    &put_pool_statement,
    &reserved_statement,
    &free_address_statement,
    &claim_address_statement,
    &held_statement,
    &release_statement,
};
const struct db_statement_list host_statements = DB_STATEMENT_LIST(statements);

/* --- reading --- */

/* Returns the column behind the last one read. */
static unsigned read_host(const struct db_rows *rows, struct host *host)
{
    unsigned c = 0;
    *host = (struct host){0};
    host->id = (uint32_t)db_get_u64(rows, c++);
    db_copy_text(host->name, rows, c++);
    host->state = (enum host_state)db_get_name(rows, c++, host_state_names, HOST_STATE_COUNT);
    host->url = xstrdup(db_get_text(rows, c++));
    host->server_cert = db_is_null(rows, c) ? NULL : xstrdup(db_get_text(rows, c));
    c++;
    db_copy_text(host->project, rows, c++);
    db_copy_text(host->pool, rows, c++);
    db_copy_text(host->nic_prefix, rows, c++);
    db_copy_text(host->address_range, rows, c++);
    host->vcpus = (uint32_t)db_get_u64(rows, c++);
    host->memory_mb = (uint32_t)db_get_u64(rows, c++);
    host->firewall_url = db_is_null(rows, c) ? NULL : xstrdup(db_get_text(rows, c));
    c++;
    host->disk_overcommit = (uint32_t)db_get_u64(rows, c++);
    return c;
}

static int get_one(struct db *db, const struct db_statement *statement, struct db_value key,
                   struct host *host, struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query(db, statement, DB_ARGS(key), &rows, err) < 0)
        return -1;
    if (!db_rows_next(rows))
        return error_set(err, ERR_NOT_FOUND, "There is no such host.");
    read_host(rows, host);
    return 0;
}

int host_get(struct db *db, uint32_t id, struct host *host, struct error **err)
{
    return get_one(db, &get_statement, db_u64(id), host, err);
}

int host_get_by_name(struct db *db, const char *name, struct host *host, struct error **err)
{
    return get_one(db, &get_by_name_statement, db_text(name), host, err);
}

int host_list(struct db *db, struct host **hosts, unsigned *count, struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query(db, &list_statement, DB_NO_ARGS, &rows, err) < 0)
        return -1;
    *hosts = NULL;
    *count = 0;
    while (db_rows_next(rows)) {
        *hosts = xreallocarray(*hosts, *count + 1, sizeof **hosts);
        struct host *host = &(*hosts)[(*count)++];
        unsigned c = read_host(rows, host);
        host->used_vcpus = (uint32_t)db_get_u64(rows, c++);
        host->used_memory_mb = (uint32_t)db_get_u64(rows, c++);
        host->sandboxes = (uint32_t)db_get_u64(rows, c++);
        host->storage = (struct host_pool){db_get_u64(rows, c), db_get_u64(rows, c + 1),
                                           db_get_u64(rows, c + 2)};
    }
    return 0;
}

int host_watch_lock(struct db *db, bool *ours, struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query(db, &watch_lock_statement, DB_NO_ARGS, &rows, err) < 0)
        return -1;
    *ours = db_rows_next(rows) && db_get_u64(rows, 0) == 1;
    return 0;
}

int host_set_state(struct db *db, const char *name, enum host_state state, struct error **err)
{
    uint64_t affected;
    if (db_exec(db, &set_state_statement, DB_ARGS(db_text(host_state_names[state]), db_text(name)),
                &affected, err) < 0)
        return -1;
    if (!affected)
        return error_set(err, ERR_NOT_FOUND, "There is no such host.");
    return 0;
}

/* --- writing --- */

struct put {
    struct host *host;
    struct address_range range;
    bool is_known, range_changes;
};

/* Lock all hosts, so that two new ones cannot take overlapping ranges at once. */
static int put_lock(struct db *db, struct put *put, struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query(db, &lock_all_statement, DB_NO_ARGS, &rows, err) < 0)
        return -1;
    put->is_known = false;
    put->range_changes = true;
    while (db_rows_next(rows)) {
        const char *name = db_get_text(rows, 1), *text = db_get_text(rows, 2);
        struct address_range other;
        if (!strcmp(name, put->host->name)) {
            put->is_known = true;
            put->host->id = (uint32_t)db_get_u64(rows, 0);
            put->range_changes = strcmp(text, put->host->address_range) != 0;
        } else if (address_range_parse(text, &other) == 0 &&
                   address_ranges_overlap(put->range, other)) {
            return error_set_field(err, ERR_INVALID_REQUEST, "range",
                                   "The range %s overlaps with %s of the host %s.",
                                   put->host->address_range, text, name);
        }
    }
    return 0;
}

static int put_row(struct db *db, struct put *put, struct error **err)
{
    const struct host *h = put->host;
    if (put->is_known)
        return db_exec(db, &update_statement,
                       DB_ARGS(db_text(h->url), db_text(h->server_cert), db_text(h->project),
                               db_text(h->pool), db_text(h->nic_prefix), db_text(h->address_range),
                               db_u64(h->vcpus), db_u64(h->memory_mb), db_text(h->firewall_url),
                               db_u64(h->disk_overcommit), db_text(h->name)),
                       NULL, err);
    if (db_exec(db, &insert_statement,
                DB_ARGS(db_text(h->name), db_text(h->url), db_text(h->server_cert),
                        db_text(h->project), db_text(h->pool), db_text(h->nic_prefix),
                        db_text(h->address_range), db_u64(h->vcpus), db_u64(h->memory_mb),
                        db_text(h->firewall_url), db_u64(h->disk_overcommit),
                        db_i64(clock_now_ms())),
                NULL, err) < 0)
        return -1;
    return 0;
}

static int put_addresses(struct db *db, struct put *put, struct error **err)
{
    struct address_range usable = address_range_usable(put->range);
    db_rows_auto *rows = NULL;
    if (db_query(db, &address_in_use_statement, DB_ARGS(db_u64(put->host->id)), &rows, err) < 0)
        return -1;
    if (db_rows_next(rows)) {
        char address[IPV4_TEXT_SIZE];
        return error_set_field(err, ERR_INVALID_REQUEST, "range",
                               "The address range of %s cannot change while a sandbox holds %s of "
                               "it; drain the host and delete its sandboxes first.",
                               put->host->name,
                               ipv4_format((uint32_t)db_get_u64(rows, 0), address));
    }
    if (db_exec(db, &delete_addresses_statement, DB_ARGS(db_u64(put->host->id)), NULL, err) < 0)
        return -1;
    return db_exec(db, &insert_addresses_statement,
                   DB_ARGS(db_u64(put->host->id), db_u64(usable.first),
                           db_u64(usable.last - usable.first + 1)),
                   NULL, err);
}

static int put_body(struct db *db, void *context, struct error **err)
{
    struct put *put = context;
    if (put_lock(db, put, err) < 0 || put_row(db, put, err) < 0)
        return -1;
    struct host stored;
    if (host_get_by_name(db, put->host->name, &stored, err) < 0)
        return -1;
    put->host->id = stored.id;
    put->host->state = stored.state;
    host_deinit(&stored);
    return put->range_changes ? put_addresses(db, put, err) : 0;
}

int host_put(struct db *db, struct host *host, struct error **err)
{
    struct put put = {.host = host};
    if (host_check(host, err) < 0)
        return -1;
    address_range_parse(host->address_range, &put.range);
    return db_transaction(db, put_body, &put, err);
}

/* --- placement --- */

static int no_capacity(struct error **err, const char *message)
{
    error_set(err, ERR_NO_CAPACITY, "%s", message);
    (*err)->retry_after_s = CAPACITY_RETRY_S;
    return -1;
}

/* --- storage --- */

static int insufficient_storage(struct error **err, const char *message)
{
    error_set(err, ERR_INSUFFICIENT_STORAGE, "%s", message);
    (*err)->retry_after_s = STORAGE_RETRY_S;
    return -1;
}

int host_disk_reserve(struct db *db, uint32_t host_id, uint32_t disk_gb, struct error **err)
{
    struct host_pool pool;
    uint64_t overcommit;
    {
        db_rows_auto *rows = NULL;
        if (db_query(db, &lock_pool_statement, DB_ARGS(db_u64(host_id)), &rows, err) < 0)
            return -1;
        if (!db_rows_next(rows))
            return 0;
        pool = (struct host_pool){db_get_u64(rows, 0), db_get_u64(rows, 1), db_get_u64(rows, 2)};
        overcommit = db_get_u64(rows, 3);
    }
    if (host_pool_is_nearly_full(&pool))
        return insufficient_storage(err,
                                    "The storage of the runtime host is nearly full, so nothing "
                                    "new is put on it; try again later.");
    if (!disk_gb)
        return 0;
    if (overcommit && (pool.promised_gb + disk_gb) * 1024 > pool.total_mb * overcommit)
        return insufficient_storage(err, "The storage of the runtime host is promised to sandboxes "
                                         "and volumes that exist; delete one, or try again later.");
    return db_exec(db, &promise_statement, DB_ARGS(db_u64(disk_gb), db_u64(host_id)), NULL, err);
}

struct pool_put {
    uint32_t host_id;
    uint64_t total_mb, used_mb;
};

/* With the row locked nobody is between his promise and the row that it is for. */
static int pool_put_body(struct db *db, void *context, struct error **err)
{
    const struct pool_put *put = context;
    struct db_value host = db_u64(put->host_id);
    {
        db_rows_auto *rows = NULL;
        if (db_query(db, &lock_pool_statement, DB_ARGS(host), &rows, err) < 0)
            return -1;
    }
    db_rows_auto *rows = NULL;
    if (db_query(db, &promised_statement, DB_ARGS(host, host), &rows, err) < 0)
        return -1;
    db_rows_next(rows);
    uint64_t promised_gb = db_get_u64(rows, 0);
    return db_exec(db, &put_pool_statement,
                   DB_ARGS(host, db_u64(put->total_mb), db_u64(put->used_mb), db_u64(promised_gb),
                           db_i64(clock_now_ms())),
                   NULL, err);
}

int host_pool_put(struct db *db, uint32_t host_id, uint64_t total_mb, uint64_t used_mb,
                  struct error **err)
{
    struct pool_put put = {host_id, total_mb, used_mb};
    return db_transaction(db, pool_put_body, &put, err);
}

/* --- room --- */

/* Lock a host; *fits says whether the shape has room on it. Everyone who adds to what is reserved
 * holds this lock to the end of his transaction, and READ COMMITTED shows us what he wrote. */
static int lock_and_fit(struct db *db, uint32_t host_id, const struct runtime_shape *shape,
                        bool new_sandbox, bool *fits, struct error **err)
{
    uint64_t vcpus, memory_mb;
    *fits = false;
    {
        db_rows_auto *rows = NULL;
        if (db_query(db, &lock_statement, DB_ARGS(db_u64(host_id)), &rows, err) < 0)
            return -1;
        if (!db_rows_next(rows) || (new_sandbox && db_get_name(rows, 0, host_state_names,
                                                               HOST_STATE_COUNT) != HOST_ACTIVE))
            return 0;
        vcpus = db_get_u64(rows, 1);
        memory_mb = db_get_u64(rows, 2);
    }
    db_rows_auto *rows = NULL;
    if (db_query(db, &reserved_statement, DB_ARGS(db_u64(host_id)), &rows, err) < 0)
        return -1;
    db_rows_next(rows);
    *fits = db_get_u64(rows, 0) + shape->cpu <= vcpus &&
            db_get_u64(rows, 1) + shape->memory_mb <= memory_mb;
    return 0;
}

/* The same for a new sandbox, whose disk is promised as well. Errors: ERR_INSUFFICIENT_STORAGE. */
static int fit_new(struct db *db, uint32_t host_id, const struct runtime_shape *shape, bool *fits,
                   struct error **err)
{
    if (lock_and_fit(db, host_id, shape, true, fits, err) < 0)
        return -1;
    return *fits ? host_disk_reserve(db, host_id, shape->disk_gb, err) : 0;
}

/* *claimed: whether there was a free address. */
static int claim_address(struct db *db, uint32_t host_id, const char *instance_name,
                         uint32_t *address, bool *claimed, struct error **err)
{
    uint64_t affected;
    db_rows_auto *rows = NULL;
    *claimed = false;
    if (db_query(db, &free_address_statement, DB_ARGS(db_u64(host_id)), &rows, err) < 0)
        return -1;
    if (!db_rows_next(rows))
        return 0;
    *address = (uint32_t)db_get_u64(rows, 0);
    if (db_exec(db, &claim_address_statement,
                DB_ARGS(db_text(instance_name), db_u64(host_id), db_u64(*address)), &affected,
                err) < 0)
        return -1;
    *claimed = affected == 1;
    return 0;
}

int host_address_claim(struct db *db, uint32_t host_id, const char *instance_name,
                       uint32_t *address, struct error **err)
{
    bool claimed;
    if (claim_address(db, host_id, instance_name, address, &claimed, err) < 0)
        return -1;
    return claimed ? 0
                   : no_capacity(err, "The runtime host has no free address now; try again soon.");
}

int host_place(struct db *db, const char *template_version_id, const struct runtime_shape *shape,
               uint32_t only_host, const char *instance_name, uint32_t *host_id, uint32_t *address,
               struct error **err)
{
    db_rows_auto *rows = NULL;
    error_auto no_disk = NULL;
    if (db_query(db, &candidates_statement,
                 DB_ARGS(db_text(template_version_id), db_u64(only_host), db_u64(only_host),
                         db_u64(shape->cpu), db_u64(shape->memory_mb)),
                 &rows, err) < 0)
        return -1;
    while (db_rows_next(rows)) {
        bool fits, claimed;
        *host_id = (uint32_t)db_get_u64(rows, 0);
        error_clear(&no_disk);
        if (fit_new(db, *host_id, shape, &fits, &no_disk) < 0) {
            if (no_disk->code != ERR_INSUFFICIENT_STORAGE)
                return error_move(err, &no_disk);
            continue;
        }
        if (!fits)
            continue;
        if (claim_address(db, *host_id, instance_name, address, &claimed, err) < 0)
            return -1;
        if (claimed)
            return 0;
    }
    if (no_disk)
        return error_move(err, &no_disk);
    return no_capacity(err, "No runtime host has room for such a sandbox now; try again soon.");
}

int host_place_on(struct db *db, uint32_t host_id, const struct runtime_shape *shape,
                  const char *instance_name, uint32_t *address, struct error **err)
{
    bool fits, claimed = false;
    if (fit_new(db, host_id, shape, &fits, err) < 0 ||
        (fits && claim_address(db, host_id, instance_name, address, &claimed, err) < 0))
        return -1;
    return claimed ? 0
                   : no_capacity(err, "The runtime host that has this checkpoint has no room for "
                                      "such a sandbox now; try again soon.");
}

int host_reserve_new(struct db *db, uint32_t host_id, const struct runtime_shape *shape,
                     struct error **err)
{
    bool fits;
    if (fit_new(db, host_id, shape, &fits, err) < 0)
        return -1;
    return fits ? 0 : no_capacity(err, "The runtime host takes no new sandbox now.");
}

int host_reserve(struct db *db, uint32_t host_id, const struct runtime_shape *shape,
                 struct error **err)
{
    bool fits;
    if (lock_and_fit(db, host_id, shape, false, &fits, err) < 0)
        return -1;
    return fits ? 0
                : no_capacity(err, "The runtime host of this sandbox has no room for it now; try "
                                   "again soon.");
}

int host_address_release(struct db *db, const char *instance_name, struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query(db, &held_statement, DB_ARGS(db_text(instance_name)), &rows, err) < 0)
        return -1;
    while (db_rows_next(rows))
        if (db_exec(db, &release_statement,
                    DB_ARGS(db_i64(clock_now_ms()), db_u64(db_get_u64(rows, 0)),
                            db_u64(db_get_u64(rows, 1)), db_text(instance_name)),
                    NULL, err) < 0)
            return -1;
    return 0;
}

int host_is_watched(struct db *db, bool *watched, struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query(db, &watched_statement, DB_NO_ARGS, &rows, err) < 0)
        return -1;
    *watched = db_rows_next(rows) && db_get_bool(rows, 0);
    return 0;
}

int host_mark_heard(struct db *db, uint32_t id, bool heard, struct error **err)
{
    db_rows_auto *rows = NULL;
    return db_query(db, heard ? &heard_lock_statement : &heard_unlock_statement,
                    DB_ARGS(db_u64(id)), &rows, err);
}

int host_is_heard(struct db *db, uint32_t id, bool *heard, struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query(db, &heard_statement, DB_ARGS(db_u64(id)), &rows, err) < 0)
        return -1;
    *heard = db_rows_next(rows) && db_get_bool(rows, 0);
    return 0;
}
