/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state machine of sandbox_state.def. */
#pragma once

#include <stdbool.h>

#include "base/error.h"

enum sandbox_state {
#define STATE(symbol, name, live) symbol,
#include "sandbox/sandbox_state.def"
#undef STATE
    SANDBOX_STATE_COUNT
};

enum sandbox_event {
    SANDBOX_EVENT_CREATED,
    SANDBOX_EVENT_PAUSE,
    SANDBOX_EVENT_PAUSED,
    SANDBOX_EVENT_PAUSE_FAILED,
    SANDBOX_EVENT_RESUME,
    SANDBOX_EVENT_RESUMED,
    SANDBOX_EVENT_RESUME_FAILED,
    SANDBOX_EVENT_ROLLBACK,
    SANDBOX_EVENT_CHECKPOINT,
    SANDBOX_EVENT_CHECKPOINTED,
    SANDBOX_EVENT_CHECKPOINT_FAILED,
    SANDBOX_EVENT_MOVE,
    SANDBOX_EVENT_MOVED,
    SANDBOX_EVENT_MOVE_FAILED,
    SANDBOX_EVENT_DIED,
    SANDBOX_EVENT_LOST,
    SANDBOX_EVENT_DELETE,
    SANDBOX_EVENT_DESTROYED,
};

const char *sandbox_state_name(enum sandbox_state state);

/* Return the word for people's eyes (base/state_words.h). */
const char *sandbox_state_word(enum sandbox_state state);

/* Return 0, or -1 when no state has this name. */
int sandbox_state_parse(const char *name, enum sandbox_state *state);

/* Return the state that clients see: a move between hosts is not shown to them. */
enum sandbox_state sandbox_state_told(enum sandbox_state state);

/* Check whether clients ever see a sandbox in this state. */
bool sandbox_state_is_shown(enum sandbox_state state);
/* Check whether the list filter `running` matches. */
bool sandbox_state_is_live(enum sandbox_state state);

/* Check whether the programs of a sandbox in this state run, and its agent answers. */
bool sandbox_state_runs(enum sandbox_state state);

/* Refuse a call that needs such a state. rest: the end of the sentence "The sandbox is STATE", or
 * "". Errors: ERR_SANDBOX_NOT_RUNNING for a paused sandbox, ERR_SANDBOX_BUSY for a sandbox that
 * changes its state. */
int sandbox_state_require_running(enum sandbox_state state, const char *rest, struct error **err);

/* Find the state to which event leads. Errors: ERR_SANDBOX_NOT_RUNNING when the sandbox is paused
 * and the event needs it running, else ERR_SANDBOX_BUSY; the message names the state. */
int sandbox_state_next(enum sandbox_state from, enum sandbox_event event, enum sandbox_state *to,
                       struct error **err);
