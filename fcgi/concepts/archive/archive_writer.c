/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "archive/archive_format.h"
#include "archive/archive_stream.h"
#include "base/clock.h"
#include "base/mem.h"
#include "crypto/crypto.h"

#define FILE_BYTES ((size_t)64 << 10)
#define REST_MS    100

struct archive_writer {
    struct objects *objects;
    struct objects_upload *upload;
    FILE *file;
    crypto_secretstream_xchacha20poly1305_state state;
    char id[ID_SIZE];
    unsigned char *chunk; /* ARCHIVE_CHUNK_BYTES, not sealed yet */
    size_t chunk_used;
    unsigned char *part; /* OBJECTS_PART_BYTES and a chunk, not sent yet */
    size_t part_used;
    uint64_t plain_bytes, stored_bytes;
    uint64_t kib_s;
    int64_t begun_ms; /* monotonic */
    struct error *failure;
};

/* --- sending --- */

/* Wait until the rate allows the bytes that were sent. */
static int keep_pace(struct archive_writer *writer, struct error **err)
{
    if (!writer->kib_s)
        return 0;
    int64_t until_ms =
        writer->begun_ms + (int64_t)(writer->stored_bytes * 1000 / (writer->kib_s * 1024));
    while (clock_monotonic_ms() < until_ms) {
        clock_sleep_ms(REST_MS);
        if (objects_tick_now(writer->objects, err) < 0)
            return -1;
    }
    return 0;
}

static int send_part(struct archive_writer *writer, size_t size, struct error **err)
{
    if (objects_upload_part(writer->upload, writer->part, size, err) < 0)
        return -1;
    writer->stored_bytes += size;
    writer->part_used -= size;
    memmove(writer->part, writer->part + size, writer->part_used);
    return keep_pace(writer, err);
}

static int seal_chunk(struct archive_writer *writer, unsigned char tag, struct error **err)
{
    unsigned long long size = 0;
    crypto_secretstream_xchacha20poly1305_push(
        &writer->state, writer->part + writer->part_used, &size, writer->chunk, writer->chunk_used,
        (const unsigned char *)writer->id, strlen(writer->id), tag);
    writer->plain_bytes += writer->chunk_used;
    writer->chunk_used = 0;
    writer->part_used += (size_t)size;
    return writer->part_used < OBJECTS_PART_BYTES ? 0 : send_part(writer, OBJECTS_PART_BYTES, err);
}

static ssize_t on_write(void *cookie, const char *data, size_t size)
{
    struct archive_writer *writer = cookie;
    for (size_t done = 0; done < size && !writer->failure;) {
        size_t room = ARCHIVE_CHUNK_BYTES - writer->chunk_used;
        size_t step = size - done < room ? size - done : room;
        memcpy(writer->chunk + writer->chunk_used, data + done, step);
        writer->chunk_used += step;
        done += step;
        if (writer->chunk_used == ARCHIVE_CHUNK_BYTES)
            seal_chunk(writer, 0, &writer->failure);
    }
    return writer->failure ? 0 : (ssize_t)size;
}

/* --- the whole --- */

static int write_head(struct archive_writer *writer, const struct keyring *ring, struct error **err)
{
    unsigned char key[KEYRING_SUBKEY_BYTES], *head = writer->part;
    uint16_t key_id = keyring_newest(ring);
    if (keyring_subkey(ring, key_id, KEY_PURPOSE_ARCHIVE, key, err) < 0)
        return -1;
    memcpy(head, ARCHIVE_MAGIC, ARCHIVE_MAGIC_BYTES);
    head += ARCHIVE_MAGIC_BYTES;
    *head++ = (unsigned char)(key_id >> 8);
    *head++ = (unsigned char)key_id;
    crypto_secretstream_xchacha20poly1305_init_push(&writer->state, head, key);
    mem_wipe(key, sizeof key);
    writer->part_used = ARCHIVE_HEAD_BYTES;
    return 0;
}

int archive_writer_new(struct objects *objects, const struct keyring *ring,
                       const struct archive *archive, uint64_t kib_s, char *upload,
                       struct archive_writer **out, struct error **err)
{
    crypto_init();
    struct archive_writer *writer = xcalloc(1, sizeof *writer);
    const cookie_io_functions_t functions = {.write = on_write};
    writer->objects = objects;
    writer->kib_s = kib_s;
    writer->begun_ms = clock_monotonic_ms();
    memcpy(writer->id, archive->id, sizeof writer->id);
    writer->chunk = xmalloc(ARCHIVE_CHUNK_BYTES);
    writer->part = xmalloc(OBJECTS_PART_BYTES + ARCHIVE_SEALED_BYTES);
    writer->file = fopencookie(writer, "w", functions);
    if (!writer->file || setvbuf(writer->file, NULL, _IOFBF, FILE_BYTES) != 0) {
        archive_writer_free(writer);
        return error_set(err, ERR_INTERNAL, "cannot create a stream: out of memory");
    }
    if (write_head(writer, ring, err) < 0 ||
        objects_upload_begin(objects, archive->key, upload, &writer->upload, err) < 0) {
        archive_writer_free(writer);
        return -1;
    }
    *out = writer;
    return 0;
}

void archive_writer_free(struct archive_writer *writer)
{
    if (!writer)
        return;
    if (!writer->failure) /* drop the bytes that its file still buffers */
        error_set(&writer->failure, ERR_INTERNAL, "the writer was closed before the end");
    if (writer->file)
        fclose(writer->file);
    objects_upload_free(writer->upload);
    mem_wipe(&writer->state, sizeof writer->state);
    error_clear(&writer->failure);
    free(writer->chunk);
    free(writer->part);
    free(writer);
}

FILE *archive_writer_file(struct archive_writer *writer)
{
    return writer->file;
}

int archive_writer_failed(struct archive_writer *writer, struct error **err)
{
    if (!writer->failure)
        return -1;
    error_clear(err);
    return error_move(err, &writer->failure);
}

int archive_writer_finish(struct archive_writer *writer, struct archive *archive,
                          struct error **err)
{
    if (fflush(writer->file) != 0 && !writer->failure)
        return error_set(err, ERR_INTERNAL, "cannot write the end of the copy");
    if (writer->failure)
        return error_move(err, &writer->failure);
    if (seal_chunk(writer, crypto_secretstream_xchacha20poly1305_TAG_FINAL, err) < 0 ||
        (writer->part_used && send_part(writer, writer->part_used, err) < 0) ||
        objects_upload_finish(writer->upload, err) < 0)
        return -1;
    archive->plain_bytes = writer->plain_bytes;
    archive->stored_bytes = writer->stored_bytes;
    return 0;
}
