/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/error.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static const struct {
    const char *symbol;
    const char *api_code;
    int http_status;
} codes[ERROR_CODE_COUNT] = {
#define X(symbol, api_code, status) [symbol] = {#symbol, api_code, status},
#include "base/error_codes.def"
#undef X
};

static void set_message(struct error **err, enum error_code code, char *message)
{
    assert(err && !*err && code < ERROR_CODE_COUNT);
    struct error *e = xcalloc(1, sizeof *e);
    e->code = code;
    e->message = message;
    *err = e;
}

int error_set(struct error **err, enum error_code code, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    set_message(err, code, xvasprintf(format, ap));
    va_end(ap);
    return -1;
}

int error_set_field(struct error **err, enum error_code code, const char *field, const char *format,
                    ...)
{
    va_list ap;
    va_start(ap, format);
    set_message(err, code, xvasprintf(format, ap));
    va_end(ap);
    (*err)->field = xstrdup(field);
    return -1;
}

int error_set_errno(struct error **err, enum error_code code, int errnum, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    autofree char *what = xvasprintf(format, ap);
    va_end(ap);
    set_message(err, code, xasprintf("%s: %s", what, strerror(errnum)));
    return -1;
}

int error_context(struct error **err, const char *format, ...)
{
    assert(err && *err);
    va_list ap;
    va_start(ap, format);
    autofree char *context = xvasprintf(format, ap);
    va_end(ap);
    char *message = xasprintf("%s: %s", context, (*err)->message);
    free((*err)->message);
    (*err)->message = message;
    return -1;
}

int error_recode(struct error **err, enum error_code code)
{
    assert(err && *err && code < ERROR_CODE_COUNT);
    (*err)->code = code;
    return -1;
}

int error_add_detail(struct error **err, const char *name, json_t *value)
{
    assert(err && *err);
    if (!(*err)->details)
        (*err)->details = json_object();
    json_object_set_new((*err)->details, name, value);
    return -1;
}

int error_add_limit(struct error **err, unsigned limit, unsigned used)
{
    error_add_detail(err, "limit", json_integer(limit));
    return error_add_detail(err, "used", json_integer(used));
}

void error_clear(struct error **err)
{
    if (!*err)
        return;
    free((*err)->message);
    free((*err)->field);
    json_decref((*err)->details);
    free(*err);
    *err = NULL;
}

bool error_clear_if(struct error **err, enum error_code code)
{
    if (!*err || (*err)->code != code)
        return false;
    error_clear(err);
    return true;
}

int error_move(struct error **to, struct error **from)
{
    assert(to && !*to && from && *from);
    *to = *from;
    *from = NULL;
    return -1;
}

bool error_is_transient(const struct error *err)
{
    return err->code == ERR_RUNTIME_UNAVAILABLE || err->code == ERR_HOST_UNREACHABLE ||
           err->code == ERR_OUTCOME_UNKNOWN || err->code == ERR_DB_UNAVAILABLE ||
           err->code == ERR_DB_FULL || err->code == ERR_DB_DEADLOCK;
}

const char *error_api_code(enum error_code code)
{
    return codes[code].api_code;
}

const char *error_symbol(enum error_code code)
{
    return codes[code].symbol;
}

int error_http_status(enum error_code code)
{
    return codes[code].http_status;
}
