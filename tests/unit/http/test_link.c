/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include <arpa/inet.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/buffer.h"
#include "http/client.h"
#include "http/link.h"

#define REST "\r\nContent-Length: 2\r\n\r\nok"
#define LAST "HTTP/1.1 200 OK" REST

/* Answer one request with a text, on a connection that stays. Return the client's result. */
static CURLcode ask(const char *text)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    char url[64], request[4096];
    CURL *curl = NULL;
    buffer_auto answer = BUFFER_INIT(64);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &size), 0);
    pid_t server = fork();
    if (server == 0) {
        int connection = accept(listener, NULL, NULL);
        if (read(connection, request, sizeof request) > 0 &&
            write(connection, text, strlen(text)) == (ssize_t)strlen(text))
            pause();
        _exit(0);
    }
    snprintf(url, sizeof url, "http://127.0.0.1:%d/", ntohs(at.sin_port));
    http_client_handle(&curl);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, http_link_check_header);
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, 10000L);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, http_client_collect);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &answer);
    CURLcode result = curl_easy_perform(curl);
    curl_easy_cleanup(curl);
    close(listener);
    kill(server, SIGKILL);
    assert_int_equal(waitpid(server, NULL, 0), server);
    return result;
}

TEST(takes_a_last_answer)
{
    static const char *const texts[] = {
        LAST,
        "HTTP/1.1 200" REST,
        "HTTP/1.1 404 " REST,
        "HTTP/1.1 502 Bad Gateway" REST,
        "HTTP/1.1 599 \xc3\xa4\x01" REST,
        "HTTP/1.1 200 OK\nContent-Length: 2\n\nok",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (ask(texts[i]) != CURLE_OK)
            fail_msg("refused: %s", texts[i]);
}

/* nginx passes the bytes after the first three on as they are, and all bytes of the others. */
TEST(refuses_what_lets_another_answer_follow)
{
    static const char *const texts[] = {
        "HTTP/1.1 100 Continue\r\n\r\n" LAST,
        "HTTP/1.1 103 Early Hints\r\n\r\n" LAST,
        "HTTP/1.1 199" REST,
        "HTTP/2 200 OK" REST,
        "HTTP/2 200" REST,
        "HTTP/1.1 200\tOK" REST,
        "HTTP/1.1 200\x01OK" REST,
        "HTTP/1.1 200 O\rK" REST,
        "HTTP/1.0 200 OK" REST,
        "HTTP/1.1  200 OK" REST,
        "HTTP/1.1 2000 OK" REST,
        "HTTP/1.1 099 OK" REST,
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (ask(texts[i]) == CURLE_OK)
            fail_msg("taken: %s", texts[i]);
}
