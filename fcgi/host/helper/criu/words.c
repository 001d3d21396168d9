/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "helper/criu/words.h"

#include <stdlib.h>

#include "base/mem.h"

void words_add(struct words *words, char *text)
{
    words->list = xreallocarray(words->list, words->count + 2, sizeof *words->list);
    words->list[words->count++] = text;
    words->list[words->count] = NULL;
}

void words_add_copy(struct words *words, const char *text)
{
    words_add(words, xstrdup(text));
}

void words_deinit(struct words *words)
{
    for (size_t i = 0; i < words->count; i++)
        free(words->list[i]);
    free(words->list);
    *words = (struct words){.list = NULL};
}
