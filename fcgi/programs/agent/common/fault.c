/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/common/fault.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

static const struct {
    const char *connect_code;
    unsigned connect_status;
    unsigned rest_status;
} codes[FAULT_CODE_COUNT] = {
#define X(symbol, connect_code, connect_status, rest_status) \
    [symbol] = {connect_code, connect_status, rest_status},
#include "agent/common/faults.def"
#undef X
};

/* Messages quote names that come from outside; what reaches JSON must be UTF-8. */
static void clean_message(char *message)
{
    for (char *c = message; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?';
    if (str_is_utf8(message, strlen(message)))
        return;
    for (char *c = message; *c; c++)
        if ((unsigned char)*c >= 0x80)
            *c = '?';
}

__attribute__((format(printf, 3, 0))) static int set(struct fault *fault, enum fault_code code,
                                                     const char *format, va_list ap)
{
    fault->code = code;
    vsnprintf(fault->message, sizeof fault->message, format, ap);
    clean_message(fault->message);
    return -1;
}

int fault_set(struct fault *fault, enum fault_code code, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    set(fault, code, format, ap);
    va_end(ap);
    return -1;
}

static enum fault_code code_of_errno(int errnum)
{
    switch (errnum) {
    case ENOENT:
        return FAULT_NOT_FOUND;
    case ENOSPC:
    case EDQUOT:
        return FAULT_NO_SPACE;
    case EEXIST:
    case ENOTEMPTY:
        return FAULT_ALREADY_EXISTS;
    case EISDIR:
    case ENOTDIR:
    case ENAMETOOLONG:
    case EINVAL:
    case ENXIO:
    case EILSEQ:
    case EXDEV:
        return FAULT_INVALID_ARGUMENT;
    case ELOOP:
        return FAULT_FAILED_PRECONDITION;
    case EACCES:
    case EPERM:
    case EROFS:
    case ETXTBSY:
        return FAULT_PERMISSION_DENIED;
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case EAGAIN:
        return FAULT_RESOURCE_EXHAUSTED;
    default:
        return FAULT_INTERNAL;
    }
}

int fault_set_errno(struct fault *fault, int errnum, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    set(fault, code_of_errno(errnum), format, ap);
    va_end(ap);
    size_t length = strlen(fault->message);
    snprintf(fault->message + length, sizeof fault->message - length, ": %s", strerror(errnum));
    return -1;
}

int fault_errno_of_reading(int errnum)
{
    return errnum == ENOTDIR ? ENOENT : errnum;
}

const char *fault_connect_code(enum fault_code code)
{
    return codes[code].connect_code;
}

unsigned fault_connect_status(enum fault_code code)
{
    return codes[code].connect_status;
}

unsigned fault_rest_status(enum fault_code code)
{
    return codes[code].rest_status;
}
