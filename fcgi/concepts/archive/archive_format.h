/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The format of a copy, shared by archive_writer.c, archive_reader.c and their tests. */
#pragma once

#include <sodium.h>

#define ARCHIVE_MAGIC       "sandlot archive 1\n"
#define ARCHIVE_MAGIC_BYTES (sizeof ARCHIVE_MAGIC - 1)
/* Magic, the number of the key (big-endian), the header of the stream. */
#define ARCHIVE_HEAD_BYTES \
    (ARCHIVE_MAGIC_BYTES + 2 + crypto_secretstream_xchacha20poly1305_HEADERBYTES)
#define ARCHIVE_CHUNK_BYTES  ((size_t)1 << 20) /* of plain data; the last chunk may be shorter */
#define ARCHIVE_SEALED_BYTES (ARCHIVE_CHUNK_BYTES + crypto_secretstream_xchacha20poly1305_ABYTES)
