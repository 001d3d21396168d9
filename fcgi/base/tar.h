/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Headers of archives in the format of tar, as POSIX has it (pax(1), "ustar Interchange Format").
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define TAR_BLOCK     512
#define TAR_NAME_SIZE 100

struct tar_header {
    char name[TAR_NAME_SIZE], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type;
    char target[TAR_NAME_SIZE], magic[6], version[2], user[32], group[32], major[8], minor[8];
    char prefix[155], padding[12];
};
_Static_assert(sizeof(struct tar_header) == TAR_BLOCK, "a header is a block");

/* Return the sum of a header's bytes, its own field as blanks. */
unsigned tar_checksum(const struct tar_header *header);

/* Read a number in octal digits, which a NUL, a blank or the end of the field follows. Returns
 * whether it is one. */
bool tar_number(const char *field, size_t size, unsigned long *value);
