/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "crypto/keyring.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/mem.h"
#include "base/panic.h"
#include "crypto/crypto.h"
#include "crypto/keyring_file.h"

#define MASTER_BYTES   crypto_kdf_KEYBYTES
#define FILE_MAX_BYTES (64u << 10)

/* crypto_kdf's context: eight bytes that say whose subkeys these are. */
static const char kdf_context[crypto_kdf_CONTEXTBYTES] = {'s', 'a', 'n', 'd', 'l', 'o', 't', '1'};

/* The mark of a key that all fronts must have before one uses it. */
#define NEXT " next"

struct master {
    uint16_t id;
    bool is_next;
    unsigned char key[MASTER_BYTES];
};

struct keyring {
    struct master *masters; /* sodium_malloc() */
    size_t count;
};

/* --- parsing --- */

static const struct master *find(const struct keyring *ring, uint16_t id)
{
    for (size_t i = 0; i < ring->count; i++)
        if (ring->masters[i].id == id)
            return &ring->masters[i];
    return NULL;
}

static const struct master *newest(const struct keyring *ring)
{
    for (size_t i = ring->count; i > 0; i--)
        if (!ring->masters[i - 1].is_next)
            return &ring->masters[i - 1];
    return NULL;
}

/* 1 … 65535 without leading zeros; moves *at behind it. 0: none. */
static uint16_t parse_id(const char **at, const char *end)
{
    uint32_t id = 0;
    const char *c = *at;
    for (; c < end && *c >= '0' && *c <= '9' && id <= UINT16_MAX; c++)
        id = id * 10 + (uint32_t)(*c - '0');
    if (c == *at || **at == '0' || id > UINT16_MAX)
        return 0;
    *at = c;
    return (uint16_t)id;
}

static const char *skip_blanks(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\r'))
        at++;
    return at;
}

static const char *drop_blanks(const char *at, const char *end)
{
    while (end > at && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r'))
        end--;
    return end;
}

/* Moves *end before the mark. */
static bool drop_mark(const char *at, const char **end)
{
    size_t mark = strlen(NEXT);
    const char *last = drop_blanks(at, *end);
    if ((size_t)(last - at) < mark || memcmp(last - mark, NEXT, mark) != 0)
        return false;
    *end = last - mark;
    return true;
}

static int parse_key(const char *at, const char *end, unsigned char key[MASTER_BYTES])
{
    const char *behind;
    size_t size;
    const char *last = drop_blanks(at, end);
    if ((size_t)(last - at) != 2 * MASTER_BYTES ||
        sodium_hex2bin(key, MASTER_BYTES, at, (size_t)(last - at), NULL, &size, &behind) != 0)
        return -1;
    return size == MASTER_BYTES && behind == last ? 0 : -1;
}

/* Read one line without its end. An error names the line, never its contents. */
static int parse_line(struct keyring *ring, const char *at, const char *end, unsigned line,
                      struct error **err)
{
    at = skip_blanks(at, end);
    if (at == end || *at == '#')
        return 0;
    if (ring->count == KEYRING_KEYS_MAX)
        return error_set(err, ERR_CONFIG, "line %u: more than %u keys", line, KEYRING_KEYS_MAX);
    struct master *master = &ring->masters[ring->count];
    master->id = parse_id(&at, end);
    const char *key = skip_blanks(at, end);
    if (!master->id || key == at)
        return error_set(err, ERR_CONFIG,
                         "line %u: it must begin with the key's id, 1 to 65535, and a blank", line);
    master->is_next = drop_mark(key, &end);
    if (find(ring, master->id))
        return error_set(err, ERR_CONFIG, "line %u: the id %u is there twice", line, master->id);
    if (parse_key(key, end, master->key) < 0)
        return error_set(err, ERR_CONFIG, "line %u: the key is not %d hexadecimal digits", line,
                         (int)(2 * MASTER_BYTES));
    if (sodium_is_zero(master->key, MASTER_BYTES))
        return error_set(err, ERR_CONFIG, "line %u: the key is all zeros", line);
    ring->count++;
    return 0;
}

int keyring_parse(const char *text, size_t size, struct keyring **out, struct error **err)
{
    crypto_init();
    struct keyring *ring = xcalloc(1, sizeof *ring);
    ring->masters = sodium_allocarray(KEYRING_KEYS_MAX, sizeof *ring->masters);
    if (!ring->masters)
        panic("out of memory for the key ring");
    const char *end = text + size;
    for (unsigned line = 1; text < end; line++) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        const char *line_end = newline ? newline : end;
        if (parse_line(ring, text, line_end, line, err) < 0) {
            keyring_free(ring);
            return -1;
        }
        text = newline ? newline + 1 : end;
    }
    if (!newest(ring)) {
        keyring_free(ring);
        return error_set(err, ERR_CONFIG, "it has no key that is in use");
    }
    sodium_mprotect_readonly(ring->masters);
    *out = ring;
    return 0;
}

void keyring_free(struct keyring *ring)
{
    if (!ring)
        return;
    sodium_free(ring->masters); /* wipes */
    free(ring);
}

/* --- files --- */

/* The file's text into text; the caller wipes it. */
static int read_file(const char *path, struct buffer *text, struct error **err)
{
    autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat info;
    if (fd < 0 || fstat(fd, &info) < 0)
        return error_set_errno(err, ERR_CONFIG, errno, "cannot open the key file %s", path);
    if (!S_ISREG(info.st_mode))
        return error_set(err, ERR_CONFIG, "the key file %s is not a regular file", path);
    if (info.st_mode & (S_IRWXO | S_IWGRP))
        return error_set(
            err, ERR_CONFIG,
            "the key file %s has mode %04o: only its owner may write it and only owner "
            "and group may read it (chmod 0640)",
            path, (unsigned)info.st_mode & 07777);
    char *room = buffer_reserve(text, FILE_MAX_BYTES);
    size_t size = 0;
    for (ssize_t got = 1; got != 0; size += (size_t)got) {
        got = read(fd, room + size, FILE_MAX_BYTES - size);
        if (got < 0)
            return error_set_errno(err, ERR_CONFIG, errno, "cannot read the key file %s", path);
    }
    buffer_commit(text, size);
    if (size == FILE_MAX_BYTES)
        return error_set(err, ERR_CONFIG, "the key file %s is too large", path);
    return 0;
}

static int load(const char *path, struct buffer *text, struct keyring **ring, struct error **err)
{
    if (read_file(path, text, err) < 0)
        return -1;
    if (keyring_parse(buffer_string(text), text->size, ring, err) < 0)
        return error_context(err, "the key file %s", path);
    return 0;
}

int keyring_load(const char *path, struct keyring **ring, struct error **err)
{
    struct buffer text = BUFFER_INIT(FILE_MAX_BYTES);
    int result = load(path, &text, ring, err);
    buffer_wipe(&text);
    return result;
}

static void append_key(struct buffer *text, unsigned id, const char *mark)
{
    unsigned char key[MASTER_BYTES];
    char hex[2 * MASTER_BYTES + 1];
    crypto_init();
    randombytes_buf(key, sizeof key);
    sodium_bin2hex(hex, sizeof hex, key, sizeof key);
    buffer_printf(text, "%u %s%s\n", id, hex, mark);
    sodium_memzero(key, sizeof key);
    sodium_memzero(hex, sizeof hex);
}

/* All bytes to fd, and both the file and its name on the disk. */
static int write_out(int fd, const struct buffer *text)
{
    for (size_t done = 0; done < text->size;) {
        ssize_t wrote = write(fd, text->data + done, text->size - done);
        if (wrote < 0 && errno != EINTR)
            return -1;
        done += wrote > 0 ? (size_t)wrote : 0;
    }
    return fsync(fd);
}

static void sync_directory_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    autofree char *directory = slash ? xstrndup(path, (size_t)(slash - path) + 1) : xstrdup(".");
    autoclose int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0)
        fsync(fd);
}

/* Create the file; fail if it exists. */
static int write_new(const char *path, const struct buffer *text, struct error **err)
{
    autoclose int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    int result = fd >= 0 ? write_out(fd, text) : -1;
    if (result < 0) {
        error_set_errno(err, ERR_CONFIG, errno, "cannot write the key file %s", path);
        if (fd >= 0)
            unlink(path);
    }
    sync_directory_of(path);
    return result;
}

int keyring_create(const char *path, struct error **err)
{
    struct buffer text = BUFFER_INIT(FILE_MAX_BYTES);
    buffer_append_string(
        &text, "# sandlot key ring: id and master key, newest last. Without this file the\n# "
               "sealed data of the database is lost: keep a copy, apart from the database's.\n");
    append_key(&text, 1, "");
    int result = write_new(path, &text, err);
    buffer_wipe(&text);
    return result;
}

/* Put text in the place of the file at path, with the same owner and mode. */
static int replace_file(const char *path, const struct buffer *text, struct error **err)
{
    autofree char *next = xasprintf("%s.XXXXXX", path);
    struct stat info;
    autoclose int fd = stat(path, &info) == 0 ? mkostemp(next, O_CLOEXEC) : -1;
    if (fd < 0)
        return error_set_errno(err, ERR_CONFIG, errno, "cannot write next to the key file %s",
                               path);
    if (fchown(fd, info.st_uid, info.st_gid) < 0 || fchmod(fd, info.st_mode & 07777) < 0 ||
        write_out(fd, text) < 0 || rename(next, path) < 0) {
        error_set_errno(err, ERR_CONFIG, errno, "cannot replace the key file %s", path);
        unlink(next);
        return -1;
    }
    sync_directory_of(path);
    return 0;
}

/* The id of the next key; 0: no room. *waiting: a key is not in use yet. */
static unsigned next_id(const struct keyring *ring, bool *waiting)
{
    unsigned next = 0;
    *waiting = false;
    for (size_t i = 0; i < ring->count; i++) {
        *waiting |= ring->masters[i].is_next;
        if (ring->masters[i].id >= next)
            next = ring->masters[i].id + 1u;
    }
    return ring->count == KEYRING_KEYS_MAX || next > UINT16_MAX ? 0 : next;
}

static int append(const char *path, struct buffer *text, const char *mark, struct error **err)
{
    struct keyring *ring = NULL;
    bool waiting;
    if (load(path, text, &ring, err) < 0)
        return -1;
    unsigned next = next_id(ring, &waiting);
    keyring_free(ring);
    if (waiting)
        return error_set(err, ERR_CONFIG,
                         "the key file %s already has a new key that is not in use; run "
                         "`sandlotctl keyring use` when all front nodes have it",
                         path);
    if (!next)
        return error_set(err, ERR_CONFIG, "the key file %s has no room for another key", path);
    if (text->data[text->size - 1] != '\n')
        buffer_append_char(text, '\n');
    append_key(text, next, mark);
    if (buffer_overflowed(text))
        return error_set(err, ERR_CONFIG, "the key file %s is too large", path);
    return replace_file(path, text, err);
}

static int rotate(const char *path, struct buffer *text, struct error **err)
{
    return append(path, text, "", err);
}

static int add(const char *path, struct buffer *text, struct error **err)
{
    return append(path, text, NEXT, err);
}

/* Each line as it is, but for the mark. */
static void without_marks(const struct buffer *text, struct buffer *plain)
{
    const char *at = text->data, *end = at + text->size;
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *line_end = newline ? newline : end, *cut = line_end;
        if (*skip_blanks(at, line_end) != '#')
            drop_mark(at, &cut);
        buffer_append(plain, at, (size_t)(cut - at));
        buffer_append_char(plain, '\n');
        at = newline ? newline + 1 : end;
    }
}

static int use(const char *path, struct buffer *text, struct error **err)
{
    struct keyring *ring = NULL;
    bool waiting;
    if (load(path, text, &ring, err) < 0)
        return -1;
    next_id(ring, &waiting);
    keyring_free(ring);
    if (!waiting)
        return error_set(
            err, ERR_CONFIG,
            "the key file %s has no new key to use; add one with `sandlotctl keyring add`", path);
    struct buffer plain = BUFFER_INIT(FILE_MAX_BYTES + 256);
    without_marks(text, &plain);
    int result = replace_file(path, &plain, err);
    buffer_wipe(&plain);
    return result;
}

/* Copy all lines except that of the key. */
static void without_key(const struct buffer *text, uint16_t key_id, struct buffer *rest)
{
    const char *at = text->data, *end = at + text->size;
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *line_end = newline ? newline + 1 : end, *number = skip_blanks(at, line_end);
        if (parse_id(&number, line_end) != key_id)
            buffer_append(rest, at, (size_t)(line_end - at));
        at = line_end;
    }
}

int keyring_drop(const char *path, uint16_t key_id, struct error **err)
{
    autofree char *file = realpath(path, NULL);
    struct buffer text = BUFFER_INIT(FILE_MAX_BYTES), rest = BUFFER_INIT(FILE_MAX_BYTES);
    struct keyring *ring = NULL;
    if (!file)
        return error_set_errno(err, ERR_CONFIG, errno, "cannot open the key file %s", path);
    int result = load(file, &text, &ring, err);
    if (result == 0) {
        const struct master *master = find(ring, key_id);
        if (!master || master->is_next || master == newest(ring))
            result =
                error_set(err, ERR_CONFIG, "the key file %s has no older key %u", path, key_id);
        keyring_free(ring);
    }
    if (result == 0) {
        without_key(&text, key_id, &rest);
        result = replace_file(file, &rest, err);
    }
    buffer_wipe(&text);
    buffer_wipe(&rest);
    return result;
}

static int change(const char *path,
                  int (*how)(const char *path, struct buffer *text, struct error **err),
                  struct error **err)
{
    /* Behind a symbolic link the file itself is to be replaced, not the link. */
    autofree char *file = realpath(path, NULL);
    if (!file)
        return error_set_errno(err, ERR_CONFIG, errno, "cannot open the key file %s", path);
    struct buffer text = BUFFER_INIT(FILE_MAX_BYTES + 256);
    int result = how(file, &text, err);
    buffer_wipe(&text);
    return result;
}

int keyring_rotate(const char *path, struct error **err)
{
    return change(path, rotate, err);
}

int keyring_add(const char *path, struct error **err)
{
    return change(path, add, err);
}

int keyring_use(const char *path, struct error **err)
{
    return change(path, use, err);
}

int keyring_read_text(const char *path, struct buffer *text, struct error **err)
{
    struct keyring *ring;
    if (load(path, text, &ring, err) < 0)
        return -1;
    keyring_free(ring);
    return 0;
}

static bool holds(const char *path, const struct buffer *text)
{
    struct buffer there = BUFFER_INIT(FILE_MAX_BYTES);
    error_auto ignored = NULL;
    bool same = read_file(path, &there, &ignored) == 0 && there.size == text->size &&
                sodium_memcmp(there.data, text->data, text->size) == 0;
    buffer_wipe(&there);
    return same;
}

static int keep_before(const char *path, struct error **err)
{
    autofree char *before = xasprintf("%s.before", path);
    unlink(before);
    return link(path, before) == 0
               ? 0
               : error_set_errno(err, ERR_CONFIG, errno,
                                 "cannot keep a copy of the key file %s as %s", path, before);
}

int keyring_put_text(const char *path, const struct buffer *text, bool *replaced,
                     struct error **err)
{
    struct keyring *ring;
    autofree char *file = realpath(path, NULL);
    *replaced = false;
    if (keyring_parse(buffer_string(text), text->size, &ring, err) < 0)
        return error_context(err, "the key ring for %s", path);
    keyring_free(ring);
    if (!file)
        return write_new(path, text, err);
    if (holds(file, text))
        return 0;
    *replaced = true;
    return keep_before(file, err) < 0 ? -1 : replace_file(file, text, err);
}

/* --- use --- */

uint16_t keyring_newest(const struct keyring *ring)
{
    return newest(ring)->id;
}

bool keyring_key_at(const struct keyring *ring, size_t index, struct keyring_key *key)
{
    if (index >= ring->count)
        return false;
    *key = (struct keyring_key){ring->masters[index].id, !ring->masters[index].is_next};
    return true;
}

int keyring_subkey(const struct keyring *ring, uint16_t key_id, enum key_purpose purpose,
                   unsigned char out[KEYRING_SUBKEY_BYTES], struct error **err)
{
    const struct master *master = find(ring, key_id);
    if (!master)
        return error_set(err, ERR_CONFIG, "the key ring has no key %u", key_id);
    crypto_kdf_derive_from_key(out, KEYRING_SUBKEY_BYTES, (uint64_t)purpose, kdf_context,
                               master->key);
    return 0;
}
