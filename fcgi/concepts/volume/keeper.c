/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "volume/keeper.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <jansson.h>

#include "base/clock.h"
#include "base/fault_point.h"
#include "base/json_read.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "db/named_lease.h"
#include "host/host.h"

#define PROGRAM_SIZE_MAX  (32 << 20)
#define PROGRAM_DIGITS    10
#define HEALTH_TIMEOUT_MS 3000
#define START_WAIT_MS     10000
#define START_POLL_MS     5
#define HOLD_WAIT_MS      60000
#define HOLD_POLL_MS      20
#define TIDY_MAX          20 /* in one call; the rest later */
#define IDLE_MS           600000

/* --- its program --- */

struct program {
    void *data;
    size_t size;
    char digest[PROGRAM_DIGITS + 1]; /* in the name of each instance that runs it */
};

static int read_file(const char *path, struct program *program, struct error **err)
{
    struct stat status;
    autofclose FILE *file = fopen(path, "re");
    if (!file || fstat(fileno(file), &status) < 0 || status.st_size > PROGRAM_SIZE_MAX)
        return error_set(err, ERR_CONFIG, "cannot read %s, the program of volume servers", path);
    program->size = (size_t)status.st_size;
    program->data = xmalloc(program->size + 1);
    if (fread(program->data, 1, program->size, file) == program->size)
        return 0;
    free(program->data);
    program->data = NULL;
    return error_set(err, ERR_CONFIG, "cannot read %s, the program of volume servers", path);
}

/* The program is read once; it belongs to this process's version. */
static int keeper_program(const struct settings *settings, const struct program **program,
                          struct error **err)
{
    static struct program own;
    unsigned char hash[crypto_generichash_BYTES];
    char hex[2 * sizeof hash + 1];
    if (!own.data) {
        if (read_file(settings->keeper_program, &own, err) < 0)
            return -1;
        crypto_generichash(hash, sizeof hash, own.data, own.size, NULL, 0);
        sodium_bin2hex(hex, sizeof hex, hash, sizeof hash);
        memcpy(own.digest, hex, PROGRAM_DIGITS);
    }
    *program = &own;
    return 0;
}

static bool runs_program(const struct keeper *keeper, const struct program *program)
{
    autofree char *prefix = xasprintf("keeper-%s-", program->digest);
    return str_starts_with(keeper->instance_name, prefix);
}

/* --- asking --- */

/* *epoch is "" when the volume server does not answer. */
static int ask_epoch(struct worker *worker, const struct keeper *keeper,
                     char epoch[KEEPER_EPOCH_SIZE], struct error **err)
{
    struct keeper_request request = {
        .method = "GET", .path = "/health", .timeout_ms = HEALTH_TIMEOUT_MS};
    keeper_answer_auto answer = {0};
    epoch[0] = '\0';
    if (keeper_ask(worker, keeper, &request, &answer, err) < 0)
        return -1;
    if (answer.status != 200)
        return 0;
    json_auto_t *json = json_read(buffer_string(&answer.text), answer.text.size, 0, NULL);
    const char *text = json_string_value(json_object_get(json, "epoch"));
    snprintf(epoch, KEEPER_EPOCH_SIZE, "%s", text ? text : "");
    return 0;
}

/* --- one caller at a time --- */

/* The right to make or change a host's volume server, which one process has at a time. The lease is
 * renewed while Incus works. */
struct hold {
    struct worker *worker;
    struct runtime *runtime;
    int (*tick)(void *context, struct error **err); /* as it was */
    void *tick_context;
    char name[NAMED_LEASE_SIZE];
    int64_t lost_at_ms; /* monotonic */
};

/* Renew the lease. If the database cannot be reached, the lease still counts until its time is
 * over. */
static int keep(void *context, struct error **err)
{
    struct hold *hold = context;
    error_auto failure = NULL;
    bool ours = false;
    int64_t now_ms = clock_monotonic_ms();
    int result =
        named_lease_take(hold->worker->db, hold->name, hold->worker->lease_owner, &ours, &failure);
    if (result < 0 ? now_ms >= hold->lost_at_ms : !ours)
        return error_set(err, ERR_LEASE_LOST, "another process has taken the lease %s", hold->name);
    if (result == 0)
        hold->lost_at_ms = now_ms + NAMED_LEASE_MS / 4 * 3;
    return hold->tick ? hold->tick(hold->tick_context, err) : 0;
}

static int take_keeper(struct worker *worker, uint32_t host_id, struct hold *hold,
                       struct error **err)
{
    int64_t give_up_ms = clock_monotonic_ms() + HOLD_WAIT_MS;
    bool ours;
    *hold = (struct hold){.worker = worker};
    snprintf(hold->name, sizeof hold->name, "keeper.%u", host_id);
    if (runtimes_get(worker->runtimes, worker->db, host_id, &hold->runtime, err) < 0)
        return -1;
    for (;;) {
        if (named_lease_take(worker->db, hold->name, worker->lease_owner, &ours, err) < 0)
            return -1;
        if (ours)
            break;
        if (clock_monotonic_ms() >= give_up_ms)
            return error_set(err, ERR_RUNTIME_UNAVAILABLE,
                             "another process is creating the volume server of the host, which "
                             "takes too long; try again");
        clock_sleep_ms(HOLD_POLL_MS);
    }
    hold->lost_at_ms = clock_monotonic_ms() + NAMED_LEASE_MS / 4 * 3;
    hold->tick = hold->runtime->tick;
    hold->tick_context = hold->runtime->tick_context;
    hold->runtime->tick = keep;
    hold->runtime->tick_context = hold;
    return 0;
}

static void release_keeper(struct hold *hold)
{
    error_auto ignored = NULL;
    hold->runtime->tick = hold->tick;
    hold->runtime->tick_context = hold->tick_context;
    named_lease_release(hold->worker->db, hold->name, hold->worker->lease_owner, &ignored);
}

/* --- creating --- */

static int insert_body(struct db *db, void *context, struct error **err)
{
    struct keeper *keeper = context;
    if (host_address_claim(db, keeper->host_id, keeper->instance_name, &keeper->address, err) < 0)
        return -1;
    return keeper_put(db, keeper, err);
}

static int forget_body(struct db *db, void *context, struct error **err)
{
    const struct keeper *keeper = context;
    if (keeper_delete(db, keeper->instance_name, err) < 0)
        return -1;
    return host_address_release(db, keeper->host_id, keeper->instance_name, err);
}

static int start(struct worker *worker, struct runtime *runtime, const struct keeper *keeper,
                 const struct program *program, struct error **err)
{
    char secret[KEEPER_SECRET_SIZE], address[IPV4_TEXT_SIZE];
    struct runtime_keeper instance = {
        .name = keeper->instance_name,
        .address = ipv4_format(keeper->address, address),
        .program = program->data,
        .program_size = program->size,
        .secret = secret,
    };
    if (keeper_secret(worker->ring, keeper, secret, err) < 0)
        return -1;
    fault_point(FAULT_KEEPER_INSERTED);
    int result = runtime->ops->volume->keeper_start(runtime, &instance, err);
    mem_wipe(secret, sizeof secret);
    fault_point(FAULT_KEEPER_STARTED);
    return result;
}

static int wait_until_up(struct hold *hold, const struct keeper *keeper,
                         char epoch[KEEPER_EPOCH_SIZE], struct error **err)
{
    int64_t give_up_ms = clock_monotonic_ms() + START_WAIT_MS;
    for (;;) {
        if (ask_epoch(hold->worker, keeper, epoch, err) < 0)
            return -1;
        if (epoch[0])
            return 0;
        if (clock_monotonic_ms() > give_up_ms)
            return error_set(err, ERR_RUNTIME_UNAVAILABLE,
                             "the volume server %s did not start in time", keeper->instance_name);
        if (keep(hold, err) < 0)
            return -1;
        clock_sleep_ms(START_POLL_MS);
    }
}

static int discard(struct worker *worker, struct runtime *runtime, struct keeper *keeper,
                   struct error **err)
{
    if (runtime->ops->destroy(runtime, keeper->instance_name, err) < 0)
        return -1;
    return db_transaction(worker->db, forget_body, keeper, err);
}

/* Create a volume server. A failure leaves a row; the next attempt deletes it with its instance. */
static int make(struct hold *hold, const struct program *program, struct keeper *keeper,
                char epoch[KEEPER_EPOCH_SIZE], struct error **err)
{
    struct worker *worker = hold->worker;
    struct runtime *runtime = hold->runtime;
    char id[ID_SIZE];
    if (keeper->instance_name[0] && discard(worker, runtime, keeper, err) < 0)
        return -1;
    snprintf(keeper->instance_name, sizeof keeper->instance_name, "keeper-%s-%s", program->digest,
             id_new("kpr_", id) + 4);
    keeper->secret_key_id = keyring_newest(worker->ring);
    log_info("creating a volume server", LOG_STR("instance", keeper->instance_name));
    if (db_transaction(worker->db, insert_body, keeper, err) < 0 ||
        start(worker, runtime, keeper, program, err) < 0)
        return -1;
    return wait_until_up(hold, keeper, epoch, err);
}

static int ensure_locked(struct hold *hold, uint32_t host_id, const struct program *program,
                         struct keeper *keeper, char epoch[KEEPER_EPOCH_SIZE], struct error **err)
{
    struct worker *worker = hold->worker;
    struct runtime *runtime = hold->runtime;
    enum runtime_status status;
    if (keeper_get(worker->db, host_id, keeper, err) < 0)
        return -1;
    if (keeper->instance_name[0] && runs_program(keeper, program)) {
        /* another process may have created it during the wait for the lease */
        if (ask_epoch(worker, keeper, epoch, err) < 0)
            return -1;
        if (epoch[0])
            return 0;
        if (runtime->ops->inspect(runtime, keeper->instance_name, &status, err) < 0)
            return -1;
        log_warning("a volume server does not answer; replacing it",
                    LOG_STR("instance", keeper->instance_name), LOG_INT("status", status));
    }
    return make(hold, program, keeper, epoch, err);
}

int keeper_ensure(struct worker *worker, uint32_t host_id, struct keeper *keeper,
                  char epoch[KEEPER_EPOCH_SIZE], struct error **err)
{
    const struct program *program;
    if (keeper_program(worker->settings, &program, err) < 0 ||
        keeper_get(worker->db, host_id, keeper, err) < 0)
        return -1;
    epoch[0] = '\0';
    if (keeper->instance_name[0] && runs_program(keeper, program) &&
        ask_epoch(worker, keeper, epoch, err) < 0)
        return -1;
    if (epoch[0])
        return 0;
    struct hold hold;
    if (take_keeper(worker, host_id, &hold, err) < 0)
        return -1;
    int result = ensure_locked(&hold, host_id, program, keeper, epoch, err);
    release_keeper(&hold);
    return result;
}

/* --- its volumes --- */

int keeper_mount(struct worker *worker, const struct keeper *keeper, const struct volume *volume,
                 struct error **err)
{
    char name[VOLUME_INSTANCE_SIZE];
    struct hold hold;
    if (take_keeper(worker, volume->host_id, &hold, err) < 0)
        return -1;
    int result = hold.runtime->ops->volume->keeper_mount(hold.runtime, keeper->instance_name,
                                                         volume_instance_name(volume->id, name),
                                                         volume->id, err);
    release_keeper(&hold);
    return result;
}

int keeper_unmount(struct worker *worker, uint32_t host_id, const char *volume_id,
                   struct error **err)
{
    char name[VOLUME_INSTANCE_SIZE];
    struct keeper keeper;
    struct hold hold;
    if (keeper_get(worker->db, host_id, &keeper, err) < 0)
        return -1;
    if (!keeper.instance_name[0])
        return 0;
    if (take_keeper(worker, host_id, &hold, err) < 0)
        return -1;
    int result = hold.runtime->ops->volume->keeper_unmount(
        hold.runtime, keeper.instance_name, volume_instance_name(volume_id, name), err);
    release_keeper(&hold);
    return result == 0 || error_clear_if(err, ERR_NOT_FOUND) ? 0 : -1;
}

int keeper_tidy(struct worker *worker, uint32_t host_id, struct error **err)
{
    int64_t since_ms = clock_now_ms() - IDLE_MS;
    for (unsigned i = 0; i < TIDY_MAX; i++) {
        char id[ID_SIZE];
        if (volume_files_idle(worker->db, host_id, since_ms, id, err) < 0)
            return -1;
        if (!id[0])
            return 0;
        if (keeper_unmount(worker, host_id, id, err) < 0 ||
            volume_files_forget(worker->db, id, since_ms, err) < 0)
            return -1;
    }
    return 0;
}
