/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A copy as its object holds it: a head with the number of the ring's key, then chunks of
 * libsodium's secretstream (XChaCha20-Poly1305), each bound to its place and to the id of the copy,
 * the last marked as the last. Both ends are files to whoever writes and reads, and hold one part
 * in memory.
 */
#pragma once

#include <stdio.h>

#include "archive/archive.h"

struct archive_writer;
struct archive_reader;

/* Begin the object of archive->key. upload: its name in the storage, OBJECTS_UPLOAD_SIZE bytes,
 * which is to be known before anything is written. kib_s: as fast at most; 0: any. */
int archive_writer_new(struct objects *objects, const struct keyring *ring,
                       const struct archive *archive, uint64_t kib_s, char *upload,
                       struct archive_writer **writer, struct error **err);
void archive_writer_free(struct archive_writer *writer); /* NULL is allowed */
FILE *archive_writer_file(struct archive_writer *writer);

/* Why the file took no more, if it did not: then this is what *err becomes. Returns -1. */
int archive_writer_failed(struct archive_writer *writer, struct error **err);

/* All was written: complete the object. The sizes go into archive. */
int archive_writer_finish(struct archive_writer *writer, struct archive *archive,
                          struct error **err);

/* The bytes that were written; nothing is asked of the storage before the first is read. Errors of
 * the reading, which the file itself cannot say, beside those of objects_read():
 * ERR_SANDBOX_NOT_STARTABLE (the object is gone, or is not what was stored). */
int archive_reader_new(struct objects *objects, const struct keyring *ring,
                       const struct archive *archive, struct archive_reader **reader,
                       struct error **err);
void archive_reader_free(struct archive_reader *reader); /* NULL is allowed */
FILE *archive_reader_file(struct archive_reader *reader);
int archive_reader_failed(struct archive_reader *reader, struct error **err);

/* Read all of it: it is there and is what was stored. */
int archive_reader_verify(struct archive_reader *reader, struct error **err);
