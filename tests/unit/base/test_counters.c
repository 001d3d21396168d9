/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include <stdlib.h>
#include <sys/wait.h>

#include "base/counters.h"
#include "base/mem.h"

#define PROCESSES 4
#define EACH      20000

static char directory[] = "/tmp/sandlot-counters-XXXXXX";

static char *told(void)
{
    struct buffer text = BUFFER_INIT(4 << 20);
    counters_format(&text);
    assert_false(buffer_overflowed(&text));
    return buffer_steal(&text);
}

TEST(nothing_is_counted_before_the_file_is_open)
{
    COUNT(COUNT_CREATES, "warm");
    autofree char *text = told();
    assert_string_equal(text, "");
}

TEST(processes_count_together)
{
    error_auto err = NULL;
    assert_non_null(mkdtemp(directory));
    assert_ok(counters_open(directory, &err));
    for (unsigned i = 0; i < PROCESSES; i++) {
        if (fork() > 0)
            continue;
        for (unsigned k = 0; k < EACH; k++)
            COUNT(COUNT_OPERATIONS, k % 2 ? "pause" : "resume", "done");
        _exit(0);
    }
    while (wait(NULL) > 0)
        ;
    autofree char *text = told();
    assert_non_null(strstr(text, "# TYPE sandlot_operations counter\n"));
    assert_non_null(
        strstr(text, "sandlot_operations_total{kind=\"pause\",outcome=\"done\"} 40000\n"));
    assert_non_null(
        strstr(text, "sandlot_operations_total{kind=\"resume\",outcome=\"done\"} 40000\n"));
}

TEST(a_histogram_adds_up)
{
    OBSERVE(COUNT_OPERATION_SECONDS, 900, "pause");
    OBSERVE(COUNT_OPERATION_SECONDS, 1000, "pause");
    OBSERVE(COUNT_OPERATION_SECONDS, 400000, "pause");
    OBSERVE(COUNT_OPERATION_SECONDS, 90000000, "pause");
    autofree char *text = told();
    const char *const lines[] = {
        "_bucket{kind=\"pause\",le=\"0.001\"} 2\n", "_bucket{kind=\"pause\",le=\"0.25\"} 2\n",
        "_bucket{kind=\"pause\",le=\"0.5\"} 3\n",   "_bucket{kind=\"pause\",le=\"30\"} 3\n",
        "_bucket{kind=\"pause\",le=\"+Inf\"} 4\n",  "_count{kind=\"pause\"} 4\n",
        "_sum{kind=\"pause\"} 90.401900\n",
    };
    for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
        autofree char *line = xasprintf("\nsandlot_operation_seconds%s", lines[i]);
        assert_non_null(strstr(text, line));
    }
}

TEST(what_is_no_word_is_written_as_one)
{
    COUNT(COUNT_CREATES, "a\"} 1\nb \\");
    autofree char *text = told();
    assert_non_null(strstr(text, "sandlot_creates_total{source=\"a___1_b__\"} 1\n"));
}

/* The table ends, and counting goes on for what is in it. */
TEST(there_is_an_end_to_the_series)
{
    for (unsigned i = 0; i < 5000; i++) {
        autofree char *name = xasprintf("statement.%u", i);
        COUNT(COUNT_STATEMENTS, name);
    }
    OBSERVE(COUNT_OPERATION_SECONDS, 1, "pause");
    autofree char *text = told();
    assert_non_null(strstr(text, "sandlot_operation_seconds_count{kind=\"pause\"} 5\n"));
}

static int remove_directory(void **state)
{
    autofree char *path = xasprintf("%s/counters-1", directory);
    unlink(path);
    return rmdir(directory);
}

TEST_GROUP(NULL, remove_directory)
