/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Passing on to sandlot-limits which size an instance is to have (base/sizing.h). */
#pragma once

#include <stdbool.h>

/* Ask; size NULL: nothing is asked. Returns a connection for sizing_end(), or -1. */
int sizing_begin(const char *socket_path, const char *size);

/* Wait for the answer, a bounded time, and close the connection; whether it was done. */
bool sizing_end(int fd);

#define SIZING_ANSWER_SIZE 512

/* Like both for SIZING_CHECK: whether sandlot-limits can give instances their size. False: answer
 * says why not. */
bool sizing_check(const char *socket_path, char answer[SIZING_ANSWER_SIZE]);
