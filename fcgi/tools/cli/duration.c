/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/duration.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"

#define NUMBER_MAX 100000000

int duration_parse(const char *text, uint64_t *seconds)
{
    static const struct {
        char unit;
        unsigned seconds;
    } units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};
    size_t digits = strspn(text, "0123456789");
    autofree char *number = xstrndup(text, digits);
    unsigned factor = text[digits] ? 0 : 1;
    for (size_t i = 0; i < ARRAY_SIZE(units); i++)
        if (text[digits] == units[i].unit && !text[digits + 1])
            factor = units[i].seconds;
    if (!factor || str_parse_u64(number, 1, NUMBER_MAX, seconds) < 0)
        return -1;
    *seconds *= factor;
    return 0;
}

int duration_set(json_t *body, const char *member, const char *text, struct error **err)
{
    uint64_t seconds;
    if (!text)
        return 0;
    if (duration_parse(text, &seconds) < 0)
        return cli_misuse(err, "'%s' is not a duration such as 300, 30m, 2h or 1d", text);
    json_object_set_new(body, member, json_integer((json_int_t)seconds));
    return 0;
}
