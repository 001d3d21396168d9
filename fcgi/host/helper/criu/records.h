/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Change a file of a memory image in place. */
#pragma once

#include "helper/criu/message.h"

/* Call change for each message of a file of CRIU: two words of magic, then messages, each after its
 * size. It stops at a message that is cut off. A file that does not exist is left out. */
void records_change(const char *path, void (*change)(struct message record));
