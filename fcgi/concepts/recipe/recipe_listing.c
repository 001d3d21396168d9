/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recipe/recipe_listing.h"

#include <fnmatch.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/tar_reader.h"
#include "recipe/recipe_copy.h"

#define UNPACKED_MAX ((uint64_t)512 << 20)
#define ENTRY_LEAST  (RECIPE_LISTING_KEY_SIZE + 10) /* bytes of an entry besides its path */
#define PIECE        65536
#define GZIP_WINDOW  (MAX_WBITS + 16)
#define PARTS_MAX    256 /* names between the slashes of a path */
/* The work to read an entry, and to take a character of its path apart, in comparisons. */
#define ENTRY_WORK 256
#define SPLIT_WORK 4

/* --- the archive --- */

struct unpacking {
    const struct recipe_bytes *bytes;
    z_stream stream;
    unsigned char packed[PIECE];
    size_t first; /* bytes that were read to recognize gzip, and are not yet used */
    bool is_gzip, is_over;
    uint64_t unpacked;
};

static long inflate_some(struct unpacking *unpacking, char *out, size_t size)
{
    z_stream *stream = &unpacking->stream;
    stream->next_out = (unsigned char *)out;
    stream->avail_out = (unsigned)size;
    while (stream->avail_out == size && !unpacking->is_over) {
        if (!stream->avail_in) {
            long got = unpacking->bytes->read(unpacking->bytes->context, (char *)unpacking->packed,
                                              sizeof unpacking->packed);
            if (got <= 0)
                return got;
            stream->next_in = unpacking->packed;
            stream->avail_in = (unsigned)got;
        }
        int result = inflate(stream, Z_NO_FLUSH);
        if (result != Z_OK && result != Z_STREAM_END)
            return -1;
        unpacking->is_over = result == Z_STREAM_END;
    }
    return (long)(size - stream->avail_out);
}

static long copy_some(struct unpacking *unpacking, char *out, size_t size)
{
    size_t have = unpacking->first < size ? unpacking->first : size;
    if (!have)
        return unpacking->bytes->read(unpacking->bytes->context, out, size);
    memcpy(out, unpacking->packed, have);
    memmove(unpacking->packed, unpacking->packed + have, unpacking->first - have);
    unpacking->first -= have;
    return (long)have;
}

/* For fopencookie(). */
static ssize_t unpack(void *cookie, char *out, size_t size)
{
    struct unpacking *unpacking = cookie;
    if (size > PIECE)
        size = PIECE;
    long got =
        unpacking->is_gzip ? inflate_some(unpacking, out, size) : copy_some(unpacking, out, size);
    if (got > 0)
        unpacking->unpacked += (uint64_t)got;
    return unpacking->unpacked > UNPACKED_MAX ? -1 : got;
}

static bool begin(struct unpacking *unpacking)
{
    while (unpacking->first < 2) {
        long got = unpacking->bytes->read(unpacking->bytes->context,
                                          (char *)unpacking->packed + unpacking->first,
                                          sizeof unpacking->packed - unpacking->first);
        if (got <= 0)
            return false;
        unpacking->first += (size_t)got;
    }
    unpacking->is_gzip = unpacking->packed[0] == 0x1f && unpacking->packed[1] == 0x8b;
    if (!unpacking->is_gzip)
        return true;
    unpacking->stream.next_in = unpacking->packed;
    unpacking->stream.avail_in = (unsigned)unpacking->first;
    return inflateInit2(&unpacking->stream, GZIP_WINDOW) == Z_OK;
}

/* --- its entries --- */

static void add_text(crypto_generichash_state *state, const char *text)
{
    crypto_generichash_update(state, (const unsigned char *)text, strlen(text) + 1);
}

static void end_hash(crypto_generichash_state *state, char key[RECIPE_LISTING_KEY_SIZE])
{
    unsigned char sum[32];
    crypto_generichash_final(state, sum, sizeof sum);
    sodium_bin2hex(key, RECIPE_LISTING_KEY_SIZE, sum, sizeof sum);
}

static int hash_entry(struct tar_reader *reader, const struct tar_entry *entry,
                      char key[RECIPE_LISTING_KEY_SIZE], struct error **err)
{
    char facts[64], piece[PIECE];
    crypto_generichash_state state;
    ssize_t got;
    crypto_generichash_init(&state, NULL, 0, 32);
    snprintf(facts, sizeof facts, "%d %o", (int)entry->kind, entry->mode | entry->set_ids);
    add_text(&state, facts);
    add_text(&state, entry->target);
    while ((got = tar_reader_read(reader, piece, sizeof piece, err)) > 0)
        crypto_generichash_update(&state, (const unsigned char *)piece, (size_t)got);
    end_hash(&state, key);
    return got < 0 ? -1 : 0;
}

/* A hard link has the content of another entry, and a special file is no part of a context. */
static int add_entry(struct tar_reader *reader, const struct tar_entry *entry, json_t *list,
                     size_t *left, struct error **err)
{
    char key[RECIPE_LISTING_KEY_SIZE];
    if (entry->kind == TAR_HARD_LINK || entry->kind == TAR_SPECIAL ||
        strlen(entry->path) + ENTRY_LEAST > *left)
        return error_set(err, ERR_INVALID_REQUEST,
                         "cannot list the archive: it has hard links, special files, names that "
                         "are not UTF-8, or too many entries");
    *left -= strlen(entry->path) + ENTRY_LEAST;
    if (hash_entry(reader, entry, key, err) < 0)
        return -1;
    json_t *one = json_pack("[s, s, b]", entry->path, key, entry->kind == TAR_LINK);
    if (!one) /* no UTF-8 */
        return error_set(err, ERR_INVALID_REQUEST,
                         "cannot list the archive: it has hard links, special files, names that "
                         "are not UTF-8, or too many entries");
    json_array_append_new(list, one);
    return 0;
}

static json_t *list_all(FILE *file, size_t left)
{
    struct tar_reader reader = {.file = file};
    struct tar_entry entry;
    error_auto err = NULL;
    json_t *list = json_array();
    int result;
    while ((result = tar_reader_next(&reader, &entry, &err)) > 0)
        if (add_entry(&reader, &entry, list, &left, &err) < 0) {
            result = -1;
            break;
        }
    if (result == 0)
        return list;
    json_decref(list);
    return NULL;
}

char *recipe_listing_make(const struct recipe_bytes *bytes, size_t most)
{
    autofree struct unpacking *unpacking = xcalloc(1, sizeof *unpacking);
    const cookie_io_functions_t functions = {.read = unpack};
    char *text = NULL;
    unpacking->bytes = bytes;
    FILE *file = begin(unpacking) ? fopencookie(unpacking, "r", functions) : NULL;
    if (file) {
        json_auto_t *list = list_all(file, most);
        text = list ? json_dumps(list, JSON_COMPACT) : NULL;
        fclose(file);
    }
    if (unpacking->is_gzip)
        inflateEnd(&unpacking->stream);
    if (text && strlen(text) <= most)
        return text;
    free(text);
    return NULL;
}

/* --- the files of a step --- */

/* A path in parts. */
struct parts {
    char *text;
    const char *at[PARTS_MAX];
    size_t count;
};

/* Returns false when it has too many. "." and doubled slashes are no parts. */
static bool split(const char *path, struct parts *parts)
{
    char *rest = parts->text = xstrdup(path), *part;
    parts->count = 0;
    while ((part = strsep(&rest, "/"))) {
        if (!*part || str_equal(part, "."))
            continue;
        if (parts->count == PARTS_MAX)
            return false;
        parts->at[parts->count++] = part;
    }
    return true;
}

struct choosing {
    crypto_generichash_state state;
    unsigned count;
    bool is_unsure; /* a link may lead to other files, or the work is too much */
    size_t *left;
};

static bool take_work(size_t *left, size_t work)
{
    bool suffices = work <= *left;
    *left = suffices ? *left - work : 0;
    return suffices;
}

bool recipe_listing_take_work(const json_t *listing, size_t *left)
{
    return take_work(left, (json_array_size(listing) + 1) * ENTRY_WORK);
}

static bool matches(const char *pattern, const char *name, struct choosing *choosing)
{
    if (take_work(choosing->left, (strlen(pattern) + 1) * (strlen(name) + 1)))
        return fnmatch(pattern, name, 0) == 0;
    choosing->is_unsure = true;
    return false;
}

static bool fits(const struct parts *source, const struct parts *entry, bool is_pattern,
                 struct choosing *choosing)
{
    size_t count = source->count < entry->count ? source->count : entry->count;
    for (size_t i = 0; i < count; i++)
        if (is_pattern ? !matches(source->at[i], entry->at[i], choosing)
                       : !str_equal(source->at[i], entry->at[i]))
            return false;
    return true;
}

static void choose(const struct parts *source, const json_t *one, bool is_pattern,
                   struct choosing *choosing)
{
    struct parts entry;
    const char *path = json_string_value(json_array_get(one, 0));
    const char *key = json_string_value(json_array_get(one, 1));
    if (!path || !key || !take_work(choosing->left, (strlen(path) + 1) * SPLIT_WORK)) {
        choosing->is_unsure = true;
        return;
    }
    if (!split(path, &entry))
        choosing->is_unsure = true;
    else if (fits(source, &entry, is_pattern, choosing)) {
        choosing->is_unsure |= json_is_true(json_array_get(one, 2)) && entry.count <= source->count;
        if (entry.count >= source->count) {
            add_text(&choosing->state, path);
            add_text(&choosing->state, key);
            choosing->count++;
        }
    }
    free(entry.text);
}

/* Returns whether there was such an entry. */
static bool choose_all(const json_t *listing, const struct parts *source, bool is_pattern,
                       size_t *left, char key[RECIPE_LISTING_KEY_SIZE])
{
    struct choosing choosing = {.left = left};
    size_t count = json_array_size(listing);
    crypto_generichash_init(&choosing.state, NULL, 0, 32);
    for (size_t i = 0; i < count && !choosing.is_unsure; i++)
        choose(source, json_array_get(listing, i), is_pattern, &choosing);
    end_hash(&choosing.state, key);
    if (choosing.is_unsure || !choosing.count)
        *key = '\0';
    return choosing.count || choosing.is_unsure;
}

void recipe_listing_key(const json_t *listing, const char *source, size_t *left,
                        char key[RECIPE_LISTING_KEY_SIZE])
{
    struct parts parts;
    *key = '\0';
    if (strchr(source, '\\'))
        return;
    /* A name comes before a pattern. */
    if (split(source, &parts) && !choose_all(listing, &parts, false, left, key) &&
        recipe_copy_is_pattern(source))
        choose_all(listing, &parts, true, left, key);
    free(parts.text);
}
