/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The processes that clients started. A process lives on without clients; each client that follows
 * it has a follower, which gets its output. All output goes through the log (process_log.h), from
 * which a follower can get missed output. In addition, a terminal with a tag keeps the end of its
 * unread output for the next follower. Output that a follower has not read stays in the pipe, so
 * the program waits and the agent's memory does not grow.
 *
 * A process has ended for its followers when the program has exited and its output is at an end.
 * Programs in the background may keep the output open. Then the process has ended PROCESS_GRACE_MS
 * after the exit, with the output until then. After a signal it has ended at once. The agent reads
 * the rest into the log, so that the background programs never wait and get no SIGPIPE.
 *
 * A program that exited stays a zombie until the end of its output, so that no other process gets
 * its pid. Then it is reaped, as is one that a signal ended. For half a minute, clients may still
 * ask how it ended.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "agent/common/rpc_error.h"
#include "agent/process/process_log.h"
#include "agent/process/process_reason.h"
#include "agent/process/process_spawn.h"
#include "base/buffer.h"
#include "base/loop.h"

#define PROCESSES_MAX 1024

/* How long the output of a program that has exited is waited for. */
#define PROCESS_GRACE_MS 200

/* Most bytes of the descriptions of all processes (for List) together. */
#define PROCESS_CONFIG_BYTES_MAX (16 * 1024 * 1024)

/* Output that is kept for the next follower of a terminal with a tag and without a follower. */
#define PROCESS_MISSED_MAX (16 * 1024)

struct agent;
struct process;
struct process_follower;
struct request;
struct stream;

/* Callbacks of a follower. It may leave in each callback except has_room(). */
struct process_follower_events {
    /* False: nothing more is read until process_io_resume(). Each follower is asked, so that it
     * knows that it is waited for. NULL: always room. */
    bool (*has_room)(struct process_follower *follower);
    /* offset: how many bytes of this output came before. May be NULL. */
    void (*output)(struct process_follower *follower, enum process_output_kind kind,
                   uint64_t offset, const char *data, size_t size);
    /* The process has ended, and the follower is of none any more. */
    void (*ended)(struct process_follower *follower, const struct process_end *end);
    /* Another client has the process to itself from now on; the follower is of none any more.
     * Without it the follower stays. */
    void (*displaced)(struct process_follower *follower);
};

struct process_follower {
    LIST_ENTRY(process_follower) link;
    struct process *process; /* NULL once the process has ended, or the follower has left */
    const struct process_follower_events *events;
};

struct process_output {
    struct process *process;
    struct loop_source source; /* fd -1: at its end */
    enum process_output_kind kind;
    uint64_t offset; /* bytes that were read */
    size_t piece_max;
    bool last_gasp; /* no end of file is awaited: it ends when bytes_left are read */
    size_t bytes_left;
    size_t owed; /* after the grace: bytes that followers still get */
};

/* Learn that a request's bytes are written (error NULL) or never will be. */
typedef void process_written(struct request *request, const struct rpc_error *error);

/* Bytes on their way to standard input. */
struct process_input {
    STAILQ_ENTRY(process_input) link;
    struct request *request; /* waits for them to be written; NULL when it went away */
    process_written *written;
    char *data;
    size_t size, offset;
};

struct process {
    TAILQ_ENTRY(process) link; /* in the table's live or ended list */
    struct agent *agent;
    pid_t pid;
    char *tag;
    struct process_log_source *log_source;
    json_t *config; /* as in List; NULL after its end */
    size_t config_size;
    bool has_pty, input_open, input_closing;
    bool exited;     /* a zombie: its output may continue */
    bool hurried;    /* was ordered to end: do not wait for outputs that its children still hold
                      * open */
    bool grace_over; /* it has ended when no output is owed any more */
    bool settled;    /* has ended for its followers */
    struct process_end end;
    struct group_counts before; /* of the sandbox, when it started */
    struct loop_timer limit, grace;
    struct process_output output, error;
    struct loop_source input;
    STAILQ_HEAD(, process_input) inputs;
    size_t input_bytes;
    bool input_is_wide; /* its pipe was enlarged */
    LIST_HEAD(, process_follower) followers;
    struct buffer missed; /* unread output */
    struct loop_timer linger;
};

TAILQ_HEAD(process_list, process);

struct process_table {
    struct process_list live, ended;
    size_t live_count, ended_count, config_bytes;
    struct process_log log;
};

void process_table_init(struct process_table *table);

/* Start a program. config (its description, taken over also on failure) and tag (NULL: none) are
 * for List. Nothing of its output is read before the next turn of the loop. */
int process_start(struct agent *agent, const struct process_spec *spec, json_t *config,
                  const char *tag, struct process **process, struct rpc_error *error);

/* Handle the ends of programs. Call this after each SIGCHLD. */
void process_reap(struct agent *agent);

/* Find a live process by pid or, when tag is not empty, by tag; NULL without one. With ended, also
 * search recently ended processes. */
struct process *process_find(struct process_table *table, pid_t pid, const char *tag, bool ended);

/* Send a follower everything from now on; it leaves by itself, or when the process has ended. Not
 * of one that is over. */
void process_follow(struct process *process, struct process_follower *follower);

/* Return whether the process has ended for its followers. */
bool process_is_over(const struct process *process);
void process_unfollow(struct process_follower *follower);

/* End all followers that have the callback displaced(). */
void process_displace(struct process *process);

/* The positions from which a follower continues in each output, counted in bytes from its
 * beginning. */
struct process_resume {
    uint64_t offsets[PROCESS_OUTPUT_KINDS];
};

/* Check whether all that a process has written since then is kept. RPC_INVALID_ARGUMENT: it has not
 * written as much; RPC_OUT_OF_RANGE: it is not kept any more. */
int process_check_resume(const struct process *process, const struct process_resume *resume,
                         struct rpc_error *error);

/* Send a stream of the Connect protocol everything from now on, or, with resume (NULL: without),
 * all since then. An ended process is reported at once. */
void process_follow_stream(struct process *process, struct stream *stream,
                           const struct process_resume *resume);

/* For the streams of followers. */
extern const struct stream_events process_stream_events;

/* Send a signal: SIGKILL to its whole session; SIGTERM, SIGINT, SIGQUIT and SIGHUP to its process
 * group, as a terminal does; any other to the program alone. */
int process_signal(struct process *process, int number, struct rpc_error *error);

/* Kill a process and all others of its session. */
void process_kill(struct process *process);

/* Kill a process in the same way if it has not exited after limit_ms, even without a client. */
void process_limit(struct process *process, int64_t limit_ms);

/* Queue bytes for standard input or the terminal (data is taken over). Returns 0 when they are
 * written, and 1 when the caller must suspend the request until written() is called for it. Errors:
 * RPC_INTERNAL (the input is closed), RPC_RESOURCE_EXHAUSTED (too many bytes wait). */
int process_write(struct process *process, struct request *request, process_written *written,
                  char *data, size_t size, struct rpc_error *error);

/* Forget the request of a waiting process_write(), which ends before it could be answered. */
void process_forget_writer(struct process *process, const struct request *request);

/* Close standard input after its queue has been written. */
int process_close_input(struct process *process, struct rpc_error *error);

/* Set the size of the terminal. A side of 0 keeps its present size. */
int process_resize(struct process *process, unsigned short cols, unsigned short rows,
                   struct rpc_error *error);
