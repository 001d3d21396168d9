/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counters of the programs of this machine, in memory that they share through a file on a tmpfs.
 * Counting is an atomic addition. Each program can write all numbers. A new file starts at zero.
 * The first count creates a series; there is room for SERIES_MAX, and further series are not
 * counted. A process that has not opened the file counts nothing.
 */
#pragma once

#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"

enum counter {
#define COUNTER(symbol, ...)   COUNT_##symbol,
#define HISTOGRAM(symbol, ...) COUNT_##symbol,
#include "base/counters.def"
#undef COUNTER
#undef HISTOGRAM
    COUNTER_COUNT
};

#define COUNTER_LABELS 2 /* of one counter, at most */

/* Map the file in dir. Errors: ERR_CONFIG. */
int counters_open(const char *dir, struct error **err);

/* Count one. labels: values for its label names, in their order; words of letters, digits and
 * "_.-", others are written as "_". */
void counter_add(enum counter counter, const char *const labels[COUNTER_LABELS]);
#define COUNT(counter, ...) counter_add(counter, (const char *const[COUNTER_LABELS]){__VA_ARGS__})

/* Count a value in a histogram. */
void counter_observe(enum counter counter, int64_t duration_us,
                     const char *const labels[COUNTER_LABELS]);
#define OBSERVE(counter, duration_us, ...) \
    counter_observe(counter, duration_us, (const char *const[COUNTER_LABELS]){__VA_ARGS__})

/* Append all series. The format is OpenMetrics 1.0 (https://github.com/prometheus/OpenMetrics,
 * "Text format"), without its last line. */
void counters_format(struct buffer *out);
