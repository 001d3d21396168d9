/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pass the size of an instance to sandlot-limits (base/sizing.h). */
#pragma once

#include <stdbool.h>

/* Send a request, without waiting. size: the line, without its line feed; NULL: do nothing. Returns
 * a connection for sizing_end(), or -1 after a message in the log. */
int sizing_begin(const char *socket_path, const char *size);

#define SIZING_ANSWER_SIZE 512
#define SIZING_WAIT_MS     1000 /* a busy pool first writes out its data; Incus waits for this too */

/* Read the next part of the answer, without waiting; answer is "" before the first call. Returns
 * false while the answer is incomplete; then call again. Returns true when fd is closed; answer is
 * then the line, or "" when there was none. */
bool sizing_end(int fd, char answer[SIZING_ANSWER_SIZE]);

bool sizing_is_done(const char *answer);
