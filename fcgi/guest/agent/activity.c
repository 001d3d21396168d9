/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/activity.h"

#include <inttypes.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/common/cpu_time.h"
#include "agent/common/proc_file.h"
#include "agent/common/proto.h"
#include "agent/handlers.h"
#include "base/clock.h"
#include "base/instance.h"
#include "base/mem.h"
#include "base/str.h"

/* A question with its connection is 10 packets. The rest is for ARP, neighbour discovery and the
 * keep-alive packets of TCP. */
#define PACKETS_MOST 18
/* In percent of one processor. Answering the service takes less than a tenth of this. */
#define CPU_MOST_PCT 2
#define CPU_READINGS 8
#define DEV_SIZE     (64 * 1024)
/* Enough for about 6,000 connections; the rest of the kernel's list is not read. */
#define TCP_SIZE (1024 * 1024)

uint64_t activity_packets(const char *text)
{
    uint64_t packets = 0;
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        uint64_t received, sent;
        char name[64];
        if (sscanf(line, " %63[^:]: %*u %" SCNu64 " %*u %*u %*u %*u %*u %*u %*u %" SCNu64, name,
                   &received, &sent) == 3 &&
            !str_equal(name, "lo"))
            packets += received + sent;
    }
    return packets;
}

/* Whether an address of /proc/net/tcp or tcp6 is loopback: it prints each 32-bit word in the byte
 * order of the machine, so the first octet of an IPv4 address is the last one on x86 and arm64. */
static bool is_loopback(const char *address)
{
    static const char v6[] = "00000000000000000000000001000000";
    static const char mapped[] = "0000000000000000FFFF0000";
    size_t length = strlen(address);
    if (length == 8)
        return str_equal(address + 6, "7F");
    return str_equal(address, v6) ||
           (length == 32 && str_starts_with(address, mapped) && str_equal(address + 30, "7F"));
}

unsigned activity_connections(const char *text)
{
    autofree bool *listens = xcalloc(UINT16_MAX + 1, sizeof *listens);
    unsigned count = 0;
    /* The kernel lists the listening sockets first. */
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        char remote[33];
        unsigned port, state;
        if (sscanf(line, " %*u: %*32[0-9A-F]:%4x %32[0-9A-F]:%*4x %2x", &port, remote, &state) != 3)
            continue;
        if (state == TCP_LISTEN)
            listens[port & UINT16_MAX] = true;
        else if (state == TCP_ESTABLISHED && !listens[port & UINT16_MAX] && !is_loopback(remote))
            count++;
    }
    return count;
}

void activity_note_packets(struct activity *activity, int64_t now_ms, uint64_t packets)
{
    if (!activity->packets_ms || packets < activity->packets ||
        packets - activity->packets > PACKETS_MOST)
        activity->busy_ms = now_ms;
    activity->packets_ms = now_ms;
    activity->packets = packets;
}

bool activity_cpu_is_due(const struct activity *activity, int64_t now_ms, uint64_t idle_s)
{
    return !activity->cpu_read_ms ||
           now_ms - activity->cpu_read_ms >= (int64_t)idle_s * 1000 / CPU_READINGS;
}

void activity_note_cpu(struct activity *activity, int64_t now_ms, uint64_t cpu_ms)
{
    int64_t span_ms = now_ms - activity->cpu_read_ms;
    if (!activity->cpu_read_ms || cpu_ms < activity->cpu_ms ||
        (int64_t)(cpu_ms - activity->cpu_ms) * 100 > span_ms * CPU_MOST_PCT)
        activity->busy_ms = now_ms;
    activity->cpu_read_ms = now_ms;
    activity->cpu_ms = cpu_ms;
}

void activity_hold(struct activity *activity, int64_t now_ms, int64_t seconds)
{
    int64_t until_ms = now_ms + seconds * 1000;
    if (!seconds)
        activity->held_until_ms = 0;
    else if (activity->held_until_ms < until_ms)
        activity->held_until_ms = until_ms;
}

int64_t activity_idle_ms(struct activity *activity, int64_t now_ms)
{
    if (activity->held_until_ms > now_ms)
        activity->busy_ms = now_ms;
    return now_ms - activity->busy_ms;
}

static void take_readings(struct activity *activity, int64_t now_ms, uint64_t idle_s)
{
    autofree char *devices = proc_file_read("/proc/net/dev", DEV_SIZE);
    activity_note_packets(activity, now_ms, activity_packets(devices));
    if (!activity_cpu_is_due(activity, now_ms, idle_s))
        return;
    struct cpu_time cpu;
    cpu_time_read(&cpu);
    activity_note_cpu(activity, now_ms, cpu.busy * cpu_time_tick_ms());
}

static unsigned count_connections(void)
{
    static const char *const paths[] = {"/proc/net/tcp", "/proc/net/tcp6"};
    unsigned count = 0;
    for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
        autofree char *text = proc_file_read(paths[i], TCP_SIZE);
        count += activity_connections(text);
    }
    return count;
}

int activity_finish(struct request *request, struct rpc_error *error)
{
    const char *text;
    uint64_t idle_s = 0;
    struct activity *activity = &request->agent->activity;
    int64_t now_ms = clock_monotonic_ms();
    if (request_argument(request, "idle", &text, error) < 0)
        return -1;
    if (!text || str_parse_u64(text, 1, UINT32_MAX, &idle_s) < 0)
        return rpc_error_set(error, RPC_INVALID_ARGUMENT, "idle must be a number of seconds");
    take_readings(activity, now_ms, idle_s);
    int64_t idle_ms = activity_idle_ms(activity, now_ms);
    unsigned connections = (uint64_t)idle_ms >= idle_s * 1000 ? count_connections() : 0;
    return httpd_reply_json(
        &request->http, 200,
        json_pack("{s:I, s:i}", "idle_ms", (json_int_t)idle_ms, "connections", (int)connections));
}

int hold_finish(struct request *request, struct rpc_error *error)
{
    static const char *const names[] = {"seconds", NULL};
    int64_t seconds;
    json_auto_t *body = proto_read(request->body.data, request->body.size, error);
    if (!body || proto_check_names(body, names, error) < 0)
        return -1;
    if (!proto_field(body, "seconds"))
        return rpc_error_set_field(error, "/seconds",
                                   "the body must be a JSON object with seconds");
    if (proto_integer(body, "seconds", 0, AGENT_HOLD_MAX_S, &seconds, error) < 0)
        return -1;
    activity_hold(&request->agent->activity, clock_monotonic_ms(), seconds);
    return httpd_reply_empty(&request->http, 204);
}
