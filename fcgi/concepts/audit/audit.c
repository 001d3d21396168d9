/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "audit/audit.h"

#include <stdio.h>
#include <string.h>

#include "audit/audit_row.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"

/* --- a row and its MAC --- */

static void add_field(struct buffer *text, const char *value)
{
    buffer_printf(text, "%zu:", strlen(value));
    buffer_append_string(text, value);
}

int audit_mac(const struct keyring *ring, uint16_t key_id, const struct audit_entry *entry,
              unsigned char mac[MAC_BYTES], struct error **err)
{
    /* Sizes before the fields: the end of one field cannot pass for the start of the next. */
    buffer_auto text = BUFFER_INIT(2 * sizeof *entry);
    const char *fields[] = {entry->id,
                            entry->team_id,
                            entry->action,
                            entry->resource,
                            entry->actor_id,
                            entry->user_id,
                            entry->address,
                            entry->request_id,
                            entry->error,
                            entry->begun_id,
                            audit_actor_name(entry->actor),
                            audit_result_name(entry->result)};
    buffer_printf(&text, "row %lld ", (long long)entry->at_ms);
    for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
        add_field(&text, fields[i]);
    return mac_compute(ring, key_id, KEY_PURPOSE_AUDIT, text.data, text.size, mac, err);
}

int audit_write(struct db *db, const struct keyring *ring, struct audit_entry *entry,
                struct error **err)
{
    unsigned char mac[MAC_BYTES];
    uint16_t key_id = keyring_newest(ring);
    entry->at_ms = clock_now_ms();
    id_new("aud_", entry->id);
    return audit_mac(ring, key_id, entry, mac, err) < 0
               ? -1
               : audit_row_insert(db, entry, key_id, mac, err);
}

/* --- an act --- */

/* Return whether this statement counts as a change of the act. Attempts to sign in are counted
 * before the user is known, so they do not. */
static bool counts(const struct db_statement *statement, void *context)
{
    const struct audit *audit = context;
    if (audit->action == &audit_LOGIN_BEGIN) /* signing in may create the user first */
        return str_starts_with(statement->name, "login.");
    return !str_starts_with(statement->name, "attempt.");
}

#define TAKE(entry_, pointer)                                    \
    do {                                                         \
        if (pointer)                                             \
            snprintf((entry_), sizeof(entry_), "%s", (pointer)); \
    } while (0)

static void complete(struct audit *audit)
{
    struct audit_entry *entry = &audit->entry;
    TAKE(entry->action, audit->action->name);
    TAKE(entry->team_id, audit->team_id);
    TAKE(entry->actor_id, audit->actor_id);
    TAKE(entry->user_id, audit->user_id);
    if (audit->resource)
        audit_about(audit, audit->resource);
}

static int put(struct audit *audit, enum audit_result result, struct error **err)
{
    complete(audit);
    audit->entry.result = result;
    return audit_write(audit->db, audit->ring, &audit->entry, err);
}

static int write_first(struct db *db, void *context, struct error **err)
{
    struct audit *audit = context;
    (void)db;
    return put(audit, audit->action->class == AUDIT_ONE ? AUDIT_DONE : AUDIT_BEGUN, err);
}

void audit_about(struct audit *audit, const char *resource)
{
    char *out = audit->entry.resource;
    size_t length = str_cut(resource, AUDIT_RESOURCE_SIZE - 1);
    memmove(out, resource, length);
    out[length] = '\0';
}

void audit_by_service(struct audit *audit, const struct audit_action *action, const char *what)
{
    *audit = (struct audit){.action = action, .only_changes = true};
    audit->entry.actor = AUDIT_SERVICE;
    TAKE(audit->entry.actor_id, what);
}

void audit_leave(struct audit *audit)
{
    if (audit->action)
        db_accompany(audit->db, NULL);
    audit->action = NULL;
}

int audit_begin(struct audit *audit, struct db *db, const struct keyring *ring, struct error **err)
{
    audit->db = db;
    audit->ring = ring;
    audit->is_written = audit->is_told = false;
    if (!audit->action)
        return 0;
    if (audit->action->class == AUDIT_OUTSIDE) {
        audit->is_written = true;
        return put(audit, AUDIT_BEGUN, err);
    }
    audit->companion = (struct db_companion){counts, write_first, audit};
    db_accompany(db, &audit->companion);
    return 0;
}

/* Write the row that ends the first one. */
static int put_end(struct audit *audit, const struct error *failure, struct error **err)
{
    if (audit->is_written)
        memcpy(audit->entry.begun_id, audit->entry.id, ID_SIZE);
    if (failure)
        TAKE(audit->entry.error, error_api_code(failure->code));
    return put(audit, failure ? AUDIT_FAILED : AUDIT_DONE, err);
}

/* Work on a copy: the transaction may run again, and audit->entry must stay that of the first
 * row. */
int audit_tell_done(struct audit *audit, struct error **err)
{
    if (!audit->action || audit->action->class != AUDIT_LONG || db_is_accompanied(audit->db))
        return 0;
    struct audit_entry end = audit->entry;
    memcpy(end.begun_id, end.id, ID_SIZE);
    end.result = AUDIT_DONE;
    audit->is_told = true;
    return audit_write(audit->db, audit->ring, &end, err);
}

int audit_end(struct audit *audit, const struct error *failure, struct error **err)
{
    if (!audit->action)
        return 0;
    bool is_one = audit->action->class == AUDIT_ONE;
    audit->resource = audit->team_id = audit->actor_id = audit->user_id = NULL;
    if (audit->action->class != AUDIT_OUTSIDE) {
        audit->is_written = !db_is_accompanied(audit->db);
        db_accompany(audit->db, NULL);
    }
    bool is_due = audit->is_written ? failure || !(is_one || audit->is_told)
                                    : !failure && !audit->only_changes;
    int result = is_due ? put_end(audit, failure, err) : 0;
    audit->action = NULL;
    return result;
}

const char *audit_actor_name(enum audit_actor kind)
{
    static const char *const names[] = {"key", "ssh_key", "session", "operator", "service"};
    return names[kind];
}

const char *audit_result_name(enum audit_result result)
{
    static const char *const names[] = {"done", "begun", "failed", "refused"};
    return names[result];
}
