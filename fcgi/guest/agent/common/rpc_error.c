/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/common/rpc_error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

static const struct {
    const char *connect_code;
    unsigned grpc_number;
    unsigned connect_status;
    unsigned rest_status;
    const char *api_code;
    enum { NO_RETRY, RETRY } retry;
} codes[RPC_CODE_COUNT] = {
#define X(symbol, connect_code, grpc_number, connect_status, rest_status, api_code, retry) \
    [symbol] = {connect_code, grpc_number, connect_status, rest_status, api_code, retry},
#include "agent/common/rpc_errors.def"
#undef X
};

/* Messages quote names that come from outside; text in JSON must be UTF-8. */
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

__attribute__((format(printf, 3, 0))) static int set(struct rpc_error *error, enum rpc_code code,
                                                     const char *format, va_list ap)
{
    error->code = code;
    error->field[0] = '\0';
    vsnprintf(error->message, sizeof error->message, format, ap);
    clean_message(error->message);
    return -1;
}

int rpc_error_set(struct rpc_error *error, enum rpc_code code, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    set(error, code, format, ap);
    va_end(ap);
    return -1;
}

int rpc_error_set_field(struct rpc_error *error, const char *field, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    set(error, RPC_INVALID_ARGUMENT, format, ap);
    va_end(ap);
    snprintf(error->field, sizeof error->field, "%s", field);
    clean_message(error->field);
    return -1;
}

int rpc_error_name(struct rpc_error *error, const char *field)
{
    if (!*error->field)
        snprintf(error->field, sizeof error->field, "%s", field);
    return -1;
}

int rpc_error_within(struct rpc_error *error, const char *objects)
{
    char member[sizeof error->field];
    if (!*error->field)
        return -1;
    memcpy(member, error->field, sizeof member);
    size_t length = (size_t)snprintf(error->field, sizeof error->field, "/%s", objects);
    if (length < sizeof error->field)
        snprintf(error->field + length, sizeof error->field - length, "%s", member);
    return -1;
}

int rpc_error_set_unknown(struct rpc_error *error, const char *kind, const char *field,
                          const char *name, const char *const known[])
{
    size_t count = 0;
    while (known && known[count])
        count++;
    const char *nearest = str_nearest(name, known, count);
    return rpc_error_set_field(error, field, "this call has no %s %s%s%s%s", kind, name,
                               nearest ? "; is " : "", nearest ? nearest : "",
                               nearest ? " meant?" : "");
}

static enum rpc_code code_of_errno(int errnum)
{
    switch (errnum) {
    case ENOENT:
        return RPC_NOT_FOUND;
    case ENOSPC:
    case EDQUOT:
        return RPC_NO_SPACE;
    case EEXIST:
    case ENOTEMPTY:
        return RPC_ALREADY_EXISTS;
    case EISDIR:
    case ENOTDIR:
    case ENAMETOOLONG:
    case EINVAL:
    case ENXIO:
    case EILSEQ:
    case EXDEV:
    case EFBIG:
        return RPC_INVALID_ARGUMENT;
    case ELOOP:
    case EBUSY:
    case EMLINK:
        return RPC_FAILED_PRECONDITION;
    case EACCES:
    case EPERM:
    case EROFS:
    case ETXTBSY:
        return RPC_PERMISSION_DENIED;
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case EAGAIN:
        return RPC_RESOURCE_EXHAUSTED;
    default:
        return RPC_INTERNAL;
    }
}

int rpc_error_set_errno(struct rpc_error *error, int errnum, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    set(error, code_of_errno(errnum), format, ap);
    va_end(ap);
    size_t length = strlen(error->message);
    snprintf(error->message + length, sizeof error->message - length, ": %s", strerror(errnum));
    return -1;
}

int rpc_errno_of_reading(int errnum)
{
    return errnum == ENOTDIR ? ENOENT : errnum;
}

const char *rpc_connect_code(enum rpc_code code)
{
    return codes[code].connect_code;
}

unsigned rpc_grpc_number(enum rpc_code code)
{
    return codes[code].grpc_number;
}

unsigned rpc_connect_status(enum rpc_code code)
{
    return codes[code].connect_status;
}

unsigned rpc_rest_status(enum rpc_code code)
{
    return codes[code].rest_status;
}

const char *rpc_api_code(enum rpc_code code)
{
    return codes[code].api_code;
}

bool rpc_may_retry(enum rpc_code code)
{
    return codes[code].retry == RETRY;
}
