/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/services.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/common/regular_file.h"
#include "agent/defaults.h"
#include "agent/process/process_logs.h"
#include "agent/process/session_kill.h"
#include "agent/service.h"
#include "agent/service_record.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/guest_limits.h"
#include "base/instance.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"

#define SERVICES_MOST SERVICE_RECORDS_MAX
#define FILE_MAX      (256 * 1024)
#define OUTPUT_KEPT   4096 /* of the start command */

static struct service *services[SERVICES_MOST];
static size_t count;
static struct loop_timer hold; /* services wait for a hook */

static void complain(const char *what, const char *why)
{
    log_warning("cannot start a service of the template; continuing without it",
                LOG_STR("service", what), LOG_STR("reason", why));
}

/* Tests run agents beside each other on one disk. */
static bool has_files(const struct agent *agent)
{
    return !agent->trust_local_peers;
}

static struct service *find(const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (str_equal(services[i]->name, name))
            return services[i];
    return NULL;
}

/* --- the file of the sandbox's own services --- */

static json_t *load_own(void)
{
    size_t size;
    autofree char *text = xmalloc(FILE_MAX);
    return regular_file_read(SERVICES_FILE, text, FILE_MAX, &size) ? json_loadb(text, size, 0, NULL)
                                                                   : NULL;
}

/* Environments may hold secrets: root alone reads the file. */
static void save_own(const json_t *own)
{
    static const char new_file[] = SERVICES_FILE ".new";
    mkdir(TEMPLATE_DEFAULTS_DIR, 0755);
    unlink(new_file);
    autoclose int fd = open(new_file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 || json_dumpfd(own, fd, JSON_COMPACT) < 0 || rename(new_file, SERVICES_FILE) < 0)
        log_warning("cannot write the services of the sandbox to a file; a restart of the sandbox "
                    "does not start them",
                    LOG_STR("file", SERVICES_FILE), LOG_INT("errno", errno));
}

/* --- the record of processes --- */

void services_record(struct agent *agent)
{
    struct service_record records[SERVICES_MOST];
    if (!has_files(agent))
        return;
    for (size_t i = 0; i < count; i++) {
        const struct service *service = services[i];
        pid_t pid = service->process ? service->process->pid : 0;
        records[i] = (struct service_record){
            .pid = pid,
            .start = pid ? service_record_start(pid) : 0,
            .over = service->state == SERVICE_ENDED || service->state == SERVICE_FAILED,
            .stop_signal = service->stop_signal,
        };
        snprintf(records[i].name, sizeof records[i].name, "%s", service->name);
    }
    service_records_write(records, count);
}

/* Kill the processes of the record. Returns, as JSON, the names of services that had ended. */
static json_t *end_recorded(void)
{
    struct service_record records[SERVICE_RECORDS_MAX];
    json_t *over = json_object();
    size_t recorded = service_records_read(records);
    for (size_t i = 0; i < recorded; i++) {
        if (service_record_runs(&records[i]))
            session_kill(records[i].pid);
        if (records[i].over)
            json_object_set_new(over, records[i].name, json_true());
    }
    return over;
}

/* --- the list --- */

static void add(struct agent *agent, json_t *spec)
{
    struct rpc_error error;
    const char *name = json_string_value(json_object_get(spec, "name"));
    if (count == SERVICES_MOST) {
        complain(name ? name : "", "there are too many services");
        return;
    }
    struct service *service = service_new(agent, spec, &error);
    if (service)
        services[count++] = service;
    else
        complain(name ? name : "", error.message);
}

/* Later ones of a name replace earlier ones. */
static void put(json_t *list, const json_t *more, size_t most)
{
    for (size_t i = 0; i < json_array_size(more) && i < most; i++) {
        json_t *spec = json_array_get(more, i);
        const char *name = json_string_value(json_object_get(spec, "name"));
        size_t at = 0;
        while (
            at < json_array_size(list) &&
            !str_equal(json_string_value(json_object_get(json_array_get(list, at), "name")), name))
            at++;
        if (at < json_array_size(list))
            json_array_set(list, at, spec);
        else
            json_array_append(list, spec);
    }
}

static json_t *specifications(const struct defaults *defaults, const json_t *own)
{
    json_t *list = json_array();
    if (defaults->start_command) {
        json_t *spec =
            json_pack("{s:s, s:s, s:s, s:b, s:O?, s:O?}", "name", SERVICE_OF_TEMPLATE, "command",
                      defaults->start_command, "restart", "no", "login", 1, "health",
                      defaults->start_health, "stop_signal", defaults->start_stop_signal);
        json_object_update_missing(spec, defaults->start_place);
        json_array_append_new(list, spec);
    }
    put(list, defaults->services, SERVICES_MAX);
    put(list, own, SERVICES_MAX);
    return list;
}

static void start_held(void)
{
    for (size_t i = 0; i < count; i++)
        if (services[i]->held)
            service_start(services[i]);
}

static void on_hold_over(struct loop_timer *timer)
{
    (void)timer;
    start_held();
}

void services_begin(struct agent *agent, const struct defaults *defaults, const json_t *own,
                    bool survivor, int64_t hold_ms)
{
    json_auto_t *over = has_files(agent) ? end_recorded() : json_object();
    if (own && has_files(agent))
        save_own(own);
    json_auto_t *kept = own || !has_files(agent) ? NULL : load_own();
    json_auto_t *list = specifications(defaults, own ? own : kept);
    unlink(START_ENDED_FILE);
    service_records_begin();
    for (size_t i = 0; i < json_array_size(list); i++)
        add(agent, json_array_get(list, i));
    for (size_t i = 0; i < count; i++)
        if (!survivor || !json_object_get(over, services[i]->name)) {
            services[i]->held = true;
            services[i]->state = SERVICE_WAITING;
        }
    if (hold_ms)
        loop_timer_arm(&agent->loop, &hold, clock_monotonic_ms() + hold_ms, on_hold_over);
    else
        start_held();
}

void services_take(struct agent *agent, const struct defaults *defaults, const json_t *own)
{
    struct service *before[SERVICES_MOST];
    size_t before_count = count;
    if (!own) {
        services_record(agent); /* a restore from memory gives processes another start time */
        return;
    }
    if (has_files(agent))
        save_own(own);
    json_auto_t *list = specifications(defaults, own);
    memcpy(before, services, sizeof before);
    count = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *spec = json_array_get(list, i);
        size_t at = 0;
        while (at < before_count && !(before[at] && json_equal(before[at]->spec, spec)))
            at++;
        if (at == before_count) {
            add(agent, spec);
            continue;
        }
        services[count++] = before[at];
        before[at] = NULL;
    }
    for (size_t i = 0; i < before_count; i++)
        if (before[i])
            service_free(before[i]);
    for (size_t i = 0; i < count; i++)
        if (!services[i]->started_at_ms)
            service_start(services[i]);
    services_record(agent);
}

bool services_start_failed(void)
{
    for (size_t i = 0; i < count; i++)
        if (str_equal(services[i]->name, SERVICE_OF_TEMPLATE))
            return services[i]->state == SERVICE_FAILED;
    return false;
}

void services_clear_logs(void)
{
    for (size_t i = 0; i < count; i++)
        process_log_clear(&services[i]->log);
}

void services_set_log_max(size_t max)
{
    for (size_t i = 0; i < count; i++)
        process_log_set_max(&services[i]->log, max < SERVICE_LOG_MAX ? max : SERVICE_LOG_MAX);
}

/* --- the end of the start command --- */

static void write_tail(FILE *file, const struct process_log *log)
{
    const struct process_log_entry *entry;
    size_t size = 0;
    TAILQ_FOREACH(entry, &log->entries, link)
    size += entry->size;
    TAILQ_FOREACH(entry, &log->entries, link)
    {
        size_t skipped = size > OUTPUT_KEPT ? size - OUTPUT_KEPT : 0;
        size -= entry->size;
        if (skipped < entry->size)
            fwrite(entry->data + skipped, 1, entry->size - skipped, file);
    }
}

void services_record_start_end(const struct service *service)
{
    int fd = open(START_ENDED_FILE, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    autofclose FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    if (!file) {
        complain(service->name, "cannot record its end");
        return;
    }
    fprintf(file, "%d\n", service->exit_code);
    write_tail(file, &service->log);
}

/* --- requests --- */

int services_list_finish(struct request *request, struct rpc_error *error)
{
    (void)error;
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, service_to_json(services[i]));
    return httpd_reply_json(&request->http, 200, json_pack("{s:o}", "services", list));
}

int services_release_finish(struct request *request, struct rpc_error *error)
{
    (void)error;
    loop_timer_disarm(&request->agent->loop, &hold);
    start_held();
    return httpd_reply_empty(&request->http, 204);
}

static struct service *named(const struct request *request, struct rpc_error *error)
{
    struct service *service = find(request->http.path + strlen(request->route->path));
    if (!service)
        rpc_error_set(error, RPC_NOT_FOUND, "the sandbox has no such service");
    return service;
}

int services_logs_finish(struct request *request, struct rpc_error *error)
{
    struct service *service = named(request, error);
    return service ? process_logs_reply(request, &service->log, error) : -1;
}

int services_restart_finish(struct request *request, struct rpc_error *error)
{
    struct service *service = named(request, error);
    if (!service)
        return -1;
    service_restart(service);
    return httpd_reply_empty(&request->http, 204);
}
