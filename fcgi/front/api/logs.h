/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The output of a sandbox's processes. The agent of a running sandbox keeps it; for a stopped
 * sandbox the database has the newest part. */
#pragma once

#include "api/api.h"
#include "base/deadline.h"

#define LOGS_LIMIT_MAX 1000

struct logs_query {
    uint64_t after;         /* the position of an entry; 0: from the end of the log */
    unsigned limit;         /* 1 to LOGS_LIMIT_MAX */
    uint64_t pid;           /* 0: all */
    const char *service;    /* the name of a service, valid; NULL: all processes */
    int64_t from_ms, to_ms; /* to_ms 0: no end */
    bool newest_first;
};

/* A checked entry; its texts belong to the answer. */
struct log_entry {
    json_int_t position, at_ms, pid, offset;
    const char *command, *tag, *trace_id /* NULL: absent */, *stream, *data, *encoding;
};

/* Read the entries after `after`, in the requested order. *logs is a new reference for
 * logs_entry(). until: deadline for the agent's answer. Errors: ERR_SANDBOX_NOT_RUNNING (a paused
 * sandbox whose logs were not kept), ERR_SANDBOX_BUSY (the sandbox changes its state), those of
 * agent_logs(). */
int logs_read(struct api *api, const struct logs_query *query, struct deadline until, json_t **logs,
              struct error **err);

/* Read one entry of an answer. Errors: ERR_RUNTIME_FAILED (the agent's answer is malformed). */
int logs_entry(const json_t *logs, size_t index, struct log_entry *entry, struct error **err);
