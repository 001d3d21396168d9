/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "objects/objects_s3.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "objects/objects_xml.h"

#define LINE_SIZE     512
#define PAGE          1000
#define RANGE_REFUSED 416 /* it begins behind the end */

/* --- objects --- */

static int s3_put(struct objects *objects, const char *key, const void *data, size_t size,
                  struct error **err)
{
    struct s3_request request = {.method = "PUT", .key = key, .data = data, .size = size};
    return s3_ask(s3_of(objects), &request, err);
}

static int s3_read(struct objects *objects, const char *key, uint64_t offset, void *data,
                   size_t size, size_t *got, struct error **err)
{
    struct s3_request request = {
        .method = "GET", .key = key, .offset = offset, .room = data, .room_size = size};
    int result = s3_ask(s3_of(objects), &request, err);
    *got = result == 0 ? request.got : 0;
    if (result == 0 || request.status != RANGE_REFUSED)
        return result;
    error_clear(err);
    return 0;
}

static int s3_remove(struct objects *objects, const char *key, struct error **err)
{
    struct s3_request request = {.method = "DELETE", .key = key};
    return s3_ask(s3_of(objects), &request, err);
}

/* --- listing --- */

struct listing {
    struct s3 *s3;
    int (*act)(void *context, const struct objects_listed *one, struct error **err);
    void *context;
    char *after; /* the last key of the page before, with the prefix */
};

static int list_one(struct listing *listing, const char *contents, struct error **err)
{
    autofree char *key = objects_xml_find(contents, "Key");
    autofree char *size = objects_xml_find(contents, "Size");
    autofree char *modified = objects_xml_find(contents, "LastModified");
    struct objects_listed one = {0};
    size_t skipped = strlen(listing->s3->prefix);
    if (!key || !size || !modified || !str_starts_with(key, listing->s3->prefix) ||
        clock_parse_iso8601(modified, &one.modified_at_ms) < 0 ||
        str_parse_u64(size, 0, UINT64_MAX, &one.size) < 0)
        return error_set(err, ERR_CONFIG, "the list in its answer has an unknown form");
    free(listing->after);
    listing->after = xstrdup(key);
    one.key = key + skipped;
    return listing->act(listing->context, &one, err);
}

static int list_page(struct listing *listing, const char *text, struct error **err)
{
    int result = 0;
    char *contents;
    while (result == 0 && (contents = objects_xml_next(&text, "Contents"))) {
        result = list_one(listing, contents, err);
        free(contents);
    }
    return result;
}

static int ask_page(struct listing *listing, const char *folder, char **text, struct error **err)
{
    struct s3 *s3 = listing->s3;
    autofree char *all = xasprintf("%s%s/", s3->prefix, folder);
    autofree char *prefix = s3_escape(s3, all);
    autofree char *after = s3_escape(s3, listing->after);
    autofree char *query = xasprintf("list-type=2&max-keys=%d&prefix=%s%s%s", PAGE, prefix,
                                     *after ? "&start-after=" : "", after);
    struct s3_request request = {.method = "GET", .query = query};
    if (s3_ask(s3, &request, err) < 0)
        return -1;
    *text = xstrdup(buffer_string(&s3->answer)); /* the next request takes its place */
    return 0;
}

static int s3_each(struct objects *objects, const char *folder,
                   int (*act)(void *context, const struct objects_listed *one, struct error **err),
                   void *context, struct error **err)
{
    struct listing listing = {s3_of(objects), act, context, xstrdup("")};
    bool more = true;
    int result = 0;
    while (result == 0 && more) {
        autofree char *text = NULL;
        result = ask_page(&listing, folder, &text, err);
        if (result < 0)
            break;
        autofree char *truncated = objects_xml_find(text, "IsTruncated");
        more = str_equal(truncated, "true");
        result = list_page(&listing, text, err);
    }
    free(listing.after);
    return result;
}

/* --- opening --- */

static void s3_close(struct objects *objects)
{
    struct s3 *s3 = s3_of(objects);
    if (s3->curl)
        curl_easy_cleanup(s3->curl);
    buffer_deinit(&s3->answer);
    error_clear(&s3->tick_error);
    free(s3->login.id);
    mem_wipe_free(s3->login.secret);
    free(s3->bucket_url);
    free(s3->prefix);
    free(s3->signing);
    free(s3);
}

static const struct objects_ops s3_ops = {
    .close = s3_close,
    .put = s3_put,
    .read = s3_read,
    .remove = s3_remove,
    .each = s3_each,
    .upload_begin = s3_upload_begin,
    .upload_part = s3_upload_part,
    .upload_finish = s3_upload_finish,
    .upload_abandon = s3_upload_abandon,
};

/* A word on a line of its own. */
static int read_word(FILE *file, const char *path, char word[LINE_SIZE], struct error **err)
{
    size_t length = fgets(word, LINE_SIZE, file) ? strcspn(word, "\r\n") : 0;
    word[length] = '\0';
    return length && length < LINE_SIZE - 1 && !strpbrk(word, " \t")
               ? 0
               : error_set(err, ERR_CONFIG,
                           "%s must have the id of an access key on its first line and the secret "
                           "on its second, and nothing else on them",
                           path);
}

static int read_login(const char *path, struct s3_login *login, struct error **err)
{
    char id[LINE_SIZE], secret[LINE_SIZE];
    struct stat info;
    autofclose FILE *file = fopen(path, "re");
    if (!file || fstat(fileno(file), &info) < 0)
        return error_set_errno(err, ERR_CONFIG, errno,
                               "cannot read the credentials of the archive in %s",
                               *path ? path : "(archive_credentials_file is not set)");
    if (info.st_mode & S_IRWXO)
        return error_set(err, ERR_CONFIG, "every user can read %s: run chmod o-rwx on it", path);
    setvbuf(file, NULL, _IONBF, 0);
    int result = read_word(file, path, id, err);
    if (result == 0)
        result = read_word(file, path, secret, err);
    if (result == 0) {
        login->id = xstrdup(id);
        login->secret = xstrdup(secret);
    }
    mem_wipe(secret, sizeof secret);
    return result;
}

/* Split https://server/bucket/prefix into its parts. */
static void take_url(struct s3 *s3, const char *url)
{
    const char *bucket = strchr(strstr(url, "://") + strlen("://"), '/') + 1;
    size_t length = strcspn(bucket, "/");
    s3->base.url = xstrdup(url);
    s3->bucket_url = xstrndup(url, (size_t)(bucket - url) + length);
    s3->prefix = bucket[length] ? xasprintf("%s/", bucket + length + 1) : xstrdup("");
}

int objects_open_s3(const struct objects_place *place, struct objects **objects, struct error **err)
{
    struct s3_login login = {0};
    static bool initialised;
    if (read_login(place->credentials_file, &login, err) < 0)
        return -1;
    if (!initialised)
        curl_global_init_mem(CURL_GLOBAL_DEFAULT, malloc, mem_free_wiped, mem_realloc_wiped, strdup,
                             calloc);
    initialised = true;
    struct s3 *s3 = xcalloc(1, sizeof *s3);
    s3->base.ops = &s3_ops;
    take_url(s3, place->url);
    s3->signing = xasprintf("aws:amz:%s:s3", place->region);
    s3->login = login;
    s3->tries = place->tries ? place->tries : S3_TRIES_MOST;
    buffer_init(&s3->answer, S3_ANSWER_MAX);
    s3->curl = curl_easy_init();
    if (!s3->curl) {
        objects_close(&s3->base);
        return error_set(err, ERR_CONFIG, "libcurl cannot be initialised");
    }
    *objects = &s3->base;
    return 0;
}
