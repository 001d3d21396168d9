/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "runtime/agent_client_many.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/instance.h"
#include "base/ipv4.h"
#include "base/mem.h"
#include "base/panic.h"
#include "http/client.h"

#define ANSWER_MAX 4096
#define PATH       "/internal/ports/1"
#define PATH_IDLE  "/internal/activity?idle=%u"

struct agent_many {
    CURLM *multi;
};

struct agent_question {
    CURL *curl;
    struct curl_slist *headers;
    struct http_link *link;
    void *context;
    size_t body_size;
    char body[AGENT_MANY_BODY_SIZE];
};

struct agent_many *agent_many_open(void)
{
    struct agent_many *many = xcalloc(1, sizeof *many);
    many->multi = curl_multi_init();
    if (!many->multi)
        panic("curl_multi_init() failed");
    return many;
}

void agent_many_close(struct agent_many *many)
{
    curl_multi_cleanup(many->multi);
    free(many);
}

static size_t take_body(char *data, size_t size, size_t count, void *context)
{
    struct agent_question *question = context;
    if (question->body_size + size * count < sizeof question->body)
        memcpy(question->body + question->body_size, data, size * count);
    question->body_size += size * count;
    return question->body_size > ANSWER_MAX ? 0 : size * count;
}

struct agent_question *agent_many_ask(struct agent_many *many, struct http_link *link,
                                      uint32_t address, const char *secret, uint32_t idle_s,
                                      unsigned wait_ms, void *context)
{
    char text[IPV4_TEXT_SIZE], target[IPV4_TEXT_SIZE + 8], header[128], path[64] = PATH;
    struct agent_question *question = xcalloc(1, sizeof *question);
    *question = (struct agent_question){.link = link, .context = context};
    CURL *curl = http_client_handle(&question->curl);
    snprintf(target, sizeof target, "%s:%d", ipv4_format(address, text), AGENT_PORT);
    snprintf(header, sizeof header, AGENT_SECRET_HEADER ": %s", secret);
    question->headers = curl_slist_append(NULL, header);
    mem_wipe(header, sizeof header);
    if (idle_s)
        snprintf(path, sizeof path, PATH_IDLE, idle_s);
    http_link_set(link, curl, target, path, &question->headers);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, question->headers);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)wait_ms);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)wait_ms);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, question);
    curl_easy_setopt(curl, CURLOPT_PRIVATE, question);
    /* A connection to an agent is for one question; that to a relay serves all of its host. */
    curl_easy_setopt(curl, CURLOPT_FORBID_REUSE, link ? 0L : 1L);
    curl_multi_add_handle(many->multi, curl);
    return question;
}

void agent_many_drop(struct agent_many *many, struct agent_question *question)
{
    curl_multi_remove_handle(many->multi, question->curl);
    curl_easy_cleanup(question->curl);
    http_client_free_headers(question->headers);
    http_link_free(question->link);
    free(question);
}

void agent_many_go_on(struct agent_many *many)
{
    int running;
    curl_multi_perform(many->multi, &running);
}

static void read_answer(struct agent_question *question, CURLcode result, struct agent_said *said)
{
    long sent = 0;
    /* An agent that sends more than an answer has is not silent. */
    bool answered = result == CURLE_OK || result == CURLE_WRITE_ERROR;
    curl_easy_getinfo(question->curl, CURLINFO_REQUEST_SIZE, &sent);
    *said = (struct agent_said){
        .context = question->context,
        .status = answered ? http_link_status(question->link, question->curl) : 0,
        .asked = !question->link || sent,
    };
    if (question->body_size < sizeof said->body)
        memcpy(said->body, question->body, question->body_size);
}

bool agent_many_take(struct agent_many *many, struct agent_said *said)
{
    CURLMsg *message;
    int left;
    while ((message = curl_multi_info_read(many->multi, &left))) {
        struct agent_question *question = NULL;
        if (message->msg != CURLMSG_DONE)
            continue;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&question);
        read_answer(question, message->data.result, said);
        agent_many_drop(many, question);
        return true;
    }
    return false;
}

void agent_many_wait(struct agent_many *many, int fd, unsigned wait_ms)
{
    struct curl_waitfd told = {.fd = fd, .events = CURL_WAIT_POLLIN};
    curl_multi_poll(many->multi, &told, 1, (int)wait_ms, NULL);
}
