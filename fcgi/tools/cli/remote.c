/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/remote.h"

#include <errno.h>
#include <signal.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/printable.h"
#include "base/str.h"
#include "cli/envelopes.h"
#include "cli/terminal.h"

#define RECEIVED_MAX (8 * 1024 * 1024)
#define SENT_MAX     (1024 * 1024)
#define PIECE        (256 * 1024) /* as many as a wide pipe holds */
#define AHEAD_MAX    (2 * PIECE)
#define CURL_BUFFER  (256L * 1024)
#define POLL_MS      60000

#define TYPE_STREAM  "Content-Type: application/connect+json"
#define TYPE_BINARY  "Content-Type: application/connect+proto"
#define TYPE_UNARY   "Content-Type: application/json"

/* One HTTP call of several at the same time. */
struct transfer {
    CURL *handle;
    struct curl_slist *resolve, *headers;
    struct buffer body; /* the queued input */
    struct buffer answer;
    bool active;
};

struct remote {
    struct cli *cli;
    const struct session *session;
    const struct remote_program *program;
    CURLM *multi;
    struct transfer start, input, control;
    char *user_header;
    struct buffer received;
    int signal_fd;
    int pid;
    size_t left_out; /* of the output, so far */
    bool redraw;     /* the size is sent twice, so that the program draws its screen again */
    bool input_begun;
    bool input_ended; /* nothing more is read from standard input */
    bool input_paused;
    bool ended;
    int output_errno; /* why standard output takes nothing more; 0: it does */
    bool output_told; /* the process was told to end for that */
    int exit_code;
    char *refusal; /* how the stream ended, if not well */
};

/* --- transfers --- */

static size_t keep_answer(char *data, size_t size, size_t count, void *context)
{
    struct transfer *transfer = context;
    buffer_append(&transfer->answer, data, size * count);
    return size * count;
}

static void transfer_begin(struct remote *remote, struct transfer *transfer, const char *method,
                           const char *type)
{
    autofree char *url = xasprintf("%s/process.Process/%s", remote->session->url, method);
    transfer->handle = curl_easy_init();
    transfer->resolve = exchange_prepare(remote->cli, transfer->handle, url);
    struct curl_slist *headers = curl_slist_append(NULL, remote->session->token_header);
    headers = curl_slist_append(headers, type);
    headers = curl_slist_append(headers, "Connect-Protocol-Version: 1");
    headers = curl_slist_append(headers, "Expect:");
    if (remote->user_header)
        headers = curl_slist_append(headers, remote->user_header);
    transfer->headers = headers;
    buffer_init(&transfer->answer, SENT_MAX);
    curl_easy_setopt(transfer->handle, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(transfer->handle, CURLOPT_POST, 1L);
    curl_easy_setopt(transfer->handle, CURLOPT_BUFFERSIZE, CURL_BUFFER);
    curl_easy_setopt(transfer->handle, CURLOPT_UPLOAD_BUFFERSIZE, CURL_BUFFER);
    curl_easy_setopt(transfer->handle, CURLOPT_WRITEFUNCTION, keep_answer);
    curl_easy_setopt(transfer->handle, CURLOPT_WRITEDATA, transfer);
}

static void transfer_go(struct remote *remote, struct transfer *transfer)
{
    transfer->active = true;
    curl_multi_add_handle(remote->multi, transfer->handle);
}

static void transfer_end(struct remote *remote, struct transfer *transfer)
{
    if (!transfer->handle)
        return;
    curl_multi_remove_handle(remote->multi, transfer->handle);
    curl_easy_cleanup(transfer->handle);
    curl_slist_free_all(transfer->resolve);
    curl_slist_free_all(transfer->headers);
    buffer_deinit(&transfer->body);
    buffer_deinit(&transfer->answer);
    *transfer = (struct transfer){.handle = NULL};
}

static void set_body(struct transfer *transfer)
{
    curl_easy_setopt(transfer->handle, CURLOPT_POSTFIELDS, transfer->body.data);
    curl_easy_setopt(transfer->handle, CURLOPT_POSTFIELDSIZE, (long)transfer->body.size);
}

#define CONTROL_TIMEOUT_S 20L

/* A call outside the streams. Its answer does not matter: the process may have ended. */
static void control(struct remote *remote, const char *method, json_t *message)
{
    transfer_end(remote, &remote->control);
    struct transfer *transfer = &remote->control;
    transfer_begin(remote, transfer, method, TYPE_UNARY);
    json_object_set_new(message, "process", json_pack("{s:i}", "pid", remote->pid));
    autofree char *text = json_dumps(message, JSON_COMPACT);
    json_decref(message);
    buffer_init(&transfer->body, SENT_MAX);
    buffer_append_string(&transfer->body, text);
    set_body(transfer);
    curl_easy_setopt(transfer->handle, CURLOPT_TIMEOUT, CONTROL_TIMEOUT_S);
    transfer_go(remote, transfer);
}

/* --- output --- */

static int write_all(int fd, const char *data, size_t size)
{
    while (size) {
        ssize_t written = write(fd, data, size);
        if (written < 0 && errno != EINTR && errno != EAGAIN)
            return -1;
        if (written > 0) {
            data += written;
            size -= (size_t)written;
        }
    }
    return 0;
}

static void write_bytes(struct remote *remote, const char *bytes, size_t size, int fd)
{
    size_t skipped = 0;
    if (fd == STDOUT_FILENO && remote->left_out < remote->program->left_out) {
        skipped = remote->program->left_out - remote->left_out;
        skipped = skipped < size ? skipped : size;
        remote->left_out += skipped;
    }
    if (fd == STDOUT_FILENO && remote->output_errno)
        return;
    if (write_all(fd, bytes + skipped, size - skipped) < 0 && fd == STDOUT_FILENO)
        remote->output_errno = errno;
}

static void write_output(struct remote *remote, const json_t *data, const char *kind, int fd)
{
    const char *text = json_string_value(json_object_get(data, kind));
    size_t size;
    if (!text)
        return;
    autofree char *bytes = envelope_decode(text, &size);
    if (bytes)
        write_bytes(remote, bytes, size, fd);
}

/* "signal: killed": the protocol has words for signals. */
static int exit_code_of(const json_t *end)
{
    static const struct {
        const char *words;
        int number;
    } signals[] = {
        {"hangup", SIGHUP},
        {"interrupt", SIGINT},
        {"quit", SIGQUIT},
        {"illegal", SIGILL},
        {"trace", SIGTRAP},
        {"aborted", SIGABRT},
        {"bus error", SIGBUS},
        {"floating", SIGFPE},
        {"killed", SIGKILL},
        {"segmentation", SIGSEGV},
        {"broken pipe", SIGPIPE},
        {"alarm", SIGALRM},
        {"terminated", SIGTERM},
        {"CPU time", SIGXCPU},
        {"file size", SIGXFSZ},
        {"user defined signal 1", SIGUSR1},
        {"user defined signal 2", SIGUSR2},
    };
    const char *status = json_string_value(json_object_get(end, "status"));
    if (!status || !str_starts_with(status, "signal: "))
        return (int)json_integer_value(json_object_get(end, "exitCode"));
    for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
        if (str_starts_with(status + strlen("signal: "), signals[i].words))
            return 128 + signals[i].number;
    return 255;
}

/* The exit code alone would not show why it failed. Users of SSH read the same text. */
static void say_reason(const json_t *end)
{
    const char *message = json_string_value(json_object_get(end, "message"));
    if (!message)
        return;
    printable_print(stderr, "sandlot: %s", message);
    fputs("\r\n", stderr);
}

static void take_event(struct remote *remote, const json_t *event)
{
    const json_t *start = json_object_get(event, "start");
    const json_t *data = json_object_get(event, "data");
    const json_t *end = json_object_get(event, "end");
    if (start)
        remote->pid = (int)json_integer_value(json_object_get(start, "pid"));
    write_output(remote, data, "stdout", STDOUT_FILENO);
    write_output(remote, data, "pty", STDOUT_FILENO);
    write_output(remote, data, "stderr", STDERR_FILENO);
    if (end) {
        remote->ended = true;
        remote->exit_code = exit_code_of(end);
        say_reason(end);
    }
}

static void take_last(struct remote *remote, const json_t *message)
{
    const json_t *refusal = json_object_get(message, "error");
    const char *text = json_string_value(json_object_get(refusal, "message"));
    if (refusal)
        remote->refusal = xstrdup(text ? text : "the sandbox refused the call");
}

static size_t on_received(char *data, size_t size, size_t count, void *context)
{
    struct remote *remote = context;
    json_t *message;
    bool is_last;
    int rc;
    long status = 0;
    curl_easy_getinfo(remote->start.handle, CURLINFO_RESPONSE_CODE, &status);
    if (status != 200) { /* a refusal before the sandbox: JSON */
        buffer_append(&remote->start.answer, data, size * count);
        return size * count;
    }
    if (buffer_append(&remote->received, data, size * count) < 0)
        return 0;
    for (;;) {
        char *bytes;
        size_t length;
        bool is_error;
        if (envelope_take_output(&remote->received, &bytes, &length, &is_error)) {
            write_bytes(remote, bytes, length, is_error ? STDERR_FILENO : STDOUT_FILENO);
            free(bytes);
            continue;
        }
        if ((rc = envelope_take(&remote->received, &message, &is_last)) <= 0)
            break;
        if (is_last)
            take_last(remote, message);
        else
            take_event(remote, json_object_get(message, "event"));
        json_decref(message);
    }
    return rc < 0 ? 0 : size * count;
}

/* --- input --- */

static size_t on_send(char *out, size_t size, size_t count, void *context)
{
    struct remote *remote = context;
    struct buffer *body = &remote->input.body;
    size_t room = size * count;
    size_t given = body->size < room ? body->size : room;
    if (given) {
        memcpy(out, body->data, given);
        buffer_consume(body, given);
        return given;
    }
    if (remote->input_ended)
        return 0;
    remote->input_paused = true;
    return CURL_READFUNC_PAUSE;
}

static void begin_input(struct remote *remote)
{
    struct transfer *input = &remote->input;
    remote->input_begun = true;
    transfer_begin(remote, input, "StreamInput", TYPE_BINARY);
    buffer_init(&input->body, SENT_MAX);
    envelope_put_process(&input->body, remote->pid);
    curl_easy_setopt(input->handle, CURLOPT_READFUNCTION, on_send);
    curl_easy_setopt(input->handle, CURLOPT_READDATA, remote);
    curl_easy_setopt(input->handle, CURLOPT_POSTFIELDSIZE, -1L);
    input->headers = curl_slist_append(input->headers, "Transfer-Encoding: chunked");
    curl_easy_setopt(input->handle, CURLOPT_HTTPHEADER, input->headers);
    curl_easy_setopt(input->handle, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    transfer_go(remote, input);
}

static bool wants_input(const struct remote *remote)
{
    return remote->input.active && !remote->input_ended && remote->input.body.size < AHEAD_MAX;
}

static void read_input(struct remote *remote)
{
    char piece[PIECE];
    ssize_t size = read(STDIN_FILENO, piece, sizeof piece);
    if (size < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (size > 0)
        envelope_put_input(&remote->input.body, remote->program->terminal, piece, (size_t)size);
    else
        remote->input_ended = true;
    sodium_memzero(piece, sizeof piece);
    if (remote->input_paused) {
        remote->input_paused = false;
        curl_easy_pause(remote->input.handle, CURLPAUSE_CONT);
    }
}

/* --- signals --- */

static void tell_size(struct remote *remote, int less)
{
    int cols, rows;
    terminal_size(&cols, &rows);
    if (remote->pid && remote->program->terminal)
        control(remote, "Update",
                json_pack("{s:{s:{s:i, s:i}}}", "pty", "size", "cols", cols, "rows",
                          rows > less ? rows - less : rows));
}

static void resize(struct remote *remote)
{
    tell_size(remote, 0);
}

static const char *signal_word(uint32_t number)
{
    switch (number) {
    case SIGHUP:
        return "SIGNAL_SIGHUP";
    case SIGINT:
        return "SIGNAL_SIGINT";
    case SIGQUIT:
        return "SIGNAL_SIGQUIT";
    case SIGUSR1:
        return "SIGNAL_SIGUSR1";
    case SIGUSR2:
        return "SIGNAL_SIGUSR2";
    default:
        return "SIGNAL_SIGTERM";
    }
}

static void take_signal(struct remote *remote)
{
    struct signalfd_siginfo info;
    if (read(remote->signal_fd, &info, sizeof info) != sizeof info)
        return;
    if (info.ssi_signo == SIGWINCH)
        resize(remote);
    else if (remote->pid)
        control(remote, "SendSignal", json_pack("{s:s}", "signal", signal_word(info.ssi_signo)));
    else
        _exit(128 + (int)info.ssi_signo);
}

static int watch_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGQUIT);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGUSR2);
    sigaddset(&set, SIGWINCH);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    return signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

/* --- its course --- */

static json_t *start_message(const struct remote_program *program)
{
    char tag[sizeof REMOTE_TERMINAL_TAG + 16] = REMOTE_TERMINAL_TAG;
    unsigned char random[8];
    int cols, rows;
    json_t *message =
        json_pack("{s:O, s:b}", "process", program->process, "stdin", program->with_input);
    if (program->terminal) {
        terminal_size(&cols, &rows);
        json_object_set_new(message, "pty",
                            json_pack("{s:{s:i, s:i}}", "size", "cols", cols, "rows", rows));
        randombytes_buf(random, sizeof random);
        sodium_bin2hex(tag + sizeof REMOTE_TERMINAL_TAG - 1, 2 * sizeof random + 1, random,
                       sizeof random);
        json_object_set_new(message, "tag", json_string(tag));
    }
    return message;
}

static void begin(struct remote *remote)
{
    const struct remote_program *program = remote->program;
    struct transfer *start = &remote->start;
    bool attaches = program->attach_pid;
    json_t *message =
        attaches ? json_pack("{s:{s:i}, s:b}", "process", "pid", program->attach_pid, "takeOver", 1)
                 : start_message(program);
    transfer_begin(remote, start, attaches ? "Connect" : "Start", TYPE_STREAM);
    buffer_init(&start->body, RECEIVED_MAX);
    envelope_put(&start->body, message);
    set_body(start);
    curl_easy_setopt(start->handle, CURLOPT_WRITEFUNCTION, on_received);
    curl_easy_setopt(start->handle, CURLOPT_WRITEDATA, remote);
    transfer_go(remote, start);
}

static void note_input_done(struct remote *remote)
{
    transfer_end(remote, &remote->input);
    remote->input_ended = true;
    if (!remote->ended && !remote->program->terminal && !remote->output_told)
        control(remote, "CloseStdin", json_object()); /* it would replace the signal */
}

/* Returns true when the stream of the process is over, with how that was in *code. */
static bool note_done(struct remote *remote, CURLcode *code)
{
    CURLMsg *message;
    int left;
    bool over = false;
    while ((message = curl_multi_info_read(remote->multi, &left))) {
        if (message->msg != CURLMSG_DONE)
            continue;
        CURL *handle = message->easy_handle;
        if (handle == remote->start.handle) {
            *code = message->data.result;
            over = true;
        } else if (handle == remote->input.handle) {
            note_input_done(remote);
        } else {
            transfer_end(remote, &remote->control);
            if (remote->redraw)
                resize(remote);
            remote->redraw = false;
        }
    }
    return over;
}

/* Not in a callback of the library, which takes no new transfer there. */
static void begin_input_if_due(struct remote *remote)
{
    bool wanted = remote->program->with_input || remote->program->terminal;
    if (!wanted || !remote->pid || remote->input_begun || remote->ended)
        return;
    begin_input(remote);
    remote->redraw = remote->program->attach_pid;
    if (remote->redraw)
        tell_size(remote, 1);
}

static void wait_a_while(struct remote *remote)
{
    struct curl_waitfd extra[2] = {{.fd = remote->signal_fd, .events = CURL_WAIT_POLLIN}};
    unsigned count = 1;
    if (wants_input(remote))
        extra[count++] = (struct curl_waitfd){.fd = STDIN_FILENO, .events = CURL_WAIT_POLLIN};
    curl_multi_poll(remote->multi, extra, count, POLL_MS, NULL);
    if (extra[0].revents)
        take_signal(remote);
    if (count > 1 && extra[1].revents)
        read_input(remote);
}

static int judge(struct remote *remote, CURLcode code, struct error **err)
{
    long status = 0;
    if (remote->output_errno && remote->output_errno != EPIPE)
        return error_set_errno(err, ERR_INTERNAL, remote->output_errno, "cannot write the output");
    if (remote->output_errno) {
        remote->exit_code = 128 + SIGPIPE; /* as a program of this machine */
        return 0;
    }
    curl_easy_getinfo(remote->start.handle, CURLINFO_RESPONSE_CODE, &status);
    if (code == CURLE_OK && status != 200) {
        struct exchange refused = {.url = remote->session->url, .status = status};
        refused.answer = remote->start.answer;
        return api_error(&refused, err);
    }
    if (remote->refusal)
        return error_set(err, ERR_INVALID_REQUEST, "%s", remote->refusal);
    if (remote->ended)
        return 0;
    if (remote->pid)
        return error_set(err, ERR_RUNTIME_UNAVAILABLE,
                         "the connection to the sandbox broke; it was paused, or has ended");
    return exchange_failed(remote->cli, code, remote->session->url, err);
}

/* If the reader of the output has closed it, send SIGHUP to the process. A terminal continues,
 * because people attach it again. Returns true after the signal. */
static bool end_unread(struct remote *remote)
{
    if (!remote->output_errno || !remote->pid)
        return false;
    if (remote->output_told || remote->ended || remote->program->terminal)
        return !remote->control.active;
    remote->output_told = true;
    control(remote, "SendSignal", json_pack("{s:s}", "signal", signal_word(SIGHUP)));
    return false;
}

static int follow(struct remote *remote, struct error **err)
{
    CURLcode code = CURLE_OK;
    int running;
    begin(remote);
    for (;;) {
        curl_multi_perform(remote->multi, &running);
        if (note_done(remote, &code))
            return judge(remote, code, err);
        if (end_unread(remote))
            return judge(remote, code, err);
        begin_input_if_due(remote);
        wait_a_while(remote);
    }
}

int remote_run(struct cli *cli, const struct session *session, const struct remote_program *program,
               int *exit_code, struct error **err)
{
    struct remote remote = {.cli = cli, .session = session, .program = program};
    remote.multi = curl_multi_init();
    remote.signal_fd = watch_signals();
    buffer_init(&remote.received, RECEIVED_MAX);
    if (program->user) {
        autofree char *login = xasprintf("%s:", program->user);
        json_auto_t *encoded = envelope_bytes(login, strlen(login));
        remote.user_header = xasprintf("Authorization: Basic %s", json_string_value(encoded));
    }
    if (program->terminal)
        terminal_make_raw();
    int rc = follow(&remote, err);
    terminal_restore();
    *exit_code = remote.exit_code;
    transfer_end(&remote, &remote.start);
    transfer_end(&remote, &remote.input);
    transfer_end(&remote, &remote.control);
    curl_multi_cleanup(remote.multi);
    buffer_deinit(&remote.received);
    close(remote.signal_fd);
    free(remote.user_header);
    free(remote.refusal);
    return rc;
}
