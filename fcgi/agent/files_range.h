/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Conditional and partial requests (RFC 9110, sections 13 and 14), apart from any input or output.
 */
#pragma once

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

/* Gives 200 (whole file), 206 (part: *first and *length), 304, 412 or 416. For 200 and 206 *first
 * and *length say what to send. A Range header that names several ranges, or makes no sense, is
 * ignored, as it may be; so is any on an empty file. */
int files_select(const struct file_conditions *conditions, const struct file_version *version,
                 uint64_t *first, uint64_t *length);

/* An HTTP date in any of its three forms. Returns 0, or -1 when it is none. */
int files_parse_date(const char *text, time_t *at_s);

#define FILES_DATE_SIZE sizeof("Sun, 06 Nov 1994 08:49:37 GMT")
const char *files_format_date(time_t at_s, char out[FILES_DATE_SIZE]);
