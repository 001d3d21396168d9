/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "volume/volume.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

const char *const volume_state_names[VOLUME_STATE_COUNT] = {
#define STATE(symbol, name) [symbol] = name,
#include "volume/volume_state.def"
#undef STATE
};

void volume_deinit(struct volume *volume)
{
    free(volume->attached_to);
    *volume = (struct volume){0};
}

bool volume_name_is_valid(const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_-";
    size_t length = strlen(text);
    return length >= 1 && length <= VOLUME_NAME_MAX && text[0] != '-' &&
           !str_starts_with(text, "vol_") && strspn(text, letters) == length;
}

const char *volume_instance_name(const char *id, char out[VOLUME_INSTANCE_SIZE])
{
    snprintf(out, VOLUME_INSTANCE_SIZE, "vol-%s", id + 4);
    return out;
}
