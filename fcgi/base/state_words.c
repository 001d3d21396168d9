/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/state_words.h"

#include <stddef.h>

#include "base/mem.h"
#include "base/str.h"

static const struct {
    const char *value, *word;
} words[] = {
#define WORD(value, word) {value, word},
#include "base/state_words.def"
#undef WORD
};

const char *state_word(const char *value)
{
    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (str_equal(words[i].value, value))
            return words[i].word;
    return value;
}

const char *state_of_word(const char *word)
{
    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (str_equal(words[i].word, word))
            return words[i].value;
    return word;
}
