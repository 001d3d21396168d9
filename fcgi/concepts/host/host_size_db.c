/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The largest sandbox that a host could run while it is empty. */
#include "base/clock.h"
#include "host/host.h"

#define KNOWN_MS 5000

/* Use the capacity until the host's processors have been counted. */
#define CPU    "IF(processors = 0, vcpus, LEAST(vcpus, processors))"
#define MEMORY "memory_mb * LEAST(memory_overcommit, 100) DIV 100"
#define HOSTS  " FROM hosts WHERE state <> 'joining' AND lost_at_ms IS NULL"

DB_STATEMENT(set_processors_statement) = {"host.set_processors",
                                          "UPDATE hosts SET processors = ? WHERE id = ?"};
DB_STATEMENT(largest_statement) = {"host.largest",
                                   "SELECT CAST(COALESCE(MAX(" CPU "), 0) AS UNSIGNED),"
                                   " CAST(COALESCE(MAX(" MEMORY "), 0) AS UNSIGNED)" HOSTS};
DB_STATEMENT(fits_statement) = {"host.size_fits",
                                "SELECT 1" HOSTS " AND " CPU " >= CAST(? AS UNSIGNED) AND " MEMORY
                                " >= CAST(? AS UNSIGNED)"
                                " LIMIT 1"};

/* Kept for a while: hosts seldom change, and each create asks. */
static struct {
    struct host_largest largest;
    int64_t until_ms; /* monotonic */
} known;

int host_set_processors(struct db *db, uint32_t id, unsigned processors, struct error **err)
{
    return db_exec(db, &set_processors_statement, DB_ARGS(db_u64(processors), db_u64(id)), NULL,
                   err);
}

int host_largest(struct db *db, struct host_largest *largest, struct error **err)
{
    if (clock_monotonic_ms() >= known.until_ms) {
        db_rows_auto *rows = NULL;
        if (db_query(db, &largest_statement, DB_NO_ARGS, &rows, err) < 0)
            return -1;
        db_rows_next(rows);
        known.largest =
            (struct host_largest){(uint32_t)db_get_u64(rows, 0), (uint32_t)db_get_u64(rows, 1)};
        known.until_ms = clock_monotonic_ms() + KNOWN_MS;
    }
    *largest = known.largest;
    return 0;
}

int host_check_size(struct db *db, uint32_t cpu, uint32_t memory_mb, const char *cpu_field,
                    const char *memory_field, struct error **err)
{
    bool fits;
    struct host_largest largest;
    if (host_largest(db, &largest, err) < 0)
        return -1;
    if (!largest.cpu)
        return 0;
    if (db_query_finds(db, &fits_statement, DB_ARGS(db_u64(cpu), db_u64(memory_mb)), &fits, err) <
        0)
        return -1;
    if (fits)
        return 0;
    bool is_memory = memory_field && (!cpu_field || cpu <= largest.cpu);
    error_set_field(err, ERR_INVALID_REQUEST, is_memory ? memory_field : cpu_field,
                    "No host of this deployment can give a sandbox %u vCPUs with %u MiB of memory; "
                    "the largest has %u vCPUs and %u MiB.",
                    cpu, memory_mb, largest.cpu, largest.memory_mb);
    return error_add_detail(err, "largest",
                            json_pack("{s:I, s:I}", "cpu", (json_int_t)largest.cpu, "memory_mb",
                                      (json_int_t)largest.memory_mb));
}
