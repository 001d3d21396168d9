/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The recent output of processes: for reading after their end, and for clients whose connection
 * broke. One bound holds for all processes of the sandbox together; the oldest output makes room
 * for the newest.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "base/trace.h"

#define PROCESS_LOG_DEFAULT (1024 * 1024)
#define PROCESS_LOG_MAX     (64 * 1024 * 1024)

enum process_output_kind { PROCESS_STDOUT, PROCESS_STDERR, PROCESS_PTY, PROCESS_OUTPUT_KINDS };

/* The process that wrote; it stays as long as the process runs or the log has output from it. */
struct process_log_source {
    unsigned users;
    pid_t pid;
    char *command;                /* its beginning */
    char *tag;                    /* NULL: none */
    char trace_id[TRACE_ID_SIZE]; /* of the request that started it; "": none */
};

/* A piece of one output, with its time. */
struct process_log_entry {
    TAILQ_ENTRY(process_log_entry) link;
    struct process_log_source *source;
    uint64_t position; /* in the log: counts the entries from 1 */
    int64_t at_ms;     /* since 1970 */
    uint64_t offset;   /* of its first byte in that output */
    enum process_output_kind kind;
    size_t size;
    char data[];
};

TAILQ_HEAD(process_log_entries, process_log_entry);

struct process_log {
    struct process_log_entries entries; /* oldest first */
    size_t bytes, max;
    uint64_t last_position;
    bool sealed;          /* somebody has read the newest entry: nothing is added to it */
    uint64_t kills_noted; /* of group_counts_read() */
};

void process_log_init(struct process_log *log);

/* Set the most bytes of the log, with its overhead; 0: keep nothing. */
void process_log_set_max(struct process_log *log, size_t max);

/* Drop all output so far. Numbers of entries continue. */
void process_log_clear(struct process_log *log);

struct process_log_source *process_log_source_new(pid_t pid, const char *command, const char *tag);
void process_log_source_release(struct process_log_source *source);

/* Append a piece of an output; of one that is larger than the log, only its end. */
void process_log_append(struct process_log *log, struct process_log_source *source,
                        enum process_output_kind kind, uint64_t offset, const char *data,
                        size_t size);

/* Add a line that the kernel killed processes for want of memory, when there are such that no line
 * speaks of yet. It has the pid 1 and the command "kernel". */
void process_log_note_kills(struct process_log *log, uint64_t kills);

/* Return the first entry of an output that holds its byte at an offset or a later one; NULL:
 * none. */
const struct process_log_entry *process_log_find(const struct process_log *log,
                                                 const struct process_log_source *source,
                                                 enum process_output_kind kind, uint64_t offset);
