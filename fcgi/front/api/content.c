/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "api/content.h"

#include <string.h>

#include "base/mem.h"
#include "crypto/mac.h"

int content_decode(const struct http_request *request, struct content *content, struct error **err)
{
    const json_t *text = json_object_get(request->json, "content_b64");
    size_t length = json_string_length(text), room = length / 4 * 3 + 3;
    *content = (struct content){.data = xmalloc(room)};
    if (base64_decode(json_string_value(text), length, content->data, room, &content->size) == 0)
        return 0;
    return error_set_field(err, ERR_INVALID_REQUEST, "/content_b64",
                           "The content is not base64 with padding and without blanks.");
}

long content_read(void *context, char *data, size_t size)
{
    struct content *content = context;
    size_t left = content->size - content->at, piece = left < size ? left : size;
    memcpy(data, content->data + content->at, piece);
    content->at += piece;
    return (long)piece;
}
