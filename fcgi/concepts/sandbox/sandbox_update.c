/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fault_point.h"
#include "base/str.h"
#include "moving/moving.h"
#include "sandbox/lifecycle.h"
#include "sandbox/metadata.h"
#include "sandbox/sandbox_events.h"
#include "sandbox/sandbox_network.h"
#include "sandbox/sandbox_ports.h"
#include "sandbox/sandbox_row.h"

int sandbox_take_timeout(struct db *db, struct sandbox *sandbox, uint64_t timeout_s,
                         struct error **err)
{
    struct plan plan;
    struct team team;
    if (team_get_by_slug(db, sandbox->team_slug, &team, err) < 0 ||
        plan_get(db, team.plan, &plan, err) < 0)
        return -1;
    if (timeout_s > plan.max_timeout_s)
        return error_set_field(err, ERR_INVALID_REQUEST, "/timeout",
                               "The plan %s allows a timeout of at most %u seconds.", plan.name,
                               plan.max_timeout_s);
    if (timeout_s)
        sandbox->timeout_s = (uint32_t)timeout_s;
    else if (sandbox->timeout_s > plan.max_timeout_s) /* of a plan that the team had before */
        sandbox->timeout_s = plan.max_timeout_s;
    return 0;
}

/* Lock and read a sandbox that is not deleted. */
static int lock(struct db *db, const char *id, struct sandbox *sandbox, struct error **err)
{
    sandbox_deinit(sandbox);
    if (sandbox_get_any(db, id, true, sandbox, err) < 0)
        return -1;
    if (sandbox_state_is_shown(sandbox->state))
        return 0;
    return error_set(err, ERR_NOT_FOUND, "There is no such sandbox.");
}

struct update {
    const char *id;
    const struct sandbox_update *wanted;
    struct sandbox *sandbox;
    bool closes; /* previews that may be open */
};

/* A sandbox that is being paused has a deadline again if the pause fails. The deadline of a sandbox
 * that is stopped only to move is in its move. */
static int set_deadline(struct db *db, struct sandbox *sandbox, int64_t deadline_at_ms,
                        struct error **err)
{
    bool runs = sandbox_state_runs(sandbox->state);
    fault_point(FAULT_DEADLINE_EXTENDING);
    if (runs || sandbox->state == SANDBOX_STOPPING)
        sandbox->deadline_at_ms = deadline_at_ms;
    return runs ? 0 : move_extend(db, sandbox->id, deadline_at_ms, err);
}

/* Set the fields that a PATCH may have. */
static void take_choices(const struct sandbox_update *wanted, struct sandbox *sandbox)
{
#define TAKE(at, b, member, json, request, answer, change, ...) \
    at##_##change(if (wanted->chosen.member)                    \
                      memcpy(&sandbox->member, &wanted->choices.member, sizeof sandbox->member);)
    SANDBOX_FIELDS(TAKE, TAKE, TAKE, TAKE, AT_UPDATE, )
}

#define OR_CHOSEN(of, b, member, json, request, answer, change, ...) \
    of##_##change(|| wanted->chosen.member)
#define IS_ANY_CHOSEN(of) (false SANDBOX_FIELDS(OR_CHOSEN, OR_CHOSEN, OR_CHOSEN, OR_CHOSEN, of, ))

/* The event of a paused sandbox has no timeout: its next start has. */
static int tell_updated(struct db *db, const struct update *update, struct error **err)
{
    const struct sandbox_update *wanted = update->wanted;
    const struct sandbox_changed changed = {
        .name = IS_ANY_CHOSEN(OF_NAME),
        .deadline = wanted->timeout_s && sandbox_state_runs(update->sandbox->state),
        .metadata = wanted->metadata,
        .lifecycle = IS_ANY_CHOSEN(OF_LIFECYCLE),
        .network = IS_ANY_CHOSEN(OF_NETWORK),
    };
    return sandbox_tell_updated(db, update->sandbox, &changed, err);
}

static int update_body(struct db *db, void *context, struct error **err)
{
    struct update *update = context;
    const struct sandbox_update *wanted = update->wanted;
    struct sandbox *sandbox = update->sandbox;
    if (lock(db, update->id, sandbox, err) < 0 ||
        (wanted->timeout_s && sandbox_take_timeout(db, sandbox, wanted->timeout_s, err) < 0))
        return -1;
    if (wanted->timeout_s && set_deadline(db, sandbox, clock_in_s(wanted->timeout_s), err) < 0)
        return -1;
    bool reindexes = false;
    if (wanted->metadata) {
        char *metadata = NULL;
        if (metadata_patch(sandbox->metadata, wanted->metadata, &metadata, err) < 0)
            return -1;
        reindexes = !str_equal(sandbox->metadata, metadata);
        free(sandbox->metadata);
        sandbox->metadata = metadata;
    }
    bool was_public = sandbox->allow_public_traffic;
    take_choices(wanted, sandbox);
    update->closes =
        was_public && !sandbox->allow_public_traffic && sandbox_has_packets(sandbox->state);
    if (sandbox_choices_check(&sandbox->choices, &wanted->chosen, err) < 0 ||
        sandbox_row_update(db, sandbox, err) < 0 || sandbox_row_update_policy(db, sandbox, err) < 0)
        return -1;
    if (reindexes && sandbox_row_index_metadata(db, sandbox, err) < 0)
        return -1;
    return tell_updated(db, update, err);
}

int sandbox_update(struct worker *worker, const char *id, const struct sandbox_update *wanted,
                   struct sandbox *sandbox, struct error **err)
{
    struct update update = {.id = id, .wanted = wanted, .sandbox = sandbox};
    if (db_transaction(worker->db, update_body, &update, err) < 0)
        return -1;
    if (update.closes)
        sandbox_end_previews(worker, id, 0);
    return 0;
}

/* --- holds --- */

struct hold {
    const char *id;
    uint32_t hold_s;
    struct sandbox *sandbox;
};

static int hold_body(struct db *db, void *context, struct error **err)
{
    static const struct sandbox_changed changed = {.lifecycle = true};
    struct hold *hold = context;
    struct sandbox *sandbox = hold->sandbox;
    if (lock(db, hold->id, sandbox, err) < 0)
        return -1;
    if (hold->hold_s && sandbox_state_require_running(
                            sandbox->state, "; only a running sandbox can be held awake", err) < 0)
        return -1;
    sandbox->hold_until_ms = hold->hold_s ? clock_in_s(hold->hold_s) : 0;
    if (sandbox_row_update(db, sandbox, err) < 0)
        return -1;
    return sandbox_tell_updated(db, sandbox, &changed, err);
}

int sandbox_hold(struct worker *worker, const char *id, uint32_t hold_s, struct sandbox *sandbox,
                 struct error **err)
{
    struct hold hold = {id, hold_s, sandbox};
    return db_transaction(worker->db, hold_body, &hold, err);
}

/* --- ports --- */

struct port_change {
    const char *id;
    unsigned ports_max;
    struct exposed_port port;
    struct sandbox *sandbox;
    bool closes; /* previews of the port that may be open */
};

static int lock_running(struct db *db, const struct port_change *change, struct error **err)
{
    if (lock(db, change->id, change->sandbox, err) < 0)
        return -1;
    return sandbox_state_require_running(change->sandbox->state,
                                         "; you can change its ports only while it runs", err);
}

/* With all ports exposed, a port without an entry is public: a removal would open a private one. */
static int check_withdrawal(const struct port_change *change, struct error **err)
{
    return change->sandbox->all_ports && !sandbox_port_is_reserved(change->port.port)
               ? error_set_field(err, ERR_INVALID_REQUEST, "port",
                                 "The sandbox exposes all ports, and no port can be withdrawn. "
                                 "Make the port private: PUT it with \"public\": false.")
               : 0;
}

static int store_ports(struct db *db, const struct sandbox *sandbox, struct error **err)
{
    const struct sandbox_changed changed = {.ports = true};
    if (sandbox_row_update_ports(db, sandbox, err) < 0)
        return -1;
    return sandbox_tell_updated(db, sandbox, &changed, err);
}

static int port_put_body(struct db *db, void *context, struct error **err)
{
    struct port_change *change = context;
    if (lock_running(db, change, err) < 0)
        return -1;
    const struct exposed_port *former = sandbox_port(change->sandbox, change->port.port);
    bool was_public = former ? former->is_public : change->sandbox->all_ports;
    change->closes = was_public && !change->port.is_public;
    if ((!former && change->sandbox->port_count >= change->ports_max) ||
        !sandbox_port_add(change->sandbox, change->port))
        return sandbox_too_many_ports("port", change->ports_max, err);
    return store_ports(db, change->sandbox, err);
}

int sandbox_port_put(struct worker *worker, const char *id, struct exposed_port port,
                     struct sandbox *sandbox, struct error **err)
{
    struct port_change change = {
        .id = id,
        .ports_max = (unsigned)worker->settings->sandbox_ports_max,
        .port = port,
        .sandbox = sandbox,
    };
    if (db_transaction(worker->db, port_put_body, &change, err) < 0)
        return -1;
    if (change.closes)
        sandbox_end_previews(worker, id, port.port);
    return 0;
}

static int port_delete_body(struct db *db, void *context, struct error **err)
{
    struct port_change *change = context;
    if (lock_running(db, change, err) < 0 || check_withdrawal(change, err) < 0)
        return -1;
    if (!sandbox_port_remove(change->sandbox, change->port.port))
        return error_set(err, ERR_NOT_FOUND, "The sandbox does not expose this port.");
    return store_ports(db, change->sandbox, err);
}

int sandbox_port_delete(struct worker *worker, const char *id, uint16_t port, struct error **err)
{
    sandbox_auto sandbox = {0};
    struct port_change change = {.id = id, .port = {.port = port}, .sandbox = &sandbox};
    if (db_transaction(worker->db, port_delete_body, &change, err) < 0)
        return -1;
    sandbox_end_previews(worker, id, port);
    return 0;
}
