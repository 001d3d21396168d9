/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One request to the API without a stack, and what the runtime was asked for:
 *   tests/harness/try POST /v1/sandboxes '{"metadata": {"a": "b"}}' 'Idempotency-Key: k'
 * Several, in a row, with -- between them. HARNESS_LOG=1 shows the log.
 */
#include "harness/harness.h"
#include "unit/unit.h"

#include "base/clock.h"

/* One request from the arguments; returns where the next one begins. */
static char **ask(struct harness *harness, char **argument)
{
    const char *method = *argument++;
    const char *uri = *argument ? *argument++ : "/";
    const char *body = NULL, *headers[9] = {0};
    size_t count = 0;
    for (; *argument && strcmp(*argument, "--") != 0; argument++)
        if (**argument == '{')
            body = *argument;
        else if (count < 8)
            headers[count++] = *argument;
    int64_t began_us = clock_monotonic_us();
    recorder_forget();
    harness_answer_auto answer = harness_api(harness, method, uri, body, headers);
    int64_t took_us = clock_monotonic_us() - began_us;
    printf("%s %s: %d, %.1f ms\n%s\n", method, uri, answer.status, (double)took_us / 1000,
           answer.head);
    if (answer.json)
        json_dumpf(answer.json, stdout, JSON_INDENT(2));
    printf("\n\n%s", recorder_calls());
    return *argument ? argument + 1 : argument;
}

static char **arguments;

static void asked(void **state)
{
    for (char **argument = arguments; *argument;)
        argument = ask(*state, argument);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(asked)};
    if (argc < 2) {
        fputs("usage: try METHOD PATH [BODY] [HEADER]… [-- METHOD PATH …]\n", stderr);
        return 2;
    }
    arguments = argv + 1;
    return cmocka_run_group_tests(tests, harness_setup, harness_teardown);
}
