/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The JSON file of Debian's security tracker: {SOURCE: {CVE: {"releases": {RELEASE: {"status",
 * "fixed_version", "urgency", ...}}}}}. It has some hundred MiB for all of Debian. So it is read
 * byte by byte, and only the objects of our sources are kept and parsed.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "ctl/debian_version.h"
#include "ctl/holes.h"

#define KEY_SIZE   64
#define FIRST_YEAR 2025

static const char *const sources[] = {"incus", "lxc", "lxcfs", "criu", "nginx", "libssh", "linux"};
static const char *const wanted_releases[] = {"bookworm", "trixie", "forky"};

/* --- finding the objects --- */

struct scanner {
    FILE *file;
    long left; /* bytes that may still be read */
    unsigned depth;
    bool in_string, is_escaped;
    char key[KEY_SIZE]; /* the last string at depth 1, cut */
    size_t key_length;
    struct buffer *kept; /* NULL: the bytes are passed over */
};

static void take(struct scanner *scanner, int byte)
{
    if (scanner->in_string) {
        if (scanner->is_escaped)
            scanner->is_escaped = false;
        else if (byte == '\\')
            scanner->is_escaped = true;
        else if (byte == '"')
            scanner->in_string = false;
        if (scanner->depth == 1 && scanner->in_string && scanner->key_length < KEY_SIZE - 1)
            scanner->key[scanner->key_length++] = (char)byte;
    } else if (byte == '"') {
        scanner->in_string = true;
        if (scanner->depth == 1)
            scanner->key_length = 0;
    } else if (byte == '{' || byte == '[') {
        scanner->depth++;
    } else if ((byte == '}' || byte == ']') && scanner->depth) {
        scanner->depth--;
    }
}

static bool is_source(const char *key)
{
    for (size_t i = 0; i < ARRAY_SIZE(sources); i++)
        if (str_equal(key, sources[i]))
            return true;
    return false;
}

/* Keep the next object of a source that we want. Returns 1, 0 at the end of the file, or -1. */
static int next_object(struct scanner *scanner, struct buffer *object, struct error **err)
{
    int byte;
    buffer_clear(object);
    while ((byte = getc_unlocked(scanner->file)) != EOF) {
        unsigned before = scanner->depth;
        if (scanner->left-- == 0)
            return error_set(err, ERR_INVALID_REQUEST, "the tracker's file has more than %ld MiB",
                             TRACKER_MAX >> 20);
        take(scanner, byte);
        if (before == 1 && scanner->depth == 2) {
            scanner->key[scanner->key_length] = '\0';
            scanner->kept = is_source(scanner->key) ? object : NULL;
        }
        if (!scanner->kept)
            continue;
        if (buffer_append_char(object, (char)byte) < 0)
            return error_set(err, ERR_INVALID_REQUEST, "%s has more than %ld MiB of holes",
                             scanner->key, TRACKER_SOURCE_MAX >> 20);
        if (scanner->depth == 1) {
            scanner->kept = NULL;
            return 1;
        }
    }
    if (scanner->depth)
        return error_set(err, ERR_INVALID_REQUEST, "the tracker's file is cut off");
    return 0;
}

/* --- rows --- */

static bool names_it(const struct hole *row, const char *name)
{
    const char *at = strstr(row->names, name);
    size_t length = strlen(name);
    return at && (at[length] == ' ' || at[length] == '\0');
}

/* The row of a source that names a hole; NULL: no row does. */
static const struct hole *row_of(const struct holes *holes, const char *source, const char *name)
{
    for (size_t i = 0; i < holes->count; i++)
        if (str_equal(holes->rows[i].source, source) && names_it(&holes->rows[i], name))
            return &holes->rows[i];
    return NULL;
}

/* Add a hole to the row of the same version, or as a row of its own. */
static int add_hole(struct holes *holes, const struct hole *hole)
{
    for (size_t i = 0; i < holes->count; i++) {
        struct hole *row = &holes->rows[i];
        if (!str_equal(row->source, hole->source) || !str_equal(row->release, hole->release) ||
            debian_version_compare(row->fixed, hole->fixed) != 0 ||
            strlen(row->names) + strlen(hole->names) + 2 > HOLE_NAMES_SIZE)
            continue;
        char *names = xasprintf("%s %s", row->names, hole->names);
        free((char *)row->names);
        row->names = names;
        return 0;
    }
    return holes_add(holes, hole);
}

/* A word of a row: the file separates words by blanks. */
static bool is_word(const char *text, size_t size)
{
    return text && *text && strlen(text) < size && !text[strcspn(text, " \t\r\n,#")];
}

static int add_releases(struct holes *fresh, const struct holes *known, const char *source,
                        const char *name, const json_t *releases)
{
    const struct hole *row = row_of(known, source, name);
    for (size_t i = 0; i < ARRAY_SIZE(wanted_releases); i++) {
        const json_t *release = json_object_get(releases, wanted_releases[i]);
        const char *fixed = json_string_value(json_object_get(release, "fixed_version"));
        const char *urgency = json_string_value(json_object_get(release, "urgency"));
        /* "0": the release never had the hole. */
        if (!is_word(fixed, HOLE_VERSION_SIZE) || str_equal(fixed, "0") ||
            str_equal(urgency, "unimportant"))
            continue;
        struct hole hole = {source, wanted_releases[i], fixed, name,
                            row ? row->why : "a security fix of Debian"};
        if (add_hole(fresh, &hole) < 0)
            return -1;
    }
    return 0;
}

static bool is_wanted(const struct holes *known, const char *source, const char *name)
{
    if (!str_starts_with(name, "CVE-") || !is_word(name, KEY_SIZE))
        return false;
    /* The kernel has thousands, and most of them do not matter to sandboxes. */
    if (str_equal(source, "linux"))
        return row_of(known, source, name) != NULL;
    return strtol(name + strlen("CVE-"), NULL, 10) >= FIRST_YEAR;
}

static int add_source(struct holes *fresh, const struct holes *known, const char *source,
                      const struct buffer *object, struct error **err)
{
    json_error_t problem;
    json_auto_t *tree = json_loadb(object->data, object->size, 0, &problem);
    const char *name;
    json_t *hole;
    if (!json_is_object(tree))
        return error_set(err, ERR_INVALID_REQUEST,
                         "%s in the tracker's file is not a JSON object: %s", source,
                         tree ? "another value" : problem.text);
    json_object_foreach (tree, name, hole)
        if (is_wanted(known, source, name) &&
            add_releases(fresh, known, source, name, json_object_get(hole, "releases")) < 0)
            return error_set(err, ERR_INVALID_REQUEST, "there are more than %d rows", HOLES_MAX);
    return 0;
}

int holes_from_tracker(FILE *file, struct holes *holes, struct error **err)
{
    buffer_auto object = BUFFER_INIT(TRACKER_SOURCE_MAX);
    struct scanner scanner = {.file = file, .left = TRACKER_MAX};
    holes_auto fresh = {0};
    int found;
    while ((found = next_object(&scanner, &object, err)) > 0)
        if (add_source(&fresh, holes, scanner.key, &object, err) < 0)
            return -1;
    if (found < 0)
        return -1;
    if (!fresh.count)
        return error_set(err, ERR_INVALID_REQUEST,
                         "the file has no hole of the programs that sandboxes touch. Check that it "
                         "is the tracker's JSON file.");
    struct holes old = *holes;
    *holes = fresh;
    fresh = old;
    return 0;
}
