/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/counters.h"

#include <ctype.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/shared_file.h"

/* In the name of the file: another layout is another file. */
#define LAYOUT      "counters-1"
#define SERIES_MAX  2048
#define PROBES_MAX  64
#define LABELS_SIZE 120
#define US_PER_S    1000000.0

static const struct {
    const char *name, *help;
    bool is_histogram;
    const char *labels[COUNTER_LABELS];
} counters[COUNTER_COUNT] = {
#define COUNTER(symbol, name, help, ...)   {name, help, false, {__VA_ARGS__}},
#define HISTOGRAM(symbol, name, help, ...) {name, help, true, {__VA_ARGS__}},
#include "base/counters.def"
#undef COUNTER
#undef HISTOGRAM
};

/* Upper ends of the buckets; the last one has none. */
static const int64_t bounds_us[] = {1000,   2500,   5000,    10000,   25000,   50000,    100000,
                                    250000, 500000, 1000000, 2500000, 5000000, 10000000, 30000000};
#define BUCKETS (ARRAY_SIZE(bounds_us) + 1)

enum series_state { SERIES_FREE, SERIES_BEING_MADE, SERIES_READY };

/* Of a counter the first bucket is its value. */
struct series {
    _Atomic unsigned state;
    unsigned counter;
    char labels[LABELS_SIZE]; /* kind="pause",outcome="done" */
    _Atomic uint64_t buckets[BUCKETS];
    _Atomic uint64_t sum_us;
};

static struct series *table;

int counters_open(const char *dir, struct error **err)
{
    void *map;
    autofree char *path = xasprintf("%s/%s", dir, LAYOUT);
    if (shared_file_map(path, SERIES_MAX * sizeof *table, NULL, &map, err) < 0)
        return -1;
    table = map;
    return 0;
}

/* --- counting --- */

static size_t append(char text[LABELS_SIZE], size_t size, const char *more)
{
    while (*more && size < LABELS_SIZE - 2)
        text[size++] = *more++;
    return size;
}

static bool may_stand(unsigned char c)
{
    return isalnum(c) || c == '_' || c == '.' || c == '-';
}

static void write_labels(enum counter counter, const char *const values[COUNTER_LABELS],
                         char text[LABELS_SIZE])
{
    size_t size = 0;
    for (size_t i = 0; i < COUNTER_LABELS && counters[counter].labels[i]; i++) {
        const char *value = values[i] ? values[i] : "";
        size = append(text, size, i ? "," : "");
        size = append(text, size, counters[counter].labels[i]);
        size = append(text, size, "=\"");
        for (; *value && size < LABELS_SIZE - 2; value++)
            text[size++] = may_stand((unsigned char)*value) ? *value : '_';
        text[size++] = '"';
    }
    text[size] = '\0';
}

static size_t place_of(enum counter counter, const char *labels)
{
    uint32_t hash = 2166136261u ^ (uint32_t)counter; /* FNV-1a */
    for (; *labels; labels++)
        hash = (hash ^ (unsigned char)*labels) * 16777619u;
    return hash % SERIES_MAX;
}

/* Take a free place. False: another process was faster. */
static bool make(struct series *series, enum counter counter, const char *labels)
{
    unsigned expected = SERIES_FREE;
    if (!atomic_compare_exchange_strong(&series->state, &expected, SERIES_BEING_MADE))
        return false;
    series->counter = counter;
    snprintf(series->labels, sizeof series->labels, "%s", labels);
    atomic_store(&series->state, SERIES_READY);
    return true;
}

/* NULL: there is no room. A series that another process creates at this moment is not found; there
 * are two then, and counters_write() adds them. */
static struct series *find(enum counter counter, const char *const values[COUNTER_LABELS])
{
    char labels[LABELS_SIZE];
    if (!table)
        return NULL;
    write_labels(counter, values, labels);
    size_t at = place_of(counter, labels);
    for (unsigned i = 0; i < PROBES_MAX; i++, at = (at + 1) % SERIES_MAX) {
        struct series *series = &table[at];
        unsigned state = atomic_load(&series->state);
        if (state == SERIES_FREE && make(series, counter, labels))
            return series;
        if (state == SERIES_READY && series->counter == counter && !strcmp(series->labels, labels))
            return series;
    }
    return NULL;
}

void counter_add(enum counter counter, const char *const labels[COUNTER_LABELS])
{
    struct series *series = find(counter, labels);
    if (series)
        atomic_fetch_add_explicit(&series->buckets[0], 1, memory_order_relaxed);
}

void counter_observe(enum counter counter, int64_t duration_us,
                     const char *const labels[COUNTER_LABELS])
{
    struct series *series = find(counter, labels);
    size_t bucket = 0;
    if (!series)
        return;
    while (bucket < ARRAY_SIZE(bounds_us) && duration_us > bounds_us[bucket])
        bucket++;
    atomic_fetch_add_explicit(&series->buckets[bucket], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&series->sum_us, (uint64_t)(duration_us > 0 ? duration_us : 0),
                              memory_order_relaxed);
}

/* --- telling --- */

struct total {
    unsigned counter;
    const char *labels;
    uint64_t buckets[BUCKETS], sum_us;
};

static int by_name(const void *a, const void *b)
{
    const struct total *x = a, *y = b;
    if (x->counter != y->counter)
        return x->counter < y->counter ? -1 : 1;
    return strcmp(x->labels, y->labels);
}

/* Sorted, with duplicates added. */
static size_t read_totals(struct total *totals)
{
    size_t count = 0, kept = 0;
    for (size_t i = 0; i < SERIES_MAX; i++) {
        struct series *series = &table[i];
        if (atomic_load(&series->state) != SERIES_READY || series->counter >= COUNTER_COUNT)
            continue;
        struct total *total = &totals[count++];
        *total = (struct total){.counter = series->counter, .labels = series->labels};
        for (size_t bucket = 0; bucket < BUCKETS; bucket++)
            total->buckets[bucket] = atomic_load(&series->buckets[bucket]);
        total->sum_us = atomic_load(&series->sum_us);
    }
    qsort(totals, count, sizeof *totals, by_name);
    for (size_t i = 0; i < count; i++) {
        if (kept && by_name(&totals[kept - 1], &totals[i]) == 0) {
            for (size_t bucket = 0; bucket < BUCKETS; bucket++)
                totals[kept - 1].buckets[bucket] += totals[i].buckets[bucket];
            totals[kept - 1].sum_us += totals[i].sum_us;
        } else {
            totals[kept++] = totals[i];
        }
    }
    return kept;
}

static void write_head(unsigned counter, struct buffer *out)
{
    buffer_printf(out, "# TYPE %s %s\n# HELP %s %s\n", counters[counter].name,
                  counters[counter].is_histogram ? "histogram" : "counter", counters[counter].name,
                  counters[counter].help);
}

static void write_histogram(const struct total *total, struct buffer *out)
{
    const char *name = counters[total->counter].name;
    uint64_t count = 0;
    for (size_t i = 0; i < BUCKETS; i++) {
        count += total->buckets[i];
        if (i < ARRAY_SIZE(bounds_us))
            buffer_printf(out, "%s_bucket{%s,le=\"%g\"} %llu\n", name, total->labels,
                          (double)bounds_us[i] / US_PER_S, (unsigned long long)count);
    }
    buffer_printf(out, "%s_bucket{%s,le=\"+Inf\"} %llu\n%s_count{%s} %llu\n%s_sum{%s} %.6f\n", name,
                  total->labels, (unsigned long long)count, name, total->labels,
                  (unsigned long long)count, name, total->labels, (double)total->sum_us / US_PER_S);
}

void counters_format(struct buffer *out)
{
    if (!table)
        return;
    autofree struct total *totals = xcalloc(SERIES_MAX, sizeof *totals);
    size_t count = read_totals(totals);
    for (size_t i = 0; i < count; i++) {
        const struct total *total = &totals[i];
        if (!i || totals[i - 1].counter != total->counter)
            write_head(total->counter, out);
        if (counters[total->counter].is_histogram)
            write_histogram(total, out);
        else
            buffer_printf(out, "%s_total{%s} %llu\n", counters[total->counter].name, total->labels,
                          (unsigned long long)total->buckets[0]);
    }
}
