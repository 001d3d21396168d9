/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The format of a copy: a head with the number of the ring's key, then chunks of libsodium's
 * secretstream (XChaCha20-Poly1305). Each chunk is bound to its place and to the id of the copy;
 * the last one is marked as the last.
 *
 * Writer and reader offer a FILE to their callers. They hold one part of the object in memory. They
 * borrow the storage until they are freed; the reader also borrows the key ring and the archive.
 */
#pragma once

#include <stdio.h>

#include "archive/archive.h"

struct archive_writer;
struct archive_reader;

/* Start the object of archive->key. upload: receives the upload's name in the storage
 * (OBJECTS_UPLOAD_SIZE bytes). The caller stores this name before it writes. kib_s: the most KiB a
 * second; 0: no limit. */
int archive_writer_new(struct objects *objects, const struct keyring *ring,
                       const struct archive *archive, uint64_t kib_s, char *upload,
                       struct archive_writer **writer, struct error **err);
void archive_writer_free(struct archive_writer *writer); /* NULL is allowed */
FILE *archive_writer_file(struct archive_writer *writer);

/* Put the error that stopped the file into *err, if there is one. Returns -1. */
int archive_writer_failed(struct archive_writer *writer, struct error **err);

/* Complete the object after the last write. The sizes go into archive. */
int archive_writer_finish(struct archive_writer *writer, struct archive *archive,
                          struct error **err);

/* Read the plain bytes of a copy as a file; the first read sends the first request. When a read
 * fails, archive_reader_failed() has the error: one of objects_read(), or ERR_SANDBOX_NOT_STARTABLE
 * (the object is missing, or is not the stored one). */
int archive_reader_new(struct objects *objects, const struct keyring *ring,
                       const struct archive *archive, struct archive_reader **reader,
                       struct error **err);
void archive_reader_free(struct archive_reader *reader); /* NULL is allowed */
FILE *archive_reader_file(struct archive_reader *reader);
int archive_reader_failed(struct archive_reader *reader, struct error **err);

/* Read the whole object, and check that it is the stored one. */
int archive_reader_verify(struct archive_reader *reader, struct error **err);
