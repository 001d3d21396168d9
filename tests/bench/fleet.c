/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A deployment of many hosts on one machine: the API's handlers, the monitors of hosts, the sampler
 * and the database are the real ones; the runtime only waits, and one small server is the agent of
 * every sandbox. Root (it makes a network namespace of its own):
 *
 *     make tests/bench/fleet && tests/bench/fleet [HOSTS RUNNING CLIENTS SECONDS START_MS MONITORS]
 *
 * It prints what a call costs in statements and in processor time of the database, how creates
 * spread over the hosts, and what the monitor of a host and a round of samples cost.
 */
#include "harness/harness.h"
#include "unit/unit.h"

#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/mem.h"
#include "dispatcher/host_monitor.h"
#include "metrics/sample.h"
#include "sandbox/reservation.h"

#define AGENTS       2
#define CLIENTS_MAX  64
#define MONITORS_MAX 200 /* each begins with a listing; more at once stop a small machine */
#define SERIAL       50  /* calls that are counted one by one */
#define GATE_CALLS   500
#define TIMES_MAX    200000
#define BEGIN_MS     100 /* between the beginnings of two monitors */

static struct {
    unsigned hosts, running, clients, seconds, start_ms, monitors;
} size = {1000, 100, 8, 20, 0, 50};

static struct harness *fleet;

/* --- a runtime that only waits --- */

struct waiting {
    struct runtime runtime;
    unsigned host; /* of the address unix:///<number> */
    bool began;
};

static int wait_start(struct runtime *runtime, const struct runtime_instance *wanted,
                      struct error **err)
{
    (void)runtime, (void)wanted, (void)err;
    if (size.start_ms)
        clock_sleep_ms(size.start_ms);
    return 0;
}

static int say_running(struct runtime *runtime, const char *name, enum runtime_status *status,
                       struct error **err)
{
    (void)runtime, (void)name, (void)err;
    *status = RUNTIME_RUNNING;
    return 0;
}

static int forget(struct runtime *runtime, const char *name, struct error **err)
{
    (void)runtime, (void)name, (void)err;
    return 0;
}

static char *instance_of(const struct runtime *runtime, unsigned number)
{
    return xasprintf("i%u.%u", ((const struct waiting *)runtime)->host, number);
}

static int list(struct runtime *runtime, struct runtime_listing **found, size_t *count,
                struct error **err)
{
    (void)err;
    *count = size.running;
    *found = xcalloc(*count, sizeof **found);
    for (unsigned i = 0; i < *count; i++)
        (*found)[i] =
            (struct runtime_listing){instance_of(runtime, i + 1), xstrdup(""), RUNTIME_RUNNING, 0};
    return 0;
}

static int measure(struct runtime *runtime, struct runtime_usage **found, size_t *count,
                   struct error **err)
{
    (void)err;
    *count = size.running;
    *found = xcalloc(*count, sizeof **found);
    for (unsigned i = 0; i < *count; i++)
        (*found)[i] = (struct runtime_usage){
            .name = instance_of(runtime, i + 1), .cpu_ms = 1000, .memory_bytes = 1 << 20};
    return 0;
}

static int measure_disk(struct runtime *runtime, const char *name, bool virtual_machine,
                        uint64_t *used_bytes, struct error **err)
{
    (void)runtime, (void)name, (void)virtual_machine, (void)err;
    *used_bytes = 1 << 20;
    return 0;
}

static int measure_pool(struct runtime *runtime, uint64_t *total, uint64_t *used,
                        struct error **err)
{
    (void)runtime, (void)err;
    *total = 1ULL << 44;
    *used = 1ULL << 40;
    return 0;
}

static int listen_for(struct runtime *runtime, unsigned wait_ms, struct runtime_event *event,
                      struct error **err)
{
    struct waiting *waiting = (struct waiting *)runtime;
    (void)err;
    event->kind = waiting->began ? RUNTIME_EVENT_NONE : RUNTIME_EVENT_BEGIN;
    if (waiting->began)
        clock_sleep_ms(wait_ms);
    waiting->began = true;
    return 0;
}

static void close_waiting(struct runtime *runtime)
{
    free(runtime);
}

static const struct runtime_measure_ops measures = {
    .instances = measure,
    .disk = measure_disk,
    .pool = measure_pool,
};
static const struct runtime_event_ops events = {.listen = listen_for};
static const struct runtime_ops operations = {
    .memory = &runtime_no_memory,
    .volume = &runtime_no_volumes,
    .transfer = &runtime_no_transfers,
    .measure = &measures,
    .event = &events,
    .create = wait_start,
    .inspect = say_running,
    .destroy = forget,
    .list = list,
    .close = close_waiting,
};

static int open_waiting(const struct runtime_host *host, struct runtime **runtime,
                        struct error **err)
{
    struct waiting *waiting = xcalloc(1, sizeof *waiting);
    (void)err;
    waiting->runtime.ops = &operations;
    waiting->host = (unsigned)strtoul(host->url + strlen("unix:///"), NULL, 10);
    *runtime = &waiting->runtime;
    return 0;
}

/* --- all agents --- */

static void bring_up_loopback(void)
{
    struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP};
    int made = unshare(CLONE_NEWNET);
    autoclose int fd = made < 0 ? -1 : socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &request) == 0)
        return;
    perror("fleet: a network namespace");
    exit(1);
}

/* One request a connection; what it says is not looked at. */
static void answer_agent(int fd)
{
    static const char said[] = "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n";
    char request[16384] = "";
    size_t got = 0, wanted = SIZE_MAX;
    ssize_t more = 1;
    while (got < wanted && got < sizeof request - 1 && more > 0) {
        more = read(fd, request + got, sizeof request - 1 - got);
        got += more > 0 ? (size_t)more : 0;
        request[got] = '\0';
        const char *end = strstr(request, "\r\n\r\n"),
                   *length = strcasestr(request, "\nContent-Length:");
        if (end)
            wanted = (size_t)(end + 4 - request) +
                     (length && length < end ? strtoul(length + 16, NULL, 10) : 0);
    }
    if (write(fd, said, sizeof said - 1) < 0)
        perror("fleet: an agent's answer");
    close(fd);
}

static void serve_agents(void)
{
    const struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = htons(AGENT_PORT)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(fd, (const struct sockaddr *)&any, sizeof any) < 0 || listen(fd, 1024) < 0)
        abort();
    for (unsigned i = 0; i < AGENTS; i++) {
        if (fork() != 0)
            continue;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            answer_agent(accept(fd, NULL, NULL));
    }
    close(fd);
}

/* --- what there is --- */

static void add_hosts(void)
{
    struct db *db = fleet->api.worker.db;
    struct error *err = NULL;
    const long sources = server_ask(fleet->sql, "SELECT COUNT(*) FROM template_sources");
    autofree char *version = NULL;
    MYSQL_RES *rows;
    assert_int_equal(sources, 1);
    server_say(fleet->sql, "UPDATE hosts SET state = 'draining'");
    assert_int_equal(mysql_query(fleet->sql, "SELECT id FROM template_versions"), 0);
    rows = mysql_store_result(fleet->sql);
    version = xstrdup(mysql_fetch_row(rows)[0]);
    mysql_free_result(rows);
    for (unsigned i = 0; i < size.hosts; i++) {
        autofree char *url = xasprintf("unix:///%u", i);
        struct host host = {.url = url,
                            .project = "sandlot",
                            .pool = "pool",
                            .nic_prefix = "sl",
                            .vcpus = 100000,
                            .memory_mb = 256 * 1024,
                            .memory_overcommit = 100};
        snprintf(host.name, sizeof host.name, "h%u", i);
        snprintf(host.address_range, sizeof host.address_range, "127.%u.%u.0/27", 1 + i / 256 % 8,
                 i % 256);
        assert_ok(host_put(db, &host, &err));
        assert_ok(template_source_add(db, version, host.id, "src", &err));
    }
}

static void add_running(void)
{
    struct error *err = NULL;
    autofree char *fill = xasprintf(
        "INSERT INTO sandboxes (id, team_id, created_by, route, state, visible, reserved,"
        " incarnation, template_slug, template_version_id, timeout_s, on_timeout, auto_resume, cpu,"
        " memory_mb, disk_gb, metadata, volume_mounts, network, allow_public_traffic, host_id,"
        " instance_name, address, agent_key_id, created_at_ms, updated_at_ms)"
        " SELECT CONCAT('sbx_0', LPAD(h.id, 10, '0'), LPAD(seq, 15, '0')), t.id, 'u',"
        " CONCAT('r', h.id, '.', seq), 'ready', 1, 1, 1, 'python', v.id, 300, 'kill', 0, 1, 512,"
        " 10, '{}', '{}', '{}', 1, h.id, CONCAT('i', SUBSTRING(h.name, 2), '.', seq), seq, 1, 0, 0"
        " FROM hosts h JOIN seq_1_to_%u JOIN teams t ON t.slug = CONCAT('fleet', h.id %% %u)"
        " JOIN template_versions v WHERE h.state = 'active'",
        size.running, size.clients);
    if (size.running)
        server_say(fleet->sql, fill);
    assert_ok(reservation_reconcile(fleet->api.worker.db, &err));
}

static void add_teams(void)
{
    struct error *err = NULL;
    struct team team;
    server_say(fleet->sql, "UPDATE plans SET sandboxes = 100000000, vcpus = 100000000,"
                           " memory_mb = 2000000000, stopped_sandboxes = 100000000");
    for (unsigned i = 0; i < size.clients; i++) {
        char slug[16];
        snprintf(slug, sizeof slug, "fleet%u", i);
        assert_ok(team_create(fleet->api.worker.db, slug, "pro", "ada", &team, &err));
    }
}

/* --- what is measured --- */

struct reading {
    long statements;
    double database_ms, wall_ms;
};

static double processor_ms(pid_t pid)
{
    char path[40], text[512] = "";
    unsigned long user = 0, system = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    autofclose FILE *file = fopen(path, "re");
    if (!file || !fgets(text, sizeof text, file) || !strrchr(text, ')'))
        return 0;
    sscanf(strrchr(text, ')') + 1, "%*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %lu %lu", &user,
           &system);
    return (double)(user + system) * 1000 / (double)sysconf(_SC_CLK_TCK);
}

/* Of a process with one thread, to the nanosecond. */
static double own_ms(pid_t pid)
{
    char path[40];
    unsigned long long spent_ns = 0;
    snprintf(path, sizeof path, "/proc/%d/schedstat", (int)pid);
    autofclose FILE *file = fopen(path, "re");
    return file && fscanf(file, "%llu", &spent_ns) == 1 ? (double)spent_ns / 1e6 : 0;
}

static struct reading look(void)
{
    return (struct reading){server_ask(fleet->sql,
                                       "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS"
                                       " WHERE VARIABLE_NAME = 'QUESTIONS'"),
                            processor_ms(fleet->server->pid), (double)clock_monotonic_us() / 1000};
}

static struct reading since(struct reading then)
{
    struct reading now = look();
    return (struct reading){now.statements - then.statements - 1,
                            now.database_ms - then.database_ms, now.wall_ms - then.wall_ms};
}

static void print_calls(const char *what, struct reading spent, double calls)
{
    printf("%-28s %8.1f statements %8.2f ms of the database %8.2f ms\n", what,
           (double)spent.statements / calls, spent.database_ms / calls, spent.wall_ms / calls);
    fflush(stdout);
}

static char *create(unsigned client)
{
    autofree char *body = xasprintf("{\"team\": \"fleet%u\"}", client);
    harness_answer_auto made = harness_api(fleet, "POST", "/v1/sandboxes", body, NULL);
    if (made.status != 201) {
        fprintf(stderr, "create: %d %s\n", made.status, made.body);
        return NULL;
    }
    return xstrdup(json_string_value(json_object_get(made.json, "id")));
}

static int ask(const char *method, const char *id)
{
    autofree char *path = xasprintf("/v1/sandboxes/%s", id);
    harness_answer_auto answer = harness_api(fleet, method, path, NULL, NULL);
    return answer.status;
}

static void ask_gate(const char *id)
{
    autofree char *route = NULL;
    autofree char *query = xasprintf("SELECT route FROM sandboxes WHERE id = '%s'", id);
    assert_int_equal(mysql_query(fleet->sql, query), 0);
    MYSQL_RES *rows = mysql_store_result(fleet->sql);
    route = xasprintf("SANDLOT_ROUTE=%s", mysql_fetch_row(rows)[0]);
    mysql_free_result(rows);
    struct reading then = look();
    for (unsigned i = 0; i < GATE_CALLS; i++) {
        harness_answer_auto answer =
            harness_gate(fleet, (const char *[]){"SANDLOT_KIND=data", "SANDLOT_METHOD=GET",
                                                 "SANDLOT_URI=/health", "HTTP_X_ACCESS_TOKEN=none",
                                                 route, NULL});
        assert_true(answer.status);
    }
    print_calls("a question to the gate", since(then), GATE_CALLS);
}

static void count_calls(void)
{
    char *ids[SERIAL];
    free(create(0)); /* prepares what it says */
    struct reading then = look();
    for (unsigned i = 0; i < SERIAL; i++)
        if (!(ids[i] = create(i % size.clients)))
            exit(1);
    print_calls("a create", since(then), SERIAL);
    then = look();
    for (unsigned i = 0; i < SERIAL; i++)
        assert_int_equal(ask("GET", ids[i]), 200);
    print_calls("a show", since(then), SERIAL);
    ask_gate(ids[0]);
    ask("DELETE", ids[0]);
    then = look();
    for (unsigned i = 1; i < SERIAL; i++)
        assert_int_equal(ask("DELETE", ids[i]), 204);
    print_calls("a delete", since(then), SERIAL - 1);
    for (unsigned i = 0; i < SERIAL; i++)
        free(ids[i]);
}

/* --- many at once --- */

/* What a process of its own has of the API; that of the parent is left alone. */
static void open_own(const char *name)
{
    error_auto err = NULL;
    struct harness *own = xmalloc(sizeof *own);
    *own = *fleet;
    own->api = (struct api){.settings = fleet->settings};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (worker_open(own->settings, name, &own->api.worker, &err) < 0 ||
        pool_open_as(own->directory, name, &own->api.pool, &err) < 0) {
        fprintf(stderr, "fleet: %s\n", err->message);
        _exit(1);
    }
    runtimes_open_by(own->api.worker.runtimes, open_waiting);
    fleet = own;
}

static void be_client(unsigned number, int64_t end_ms, int to)
{
    autofree char *name = xasprintf("client%u", number);
    open_own(name);
    while (clock_monotonic_ms() < end_ms) {
        int64_t began_us = clock_monotonic_us();
        autofree char *id = create(number);
        uint32_t took_us = id ? (uint32_t)(clock_monotonic_us() - began_us) : 0;
        if (write(to, &took_us, sizeof took_us) != sizeof took_us)
            _exit(1);
    }
    _exit(0);
}

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static void print_spread(void)
{
    static const char text[] =
        "SELECT MIN(n), MAX(n), ROUND(AVG(n), 2), ROUND(STDDEV(n), 2), SUM(n = 0) FROM"
        " (SELECT h.id, COUNT(s.id) AS n FROM hosts h LEFT JOIN sandboxes s ON s.host_id = h.id"
        " AND s.created_at_ms > 0 AND s.state = 'ready' WHERE h.state = 'active' GROUP BY h.id) c";
    assert_int_equal(mysql_query(fleet->sql, text), 0);
    MYSQL_RES *rows = mysql_store_result(fleet->sql);
    MYSQL_ROW row = mysql_fetch_row(rows);
    printf("new ones on a host: least %s, most %s, mean %s, deviation %s; hosts without: %s\n",
           row[0], row[1], row[2], row[3], row[4]);
    mysql_free_result(rows);
}

static void create_many(void)
{
    static uint32_t times[TIMES_MAX];
    int ends[2];
    size_t count = 0, failed = 0;
    struct reading then = look();
    int64_t end_ms = clock_monotonic_ms() + size.seconds * 1000;
    if (pipe(ends) < 0)
        abort();
    for (unsigned i = 0; i < size.clients; i++)
        if (fork() == 0)
            be_client(i, end_ms, ends[1]);
    close(ends[1]);
    for (uint32_t one; count < TIMES_MAX && read(ends[0], &one, sizeof one) == sizeof one;) {
        if (one)
            times[count++] = one;
        else
            failed++;
    }
    close(ends[0]);
    struct reading spent = since(then);
    qsort(times, count, sizeof *times, by_number);
    printf("%u clients, a start of %u ms: %zu creates (%.0f a second), %zu failed; p50 %.1f ms, "
           "p95 %.1f ms\n",
           size.clients, size.start_ms, count, (double)count * 1000 / spent.wall_ms, failed,
           count ? times[count / 2] / 1000.0 : 0, count ? times[count * 95 / 100] / 1000.0 : 0);
    print_calls("each of them", spent, (double)(count ? count : 1));
    print_spread();
}

/* --- what goes on while nobody asks --- */

static void nobody(const char *instance_name)
{
    (void)instance_name;
}

static void be_monitor(uint32_t host_id)
{
    open_own("monitor");
    struct host_monitor *monitor = host_monitor_new(&fleet->api.worker, host_id, nobody);
    for (;;)
        host_monitor_turn(monitor);
}

/* In kB. */
static long own_memory(pid_t pid)
{
    char path[48], line[128];
    long found = 0;
    snprintf(path, sizeof path, "/proc/%d/smaps_rollup", (int)pid);
    autofclose FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "Pss: %ld kB", &found) == 1)
            break;
    return found;
}

static void run_monitors(void)
{
    pid_t *pids = xcalloc(size.monitors, sizeof *pids);
    double spent_ms = 0;
    long memory = 0;
    for (unsigned i = 0; i < size.monitors; i++)
        if ((pids[i] = fork()) == 0)
            be_monitor(fleet->host.id + 1 + i);
        else
            clock_sleep_ms(BEGIN_MS);
    for (unsigned i = 0; i < size.monitors; i++)
        spent_ms -= own_ms(pids[i]);
    struct reading then = look();
    clock_sleep_ms(size.seconds * 1000);
    struct reading spent = since(then);
    for (unsigned i = 0; i < size.monitors; i++) {
        spent_ms += own_ms(pids[i]);
        memory += own_memory(pids[i]);
        kill(pids[i], SIGKILL);
        waitpid(pids[i], NULL, 0);
    }
    double each = size.monitors * spent.wall_ms / 1000;
    printf(
        "a monitor of %u, a second: %.2f statements, %.2f ms of its own, %.2f ms of the database; "
        "%.1f MiB\n",
        size.monitors, (double)spent.statements / each, spent_ms / each, spent.database_ms / each,
        (double)memory / 1024 / size.monitors);
    free(pids);
}

static void take_samples(void)
{
    struct sampler sampler = {0};
    error_auto err = NULL;
    for (unsigned round = 0; round < 2; round++) {
        struct reading then = look();
        if (sample_round(&fleet->api.worker, &sampler, &err) < 0)
            fprintf(stderr, "samples: %s\n", err->message);
        struct reading spent = since(then);
        printf("a round of samples: %ld statements, %.1f s, %.1f s of the database\n",
               spent.statements, spent.wall_ms / 1000, spent.database_ms / 1000);
    }
    sampler_deinit(&sampler);
}

static void simulate(void **state)
{
    fleet = *state;
    runtimes_open_by(fleet->api.worker.runtimes, open_waiting);
    runtimes_open_by(fleet->gate.worker.runtimes, open_waiting);
    /* A monitor keeps a connection. */
    server_say(fleet->sql, "SET GLOBAL max_connections = 2000, innodb_flush_log_at_trx_commit = 0");
    add_teams();
    add_hosts();
    add_running();
    server_say(fleet->sql, "SET GLOBAL innodb_flush_log_at_trx_commit = 1");
    printf("%u hosts, %u running on each\n", size.hosts, size.running);
    fflush(stdout);
    /* Before there are others than the runtime lists. */
    run_monitors();
    take_samples();
    serve_agents();
    count_calls();
    create_many();
}

int main(int argc, char **argv)
{
    unsigned *const given[] = {&size.hosts,   &size.running,  &size.clients,
                               &size.seconds, &size.start_ms, &size.monitors};
    const struct CMUnitTest tests[] = {cmocka_unit_test(simulate)};
    for (int i = 1; i < argc && i <= (int)ARRAY_SIZE(given); i++)
        *given[i - 1] = (unsigned)atoi(argv[i]);
    if (size.hosts > 1024 || !size.clients || size.clients > CLIENTS_MAX ||
        size.monitors > size.hosts || size.monitors > MONITORS_MAX) {
        fprintf(stderr, "at most 1,024 hosts, %d clients, %d monitors and one a host\n",
                CLIENTS_MAX, MONITORS_MAX);
        return 2;
    }
    bring_up_loopback();
    return cmocka_run_group_tests(tests, harness_setup, harness_teardown);
}
