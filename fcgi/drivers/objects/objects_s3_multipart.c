/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Objects that are sent in parts: S3's multipart uploads. */
#include <string.h>

#include "base/mem.h"
#include "objects/objects_s3.h"
#include "objects/objects_xml.h"

#define COMPLETION_MAX ((size_t)4 << 20)

int s3_upload_begin(struct objects_upload *upload, struct error **err)
{
    struct s3 *s3 = s3_of(upload->objects);
    struct s3_request request = {.method = "POST", .key = upload->key, .query = "uploads="};
    if (s3_ask(s3, &request, err) < 0)
        return -1;
    upload->name = objects_xml_find(buffer_string(&s3->answer), "UploadId");
    upload->tags = xcalloc(OBJECTS_PARTS_MAX, sizeof *upload->tags);
    return upload->name && strlen(upload->name) < OBJECTS_UPLOAD_SIZE
               ? 0
               : error_set(err, ERR_CONFIG, "the server's answer has no UploadId");
}

int s3_upload_part(struct objects_upload *upload, const void *data, size_t size, struct error **err)
{
    struct s3 *s3 = s3_of(upload->objects);
    autofree char *name = s3_escape(s3, upload->name);
    autofree char *query = xasprintf("partNumber=%u&uploadId=%s", upload->parts + 1, name);
    struct s3_request request = {
        .method = "PUT", .key = upload->key, .query = query, .data = data, .size = size};
    if (s3_ask(s3, &request, err) < 0)
        return -1;
    if (!request.tag[0])
        return error_set(err, ERR_CONFIG, "the server's answer has no ETag for part %u",
                         upload->parts + 1);
    upload->tags[upload->parts] = xstrdup(request.tag);
    return 0;
}

static void list_parts(const struct objects_upload *upload, struct buffer *body)
{
    buffer_append_string(body, "<CompleteMultipartUpload>");
    for (unsigned i = 0; i < upload->parts; i++)
        buffer_printf(body, "<Part><PartNumber>%u</PartNumber><ETag>%s</ETag></Part>", i + 1,
                      upload->tags[i]);
    buffer_append_string(body, "</CompleteMultipartUpload>");
}

/* A try whose answer was lost may have completed it, and then there is no such upload any more:
 * reading the object later checks it. */
int s3_upload_finish(struct objects_upload *upload, struct error **err)
{
    struct s3 *s3 = s3_of(upload->objects);
    buffer_auto body = BUFFER_INIT(COMPLETION_MAX);
    autofree char *name = s3_escape(s3, upload->name);
    autofree char *query = xasprintf("uploadId=%s", name);
    list_parts(upload, &body);
    struct s3_request request = {
        .method = "POST", .key = upload->key, .query = query, .data = body.data, .size = body.size};
    if (s3_ask(s3, &request, err) < 0)
        return -1;
    /* The head of this answer is sent before the work is done. */
    return strstr(buffer_string(&s3->answer), "<Error>") ? s3_refused(s3, &request, err) : 0;
}

int s3_upload_abandon(struct objects *objects, const char *key, const char *name,
                      struct error **err)
{
    struct s3 *s3 = s3_of(objects);
    autofree char *escaped = s3_escape(s3, name);
    autofree char *query = xasprintf("uploadId=%s", escaped);
    struct s3_request request = {.method = "DELETE", .key = key, .query = query};
    return s3_ask(s3, &request, err);
}
