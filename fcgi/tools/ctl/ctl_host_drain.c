/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Drain a host: dispatchers move the objects, and this command lists the remaining ones with the
 * reason. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/notify.h"
#include "base/state_words.h"
#include "ctl/ctl_db.h"
#include "ctl/output.h"
#include "host/host.h"
#include "joining/join.h"
#include "volume/volume_mount.h"
#include "volume/volume_move.h"

#define LOOK_MS 1000

static bool goes(const struct ctl_staying *one)
{
    return one->why == CTL_STAYS_MOVING || one->why == CTL_STAYS_WAITS ||
           one->why == CTL_STAYS_LEFT || one->why == CTL_STAYS_DELETED;
}

static const char *reason(const struct ctl_staying *one)
{
    static const char *const reasons[] = {
        [CTL_STAYS_RUNS] = "runs",
        [CTL_STAYS_VOLUMES] =
            "moves after its volumes, which move when no running sandbox has them",
        [CTL_STAYS_MACHINE] = "is a virtual machine, or a checkpoint of one",
        [CTL_STAYS_MOVING] = "is moving",
        [CTL_STAYS_WAITS] = "waits for its turn",
        [CTL_STAYS_NO_ROOM] = "no other host has room for it",
        [CTL_STAYS_LEFT] = "is on another host; its old copy is being deleted",
        [CTL_STAYS_IN_USE] = "a running sandbox has it, or has a volume that must move with it",
        [CTL_STAYS_DELETED] = "is being deleted",
    };
    return one->why == CTL_STAYS_FAILED ? one->failure : reasons[one->why];
}

/* The objects that move together with a volume. */
struct company {
    uint32_t *addresses; /* of the sandboxes that mount one of these volumes */
    unsigned count;
    uint32_t size_gb;
    bool live, machine;
};

static int look_at_member(struct ctl *ctl, const char *id, struct company *company,
                          struct error **err)
{
    struct volume volume;
    bool live;
    if (volume_get_any(ctl->db, id, false, &volume, err) < 0 ||
        volume_is_live(ctl->db, &volume, &live, err) < 0 ||
        volume_row_addresses(ctl->db, id, &company->addresses, &company->count, &company->machine,
                             err) < 0)
        return -1;
    company->live = company->live || live;
    company->size_gb += volume.size_gb;
    return 0;
}

static int look_at_company(struct ctl *ctl, const struct ctl_staying *one, struct company *company,
                           struct error **err)
{
    char ids[VOLUME_GROUP_MAX][ID_SIZE];
    unsigned count;
    struct volume volume;
    if (volume_get(ctl->db, one->id, &volume, err) < 0 ||
        volume_row_group(ctl->db, &volume, ids, &count, err) < 0)
        return -1;
    for (unsigned i = 0; i < count; i++)
        if (look_at_member(ctl, ids[i], company, err) < 0)
            return -1;
    return 0;
}

static int find_room(struct ctl *ctl, struct ctl_staying *one, const struct host_wanted *wanted,
                     struct error **err)
{
    uint32_t to_host;
    if (host_target(ctl->db, wanted, &to_host, err) < 0)
        return -1;
    if (!to_host)
        one->why = CTL_STAYS_NO_ROOM;
    return 0;
}

static int look_at_volume(struct ctl *ctl, uint32_t host_id, struct ctl_staying *one,
                          struct error **err)
{
    struct company company = {.addresses = NULL};
    int result = look_at_company(ctl, one, &company, err);
    struct host_wanted wanted = {
        .from_host = host_id,
        .addresses = company.addresses,
        .address_count = company.count,
        .resources = {.disk_gb = company.size_gb},
    };
    if (result < 0 && ((*err)->code == ERR_INVALID_REQUEST || (*err)->code == ERR_NOT_FOUND)) {
        one->why = CTL_STAYS_FAILED;
        snprintf(one->failure, sizeof one->failure, "%s", (*err)->message);
        error_clear(err);
        result = 0;
    } else if (result == 0 && (company.live || company.machine)) {
        one->why = company.live ? CTL_STAYS_IN_USE : CTL_STAYS_MACHINE;
    } else if (result == 0) {
        result = find_room(ctl, one, &wanted, err);
    }
    free(company.addresses);
    return result;
}

/* Whether one that waits can go: there is room elsewhere, and nothing keeps it. */
static int look_for_room(struct ctl *ctl, uint32_t host_id, struct ctl_staying *one,
                         struct error **err)
{
    const struct host_wanted wanted = {
        .from_host = host_id,
        .addresses = &one->address,
        .address_count = one->is_sandbox,
        .resources = one->resources,
    };
    if (one->why != CTL_STAYS_WAITS)
        return 0;
    return one->is_volume ? look_at_volume(ctl, host_id, one, err)
                          : find_room(ctl, one, &wanted, err);
}

/* *going: how many are on their way, or will be. */
static int look(struct ctl *ctl, const char *name, bool leaving, json_t *rows, unsigned *going,
                struct error **err)
{
    autofree struct ctl_staying *list = NULL;
    struct host host;
    unsigned count;
    *going = 0;
    if (host_get_by_name(ctl->db, name, &host, err) < 0)
        return -1;
    uint32_t host_id = host.id;
    host_deinit(&host);
    if (ctl_db_staying(ctl->db, host_id, &list, &count, err) < 0)
        return -1;
    for (unsigned i = 0; i < count; i++) {
        if (look_for_room(ctl, host_id, &list[i], err) < 0)
            return -1;
        *going += goes(&list[i]);
        const char *state =
            ctl->json || !list[i].is_sandbox ? list[i].state : state_word(list[i].state);
        json_array_append_new(rows, json_pack("{s:s?, s:s, s:s, s:s, s:s}", "name",
                                              *list[i].name ? list[i].name : NULL, "id", list[i].id,
                                              "team", list[i].team, "state", state, "why",
                                              leaving ? reason(&list[i]) : ""));
    }
    return 0;
}

static int wait_for_end(struct ctl *ctl, const char *name, json_t *rows, struct error **err)
{
    unsigned going, shown = UINT_MAX;
    do {
        clock_sleep_ms(LOOK_MS);
        json_array_clear(rows);
        if (look(ctl, name, true, rows, &going, err) < 0)
            return -1;
        if (going != shown)
            fprintf(stderr, "host %s: objects that still have to move: %u\n", name, going);
        shown = going;
    } while (going);
    return 0;
}

static void report(const struct ctl *ctl, const char *name, bool leaving, json_t *rows)
{
    static const struct ctl_column columns[] = {
        {"NAME", "name"}, {"ID", "id"}, {"TEAM", "team"}, {"STATE", "state"}, {"WHY", "why"}};
    size_t count = json_array_size(rows);
    json_t *json =
        json_pack("{s:s, s:s, s:b, s:O}", "name", name, "state", host_state_names[HOST_DRAINING],
                  "empty", count == 0, "sandboxes", rows);
    if (!count)
        ctl_print(ctl, json, "Host %s gets no new objects, and is empty.", name);
    else
        ctl_print(ctl, json,
                  leaving ? "Host %s gets no new objects, and its sandboxes are moving to other "
                            "hosts; %zu are left."
                          : "Host %s gets no new objects; its %zu objects stay.",
                  name, count);
    if (!ctl->json && count)
        ctl_print_table(rows, columns, ARRAY_SIZE(columns) - !leaving);
}

int ctl_host_drain(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    const char *name = arguments->operands[0];
    bool leaving = !ctl_flag(arguments, "stay"), running = ctl_flag(arguments, "move-running");
    json_auto_t *rows = json_array();
    unsigned going;
    if (!leaving && running)
        return error_set(err, ERR_INVALID_REQUEST, "Give --stay or --move-running, not both.");
    if ((leaving ? host_leave(ctl->db, name, running, err)
                 : host_set_state(ctl->db, name, HOST_DRAINING, err)) < 0)
        return -1;
    if (leaving)
        notify_send(ctl->settings->api_socket, NOTIFY_MOVES);
    if ((leaving && ctl_flag(arguments, "wait") ? wait_for_end(ctl, name, rows, err)
                                                : look(ctl, name, leaving, rows, &going, err)) < 0)
        return -1;
    report(ctl, name, leaving, rows);
    return 0;
}

int ctl_host_remove(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    const char *name = arguments->operands[0];
    bool withdrawn = false;
    if (host_remove(ctl->db, name, err) < 0) {
        error_auto failure = NULL;
        if ((*err)->code != ERR_NOT_FOUND || join_forget(ctl->db, name, &withdrawn, &failure) < 0 ||
            !withdrawn)
            return -1;
        error_clear(err);
        ctl_print(ctl, json_pack("{s:s, s:b}", "name", name, "removed", 1),
                  "The token of host %s is withdrawn; no machine had used it.", name);
        return 0;
    }
    ctl_print(ctl, json_pack("{s:s, s:b}", "name", name, "removed", 1),
              "Host %s is removed; you can use its name and address range again.", name);
    return 0;
}
