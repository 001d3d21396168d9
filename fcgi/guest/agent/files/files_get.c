/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GET /files: one file, as a static file server gives it. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/common/coding.h"
#include "agent/common/paths.h"
#include "agent/files/files.h"
#include "agent/files/files_coding.h"
#include "agent/files/files_range.h"
#include "agent/files/files_routes.h"
#include "base/mem.h"

/* Files of /proc say that they are empty, those of /sys that they fill a page. Up to this many
 * bytes are read at once; the answer with a longer file has no Content-Length. */
#define SIZELESS_MAX (1024 * 1024)
#define BLOCK_SIZE   (32 * 1024)

#define ETAG_SIZE    64

int files_user(struct request *request, struct user *user, struct rpc_error *error)
{
    const char *name;
    if (request_argument(request, "username", &name, error) < 0)
        return -1;
    return users_find(name && *name ? name : request->agent->default_user, user, error);
}

static int open_file(const char *path, struct stat *status, int *fd, struct rpc_error *error)
{
    autoclose int opened = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    /* The sentences of E2B's agent: programs compare them. */
    if (opened < 0 && rpc_errno_of_reading(errno) == ENOENT)
        return rpc_error_set(error, RPC_NOT_FOUND, "path '%s' does not exist", path);
    if (opened < 0 || fstat(opened, status) < 0)
        return rpc_error_set_errno(error, errno, "cannot open '%s'", path);
    if (S_ISDIR(status->st_mode))
        return rpc_error_set_field(error, "path", "path '%s' is a directory", path);
    if (!S_ISREG(status->st_mode))
        return rpc_error_set_field(error, "path", "'%s' is not a regular file", path);
    *fd = steal_fd(&opened);
    return 0;
}

/* The name as a quoted string, and once more in full when it has bytes that one cannot carry. */
static void add_disposition(struct MHD_Response *response, bool download, const char *name)
{
    buffer_auto value = BUFFER_INIT(8192);
    bool plain = true;
    buffer_append_string(&value, download ? "attachment" : "inline");
    buffer_append_string(&value, "; filename=\"");
    for (const char *c = name; *c; c++) {
        bool safe = (unsigned char)*c >= 0x20 && (unsigned char)*c < 0x7f;
        plain &= safe;
        if (*c == '"' || *c == '\\')
            buffer_append_char(&value, '\\');
        buffer_append_char(&value, safe ? *c : '_');
    }
    buffer_append_char(&value, '"');
    if (!plain) {
        buffer_append_string(&value, "; filename*=UTF-8''");
        for (const unsigned char *c = (const unsigned char *)name; *c; c++)
            if (*c > 0x20 && *c < 0x7f && !strchr("\"%'()*,/:;<=>?@[\\]{}", *c))
                buffer_append_char(&value, (char)*c);
            else
                buffer_printf(&value, "%%%02X", *c);
    }
    MHD_add_response_header(response, "Content-Disposition", buffer_string(&value));
}

static struct file_conditions read_conditions(const struct request *request)
{
    return (struct file_conditions){
        .if_match = httpd_header(&request->http, "If-Match"),
        .if_none_match = httpd_header(&request->http, "If-None-Match"),
        .if_modified_since = httpd_header(&request->http, "If-Modified-Since"),
        .if_unmodified_since = httpd_header(&request->http, "If-Unmodified-Since"),
        .if_range = httpd_header(&request->http, "If-Range"),
        .range = httpd_header(&request->http, "Range"),
    };
}

static void add_range_header(struct MHD_Response *response, int status,
                             const struct file_part *part, uint64_t size)
{
    char value[96];
    if (status == 206)
        snprintf(value, sizeof value, "bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64, part->first,
                 part->first + part->length - 1, size);
    else
        snprintf(value, sizeof value, "bytes */%" PRIu64, size);
    MHD_add_response_header(response, "Content-Range", value);
}

struct file {
    const char *path;
    struct stat status;
    bool gzip;
    bool download; /* browsers save it, and do not show it */
};

/* A compressed file is another representation, so it has another tag. */
static void format_etag(char etag[ETAG_SIZE], const struct file *file)
{
    const struct stat *status = &file->status;
    snprintf(etag, ETAG_SIZE, "\"%jx-%lx-%jx%s\"", (uintmax_t)status->st_mtim.tv_sec,
             (unsigned long)status->st_mtim.tv_nsec, (uintmax_t)status->st_size,
             file->gzip ? "-gzip" : "");
}

/* A refusal in the shape of all others. */
static struct MHD_Response *make_refusal(struct request *request, const struct file *file, int code)
{
    unsigned status;
    if (code == 412)
        rpc_error_set(&request->error, RPC_PRECONDITION_FAILED,
                      "'%s' has changed: it is not what If-Match or If-Unmodified-Since names",
                      file->path);
    else
        rpc_error_set(&request->error, RPC_RANGE_NOT_SATISFIABLE,
                      "'%s' has %jd bytes, and none of them is in the requested range", file->path,
                      (intmax_t)file->status.st_size);
    return httpd_failure_response(&request->http, &status);
}

/* The body of an answer with that status. Takes fd over. NULL: no memory. */
static struct MHD_Response *make_body(struct request *request, const struct file *file, int code,
                                      int fd, const struct file_parts *parts)
{
    if (code == 200 && file->gzip)
        return files_gzip_response(fd);
    if (code == 206 && parts->count > 1)
        return files_parts_response(fd, parts, (uint64_t)file->status.st_size,
                                    files_media_type(paths_base(file->path)));
    if (code == 200 || code == 206) {
        struct MHD_Response *response = MHD_create_response_from_fd_at_offset64(
            parts->items[0].length, fd, parts->items[0].first);
        if (!response)
            close(fd);
        return response;
    }
    close(fd);
    /* The length of a 304 would be that of the file (RFC 9110, section 8.6). */
    return code == 304 ? MHD_create_response_empty(MHD_RF_HEAD_ONLY_RESPONSE)
                       : make_refusal(request, file, code);
}

/* The file of the body. */
static void add_content_headers(struct MHD_Response *response, const struct file *file, int code,
                                const struct file_parts *parts)
{
    bool in_parts = code == 206 && parts->count > 1;
    if (file->gzip && code == 200)
        MHD_add_response_header(response, "Content-Encoding", "gzip");
    if (code == 416 || (code == 206 && !in_parts))
        add_range_header(response, code, &parts->items[0], (uint64_t)file->status.st_size);
    if (code != 200 && code != 206)
        return;
    if (!in_parts)
        MHD_add_response_header(response, "Content-Type", files_media_type(paths_base(file->path)));
    add_disposition(response, file->download, paths_base(file->path));
}

/* Takes fd over. */
static int reply_file(struct request *request, const struct file *file, int fd,
                      struct rpc_error *error)
{
    char etag[ETAG_SIZE], date[FILES_DATE_SIZE];
    format_etag(etag, file);
    const struct file_version version = {.etag = etag,
                                         .modified_at_s = file->status.st_mtime,
                                         .size = (uint64_t)file->status.st_size};
    struct file_conditions conditions = read_conditions(request);
    if (file->gzip)
        conditions.range = NULL;
    struct file_parts parts;
    int code = files_select(&conditions, &version, &parts);
    struct MHD_Response *response = make_body(request, file, code, fd, &parts);
    if (!response)
        return rpc_error_set(error, RPC_RESOURCE_EXHAUSTED, "cannot send the file now; try again");
    if (!file->gzip)
        MHD_add_response_header(response, "Accept-Ranges", "bytes");
    MHD_add_response_header(response, "ETag", etag);
    MHD_add_response_header(response, "Last-Modified",
                            files_format_date(file->status.st_mtime, date));
    MHD_add_response_header(response, "Vary", "Accept-Encoding");
    add_content_headers(response, file, code, &parts);
    return httpd_reply(&request->http, code, response);
}

/* --- files without a size --- */

static bool may_be_sizeless(uint64_t size)
{
    return !size || size == (uint64_t)sysconf(_SC_PAGESIZE);
}

/* A file whose beginning was read. Its rest comes from where that ended: some files of the kernel
 * cannot be read from the beginning again. */
struct begun {
    char *bytes;
    size_t size, sent;
    int fd;
};

static ssize_t on_read(void *context, uint64_t position, char *out, size_t room)
{
    (void)position;
    struct begun *begun = context;
    size_t left = begun->size - begun->sent;
    if (left) {
        size_t size = left < room ? left : room;
        memcpy(out, begun->bytes + begun->sent, size);
        begun->sent += size;
        return (ssize_t)size;
    }
    ssize_t size = read(begun->fd, out, room);
    if (size < 0)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    return size ? size : MHD_CONTENT_READER_END_OF_STREAM;
}

static void on_free(void *context)
{
    struct begun *begun = context;
    free(begun->bytes);
    close(begun->fd);
    free(begun);
}

/* Takes bytes and fd over. NULL: no memory. */
static struct MHD_Response *make_begun_body(char *bytes, size_t size, int fd)
{
    struct begun *begun = xcalloc(1, sizeof *begun);
    *begun = (struct begun){.bytes = bytes, .size = size, .fd = fd};
    struct MHD_Response *response =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_SIZE, on_read, begun, on_free);
    if (!response)
        on_free(begun);
    return response;
}

/* Reply with the readable bytes, and take *fd over if they are many. *as_told: the file has as many
 * bytes as its size says; no reply was sent. */
static int reply_sizeless(struct request *request, const struct file *file, int *fd, bool *as_told,
                          struct rpc_error *error)
{
    size_t told = (size_t)file->status.st_size;
    size_t room = told ? told : SIZELESS_MAX;
    autofree char *bytes = xmalloc(room);
    size_t size = 0;
    ssize_t got = 0;
    while (size < room && (got = read(*fd, bytes + size, room - size)) > 0)
        size += (size_t)got;
    if (got < 0)
        return rpc_error_set_errno(error, errno, "cannot read '%s'", file->path);
    *as_told = size == told;
    if (*as_told)
        return 0;
    struct MHD_Response *response =
        size < room ? MHD_create_response_from_buffer(size, bytes, MHD_RESPMEM_MUST_COPY)
                    : make_begun_body(steal_pointer(&bytes), size, steal_fd(fd));
    if (!response)
        return rpc_error_set(error, RPC_RESOURCE_EXHAUSTED, "cannot send the file now; try again");
    MHD_add_response_header(response, "Content-Type", files_media_type(paths_base(file->path)));
    add_disposition(response, file->download, paths_base(file->path));
    return httpd_reply(&request->http, 200, response);
}

/* Parts are parts of the plain bytes, so a client that asks for one gets those. */
static bool choose_gzip(struct request *request, enum coding coding, int fd, uint64_t size)
{
    if (coding == CODING_GZIP_ONLY)
        return true;
    return coding == CODING_GZIP && size && !httpd_header(&request->http, "Range") &&
           files_gzip_pays(fd, size);
}

int files_get_finish(struct request *request, struct rpc_error *error)
{
    user_auto user = {.name = NULL};
    autofree char *path = NULL;
    autoclose int fd = -1;
    const char *text, *download;
    struct file file = {.gzip = false};
    if (files_user(request, &user, error) < 0 ||
        request_argument(request, "path", &text, error) < 0 ||
        request_argument(request, "download", &download, error) < 0)
        return -1;
    if (paths_resolve(text ? text : "", &user, &path, error) < 0)
        return rpc_error_name(error, "path");
    if (open_file(path, &file.status, &fd, error) < 0)
        return -1;
    enum coding coding = coding_choose(httpd_header(&request->http, "Accept-Encoding"));
    if (coding == CODING_NONE)
        return rpc_error_set(error, RPC_NOT_ACCEPTABLE,
                             "the header Accept-Encoding refuses both identity and gzip");
    file.path = path;
    file.download = download && !strcmp(download, "1");
    file.gzip = choose_gzip(request, coding, fd, (uint64_t)file.status.st_size);
    if (may_be_sizeless((uint64_t)file.status.st_size) && !file.gzip) {
        bool as_told;
        if (reply_sizeless(request, &file, &fd, &as_told, error) < 0)
            return -1;
        if (!as_told)
            return 0;
    }
    return reply_file(request, &file, steal_fd(&fd), error);
}
