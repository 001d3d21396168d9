/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/mem.h"
#include "ctl/fastcgi_probe.h"
#include "http/fastcgi.h"

static char directory[] = "/tmp/sandlot-probe-XXXXXX";
static char *path;

static int set_up(void **state)
{
    (void)state;
    if (!mkdtemp(directory))
        return -1;
    path = xasprintf("%s/worker.sock", directory);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(path);
    free(path);
    return rmdir(directory);
}

static int listen_at_path(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    strcpy(address.sun_path, path);
    assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(fd, 8), 0);
    return fd;
}

/* A worker as ours are: accepts requests one after the other. */
static void serve(int fd)
{
    for (;;) {
        struct fastcgi *request = fastcgi_accept(fd);
        if (request)
            fastcgi_free(request);
    }
}

static void a_worker_answers(void **state)
{
    (void)state;
    struct error *err = NULL;
    int fd = listen_at_path();
    pid_t worker = fork();
    if (worker == 0)
        serve(fd);
    /* More than once: the probe leaves the worker ready for the next connection. */
    for (int i = 0; i < 3; i++)
        assert_ok(fastcgi_probe(path, 5000, &err));
    kill(worker, SIGKILL);
    waitpid(worker, NULL, 0);
    close(fd);
}

static void a_socket_without_workers_does_not(void **state)
{
    (void)state;
    struct error *err = NULL;
    unlink(path);
    int fd = listen_at_path();
    int64_t started_ms = clock_monotonic_ms();
    assert_fails_saying(fastcgi_probe(path, 50, &err), ERR_RUNTIME_UNAVAILABLE, "within 50 ms");
    assert_true(clock_monotonic_ms() - started_ms < 2000);
    close(fd);
    assert_fails_saying(fastcgi_probe(path, 50, &err), ERR_CONFIG, "refused");
}

static void no_socket_at_all(void **state)
{
    (void)state;
    struct error *err = NULL;
    char too_long[256];
    memset(too_long, 'x', sizeof too_long - 1);
    too_long[sizeof too_long - 1] = '\0';
    assert_fails_saying(fastcgi_probe("/nonexistent.sock", 50, &err), ERR_CONFIG, "/nonexistent");
    assert_fails_saying(fastcgi_probe(too_long, 50, &err), ERR_CONFIG, "too long");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_worker_answers),
        cmocka_unit_test(a_socket_without_workers_does_not),
        cmocka_unit_test(no_socket_at_all),
    };
    return cmocka_run_group_tests_name(__FILE__, tests, set_up, tear_down);
}
