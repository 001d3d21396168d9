/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/tar_reader.h"

#include <stdbool.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/tar.h"

#define ENTRIES_MAX  4000000
#define EXTENDED_MAX (1 << 20) /* bytes of the extended headers of one entry */
#define SIZE_MOST    ((int64_t)1 << 50)

/* Extended headers describe the entry that follows them. */
struct extension {
    char *path, *target; /* NULL: as in the header */
    bool has_size, has_time;
    int64_t size;
    struct timespec modified;
};

static void extension_deinit(struct extension *extension)
{
    free(extension->path);
    free(extension->target);
}
#define extension_auto __attribute__((cleanup(extension_deinit))) struct extension

static int broken(struct error **err)
{
    return error_set(err, ERR_INTERNAL, "the archive is not a valid tar file");
}

/* --- bytes --- */

static int read_whole(struct tar_reader *reader, void *out, size_t size, struct error **err)
{
    if (fread(out, 1, size, reader->file) != size)
        return error_set(err, ERR_INTERNAL, "the archive is cut off before its end");
    return 0;
}

ssize_t tar_reader_read(struct tar_reader *reader, void *out, size_t size, struct error **err)
{
    size_t wanted = (int64_t)size < reader->left ? size : (size_t)reader->left;
    if (wanted && read_whole(reader, out, wanted, err) < 0)
        return -1;
    reader->left -= (int64_t)wanted;
    return (ssize_t)wanted;
}

static int skip(struct tar_reader *reader, struct error **err)
{
    char block[TAR_BLOCK * 16];
    reader->left += reader->padding;
    reader->padding = 0;
    while (reader->left)
        if (tar_reader_read(reader, block, sizeof block, err) < 0)
            return -1;
    return 0;
}

static void enter_data(struct tar_reader *reader, int64_t size)
{
    reader->left = size;
    reader->padding = (TAR_BLOCK - size % TAR_BLOCK) % TAR_BLOCK;
}

/* --- numbers --- */

/* Octal, or GNU tar's form of a larger number: binary after a first byte of 0x80. Times before 1970
 * count as 1970. An empty field is 0. */
static bool take_number(const char *field, size_t size, int64_t *value)
{
    unsigned long number = 0;
    *value = 0;
    if ((unsigned char)field[0] == 0xff)
        return true;
    if ((unsigned char)field[0] == 0x80) {
        for (size_t i = 1; i < size; i++) {
            if (*value >= SIZE_MOST)
                return false;
            *value = *value * 256 + (unsigned char)field[i];
        }
        return true;
    }
    while (size && *field == ' ') {
        field++;
        size--;
    }
    if (size && *field && !tar_number(field, size, &number))
        return false;
    *value = (int64_t)number;
    return true;
}

static bool take_size(const char *field, size_t size, int64_t *value)
{
    return take_number(field, size, value) && *value >= 0 && *value <= SIZE_MOST;
}

/* --- names --- */

static bool is_part(const char *part, size_t size, const char *name)
{
    return size == strlen(name) && !memcmp(part, name, size);
}

/* Part by part: a path of an archive never leads up and never starts at the root. */
static int take_path(const char *name, char out[PATH_MAX], struct error **err)
{
    size_t length = 0;
    if (name[0] == '/')
        return error_set(err, ERR_INTERNAL,
                         "the archive has the path %s, which leads out of the target folder", name);
    for (const char *at = name; *at;) {
        size_t part = strcspn(at, "/");
        if (is_part(at, part, ".."))
            return error_set(err, ERR_INTERNAL,
                             "the archive has the path %s, which leads out of the target folder",
                             name);
        if (part && !is_part(at, part, ".")) {
            if (length + part + 2 > PATH_MAX)
                return error_set(err, ERR_INTERNAL, "the archive has a path that is too long");
            if (length)
                out[length++] = '/';
            memcpy(out + length, at, part);
            length += part;
        }
        at += part + (at[part] == '/');
    }
    out[length] = '\0';
    return 0;
}

static char *name_of(const struct tar_header *header)
{
    bool has_prefix = !memcmp(header->magic, "ustar\0", 6) && header->prefix[0];
    return xasprintf("%.*s%s%.*s", has_prefix ? (int)sizeof header->prefix : 0, header->prefix,
                     has_prefix ? "/" : "", TAR_NAME_SIZE, header->name);
}

/* --- extensions --- */

static bool take_time(const char *text, struct timespec *time)
{
    char *end;
    long long seconds = strtoll(text, &end, 10);
    long nanoseconds = 0, unit = 100000000;
    if (end == text || (*end && *end != '.'))
        return false;
    for (const char *digit = *end ? end + 1 : end; *digit >= '0' && *digit <= '9' && unit;
         digit++) {
        nanoseconds += (*digit - '0') * unit;
        unit /= 10;
    }
    *time = (struct timespec){.tv_sec = (time_t)seconds, .tv_nsec = nanoseconds};
    return true;
}

static bool take_record(struct extension *extension, const char *key, const char *value)
{
    uint64_t size;
    if (str_equal(key, "path")) {
        free(extension->path);
        extension->path = xstrdup(value);
    } else if (str_equal(key, "linkpath")) {
        free(extension->target);
        extension->target = xstrdup(value);
    } else if (str_equal(key, "size")) {
        if (str_parse_u64(value, 0, SIZE_MOST, &size) < 0)
            return false;
        extension->has_size = true;
        extension->size = (int64_t)size;
    } else if (str_equal(key, "mtime")) {
        extension->has_time = take_time(value, &extension->modified);
        return extension->has_time;
    }
    return !str_starts_with(key, "GNU.sparse.");
}

/* Lines "<length of the whole line> <key>=<value>\n". */
static bool take_records(struct extension *extension, char *text, size_t size)
{
    for (size_t at = 0; at < size;) {
        char *end, *line = text + at;
        unsigned long length = strtoul(line, &end, 10);
        char *key = end + 1;
        if (end == line || *end != ' ' || length > size - at || length < (size_t)(key - line) + 3 ||
            line[length - 1] != '\n' || memchr(line, '\0', length))
            return false;
        line[length - 1] = '\0';
        char *value = strchr(key, '=');
        if (!value)
            return false;
        *value++ = '\0';
        if (!take_record(extension, key, value))
            return false;
        at += length;
    }
    return true;
}

static int take_extension(struct tar_reader *reader, char type, int64_t size,
                          struct extension *extension, struct error **err)
{
    if (size > EXTENDED_MAX)
        return broken(err);
    autofree char *text = xcalloc((size_t)size + 1, 1);
    if (tar_reader_read(reader, text, (size_t)size, err) < 0)
        return -1;
    switch (type) {
    case 'L':
        free(extension->path);
        extension->path = xstrdup(text);
        return 0;
    case 'K':
        free(extension->target);
        extension->target = xstrdup(text);
        return 0;
    case 'x':
        return take_records(extension, text, (size_t)size) ? 0 : broken(err);
    default: /* 'g': for all that follow; nothing that counts here is said so */
        return 0;
    }
}

/* --- entries --- */

static int take_kind(const struct tar_header *header, struct tar_entry *entry, struct error **err)
{
    switch (header->type) {
    case '\0':
    case '0':
    case '7':
        entry->kind = TAR_FILE;
        return 0;
    case '1':
        entry->kind = TAR_HARD_LINK;
        return 0;
    case '2':
        entry->kind = TAR_LINK;
        return 0;
    case '3':
    case '4':
    case '6':
        entry->kind = TAR_SPECIAL;
        return 0;
    case '5':
        entry->kind = TAR_FOLDER;
        return 0;
    default:
        return error_set(err, ERR_INTERNAL, "the archive has an entry of an unknown type");
    }
}

static int take_target(const struct tar_header *header, const struct extension *extension,
                       struct tar_entry *entry, struct error **err)
{
    autofree char *plain = xstrndup(header->target, TAR_NAME_SIZE);
    const char *target = extension->target ? extension->target : plain;
    if (entry->kind == TAR_HARD_LINK)
        return take_path(target, entry->target, err);
    if (strlen(target) >= sizeof entry->target)
        return error_set(err, ERR_INTERNAL, "the archive has a path that is too long");
    memcpy(entry->target, target, strlen(target) + 1);
    return 0;
}

static int take_entry(struct tar_reader *reader, const struct tar_header *header,
                      const struct extension *extension, struct tar_entry *entry,
                      struct error **err)
{
    int64_t mode, seconds, size;
    autofree char *plain = name_of(header);
    *entry = (struct tar_entry){.kind = TAR_FILE};
    if (!take_number(header->mode, sizeof header->mode, &mode) ||
        !take_number(header->mtime, sizeof header->mtime, &seconds) ||
        !take_size(header->size, sizeof header->size, &size))
        return broken(err);
    if (take_kind(header, entry, err) < 0 ||
        take_path(extension->path ? extension->path : plain, entry->path, err) < 0 ||
        take_target(header, extension, entry, err) < 0)
        return -1;
    entry->mode = (mode_t)mode & 0777;
    entry->set_ids = (mode_t)mode & 07000;
    entry->modified =
        extension->has_time ? extension->modified : (struct timespec){.tv_sec = seconds};
    if (entry->kind == TAR_FILE)
        entry->size = extension->has_size ? extension->size : size;
    enter_data(reader, entry->kind == TAR_FILE ? entry->size : 0);
    return 1;
}

static bool is_end(const struct tar_header *header)
{
    static const struct tar_header zeros;
    return !memcmp(header, &zeros, sizeof zeros);
}

static int read_header(struct tar_reader *reader, struct tar_header *header, struct error **err)
{
    unsigned long checksum;
    if (skip(reader, err) < 0 || read_whole(reader, header, sizeof *header, err) < 0)
        return -1;
    if (is_end(header))
        return 0;
    if (memcmp(header->magic, "ustar", 5) != 0 ||
        !tar_number(header->checksum, sizeof header->checksum, &checksum) ||
        checksum != tar_checksum(header))
        return broken(err);
    if (++reader->entries > ENTRIES_MAX)
        return error_set(err, ERR_INTERNAL, "the archive has more than %d entries", ENTRIES_MAX);
    return 1;
}

int tar_reader_next(struct tar_reader *reader, struct tar_entry *entry, struct error **err)
{
    struct tar_header header;
    extension_auto extension = {.path = NULL};
    int64_t size;
    for (;;) {
        int rc = read_header(reader, &header, err);
        if (rc <= 0)
            return rc;
        if (!header.type || !strchr("LKxg", header.type))
            return take_entry(reader, &header, &extension, entry, err);
        if (!take_size(header.size, sizeof header.size, &size))
            return broken(err);
        enter_data(reader, size);
        if (take_extension(reader, header.type, size, &extension, err) < 0)
            return -1;
    }
}
