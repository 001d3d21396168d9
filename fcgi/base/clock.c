/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/clock.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define DAY_S 86400
/* RFC 3339 has four digits for a year. */
#define YEAR_0_S     (-62167219200)
#define YEAR_10000_S 253402300800

static int64_t read_clock_us(clockid_t id)
{
    struct timespec now;
    clock_gettime(id, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t clock_now_ms(void)
{
    return read_clock_us(CLOCK_REALTIME) / 1000;
}

int64_t clock_in_ms(uint64_t ms)
{
    return clock_now_ms() + (int64_t)ms;
}

int64_t clock_in_s(uint64_t s)
{
    return clock_in_ms(s * 1000);
}

int64_t clock_monotonic_ms(void)
{
    return read_clock_us(CLOCK_MONOTONIC) / 1000;
}

int64_t clock_monotonic_us(void)
{
    return read_clock_us(CLOCK_MONOTONIC);
}

void clock_sleep_ms(unsigned ms)
{
    struct timespec wait = {ms / 1000, (long)(ms % 1000) * 1000000};
    nanosleep(&wait, NULL);
}

static char *put_digits(char *at, int value, int count, char behind)
{
    for (int i = count - 1; i >= 0; i--, value /= 10)
        at[i] = (char)('0' + value % 10);
    at[count] = behind;
    return at + count + 1;
}

const char *clock_format_iso8601(int64_t at_ms, char out[CLOCK_ISO8601_SIZE])
{
    int ms = (int)(at_ms % 1000), borrowed_s = ms < 0; /* before 1970 */
    time_t seconds = at_ms / 1000 - borrowed_s;
    struct tm tm;
    gmtime_r(&seconds, &tm);
    char *at = put_digits(out, tm.tm_year + 1900, 4, '-');
    at = put_digits(at, tm.tm_mon + 1, 2, '-');
    at = put_digits(at, tm.tm_mday, 2, 'T');
    at = put_digits(at, tm.tm_hour, 2, ':');
    at = put_digits(at, tm.tm_min, 2, ':');
    at = put_digits(at, tm.tm_sec, 2, '.');
    at = put_digits(at, ms + 1000 * borrowed_s, 3, 'Z');
    *at = '\0';
    return out;
}

int64_t clock_of_timespec(const struct timespec *at)
{
    int64_t seconds = at->tv_sec;
    if (seconds < YEAR_0_S)
        seconds = YEAR_0_S;
    if (seconds >= YEAR_10000_S)
        seconds = YEAR_10000_S - 1;
    return seconds * 1000 + at->tv_nsec / 1000000;
}

/* sscanf() lets blanks and signs pass where a digit must be. form: 'd' is a digit, 'c' anything. */
static bool has_form(const char *text, const char *form)
{
    for (; *form; text++, form++)
        if (*form == 'd' ? *text < '0' || *text > '9' : *form == 'c' ? !*text : *text != *form)
            return false;
    return true;
}

/* Fraction of a second in ms; moves *text behind it. */
static int parse_fraction(const char **text)
{
    if (!has_form(*text, ".d"))
        return 0;
    int ms = 0, scale = 100;
    for (++*text; **text >= '0' && **text <= '9'; ++*text, scale /= 10)
        ms += (**text - '0') * scale;
    return ms;
}

static int parse_offset(const char *text, int *offset_s)
{
    if (strcmp(text, "Z") == 0 || strcmp(text, "z") == 0) {
        *offset_s = 0;
        return 0;
    }
    int hours, minutes;
    if ((text[0] != '+' && text[0] != '-') || !has_form(text + 1, "dd:dd") || text[6] ||
        sscanf(text + 1, "%2d:%2d", &hours, &minutes) != 2 || hours > 23 || minutes > 59)
        return -1;
    *offset_s = (hours * 60 + minutes) * 60 * (text[0] == '-' ? -1 : 1);
    return 0;
}

int clock_parse_iso8601(const char *text, int64_t *at_ms)
{
    struct tm tm = {0};
    int offset_s;
    char t;
    if (!has_form(text, "dddd-dd-ddcdd:dd:dd") ||
        sscanf(text, "%4d-%2d-%2d%c%2d:%2d:%2d", &tm.tm_year, &tm.tm_mon, &tm.tm_mday, &t,
               &tm.tm_hour, &tm.tm_min, &tm.tm_sec) != 7 ||
        (t != 'T' && t != 't'))
        return -1;
    if (tm.tm_mon < 1 || tm.tm_mon > 12 || tm.tm_mday < 1 || tm.tm_mday > 31 || tm.tm_hour > 23 ||
        tm.tm_min > 59 || tm.tm_sec > 60 || tm.tm_year < 1970)
        return -1;
    const char *rest = text + 19;
    int ms = parse_fraction(&rest);
    if (parse_offset(rest, &offset_s) < 0)
        return -1;
    tm.tm_year -= 1900;
    tm.tm_mon -= 1;
    int day = tm.tm_mday, leap_s = tm.tm_sec == 60;
    tm.tm_sec -= leap_s;
    int64_t seconds = (int64_t)timegm(&tm) - offset_s + leap_s;
    if (tm.tm_mday != day) /* 31 April became 1 May */
        return -1;
    if (seconds < 0 || seconds >= YEAR_10000_S) /* the offset leads out of the years */
        return -1;
    if (leap_s && seconds % DAY_S != 0) /* a leap second is the last one of a day */
        return -1;
    *at_ms = seconds * 1000 + ms;
    return 0;
}
