/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/cpus.h"

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

void cpus_use(const struct cpus *cpus, struct cpu_uses *uses, int change)
{
    for (unsigned cpu = 0; cpu < CPUS_MAX; cpu++)
        if (has(cpus, cpu))
            uses->of[cpu] += change;
}

/* Find the processor that the fewest others use; of several, one of its own, else the first. */
static unsigned best_of(const struct cpus *left, const struct cpus *own,
                        const struct cpu_uses *uses)
{
    unsigned best = CPUS_MAX;
    for (unsigned cpu = 0; cpu < CPUS_MAX; cpu++)
        if (has(left, cpu) &&
            (best == CPUS_MAX || uses->of[cpu] < uses->of[best] ||
             (uses->of[cpu] == uses->of[best] && has(own, cpu) && !has(own, best))))
            best = cpu;
    return best;
}

void cpus_choose(struct cpus *own, const struct cpus *there, unsigned wanted,
                 const struct cpu_uses *uses)
{
    struct cpus chosen = {.words = {0}}, left = *there;
    for (unsigned count = cpus_count(there); count && wanted; count--, wanted--) {
        unsigned cpu = best_of(&left, own, uses);
        add(&chosen, cpu);
        left.words[cpu / 64] &= ~(UINT64_C(1) << (cpu % 64));
    }
    *own = chosen;
}
