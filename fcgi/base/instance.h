/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The protocol of calls into an instance: the edge and the control plane call the agent of a
 * sandbox and the volume server.
 */
#pragma once

/* The agent: its HTTP server, and the relay to the sandbox's own servers. */
#define AGENT_PORT          49983
#define AGENT_RELAY_PORT    49984
#define AGENT_SECRET_HEADER "X-Sandlot-Agent-Secret"
#define AGENT_PORT_HEADER                                              \
    "X-Sandlot-Port" /* the port of the server that the relay connects \
                      * to */

/* Part of the agent's message when it cannot start a program for this reason: Linux starts no file
 * that is open for writing. The front nodes recognize it. */
#define AGENT_PROGRAM_IS_WRITTEN "another program is writing this file"

#define AGENT_TIME_HEADER        "X-Sandlot-Time" /* the caller's, in ms since 1970 */
#define AGENT_HOLD_MAX_S         (7 * 24 * 3600) /* the longest hold that keeps an idle sandbox awake */

#define KEEPER_PORT              49985
#define KEEPER_SECRET_HEADER     "X-Sandlot-Keeper-Secret"
/* The defaults of a template that was built by steps, for the agents of its sandboxes: an object of
 * JSON, {"user", "workdir", "envs", "start_command", "start_place", "ready_command", "services"}.
 */
#define TEMPLATE_DEFAULTS_DIR  "/etc/sandlot"
#define TEMPLATE_DEFAULTS_FILE TEMPLATE_DEFAULTS_DIR "/template.json"
/* The services of a create, as the agent keeps them: a list of JSON, which root alone can read. */
#define SERVICES_FILE TEMPLATE_DEFAULTS_DIR "/services.json"
/* After the start command has ended: a line with its exit status, or -1 if it was killed. After
 * this line comes the end of its output. */
#define START_ENDED_FILE "/run/sandlot-start-ended"
/* Headers of an answer with a file. */
#define KEEPER_MODE_HEADER        "X-Mode"
#define KEEPER_MODIFIED_AT_HEADER "X-Modified-At"
/* Beginnings of names in the top directory of a volume. The volume server deletes such entries: its
 * own unfinished files, and directories that it is removing. */
#define KEEPER_NAME_NEW     ".sandlot-new."
#define KEEPER_NAME_REMOVED ".sandlot-removed."

/* The errors of the volume server: X(symbol, "code" of its answer, HTTP status). */
#define KEEPER_CODES(X)                         \
    X(KEEPER_UNAUTHORIZED, "unauthorized", 401) \
    X(KEEPER_NOT_FOUND, "not_found", 404)       \
    X(KEEPER_NOT_MOUNTED, "not_mounted", 404)   \
    X(KEEPER_INVALID, "invalid", 400)           \
    X(KEEPER_EXISTS, "exists", 409)             \
    X(KEEPER_NOT_EMPTY, "not_empty", 409)       \
    X(KEEPER_FENCED, "fenced", 409)             \
    X(KEEPER_OTHER_EPOCH, "other_epoch", 412)   \
    X(KEEPER_NO_SPACE, "no_space", 507)         \
    X(KEEPER_INTERNAL, "internal", 500)

enum keeper_code {
#define X(symbol, word, status) symbol,
    KEEPER_CODES(X)
#undef X
        KEEPER_CODE_COUNT
};

const char *keeper_code_word(enum keeper_code code);
unsigned keeper_code_status(enum keeper_code code);

/* Return the code for a word; KEEPER_CODE_COUNT for any other text and for NULL. */
enum keeper_code keeper_code_find(const char *word);
