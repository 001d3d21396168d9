/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include <arpa/inet.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/buffer.h"
#include "http/client.h"

static int listener;
static pid_t server;
static char url[64];

/* Answers requests with "1234", on the first connection that comes and on no other. */
static void serve(void)
{
    static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n1234";
    char request[4096];
    size_t size = 0;
    int connection = accept(listener, NULL, NULL);
    close(listener);
    for (ssize_t got; (got = read(connection, request + size, sizeof request - size - 1)) > 0;) {
        size += (size_t)got;
        request[size] = '\0';
        if (!strstr(request, "\r\n\r\n"))
            continue;
        if (write(connection, answer, sizeof answer - 1) != sizeof answer - 1)
            break;
        size = 0;
    }
    _exit(0);
}

static int start_server(void **state)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) < 0 ||
        listen(listener, 8) < 0 || getsockname(listener, (struct sockaddr *)&address, &size) < 0)
        return -1;
    snprintf(url, sizeof url, "http://127.0.0.1:%d/", ntohs(address.sin_port));
    server = fork();
    if (server == 0)
        serve();
    close(listener);
    return server < 0 ? -1 : 0;
}

static int end_server(void **state)
{
    kill(server, SIGKILL);
    return waitpid(server, NULL, 0) == server ? 0 : -1;
}

static CURLcode ask(CURL *curl, struct buffer *answer)
{
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, 10000L);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, http_client_collect);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, answer);
    return curl_easy_perform(curl);
}

TEST_WITH(keeps_its_connection_and_asks_no_proxy, start_server, end_server)
{
    CURL *kept = NULL;
    /* Nobody listens there. */
    assert_int_equal(setenv("http_proxy", "http://127.0.0.1:1", 1), 0);
    for (int i = 0; i < 3; i++) {
        buffer_auto answer = BUFFER_INIT(4);
        assert_int_equal(ask(http_client_handle(&kept), &answer), CURLE_OK);
        assert_string_equal(buffer_string(&answer), "1234");
    }
    curl_easy_cleanup(kept);
}

TEST_WITH(forgets_the_request_before, start_server, end_server)
{
    CURL *kept = NULL;
    long code = 0;
    buffer_auto answer = BUFFER_INIT(4);
    curl_easy_setopt(http_client_handle(&kept), CURLOPT_UNIX_SOCKET_PATH, "/nowhere");
    assert_int_equal(ask(http_client_handle(&kept), &answer), CURLE_OK);
    curl_easy_getinfo(kept, CURLINFO_RESPONSE_CODE, &code);
    assert_int_equal(code, 200);
    curl_easy_cleanup(kept);
}

TEST_WITH(refuses_a_body_that_is_too_large, start_server, end_server)
{
    CURL *kept = NULL;
    buffer_auto answer = BUFFER_INIT(3);
    assert_int_equal(ask(http_client_handle(&kept), &answer), CURLE_WRITE_ERROR);
    curl_easy_cleanup(kept);
}
