/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worker/worker.h"

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/counters.h"
#include "base/fault_point.h"
#include "base/log.h"
#include "config/database.h"
#include "db/migrate.h"
#include "event/event.h"
#include "front/front.h"
#include "network/protected.h"
#include "runtime/agent_client.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_TRACED_BY_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
#define IS_TRACED_BY_SANITIZER 1
#endif
#endif

/* Make the memory of this process unreadable for other processes of the same user: no ptrace, no
 * /proc/PID/mem, no core dump. To be called once at start, before secrets are read; exec() ends it.
 * Programs that are built with a sanitizer stay as they are, because its leak check traces them. */
static void hide_memory(void)
{
#ifndef IS_TRACED_BY_SANITIZER
    if (prctl(PR_SET_DUMPABLE, 0) < 0)
        log_warning("cannot keep other processes of the same user from reading this process's "
                    "memory; it continues without this protection",
                    LOG_STR("error", strerror(errno)));
#endif
}

/* A process without counters serves all the same. */
static void open_counters(const struct settings *settings)
{
    error_auto err = NULL;
    if (counters_open(settings->pools_dir, &err) < 0)
        log_warning("cannot map the file of counters; /metrics lacks the figures of this process",
                    LOG_ERROR(err));
}

int worker_open(const struct settings *settings, const char *program, struct worker *worker,
                struct error **err)
{
    struct protected_networks networks = {0};
    *worker = (struct worker){.settings = settings};
    hide_memory();
    fault_point_open(settings->api_socket);
    event_notify_scope(settings->api_socket);
    lease_name_owner(worker->lease_owner, program);
    if (protected_open(&networks, settings->protected_networks_open, err) < 0)
        return -1;
    if (keyring_load(settings->key_file, &worker->ring, err) < 0 ||
        database_open(settings, &worker->db, err) < 0 || db_schema_require(worker->db, err) < 0 ||
        front_ring_check(worker->db, worker->ring, err) < 0) {
        worker_close(worker);
        return -1;
    }
    worker->runtimes = runtimes_new(settings);
    open_counters(settings);
    return 0;
}

int worker_open_in_pool(const struct settings *settings, const char *program, struct pool *pool,
                        struct worker *worker, struct error **err)
{
    if (worker_open(settings, program, worker, err) < 0)
        return -1;
    worker->pool = pool;
    return pool_is_first(pool) ? db_check_statements(worker->db, err) : 0;
}

void worker_close(struct worker *worker)
{
    runtimes_free(worker->runtimes);
    if (worker->db)
        db_close(worker->db);
    keyring_free(worker->ring);
    *worker = (struct worker){0};
}

#define MS_PER_S 1000

unsigned worker_start_wait_ms(const struct settings *settings, bool virtual_machine)
{
    return virtual_machine ? (unsigned)settings->machine_start_s * MS_PER_S : AGENT_START_WAIT_MS;
}
