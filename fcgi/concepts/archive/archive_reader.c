/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "archive/archive_format.h"
#include "archive/archive_stream.h"
#include "base/mem.h"
#include "crypto/crypto.h"

#define FILE_BYTES ((size_t)64 << 10)
/* A worker of the API holds this memory while it fetches. */
#define RANGE_BYTES ((size_t)4 << 20)
#define ROOM_BYTES  (RANGE_BYTES + ARCHIVE_SEALED_BYTES)

struct archive_reader {
    struct objects *objects;
    const struct keyring *ring;
    const struct archive *archive;
    FILE *file;
    crypto_secretstream_xchacha20poly1305_state state;
    bool begun, ended;
    bool all_read;       /* the object has no more bytes after the room */
    uint64_t offset;     /* in the object, of the first byte after the room */
    unsigned char *room; /* ROOM_BYTES, still sealed */
    size_t room_at, room_used;
    unsigned char *chunk; /* decrypted */
    size_t chunk_at, chunk_used;
    struct error *failure;
};

static int damaged(const struct archive_reader *reader, const char *what, struct error **err)
{
    return error_set(err, ERR_SANDBOX_NOT_STARTABLE,
                     ARCHIVE_COPY "%s is damaged: the object %s %s.",
                     archive_kind_names[reader->archive->kind], reader->archive->key, what);
}

/* Read until the room holds a whole chunk, or the rest of the object. */
static int fill(struct archive_reader *reader, struct error **err)
{
    size_t got, left = reader->room_used - reader->room_at;
    if (left >= ARCHIVE_SEALED_BYTES || reader->all_read)
        return 0;
    memmove(reader->room, reader->room + reader->room_at, left);
    reader->room_at = 0;
    reader->room_used = left;
    if (objects_read(reader->objects, reader->archive->key, reader->offset, reader->room + left,
                     RANGE_BYTES, &got, err) < 0)
        return error_clear_if(err, ERR_NOT_FOUND) ? damaged(reader, "does not exist", err) : -1;
    reader->all_read = got < RANGE_BYTES;
    reader->offset += got;
    reader->room_used += got;
    return 0;
}

static int read_head(struct archive_reader *reader, struct error **err)
{
    unsigned char key[KEYRING_SUBKEY_BYTES];
    const unsigned char *head = reader->room;
    if (fill(reader, err) < 0)
        return -1;
    if (reader->room_used < ARCHIVE_HEAD_BYTES || memcmp(head, ARCHIVE_MAGIC, ARCHIVE_MAGIC_BYTES))
        return damaged(reader, "does not begin like a copy of sandlot", err);
    head += ARCHIVE_MAGIC_BYTES;
    uint16_t key_id = (uint16_t)(head[0] << 8 | head[1]);
    if (keyring_subkey(reader->ring, key_id, KEY_PURPOSE_ARCHIVE, key, err) < 0)
        return error_context(err, "cannot read the archived copy %s", reader->archive->key);
    int result = crypto_secretstream_xchacha20poly1305_init_pull(&reader->state, head + 2, key);
    mem_wipe(key, sizeof key);
    reader->room_at = ARCHIVE_HEAD_BYTES;
    reader->begun = true;
    return result == 0 ? 0 : damaged(reader, "has a damaged header", err);
}

static int open_chunk(struct archive_reader *reader, struct error **err)
{
    const struct archive *archive = reader->archive;
    unsigned long long size = 0;
    unsigned char tag = 0;
    if ((!reader->begun && read_head(reader, err) < 0) || fill(reader, err) < 0)
        return -1;
    size_t left = reader->room_used - reader->room_at;
    size_t step = left < ARCHIVE_SEALED_BYTES ? left : ARCHIVE_SEALED_BYTES;
    if (step < crypto_secretstream_xchacha20poly1305_ABYTES)
        return damaged(reader, "is cut off", err);
    if (crypto_secretstream_xchacha20poly1305_pull(
            &reader->state, reader->chunk, &size, &tag, reader->room + reader->room_at, step,
            (const unsigned char *)archive->id, strlen(archive->id)) != 0)
        return damaged(reader, "was changed after it was stored, and cannot be decrypted", err);
    reader->room_at += step;
    reader->chunk_at = 0;
    reader->chunk_used = (size_t)size;
    reader->ended = tag == crypto_secretstream_xchacha20poly1305_TAG_FINAL;
    if (reader->ended && reader->room_at < reader->room_used)
        return damaged(reader, "has data after its end", err);
    return 0;
}

static ssize_t on_read(void *cookie, char *data, size_t size)
{
    struct archive_reader *reader = cookie;
    while (reader->chunk_at == reader->chunk_used && !reader->ended && !reader->failure)
        open_chunk(reader, &reader->failure);
    if (reader->failure) {
        errno = EIO;
        return -1;
    }
    size_t left = reader->chunk_used - reader->chunk_at;
    size_t step = size < left ? size : left;
    memcpy(data, reader->chunk + reader->chunk_at, step);
    reader->chunk_at += step;
    return (ssize_t)step;
}

int archive_reader_new(struct objects *objects, const struct keyring *ring,
                       const struct archive *archive, struct archive_reader **out,
                       struct error **err)
{
    crypto_init();
    struct archive_reader *reader = xcalloc(1, sizeof *reader);
    const cookie_io_functions_t functions = {.read = on_read};
    reader->objects = objects;
    reader->ring = ring;
    reader->archive = archive;
    reader->room = xmalloc(ROOM_BYTES);
    reader->chunk = xmalloc(ARCHIVE_CHUNK_BYTES);
    reader->file = fopencookie(reader, "r", functions);
    if (!reader->file || setvbuf(reader->file, NULL, _IOFBF, FILE_BYTES) != 0) {
        archive_reader_free(reader);
        return error_set(err, ERR_INTERNAL, "cannot create a stream: out of memory");
    }
    *out = reader;
    return 0;
}

void archive_reader_free(struct archive_reader *reader)
{
    if (!reader)
        return;
    if (reader->file)
        fclose(reader->file);
    mem_wipe(&reader->state, sizeof reader->state);
    error_clear(&reader->failure);
    free(reader->room);
    free(reader->chunk);
    free(reader);
}

FILE *archive_reader_file(struct archive_reader *reader)
{
    return reader->file;
}

int archive_reader_failed(struct archive_reader *reader, struct error **err)
{
    if (!reader->failure)
        return -1;
    error_clear(err);
    return error_move(err, &reader->failure);
}

int archive_reader_verify(struct archive_reader *reader, struct error **err)
{
    uint64_t plain_bytes = 0;
    autofree char *room = xmalloc(FILE_BYTES);
    size_t got;
    while ((got = fread(room, 1, FILE_BYTES, reader->file)) > 0)
        plain_bytes += got;
    if (reader->failure)
        return error_move(err, &reader->failure);
    return plain_bytes == reader->archive->plain_bytes
               ? 0
               : damaged(reader, "has another size than the stored copy", err);
}
