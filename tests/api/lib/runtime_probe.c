/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One call of the runtime interface from the command line, against a real Incus. Prints one JSON
 * object: verb, ok, duration_ms, ticks, what the verb found, and the error if there was one.
 * Exits with 0, or 1 after an error.
 */
#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "runtime/runtime.h"

static const char usage_text[] =
    "usage: runtime_probe --url URL --project P --pool POOL [OPTION…] VERB\n"
    "verbs: prepare build-source create inspect pause resume destroy list listen\n"
    "  --server-cert FILE --client-cert FILE --client-key FILE   for https\n"
    "  --nic-prefix XX (rp)  --source NAME  --image ALIAS  --name NAME  --address IPV4\n"
    "  --sandbox ID  --cpu N (1)  --memory-mb N (256)  --disk-gb N (1)\n"
    "  --disk-only (pause, resume)  --or-disk (pause)\n"
    "  --tick-fails-after-ms N: the tick gives up after that time\n"
    "  --events N (1): listen until so many have come\n";

struct probe {
    struct runtime_host host;
    struct runtime_instance instance;
    const char *server_cert_file, *image, *verb;
    bool disk_only, or_disk;
    unsigned event;
    int64_t started_ms, tick_fails_after_ms, last_tick_ms, longest_gap_ms;
    unsigned ticks;
    struct runtime *runtime;
    json_t *result;
};

enum { OPT_DISK_ONLY = 1000, OPT_OR_DISK, OPT_FIRST_STRING };

/* Options with a value, in the order of OPT_FIRST_STRING. */
enum {
    URL,
    PROJECT,
    POOL,
    SERVER_CERT,
    CLIENT_CERT,
    CLIENT_KEY,
    NIC_PREFIX,
    SOURCE,
    IMAGE,
    NAME,
    ADDRESS,
    SANDBOX,
    CPU,
    MEMORY_MB,
    DISK_GB,
    TICK_FAILS,
    EVENTS,
    STRING_COUNT
};

static const char *const string_options[STRING_COUNT] = {
    "url",         "project",    "pool",       "server-cert",
    "client-cert", "client-key", "nic-prefix", "source",
    "image",       "name",       "address",    "sandbox",
    "cpu",         "memory-mb",  "disk-gb",    "tick-fails-after-ms",
    "events",
};

static unsigned number(const char *text, unsigned otherwise)
{
    uint64_t value;

    if (!text)
        return otherwise;
    if (str_parse_u64(text, 0, 1u << 30, &value)) {
        fprintf(stderr, "%s is no number\n", text);
        exit(2);
    }
    return (unsigned)value;
}

static const char *or_default(const char *text, const char *otherwise)
{
    return text ? text : otherwise;
}

static void fill(struct probe *probe, char *const strings[STRING_COUNT])
{
    probe->server_cert_file = strings[SERVER_CERT];
    probe->image = or_default(strings[IMAGE], "sandlot-default");
    probe->event = number(strings[EVENTS], 1);
    probe->tick_fails_after_ms = number(strings[TICK_FAILS], 0);
    probe->host = (struct runtime_host){
        .url = strings[URL],
        .client_cert_file = strings[CLIENT_CERT],
        .client_key_file = strings[CLIENT_KEY],
        .project = strings[PROJECT],
        .pool = strings[POOL],
        .nic_prefix = or_default(strings[NIC_PREFIX], "rp"),
    };
    probe->instance = (struct runtime_instance){
        .name = or_default(strings[NAME], "probe"),
        .address = or_default(strings[ADDRESS], "10.99.1.1"),
        .source = or_default(strings[SOURCE], "probe-source"),
        .sandbox_id = or_default(strings[SANDBOX], "sbx_probe"),
        .resources = {.cpu = number(strings[CPU], 1),
                      .memory_mb = number(strings[MEMORY_MB], 256),
                      .disk_gb = number(strings[DISK_GB], 1)},
    };
}

static void parse(struct probe *probe, int argc, char **argv)
{
    struct option options[STRING_COUNT + 3] = {
        {"disk-only", no_argument, NULL, OPT_DISK_ONLY},
        {"or-disk", no_argument, NULL, OPT_OR_DISK},
    };
    char *strings[STRING_COUNT] = {NULL};
    int found;

    for (int i = 0; i < STRING_COUNT; i++)
        options[i + 2] =
            (struct option){string_options[i], required_argument, NULL, OPT_FIRST_STRING + i};
    while ((found = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (found == OPT_DISK_ONLY)
            probe->disk_only = true;
        else if (found == OPT_OR_DISK)
            probe->or_disk = true;
        else if (found >= OPT_FIRST_STRING && found < OPT_FIRST_STRING + STRING_COUNT)
            strings[found - OPT_FIRST_STRING] = optarg;
        else
            exit(2);
    }
    if (optind != argc - 1) {
        fputs(usage_text, stderr);
        exit(2);
    }
    probe->verb = argv[optind];
    fill(probe, strings);
}

static int tick(void *context, struct error **err)
{
    struct probe *probe = context;
    int64_t now_ms = clock_monotonic_ms();

    probe->ticks++;
    if (now_ms - probe->last_tick_ms > probe->longest_gap_ms)
        probe->longest_gap_ms = now_ms - probe->last_tick_ms;
    probe->last_tick_ms = now_ms;
    if (probe->tick_fails_after_ms && now_ms - probe->started_ms >= probe->tick_fails_after_ms)
        return error_set(err, ERR_LEASE_LOST, "the tick gave up");
    return 0;
}

static char *read_text(const char *path)
{
    autofclose FILE *file = fopen(path, "r");
    buffer_auto text = BUFFER_INIT(1 << 20);
    char block[4096];
    size_t size;

    if (!file) {
        perror(path);
        exit(2);
    }
    while ((size = fread(block, 1, sizeof(block), file)) > 0)
        buffer_append(&text, block, size);
    return buffer_steal(&text);
}

/* --- verbs --- */

static const char *status_name(enum runtime_status status)
{
    static const char *const names[] = {"absent",  "stopped", "paused",
                                        "running", "frozen",  "other"};
    return names[status];
}

static void put(struct probe *probe, const char *key, const char *value)
{
    json_object_set_new(probe->result, key, json_string(value));
}

static void put_origin(struct probe *probe, int origin)
{
    if (origin >= 0)
        put(probe, "origin", origin == RUNTIME_FROM_MEMORY ? "memory" : "disk");
}

static int do_prepare(struct probe *probe, struct error **err)
{
    return probe->runtime->ops->prepare(probe->runtime, err);
}

static int do_build_source(struct probe *probe, struct error **err)
{
    autofree char *fingerprint = NULL;
    bool virtual_machine = false;

    if (probe->runtime->ops->build_source(probe->runtime, probe->instance.source, probe->image,
                                          &fingerprint, &virtual_machine, err))
        return -1;
    put(probe, "fingerprint", fingerprint);
    json_object_set_new(probe->result, "virtual_machine", json_boolean(virtual_machine));
    return 0;
}

static int do_create(struct probe *probe, struct error **err)
{
    return probe->runtime->ops->create(probe->runtime, &probe->instance, err);
}

static int do_inspect(struct probe *probe, struct error **err)
{
    enum runtime_status status;

    if (probe->runtime->ops->inspect(probe->runtime, probe->instance.name, &status, err))
        return -1;
    put(probe, "status", status_name(status));
    return 0;
}

static int do_pause(struct probe *probe, struct error **err)
{
    enum runtime_origin origin = -1;
    enum runtime_pause how = probe->disk_only ? RUNTIME_PAUSE_DISK
                             : probe->or_disk ? RUNTIME_PAUSE_MEMORY_OR_DISK
                                              : RUNTIME_PAUSE_MEMORY;
    int result = probe->runtime->ops->pause(probe->runtime, probe->instance.name,
                                            &probe->instance.resources, how, &origin, err);
    put_origin(probe, (int)origin);
    return result;
}

static int do_resume(struct probe *probe, struct error **err)
{
    enum runtime_origin origin = -1;
    int result =
        probe->runtime->ops->resume(probe->runtime, probe->instance.name,
                                    &probe->instance.resources, !probe->disk_only, &origin, err);
    put_origin(probe, (int)origin);
    return result;
}

static int do_destroy(struct probe *probe, struct error **err)
{
    return probe->runtime->ops->destroy(probe->runtime, probe->instance.name, err);
}

static int do_list(struct probe *probe, struct error **err)
{
    struct runtime_listing *list;
    size_t count;

    if (probe->runtime->ops->list(probe->runtime, &list, &count, err))
        return -1;
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(array,
                              json_pack("{s:s, s:s, s:s, s:I}", "name", list[i].name, "sandbox",
                                        list[i].sandbox_id, "status", status_name(list[i].status),
                                        "created_at_ms", (json_int_t)list[i].created_at_ms));
    json_object_set_new(probe->result, "instances", array);
    runtime_listing_free(list, count);
    return 0;
}

/* Says on its standard error when the stream has begun, so that a caller can act then. */
static int do_listen(struct probe *probe, struct error **err)
{
    static const char *const kinds[] = {
        [RUNTIME_EVENT_ENDED] = "ended", [RUNTIME_EVENT_RESTARTED] = "restarted"};
    json_t *array = json_array();

    json_object_set_new(probe->result, "events", array);
    while (json_array_size(array) < probe->event) {
        struct runtime_event event;
        if (probe->runtime->ops->event->listen(probe->runtime, 1000, &event, err))
            return -1;
        if (event.kind == RUNTIME_EVENT_BEGIN)
            fputs("begin\n", stderr);
        else if (event.kind != RUNTIME_EVENT_NONE)
            json_array_append_new(array, json_pack("[s, s]", kinds[event.kind], event.instance));
    }
    return 0;
}

static const struct {
    const char *name;
    int (*run)(struct probe *probe, struct error **err);
} verbs[] = {
    {"prepare", do_prepare}, {"build-source", do_build_source},
    {"create", do_create},   {"inspect", do_inspect},
    {"pause", do_pause},     {"resume", do_resume},
    {"destroy", do_destroy}, {"list", do_list},
    {"listen", do_listen},
};

static int run(struct probe *probe, struct error **err)
{
    if (runtime_incus_open(&probe->host, &probe->runtime, err))
        return -1;
    probe->runtime->tick = tick;
    probe->runtime->tick_context = probe;
    probe->started_ms = probe->last_tick_ms = clock_monotonic_ms();
    for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
        if (str_equal(verbs[i].name, probe->verb))
            return verbs[i].run(probe, err);
    }
    fputs(usage_text, stderr);
    exit(2);
}

int main(int argc, char **argv)
{
    struct probe probe = {.result = json_object()};
    error_auto err = NULL;

    log_init("runtime_probe");
    parse(&probe, argc, argv);
    autofree char *server_cert = probe.server_cert_file ? read_text(probe.server_cert_file) : NULL;
    probe.host.server_cert = server_cert;

    probe.started_ms = clock_monotonic_ms();
    int result = run(&probe, &err);
    put(&probe, "verb", probe.verb);
    json_object_set_new(probe.result, "ok", json_boolean(result == 0));
    json_object_set_new(probe.result, "duration_ms",
                        json_integer(clock_monotonic_ms() - probe.started_ms));
    json_object_set_new(probe.result, "ticks", json_integer(probe.ticks));
    json_object_set_new(probe.result, "longest_gap_ms", json_integer(probe.longest_gap_ms));
    if (result) {
        put(&probe, "error", error_symbol(err->code));
        put(&probe, "message", err->message);
    }
    json_dumpf(probe.result, stdout, JSON_COMPACT);
    putchar('\n');
    json_decref(probe.result);
    runtime_close(probe.runtime);
    return result ? 1 : 0;
}
