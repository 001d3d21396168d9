/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "keeper/keeper_error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

int keeper_error_set(struct keeper_error *error, enum keeper_code code, const char *message)
{
    error->code = code;
    snprintf(error->message, sizeof error->message, "%s", message);
    error->argument = NULL;
    return -1;
}

int keeper_error_argument(struct keeper_error *error, const char *argument)
{
    error->argument = argument;
    return -1;
}

int keeper_error_set_errno(struct keeper_error *error, int errnum)
{
    static const struct {
        int errnum;
        enum keeper_code code;
        const char *message;
    } known[] = {
        {ENOENT, KEEPER_NOT_FOUND, "This path does not exist."},
        {EXDEV, KEEPER_INVALID, "A link on this path leads out of the volume."},
        {ELOOP, KEEPER_INVALID, "The links on this path lead in a circle, or are too many."},
        {ENOTDIR, KEEPER_INVALID, "A part of this path is not a directory."},
        {EISDIR, KEEPER_INVALID, "This is a directory."},
        {ENAMETOOLONG, KEEPER_INVALID, "The path, or a name in it, is too long."},
        {EINVAL, KEEPER_INVALID, "A directory cannot be moved into itself."},
        {EEXIST, KEEPER_EXISTS, "This path exists already."},
        {ENOTEMPTY, KEEPER_NOT_EMPTY, "The directory is not empty."},
        {ENOSPC, KEEPER_NO_SPACE, "The volume is full."},
        {EDQUOT, KEEPER_NO_SPACE, "The volume is full."},
        {EFBIG, KEEPER_NO_SPACE, "The file is larger than a file can be."},
        {EMLINK, KEEPER_INVALID, "The directory can hold no more directories."},
        {EPERM, KEEPER_INVALID, "The file system does not allow this."},
        {EACCES, KEEPER_INVALID, "The file system does not allow this."},
        {EROFS, KEEPER_INVALID, "The file system is read-only there."},
        {ETXTBSY, KEEPER_INVALID, "The file is being executed."},
    };
    for (size_t i = 0; i < ARRAY_SIZE(known); i++)
        if (known[i].errnum == errnum)
            return keeper_error_set(error, known[i].code, known[i].message);
    char message[sizeof error->message];
    snprintf(message, sizeof message, "unexpected: %s", strerror(errnum));
    return keeper_error_set(error, KEEPER_INTERNAL, message);
}
