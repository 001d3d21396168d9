/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "objects/objects.h"

static char folder[] = "/tmp/sandlot-objects-XXXXXX";

static struct objects *open_folder(void)
{
    error_auto err = NULL;
    struct objects *objects = NULL;
    const struct objects_place place = {.url = folder, .region = "", .credentials_file = ""};
    assert_ok(objects_open(&place, &objects, &err));
    return objects;
}

static int count_one(void *context, const struct objects_listed *one, struct error **err)
{
    (void)err;
    assert_true(one->size == 5 && one->modified_at_ms > 0);
    ++*(unsigned *)context;
    return 0;
}

TEST(writes_reads_lists_and_removes)
{
    error_auto err = NULL;
    struct objects *objects = open_folder();
    char back[8] = "";
    size_t got;
    unsigned count = 0;
    assert_ok(objects_put(objects, "kind/one", "12345", 5, &err));
    assert_ok(objects_put(objects, "kind/one", "abcde", 5, &err));
    assert_ok(objects_put(objects, "kind/two", "12345", 5, &err));
    assert_ok(objects_read(objects, "kind/one", 1, back, sizeof back, &got, &err));
    assert_int_equal(got, 4);
    assert_memory_equal(back, "bcde", 4);
    assert_ok(objects_read(objects, "kind/one", 9, back, sizeof back, &got, &err));
    assert_int_equal(got, 0);
    assert_ok(objects_each(objects, "kind", count_one, &count, &err));
    assert_int_equal(count, 2);
    assert_ok(objects_each(objects, "other", count_one, &count, &err));
    assert_ok(objects_delete(objects, "kind/one", &err));
    assert_ok(objects_delete(objects, "kind/one", &err));
    assert_fails_saying(objects_read(objects, "kind/one", 0, back, 1, &got, &err), ERR_NOT_FOUND,
                        "kind/one");
    error_clear(&err);
    assert_ok(objects_delete(objects, "kind/two", &err));
    objects_close(objects);
}

TEST(has_no_object_before_its_upload_is_finished)
{
    error_auto err = NULL;
    struct objects *objects = open_folder();
    struct objects_upload *upload = NULL;
    char name[OBJECTS_UPLOAD_SIZE], back[16];
    size_t got;
    unsigned count = 0;
    assert_ok(objects_upload_begin(objects, "kind/parts", name, &upload, &err));
    assert_ok(objects_upload_part(upload, "12", 2, &err));
    assert_fails(objects_read(objects, "kind/parts", 0, back, 1, &got, &err), ERR_NOT_FOUND);
    error_clear(&err);
    assert_ok(objects_upload_part(upload, "345", 3, &err));
    assert_ok(objects_upload_finish(upload, &err));
    objects_upload_free(upload);
    assert_ok(objects_read(objects, "kind/parts", 0, back, sizeof back, &got, &err));
    assert_int_equal(got, 5);

    assert_ok(objects_upload_begin(objects, "kind/parts", name, &upload, &err));
    assert_ok(objects_upload_part(upload, "67890", 5, &err));
    objects_upload_free(upload);
    assert_ok(objects_upload_abandon(objects, "kind/parts", name, &err));
    assert_ok(objects_upload_abandon(objects, "kind/parts", name, &err));
    assert_ok(objects_each(objects, "kind", count_one, &count, &err));
    assert_int_equal(count, 1);
    assert_ok(objects_delete(objects, "kind/parts", &err));
    objects_close(objects);
}

/* A mount that is away leaves an empty place behind, which must not be filled. */
TEST(never_makes_the_folder_itself)
{
    error_auto err = NULL;
    struct objects *objects = NULL;
    autofree char *away = xasprintf("%s/away", folder);
    const struct objects_place place = {.url = away, .region = "", .credentials_file = ""};
    assert_ok(objects_open(&place, &objects, &err));
    assert_fails_saying(objects_put(objects, "kind/one", "1", 1, &err), ERR_RUNTIME_UNAVAILABLE,
                        "cannot find the folder");
    assert_int_not_equal(access(away, F_OK), 0);
    objects_close(objects);
}

static int refuse(void *context, struct error **err)
{
    (void)context;
    return error_set(err, ERR_LEASE_LOST, "no more");
}

TEST(ends_when_told_so)
{
    error_auto err = NULL;
    struct objects *objects = open_folder();
    objects_tick_by(objects, refuse, NULL);
    assert_fails(objects_put(objects, "kind/one", "1", 1, &err), ERR_LEASE_LOST);
    objects_close(objects);
}

TEST(refuses_what_is_no_place)
{
    static const char *const wrong[] = {"",
                                        "/",
                                        "relative",
                                        "/a/../b",
                                        "/a//b",
                                        "/a b",
                                        "/a/",
                                        "ftp://server/bucket",
                                        "https://server",
                                        "https://server/",
                                        "https://server/bucket/",
                                        "https://id:secret@server/bucket",
                                        "https://server/bucket?x=y"};
    static const char *const right[] = {"/srv/archive", "https://server/bucket",
                                        "http://127.0.0.1:9000/bucket/a/prefix"};
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        error_auto err = NULL;
        assert_fails(objects_check_url(wrong[i], &err), ERR_CONFIG);
    }
    for (size_t i = 0; i < ARRAY_SIZE(right); i++) {
        error_auto err = NULL;
        assert_ok(objects_check_url(right[i], &err));
    }
}

static void write_credentials(const char *path, const char *text, mode_t mode)
{
    autofclose FILE *file = fopen(path, "we");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fchmod(fileno(file), mode), 0);
}

TEST(takes_credentials_from_a_closed_file)
{
    static const struct {
        const char *text;
        mode_t mode;
        bool taken;
    } cases[] = {
        {"id\nsecret\n", 0600, true},          {"acc:user\r\nse/c+r=t", 0640, true},
        {"id\nsecret\n", 0644, false},         {"id\n", 0600, false},
        {"id = x\nsecret = y\n", 0600, false}, {"", 0600, false},
    };
    autofree char *path = xasprintf("%s/credentials", folder);
    const struct objects_place place = {
        .url = "http://127.0.0.1:1/bucket", .region = "r", .credentials_file = path};
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        error_auto err = NULL;
        struct objects *objects = NULL;
        unlink(path);
        write_credentials(path, cases[i].text, cases[i].mode);
        assert_int_equal(objects_open(&place, &objects, &err) == 0, cases[i].taken);
        if (err)
            assert_null(strstr(err->message, "secret\n"));
        objects_close(objects);
    }
    unlink(path);
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
