/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Known security holes of the programs that sandboxes touch, by Debian's source package and
 * release (known_holes.def). A file that `sandlotctl holes refresh` writes replaces the built-in
 * rows.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/buffer.h"
#include "base/error.h"

#define HOLES_FILE SANDLOT_SYSCONF_DIR "/known-holes"

/* Sizes with the NUL byte. Longer rows of a file are an error. */
#define HOLE_SOURCE_SIZE  32
#define HOLE_RELEASE_SIZE 16
#define HOLE_VERSION_SIZE 64
#define HOLE_NAMES_SIZE   4096
#define HOLES_MAX         8192 /* rows */

/* The strings of a row in a table are the table's. */
struct hole {
    const char *source;  /* "incus" */
    const char *release; /* "trixie" */
    const char *fixed;   /* first version without the holes: "6.0.4-2+deb13u8" */
    const char *names;   /* "CVE-2026-1 CVE-2026-2" */
    const char *why;     /* why they matter here, no sentence */
};

struct holes {
    struct hole *rows;
    size_t count;
};

/* Fill the list with the built-in rows. Release them with holes_deinit(). */
void holes_built_in(struct holes *holes);

/* Add a copy of a row. Return -1 when there are HOLES_MAX already. */
int holes_add(struct holes *holes, const struct hole *row);

/* Read the rows of a file: "SOURCE RELEASE VERSION NAME[,NAME...] WHY" a line; "#" starts a
 * comment. Return 0, or -1 with an error that names the line. */
int holes_read(FILE *file, struct holes *holes, struct error **err);

/* Write rows as holes_read() reads them. */
void holes_write(const struct holes *holes, FILE *file);

/* Read the rows of HOLES_FILE; the built-in rows where that file does not exist. */
int holes_load(struct holes *holes, struct error **err);

void holes_deinit(struct holes *holes);

/* The known holes of an installed version. */
struct hole_verdict {
    bool is_known;                   /* the table has rows for the source and its release */
    size_t count;                    /* names of holes that the version has */
    const struct hole *newest;       /* the row with the newest first good version; NULL: no hole */
    char release[HOLE_RELEASE_SIZE]; /* the release whose rows count */
};

/* Compare an installed version with the rows of its source. A backport ("~bpo12+1") counts as the
 * version of the next release that it was made from. codename: the machine's release. */
struct hole_verdict holes_judge(const struct holes *holes, const char *source, const char *version,
                                const char *codename);

/* Read the JSON file of Debian's security tracker, and replace the rows. For all sources except the
 * kernel, take its resolved holes of 2025 and later. For the kernel, take the holes of the present
 * rows. At most TRACKER_MAX bytes are read, and at most TRACKER_SOURCE_MAX parsed for one source.
 */
#define TRACKER_MAX        (512L << 20)
#define TRACKER_SOURCE_MAX (48L << 20)
int holes_from_tracker(FILE *file, struct holes *holes, struct error **err);

#define holes_auto __attribute__((cleanup(holes_deinit))) struct holes /* holes = {0} */
