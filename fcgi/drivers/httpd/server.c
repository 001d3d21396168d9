/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "httpd/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"

#define BACKLOG     1024
#define MEMORY_STEP 4096

/* --- a request through the program --- */

static enum MHD_Result result_of(int rc)
{
    return rc < 0 ? MHD_NO : MHD_YES;
}

static enum MHD_Result handle_head(struct httpd_request *request, const char *method)
{
    if (request->ops->head(request, method) == 0)
        return MHD_YES;
    /* A client that waits for "100 Continue" has not sent its body and need not. */
    if (httpd_header(request, "Expect")) {
        request->failed = true;
        return result_of(httpd_reply_failure(request));
    }
    httpd_fail(request);
    return MHD_YES;
}

static enum MHD_Result handle_data(struct httpd_request *request, const char *data, size_t *size)
{
    size_t piece = *size;
    if (request->ops->piece)
        request->ops->piece(request);
    if (request->piece_max && piece > request->piece_max && !request->failed)
        piece = request->piece_max;
    *size -= piece; /* the rest comes again, after the other requests had their turn */
    if (request->failed)
        return result_of(httpd_swallow(request, piece));
    if (request->ops->data(request, data, piece) < 0)
        httpd_fail(request);
    return MHD_YES;
}

static enum MHD_Result handle_end(struct httpd_request *request)
{
    request->finished = true;
    if (request->answered_early) /* past the library: the connection is of no more use */
        return MHD_NO;
    if (!request->failed && request->ops->finish(request) < 0)
        request->failed = true;
    return request->failed && !request->replied ? result_of(httpd_reply_failure(request)) : MHD_YES;
}

static enum MHD_Result on_access(void *context, struct MHD_Connection *connection, const char *url,
                                 const char *method, const char *version, const char *data,
                                 size_t *data_size, void **request_context)
{
    (void)version;
    const struct httpd_options *options = context;
    struct httpd_request *request = *request_context;
    if (!request) {
        *request_context = request = options->ops->open(options->context);
        request->ops = options->ops;
        request->connection = connection;
        request->path = url;
        return handle_head(request, method);
    }
    if (*data_size)
        return handle_data(request, data, data_size);
    if (request->reply)
        return result_of(
            httpd_reply(request, request->reply_status, steal_pointer(&request->reply)));
    if (request->replied)
        return MHD_YES;
    /* Resumed without a reply: the peer went away while the request was suspended. */
    return request->finished ? MHD_NO : handle_end(request);
}

static void on_completed(void *context, struct MHD_Connection *connection, void **request_context,
                         enum MHD_RequestTerminationCode how)
{
    (void)context, (void)connection, (void)how;
    struct httpd_request *request = *request_context;
    if (request)
        request->ops->closed(request);
    *request_context = NULL;
}

/* --- the server --- */

int httpd_listen(const char *address, uint16_t port, struct error **err)
{
    const int on = 1;
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    if (inet_pton(AF_INET, address, &to.sin_addr) != 1)
        return error_set(err, ERR_CONFIG, "'%s' is not an IPv4 address", address);
    autoclose int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0 ||
        bind(fd, (struct sockaddr *)&to, sizeof to) < 0 || listen(fd, BACKLOG) < 0)
        return error_set_errno(err, ERR_CONFIG, errno, "cannot listen on %s port %u", address,
                               port);
    return steal_fd(&fd);
}

__attribute__((format(printf, 2, 0))) static void on_library_log(void *context, const char *format,
                                                                 va_list ap)
{
    (void)context;
    char text[512], *detail = text;
    vsnprintf(text, sizeof text, format, ap);
    text[strcspn(text, "\r\n")] = '\0';
    log_debug("http", LOG_STR("detail", detail));
}

struct MHD_Daemon *httpd_start(const struct httpd_options *options, struct error **err)
{
    unsigned flags = options->thread_stack
                         ? MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD
                         : MHD_USE_EPOLL | MHD_USE_NO_THREAD_SAFETY | MHD_ALLOW_SUSPEND_RESUME;
    const struct MHD_OptionItem of_threads[] = {
        {options->thread_stack ? MHD_OPTION_THREAD_STACK_SIZE : MHD_OPTION_END,
         (intptr_t)options->thread_stack, NULL},
        {MHD_OPTION_END, 0, NULL},
    };
    const struct MHD_OptionItem of_connections[] = {
        {options->connected ? MHD_OPTION_NOTIFY_CONNECTION : MHD_OPTION_END,
         (intptr_t)options->connected, options->context},
        {MHD_OPTION_END, 0, NULL},
    };
    struct MHD_Daemon *daemon = MHD_start_daemon(
        flags | MHD_USE_ERROR_LOG, 0, NULL, NULL, on_access, (void *)options,
        MHD_OPTION_EXTERNAL_LOGGER, on_library_log, NULL, MHD_OPTION_LISTEN_SOCKET,
        options->listen_fd, MHD_OPTION_NOTIFY_COMPLETED, on_completed, NULL,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, options->connection_memory,
        MHD_OPTION_CONNECTION_MEMORY_INCREMENT, (size_t)MEMORY_STEP, MHD_OPTION_CONNECTION_LIMIT,
        options->connections_max, MHD_OPTION_CONNECTION_TIMEOUT, options->idle_timeout_s,
        MHD_OPTION_ARRAY, of_threads, MHD_OPTION_ARRAY, of_connections, MHD_OPTION_END);
    if (!daemon)
        error_set_errno(err, ERR_INTERNAL, errno, "cannot start the HTTP server");
    return daemon;
}
