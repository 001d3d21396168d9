/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The head of a relayed request, of which only two lines are ours: which port it is for, and the
 * secret. They are taken out, so that the sandbox's server never sees them; the rest is passed on
 * as it came. And what an answer begins with, which nginx does not check.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define RELAY_HEAD_MAX (320 * 1024) /* more than nginx accepts (header_line_max_kib) */

struct relay_head {
    uint16_t port;      /* 0: no such line, or no port in it */
    const char *secret; /* into the data; NULL: no such line */
    size_t secret_size;
};

/* Look at the bytes that have come so far. Return the size of the head with its blank line, or 0 if
 * it is not complete. Return -1 if it is malformed: one of our lines is there twice, or is folded.
 */
ssize_t relay_head_parse(const char *data, size_t size, struct relay_head *head);

/* Take our lines out of a head of head_size bytes, and close the gap with the bytes after it. The
 * bytes of the lines are overwritten. Returns the new size of the whole. */
size_t relay_head_strip(char *data, size_t head_size, size_t size);

/* Look at the bytes of an answer that have come so far. *interim: size of the whole interim heads
 * (1xx, but not 101) before it. Returns 1 when the answer begins behind them, 0 when more has to
 * come, -1 when it is no HTTP/1. */
int relay_answer_begins(const char *data, size_t size, size_t *interim);
