/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The messages of filesystem.Filesystem. */
#pragma once

#include "agent/common/message.h"

extern const struct message fs_message_empty, fs_message_path, fs_message_move, fs_message_entry,
    fs_message_list, fs_message_listed, fs_message_watch, fs_message_watched, fs_message_watcher,
    fs_message_events;

/* The entries of fs_message_listed. */
extern const struct message_field fs_field_entries;
