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
#include "agent/multipart.h"
#include "agent/paths.h"
#include "base/mem.h"
#include "base/str.h"

#define PARTS_MAX 10000

struct upload {
    struct request *request;
    struct user user;
    const char *path; /* the argument; NULL: the file names in the parts say where */
    json_t *metadata;
    json_t *written;             /* the answer: an entry per file */
    int fd;                      /* the file in hand, -1: none, or a part that is no file */
    char *target;                /* its path */
    struct multipart *multipart; /* NULL: the body is one file */
    struct files_gunzip *gunzip; /* NULL: the body comes as it is */
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

static int begin_part(void *context, const char *name, const char *file_name, struct fault *fault)
{
    struct upload *upload = context;
    if (strcmp(name, "file") != 0)
        return 0;
    const char *text = upload->path ? upload->path : file_name;
    if (!text || !*text)
        return fault_set(fault, FAULT_INVALID_ARGUMENT,
                         "neither a path argument nor a file name says where the file goes");
    return open_target(upload, text, fault);
}

static int take_part(void *context, const char *data, size_t size, struct fault *fault)
{
    struct upload *upload = context;
    return upload->fd < 0 ? 0 : write_all(upload, data, size, fault);
}

static int end_part(void *context, struct fault *fault)
{
    return close_target(context, fault);
}

static const struct multipart_events part_events = {begin_part, take_part, end_part};

static int begin_body(struct upload *upload, struct fault *fault)
{
    struct request *request = upload->request;
    if (request_content_is(request, "multipart/form-data"))
        return multipart_new(request_header(request, "Content-Type"), &part_events, upload,
                             &upload->multipart, fault);
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
    return upload->multipart ? multipart_data(upload->multipart, data, size, fault)
                             : write_all(upload, data, size, fault);
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
    if ((upload->gunzip && files_gunzip_end(upload->gunzip, fault) < 0) ||
        (upload->multipart && multipart_end(upload->multipart, fault) < 0))
        return -1;
    if (close_target(upload, fault) < 0)
        return -1;
    return request_reply_json(request, 200, steal_pointer(&upload->written));
}

void files_put_closed(struct request *request)
{
    struct upload *upload = request->state;
    if (!upload)
        return;
    multipart_free(upload->multipart);
    if (upload->fd >= 0)
        close(upload->fd);
    files_gunzip_free(upload->gunzip);
    free(upload->target);
    json_decref(upload->metadata);
    json_decref(upload->written);
    user_deinit(&upload->user);
    free(upload);
}
