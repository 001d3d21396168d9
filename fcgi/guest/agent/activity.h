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

#include <stdbool.h>
#include <stdint.h>

/* The last readings. All times are monotonic; a time of 0 is never. */
struct activity {
    int64_t packets_ms, cpu_read_ms; /* of the readings */
    uint64_t packets, cpu_ms;
    int64_t busy_ms;       /* the end of the last busy time */
    int64_t held_until_ms; /* the end of the hold */
};

/* Packets of the interfaces but loopback, both directions, from the text of /proc/net/dev. */
uint64_t activity_packets(const char *text);

/* Count established TCP connections from this sandbox to other hosts, from the text of
 * /proc/net/tcp or tcp6. A connection to a port that listens here came from outside and does not
 * count. */
unsigned activity_connections(const char *text);

/* Take a reading of the packets. The first one is busy. */
void activity_note_packets(struct activity *activity, int64_t now_ms, uint64_t packets);

/* Take a reading of the processor time, which lxcfs computes for a millisecond: so it is due only
 * eight times in the timeout. The first one is busy. */
bool activity_cpu_is_due(const struct activity *activity, int64_t now_ms, uint64_t idle_s);
void activity_note_cpu(struct activity *activity, int64_t now_ms, uint64_t cpu_ms);

/* Hold the sandbox awake for so many seconds. A shorter hold leaves a longer one; 0 ends it. */
void activity_hold(struct activity *activity, int64_t now_ms, int64_t seconds);

/* Return for how many milliseconds the sandbox was idle before now_ms, after the readings. */
int64_t activity_idle_ms(struct activity *activity, int64_t now_ms);
