/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "db/migration_file.h"

#include <dirent.h>
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/mem.h"
#include "base/str.h"

#define FILE_MAX_BYTES (1u << 20)
#define FILES_MAX      9999u
#define NAME_MAX_BYTES 128

/* --- statements --- */

static const char *line_end(const char *line)
{
    return line + strcspn(line, "\n");
}

static bool is_comment_or_blank(const char *line)
{
    line += strspn(line, " \t\r");
    return *line == '\n' || *line == '\0' || strncmp(line, "--", 2) == 0;
}

/* Where the statement ends on this line, or NULL: its last ';' with only blanks behind. */
static const char *closing_semicolon(const char *line)
{
    const char *last = line_end(line);
    while (last > line && strchr(" \t\r", last[-1]))
        last--;
    return last > line && last[-1] == ';' ? last - 1 : NULL;
}

static const char *skip_idle_lines(const char *at)
{
    while (*at && is_comment_or_blank(at)) {
        at = line_end(at);
        at += *at == '\n';
    }
    return at;
}

bool migration_next_statement(const char **at, const char **statement, size_t *length)
{
    const char *line = skip_idle_lines(*at);
    *statement = line;
    while (*line) {
        const char *end = is_comment_or_blank(line) ? NULL : closing_semicolon(line);
        line = line_end(line);
        line += *line == '\n';
        if (end) {
            *length = (size_t)(end - *statement);
            *at = line;
            return true;
        }
    }
    return false;
}

static int check_text(const struct migration_file *file, struct error **err)
{
    const char *at = file->text, *statement;
    size_t length, count = 0;
    while (migration_next_statement(&at, &statement, &length))
        count++;
    if (*skip_idle_lines(at) || !count)
        return error_set(
            err, ERR_CONFIG,
            "migration %04u-%s: a statement does not end with ';' at the end of a line",
            file->version, file->name);
    return 0;
}

/* --- files --- */

static int read_text(const char *directory, const char *entry, struct migration_file *file,
                     struct error **err)
{
    autofree char *path = xasprintf("%s/%s", directory, entry);
    autofclose FILE *stream = fopen(path, "re");
    if (!stream)
        return error_set_errno(err, ERR_CONFIG, errno, "cannot open %s", path);
    buffer_auto text = BUFFER_INIT(FILE_MAX_BYTES);
    char block[8192];
    size_t got;
    while ((got = fread(block, 1, sizeof block, stream)) > 0)
        buffer_append(&text, block, got);
    if (ferror(stream))
        return error_set_errno(err, ERR_CONFIG, errno, "cannot read %s", path);
    if (buffer_overflowed(&text) || strlen(buffer_string(&text)) != text.size)
        return error_set(err, ERR_CONFIG, "%s is not a text of at most %u bytes", path,
                         FILE_MAX_BYTES);

    unsigned char sum[32];
    crypto_generichash(sum, sizeof sum, (const unsigned char *)buffer_string(&text), text.size,
                       NULL, 0);
    sodium_bin2hex(file->checksum, sizeof file->checksum, sum, sizeof sum);
    file->text = buffer_steal(&text);
    return check_text(file, err);
}

/* "0001-initial.sql" becomes 1 and "initial". false: not the name of a migration. */
static bool parse_name(const char *entry, struct migration_file *file)
{
    size_t length = strlen(entry);
    if (strspn(entry, "0123456789") != 4 || entry[4] != '-' || !str_ends_with(entry, ".sql") ||
        length <= 9 || length > NAME_MAX_BYTES)
        return false;
    file->version = (unsigned)strtoul(entry, NULL, 10);
    file->name = xstrndup(entry + 5, length - 9);
    return true;
}

static int by_version(const void *a, const void *b)
{
    const struct migration_file *left = a, *right = b;
    return left->version < right->version ? -1 : left->version > right->version;
}

static int read_entry(const char *directory, const char *entry, struct migration_files *files,
                      struct error **err)
{
    struct migration_file file = {0};
    if (!parse_name(entry, &file))
        return error_set(err, ERR_CONFIG, "%s/%s: name the migration NNNN-name.sql", directory,
                         entry);
    files->files = xreallocarray(files->files, files->count + 1, sizeof *files->files);
    files->files[files->count++] = file;
    return read_text(directory, entry, &files->files[files->count - 1], err);
}

static int check_numbers(const char *directory, const struct migration_files *files,
                         unsigned target, struct error **err)
{
    for (size_t i = 0; i < files->count; i++)
        if (files->files[i].version != i + 1)
            return error_set(err, ERR_CONFIG,
                             "%s: migration %04zu is missing; the next one is %04u-%s.sql",
                             directory, i + 1, files->files[i].version, files->files[i].name);
    if (files->count != target)
        return error_set(err, ERR_CONFIG,
                         "%s has %zu migrations, and this program needs %u: install programs and "
                         "migrations of the same release",
                         directory, files->count, target);
    return 0;
}

int migration_files_read(const char *directory, unsigned target, struct migration_files *files,
                         struct error **err)
{
    DIR *listing = opendir(directory);
    if (!listing)
        return error_set_errno(err, ERR_CONFIG, errno, "cannot open the migrations in %s",
                               directory);
    int result = 0;
    for (struct dirent *entry; result == 0 && (entry = readdir(listing));)
        if (str_ends_with(entry->d_name, ".sql") && files->count < FILES_MAX)
            result = read_entry(directory, entry->d_name, files, err);
    closedir(listing);
    if (result < 0)
        return -1;
    if (files->count)
        qsort(files->files, files->count, sizeof *files->files, by_version);
    return check_numbers(directory, files, target, err);
}

void migration_files_deinit(struct migration_files *files)
{
    for (size_t i = 0; i < files->count; i++) {
        free(files->files[i].name);
        free(files->files[i].text);
    }
    free(files->files);
    *files = (struct migration_files){0};
}
