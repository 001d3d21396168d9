/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include <fcntl.h>
#include <sysexits.h>

#include "base/mem.h"
#include "config/program.h"

static char config_path[] = "/tmp/sandlot-program-XXXXXX";
static const struct program worker = {.name = "worker", .summary = "Works."};
static const struct program tool = {
    .name = "tool", .summary = "A tool.", .arguments = "COMMAND", .interactive = true};

static int set_up(void **state)
{
    static const char text[] = "base_url = https://a.b\ndata_plane_host = c.d\nkey_file = /k\n"
                               "lease_s = 77\n";
    int fd = mkstemp(config_path);
    bool written = fd >= 0 && write(fd, text, sizeof text - 1) == (ssize_t)sizeof text - 1;
    close(fd);
    unsetenv("SANDLOT_CONFIG");
    return written ? 0 : -1;
}

static int tear_down(void **state)
{
    return unlink(config_path);
}

/* program_start() with what it prints thrown away. */
static int start(const struct program *program, struct program_call *call, ...)
{
    static char words[8][128];
    static char *argv[9];
    int argc = 0;
    va_list ap;
    va_start(ap, call);
    for (const char *word; argc < 8 && (word = va_arg(ap, const char *)); argc++) {
        snprintf(words[argc], sizeof words[argc], "%s", word);
        argv[argc] = words[argc];
    }
    va_end(ap);
    argv[argc] = NULL;
    fflush(stdout);
    autoclose int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    autoclose int out = dup(STDOUT_FILENO), err = dup(STDERR_FILENO);
    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
    int status = program_start(argc, argv, program, call);
    fflush(stdout);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    return status;
}

TEST(test_worker)
{
    struct program_call call;
    assert_int_equal(start(&worker, &call, "worker", "--config", config_path, NULL), PROGRAM_RUN);
    assert_int_equal(call.settings->lease_s, 77);
    settings_free(call.settings);
    setenv("SANDLOT_CONFIG", config_path, 1);
    assert_int_equal(start(&worker, &call, "worker", NULL), PROGRAM_RUN);
    assert_int_equal(call.settings->lease_s, 77);
    settings_free(call.settings);
    assert_int_equal(start(&worker, &call, "worker", "--config=/nonexistent", NULL), EX_CONFIG);
    unsetenv("SANDLOT_CONFIG");
}

TEST(test_calls_that_end_at_once)
{
    struct program_call call;
    assert_int_equal(start(&worker, &call, "worker", "--help", NULL), EX_OK);
    assert_int_equal(start(&worker, &call, "worker", "--version", NULL), EX_OK);
    assert_int_equal(
        start(&worker, &call, "worker", "--config", config_path, "--check-config", NULL), EX_OK);
    assert_int_equal(
        start(&worker, &call, "worker", "--check-config", "--config=/nonexistent", NULL),
        EX_CONFIG);
    assert_int_equal(start(&worker, &call, "worker", "--nonsense", NULL), EX_USAGE);
    assert_int_equal(start(&worker, &call, "worker", "--json", NULL), EX_USAGE);
    assert_int_equal(start(&worker, &call, "worker", "--config", NULL), EX_USAGE);
    assert_int_equal(start(&worker, &call, "worker", "word", NULL), EX_USAGE);
}

TEST(test_interactive)
{
    struct program_call call;
    struct error *err = NULL;
    /* Its settings wait until a command needs them. */
    assert_int_equal(
        start(&tool, &call, "tool", "--config=/nonexistent", "--json", "list", "--json", NULL),
        PROGRAM_RUN);
    assert_true(call.json);
    assert_null(call.settings);
    assert_string_equal(call.arguments[0], "list");
    assert_string_equal(call.arguments[1], "--json");
    assert_null(call.arguments[2]);
    assert_fails_saying(program_settings(&tool, &call, &err), ERR_CONFIG, "/nonexistent");
    call.config_path = config_path;
    assert_ok(program_settings(&tool, &call, &err));
    assert_int_equal(call.settings->lease_s, 77);
    settings_free(call.settings);
}

TEST_GROUP(set_up, tear_down)
