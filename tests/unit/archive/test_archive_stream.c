/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A copy in a folder: what is written is read again, and nothing else. */
#include "unit/keyring.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "archive/archive_format.h"
#include "archive/archive_stream.h"
#include "base/mem.h"

#define KEY "kind/arc_1"

static char folder[] = "/tmp/sandlot-archive-XXXXXX";

static struct objects *open_folder(void)
{
    error_auto err = NULL;
    struct objects *objects = NULL;
    const struct objects_place place = {.url = folder, .region = "", .credentials_file = ""};
    assert_ok(objects_open(&place, &objects, &err));
    return objects;
}

static struct archive archive_of_test(void)
{
    return (struct archive){.id = "arc_1", .key = KEY};
}

static char byte_at(size_t i)
{
    return (char)(i * 31 + i / 4096);
}

static void write_copy(struct objects *objects, const struct keyring *ring, struct archive *archive,
                       size_t size)
{
    error_auto err = NULL;
    struct archive_writer *writer = NULL;
    char upload[OBJECTS_UPLOAD_SIZE];
    assert_ok(archive_writer_new(objects, ring, archive, 0, upload, &writer, &err));
    for (size_t i = 0; i < size; i++)
        putc_unlocked(byte_at(i), archive_writer_file(writer));
    assert_ok(archive_writer_finish(writer, archive, &err));
    archive_writer_free(writer);
}

static int verify(struct objects *objects, const struct keyring *ring,
                  const struct archive *archive, struct error **err)
{
    struct archive_reader *reader = NULL;
    int result = archive_reader_new(objects, ring, archive, &reader, err);
    assert_int_equal(result, 0);
    result = archive_reader_verify(reader, err);
    archive_reader_free(reader);
    return result;
}

static void check_size(size_t size)
{
    error_auto err = NULL;
    struct objects *objects = open_folder();
    struct keyring *ring = unit_keyring(UNIT_KEY_1 UNIT_KEY_2), *newer = NULL;
    struct archive archive = archive_of_test();
    struct archive_reader *reader = NULL;
    write_copy(objects, ring, &archive, size);
    assert_int_equal(archive.plain_bytes, size);
    assert_ok(archive_reader_new(objects, ring, &archive, &reader, &err));
    for (size_t i = 0; i < size; i++)
        if (getc_unlocked(archive_reader_file(reader)) != (unsigned char)byte_at(i))
            fail_msg("byte %zu is another", i);
    assert_int_equal(getc(archive_reader_file(reader)), EOF);
    assert_false(ferror(archive_reader_file(reader)));
    archive_reader_free(reader);
    assert_ok(verify(objects, ring, &archive, &err));
    newer = unit_keyring(UNIT_KEY_1);
    assert_fails(verify(objects, newer, &archive, &err), ERR_CONFIG);
    error_clear(&err);
    keyring_free(newer);
    keyring_free(ring);
    assert_ok(objects_delete(objects, KEY, &err));
    objects_close(objects);
}

TEST(gives_back_what_was_written)
{
    static const size_t sizes[] = {0,
                                   1,
                                   ARCHIVE_CHUNK_BYTES - 1,
                                   ARCHIVE_CHUNK_BYTES,
                                   ARCHIVE_CHUNK_BYTES + 1,
                                   OBJECTS_PART_BYTES,
                                   OBJECTS_PART_BYTES * 2 + 12345};
    for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
        check_size(sizes[i]);
}

static char *path_of_copy(void)
{
    return xasprintf("%s/" KEY, folder);
}

static void change_byte(long at)
{
    autofree char *path = path_of_copy();
    autofclose FILE *file = fopen(path, "r+e");
    assert_int_equal(fseek(file, at, SEEK_SET), 0);
    int byte = getc(file);
    assert_int_equal(fseek(file, at, SEEK_SET), 0);
    putc(byte ^ 1, file);
}

TEST(refuses_what_was_changed)
{
    error_auto err = NULL;
    struct objects *objects = open_folder();
    struct keyring *ring = unit_keyring(UNIT_KEY_1);
    struct archive archive = archive_of_test(), other = archive_of_test();
    autofree char *path = path_of_copy();
    write_copy(objects, ring, &archive, 3 * ARCHIVE_CHUNK_BYTES);
    long places[] = {0, ARCHIVE_MAGIC_BYTES + 2, ARCHIVE_HEAD_BYTES, 2 * ARCHIVE_CHUNK_BYTES,
                     (long)archive.stored_bytes - 1};
    for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
        change_byte(places[i]);
        assert_fails_saying(verify(objects, ring, &archive, &err), ERR_SANDBOX_NOT_STARTABLE,
                            "damaged");
        error_clear(&err);
        change_byte(places[i]);
    }
    assert_ok(verify(objects, ring, &archive, &err));
    snprintf(other.id, sizeof other.id, "arc_2");
    assert_fails_saying(verify(objects, ring, &other, &err), ERR_SANDBOX_NOT_STARTABLE,
                        "cannot be decrypted");
    error_clear(&err);
    off_t cuts[] = {(off_t)(ARCHIVE_HEAD_BYTES + ARCHIVE_SEALED_BYTES), ARCHIVE_HEAD_BYTES, 10, 0};
    for (size_t i = 0; i < ARRAY_SIZE(cuts); i++) {
        assert_int_equal(truncate(path, cuts[i]), 0);
        assert_fails(verify(objects, ring, &archive, &err), ERR_SANDBOX_NOT_STARTABLE);
        error_clear(&err);
    }
    assert_ok(objects_delete(objects, KEY, &err));
    assert_fails_saying(verify(objects, ring, &archive, &err), ERR_SANDBOX_NOT_STARTABLE,
                        "does not exist");
    keyring_free(ring);
    objects_close(objects);
}

TEST(leaves_no_object_of_what_was_not_finished)
{
    error_auto err = NULL;
    struct objects *objects = open_folder();
    struct keyring *ring = unit_keyring(UNIT_KEY_1);
    struct archive archive = archive_of_test();
    struct archive_writer *writer = NULL;
    char upload[OBJECTS_UPLOAD_SIZE];
    assert_ok(archive_writer_new(objects, ring, &archive, 0, upload, &writer, &err));
    fputs("the beginning", archive_writer_file(writer));
    archive_writer_free(writer);
    assert_fails(verify(objects, ring, &archive, &err), ERR_SANDBOX_NOT_STARTABLE);
    error_clear(&err);
    assert_ok(objects_upload_abandon(objects, KEY, upload, &err));
    keyring_free(ring);
    objects_close(objects);
}

static int make_folder(void **state)
{
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    autofree char *kind = xasprintf("%s/kind", folder);
    rmdir(kind);
    return rmdir(folder);
}

TEST_GROUP(make_folder, remove_folder)
