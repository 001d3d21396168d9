/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Answers of a sandbox's agent to a command, and the calls that a template build makes after each.
 */
#include "unit/unit.h"

#include <arpa/inet.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/instance.h"
#include "recipe/recipe_step.h"

/* An address of the loopback network that no other test uses. */
#define ADDRESS 0x7f534701u
#define ANSWER  "HTTP/1.1 %s\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n%s"
#define IS_WRITTEN                                                                         \
    "{\"error\": \"runtime_unavailable\", \"message\": \"cannot start '/bin/sh': another " \
    "program is writing this file; try again later\"}"
#define IS_MISSING                                                                \
    "{\"error\": \"invalid_request\", \"message\": \"cannot start '/bin/sh': No " \
    "such file or directory\"}"

struct agent {
    pid_t pid;
    unsigned *calls; /* shared with the process */
};

static void read_request(int connection)
{
    char request[16384];
    size_t size = 0;
    for (ssize_t got; (got = read(connection, request + size, sizeof request - size - 1)) > 0;) {
        size += (size_t)got;
        request[size] = '\0';
        const char *body = strstr(request, "\r\n\r\n"),
                   *length = strstr(request, "Content-Length: ");
        if (body && length && strlen(body + 4) >= strtoul(length + 16, NULL, 10))
            return;
    }
}

/* Answer each request alike. */
static void serve(int listener, const struct agent *agent, const char *status, const char *body)
{
    for (;;) {
        int connection = accept(listener, NULL, NULL);
        read_request(connection);
        ++*agent->calls;
        dprintf(connection, ANSWER, status, strlen(body), body);
        close(connection);
    }
}

static struct agent start_agent(const char *status, const char *body)
{
    struct agent agent = {.calls = mmap(NULL, sizeof *agent.calls, PROT_READ | PROT_WRITE,
                                        MAP_SHARED | MAP_ANONYMOUS, -1, 0)};
    const struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(AGENT_PORT), .sin_addr.s_addr = htonl(ADDRESS)};
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    assert_true(agent.calls != MAP_FAILED);
    assert_int_equal(bind(listener, (const struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(listener, 8), 0);
    agent.pid = fork();
    assert_true(agent.pid >= 0);
    if (agent.pid == 0)
        serve(listener, &agent, status, body);
    close(listener);
    return agent;
}

/* Return the number of its calls. */
static unsigned end_agent(struct agent agent)
{
    unsigned calls = *agent.calls;
    kill(agent.pid, SIGKILL);
    assert_int_equal(waitpid(agent.pid, NULL, 0), agent.pid);
    munmap(agent.calls, sizeof *agent.calls);
    return calls;
}

/* Let a build look at a step, and return its error. */
static enum error_code look(void)
{
    struct lease lease = {.renew_at_ms = INT64_MAX};
    struct recipe_place place = {.at = {.address = ADDRESS},
                                 .secret = "secret",
                                 .lease = &lease,
                                 .until = deadline_in_ms(10000)};
    buffer_auto output = BUFFER_INIT(1024);
    struct recipe_poll poll;
    error_auto err = NULL;
    assert_int_equal(recipe_step_poll(&place, 1, 0, &poll, &output, &err), -1);
    return err->code;
}

/* The dispatcher's process does not wait for the end of the write: a later turn looks again. */
TEST(a_program_that_is_written_is_called_once)
{
    struct agent agent = start_agent("503 Service Unavailable", IS_WRITTEN);
    assert_int_equal(look(), ERR_PROGRAM_IS_WRITTEN);
    assert_int_equal(end_agent(agent), 1);
}

TEST(another_refusal_is_called_once)
{
    struct agent agent =
        start_agent("503 Service Unavailable", "{\"message\": \"the sandbox is being paused\"}");
    assert_int_equal(look(), ERR_RUNTIME_UNAVAILABLE);
    assert_int_equal(end_agent(agent), 1);
    agent = start_agent("500 Internal Server Error", IS_WRITTEN);
    assert_int_equal(look(), ERR_RUNTIME_FAILED);
    assert_int_equal(end_agent(agent), 1);
}

/* "rm /bin/sh && ln -s bash /bin/sh" leaves no shell for a moment. */
TEST(a_program_that_is_missing_is_called_a_few_times)
{
    struct agent agent = start_agent("400 Bad Request", IS_MISSING);
    assert_int_equal(look(), ERR_INVALID_REQUEST);
    assert_int_equal(end_agent(agent), 3);
}
