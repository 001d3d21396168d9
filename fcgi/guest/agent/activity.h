/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Activity: for how long the sandbox did nothing, measured from one question to the next. A
 * sandbox is busy between two questions when
 *
 *   - its interfaces carried more packets than the questions themselves, or
 *   - its processes used more than 2 % of one processor, or
 *   - a process of the sandbox asked for a hold (POST /hold) that has not ended.
 *
 * The answer is the sandbox's own word: one that lies only pays for itself.
 */
#pragma once

#include <stdint.h>

/* The readings of the last question. */
struct activity {
    int64_t read_ms;       /* monotonic; 0: never read */
    int64_t busy_ms;       /* monotonic: the end of the last busy time */
    int64_t held_until_ms; /* monotonic; 0: no hold */
    uint64_t packets, cpu_ms;
};

/* Packets of the interfaces but loopback, both directions, from the text of /proc/net/dev. */
uint64_t activity_packets(const char *text);

/* Established TCP connections from this sandbox to other hosts, from the text of /proc/net/tcp or
 * tcp6. A connection to a port that listens here came from outside and does not count. */
unsigned activity_connections(const char *text);

/* Take a reading and return for how many milliseconds the sandbox was idle before now_ms. The
 * first reading is busy. */
int64_t activity_note(struct activity *activity, int64_t now_ms, uint64_t packets, uint64_t cpu_ms);
