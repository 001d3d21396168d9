/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which files of an archive a step copies, and archives that cannot be listed. */
#include "unit/unit.h"

#include <zlib.h>

#include "base/buffer.h"
#include "base/mem.h"
#include "base/tar.h"
#include "recipe/recipe_listing.h"

#define MOST 65536

/* --- archives --- */

static void add(struct buffer *archive, char type, const char *name, const char *data)
{
    static const char zeros[TAR_BLOCK];
    struct tar_header header = {.type = type, .magic = "ustar", .version = {'0', '0'}};
    bool is_link = type == '1' || type == '2';
    size_t size = is_link ? 0 : strlen(data);
    snprintf(header.name, sizeof header.name, "%s", name);
    snprintf(header.target, sizeof header.target, "%s", is_link ? data : "");
    snprintf(header.mode, sizeof header.mode, "%07o", 0644);
    snprintf(header.size, sizeof header.size, "%011o", (unsigned)size);
    snprintf(header.mtime, sizeof header.mtime, "%011o", (unsigned)archive->size);
    snprintf(header.checksum, sizeof header.checksum, "%06o", tar_checksum(&header));
    buffer_append(archive, (const char *)&header, sizeof header);
    buffer_append(archive, data, size);
    buffer_append(archive, zeros, (TAR_BLOCK - size % TAR_BLOCK) % TAR_BLOCK);
}

static void end(struct buffer *archive)
{
    static const char zeros[2 * TAR_BLOCK];
    buffer_append(archive, zeros, sizeof zeros);
}

struct source {
    const char *data;
    size_t left;
};

/* In small pieces. */
static long read_some(void *context, char *data, size_t size)
{
    struct source *source = context;
    size_t have = source->left < 7 ? source->left : 7;
    have = have < size ? have : size;
    memcpy(data, source->data, have);
    source->data += have;
    source->left -= have;
    return (long)have;
}

static char *list(const void *data, size_t size, size_t most)
{
    struct source source = {data, size};
    const struct recipe_bytes bytes = {read_some, &source};
    return recipe_listing_make(&bytes, most);
}

static char *list_packed(const struct buffer *archive)
{
    z_stream stream = {0};
    char packed[MOST];
    assert_int_equal(deflateInit2(&stream, 6, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY),
                     Z_OK);
    stream.next_in = (unsigned char *)archive->data;
    stream.avail_in = (unsigned)archive->size;
    stream.next_out = (unsigned char *)packed;
    stream.avail_out = sizeof packed;
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    size_t size = sizeof packed - stream.avail_out;
    deflateEnd(&stream);
    return list(packed, size, MOST);
}

/* --- tests --- */

static char *context(const char *changed)
{
    static const char *const names[] = {"a.txt",          "b.md",    "src/one.c",
                                        "src/deep/two.c", "[id].js", "src/.hidden.c"};
    struct buffer archive = BUFFER_INIT(MOST);
    add(&archive, '5', "./", "");
    add(&archive, '5', "src/", "");
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        add(&archive, '0', names[i], !strcmp(names[i], changed) ? "new" : "old");
    add(&archive, '2', "to-src", "src");
    end(&archive);
    char *text = list(archive.data, archive.size, MOST);
    assert_non_null(text);
    autofree char *packed = list_packed(&archive);
    assert_string_equal(packed, text);
    buffer_deinit(&archive);
    return text;
}

static void key_of(const char *text, const char *source, char key[RECIPE_LISTING_KEY_SIZE])
{
    json_auto_t *listing = json_loads(text, 0, NULL);
    size_t left = RECIPE_LISTING_WORK;
    assert_non_null(listing);
    recipe_listing_key(listing, source, &left, key);
}

TEST(a_source_counts_its_files_alone)
{
    static const struct {
        const char *source, *changed;
        bool counts;
    } cases[] = {
        {"a.txt", "a.txt", true},           {"a.txt", "b.md", false},
        {"./a.txt", "a.txt", true},         {"src", "src/one.c", true},
        {"src/", "src/deep/two.c", true},   {"src", "a.txt", false},
        {".", "src/deep/two.c", true},      {"*.txt", "a.txt", true},
        {"*.txt", "b.md", false},           {"*.txt", "src/one.c", false},
        {"s*/*.c", "src/one.c", true},      {"s*/*.c", "src/deep/two.c", false},
        {"src/d*", "src/deep/two.c", true}, {"[id].js", "[id].js", true},
        {"[id].js", "a.txt", false},        {"s*/*.c", "src/.hidden.c", true},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char before[RECIPE_LISTING_KEY_SIZE], after[RECIPE_LISTING_KEY_SIZE];
        autofree char *old = context(""), *new = context(cases[i].changed);
        key_of(old, cases[i].source, before);
        key_of(new, cases[i].source, after);
        assert_int_equal(strlen(before), RECIPE_LISTING_KEY_SIZE - 1);
        if (!strcmp(before, after) == cases[i].counts)
            fail_msg("case %zu: %s, %s", i, cases[i].source, cases[i].changed);
    }
}

TEST(an_unsure_source_has_no_key)
{
    static const char *const sources[] = {"to-src", "to-src/one.c", "t*/one.c", "to*",
                                          "none",   "a\\.txt",      "*"};
    autofree char *text = context("");
    for (size_t i = 0; i < ARRAY_SIZE(sources); i++) {
        char key[RECIPE_LISTING_KEY_SIZE];
        key_of(text, sources[i], key);
        assert_string_equal(key, "");
    }
}

/* Patterns that match nothing until their end, in all steps that a recipe may have. */
TEST(too_much_work_counts_as_unsure)
{
    char name[4001], pattern[4001], key[RECIPE_LISTING_KEY_SIZE];
    json_auto_t *listing = json_array();
    size_t left = RECIPE_LISTING_WORK;
    memset(name, 'a', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    memset(pattern, 'a', sizeof pattern / 2);
    pattern[0] = '*';
    strcpy(pattern + sizeof pattern / 2, "b");
    for (unsigned i = 0; i < 1000; i++)
        json_array_append_new(listing, json_pack("[s, s, b]", name, "hash", 0));
    recipe_listing_key(listing, name, &left, key);
    assert_int_equal(strlen(key), RECIPE_LISTING_KEY_SIZE - 1);
    assert_true(left < RECIPE_LISTING_WORK);
    for (unsigned step = 0; step < 200; step++)
        recipe_listing_key(listing, pattern, &left, key);
    assert_int_equal(left, 0);
    assert_string_equal(key, "");
    recipe_listing_key(listing, name, &left, key);
    assert_string_equal(key, "");
    assert_false(recipe_listing_take_work(listing, &left));
}

TEST(the_kind_of_an_entry_counts)
{
    char keys[3][RECIPE_LISTING_KEY_SIZE];
    static const char types[] = {'0', '5', '2'};
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        struct buffer archive = BUFFER_INIT(MOST);
        add(&archive, '5', "d", "");
        add(&archive, types[i], "d/x", types[i] == '2' ? "t" : "");
        end(&archive);
        autofree char *text = list(archive.data, archive.size, MOST);
        key_of(text, "d", keys[i]);
        buffer_deinit(&archive);
    }
    assert_string_not_equal(keys[0], keys[1]);
    assert_string_not_equal(keys[1], keys[2]);
    assert_string_not_equal(keys[0], keys[2]);
}

TEST(some_archives_have_no_list)
{
    struct buffer archive = BUFFER_INIT(MOST);
    assert_null(list("", 0, MOST));
    assert_null(list("x", 1, MOST));
    assert_null(list("\x1f\x8b no gzip", 11, MOST));
    add(&archive, '0', "a", "1");
    assert_null(list(archive.data, archive.size, MOST)); /* cut off */
    end(&archive);
    autofree char *good = list(archive.data, archive.size, MOST);
    assert_non_null(good);
    assert_null(list(archive.data, archive.size, strlen(good) - 1));
    static const struct {
        char type;
        const char *name, *data;
    } odd[] = {{'1', "hard", "a"},
               {'3', "device", ""},
               {'0', "../up", ""},
               {'0', "bad\xff", ""},
               {'S', "sparse", ""}};
    for (size_t i = 0; i < ARRAY_SIZE(odd); i++) {
        buffer_clear(&archive);
        add(&archive, odd[i].type, odd[i].name, odd[i].data);
        end(&archive);
        assert_null(list(archive.data, archive.size, MOST));
    }
    buffer_deinit(&archive);
}
