/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/json_make.h"

#include "base/clock.h"

json_t *time_to_json(int64_t at_ms)
{
    char text[CLOCK_ISO8601_SIZE];
    return at_ms ? json_string(clock_format_iso8601(at_ms, text)) : json_null();
}
