/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * POST /files. The bytes go to drafts as they arrive, one buffer of the connection at a time. When
 * the whole body is valid, the drafts replace the files. So an upload that breaks off or is refused
 * changes no file.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "agent/common/gunzip.h"
#include "agent/common/paths.h"
#include "agent/files/draft.h"
#include "agent/files/files.h"
#include "agent/files/files_routes.h"
#include "agent/files/multipart.h"
#include "base/mem.h"
#include "base/str.h"

#define PARTS_MAX 10000
/* Files of a body that wait for its end, each with a descriptor. Of longer bodies those that are
 * whole go into their places before. */
#define DRAFTS_MAX 64

struct upload {
    struct request *request;
    struct user user;
    const char *path; /* the argument; NULL: the file names in the parts say where */
    json_t *metadata;
    json_t *written; /* the answer: an entry per file */
    struct draft drafts[DRAFTS_MAX];
    size_t draft_count;
    bool is_open;                /* the last draft is being written */
    struct multipart *multipart; /* NULL: the body is one file */
    struct gunzip *gunzip;       /* NULL: the body comes as it is */
};

static int check_new_target(const struct upload *upload, const char *target,
                            struct rpc_error *error)
{
    size_t i;
    json_t *entry;
    if (json_array_size(upload->written) >= PARTS_MAX)
        return rpc_error_set(error, RPC_INVALID_ARGUMENT, "more than %d files", PARTS_MAX);
    if (!str_is_utf8(target, strlen(target)))
        return rpc_error_set(error, RPC_INVALID_ARGUMENT, "the path is not UTF-8");
    json_array_foreach (upload->written, i, entry)
        if (str_equal(json_string_value(json_object_get(entry, "path")), target))
            return rpc_error_set(error, RPC_INVALID_ARGUMENT, "two files for the same path '%s'",
                                 target);
    return 0;
}

static int place_drafts(struct upload *upload, struct rpc_error *error)
{
    int result = 0;
    for (size_t i = 0; i < upload->draft_count; i++) {
        if (result == 0)
            result = draft_place(&upload->drafts[i], error);
        draft_drop(&upload->drafts[i]);
    }
    upload->draft_count = 0;
    return result;
}

static int open_target(struct upload *upload, const char *text, struct rpc_error *error)
{
    autofree char *target = NULL;
    if (paths_resolve(text, &upload->user, &target, error) < 0)
        return upload->path ? rpc_error_name(error, "path") : -1;
    if (check_new_target(upload, target, error) < 0 ||
        (upload->draft_count == DRAFTS_MAX && place_drafts(upload, error) < 0) ||
        paths_make_parents(target, &upload->user, error) < 0)
        return -1;
    struct draft *draft = &upload->drafts[upload->draft_count++];
    upload->is_open = true;
    return draft_begin(draft, target, &upload->user, upload->metadata, error);
}

static int write_open(struct upload *upload, const char *data, size_t size, struct rpc_error *error)
{
    return draft_write(&upload->drafts[upload->draft_count - 1], data, size, error);
}

static void close_target(struct upload *upload)
{
    if (!upload->is_open)
        return;
    upload->is_open = false;
    const char *target = upload->drafts[upload->draft_count - 1].target;
    json_t *entry =
        json_pack("{s:s, s:s, s:s}", "name", paths_base(target), "path", target, "type", "file");
    if (json_object_size(upload->metadata))
        json_object_set(entry, "metadata", upload->metadata);
    json_array_append_new(upload->written, entry);
}

static int begin_part(void *context, const char *name, const char *file_name,
                      struct rpc_error *error)
{
    struct upload *upload = context;
    if (strcmp(name, "file") != 0)
        return 0;
    const char *text = upload->path ? upload->path : file_name;
    if (!text || !*text)
        return rpc_error_set(
            error, RPC_INVALID_ARGUMENT,
            "the request has neither a path argument nor a file name for the file");
    return open_target(upload, text, error);
}

static int take_part(void *context, const char *data, size_t size, struct rpc_error *error)
{
    struct upload *upload = context;
    return upload->is_open ? write_open(upload, data, size, error) : 0;
}

static int end_part(void *context, struct rpc_error *error)
{
    (void)error;
    close_target(context);
    return 0;
}

static const struct multipart_events part_events = {begin_part, take_part, end_part};

static int begin_body(struct upload *upload, struct rpc_error *error)
{
    struct request *request = upload->request;
    if (httpd_content_is(&request->http, "multipart/form-data"))
        return multipart_new(httpd_header(&request->http, "Content-Type"), &part_events, upload,
                             &upload->multipart, error);
    if (!httpd_content_is(&request->http, "application/octet-stream"))
        return rpc_error_set(error, RPC_UNSUPPORTED_MEDIA_TYPE,
                             "the body must be multipart/form-data or application/octet-stream");
    if (!upload->path)
        return rpc_error_set_field(error, "path", "path is missing");
    return open_target(upload, upload->path, error);
}

static int begin_coding(struct upload *upload, struct rpc_error *error)
{
    struct request *request = upload->request;
    const char *coding = httpd_header(&request->http, "Content-Encoding");
    if (!coding || !*coding || !strcasecmp(coding, "identity"))
        return 0;
    if (strcasecmp(coding, "gzip") != 0 && strcasecmp(coding, "x-gzip") != 0)
        return rpc_error_set(error, RPC_UNSUPPORTED_CODING,
                             "content encoding '%s' is not supported", coding);
    upload->gunzip = gunzip_new();
    request->http.piece_max = GUNZIP_PIECE_MAX;
    return upload->gunzip ? 0
                          : rpc_error_set(error, RPC_RESOURCE_EXHAUSTED, "out of memory for gzip");
}

/* To ignore them would replace a file that the client wants to keep. */
static int check_conditions(const struct request *request, struct rpc_error *error)
{
    static const char *const names[] = {"If-Match", "If-None-Match", "If-Modified-Since",
                                        "If-Unmodified-Since"};
    if (httpd_header(&request->http, "Content-Range"))
        return rpc_error_set_field(error, "Content-Range",
                                   "an upload writes a whole file: upload the parts as files, and "
                                   "join them with POST /files/compose");
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (httpd_header(&request->http, names[i]))
            return rpc_error_set_field(error, names[i], "an upload cannot have a condition (%s)",
                                       names[i]);
    return 0;
}

int files_put_begin(struct request *request, struct rpc_error *error)
{
    struct upload *upload = xcalloc(1, sizeof *upload);
    request->state = upload;
    upload->request = request;
    upload->written = json_array();
    if (check_conditions(request, error) < 0 || begin_coding(upload, error) < 0 ||
        files_user(request, &upload->user, error) < 0 ||
        request_argument(request, "path", &upload->path, error) < 0 ||
        files_metadata_from_headers(request, &upload->metadata, error) < 0)
        return -1;
    if (upload->path && !*upload->path)
        upload->path = NULL;
    return begin_body(upload, error);
}

static int take_plain(void *context, const char *data, size_t size, struct rpc_error *error)
{
    struct upload *upload = context;
    return upload->multipart ? multipart_data(upload->multipart, data, size, error)
                             : write_open(upload, data, size, error);
}

int files_put_data(struct request *request, const char *data, size_t size, struct rpc_error *error)
{
    struct upload *upload = request->state;
    if (upload->gunzip)
        return gunzip_data(upload->gunzip, data, size, take_plain, upload, error);
    return take_plain(upload, data, size, error);
}

int files_put_finish(struct request *request, struct rpc_error *error)
{
    struct upload *upload = request->state;
    if ((upload->gunzip && gunzip_end(upload->gunzip, error) < 0) ||
        (upload->multipart && multipart_end(upload->multipart, error) < 0))
        return -1;
    close_target(upload);
    /* Clients of E2B get an empty list. */
    if (!json_array_size(upload->written) && request_is_strict(request))
        return rpc_error_set(error, RPC_INVALID_ARGUMENT,
                             "the body has no part with the name 'file', so nothing was written");
    if (place_drafts(upload, error) < 0)
        return -1;
    return httpd_reply_json(&request->http, 200, steal_pointer(&upload->written));
}

void files_put_closed(struct request *request)
{
    struct upload *upload = request->state;
    if (!upload)
        return;
    multipart_free(upload->multipart);
    for (size_t i = 0; i < upload->draft_count; i++)
        draft_drop(&upload->drafts[i]);
    gunzip_free(upload->gunzip);
    json_decref(upload->metadata);
    json_decref(upload->written);
    user_deinit(&upload->user);
    free(upload);
}
