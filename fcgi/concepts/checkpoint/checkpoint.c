/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "checkpoint/checkpoint.h"

#include <string.h>

#define ALPHANUMERIC "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

const char *const checkpoint_state_names[CHECKPOINT_STATE_COUNT] = {
#define STATE(symbol, name) [symbol] = name,
#include "checkpoint/checkpoint_state.def"
#undef STATE
};

bool checkpoint_name_is_valid(const char *name)
{
    size_t length = strlen(name);
    return length >= 1 && length <= CHECKPOINT_NAME_MAX &&
           strspn(name, ALPHANUMERIC "._-") == length && strspn(name, ALPHANUMERIC) > 0;
}
