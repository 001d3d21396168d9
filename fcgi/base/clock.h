/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Wall-clock times are milliseconds since 1970-01-01 UTC in an int64_t, named …_at_ms; durations
 * are named …_ms or …_s. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <time.h>

int64_t clock_now_ms(void);       /* wall clock */
int64_t clock_in_ms(uint64_t ms); /* wall clock, that much later */
int64_t clock_in_s(uint64_t s);
int64_t clock_monotonic_ms(void); /* for durations only */
int64_t clock_monotonic_us(void);

void clock_sleep_ms(unsigned ms);

#define CLOCK_ISO8601_SIZE sizeof("2026-11-21T10:05:00.000Z")

/* Write RFC 3339 in UTC with milliseconds and a Z. The year must be from 0 to 9999. Returns out. */
const char *clock_format_iso8601(int64_t at_ms, char out[CLOCK_ISO8601_SIZE]);

/* Return the time of a file, which can be any, in milliseconds. A time outside the years 0 to 9999
 * becomes the nearest one inside. */
int64_t clock_of_timespec(const struct timespec *at);

/* Parse an RFC 3339 timestamp with "Z" or a numeric offset, in UTC from 1970 to 9999. Returns 0, or
 * -1 for any other text. */
int clock_parse_iso8601(const char *text, int64_t *at_ms);
