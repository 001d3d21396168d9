/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "joining/join.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json_read.h"
#include "base/mem.h"
#include "crypto/aead.h"
#include "host/host.h"
#include "host/host_check.h"
#include "joining/join_row.h"

#define ID_PREFIX  "jhn_"
#define SEALED_MAX 65536

const char *const join_state_names[JOIN_STATE_COUNT] = {
#define STATE(symbol, name) [symbol] = name,
#include "joining/join_state.def"
#undef STATE
};

void join_deinit(struct join *join)
{
    json_decref(join->options);
    *join = (struct join){.options = NULL};
}

void joins_free(struct join *joins, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        join_deinit(&joins[i]);
    free(joins);
}

/* --- the future row of a host --- */

static const char *text_of(const json_t *options, const char *name)
{
    const char *text = json_string_value(json_object_get(options, name));
    return text ? text : "";
}

/* Returns 0 when the options do not set it. */
static uint32_t number_of(const json_t *options, const char *name)
{
    return (uint32_t)json_integer_value(json_object_get(options, name));
}

static struct host host_of(const struct join *join, const struct join_offer *offer)
{
    const json_t *options = join->options;
    uint32_t vcpus = number_of(options, "vcpus"), memory_mb = number_of(options, "memory_mb");
    struct host host = {
        .state = HOST_JOINING,
        .url = xstrdup(offer->url),
        .server_cert = xstrdup_or_null(offer->server_cert),
        .relay_url = xstrdup(offer->relay_url),
        .vcpus = vcpus ? vcpus : offer->vcpus,
        .memory_mb = memory_mb ? memory_mb : offer->memory_mb,
        .memory_overcommit = number_of(options, "memory_overcommit"),
        .disk_overcommit = number_of(options, "disk_overcommit"),
    };
    snprintf(host.name, sizeof host.name, "%s", join->name);
    snprintf(host.project, sizeof host.project, "%s", text_of(options, "project"));
    snprintf(host.pool, sizeof host.pool, "%s", text_of(options, "pool"));
    snprintf(host.nic_prefix, sizeof host.nic_prefix, "%s", text_of(options, "nic_prefix"));
    snprintf(host.address_range, sizeof host.address_range, "%s", text_of(options, "range"));
    snprintf(host.network, sizeof host.network, "%s", text_of(options, "network"));
    snprintf(host.architecture, sizeof host.architecture, "%s", offer->architecture);
    return host;
}

/* Refuse another host's range now: inserting the host's row would fail later. */
static int check_range(struct db *db, const struct host *host, struct error **err)
{
    struct host *hosts = NULL;
    struct address_range range, other;
    unsigned count = 0;
    int result = host_list(db, &hosts, &count, err);
    address_range_parse(host->address_range, &range);
    for (unsigned i = 0; i < count && result == 0; i++)
        if (strcmp(hosts[i].name, host->name) != 0 &&
            address_range_parse(hosts[i].address_range, &other) == 0 &&
            address_ranges_overlap(range, other))
            result = error_set_field(err, ERR_INVALID_REQUEST, "range",
                                     "The range %s overlaps with %s of the host %s.",
                                     host->address_range, hosts[i].address_range, hosts[i].name);
    hosts_free(hosts, count);
    return result;
}

/* Refuse the name of a host that exists, before any file is made. */
static int check_name(struct db *db, const char *name, struct error **err)
{
    struct host known;
    error_auto absent = NULL;
    if (host_get_by_name(db, name, &known, &absent) < 0)
        return absent->code == ERR_NOT_FOUND ? 0 : error_move(err, &absent);
    enum host_state state = known.state;
    host_deinit(&known);
    return state == HOST_JOINING
               ? 0
               : error_set_field(err, ERR_INVALID_REQUEST, "name",
                                 "The host %s exists already. Give the new machine another name, "
                                 "or run `sandlotctl host rm %s` first.",
                                 name, name);
}

static int check_options(struct db *db, const struct join *join, struct error **err)
{
    static const struct join_offer somewhere = {
        "https://192.0.2.1:8443", NULL, "https://192.0.2.1:8446", "", 1, 64};
    struct host host = host_of(join, &somewhere);
    int result = host_check(&host, err) < 0 || check_name(db, join->name, err) < 0
                     ? -1
                     : check_range(db, &host, err);
    host_deinit(&host);
    return result;
}

/* --- making a token --- */

static int seal(const struct keyring *ring, const char *id, const json_t *files,
                struct buffer *sealed, struct error **err)
{
    autowipe char *text = json_dumps(files, JSON_COMPACT);
    return aead_seal(ring, text, strlen(text), id, sealed, err);
}

struct putting {
    const struct join *join;
    const struct secret_hash *kept;
    const struct buffer *sealed;
};

static int put_body(struct db *db, void *context, struct error **err)
{
    const struct putting *putting = context;
    bool forgotten;
    if (join_forget(db, putting->join->name, &forgotten, err) < 0)
        return -1;
    return join_row_put(db, putting->join, putting->kept, putting->sealed, err);
}

int join_new(struct db *db, const struct keyring *ring, const char *name, const json_t *options,
             const json_t *files, unsigned ttl_s, char text[SECRET_TEXT_SIZE], struct error **err)
{
    struct join join = {
        .state = JOIN_WAITING,
        .since_ms = clock_now_ms(),
        .expires_at_ms = clock_in_s(ttl_s),
        .options = (json_t *)options,
    };
    struct secret_hash kept;
    buffer_auto sealed = BUFFER_INIT(SEALED_MAX);
    struct putting putting = {&join, &kept, &sealed};
    if (strlen(name) >= sizeof join.name)
        return error_set_field(err, ERR_INVALID_REQUEST, "name", "This name is too long.");
    snprintf(join.name, sizeof join.name, "%s", name);
    if (check_options(db, &join, err) < 0 ||
        secret_text_new(ring, ID_PREFIX, join.id, text, &kept, err) < 0 ||
        seal(ring, join.id, files, &sealed, err) < 0)
        return -1;
    return db_transaction(db, put_body, &putting, err);
}

/* --- showing a token --- */

struct taking {
    const struct keyring *ring;
    const struct join_caller *caller;
    char id[ID_SIZE];
    struct join_row row;
    bool taken;
};

static int refuse_unknown(struct error **err)
{
    return error_set(err, ERR_UNAUTHORIZED,
                     "This token is unknown or was withdrawn; create another on a front node with "
                     "`sandlotctl host token`.");
}

static int refuse_old(const struct join *join, struct error **err)
{
    return error_set(
        err, ERR_UNAUTHORIZED,
        "The token of host %s has expired; create another on a front node with `sandlotctl "
        "host token %s`.",
        join->name, join->name);
}

static int take_first(struct db *db, struct taking *taking, const unsigned char machine[MAC_BYTES],
                      struct error **err)
{
    struct join *join = &taking->row.join;
    if (clock_now_ms() > join->expires_at_ms)
        return refuse_old(join, err);
    join->state = JOIN_TAKEN;
    join->since_ms = clock_now_ms();
    join->expires_at_ms = clock_in_s(JOIN_GOES_ON_S);
    snprintf(join->address, sizeof join->address, "%s", taking->caller->address);
    taking->taken = true;
    return join_row_take(db, join, machine, err);
}

static int take_again(const struct taking *taking, const unsigned char machine[MAC_BYTES],
                      struct error **err)
{
    const struct join *join = &taking->row.join;
    if (!mac_equal(machine, taking->row.machine))
        return error_set(
            err, ERR_UNAUTHORIZED,
            "Another machine has used the token of host %s, at %s. If that machine is not yours, "
            "run `sandlotctl host token %s` at once, which ends this token.",
            join->name, join->address, join->name);
    return join->state == JOIN_TAKEN && clock_now_ms() > join->expires_at_ms ? refuse_old(join, err)
                                                                             : 0;
}

static int take_body(struct db *db, void *context, struct error **err)
{
    struct taking *taking = context;
    unsigned char machine[MAC_BYTES];
    bool found;
    join_row_deinit(&taking->row);
    taking->taken = false;
    if (join_row_lock(db, taking->id, &taking->row, &found, err) < 0)
        return -1;
    if (!found || !secret_text_matches(taking->ring, taking->caller->token, &taking->row.kept))
        return refuse_unknown(err);
    if (host_check_architecture(db, taking->row.join.name, taking->caller->architecture, err) < 0 ||
        secret_hash_text(taking->ring, taking->row.kept.key_id, taking->caller->machine, machine,
                         err) < 0)
        return -1;
    return taking->row.join.state == JOIN_WAITING ? take_first(db, taking, machine, err)
                                                  : take_again(taking, machine, err);
}

static int open_files(const struct taking *taking, json_t **files, struct error **err)
{
    const struct buffer *sealed = &taking->row.sealed;
    struct buffer text = BUFFER_INIT(SEALED_MAX);
    *files = NULL;
    if (taking->row.join.state == JOIN_ACTIVE || !sealed->size)
        return 0;
    int result = aead_open(taking->ring, sealed->data, sealed->size, taking->id, &text, err);
    if (result == 0)
        *files = json_read(text.data, text.size, 0, NULL);
    buffer_wipe(&text);
    return result;
}

int join_take(struct db *db, const struct keyring *ring, const struct join_caller *caller,
              struct join *join, bool *taken, json_t **files, struct error **err)
{
    struct taking taking = {.ring = ring, .caller = caller};
    *join = (struct join){.options = NULL};
    if (secret_text_id(ID_PREFIX, caller->token, taking.id) < 0)
        return refuse_unknown(err);
    int result =
        db_transaction(db, take_body, &taking, err) < 0 ? -1 : open_files(&taking, files, err);
    *taken = taking.taken;
    if (result == 0) {
        *join = taking.row.join;
        taking.row.join.options = NULL;
    }
    join_row_deinit(&taking.row);
    return result;
}

int join_offer(struct db *db, struct join *join, const struct join_offer *offer, struct error **err)
{
    if (join->state == JOIN_ACTIVE)
        return 0;
    if (check_name(db, join->name, err) < 0)
        return -1;
    struct host host = host_of(join, offer);
    int result = host_put(db, &host, err) < 0 ? -1 : join_row_offer(db, join->id, err);
    host_deinit(&host);
    if (result == 0 && join->state == JOIN_TAKEN) {
        join->state = JOIN_TRIAL;
        join->since_ms = clock_now_ms();
    }
    return result;
}
