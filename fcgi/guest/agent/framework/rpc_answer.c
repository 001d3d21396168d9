/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/framework/rpc_answer.h"

#include <sodium.h>

#include "agent/common/coding.h"
#include "agent/common/message.h"
#include "agent/framework/connect_rpc.h"
#include "agent/framework/envelope.h"
#include "agent/framework/worker.h"

/* Shorter ones are not worth it. */
#define PACK_MIN     1024

#define TRAILERS_MAX (8 * 1024)
/* Frames and base64 around the largest message. */
#define BODY_MAX (2 * (size_t)WORKER_ANSWER_MAX)

void rpc_encode(const struct request *request, const json_t *message, struct buffer *out)
{
    if (request->type->binary) {
        message_write(request->route->rpc->answer, message, out);
        return;
    }
    autofree char *text = json_dumps(message, JSON_COMPACT);
    buffer_append_string(out, text ? text : "{}");
}

/* False: it stays as it is. */
static bool pack(const struct request *request, const char *message, size_t size,
                 struct buffer *packed)
{
    return request->packs && size >= PACK_MIN && gzip_whole(message, size, packed) == 0;
}

/* --- frames --- */

static void append_base64(struct buffer *out, const struct buffer *data)
{
    size_t room = sodium_base64_ENCODED_LEN(data->size, sodium_base64_VARIANT_ORIGINAL);
    char *text = buffer_reserve(out, room);
    if (!text)
        return;
    sodium_bin2base64(text, room, (const unsigned char *)data->data, data->size,
                      sodium_base64_VARIANT_ORIGINAL);
    buffer_commit(out, room - 1);
}

static void append_frame(const struct rpc_type *type, unsigned flags, const char *message,
                         size_t size, struct buffer *out)
{
    if (!type->text) {
        envelope_append(out, flags, message, size);
        return;
    }
    buffer_auto frame = BUFFER_INIT(size + ENVELOPE_HEAD);
    envelope_append(&frame, flags, message, size);
    append_base64(out, &frame);
}

void rpc_frame(const struct request *request, const char *message, size_t size, struct buffer *out)
{
    buffer_auto packed = BUFFER_INIT(2 * size + PACK_MIN);
    if (pack(request, message, size, &packed))
        append_frame(request->type, ENVELOPE_COMPRESSED, packed.data, packed.size, out);
    else
        append_frame(request->type, 0, message, size, out);
}

/* As gRPC has it: printable ASCII stays. */
static void append_percent(struct buffer *out, const char *text)
{
    for (; *text; text++)
        if (*text >= ' ' && *text <= '~' && *text != '%')
            buffer_append_char(out, *text);
        else
            buffer_printf(out, "%%%02X", (unsigned char)*text);
}

static void append_trailers(const struct rpc_type *type, const struct rpc_error *error,
                            struct buffer *out)
{
    buffer_auto trailers = BUFFER_INIT(TRAILERS_MAX);
    buffer_printf(&trailers, "grpc-status: %u\r\n", error ? rpc_grpc_number(error->code) : 0);
    if (error) {
        buffer_append_string(&trailers, "grpc-message: ");
        append_percent(&trailers, error->message);
        buffer_append_string(&trailers, "\r\n");
    }
    append_frame(type, ENVELOPE_TRAILERS, trailers.data, trailers.size, out);
}

void rpc_frame_end(const struct rpc_type *type, const struct rpc_error *error, struct buffer *out)
{
    if (type->protocol == RPC_GRPC_WEB)
        append_trailers(type, error, out);
    else
        envelope_append_end(out, error);
}

/* --- answers of one message --- */

void rpc_body_make(const struct request *request, struct buffer *message, struct rpc_body *body)
{
    buffer_init(&body->bytes, BODY_MAX);
    body->packed = false;
    if (request->type->protocol != RPC_CONNECT) {
        rpc_frame(request, message->data, message->size, &body->bytes);
        rpc_frame_end(request->type, NULL, &body->bytes);
        buffer_deinit(message);
        return;
    }
    body->packed = pack(request, message->data, message->size, &body->bytes);
    if (body->packed) {
        buffer_deinit(message);
        return;
    }
    body->bytes = *message;
    buffer_init(message, message->max);
}

int rpc_body_reply(struct request *request, struct rpc_body *body)
{
    const struct rpc_type *type = request->type;
    size_t size = body->bytes.size;
    struct MHD_Response *response =
        MHD_create_response_from_buffer(size, buffer_steal(&body->bytes), MHD_RESPMEM_MUST_FREE);
    MHD_add_response_header(response, "Content-Type", type->media_type);
    if (body->packed || (type->protocol != RPC_CONNECT && request->packs))
        MHD_add_response_header(response, rpc_coding_header(type), "gzip");
    return httpd_reply(&request->http, 200, response);
}

int rpc_reply(struct request *request, json_t *answer)
{
    buffer_auto message = BUFFER_INIT(WORKER_ANSWER_MAX);
    struct rpc_body body;
    struct rpc_error error;
    rpc_encode(request, answer, &message);
    json_decref(answer);
    if (buffer_overflowed(&message)) {
        rpc_error_set(&error, RPC_TOO_LARGE, "the answer is larger than %d MiB",
                      WORKER_ANSWER_MAX / 1024 / 1024);
        return request_reply_error(request, &error);
    }
    rpc_body_make(request, &message, &body);
    return rpc_body_reply(request, &body);
}
