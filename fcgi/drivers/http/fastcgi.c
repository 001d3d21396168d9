/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "http/fastcgi.h"

#include <errno.h>
#include <fastcgi.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/big_endian.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/mem.h"

#define INPUT_SIZE      16384
#define PARAMETERS_MAX  (1u << 20) /* bytes; nginx bounds a head well below */
#define HEAD_WAIT_MS    5000
#define LINGER_MS       2000
#define RECORD_SIZE     65528
#define RECORDS_AT_ONCE 16

struct fastcgi {
    int fd;
    unsigned id;
    bool is_over; /* the body */
    /* Of the record that is being read. */
    unsigned type;
    size_t content, padding;
    struct buffer text; /* of the parameters; once all are there their strings */
    char **parameters;
    size_t at, end; /* in input: what has come and was not read */
    size_t used;    /* of input, ever */
    unsigned char input[INPUT_SIZE];
};

/* --- receiving --- */

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* What is there, or what comes first. As recv(2), and -1 when nothing came in time. */
static ssize_t receive(int fd, void *data, size_t size, int wait_ms)
{
    struct pollfd input = {.fd = fd, .events = POLLIN};
    ssize_t got = recv(fd, data, size, MSG_DONTWAIT);
    if (got >= 0 || errno != EAGAIN || poll(&input, 1, wait_ms) <= 0)
        return got;
    return recv(fd, data, size, MSG_DONTWAIT);
}

/* Behind what is there. */
static bool fill(struct fastcgi *request, int wait_ms)
{
    memmove(request->input, request->input + request->at, request->end - request->at);
    request->end -= request->at;
    request->at = 0;
    ssize_t got =
        receive(request->fd, request->input + request->end, INPUT_SIZE - request->end, wait_ms);
    request->end += got > 0 ? (size_t)got : 0;
    request->used = request->end > request->used ? request->end : request->used;
    return got > 0;
}

static bool skip(struct fastcgi *request, size_t *left, int wait_ms)
{
    while (*left) {
        if (request->at == request->end && !fill(request, wait_ms))
            return false;
        size_t there = smaller(*left, request->end - request->at);
        request->at += there;
        *left -= there;
    }
    return true;
}

/* The head of the next record, behind what is left of this one. */
static bool next_record(struct fastcgi *request, int wait_ms)
{
    if (!skip(request, &request->content, wait_ms) || !skip(request, &request->padding, wait_ms))
        return false;
    while (request->end - request->at < FCGI_HEADER_LEN)
        if (!fill(request, wait_ms))
            return false;
    const unsigned char *head = request->input + request->at;
    if (head[0] != FCGI_VERSION_1)
        return false;
    request->type = head[1];
    request->content = (size_t)be_get(head + 4, 2);
    request->padding = head[6];
    request->at += FCGI_HEADER_LEN;
    return request->type == FCGI_BEGIN_REQUEST || be_get(head + 2, 2) == request->id;
}

/* --- the head of a request --- */

static bool begin(struct fastcgi *request, int wait_ms)
{
    const size_t size = sizeof(FCGI_BeginRequestBody);
    /* The id stands before, in the record's head. */
    request->id = (unsigned)be_get(request->input + request->at - FCGI_HEADER_LEN + 2, 2);
    if (request->content != size || !request->id)
        return false;
    while (request->end - request->at < size)
        if (!fill(request, wait_ms))
            return false;
    return be_get(request->input + request->at, 2) == FCGI_RESPONDER;
}

static bool take_text(struct fastcgi *request, int wait_ms)
{
    while (request->content) {
        if (request->at == request->end && !fill(request, wait_ms))
            return false;
        size_t there = smaller(request->content, request->end - request->at);
        if (buffer_append(&request->text, request->input + request->at, there) < 0)
            return false;
        request->at += there;
        request->content -= there;
    }
    return true;
}

/* What no worker is asked, but for whether it is there. */
static bool answer_management(const struct fastcgi *request)
{
    unsigned char answer[2 * FCGI_HEADER_LEN] = {FCGI_VERSION_1, FCGI_UNKNOWN_TYPE};
    be_put(answer + 4, 2, FCGI_HEADER_LEN);
    answer[FCGI_HEADER_LEN] = (unsigned char)request->type;
    return send(request->fd, answer, sizeof answer, MSG_NOSIGNAL) == (ssize_t)sizeof answer;
}

static bool read_head(struct fastcgi *request)
{
    int64_t until_ms = clock_monotonic_ms() + HEAD_WAIT_MS;
    for (;;) {
        int64_t left_ms = until_ms - clock_monotonic_ms();
        int wait_ms = left_ms > 0 ? (int)left_ms : 0;
        bool fine = next_record(request, wait_ms);
        if (!fine)
            return false;
        if (!request->id && request->type != FCGI_BEGIN_REQUEST)
            fine = answer_management(request);
        else if (request->type == FCGI_PARAMS && !request->content)
            return true;
        else if (request->type == FCGI_PARAMS)
            fine = take_text(request, wait_ms);
        else
            fine = request->type == FCGI_BEGIN_REQUEST && !request->id && begin(request, wait_ms);
        if (!fine)
            return false;
    }
}

/* A length takes a byte, or four of which the highest bit is set. False: the text ends before. */
static bool take_length(const unsigned char **at, const unsigned char *end, size_t *length)
{
    size_t size = *at < end && **at & 0x80 ? 4 : 1;
    if ((size_t)(end - *at) < size)
        return false;
    *length = (size_t)be_get(*at, size) & (size == 4 ? 0x7fffffff : 0x7f);
    *at += size;
    return true;
}

/* The strings go where the pairs are: two bytes more than name and value is what a pair has too. */
static bool read_parameters(struct fastcgi *request)
{
    size_t count = 0, capacity = 0, name, value;
    buffer_append(&request->text, "", 0);
    const unsigned char *at = (const unsigned char *)request->text.data;
    const unsigned char *end = at + request->text.size;
    char *out = request->text.data;
    do {
        if (count == capacity) {
            capacity = capacity ? 2 * capacity : 64;
            request->parameters =
                xreallocarray(request->parameters, capacity, sizeof *request->parameters);
        }
        request->parameters[count] = NULL;
        if (at == end)
            return true;
        if (!take_length(&at, end, &name) || !take_length(&at, end, &value) ||
            name > (size_t)(end - at) || value > (size_t)(end - at) - name)
            return false;
        request->parameters[count++] = out;
        memmove(out, at, name);
        out[name] = '=';
        memmove(out + name + 1, at + name, value);
        out[name + 1 + value] = '\0';
        out += name + value + 2;
        at += name + value;
    } while (true);
}

struct fastcgi *fastcgi_accept(int listener)
{
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0)
        return NULL;
    struct fastcgi *request = xmalloc(sizeof *request);
    memset(request, 0, offsetof(struct fastcgi, input));
    buffer_init(&request->text, PARAMETERS_MAX);
    request->fd = fd;
    if (read_head(request) && read_parameters(request))
        return request;
    request->is_over = true;
    fastcgi_free(request);
    errno = EAGAIN;
    return NULL;
}

char **fastcgi_parameters(const struct fastcgi *request)
{
    return request->parameters;
}

/* --- the body --- */

static long take(struct fastcgi *request, void *data, size_t size)
{
    size_t there = smaller(smaller(size, request->content), request->end - request->at);
    memcpy(data, request->input + request->at, there);
    request->at += there;
    request->content -= there;
    return (long)there;
}

long fastcgi_read(struct fastcgi *request, void *data, size_t size, int wait_ms)
{
    while (!request->is_over && !request->content) {
        if (!next_record(request, wait_ms) || request->type != FCGI_STDIN)
            return -1;
        request->is_over = !request->content;
    }
    if (request->is_over)
        return 0;
    if (request->at < request->end || size < INPUT_SIZE)
        return request->at < request->end || fill(request, wait_ms) ? take(request, data, size)
                                                                    : -1;
    ssize_t got = receive(request->fd, data, smaller(size, request->content), wait_ms);
    if (got <= 0)
        return -1;
    request->content -= (size_t)got;
    return got;
}

bool fastcgi_body_is_over(const struct fastcgi *request)
{
    return request->is_over;
}

/* --- the answer --- */

static int send_parts(int fd, struct iovec *parts, size_t count)
{
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = count};
    while (message.msg_iovlen) {
        ssize_t sent = sendmsg(fd, &message, MSG_NOSIGNAL);
        if (sent < 0)
            return -1;
        while (message.msg_iovlen && (size_t)sent >= message.msg_iov->iov_len) {
            sent -= (ssize_t)message.msg_iov->iov_len;
            message.msg_iov++;
            message.msg_iovlen--;
        }
        if (message.msg_iovlen) {
            message.msg_iov->iov_base = (char *)message.msg_iov->iov_base + sent;
            message.msg_iov->iov_len -= (size_t)sent;
        }
    }
    return 0;
}

static void write_head(const struct fastcgi *request, unsigned type, size_t content,
                       unsigned char head[FCGI_HEADER_LEN])
{
    memset(head, 0, FCGI_HEADER_LEN);
    head[0] = FCGI_VERSION_1;
    head[1] = (unsigned char)type;
    be_put(head + 2, 2, request->id);
    be_put(head + 4, 2, content);
}

/* As many records as go at once; moves behind what they hold. is_last: the records that end the
 * answer follow where there is room. */
static int send_records(struct fastcgi *request, const char **data, size_t *size, bool *is_last)
{
    unsigned char heads[RECORDS_AT_ONCE][FCGI_HEADER_LEN], end[3 * FCGI_HEADER_LEN] = {0};
    struct iovec parts[2 * RECORDS_AT_ONCE + 1];
    size_t count = 0;
    for (unsigned i = 0; i < RECORDS_AT_ONCE && *size; i++) {
        size_t content = smaller(*size, RECORD_SIZE);
        write_head(request, FCGI_STDOUT, content, heads[i]);
        parts[count++] = (struct iovec){heads[i], FCGI_HEADER_LEN};
        parts[count++] = (struct iovec){(void *)*data, content};
        *data += content;
        *size -= content;
    }
    if (!*size && *is_last) {
        write_head(request, FCGI_STDOUT, 0, end);
        write_head(request, FCGI_END_REQUEST, sizeof(FCGI_EndRequestBody), end + FCGI_HEADER_LEN);
        parts[count++] = (struct iovec){end, sizeof end};
        *is_last = false;
    }
    return send_parts(request->fd, parts, count);
}

static int send_all(struct fastcgi *request, const char *data, size_t size, bool is_last)
{
    while (size || is_last)
        if (send_records(request, &data, &size, &is_last) < 0)
            return -1;
    return 0;
}

int fastcgi_write(struct fastcgi *request, const void *data, size_t size)
{
    return send_all(request, data, size, false);
}

void fastcgi_write_last(struct fastcgi *request, const void *data, size_t size)
{
    send_all(request, data, size, true);
}

/* --- the end --- */

static void linger(struct fastcgi *request)
{
    int64_t until_ms = clock_monotonic_ms() + LINGER_MS, left_ms = LINGER_MS;
    request->used = INPUT_SIZE;
    shutdown(request->fd, SHUT_WR);
    while (left_ms > 0 && receive(request->fd, request->input, INPUT_SIZE, (int)left_ms) > 0)
        left_ms = until_ms - clock_monotonic_ms();
}

void fastcgi_free(struct fastcgi *request)
{
    char rest[1024];
    while (!request->is_over && fastcgi_read(request, rest, sizeof rest, 0) > 0)
        continue;
    if (!request->is_over)
        linger(request);
    close(request->fd);
    free(request->parameters);
    buffer_wipe(&request->text);
    mem_wipe(request->input, request->used);
    free(request);
}
