/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/process/exec_text.h"

#include <sodium.h>

#include "base/mem.h"
#include "base/str.h"

size_t exec_text_unfinished(const char *data, size_t size)
{
    for (size_t back = 1; back <= 3 && back <= size; back++) {
        unsigned char c = (unsigned char)data[size - back];
        if ((c & 0xc0) == 0x80)
            continue;
        size_t length = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;
        return length > back ? back : 0;
    }
    return 0;
}

json_t *exec_text_json(const char *data, size_t size, const char **encoding)
{
    *encoding = "utf-8";
    if (!size)
        return json_string("");
    if (str_is_utf8(data, size))
        return json_stringn_nocheck(data, size);
    *encoding = "base64";
    size_t room = sodium_base64_ENCODED_LEN(size, sodium_base64_VARIANT_ORIGINAL);
    autofree char *text = xmalloc(room);
    sodium_bin2base64(text, room, (const unsigned char *)data, size,
                      sodium_base64_VARIANT_ORIGINAL);
    return json_stringn_nocheck(text, room - 1);
}
