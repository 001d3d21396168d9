/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/tar.h"

unsigned tar_checksum(const struct tar_header *header)
{
    const unsigned char *bytes = (const unsigned char *)header;
    unsigned sum = 0;
    for (size_t i = 0; i < TAR_BLOCK; i++) {
        bool own =
            i >= offsetof(struct tar_header, checksum) && i < offsetof(struct tar_header, type);
        sum += own ? ' ' : bytes[i];
    }
    return sum;
}

bool tar_number(const char *field, size_t size, unsigned long *value)
{
    size_t i = 0;
    *value = 0;
    for (; i < size && field[i] >= '0' && field[i] <= '7'; i++)
        *value = *value * 8 + (unsigned long)(field[i] - '0');
    return i > 0 && (i == size || field[i] == '\0' || field[i] == ' ');
}
