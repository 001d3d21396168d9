/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/ulid.h"
#include "db/named_lease.h"
#include "host/host_check.h"
#include "host/host_room.h"

/* The time after which a client should ask a full deployment again. */
#define CAPACITY_RETRY_S 5

/* A create chooses among DRAWN hosts. A worker remembers the hosts of SOURCES_KNOWN versions, for
 * SOURCES_MS. */
#define DRAWN         3
#define SOURCES_MS    2000
#define SOURCES_KNOWN 8

#define COLUMNS                                                                            \
    "h.id, h.name, h.state, h.url, h.server_cert, h.project, h.pool, h.nic_prefix,"        \
    " h.address_range, h.vcpus, h.memory_mb, h.firewall_url, h.disk_overcommit,"           \
    " h.memory_overcommit, h.memory_low, h.relay_url, h.silent_since_ms, h.down_since_ms," \
    " h.lost_at_ms, COALESCE(h.network, ''), h.architecture"
#define USED                                        \
    " h.used_vcpus, h.used_memory_mb, h.sandboxes," \
    " COALESCE(p.total_mb, 0), COALESCE(p.used_mb, 0), COALESCE(p.promised_gb, 0)"

DB_STATEMENT(get_statement) = {"host.get", "SELECT " COLUMNS " FROM hosts h WHERE h.id = ?"};
DB_STATEMENT(get_by_name_statement) = {"host.get_by_name",
                                       "SELECT " COLUMNS " FROM hosts h WHERE h.name = ?"};
DB_STATEMENT(list_statement) = {"host.list",
                                "SELECT " COLUMNS "," USED
                                " FROM hosts h LEFT JOIN host_pools p ON p.host_id = h.id"
                                " ORDER BY h.name LIMIT 10000"};
DB_STATEMENT(set_state_statement) = {
    "host.set_state", "UPDATE hosts SET state = ?, leaving = 0"
                      " WHERE name = ? AND lost_at_ms IS NULL AND state <> 'joining'"};
DB_STATEMENT(joined_statement) = {
    "host.joined", "UPDATE hosts SET state = 'active' WHERE id = ? AND state = 'joining'"};
DB_STATEMENT(set_memory_low_statement) = {
    "host.set_memory_low", "UPDATE hosts SET memory_low = ? WHERE id = ? AND memory_low <> ?"};

/* --- writing a host --- */

DB_STATEMENT(lock_all_statement) = {
    "host.lock_all",
    "SELECT id, name, address_range, relay_url, lost_at_ms FROM hosts ORDER BY id FOR UPDATE"};
DB_STATEMENT(insert_statement) = {
    "host.insert",
    "INSERT INTO hosts (name, state, url, server_cert, project, pool, nic_prefix, address_range,"
    " vcpus, memory_mb, firewall_url, disk_overcommit, memory_overcommit, relay_url, network,"
    " architecture, created_at_ms)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"};
DB_STATEMENT(update_statement) = {
    "host.update",
    "UPDATE hosts SET url = ?, server_cert = ?, project = ?, pool = ?, nic_prefix = ?,"
    " address_range = ?, vcpus = ?, memory_mb = ?, firewall_url = ?, disk_overcommit = ?,"
    " memory_overcommit = ?, relay_url = ?, network = ?, architecture = ? WHERE name = ?"};
DB_STATEMENT(address_in_use_statement) = {
    "host.address_in_use",
    "SELECT address FROM host_addresses"
    " WHERE host_id = ? AND (holder IS NOT NULL OR policy_of IS NOT NULL) LIMIT 1"};
DB_STATEMENT(delete_addresses_statement) = {"host.delete_addresses",
                                            "DELETE FROM host_addresses WHERE host_id = ? LIMIT ?"};

/* The numbers 0 to 4095 as three hexadecimal digits. Both servers stop recursive queries at a
 * thousand rows unless a setting allows more.
 *
 * A range is inserted in several statements, because the client gives up a statement that takes
 * longer than its timeout. A slow machine inserts some hundred rows a second. An address that has
 * moved to another host with its sandbox stays there. */
#define ADDRESSES_AT_ONCE  4096
#define ADDRESSES_AT_FIRST 128
#define STATEMENT_MS       1000
#define DIGIT                                                                                    \
    "(SELECT 0 AS n UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4" \
    " UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8"               \
    " UNION ALL SELECT 9 UNION ALL SELECT 10 UNION ALL SELECT 11 UNION ALL SELECT 12"            \
    " UNION ALL SELECT 13 UNION ALL SELECT 14 UNION ALL SELECT 15)"
#define NUMBER "(d2.n * 256 + d1.n * 16 + d0.n)"
DB_STATEMENT(insert_addresses_statement) = {
    "host.insert_addresses",
    "INSERT INTO host_addresses (host_id, address)"
    " SELECT CAST(? AS UNSIGNED), w.address FROM (SELECT CAST(? AS UNSIGNED) + " NUMBER
    " AS address FROM " DIGIT " d2 CROSS JOIN " DIGIT " d1 CROSS JOIN " DIGIT " d0 WHERE " NUMBER
    " < ?) w WHERE NOT EXISTS (SELECT 1 FROM host_addresses a WHERE a.address = w.address)"};

/* --- placement --- */

/* The hosts from which a create draws: those that can start the version. */
DB_STATEMENT(sources_statement) = {
    "host.sources", "SELECT t.host_id FROM template_sources t JOIN hosts h ON h.id = t.host_id"
                    " WHERE t.template_version_id = ? AND h.state = 'active' AND " HOST_ANSWERS(
                        "h.") " LIMIT 10000"};
/* Find hosts that probably have room, among a few and among all, without locks. The statement that
 * locks the row decides. */
DB_STATEMENT(drawn_statement) = {
    "host.drawn", "SELECT h.id FROM hosts h WHERE h.id IN (?, ?, ?) AND " HOST_HAS_ROOM
                  " ORDER BY " HOST_BEST_FIRST ", h.id LIMIT 3"};
DB_STATEMENT(candidates_statement) = {
    "host.candidates", "SELECT h.id FROM hosts h JOIN template_sources t ON t.host_id = h.id"
                       " WHERE t.template_version_id = ? AND (? = 0 OR h.id = ?) AND " HOST_HAS_ROOM
                       " ORDER BY " HOST_BEST_FIRST ", h.id LIMIT 1000"};
DB_STATEMENT(lock_statement) = {
    "host.lock", "SELECT 1 FROM hosts h WHERE h.id = ? AND " HOST_HAS_ROOM " FOR UPDATE"};
/* A draining host takes its own sandboxes back, but no new ones. */
DB_STATEMENT(take_room_statement) = {
    "host.take_room",
    "UPDATE hosts SET used_vcpus = used_vcpus + CAST(? AS SIGNED),"
    " used_memory_mb = used_memory_mb + CAST(? AS SIGNED), sandboxes = sandboxes + 1"
    " WHERE id = ? AND (? = 0 OR (state = 'active' AND memory_low = 0 AND " HOST_ANSWERS(
        "") "))"
            " AND used_vcpus + CAST(? AS SIGNED) <= vcpus"
            " AND used_memory_mb + CAST(? AS SIGNED) <= " HOST_MEMORY_MB("")};
DB_STATEMENT(give_room_statement) = {
    "host.give_room",
    "UPDATE hosts SET used_vcpus = used_vcpus - CAST(? AS SIGNED),"
    " used_memory_mb = used_memory_mb - CAST(? AS SIGNED), sandboxes = sandboxes - 1 WHERE id = ?"};

DB_STATEMENT(free_address_statement) = {
    "host.free_address", "SELECT address FROM host_addresses"
                         " WHERE host_id = ? AND holder IS NULL AND policy_of IS NULL"
                         " ORDER BY released_at_ms, address LIMIT 1 FOR UPDATE SKIP LOCKED"};
DB_STATEMENT(claim_address_statement) = {
    "host.claim_address",
    "UPDATE host_addresses SET holder = ? WHERE host_id = ? AND address = ? AND holder IS NULL"};

/* The index starts with the host, so STRAIGHT_JOIN reads the few hosts first, and never scans all
 * addresses. */
DB_STATEMENT(held_statement) = {"host.held_addresses",
                                "SELECT STRAIGHT_JOIN a.host_id FROM hosts h"
                                " JOIN host_addresses a ON a.host_id = h.id WHERE a.holder = ?"};
DB_STATEMENT(release_statement) = {"host.release_address",
                                   "UPDATE host_addresses SET holder = NULL, released_at_ms = ?"
                                   " WHERE host_id = ? AND holder = ?"};

/* --- reading --- */

/* Returns the column after the last one read. */
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
    host->memory_overcommit = (uint32_t)db_get_u64(rows, c++);
    host->memory_low = db_get_bool(rows, c++);
    host->relay_url = db_is_null(rows, c) ? NULL : xstrdup(db_get_text(rows, c));
    c++;
    host->condition.silent_since_ms = db_get_i64(rows, c++);
    host->condition.down_since_ms = db_get_i64(rows, c++);
    host->condition.lost_at_ms = db_get_i64(rows, c++);
    db_copy_text(host->network, rows, c++);
    db_copy_text(host->architecture, rows, c++);
    return c;
}

static int get_one(struct db *db, const struct db_statement *statement, struct db_value key,
                   struct host *host, struct error **err)
{
    return DB_ROW(db, statement, DB_ARGS(key), "There is no such host.", read_host, host, err);
}

int host_get(struct db *db, uint32_t id, struct host *host, struct error **err)
{
    return get_one(db, &get_statement, db_u64(id), host, err);
}

int host_get_by_name(struct db *db, const char *name, struct host *host, struct error **err)
{
    return get_one(db, &get_by_name_statement, db_text(name), host, err);
}

static void read_listed_host(const struct db_rows *rows, struct host *host)
{
    unsigned c = read_host(rows, host);
    host->used_vcpus = (uint32_t)db_get_u64(rows, c++);
    host->used_memory_mb = (uint32_t)db_get_u64(rows, c++);
    host->sandboxes = (uint32_t)db_get_u64(rows, c++);
    host->storage =
        (struct host_pool){db_get_u64(rows, c), db_get_u64(rows, c + 1), db_get_u64(rows, c + 2)};
}

int host_list(struct db *db, struct host **hosts, unsigned *count, struct error **err)
{
    return DB_LIST(db, &list_statement, DB_NO_ARGS, read_listed_host, hosts, count, err);
}

int host_set_memory_low(struct db *db, uint32_t id, bool low, bool *changed, struct error **err)
{
    uint64_t matched;
    if (db_exec(db, &set_memory_low_statement, DB_ARGS(db_bool(low), db_u64(id), db_bool(low)),
                &matched, err) < 0)
        return -1;
    *changed = matched == 1;
    return 0;
}

static int is_lost(const char *name, struct error **err)
{
    return error_set_field(err, ERR_INVALID_REQUEST, "name",
                           "The host %s is lost; give the machine that replaces it another name.",
                           name);
}

int host_set_state(struct db *db, const char *name, enum host_state state, struct error **err)
{
    uint64_t affected;
    if (db_exec(db, &set_state_statement, DB_ARGS(db_text(host_state_names[state]), db_text(name)),
                &affected, err) < 0)
        return -1;
    if (affected)
        return 0;
    struct host known;
    if (host_get_by_name(db, name, &known, err) < 0)
        return -1;
    bool lost = known.condition.lost_at_ms;
    host_deinit(&known);
    return lost ? is_lost(name, err)
                : error_set_field(err, ERR_INVALID_REQUEST, "name",
                                  "The host %s is joining, and gets sandboxes after a trial "
                                  "sandbox has run there. `sandlotctl doctor` shows the obstacle, "
                                  "and `sandlotctl host rm %s` ends the joining.",
                                  name, name);
}

int host_joined(struct db *db, uint32_t id, struct error **err)
{
    return db_exec(db, &joined_statement, DB_ARGS(db_u64(id)), NULL, err);
}

/* --- writing --- */

struct put {
    struct host *host;
    struct address_range range;
    bool is_known, range_changes;
};

/* Lock all hosts, so that two new hosts cannot take overlapping ranges at the same time. */
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
            if (!db_is_null(rows, 4))
                return is_lost(name, err);
            put->is_known = true;
            put->host->id = (uint32_t)db_get_u64(rows, 0);
            put->range_changes = strcmp(text, put->host->address_range) != 0;
        } else if (address_range_parse(text, &other) == 0 &&
                   address_ranges_overlap(put->range, other)) {
            return error_set_field(err, ERR_INVALID_REQUEST, "range",
                                   "The range %s overlaps with %s of the host %s.",
                                   put->host->address_range, text, name);
        } else if (put->host->relay_url && !db_is_null(rows, 3) &&
                   !strcmp(put->host->relay_url, db_get_text(rows, 3))) {
            return error_set_field(err, ERR_INVALID_REQUEST, "relay",
                                   "%s is the relay of the host %s.", put->host->relay_url, name);
        }
    }
    return 0;
}

static int put_row(struct db *db, struct put *put, struct error **err)
{
    const struct host *h = put->host;
    struct db_value network = db_text(*h->network ? h->network : NULL);
    if (put->is_known)
        return db_exec(db, &update_statement,
                       DB_ARGS(db_text(h->url), db_text(h->server_cert), db_text(h->project),
                               db_text(h->pool), db_text(h->nic_prefix), db_text(h->address_range),
                               db_u64(h->vcpus), db_u64(h->memory_mb), db_text(h->firewall_url),
                               db_u64(h->disk_overcommit), db_u64(h->memory_overcommit),
                               db_text(h->relay_url), network, db_text(h->architecture),
                               db_text(h->name)),
                       NULL, err);
    if (db_exec(db, &insert_statement,
                DB_ARGS(db_text(h->name), db_text(host_state_names[h->state]), db_text(h->url),
                        db_text(h->server_cert), db_text(h->project), db_text(h->pool),
                        db_text(h->nic_prefix), db_text(h->address_range), db_u64(h->vcpus),
                        db_u64(h->memory_mb), db_text(h->firewall_url), db_u64(h->disk_overcommit),
                        db_u64(h->memory_overcommit), db_text(h->relay_url), network,
                        db_text(h->architecture), db_i64(clock_now_ms())),
                NULL, err) < 0)
        return -1;
    return 0;
}

/* Return the number of rows for the next statement, after one with `rows` rows that started at
 * started_ms. */
static uint64_t rows_at_once(uint64_t rows, int64_t started_ms)
{
    int64_t took_ms = clock_monotonic_ms() - started_ms;
    if (took_ms < STATEMENT_MS / 2 && rows < ADDRESSES_AT_ONCE)
        return 2 * rows;
    return took_ms > STATEMENT_MS && rows > 1 ? rows / 2 : rows;
}

int host_addresses_delete(struct db *db, uint32_t host_id, struct error **err)
{
    uint64_t deleted, asked, rows = ADDRESSES_AT_FIRST;
    do {
        int64_t started_ms = clock_monotonic_ms();
        asked = rows;
        if (db_exec(db, &delete_addresses_statement, DB_ARGS(db_u64(host_id), db_u64(asked)),
                    &deleted, err) < 0)
            return -1;
        rows = rows_at_once(rows, started_ms);
    } while (deleted == asked);
    return 0;
}

static int insert_addresses(struct db *db, uint32_t host_id, struct address_range usable,
                            struct error **err)
{
    uint64_t rows = ADDRESSES_AT_FIRST;
    for (uint64_t from = usable.first; from <= usable.last;) {
        int64_t started_ms = clock_monotonic_ms();
        uint64_t left = usable.last - from + 1;
        uint64_t count = left < rows ? left : rows;
        if (db_exec(db, &insert_addresses_statement,
                    DB_ARGS(db_u64(host_id), db_u64(from), db_u64(count)), NULL, err) < 0)
            return -1;
        from += count;
        rows = rows_at_once(rows, started_ms);
    }
    return 0;
}

static int put_addresses(struct db *db, struct put *put, struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query(db, &address_in_use_statement, DB_ARGS(db_u64(put->host->id)), &rows, err) < 0)
        return -1;
    if (db_rows_next(rows)) {
        char address[IPV4_TEXT_SIZE];
        return error_set_field(err, ERR_INVALID_REQUEST, "range",
                               "The address range of %s cannot change while a sandbox holds %s; "
                               "drain the host and delete its sandboxes first.",
                               put->host->name,
                               ipv4_format((uint32_t)db_get_u64(rows, 0), address));
    }
    if (host_addresses_delete(db, put->host->id, err) < 0)
        return -1;
    return insert_addresses(db, put->host->id, address_range_usable(put->range), err);
}

static int put_body(struct db *db, void *context, struct error **err)
{
    struct put *put = context;
    if (put_lock(db, put, err) < 0 ||
        host_check_architecture(db, put->host->name, put->host->architecture, err) < 0 ||
        put_row(db, put, err) < 0)
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

/* --- room --- */

/* Reserve room. The UPDATE refuses too much, also when other processes reserve at the same time. */
static int take_room(struct db *db, uint32_t host_id, const struct runtime_resources *resources,
                     bool new_sandbox, bool *taken, struct error **err)
{
    uint64_t matched;
    struct db_value cpu = db_u64(resources->cpu), memory_mb = db_u64(resources->memory_mb);
    if (db_exec(db, &take_room_statement,
                DB_ARGS(cpu, memory_mb, db_u64(host_id), db_bool(new_sandbox), cpu, memory_mb),
                &matched, err) < 0)
        return -1;
    *taken = matched == 1;
    return 0;
}

int host_room_give(struct db *db, uint32_t host_id, const struct runtime_resources *resources,
                   struct error **err)
{
    return db_exec(db, &give_room_statement,
                   DB_ARGS(db_u64(resources->cpu), db_u64(resources->memory_mb), db_u64(host_id)),
                   NULL, err);
}

/* *claimed: the host had a free address. */
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
    return claimed ? 0 : no_capacity(err, "The host has no free address now; try again soon.");
}

/* --- the choice of a host --- */

/* The hosts that have a version, as read up to SOURCES_MS ago. A create looks at three of perhaps a
 * thousand. The rows decide, so a stale list does no harm. */
struct sources {
    char template_version_id[ID_SIZE]; /* "": unused */
    int64_t until_ms;                  /* monotonic */
    uint32_t *hosts;
    unsigned count;
};
static struct sources known[SOURCES_KNOWN];

static struct sources *find_sources(const char *template_version_id)
{
    struct sources *oldest = &known[0];
    for (unsigned i = 0; i < SOURCES_KNOWN; i++) {
        if (!strcmp(known[i].template_version_id, template_version_id))
            return &known[i];
        if (known[i].until_ms < oldest->until_ms)
            oldest = &known[i];
    }
    oldest->until_ms = 0;
    snprintf(oldest->template_version_id, ID_SIZE, "%s", template_version_id);
    return oldest;
}

static int read_sources(struct db *db, struct sources *sources, struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query(db, &sources_statement, DB_ARGS(db_text(sources->template_version_id)), &rows,
                 err) < 0)
        return -1;
    sources->count = 0;
    while (db_rows_next(rows)) {
        sources->hosts = xreallocarray(sources->hosts, sources->count + 1, sizeof *sources->hosts);
        sources->hosts[sources->count++] = (uint32_t)db_get_u64(rows, 0);
    }
    sources->until_ms = clock_monotonic_ms() + SOURCES_MS;
    return 0;
}

/* Draw different hosts. This shuffles the first places of the list. */
static void draw(struct sources *sources, uint32_t drawn[DRAWN])
{
    for (unsigned i = 0; i < DRAWN; i++) {
        drawn[i] = 0;
        if (i >= sources->count)
            continue;
        unsigned j = i + randombytes_uniform(sources->count - i);
        drawn[i] = sources->hosts[j];
        sources->hosts[j] = sources->hosts[i];
        sources->hosts[i] = drawn[i];
    }
}

struct placing {
    const char *template_version_id, *instance_name;
    const struct runtime_resources *resources;
    uint32_t avoid_host;
    bool reserves; /* not for a copy from a disk with room reserved already, and not for a warm
                    * instance */
    uint32_t host_id, address;
    struct error *no_disk; /* the error of the disk of a host that had other room */
};

static int lock_room(struct db *db, const struct placing *placing, bool *fits, struct error **err)
{
    return db_query_finds(db, &lock_statement,
                          DB_ARGS(db_u64(placing->host_id), db_u64(placing->resources->cpu),
                                  db_u64(placing->resources->memory_mb)),
                          fits, err);
}

/* Promise the disk when it reserves, or check it. *has: the disk has room. */
static int take_disk(struct db *db, struct placing *placing, bool *has, struct error **err)
{
    uint32_t disk_gb = placing->reserves ? placing->resources->disk_gb : 0;
    error_clear(&placing->no_disk);
    *has = host_disk_reserve(db, placing->host_id, disk_gb, &placing->no_disk) == 0;
    return *has || placing->no_disk->code == ERR_INSUFFICIENT_STORAGE
               ? 0
               : error_move(err, &placing->no_disk);
}

/* *placed: the host had room and an address. */
static int place_on(struct db *db, struct placing *placing, bool *placed, struct error **err)
{
    bool fits, has_disk;
    *placed = false;
    if ((placing->reserves ? take_room(db, placing->host_id, placing->resources, true, &fits, err)
                           : lock_room(db, placing, &fits, err)) < 0)
        return -1;
    if (!fits)
        return 0;
    if (take_disk(db, placing, &has_disk, err) < 0 ||
        (has_disk && claim_address(db, placing->host_id, placing->instance_name, &placing->address,
                                   placed, err) < 0))
        return -1;
    return *placed || !placing->reserves
               ? 0
               : host_room_give(db, placing->host_id, placing->resources, err);
}

/* Return the error when no host had room. A full disk has precedence. */
static int not_placed(struct placing *placing, const char *message, struct error **err)
{
    return placing->no_disk ? error_move(err, &placing->no_disk) : no_capacity(err, message);
}

static int place_on_first(struct db *db, struct placing *placing, struct db_rows *rows,
                          bool *placed, struct error **err)
{
    while (!*placed && db_rows_next(rows)) {
        placing->host_id = (uint32_t)db_get_u64(rows, 0);
        if (placing->host_id == placing->avoid_host)
            continue;
        if (place_on(db, placing, placed, err) < 0)
            return -1;
    }
    return 0;
}

/* Choose the host with the most free memory among a few random ones. This is nearly as even as the
 * best of all, and concurrent creates do not all wait for the same row. */
static int place_on_drawn(struct db *db, struct placing *placing, bool *placed, struct error **err)
{
    struct sources *sources = find_sources(placing->template_version_id);
    uint32_t drawn[DRAWN];
    db_rows_auto *rows = NULL;
    if (clock_monotonic_ms() >= sources->until_ms && read_sources(db, sources, err) < 0)
        return -1;
    draw(sources, drawn);
    if (db_query(db, &drawn_statement,
                 DB_ARGS(db_u64(drawn[0]), db_u64(drawn[1]), db_u64(drawn[2]),
                         db_u64(placing->resources->cpu), db_u64(placing->resources->memory_mb)),
                 &rows, err) < 0)
        return -1;
    return place_on_first(db, placing, rows, placed, err);
}

static int place_on_any(struct db *db, struct placing *placing, uint32_t only_host, bool *placed,
                        struct error **err)
{
    db_rows_auto *rows = NULL;
    find_sources(placing->template_version_id)->until_ms = 0;
    if (db_query(db, &candidates_statement,
                 DB_ARGS(db_text(placing->template_version_id), db_u64(only_host),
                         db_u64(only_host), db_u64(placing->resources->cpu),
                         db_u64(placing->resources->memory_mb)),
                 &rows, err) < 0)
        return -1;
    return place_on_first(db, placing, rows, placed, err);
}

static int place(struct db *db, struct placing *placing, uint32_t only_host, struct error **err)
{
    bool placed = false;
    if (!only_host && place_on_drawn(db, placing, &placed, err) < 0)
        return -1;
    if (!placed && place_on_any(db, placing, only_host, &placed, err) < 0)
        return -1;
    if (!placed && placing->avoid_host) {
        placing->avoid_host = 0;
        if (place_on_any(db, placing, only_host, &placed, err) < 0)
            return -1;
    }
    return placed ? 0
                  : not_placed(placing,
                               "No host has room for a sandbox of this size now; try again soon.",
                               err);
}

int host_place(struct db *db, const char *template_version_id,
               const struct runtime_resources *resources, uint32_t only_host, uint32_t avoid_host,
               const char *instance_name, uint32_t *host_id, uint32_t *address, struct error **err)
{
    struct placing placing = {.template_version_id = template_version_id,
                              .instance_name = instance_name,
                              .resources = resources,
                              .avoid_host = avoid_host,
                              .reserves = true};
    int result = place(db, &placing, only_host, err);
    error_clear(&placing.no_disk);
    *host_id = placing.host_id;
    *address = placing.address;
    return result;
}

int host_place_waiting(struct db *db, const char *template_version_id,
                       const struct runtime_resources *resources, uint32_t avoid_host,
                       const char *instance_name, uint32_t *host_id, uint32_t *address,
                       struct error **err)
{
    struct placing placing = {.template_version_id = template_version_id,
                              .instance_name = instance_name,
                              .resources = resources,
                              .avoid_host = avoid_host};
    int result = place(db, &placing, 0, err);
    error_clear(&placing.no_disk);
    *host_id = placing.host_id;
    *address = placing.address;
    return result;
}

int host_place_on(struct db *db, uint32_t host_id, const struct runtime_resources *resources,
                  bool reserves, const char *instance_name, uint32_t *address, struct error **err)
{
    struct placing placing = {.instance_name = instance_name,
                              .resources = resources,
                              .reserves = reserves,
                              .host_id = host_id};
    bool placed;
    if (place_on(db, &placing, &placed, err) < 0)
        return -1;
    *address = placing.address;
    return placed ? 0
                  : not_placed(&placing,
                               "The host of this checkpoint has no room for a sandbox of "
                               "this size now; try again soon.",
                               err);
}

int host_reserve_new(struct db *db, uint32_t host_id, const struct runtime_resources *resources,
                     struct error **err)
{
    bool taken;
    if (take_room(db, host_id, resources, true, &taken, err) < 0)
        return -1;
    return taken ? host_disk_reserve(db, host_id, resources->disk_gb, err)
                 : no_capacity(err, "The host accepts no new sandboxes now.");
}

int host_reserve(struct db *db, uint32_t host_id, const struct runtime_resources *resources,
                 struct error **err)
{
    bool taken;
    if (take_room(db, host_id, resources, false, &taken, err) < 0)
        return -1;
    return taken ? 0
                 : no_capacity(err, "The host of this sandbox has no room for it now; try "
                                    "again soon.");
}

static int release_on(struct db *db, uint32_t host_id, const char *instance_name,
                      struct error **err)
{
    return db_exec(db, &release_statement,
                   DB_ARGS(db_i64(clock_now_ms()), db_u64(host_id), db_text(instance_name)), NULL,
                   err);
}

int host_address_release(struct db *db, uint32_t host_id, const char *instance_name,
                         struct error **err)
{
    db_rows_auto *rows = NULL;
    if (host_id)
        return release_on(db, host_id, instance_name, err);
    if (db_query(db, &held_statement, DB_ARGS(db_text(instance_name)), &rows, err) < 0)
        return -1;
    while (db_rows_next(rows))
        if (release_on(db, (uint32_t)db_get_u64(rows, 0), instance_name, err) < 0)
            return -1;
    return 0;
}

int host_is_watched(struct db *db, bool *watched, struct error **err)
{
    return named_lease_is_held(db, HOST_MONITORS_LEASE, watched, err);
}

#define HEARD_LEASE "host.events.%u"

int host_mark_heard(struct db *db, uint32_t id, const char *owner, bool heard, struct error **err)
{
    char name[NAMED_LEASE_SIZE];
    bool ours; /* false: the lease is still held by the previous monitor */
    snprintf(name, sizeof name, HEARD_LEASE, id);
    return heard ? named_lease_take(db, name, owner, &ours, err)
                 : named_lease_release(db, name, owner, err);
}

int host_is_heard(struct db *db, uint32_t id, bool *heard, struct error **err)
{
    char name[NAMED_LEASE_SIZE];
    snprintf(name, sizeof name, HEARD_LEASE, id);
    return named_lease_is_held(db, name, heard, err);
}
