/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Group set-up and tear-down of a unit test whose files lie in a folder of its own, which is the
 * current one meanwhile. */
#pragma once

#include "base/mem.h"
#include "unit/unit.h"

static char folder[] = "/tmp/sandlot-unit-XXXXXX";

static inline void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* The beginning of a file, as a string that fits into size bytes. */
static inline void read_file(const char *path, char *out, size_t size)
{
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    out[fread(out, 1, size - 1, file)] = '\0';
    fclose(file);
}

static inline int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static inline int remove_folder(void **state)
{
    autofree char *command = xasprintf("rm -rf %s", folder);
    (void)state;
    return chdir("/") == 0 && system(command) == 0 ? 0 : -1; /* NOLINT(cert-env33-c) */
}
