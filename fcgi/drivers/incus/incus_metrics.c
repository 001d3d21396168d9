/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "incus/incus_metrics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "incus/incus_internal.h"

/* 5 KiB an instance. */
#define METRICS_MAX    ((size_t)64 << 20)

#define MODE_IDLE      "mode=\"idle\""
#define MODE_IOWAIT    "mode=\"iowait\""
#define LABEL_NAME     "name=\""
#define LABEL_VM       "type=\"virtual-machine\""

#define NAME_MAX_BYTES (sizeof(((struct incus_usage *)0)->name) - 1)

enum number { NUMBER_CPU_S, NUMBER_MEMORY, NUMBER_FREE, NUMBER_CACHED, NUMBER_KILLS };

static const struct {
    const char *metric;
    enum number number;
} known[] = {
    {"incus_cpu_seconds_total{", NUMBER_CPU_S},
    {"incus_memory_MemTotal_bytes{", NUMBER_MEMORY},
    {"incus_memory_MemFree_bytes{", NUMBER_FREE},
    {"incus_memory_Cached_bytes{", NUMBER_CACHED},
    {"incus_memory_OOM_kills_total{", NUMBER_KILLS},
};

/* One number of one instance; the text has them ordered by metric. */
struct reading {
    char name[NAME_MAX_BYTES + 1];
    bool virtual_machine;
    enum number number;
    double value;
};

static bool find_number(const char *line, enum number *number)
{
    for (size_t i = 0; i < ARRAY_SIZE(known); i++)
        if (str_starts_with(line, known[i].metric)) {
            *number = known[i].number;
            return true;
        }
    return false;
}

/* A line that belongs to a known metric, without its end of line. */
static bool read_line(char *line, struct reading *reading)
{
    char *labels = strchr(line, '{');
    char *end = strrchr(line, '}');
    if (!labels || !end || !find_number(line, &reading->number))
        return false;
    *end = '\0';
    const char *name = strstr(labels, LABEL_NAME);
    if (!name || strstr(labels, MODE_IDLE) || strstr(labels, MODE_IOWAIT))
        return false;
    name += strlen(LABEL_NAME);
    size_t length = strcspn(name, "\"");
    if (!length || length > NAME_MAX_BYTES)
        return false;
    char *rest;
    reading->value = strtod(end + 1, &rest);
    if (rest == end + 1 || !isfinite(reading->value) || reading->value < 0 || reading->value > 1e18)
        return false;
    memcpy(reading->name, name, length);
    reading->name[length] = '\0';
    reading->virtual_machine = strstr(labels, LABEL_VM);
    return true;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct reading *)a)->name, ((const struct reading *)b)->name);
}

static void take(struct incus_usage *usage, const struct reading *reading)
{
    switch (reading->number) {
    case NUMBER_CPU_S: /* one of several: processors and modes */
        usage->cpu_ms += (uint64_t)(reading->value * 1000);
        usage->has_cpu = true;
        break;
    case NUMBER_MEMORY:
        usage->memory_bytes = (uint64_t)reading->value;
        usage->has_memory = true;
        break;
    case NUMBER_FREE:
        usage->free_bytes = (uint64_t)reading->value;
        break;
    case NUMBER_CACHED:
        usage->cached_bytes = (uint64_t)reading->value;
        break;
    case NUMBER_KILLS:
        usage->memory_kills = (uint64_t)reading->value;
        break;
    }
}

static void gather(const struct reading *readings, size_t reading_count, struct incus_usage **list,
                   size_t *count)
{
    size_t capacity = 0;
    *list = NULL;
    *count = 0;
    for (size_t i = 0; i < reading_count; i++) {
        if (!i || strcmp(readings[i].name, readings[i - 1].name) != 0) {
            if (*count == capacity) {
                capacity = capacity ? 2 * capacity : 64;
                *list = xreallocarray(*list, capacity, sizeof **list);
            }
            struct incus_usage *usage = &(*list)[(*count)++];
            *usage = (struct incus_usage){.virtual_machine = readings[i].virtual_machine};
            memcpy(usage->name, readings[i].name, sizeof usage->name);
        }
        take(&(*list)[*count - 1], &readings[i]);
    }
}

void incus_metrics_parse(const char *text, struct incus_usage **list, size_t *count)
{
    autofree struct reading *readings = NULL;
    size_t used = 0, capacity = 0;
    while (*text) {
        size_t length = strcspn(text, "\n");
        enum number ignored;
        if (find_number(text, &ignored)) {
            autofree char *line = xstrndup(text, length);
            if (used == capacity) {
                capacity = capacity ? 2 * capacity : 256;
                readings = xreallocarray(readings, capacity, sizeof *readings);
            }
            used += read_line(line, &readings[used]);
        }
        text += length + (text[length] == '\n');
    }
    if (used)
        qsort(readings, used, sizeof *readings, by_name);
    gather(readings, used, list, count);
}

int incus_metrics_get(struct incus *incus, struct incus_usage **list, size_t *count,
                      struct error **err)
{
    const char *text;
    if (incus_get_text(incus, "/1.0/metrics", METRICS_MAX, &text, err) < 0)
        return -1;
    incus_metrics_parse(text, list, count);
    return 0;
}
