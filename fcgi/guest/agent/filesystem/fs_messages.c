/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/filesystem/fs_messages.h"

const struct message fs_message_empty = {NULL, 0};

/* --- requests --- */

static const struct message_field path_rows[] = {
    {.number = 1, .name = "path", .kind = MESSAGE_STRING},
};
const struct message fs_message_path = MESSAGE(path_rows);

static const struct message_field move_rows[] = {
    {.number = 1, .name = "source", .kind = MESSAGE_STRING},
    {.number = 2, .name = "destination", .kind = MESSAGE_STRING},
};
const struct message fs_message_move = MESSAGE(move_rows);

static const struct message_field list_rows[] = {
    {.number = 1, .name = "path", .kind = MESSAGE_STRING},
    {.number = 2, .name = "depth", .kind = MESSAGE_UINT32},
};
const struct message fs_message_list = MESSAGE(list_rows);

static const struct message_field watch_rows[] = {
    {.number = 1, .name = "path", .kind = MESSAGE_STRING},
    {.number = 2, .name = "recursive", .kind = MESSAGE_BOOL},
    {.number = 3, .name = "includeEntry", .kind = MESSAGE_BOOL},
    {.number = 4, .name = "allowNetworkMounts", .kind = MESSAGE_BOOL},
};
const struct message fs_message_watch = MESSAGE(watch_rows);

/* Of a polled watcher, in requests and in the answer to its making. */
static const struct message_field watcher_rows[] = {
    {.number = 1, .name = "watcherId", .kind = MESSAGE_STRING},
};
const struct message fs_message_watcher = MESSAGE(watcher_rows);

/* --- answers --- */

static const struct message_enum file_types[] = {
    {"FILE_TYPE_FILE", 1}, {"FILE_TYPE_DIRECTORY", 2}, {NULL, 0}};

static const struct message_field info_rows[] = {
    {.number = 1, .name = "name", .kind = MESSAGE_STRING},
    {.number = 2, .name = "type", .kind = MESSAGE_ENUM, .values = file_types},
    {.number = 3, .name = "path", .kind = MESSAGE_STRING},
    {.number = 4, .name = "size", .kind = MESSAGE_INT64},
    {.number = 5, .name = "mode", .kind = MESSAGE_UINT32},
    {.number = 6, .name = "permissions", .kind = MESSAGE_STRING},
    {.number = 7, .name = "owner", .kind = MESSAGE_STRING},
    {.number = 8, .name = "group", .kind = MESSAGE_STRING},
    {.number = 9, .name = "modifiedTime", .kind = MESSAGE_TIMESTAMP},
    {.number = 10, .name = "symlinkTarget", .kind = MESSAGE_STRING, .presence = MESSAGE_EXPLICIT},
    {.number = 11, .name = "metadata", .kind = MESSAGE_TEXTS},
};
static const struct message info = MESSAGE(info_rows);

static const struct message_field entry_rows[] = {
    {.number = 1, .name = "entry", .kind = MESSAGE_NESTED, .nested = &info},
};
const struct message fs_message_entry = MESSAGE(entry_rows);

#define ENTRIES                                                                               \
    {                                                                                         \
        .number = 1, .name = "entries", .kind = MESSAGE_NESTED, .presence = MESSAGE_REPEATED, \
        .nested = &info                                                                       \
    }

const struct message_field fs_field_entries = ENTRIES;

static const struct message_field listed_rows[] = {ENTRIES};
const struct message fs_message_listed = MESSAGE(listed_rows);

static const struct message_enum event_types[] = {
    {"EVENT_TYPE_CREATE", 1}, {"EVENT_TYPE_WRITE", 2}, {"EVENT_TYPE_REMOVE", 3},
    {"EVENT_TYPE_RENAME", 4}, {"EVENT_TYPE_CHMOD", 5}, {NULL, 0}};

static const struct message_field change_rows[] = {
    {.number = 1, .name = "name", .kind = MESSAGE_STRING},
    {.number = 2, .name = "type", .kind = MESSAGE_ENUM, .values = event_types},
    {.number = 3, .name = "entry", .kind = MESSAGE_NESTED, .nested = &info},
};
static const struct message change = MESSAGE(change_rows);

static const struct message_field watched_rows[] = {
    {.number = 1,
     .name = "start",
     .kind = MESSAGE_NESTED,
     .presence = MESSAGE_ONEOF,
     .nested = &fs_message_empty},
    {.number = 2,
     .name = "filesystem",
     .kind = MESSAGE_NESTED,
     .presence = MESSAGE_ONEOF,
     .nested = &change},
    {.number = 3,
     .name = "keepalive",
     .kind = MESSAGE_NESTED,
     .presence = MESSAGE_ONEOF,
     .nested = &fs_message_empty},
};
const struct message fs_message_watched = MESSAGE(watched_rows);

static const struct message_field events_rows[] = {
    {.number = 1,
     .name = "events",
     .kind = MESSAGE_NESTED,
     .presence = MESSAGE_REPEATED,
     .nested = &change},
};
const struct message fs_message_events = MESSAGE(events_rows);
