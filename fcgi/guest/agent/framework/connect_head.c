/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/framework/connect_head.h"

#include <string.h>
#include <strings.h>

#include "agent/common/coding.h"
#include "base/media_type.h"
#include "base/mem.h"
#include "base/str.h"

#define TIMEOUT_MAX_MS (1000LL * 3600 * 24 * 365)

static const struct rpc_type types[] = {
    {"application/json", RPC_CONNECT, false, false},
    {"application/proto", RPC_CONNECT, true, false},
    {"application/connect+json", RPC_CONNECT_STREAM, false, false},
    {"application/connect+proto", RPC_CONNECT_STREAM, true, false},
    {"application/grpc-web", RPC_GRPC_WEB, true, false},
    {"application/grpc-web+proto", RPC_GRPC_WEB, true, false},
    {"application/grpc-web+json", RPC_GRPC_WEB, false, false},
    {"application/grpc-web-text", RPC_GRPC_WEB, true, true},
    {"application/grpc-web-text+proto", RPC_GRPC_WEB, true, true},
};

const struct rpc_type *const rpc_type_json = types;

/* In requests the coding of messages, and which the answer may have. */
static const struct {
    const char *coding, *accepts;
} headers[] = {
    [RPC_CONNECT] = {"Content-Encoding", "Accept-Encoding"},
    [RPC_CONNECT_STREAM] = {"Connect-Content-Encoding", "Connect-Accept-Encoding"},
    [RPC_GRPC_WEB] = {"Grpc-Encoding", "Grpc-Accept-Encoding"},
};

bool rpc_is_service_path(const char *path)
{
    return str_starts_with(path, "/process.Process/") ||
           str_starts_with(path, "/filesystem.Filesystem/");
}

const struct rpc_type *rpc_type_of(const struct request *request)
{
    if (!rpc_is_service_path(request->http.path))
        return NULL;
    for (size_t i = 0; i < ARRAY_SIZE(types); i++)
        if (httpd_content_is(&request->http, types[i].media_type))
            return &types[i];
    return NULL;
}

static int read_coding(struct request *request, const char *header, enum rpc_code refusal,
                       struct rpc_error *error)
{
    const char *coding = httpd_header(&request->http, header);
    request->compressed = coding && !strcasecmp(coding, "gzip");
    if (!coding || !*coding || request->compressed || !strcasecmp(coding, "identity"))
        return 0;
    return rpc_error_set(error, refusal, "%s '%s' is not supported: use gzip or identity", header,
                         coding);
}

/* JSON is UTF-8. Other types know no charset. */
static int check_charset(const struct request *request, struct rpc_error *error)
{
    if (media_type_is_utf8(httpd_header(&request->http, "Content-Type")))
        return 0;
    return rpc_error_set(error, RPC_UNSUPPORTED_MEDIA_TYPE,
                         "a request must be sent in UTF-8, and not in another charset");
}

static int refuse_type(bool streams, struct rpc_error *error)
{
    const char *word = streams ? "connect+" : "";
    return rpc_error_set(error, RPC_UNSUPPORTED_MEDIA_TYPE,
                         "the content type must be application/%sjson, application/%sproto or "
                         "application/grpc-web",
                         word, word);
}

int rpc_check_type(struct request *request, bool streams, struct rpc_error *error)
{
    const struct rpc_type *type = rpc_type_of(request);
    if (!type ||
        (type->protocol != RPC_GRPC_WEB && (type->protocol == RPC_CONNECT_STREAM) != streams))
        return refuse_type(streams, error);
    if (check_charset(request, error) < 0)
        return -1;
    const char *accepts = httpd_header(&request->http, headers[type->protocol].accepts);
    request->type = type;
    request->packs = accepts && coding_choose(accepts) == CODING_GZIP;
    return read_coding(request, headers[type->protocol].coding, RPC_UNIMPLEMENTED, error);
}

int rpc_check_json(struct request *request, struct rpc_error *error)
{
    if (!httpd_content_is(&request->http, rpc_type_json->media_type))
        return rpc_error_set(error, RPC_UNSUPPORTED_MEDIA_TYPE, "the content type must be %s",
                             rpc_type_json->media_type);
    if (check_charset(request, error) < 0)
        return -1;
    return read_coding(request, headers[RPC_CONNECT].coding, RPC_UNSUPPORTED_CODING, error);
}

const char *rpc_coding_header(const struct rpc_type *type)
{
    return headers[type->protocol].coding;
}

/* Digits and a unit; less than a millisecond counts as one. */
static int parse_grpc_timeout(const char *text, int64_t *timeout_ms)
{
    static const struct {
        char letter;
        int64_t ms, parts;
    } units[] = {{'H', 3600000, 1}, {'M', 60000, 1}, {'S', 1000, 1},
                 {'m', 1, 1},       {'u', 1, 1000},  {'n', 1, 1000000}};
    size_t digits = strspn(text, "0123456789");
    autofree char *number = xstrndup(text, digits);
    uint64_t value;
    if (str_parse_u64(number, 0, 99999999, &value) < 0 || strlen(text) != digits + 1)
        return -1;
    for (size_t i = 0; i < ARRAY_SIZE(units); i++)
        if (units[i].letter == text[digits]) {
            *timeout_ms = ((int64_t)value * units[i].ms + units[i].parts - 1) / units[i].parts;
            return 0;
        }
    return -1;
}

int rpc_timeout_ms(const struct request *request, int64_t *timeout_ms, struct rpc_error *error)
{
    *timeout_ms = 0;
    bool grpc = request->type->protocol == RPC_GRPC_WEB;
    const char *header = grpc ? "Grpc-Timeout" : "Connect-Timeout-Ms";
    const char *text = httpd_header(&request->http, header);
    uint64_t value;
    if (!text)
        return 0;
    if (grpc && parse_grpc_timeout(text, timeout_ms) == 0 && *timeout_ms <= TIMEOUT_MAX_MS)
        return 0;
    if (grpc || str_parse_u64(text, 0, TIMEOUT_MAX_MS, &value) < 0)
        return rpc_error_set(error, RPC_INVALID_ARGUMENT, "%s is not a number", header);
    *timeout_ms = (int64_t)value;
    return 0;
}
