/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/instance.h"

#include "base/str.h"

static const struct {
    const char *word;
    unsigned status;
} codes[KEEPER_CODE_COUNT] = {
#define X(symbol, word, status) [symbol] = {word, status},
    KEEPER_CODES(X)
#undef X
};

const char *keeper_code_word(enum keeper_code code)
{
    return codes[code].word;
}

unsigned keeper_code_status(enum keeper_code code)
{
    return codes[code].status;
}

enum keeper_code keeper_code_find(const char *word)
{
    enum keeper_code code = 0;
    while (code < KEEPER_CODE_COUNT && !str_equal(codes[code].word, word))
        code++;
    return code;
}
