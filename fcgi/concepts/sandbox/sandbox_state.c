/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sandbox/sandbox_state.h"

#include <string.h>

#include "base/mem.h"
#include "base/state_words.h"

static const struct {
    const char *name;
    bool live;
} states[SANDBOX_STATE_COUNT] = {
#define STATE(symbol, name, live) [symbol] = {name, live},
#include "sandbox/sandbox_state.def"
#undef STATE
};

static const struct {
    enum sandbox_event event;
    enum sandbox_state from, to;
} moves[] = {
#define MOVE(event, from, to) {event, from, to},
#include "sandbox/sandbox_state.def"
#undef MOVE
};

const char *sandbox_state_name(enum sandbox_state state)
{
    return states[state].name;
}

const char *sandbox_state_word(enum sandbox_state state)
{
    return state_word(states[state].name);
}

int sandbox_state_parse(const char *name, enum sandbox_state *state)
{
    for (unsigned i = 0; i < SANDBOX_STATE_COUNT; i++) {
        if (!strcmp(states[i].name, name)) {
            *state = (enum sandbox_state)i;
            return 0;
        }
    }
    return -1;
}

enum sandbox_state sandbox_state_told(enum sandbox_state state)
{
    return state == SANDBOX_MOVING ? SANDBOX_STOPPED : state;
}

bool sandbox_state_is_shown(enum sandbox_state state)
{
    return state != SANDBOX_DESTROYING && state != SANDBOX_DESTROYED;
}

bool sandbox_state_is_live(enum sandbox_state state)
{
    return states[state].live;
}

bool sandbox_state_runs(enum sandbox_state state)
{
    return state == SANDBOX_READY || state == SANDBOX_CHECKPOINTING;
}

static int refuse(enum sandbox_state state, bool is_paused, const char *rest, struct error **err)
{
    return error_set(err, is_paused ? ERR_SANDBOX_NOT_RUNNING : ERR_SANDBOX_BUSY,
                     "The sandbox is %s%s.", sandbox_state_word(state), rest);
}

int sandbox_state_require_running(enum sandbox_state state, const char *rest, struct error **err)
{
    if (sandbox_state_runs(state))
        return 0;
    return refuse(state, sandbox_state_told(state) == SANDBOX_STOPPED, rest, err);
}

int sandbox_state_next(enum sandbox_state from, enum sandbox_event event, enum sandbox_state *to,
                       struct error **err)
{
    for (size_t i = 0; i < ARRAY_SIZE(moves); i++) {
        if (moves[i].event == event && moves[i].from == from) {
            *to = moves[i].to;
            return 0;
        }
    }
    /* A move between hosts ends by itself, so the caller can wait for its end. */
    return refuse(from, from == SANDBOX_STOPPED, "", err);
}
