/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Wrapper of tar in CRIU's PATH, for the contents of tmpfs.
 *
 * CRIU would compress them with gzip, which takes 15 s for 200 MiB, and with several processes for
 * each mount. This program does not compress. Most mounts of a sandbox are almost empty, and need
 * no other process. The real tar handles the rest, and can read these archives.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/str.h"
#include "helper/criu/tar_pack.h"
#include "helper/helper.h"

#define CANNOT_RUN 127

static int fail(const char *what, const char *folder)
{
    fprintf(stderr, "tar (sandlot-criu): %s %s: %s\n", what, folder, strerror(errno));
    return EXIT_FAILURE;
}

/* Run the real tar, found without the first folder of PATH, which has this program. */
static int leave_to_tar(char **argv)
{
    const char *path = getenv("PATH");
    const char *others = path ? strchr(path, ':') : NULL;
    char **to = argv;
    for (char **from = argv; *from; from++)
        if (!str_equal(*from, "--gzip"))
            *to++ = *from;
    *to = NULL;
    setenv("PATH", others ? others + 1 : "/usr/bin:/bin", 1);
    execvp("tar", argv);
    return fail("cannot run tar for", argv[argv[0] ? 1 : 0]), CANNOT_RUN;
}

static int write_all(const char *data, size_t size)
{
    while (size) {
        ssize_t written = write(STDOUT_FILENO, data, size);
        if (written < 0)
            return -1;
        data += written;
        size -= (size_t)written;
    }
    return 0;
}

static int create(const char *folder, char **argv)
{
    autofree char *archive = NULL;
    size_t size;
    int result = tar_pack(folder, &archive, &size);
    if (result > 0)
        return leave_to_tar(argv);
    if (result < 0)
        return fail("cannot read", folder);
    return write_all(archive, size) < 0 ? fail("cannot write the contents of", folder)
                                        : EXIT_SUCCESS;
}

/* Read the rest of the input. NULL: it is not a regular file, or too large. */
static char *read_rest(size_t *size)
{
    struct stat found;
    off_t at = lseek(STDIN_FILENO, 0, SEEK_CUR);
    if (at < 0 || fstat(STDIN_FILENO, &found) < 0 || !S_ISREG(found.st_mode) ||
        found.st_size < at || found.st_size - at > TAR_MOST)
        return NULL;
    *size = (size_t)(found.st_size - at);
    char *data = xmalloc(*size + 1);
    if (pread(STDIN_FILENO, data, *size, at) == (ssize_t)*size)
        return data;
    free(data);
    return NULL;
}

static int extract(const char *folder, char **argv)
{
    size_t size;
    autofree char *archive = read_rest(&size);
    int result = archive ? tar_unpack(folder, archive, size) : 1;
    if (result > 0)
        return leave_to_tar(argv);
    return result < 0 ? fail("cannot unpack into", folder) : EXIT_SUCCESS;
}

int helper_tar(int argc, char **argv)
{
    const char *folder = NULL, *verb = "";
    (void)argc;
    for (char **word = argv; *word; word++) {
        if (str_equal(*word, "--create") || str_equal(*word, "--extract"))
            verb = *word;
        else if (str_equal(*word, "--directory"))
            folder = word[1];
    }
    if (!folder)
        return leave_to_tar(argv);
    return str_equal(verb, "--create")    ? create(folder, argv)
           : str_equal(verb, "--extract") ? extract(folder, argv)
                                          : leave_to_tar(argv);
}
