/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The messages of process.Process. */
#pragma once

#include "agent/common/message.h"

extern const struct message process_message_empty, process_message_start, process_message_event,
    process_message_list, process_message_update, process_message_selected, process_message_signal,
    process_message_input, process_message_input_stream;
