/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include <fcgiapp.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/mem.h"
#include "ctl/fastcgi_probe.h"

static char directory[] = "/tmp/sandlot-probe-XXXXXX";
static char *path;

static int set_up(void **state)
{
    if (!mkdtemp(directory))
        return -1;
    path = xasprintf("%s/worker.sock", directory);
    return 0;
}

static int tear_down(void **state)
{
    unlink(path);
    free(path);
    return rmdir(directory);
}

/* A worker as ours are: accepts requests one after the other. */
static void serve(int fd)
{
    FCGX_Request request;
    FCGX_Init();
    FCGX_InitRequest(&request, fd, 0);
    while (FCGX_Accept_r(&request) == 0)
        FCGX_Finish_r(&request);
    _exit(0);
}

TEST(a_worker_answers)
{
    struct error *err = NULL;
    int fd = FCGX_OpenSocket(path, 8);
    assert_true(fd >= 0);
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

TEST(a_socket_without_workers_does_not)
{
    struct error *err = NULL;
    unlink(path);
    int fd = FCGX_OpenSocket(path, 8);
    assert_true(fd >= 0);
    int64_t started_ms = clock_monotonic_ms();
    assert_fails_saying(fastcgi_probe(path, 50, &err), ERR_RUNTIME_UNAVAILABLE, "within 50 ms");
    assert_true(clock_monotonic_ms() - started_ms < 2000);
    close(fd);
    assert_fails_saying(fastcgi_probe(path, 50, &err), ERR_CONFIG, "refused");
}

TEST(no_socket_at_all)
{
    struct error *err = NULL;
    char too_long[256];
    memset(too_long, 'x', sizeof too_long - 1);
    too_long[sizeof too_long - 1] = '\0';
    assert_fails_saying(fastcgi_probe("/nonexistent.sock", 50, &err), ERR_CONFIG, "/nonexistent");
    assert_fails_saying(fastcgi_probe(too_long, 50, &err), ERR_CONFIG, "too long");
}

TEST_GROUP(set_up, tear_down)
