/* SPDX-License-Identifier: GPL-2.0-or-later */
/* POST /files: bytes go to their files as they come, a piece of the connection's buffer at a time.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/files.h"
#include "agent/files_coding.h"
#include "agent/handlers.h"
#include "agent/paths.h"
#include "base/mem.h"
#include "base/str.h"

/* Holds the longest part header (a file name of PATH_LENGTH_MAX) beside body bytes. */
#define MULTIPART_BUFFER (32 * 1024)

#define PARTS_MAX        10000

struct upload {
    struct request *request;
    struct user user;
    const char *path; /* the argument; NULL: the file names in the parts say where */
    json_t *metadata;
    json_t *written;             /* the answer: an entry per file */
    int fd;                      /* the file in hand, -1: none */
    char *target;                /* its path */
    bool in_part;                /* a part named `file` is in hand */
    char *part_name, *part_file; /* of the part in hand, whatever it is named */
    bool part_has_bytes;
    struct MHD_PostProcessor *multipart;
    struct files_gunzip *gunzip; /* NULL: the body comes as it is */
    struct fault *fault;         /* of the call in hand */
    bool failed;
};

static int check_new_target(const struct upload *upload, const char *target, struct fault *fault)
{
    size_t i;
    json_t *entry;
    if (json_array_size(upload->written) >= PARTS_MAX)
        return fault_set(fault, FAULT_INVALID_ARGUMENT, "more than %d files", PARTS_MAX);
    if (!str_is_utf8(target, strlen(target)))
        return fault_set(fault, FAULT_INVALID_ARGUMENT, "the path is not UTF-8");
    json_array_foreach (upload->written, i, entry)
        if (str_equal(json_string_value(json_object_get(entry, "path")), target))
            return fault_set(fault, FAULT_INVALID_ARGUMENT,
                             "two files for the same path '%s': the first was stored", target);
    return 0;
}

static int create(const char *path, const struct user *user, int *fd, struct fault *fault)
{
    struct stat status;
    /* Not O_TRUNC yet: what is there may be no regular file. */
    autoclose int opened = open(path, O_WRONLY | O_CREAT | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0644);
    if (opened < 0 || fstat(opened, &status) < 0)
        return fault_set_errno(fault, errno, "cannot write '%s'", path);
    if (!S_ISREG(status.st_mode))
        return fault_set(fault, FAULT_INVALID_ARGUMENT, "'%s' is not a regular file", path);
    if (ftruncate(opened, 0) < 0 || fchown(opened, user->uid, user->gid) < 0)
        return fault_set_errno(fault, errno, "cannot write '%s'", path);
    *fd = steal_fd(&opened);
    return 0;
}

static int open_target(struct upload *upload, const char *text, struct fault *fault)
{
    autofree char *target = NULL;
    if (paths_resolve(text, &upload->user, &target, fault) < 0 ||
        check_new_target(upload, target, fault) < 0 ||
        paths_make_parents(target, &upload->user, fault) < 0 ||
        create(target, &upload->user, &upload->fd, fault) < 0)
        return -1;
    upload->target = steal_pointer(&target);
    return files_metadata_store(upload->fd, upload->metadata, fault);
}

static int write_all(struct upload *upload, const char *data, size_t size, struct fault *fault)
{
    while (size) {
        ssize_t written = write(upload->fd, data, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return fault_set_errno(fault, errno, "cannot write '%s'", upload->target);
        data += written;
        size -= (size_t)written;
    }
    return 0;
}

static int close_target(struct upload *upload, struct fault *fault)
{
    if (upload->fd < 0)
        return 0;
    autofree char *target = steal_pointer(&upload->target);
    if (close(steal_fd(&upload->fd)) < 0)
        return fault_set_errno(fault, errno, "cannot write '%s'", target);
    json_t *entry =
        json_pack("{s:s, s:s, s:s}", "name", paths_base(target), "path", target, "type", "file");
    if (json_object_size(upload->metadata))
        json_object_set(entry, "metadata", upload->metadata);
    json_array_append_new(upload->written, entry);
    return 0;
}

/* The library announces a part before it has seen a byte of it and then once more, both times at
 * offset 0. */
static bool continues_part(const struct upload *upload, const char *name, const char *file_name)
{
    return upload->part_name && !upload->part_has_bytes && str_equal(name, upload->part_name) &&
           str_equal(file_name, upload->part_file);
}

static int begin_part(struct upload *upload, const char *name, const char *file_name)
{
    /* The parser knows quoted values only. What it cannot read must not vanish. */
    if (!name)
        return fault_set(upload->fault, FAULT_INVALID_ARGUMENT,
                         "a part has no name=\"…\" in its Content-Disposition");
    free(upload->part_name);
    free(upload->part_file);
    upload->part_name = xstrdup(name);
    upload->part_file = xstrdup_or_null(file_name);
    upload->part_has_bytes = false;
    if (close_target(upload, upload->fault) < 0)
        return -1;
    upload->in_part = !strcmp(upload->part_name, "file");
    if (!upload->in_part)
        return 0;
    const char *text = upload->path ? upload->path : file_name;
    if (!text || !*text)
        return fault_set(upload->fault, FAULT_INVALID_ARGUMENT,
                         "neither a path argument nor a file name says where the file goes");
    return open_target(upload, text, upload->fault);
}

static enum MHD_Result on_part(void *context, enum MHD_ValueKind kind, const char *name,
                               const char *file_name, const char *content_type,
                               const char *transfer_encoding, const char *data, uint64_t offset,
                               size_t size)
{
    (void)kind;
    (void)content_type;
    (void)transfer_encoding;
    struct upload *upload = context;
    if (upload->failed)
        return MHD_NO;
    if (offset == 0 && !continues_part(upload, name, file_name) &&
        begin_part(upload, name, file_name) < 0)
        upload->failed = true;
    else if (upload->in_part && write_all(upload, data, size, upload->fault) < 0)
        upload->failed = true;
    upload->part_has_bytes |= size > 0;
    return upload->failed ? MHD_NO : MHD_YES;
}

static int begin_body(struct upload *upload, struct fault *fault)
{
    struct request *request = upload->request;
    if (request_content_is(request, "multipart/form-data")) {
        upload->multipart =
            MHD_create_post_processor(request->connection, MULTIPART_BUFFER, on_part, upload);
        return upload->multipart ? 0
                                 : fault_set(fault, FAULT_INVALID_ARGUMENT,
                                             "the multipart body names no usable boundary");
    }
    if (!request_content_is(request, "application/octet-stream"))
        return fault_set(fault, FAULT_UNSUPPORTED_MEDIA_TYPE,
                         "the body must be multipart/form-data or application/octet-stream");
    if (!upload->path)
        return fault_set(fault, FAULT_INVALID_ARGUMENT, "path is missing");
    return open_target(upload, upload->path, fault);
}

static int begin_coding(struct upload *upload, struct fault *fault)
{
    struct request *request = upload->request;
    const char *coding = request_header(request, "Content-Encoding");
    if (!coding || !*coding || !strcasecmp(coding, "identity"))
        return 0;
    if (strcasecmp(coding, "gzip") != 0 && strcasecmp(coding, "x-gzip") != 0)
        return fault_set(fault, FAULT_UNSUPPORTED_MEDIA_TYPE,
                         "content encoding '%s' is not supported", coding);
    upload->gunzip = files_gunzip_new();
    request->piece_max = GUNZIP_PIECE_MAX;
    return upload->gunzip ? 0 : fault_set(fault, FAULT_RESOURCE_EXHAUSTED, "no memory for gzip");
}

int files_put_begin(struct request *request, struct fault *fault)
{
    struct upload *upload = xcalloc(1, sizeof *upload);
    request->state = upload;
    upload->request = request;
    upload->fd = -1;
    upload->written = json_array();
    if (begin_coding(upload, fault) < 0 || files_user(request, &upload->user, fault) < 0 ||
        request_argument(request, "path", &upload->path, fault) < 0 ||
        files_metadata_from_headers(request, &upload->metadata, fault) < 0)
        return -1;
    if (upload->path && !*upload->path)
        upload->path = NULL;
    return begin_body(upload, fault);
}

static int take_plain(void *context, const char *data, size_t size, struct fault *fault)
{
    struct upload *upload = context;
    if (!upload->multipart)
        return write_all(upload, data, size, fault);
    upload->fault = fault;
    if (MHD_post_process(upload->multipart, data, size) == MHD_YES)
        return 0;
    if (!upload->failed)
        fault_set(fault, FAULT_INVALID_ARGUMENT, "the multipart body is malformed");
    return -1;
}

int files_put_data(struct request *request, const char *data, size_t size, struct fault *fault)
{
    struct upload *upload = request->state;
    if (upload->gunzip)
        return files_gunzip_data(upload->gunzip, data, size, take_plain, upload, fault);
    return take_plain(upload, data, size, fault);
}

int files_put_finish(struct request *request, struct fault *fault)
{
    struct upload *upload = request->state;
    upload->fault = fault;
    if (upload->gunzip && files_gunzip_end(upload->gunzip, fault) < 0)
        return -1;
    if (upload->multipart) {
        enum MHD_Result whole = MHD_destroy_post_processor(steal_pointer(&upload->multipart));
        if (upload->failed)
            return -1;
        if (whole != MHD_YES)
            return fault_set(fault, FAULT_INVALID_ARGUMENT, "the multipart body ends too early");
    }
    if (close_target(upload, fault) < 0)
        return -1;
    return request_reply_json(request, 200, steal_pointer(&upload->written));
}

void files_put_closed(struct request *request)
{
    struct upload *upload = request->state;
    if (!upload)
        return;
    if (upload->multipart) {
        upload->failed = true; /* nothing that is still buffered is wanted */
        MHD_destroy_post_processor(upload->multipart);
    }
    if (upload->fd >= 0)
        close(upload->fd);
    files_gunzip_free(upload->gunzip);
    free(upload->target);
    free(upload->part_name);
    free(upload->part_file);
    json_decref(upload->metadata);
    json_decref(upload->written);
    user_deinit(&upload->user);
    free(upload);
}
