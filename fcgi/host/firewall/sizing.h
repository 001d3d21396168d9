/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Passing on to sandlot-limits which size an instance is to have (base/sizing.h). */
#pragma once

#include <stdbool.h>

/* Ask; size NULL: nothing is asked. Never waits. Returns a connection for sizing_end(), or -1. */
int sizing_begin(const char *socket_path, const char *size);

#define SIZING_ANSWER_SIZE 512
#define SIZING_WAIT_MS     1000 /* a busy pool commits what it has to write, which Incus does too */

/* Read what has come of the answer, without waiting. False: not all of it; call it again. True:
 * fd is closed, and answer is the line, "" when there was none. answer is "" before the first
 * call. */
bool sizing_end(int fd, char answer[SIZING_ANSWER_SIZE]);

bool sizing_is_done(const char *answer);
