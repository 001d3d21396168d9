/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of known security holes (holes.h): print it, and replace it. */
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/str.h"
#include "ctl/holes.h"
#include "ctl/output.h"

int ctl_holes_list(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    static const struct ctl_column columns[] = {
        {"SOURCE", "source"}, {"RELEASE", "release"}, {"FIRST GOOD VERSION", "fixed"},
        {"HOLES", "names"},   {"WHY", "why"},
    };
    holes_auto holes = {0};
    (void)arguments;
    if (holes_load(&holes, err) < 0)
        return -1;
    json_t *rows = json_array();
    for (size_t i = 0; i < holes.count; i++) {
        const struct hole *row = &holes.rows[i];
        json_array_append_new(rows, json_pack("{s:s, s:s, s:s, s:s, s:s}", "source", row->source,
                                              "release", row->release, "fixed", row->fixed, "names",
                                              row->names, "why", row->why));
    }
    ctl_print_rows(ctl, "holes", rows, columns, ARRAY_SIZE(columns));
    return 0;
}

/* Replace the file in one rename. */
static int store(const struct holes *holes, struct error **err)
{
    static const char fresh[] = HOLES_FILE ".new";
    FILE *file = fopen(fresh, "we");
    if (!file)
        return error_set_errno(err, ERR_CONFIG, errno, "cannot write %s", fresh);
    holes_write(holes, file);
    int failed = fchmod(fileno(file), 0644) < 0 || fflush(file) != 0 || fsync(fileno(file)) < 0;
    failed |= fclose(file) != 0;
    if (failed || rename(fresh, HOLES_FILE) < 0)
        return error_set_errno(err, ERR_CONFIG, errno, "cannot write " HOLES_FILE);
    return 0;
}

int ctl_holes_refresh(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    const char *path = arguments->operands[0];
    holes_auto holes = {0};
    autofclose FILE *file =
        str_equal(path, "-") ? fdopen(dup(STDIN_FILENO), "r") : fopen(path, "re");
    if (!file)
        return error_set_errno(err, ERR_INVALID_REQUEST, errno, "cannot open %s", path);
    holes_built_in(&holes);
    if (holes_from_tracker(file, &holes, err) < 0 || store(&holes, err) < 0)
        return -1;
    ctl_print(ctl, json_pack("{s:i, s:s}", "rows", (int)holes.count, "file", HOLES_FILE),
              "%zu rows of known holes are in " HOLES_FILE ".", holes.count);
    return 0;
}
