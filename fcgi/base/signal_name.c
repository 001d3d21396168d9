/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/signal_name.h"

#include <signal.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/str.h"

#define NUMBER_MAX 64

int signal_number(const char *text)
{
    static const struct {
        const char *name;
        int number;
    } signals[] = {
        {"TERM", SIGTERM},   {"INT", SIGINT},   {"QUIT", SIGQUIT}, {"HUP", SIGHUP},
        {"KILL", SIGKILL},   {"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"PWR", SIGPWR},
        {"WINCH", SIGWINCH}, {"RTMIN+3", 37}, /* with glibc */
    };
    uint64_t number;
    if (str_parse_u64(text, 1, NUMBER_MAX, &number) == 0)
        return (int)number;
    text += str_starts_with(text, "SIG") ? 3 : 0;
    for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
        if (str_equal(text, signals[i].name))
            return signals[i].number;
    return 0;
}
