/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "login/form.h"

#include <string.h>

static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";

void form_encode(struct buffer *out, const char *text)
{
    for (const unsigned char *c = (const unsigned char *)text; *c; c++)
        if (strchr(plain, *c))
            buffer_append_char(out, (char)*c);
        else
            buffer_printf(out, "%%%02X", *c);
}

void form_add(struct buffer *out, const char *name, const char *value)
{
    char last = out->size ? out->data[out->size - 1] : '?';
    buffer_printf(out, "%s%s=", strchr("?&#", last) ? "" : "&", name);
    form_encode(out, value);
}
