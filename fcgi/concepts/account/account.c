/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "account/account.h"

#include <string.h>

bool slug_is_valid(const char *text)
{
    size_t length = strlen(text);
    return length > 0 && length <= SLUG_MAX && text[0] != '-' && text[length - 1] != '-' &&
           strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-") == length;
}
