/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Small archives in the format of tar: folders, links and small files, of which little is there. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define TAR_BLOCK     512
#define TAR_RECORD    (20 * TAR_BLOCK)
#define TAR_MOST      (1 << 20) /* of an archive, in bytes */
#define TAR_NAME_SIZE 100

/* As POSIX has it (pax(1), "ustar Interchange Format"). */
struct tar_header {
    char name[TAR_NAME_SIZE], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type;
    char target[TAR_NAME_SIZE], magic[6], version[2], user[32], group[32], major[8], minor[8];
    char prefix[155], padding[12];
};
_Static_assert(sizeof(struct tar_header) == TAR_BLOCK, "a header is a block");

/* The sum of a header's bytes, its own field as blanks. */
unsigned tar_checksum(const struct tar_header *header);

/* What is in a folder, as an archive that the caller frees. Returns 1, and nothing, when this is
 * work for tar itself: other kinds of files, much of them, several names of one, long names. Else
 * -1, with errno. */
int tar_pack(const char *folder, char **archive, size_t *size);

/* The other way. Nothing was done when it returns 1. */
int tar_unpack(const char *folder, const char *archive, size_t size);
