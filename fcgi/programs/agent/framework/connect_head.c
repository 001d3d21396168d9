/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/framework/connect_head.h"

#include <strings.h>

#include "base/str.h"

#define TYPE_UNARY     "application/json"

#define TIMEOUT_MAX_MS (1000LL * 3600 * 24 * 365)

bool rpc_is_service_path(const char *path)
{
    return str_starts_with(path, "/process.Process/") ||
           str_starts_with(path, "/filesystem.Filesystem/");
}

bool rpc_is_stream_request(const struct request *request)
{
    return rpc_is_service_path(request->http.path) &&
           httpd_content_is(&request->http, RPC_TYPE_STREAM);
}

static int read_coding(struct request *request, const char *header, struct rpc_error *error)
{
    const char *coding = httpd_header(&request->http, header);
    request->compressed = coding && !strcasecmp(coding, "gzip");
    if (!coding || !*coding || request->compressed || !strcasecmp(coding, "identity"))
        return 0;
    return rpc_error_set(error, RPC_UNIMPLEMENTED,
                         "%s '%s' is not supported: messages may be gzip or identity", header,
                         coding);
}

int rpc_check_type(struct request *request, bool streams, struct rpc_error *error)
{
    if (!httpd_content_is(&request->http, streams ? RPC_TYPE_STREAM : TYPE_UNARY))
        return rpc_error_set(error, RPC_UNSUPPORTED_MEDIA_TYPE, "the content type must be %s",
                             streams ? RPC_TYPE_STREAM : TYPE_UNARY);
    return read_coding(request, streams ? "Connect-Content-Encoding" : "Content-Encoding", error);
}

int rpc_timeout_ms(const struct request *request, int64_t *timeout_ms, struct rpc_error *error)
{
    *timeout_ms = 0;
    const char *text = httpd_header(&request->http, "Connect-Timeout-Ms");
    uint64_t value;
    if (!text)
        return 0;
    if (str_parse_u64(text, 0, TIMEOUT_MAX_MS, &value) < 0)
        return rpc_error_set(error, RPC_INVALID_ARGUMENT, "Connect-Timeout-Ms is not a number");
    *timeout_ms = (int64_t)value;
    return 0;
}
