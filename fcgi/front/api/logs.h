/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the processes of a sandbox wrote: its agent keeps it, and of one that is stopped the
 * database keeps the newest. */
#pragma once

#include "api/api.h"
#include "base/deadline.h"

#define LOGS_LIMIT_MAX 1000

struct logs_query {
    uint64_t after;         /* the position of an entry; 0: from the end of the log */
    unsigned limit;         /* 1 to LOGS_LIMIT_MAX */
    uint64_t pid;           /* 0: all */
    int64_t from_ms, to_ms; /* to_ms 0: no end */
    bool newest_first;
};

/* A checked entry; texts belong to the answer that it was read from. */
struct log_entry {
    json_int_t position, at_ms, pid, offset;
    const char *command, *tag, *trace_id /* NULL: none */, *stream, *data, *encoding;
};

/* The entries behind `after`, in the order asked for; *logs is a new reference, to be read with
 * logs_entry(). until: for the agent's answer. Errors: ERR_SANDBOX_NOT_RUNNING (of one that is
 * stopped: nothing was kept), and those of agent_logs(). */
int logs_read(struct api *api, const struct logs_query *query, struct deadline until, json_t **logs,
              struct error **err);

/* Errors: ERR_RUNTIME_FAILED (the agent's answer is not as it should be). */
int logs_entry(const json_t *logs, size_t index, struct log_entry *entry, struct error **err);
