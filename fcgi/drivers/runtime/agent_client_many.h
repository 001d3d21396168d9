/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Check at once whether many agents answer (agent_client.h asks one agent at a time). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "http/link.h"

#define AGENT_MANY_KNOWS 200

struct agent_many;
struct agent_question; /* a question without an answer yet */

struct agent_many *agent_many_open(void);
/* Close the connections, after all questions are answered or dropped. */
void agent_many_close(struct agent_many *many);

#define AGENT_MANY_BODY_SIZE 256

/* Ask the agent at an address (IPv4, host byte order) whether it knows its secret, and wait for at
 * most wait_ms. With idle_s, also ask how long its sandbox was idle (agent/activity.h), with
 * connections counted after idle_s. link: to its host; NULL: direct. The question takes the link.
 * The question belongs to `many` until it is answered or dropped. */
struct agent_question *agent_many_ask(struct agent_many *many, struct http_link *link,
                                      uint32_t address, const char *secret, uint32_t idle_s,
                                      unsigned wait_ms, void *context);
void agent_many_drop(struct agent_many *many, struct agent_question *question);

struct agent_said {
    void *context; /* of agent_many_ask() */
    /* AGENT_MANY_KNOWS: it knows its secret; 0: no answer; any other: it has restarted and
     * knows none */
    long status;
    char body[AGENT_MANY_BODY_SIZE]; /* of the answer; "" when it was longer */
    bool asked; /* the question was sent to the agent's host, or the agent is on this host */
};

/* Send and receive without waiting. */
void agent_many_go_on(struct agent_many *many);
/* Take the next answer, or the end of the wait for one, and free the question. Returns false when
 * all questions still wait. */
bool agent_many_take(struct agent_many *many, struct agent_said *said);
/* Wait until there is something to do, or fd can be read; at most wait_ms. */
void agent_many_wait(struct agent_many *many, int fd, unsigned wait_ms);
