/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ctl/holes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "ctl/debian_version.h"

#define LINE_SIZE 8192

static const struct hole built_in[] = {
#define X(source, release, fixed, names, why) {source, release, fixed, names, why},
#include "ctl/known_holes.def"
#undef X
};

/* Debian's releases in their order. */
static const char *const releases[] = {"bullseye", "bookworm", "trixie", "forky", "duke"};
#define FIRST_RELEASE 11

int holes_add(struct holes *holes, const struct hole *row)
{
    if (holes->count == HOLES_MAX)
        return -1;
    holes->rows = xreallocarray(holes->rows, holes->count + 1, sizeof *holes->rows);
    holes->rows[holes->count++] =
        (struct hole){xstrdup(row->source), xstrdup(row->release), xstrdup(row->fixed),
                      xstrdup(row->names), xstrdup(row->why)};
    return 0;
}

void holes_built_in(struct holes *holes)
{
    for (size_t i = 0; i < ARRAY_SIZE(built_in); i++)
        (void)holes_add(holes, &built_in[i]);
}

void holes_deinit(struct holes *holes)
{
    for (size_t i = 0; i < holes->count; i++) {
        free((char *)holes->rows[i].source);
        free((char *)holes->rows[i].release);
        free((char *)holes->rows[i].fixed);
        free((char *)holes->rows[i].names);
        free((char *)holes->rows[i].why);
    }
    free(holes->rows);
    *holes = (struct holes){0};
}

/* --- the file --- */

static bool fits(const char *text, size_t size)
{
    return text && *text && strlen(text) < size;
}

/* Split a line in place. Returns 0, or -1 when it has not all fields. */
static int parse_line(char *line, struct hole *row)
{
    char *rest = NULL, *names;
    row->source = strtok_r(line, " \t", &rest);
    row->release = strtok_r(NULL, " \t", &rest);
    row->fixed = strtok_r(NULL, " \t", &rest);
    row->names = names = strtok_r(NULL, " \t", &rest);
    row->why = rest;
    if (!fits(row->source, HOLE_SOURCE_SIZE) || !fits(row->release, HOLE_RELEASE_SIZE) ||
        !fits(row->fixed, HOLE_VERSION_SIZE) || !fits(row->names, HOLE_NAMES_SIZE) || !row->why)
        return -1;
    for (char *comma = names; (comma = strchr(comma, ','));)
        *comma = ' ';
    return 0;
}

int holes_read(FILE *file, struct holes *holes, struct error **err)
{
    char line[LINE_SIZE];
    for (unsigned number = 1; fgets(line, sizeof line, file); number++) {
        struct hole row;
        char *end = strchr(line, '\n');
        if (!end && !feof(file))
            return error_set(err, ERR_CONFIG, "line %u is longer than %d bytes", number, LINE_SIZE);
        if (end)
            *end = '\0';
        if (line[0] == '#' || line[strspn(line, " \t")] == '\0')
            continue;
        if (parse_line(line, &row) < 0)
            return error_set(err, ERR_CONFIG,
                             "line %u is not \"SOURCE RELEASE VERSION NAME[,NAME...] WHY\"",
                             number);
        if (holes_add(holes, &row) < 0)
            return error_set(err, ERR_CONFIG, "there are more than %d rows", HOLES_MAX);
    }
    return 0;
}

void holes_write(const struct holes *holes, FILE *file)
{
    fputs("# Written by `sandlotctl holes refresh`.\n"
          "# SOURCE RELEASE FIRST-GOOD-VERSION NAME[,NAME...] WHY\n",
          file);
    for (size_t i = 0; i < holes->count; i++) {
        const struct hole *row = &holes->rows[i];
        fprintf(file, "%s %s %s ", row->source, row->release, row->fixed);
        for (const char *at = row->names; *at; at++)
            putc(*at == ' ' ? ',' : *at, file);
        fprintf(file, " %s\n", row->why);
    }
}

int holes_load(struct holes *holes, struct error **err)
{
    autofclose FILE *file = fopen(HOLES_FILE, "re");
    if (!file && errno == ENOENT) {
        holes_built_in(holes);
        return 0;
    }
    if (!file)
        return error_set_errno(err, ERR_CONFIG, errno, "cannot open " HOLES_FILE);
    if (holes_read(file, holes, err) < 0)
        return error_context(err, HOLES_FILE);
    return 0;
}

/* --- a verdict --- */

/* The release whose rows count for a version, and the version as that release counts it. */
static void place(const char *version, const char *codename, char release[HOLE_RELEASE_SIZE],
                  char counted[HOLE_VERSION_SIZE])
{
    const char *backport = strstr(version, "~bpo");
    size_t length = backport ? (size_t)(backport - version) : strlen(version);
    snprintf(counted, HOLE_VERSION_SIZE, "%.*s", (int)length, version);
    snprintf(release, HOLE_RELEASE_SIZE, "%s", codename);
    if (!backport)
        return;
    size_t next = strtoul(backport + strlen("~bpo"), NULL, 10) + 1 - FIRST_RELEASE;
    snprintf(release, HOLE_RELEASE_SIZE, "%s",
             next < ARRAY_SIZE(releases) ? releases[next] : "unknown");
}

static size_t count_names(const char *names)
{
    size_t count = *names ? 1 : 0;
    for (; *names; names++)
        count += *names == ' ';
    return count;
}

struct hole_verdict holes_judge(const struct holes *holes, const char *source, const char *version,
                                const char *codename)
{
    struct hole_verdict verdict = {0};
    char counted[HOLE_VERSION_SIZE];
    place(version, codename, verdict.release, counted);
    for (size_t i = 0; i < holes->count; i++) {
        const struct hole *row = &holes->rows[i];
        if (!str_equal(row->source, source) || !str_equal(row->release, verdict.release))
            continue;
        verdict.is_known = true;
        if (debian_version_compare(counted, row->fixed) >= 0)
            continue;
        verdict.count += count_names(row->names);
        if (!verdict.newest || debian_version_compare(row->fixed, verdict.newest->fixed) > 0)
            verdict.newest = row;
    }
    return verdict;
}
