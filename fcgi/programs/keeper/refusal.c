/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "keeper/refusal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

static const struct {
    const char *name;
    unsigned status;
} codes[] = {
#define X(symbol, code, status) [symbol] = {code, status},
    REFUSALS(X)
#undef X
};

int refuse(struct refusal *refusal, enum refusal_code code, const char *message)
{
    refusal->code = code;
    snprintf(refusal->message, sizeof refusal->message, "%s", message);
    return -1;
}

int refuse_errno(struct refusal *refusal, int errnum)
{
    static const struct {
        int errnum;
        enum refusal_code code;
        const char *message;
    } known[] = {
        {ENOENT, REFUSAL_NOT_FOUND, "There is nothing at this path."},
        {EXDEV, REFUSAL_INVALID, "A link on this path leads out of the volume."},
        {ELOOP, REFUSAL_INVALID, "The links on this path lead in a circle, or are too many."},
        {ENOTDIR, REFUSAL_INVALID, "A part of this path is not a directory."},
        {EISDIR, REFUSAL_INVALID, "This is a directory."},
        {ENAMETOOLONG, REFUSAL_INVALID, "The path, or a name in it, is too long."},
        {EINVAL, REFUSAL_INVALID, "A directory cannot be moved into itself."},
        {EEXIST, REFUSAL_EXISTS, "There is something at this path already."},
        {ENOTEMPTY, REFUSAL_NOT_EMPTY, "The directory is not empty."},
        {ENOSPC, REFUSAL_NO_SPACE, "The volume is full."},
        {EDQUOT, REFUSAL_NO_SPACE, "The volume is full."},
        {EFBIG, REFUSAL_NO_SPACE, "The file is larger than a file can be."},
        {EMLINK, REFUSAL_INVALID, "The directory can hold no more directories."},
        {EPERM, REFUSAL_INVALID, "The file system does not allow this."},
        {EACCES, REFUSAL_INVALID, "The file system does not allow this."},
        {EROFS, REFUSAL_INVALID, "The file system is read-only there."},
        {ETXTBSY, REFUSAL_INVALID, "The file is being executed."},
    };
    for (size_t i = 0; i < ARRAY_SIZE(known); i++)
        if (known[i].errnum == errnum)
            return refuse(refusal, known[i].code, known[i].message);
    char message[sizeof refusal->message];
    snprintf(message, sizeof message, "unexpected: %s", strerror(errnum));
    return refuse(refusal, REFUSAL_INTERNAL, message);
}

const char *refusal_code_name(enum refusal_code code)
{
    return codes[code].name;
}

unsigned refusal_status(enum refusal_code code)
{
    return codes[code].status;
}
