/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Run the command line for users (`sandlot`) as a process for each task of a session. It uses the
 * API and the data plane with the rights of the key that signed in, and no other rights.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buffer.h"
#include "base/error.h"

#define CHILD_WORDS_MAX 64

/* Settings for all calls of a session. */
struct child_setting {
    char *url, *ca_file; /* NULL: the system's */
    char *key;           /* wiped when it is freed */
    /* The data-plane session of the new sandbox. NULL: each call asks for one. The token is
     * wiped. */
    char *session_url, *session_token;
    int64_t session_until_ms; /* monotonic */
};

struct child_call {
    const char *words[CHILD_WORDS_MAX]; /* arguments, NULL-terminated */
    size_t count;
    const char *environment; /* for the sandbox: NAME=VALUE, each ended by NUL; NULL: none */
    size_t environment_size;
    bool terminal;
    int cols, rows;
    const char *terminal_kind;
};
/* Append an argument, borrowed. An argument that does not fit is dropped. */
void child_word(struct child_call *call, const char *word);

/* A process and this side's ends of its streams; -1: closed. Reads and writes do not block. With a
 * terminal, in and out are the same descriptor. */
struct child {
    pid_t pid; /* 0: none */
    int in, out, err;
};

/* Start a process. The caller reaps it and calls child_close(). Errors: ERR_INTERNAL. */
int child_start(const struct child_setting *setting, const struct child_call *call,
                struct child *child, struct error **err);
/* Close the input. A terminal's input stays open. */
void child_close_input(struct child *child);
void child_close(struct child *child); /* closes the streams */
void child_resize(const struct child *child, int cols, int rows);

/* Run a call until it ends, limit_s at most. The caller owns the buffers output and complaint.
 * *exit_code: -1 when a signal or the limit has ended it. */
int child_run(const struct child_setting *setting, const struct child_call *call, int limit_s,
              struct buffer *output, struct buffer *complaint, int *exit_code, struct error **err);
