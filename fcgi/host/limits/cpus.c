/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "limits/cpus.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool has(const struct cpus *cpus, unsigned cpu)
{
    return cpus->words[cpu / 64] >> (cpu % 64) & 1;
}

static void add(struct cpus *cpus, unsigned cpu)
{
    cpus->words[cpu / 64] |= UINT64_C(1) << (cpu % 64);
}

/* Read a number at *text, and move *text behind it. */
static bool take_number(const char **text, unsigned *number)
{
    char *end;
    if (**text < '0' || **text > '9')
        return false;
    unsigned long value = strtoul(*text, &end, 10);
    *text = end;
    *number = (unsigned)value;
    return value < CPUS_MAX;
}

static bool take_range(const char **text, struct cpus *cpus)
{
    unsigned first, last;
    if (!take_number(text, &first))
        return false;
    last = first;
    if (**text == '-') {
        ++*text;
        if (!take_number(text, &last) || last < first)
            return false;
    }
    for (unsigned cpu = first; cpu <= last; cpu++)
        add(cpus, cpu);
    return true;
}

int cpus_read(const char *text, struct cpus *cpus, struct error **err)
{
    const char *left = text;
    memset(cpus, 0, sizeof *cpus);
    while (*left) {
        if (!take_range(&left, cpus) || (*left && *left != ','))
            return error_set(err, ERR_INVALID_REQUEST,
                             "the kernel's list of processors has an unknown form");
        left += *left == ',';
    }
    return 0;
}

void cpus_write(const struct cpus *cpus, char text[CPUS_TEXT_SIZE])
{
    size_t length = 0;
    text[0] = '\0';
    for (unsigned cpu = 0; cpu < CPUS_MAX; cpu++)
        if (has(cpus, cpu))
            length += (size_t)snprintf(text + length, CPUS_TEXT_SIZE - length, "%s%u",
                                       length ? "," : "", cpu);
}

unsigned cpus_count(const struct cpus *cpus)
{
    unsigned count = 0;
    for (size_t i = 0; i < CPUS_MAX / 64; i++)
        count += (unsigned)__builtin_popcountll(cpus->words[i]);
    return count;
}

void cpus_choose(struct cpus *own, const struct cpus *there, unsigned wanted, unsigned from)
{
    struct cpus chosen = {.words = {0}};
    unsigned count = 0;
    for (unsigned cpu = 0; cpu < CPUS_MAX && count < wanted; cpu++)
        if (has(own, cpu) && has(there, cpu)) {
            add(&chosen, cpu);
            count++;
        }
    for (unsigned i = 0; i < CPUS_MAX && count < wanted; i++) {
        unsigned cpu = (from + i) % CPUS_MAX;
        if (has(there, cpu) && !has(&chosen, cpu)) {
            add(&chosen, cpu);
            count++;
        }
    }
    *own = chosen;
}
