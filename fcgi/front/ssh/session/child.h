/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The command line for users (`sandlot`), run as a process for each thing that a session does: it
 * speaks the API and the data plane, with the rights of the key that signed in and no others.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buffer.h"
#include "base/error.h"

#define CHILD_WORDS_MAX 64

/* What each of them is called with. */
struct child_setting {
    char *url, *ca_file; /* ca_file NULL: those of the system */
    char *key;           /* wiped at its end */
    /* Of the sandbox that was made just now; NULL: each asks for one. The token is wiped. */
    char *session_url, *session_token;
    int64_t session_until_ms; /* monotonic */
};

struct child_call {
    const char *words[CHILD_WORDS_MAX]; /* behind the program's name, NULL-terminated */
    size_t count;
    const char *environment; /* for the sandbox: NAME=VALUE, each ended by NUL; NULL: none */
    size_t environment_size;
    bool terminal;
    int cols, rows;
    const char *terminal_kind;
};
void child_word(struct child_call *call, const char *word);

/* A process and our ends of its streams, which do not block; -1: none. With a terminal in and out
 * are the same. */
struct child {
    pid_t pid; /* 0: none */
    int in, out, err;
};

int child_start(const struct child_setting *setting, const struct child_call *call,
                struct child *child, struct error **err);
void child_close_input(struct child *child);
void child_close(struct child *child); /* the streams */
void child_resize(const struct child *child, int cols, int rows);

/* Run to its end, at most so long. Output and complaint are the caller's buffers. */
int child_run(const struct child_setting *setting, const struct child_call *call, int limit_s,
              struct buffer *output, struct buffer *complaint, int *exit_code, struct error **err);
