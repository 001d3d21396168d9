/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Integers of any size as bytes, the most significant first, as in tokens. */
#pragma once

#include <stddef.h>
#include <stdint.h>

static inline void be_put(unsigned char *out, size_t size, uint64_t value)
{
    for (size_t i = size; i-- > 0; value >>= 8)
        out[i] = (unsigned char)value;
}

static inline uint64_t be_get(const unsigned char *in, size_t size)
{
    uint64_t value = 0;
    for (size_t i = 0; i < size; i++)
        value = value << 8 | in[i];
    return value;
}
