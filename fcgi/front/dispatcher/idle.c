/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dispatcher/idle.h"

#include <string.h>

#include "base/clock.h"
#include "base/json_read.h"

#define DOUBLINGS_MAX 5

bool idle_is_over(const struct sandbox_ready *ready, const char *answer, int64_t watched_ms)
{
    unsigned doublings =
        ready->pause_failures < DOUBLINGS_MAX ? ready->pause_failures : DOUBLINGS_MAX;
    int64_t needed_ms = ((int64_t)ready->idle_timeout_s * 1000) << doublings;
    if (!ready->idle_timeout_s || watched_ms < needed_ms || ready->hold_until_ms > clock_now_ms())
        return false;
    json_auto_t *said = json_read(answer, strlen(answer), 0, NULL);
    const json_t *idle = json_object_get(said, "idle_ms");
    const json_t *connections = json_object_get(said, "connections");
    if (!json_is_integer(idle) || json_integer_value(idle) < needed_ms)
        return false;
    return ready->ignores_connections ||
           (json_is_integer(connections) && json_integer_value(connections) == 0);
}

bool idle_is_current(const struct sandbox_ready *ready, const struct sandbox *sandbox)
{
    bool ignores = sandbox->idle_connections == IDLE_CONNECTIONS_IGNORE;
    return sandbox->state == SANDBOX_READY && sandbox->incarnation == ready->incarnation &&
           sandbox->idle_timeout == ready->idle_timeout_s &&
           (ignores || !ready->ignores_connections) && sandbox->hold_until_ms <= clock_now_ms() &&
           !sandbox->host_condition.silent_since_ms;
}
