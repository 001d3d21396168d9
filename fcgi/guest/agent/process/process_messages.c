/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Our own extensions (details and resumeFrom of requests; offsets, reason and message of
 * answers) have no number that clients know, and so no row. */
#include "agent/process/process_messages.h"

const struct message process_message_empty = {NULL, 0};

/* --- common fields --- */

static const struct message_field size_rows[] = {
    {.number = 1, .name = "cols", .kind = MESSAGE_UINT32},
    {.number = 2, .name = "rows", .kind = MESSAGE_UINT32},
};
static const struct message size = MESSAGE(size_rows);

static const struct message_field pty_rows[] = {
    {.number = 1, .name = "size", .kind = MESSAGE_NESTED, .nested = &size},
};
static const struct message pty = MESSAGE(pty_rows);

static const struct message_field selector_rows[] = {
    {.number = 1, .name = "pid", .kind = MESSAGE_UINT32, .presence = MESSAGE_ONEOF},
    {.number = 2, .name = "tag", .kind = MESSAGE_STRING, .presence = MESSAGE_ONEOF},
};
static const struct message selector = MESSAGE(selector_rows);

#define SELECTOR                                                                    \
    {                                                                               \
        .number = 1, .name = "process", .kind = MESSAGE_NESTED, .nested = &selector \
    }

static const struct message_field config_rows[] = {
    {.number = 1, .name = "cmd", .kind = MESSAGE_STRING},
    {.number = 2, .name = "args", .kind = MESSAGE_STRING, .presence = MESSAGE_REPEATED},
    {.number = 3, .name = "envs", .kind = MESSAGE_TEXTS},
    {.number = 4, .name = "cwd", .kind = MESSAGE_STRING, .presence = MESSAGE_EXPLICIT},
};
static const struct message config = MESSAGE(config_rows);

static const struct message_field input_rows[] = {
    {.number = 1, .name = "stdin", .kind = MESSAGE_BYTES, .presence = MESSAGE_ONEOF},
    {.number = 2, .name = "pty", .kind = MESSAGE_BYTES, .presence = MESSAGE_ONEOF},
};
static const struct message input = MESSAGE(input_rows);

#define EVENT(n, word, message)                                                           \
    {                                                                                     \
        .number = (n), .name = (word), .kind = MESSAGE_NESTED, .presence = MESSAGE_ONEOF, \
        .nested = &(message)                                                              \
    }

/* --- requests --- */

static const struct message_field start_rows[] = {
    {.number = 1, .name = "process", .kind = MESSAGE_NESTED, .nested = &config},
    {.number = 2, .name = "pty", .kind = MESSAGE_NESTED, .nested = &pty},
    {.number = 3, .name = "tag", .kind = MESSAGE_STRING, .presence = MESSAGE_EXPLICIT},
    {.number = 4, .name = "stdin", .kind = MESSAGE_BOOL, .presence = MESSAGE_EXPLICIT},
};
const struct message process_message_start = MESSAGE(start_rows);

static const struct message_field selected_rows[] = {SELECTOR};
const struct message process_message_selected = MESSAGE(selected_rows);

static const struct message_field update_rows[] = {
    SELECTOR,
    {.number = 2, .name = "pty", .kind = MESSAGE_NESTED, .nested = &pty},
};
const struct message process_message_update = MESSAGE(update_rows);

static const struct message_enum signals[] = {
    {"SIGNAL_UNSPECIFIED", 0}, {"SIGNAL_SIGKILL", 9}, {"SIGNAL_SIGTERM", 15}, {NULL, 0}};

static const struct message_field signal_rows[] = {
    SELECTOR,
    {.number = 2, .name = "signal", .kind = MESSAGE_ENUM, .values = signals},
};
const struct message process_message_signal = MESSAGE(signal_rows);

static const struct message_field send_input_rows[] = {
    SELECTOR,
    {.number = 2, .name = "input", .kind = MESSAGE_NESTED, .nested = &input},
};
const struct message process_message_input = MESSAGE(send_input_rows);

static const struct message_field stream_data_rows[] = {
    {.number = 2, .name = "input", .kind = MESSAGE_NESTED, .nested = &input},
};
static const struct message stream_data = MESSAGE(stream_data_rows);

static const struct message_field input_stream_rows[] = {
    EVENT(1, "start", process_message_selected),
    EVENT(2, "data", stream_data),
    EVENT(3, "keepalive", process_message_empty),
};
const struct message process_message_input_stream = MESSAGE(input_stream_rows);

/* --- answers --- */

static const struct message_field info_rows[] = {
    {.number = 1, .name = "config", .kind = MESSAGE_NESTED, .nested = &config},
    {.number = 2, .name = "pid", .kind = MESSAGE_UINT32},
    {.number = 3, .name = "tag", .kind = MESSAGE_STRING, .presence = MESSAGE_EXPLICIT},
};
static const struct message info = MESSAGE(info_rows);

static const struct message_field list_rows[] = {
    {.number = 1,
     .name = "processes",
     .kind = MESSAGE_NESTED,
     .presence = MESSAGE_REPEATED,
     .nested = &info},
};
const struct message process_message_list = MESSAGE(list_rows);

static const struct message_field started_rows[] = {
    {.number = 1, .name = "pid", .kind = MESSAGE_UINT32},
};
static const struct message started = MESSAGE(started_rows);

static const struct message_field data_rows[] = {
    {.number = 1, .name = "stdout", .kind = MESSAGE_BYTES, .presence = MESSAGE_ONEOF},
    {.number = 2, .name = "stderr", .kind = MESSAGE_BYTES, .presence = MESSAGE_ONEOF},
    {.number = 3, .name = "pty", .kind = MESSAGE_BYTES, .presence = MESSAGE_ONEOF},
};
static const struct message data = MESSAGE(data_rows);

static const struct message_field end_rows[] = {
    {.number = 1, .name = "exitCode", .kind = MESSAGE_SINT32},
    {.number = 2, .name = "exited", .kind = MESSAGE_BOOL},
    {.number = 3, .name = "status", .kind = MESSAGE_STRING},
    {.number = 4, .name = "error", .kind = MESSAGE_STRING, .presence = MESSAGE_EXPLICIT},
};
static const struct message end = MESSAGE(end_rows);

static const struct message_field event_rows[] = {
    EVENT(1, "start", started),
    EVENT(2, "data", data),
    EVENT(3, "end", end),
    EVENT(4, "keepalive", process_message_empty),
};
static const struct message event = MESSAGE(event_rows);

static const struct message_field told_rows[] = {
    {.number = 1, .name = "event", .kind = MESSAGE_NESTED, .nested = &event},
};
const struct message process_message_event = MESSAGE(told_rows);
