/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The row of a sandbox: each column once, with the expression that reads it into s and the value
 * that is written. For *_db.c files only.
 *
 *   JOINED(alias, column, table, key, read)
 *                                   from the row of another table with this id; left out where that
 *                                   table is not joined
 *   OTHER(expression, read)         written elsewhere
 *   FIXED(column, read, write)      written by the insert
 *   MOVED(column, read, write)      written by the insert and by every move
 *   LATER(column, read, write)      written by moves; a new row has the value of the insert or the
 *                                   default of the table
 *   CHANGED(column, read, write)    written by the insert and by changes that are not moves
 */
#pragma once

#include "sandbox/sandbox_ports.h"

#define READ_U32_   ((uint32_t)db_get_u64(rows, c))
#define PORTS_TEXT_ sandbox_ports_to_text(s, (char[SANDBOX_PORTS_TEXT_SIZE]){0})

/* The rows of sandbox_fields.def. */
#define COLUMN_NEVER_(FIXED, CHANGED)     FIXED
#define COLUMN_NAME_(FIXED, CHANGED)      CHANGED
#define COLUMN_LIFECYCLE_(FIXED, CHANGED) CHANGED
#define COLUMN_NETWORK_(FIXED, CHANGED)   CHANGED
#define COLUMN_BOOL_(FIXED, CHANGED, member, json, request, answer, change, ...)  \
    COLUMN_##change##_(FIXED, CHANGED)(#member, s->member = db_get_bool(rows, c), \
                                       db_bool(s->member))
#define COLUMN_CHOICE_(FIXED, CHANGED, member, json, request, answer, change, ...)             \
    COLUMN_##change##_(FIXED, CHANGED)(#member, s->member = member##_of(db_get_text(rows, c)), \
                                       db_text(member##_name(s->member)))
#define COLUMN_TEXT_(FIXED, CHANGED, member, json, request, answer, change, ...)  \
    COLUMN_##change##_(FIXED, CHANGED)(#member, db_copy_text(s->member, rows, c), \
                                       db_text(s->member))
#define COLUMN_NUMBER_(FIXED, CHANGED, member, json, request, answer, change, ...) \
    COLUMN_##change##_(FIXED, CHANGED)(#member, s->member = READ_U32_, db_u64(s->member))

/* clang-format off */
#define SANDBOX_TABLE(JOINED, OTHER, FIXED, MOVED, LATER, CHANGED)                                 \
    FIXED("id", db_copy_text(s->id, rows, c), db_text(s->id))                                      \
    FIXED("team_id", db_copy_text(s->team_id, rows, c), db_text(s->team_id))                       \
    JOINED("t", "slug", "teams", "s.team_id", db_copy_text(s->team_slug, rows, c))                 \
    FIXED("created_by", db_copy_text(s->created_by, rows, c), db_text(s->created_by))              \
    FIXED("route", db_copy_text(s->route, rows, c), db_text(s->route))                             \
    MOVED("state", s->state = state_of(rows, c), db_text(sandbox_state_name(s->state)))            \
    LATER("reserved", s->reserved = (enum sandbox_reserved)db_get_u64(rows, c),                     \
          db_u64(s->reserved))                                                                                      \
    MOVED("incarnation", s->incarnation = READ_U32_, db_u64(s->incarnation))                       \
    MOVED("operation_id", db_copy_text(s->operation_id, rows, c), text_or_null(s->operation_id))   \
    FIXED("template_slug", db_copy_text(s->template_slug, rows, c), db_text(s->template_slug))     \
    FIXED("template_version_id", db_copy_text(s->template_version_id, rows, c),                    \
          db_text(s->template_version_id))                                                         \
    MOVED("snapshot_id", db_copy_text(s->snapshot_id, rows, c), text_or_null(s->snapshot_id))      \
    MOVED("forked_from", db_copy_text(s->forked_from, rows, c), text_or_null(s->forked_from))      \
    FIXED("virtual_machine", s->virtual_machine = db_get_bool(rows, c),                            \
          db_bool(s->virtual_machine))                                                             \
    MOVED("timeout_s", s->timeout_s = READ_U32_, db_u64(s->timeout_s))                             \
    MOVED("deadline_at_ms", s->deadline_at_ms = db_get_i64(rows, c),                               \
          time_or_null(s->deadline_at_ms))                                                         \
    SANDBOX_FIELDS(COLUMN_BOOL_, COLUMN_CHOICE_, COLUMN_TEXT_, COLUMN_NUMBER_, FIXED, CHANGED)     \
    LATER("memory_left", s->memory_left = db_get_bool(rows, c), db_bool(s->memory_left))           \
    LATER("moved_by", db_copy_text(s->moved_by, rows, c), db_text(s->moved_by))                    \
    LATER("stop_reason", db_copy_text(s->stop_reason, rows, c), db_text(s->stop_reason))           \
    LATER("hold_until_ms", s->hold_until_ms = db_get_i64(rows, c), time_or_null(s->hold_until_ms)) \
    LATER("pause_failures", s->pause_failures = READ_U32_, db_u64(s->pause_failures))              \
    FIXED("cpu", s->resources.cpu = READ_U32_, db_u64(s->resources.cpu))                                   \
    FIXED("memory_mb", s->resources.memory_mb = READ_U32_, db_u64(s->resources.memory_mb))                 \
    FIXED("disk_gb", s->resources.disk_gb = READ_U32_, db_u64(s->resources.disk_gb))                       \
    CHANGED("metadata", s->metadata = xstrdup(db_get_text(rows, c)), db_text(s->metadata))         \
    FIXED("volume_mounts", s->volume_mounts = xstrdup(db_get_text(rows, c)),                       \
          db_text(s->volume_mounts))                                                               \
    FIXED("hooks", s->hooks = xstrdup(db_is_null(rows, c) ? "" : db_get_text(rows, c)),            \
          text_or_null(s->hooks))                                                                  \
    FIXED("network", s->network = xstrdup(db_get_text(rows, c)), db_text(s->network))              \
    FIXED("network_revision", s->network_revision = db_get_u64(rows, c),                           \
          db_u64(s->network_revision))                                                             \
    LATER("network_applied", s->network_applied = db_get_u64(rows, c), db_u64(s->network_applied)) \
    LATER("network_due_at_ms", s->network_due_at_ms = db_get_i64(rows, c),                         \
          time_or_null(s->network_due_at_ms))                                                      \
    OTHER("s.network_failure", s->network_failure = xstrdup(db_get_text(rows, c)))                \
    FIXED("ports", sandbox_ports_of_text(db_get_text(rows, c), s), db_text(PORTS_TEXT_))         \
    OTHER("s.session_epoch + (SELECT e.session_epoch FROM teams e WHERE e.id = s.team_id)",       \
          s->session_epoch = READ_U32_)                                                            \
    OTHER("s.version", s->version = db_get_u64(rows, c))                                          \
    FIXED("host_id", s->host_id = READ_U32_, db_u64(s->host_id))                                   \
    FIXED("instance_name", db_copy_text(s->instance_name, rows, c), db_text(s->instance_name))     \
    FIXED("address", s->address = READ_U32_, db_u64(s->address))                                   \
    FIXED("agent_key_id", s->agent_key_id = (uint16_t)db_get_u64(rows, c),                         \
          db_u64(s->agent_key_id))                                                                 \
    LATER("resumed_from", db_copy_text(s->resumed_from, rows, c), text_or_null(s->resumed_from))   \
    FIXED("created_at_ms", s->created_at_ms = db_get_i64(rows, c), db_i64(s->created_at_ms))       \
    MOVED("updated_at_ms", s->updated_at_ms = db_get_i64(rows, c), db_i64(s->updated_at_ms))       \
    LATER("stopped_at_ms", s->stopped_at_ms = db_get_i64(rows, c), time_or_null(s->stopped_at_ms)) \
    LATER("silent_since_ms", s->silent_since_ms = db_get_i64(rows, c),                             \
          time_or_null(s->silent_since_ms))                                                        \
    LATER("cleanup_at_ms", s->cleanup_at_ms = db_get_i64(rows, c), time_or_null(s->cleanup_at_ms)) \
    JOINED("h", "lost_at_ms", "hosts", "s.host_id",                                                \
           s->host_condition.lost_at_ms = db_get_i64(rows, c))                                     \
    JOINED("h", "down_since_ms", "hosts", "s.host_id",                                             \
           s->host_condition.down_since_ms = db_get_i64(rows, c))                                  \
    JOINED("h", "silent_since_ms", "hosts", "s.host_id",                                           \
           s->host_condition.silent_since_ms = db_get_i64(rows, c))
/* clang-format on */

/* The columns that a statement selects for sandbox_row_read(), and the joined tables; conditions
 * name the sandbox s. The last column only follows the comma before it. */
#define OTHER_SELECT_(expression, read)     expression ", "
#define COLUMN_SELECT_(column, read, write) "s." column ", "
#define SELECT_(JOINED)                                                                  \
    SANDBOX_TABLE(JOINED, OTHER_SELECT_, COLUMN_SELECT_, COLUMN_SELECT_, COLUMN_SELECT_, \
                  COLUMN_SELECT_)                                                        \
    "s.visible"
#define JOINED_SELECT_(alias, column, table, key, read) alias "." column ", "
#define SANDBOX_COLUMNS                                 SELECT_(JOINED_SELECT_)
#define SANDBOX_JOINS                                           \
    " JOIN teams t ON t.id = s.team_id"                         \
    " JOIN template_versions v ON v.id = s.template_version_id" \
    " LEFT JOIN hosts h ON h.id = s.host_id"

/* The same without joins, so that a lock covers only the sandbox's row. */
#define LOOKED_UP_(alias, column, table, key, read) \
    "(SELECT " alias "." column " FROM " table " " alias " WHERE " alias ".id = " key "), "
#define SANDBOX_LOCKED_COLUMNS SELECT_(LOOKED_UP_)

/* The row by itself, for sandbox_row_read_own(). */
#define NOT_JOINED_(alias, column, table, key, read)
#define SANDBOX_OWN_COLUMNS SELECT_(NOT_JOINED_)
