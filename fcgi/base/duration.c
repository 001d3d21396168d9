/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/duration.h"

#include <limits.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

#define NUMBER_MAX 100000000
#define DIGITS     "0123456789"

static unsigned seconds_of(char unit)
{
    static const struct {
        char unit;
        unsigned seconds;
    } units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};
    for (size_t i = 0; i < ARRAY_SIZE(units); i++)
        if (unit == units[i].unit)
            return units[i].seconds;
    return 0;
}

int duration_parse(const char *text, uint64_t *seconds)
{
    unsigned larger = UINT_MAX;
    if (str_parse_u64(text, 1, NUMBER_MAX, seconds) == 0)
        return 0;
    /* Each part has a smaller unit than the one before it. */
    for (*seconds = 0; *text || !*seconds;) {
        size_t digits = strspn(text, DIGITS);
        autofree char *number = xstrndup(text, digits);
        unsigned factor = seconds_of(text[digits]);
        uint64_t count;
        if (!factor || factor >= larger || str_parse_u64(number, 1, NUMBER_MAX, &count) < 0)
            return -1;
        *seconds += count * factor;
        larger = factor;
        text += digits + 1;
    }
    return 0;
}
