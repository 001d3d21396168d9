/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Conditional and partial requests (RFC 9110, sections 13 and 14), apart from any input or output.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* The values of the headers of these names; NULL when absent. */
struct file_conditions {
    const char *if_match;
    const char *if_none_match;
    const char *if_modified_since;
    const char *if_unmodified_since;
    const char *if_range;
    const char *range;
};

struct file_version {
    const char *etag; /* strong, with its quotes */
    time_t modified_at_s;
    uint64_t size;
};

/* A header with more is ignored. */
#define FILE_PARTS_MAX 16

struct file_parts {
    size_t count;
    struct file_part {
        uint64_t first, length;
    } items[FILE_PARTS_MAX];
};

/* Choose the answer: 200 (whole file), 206 (in parts), 304, 412 or 416. For 200 and 206 *parts says
 * what to send, in the order asked for; for 200 that is one part. The agent ignores a malformed
 * Range header, any such header for an empty file, and one that asks for more than the whole file.
 */
int files_select(const struct file_conditions *conditions, const struct file_version *version,
                 struct file_parts *parts);

/* Read an HTTP date in any of its three forms. Returns 0, or -1 for any other text. */
int files_parse_date(const char *text, time_t *at_s);

#define FILES_DATE_SIZE sizeof("Sun, 06 Nov 1994 08:49:37 GMT")
const char *files_format_date(time_t at_s, char out[FILES_DATE_SIZE]);
