/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/files/files_range.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

int files_parse_date(const char *text, time_t *at_s)
{
    static const char *const forms[] = {"%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT",
                                        "%a %b %e %H:%M:%S %Y"};
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        struct tm tm = {.tm_mday = 0};
        const char *rest = strptime(text, forms[i], &tm);
        if (!rest || *rest)
            continue;
        *at_s = timegm(&tm);
        return 0;
    }
    return -1;
}

const char *files_format_date(time_t at_s, char out[FILES_DATE_SIZE])
{
    static const char *const days[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    struct tm tm;
    /* A file may claim to be from a year that no header can say. */
    if (!gmtime_r(&at_s, &tm) || tm.tm_year < -1899 || tm.tm_year > 8099)
        gmtime_r(&(time_t){0}, &tm);
    snprintf(out, FILES_DATE_SIZE, "%s, %02u %s %04u %02u:%02u:%02u GMT", days[tm.tm_wday % 7],
             (unsigned)tm.tm_mday % 100, months[tm.tm_mon % 12],
             (unsigned)(tm.tm_year + 1900) % 10000, (unsigned)tm.tm_hour % 100,
             (unsigned)tm.tm_min % 100, (unsigned)tm.tm_sec % 100);
    return out;
}

/* Whether a list of entity tags, or "*", holds this one. */
static bool tags_hold(const char *list, const char *etag, bool weakly)
{
    size_t length = strlen(etag);
    for (;;) {
        list += strspn(list, ", \t");
        if (!*list)
            return false;
        if (*list == '*')
            return true;
        bool weak = !strncmp(list, "W/", 2);
        if (weak)
            list += 2;
        if (*list != '"')
            return false;
        const char *close = strchr(list + 1, '"');
        if (!close)
            return false;
        if ((weakly || !weak) && (size_t)(close + 1 - list) == length &&
            !memcmp(list, etag, length))
            return true;
        list = close + 1;
    }
}

/* Returns 200 when all preconditions hold. */
static int check_preconditions(const struct file_conditions *conditions,
                               const struct file_version *version)
{
    time_t at_s;
    if (conditions->if_match) {
        if (!tags_hold(conditions->if_match, version->etag, false))
            return 412;
    } else if (conditions->if_unmodified_since &&
               files_parse_date(conditions->if_unmodified_since, &at_s) == 0 &&
               version->modified_at_s > at_s) {
        return 412;
    }
    if (conditions->if_none_match) {
        if (tags_hold(conditions->if_none_match, version->etag, true))
            return 304;
    } else if (conditions->if_modified_since &&
               files_parse_date(conditions->if_modified_since, &at_s) == 0 &&
               version->modified_at_s <= at_s) {
        return 304;
    }
    return 200;
}

static bool range_applies(const struct file_conditions *conditions,
                          const struct file_version *version)
{
    const char *validator = conditions->if_range;
    time_t at_s;
    if (!validator)
        return true;
    if (*validator == '"')
        return !strcmp(validator, version->etag);
    return files_parse_date(validator, &at_s) == 0 && at_s == version->modified_at_s;
}

/* Decimal digits; a number past the end of any file stays there. Returns whether there were any. */
static bool read_position(const char **text, uint64_t *value)
{
    if (!isdigit((unsigned char)**text))
        return false;
    *value = 0;
    for (; isdigit((unsigned char)**text); (*text)++) {
        if (*value > (uint64_t)INT64_MAX / 10 - 10)
            *value = (uint64_t)INT64_MAX;
        else
            *value = *value * 10 + (uint64_t)(**text - '0');
    }
    return true;
}

/* One of the header's ranges. Returns 200 for nonsense, 206, or 416 when it is past the end. */
static int read_range(const char **text, uint64_t size, struct file_part *part)
{
    uint64_t from = 0, to = 0;
    bool has_from = read_position(text, &from);
    if (*(*text)++ != '-')
        return 200;
    bool has_to = read_position(text, &to);
    *text += strspn(*text, " \t");
    if ((**text && **text != ',') || (!has_from && !has_to) || (has_from && has_to && from > to))
        return 200;
    if (!has_from) {
        part->length = to < size ? to : size;
        part->first = size - part->length;
        return to ? 206 : 416;
    }
    if (from >= size)
        return 416;
    part->first = from;
    part->length = (has_to && to < size ? to + 1 : size) - from;
    return 206;
}

/* Returns 200 for a header to be ignored, else 206 or 416. */
static int parse_ranges(const char *text, uint64_t size, struct file_parts *parts)
{
    uint64_t total = 0;
    int result = 200;
    if (strncasecmp(text, "bytes=", 6) != 0)
        return 200;
    parts->count = 0;
    for (text += 6;; text++) {
        text += strspn(text, ", \t");
        if (!*text)
            break;
        struct file_part part = {0, 0};
        result = read_range(&text, size, &part);
        if (result == 200 || (result == 206 && parts->count == FILE_PARTS_MAX))
            return 200;
        if (result == 206)
            parts->items[parts->count++] = part;
        total += part.length;
        if (total > size)
            return 200;
        if (!*text)
            break;
    }
    return parts->count ? 206 : result;
}

int files_select(const struct file_conditions *conditions, const struct file_version *version,
                 struct file_parts *parts)
{
    const struct file_parts whole = {1, {{0, version->size}}};
    int status = check_preconditions(conditions, version);
    if (status == 200 && conditions->range && version->size && range_applies(conditions, version))
        status = parse_ranges(conditions->range, version->size, parts);
    if (status == 200)
        *parts = whole;
    return status;
}
