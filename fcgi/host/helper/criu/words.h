/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Build a command word by word. */
#pragma once

#include <stddef.h>

struct words {
    char **list; /* ends with a NULL */
    size_t count;
};

/* Add a word. The list takes ownership of text. */
void words_add(struct words *words, char *text);
void words_add_copy(struct words *words, const char *text);
void words_deinit(struct words *words);
