/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/ignore.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

#define STEPS_MAX 100000 /* of one comparison; patterns with many ** take long */

static void read_line(struct ignore *ignore, char *line)
{
    line += strspn(line, " \t");
    size_t length = strlen(line);
    while (length && strchr(" \t\r", line[length - 1]))
        line[--length] = '\0';
    if (!*line || *line == '#')
        return;
    struct ignore_pattern pattern = {line, *line == '!'};
    if (pattern.excepts)
        pattern.path += 1 + strspn(line + 1, " \t");
    str_clean_path(pattern.path);
    if (!*pattern.path)
        return;
    ignore->has_exceptions = ignore->has_exceptions || pattern.excepts;
    ignore->patterns[ignore->count++] = pattern;
}

int ignore_read(struct ignore *ignore, const char *text, struct error **err)
{
    *ignore = (struct ignore){.text = xstrdup(text)};
    ignore->patterns = xcalloc(IGNORE_PATTERNS_MAX, sizeof *ignore->patterns);
    char *save = NULL;
    if (str_starts_with(ignore->text, "\xef\xbb\xbf"))
        memcpy(ignore->text, "   ", 3);
    for (char *line = strtok_r(ignore->text, "\n", &save); line;
         line = strtok_r(NULL, "\n", &save)) {
        if (ignore->count == IGNORE_PATTERNS_MAX)
            return error_set(err, ERR_INVALID_REQUEST, ".dockerignore has more than %d patterns",
                             IGNORE_PATTERNS_MAX);
        read_line(ignore, line);
    }
    return 0;
}

void ignore_deinit(struct ignore *ignore)
{
    free(ignore->patterns);
    free(ignore->text);
}

/* Return whether one part of a path fits one part of a pattern. */
static bool part_fits(const char *pattern, size_t pattern_length, const char *part, size_t length)
{
    autofree char *wanted = xstrndup(pattern, pattern_length);
    autofree char *given = xstrndup(part, length);
    return fnmatch(wanted, given, 0) == 0;
}

/* Return whether the pattern fits the path, or a folder above it. */
static bool fits(const char *pattern, const char *path, unsigned *steps)
{
    size_t wanted = strcspn(pattern, "/"), length = strcspn(path, "/");
    if (!*pattern)
        return true;
    if (++*steps > STEPS_MAX)
        return false;
    const char *rest = pattern + wanted + (pattern[wanted] == '/');
    const char *below = path + length + (path[length] == '/');
    if (wanted == 2 && !strncmp(pattern, "**", 2))
        return (*path && !*rest) || (*rest && fits(rest, path, steps)) ||
               (*path && fits(pattern, below, steps));
    /* "**X" means "**" and "*X". */
    bool is_deep = !strncmp(pattern, "**", 2);
    if (is_deep && *path && fits(pattern, below, steps))
        return true;
    return *path && part_fits(pattern + is_deep, wanted - is_deep, path, length) &&
           fits(rest, below, steps);
}

bool ignore_has(const struct ignore *ignore, const char *path)
{
    for (size_t i = ignore->count; i-- > 0;) {
        unsigned steps = 0;
        if (fits(ignore->patterns[i].path, path, &steps))
            return !ignore->patterns[i].excepts;
    }
    return false;
}
