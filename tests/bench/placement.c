/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How many placements a second the rows of teams and hosts stand, with one host and with a
 * thousand:
 *
 *     make tests/bench/placement && tests/bench/placement [SECONDS]
 *
 * Each of eight processes reserves quota, host and address, writes the row of a sandbox that holds
 * them, commits, and gives all back in another transaction, on a database server of its own with
 * durable commits. Every host has a hundred sandboxes that run already. The last column is the rate
 * of the same with the sums that the counters stand for, as a create would have to add them up.
 */
#include "unit/unit.h"

#include <sys/wait.h>

#include "base/clock.h"
#include "base/mem.h"
#include "sandbox/reservation.h"
#include "sandbox/sandbox_row.h"
#include "unit/fleet.h"
#include "unit/schema.h"

#define CLIENTS 8
#define RUNNING 100

static struct team teams[CLIENTS];
static struct template_version version;

static const struct db_statement sums_statement = {
    "bench.sums",
    "SELECT c.id FROM (SELECT h.id, h.memory_mb, (SELECT COALESCE(SUM(s.memory_mb), 0)"
    " FROM sandboxes s WHERE s.host_id = h.id AND s.reserved = 1) AS used FROM hosts h"
    " JOIN template_sources t ON t.host_id = h.id WHERE t.template_version_id = ?"
    " AND h.state = 'active') c WHERE c.used + 512 <= c.memory_mb"
    " ORDER BY CAST(c.memory_mb AS SIGNED) - CAST(c.used AS SIGNED) DESC LIMIT 1000"};

struct turn {
    const struct team *team;
    bool sums;
    struct sandbox sandbox;
};

static int reserve_body(struct db *with, void *context, struct error **err)
{
    struct turn *turn = context;
    struct sandbox *sandbox = &turn->sandbox;
    struct buffer none = BUFFER_INIT(1);
    db_rows_auto *rows = NULL;
    *sandbox = (struct sandbox){.state = SANDBOX_CREATING,
                                .reserved = RESERVES_ALL,
                                .incarnation = 1,
                                .resources = {1, 512, 10},
                                .metadata = (char *)(uintptr_t) "{}",
                                .volume_mounts = (char *)(uintptr_t) "{}",
                                .network = (char *)(uintptr_t) "{}"};
    id_new("sbx_", sandbox->id);
    snprintf(sandbox->team_id, sizeof sandbox->team_id, "%s", turn->team->id);
    snprintf(sandbox->template_version_id, sizeof sandbox->template_version_id, "%s", version.id);
    snprintf(sandbox->instance_name, sizeof sandbox->instance_name, "sbx-%s", sandbox->id + 4);
    route_token_new(sandbox->route);
    if (turn->sums && db_query(with, &sums_statement, DB_ARGS(db_text(version.id)), &rows, err) < 0)
        return -1;
    if (reservation_take_quota(with, sandbox, err) < 0 ||
        host_place(with, version.id, &sandbox->resources, 0, 0, sandbox->instance_name,
                   &sandbox->host_id, &sandbox->address, err) < 0)
        return -1;
    sandbox->counted.by_host = true;
    return sandbox_row_insert(with, sandbox, &none, err);
}

static int end_body(struct db *with, void *context, struct error **err)
{
    struct sandbox *sandbox = &((struct turn *)context)->sandbox;
    sandbox->state = SANDBOX_DESTROYED;
    sandbox->reserved = RESERVES_NOTHING;
    if (sandbox_row_update(with, sandbox, err) < 0)
        return -1;
    return host_address_release(with, sandbox->host_id, sandbox->instance_name, err);
}

/* Writes how many turns it made to the pipe. */
static void client(unsigned number, bool sums, int64_t end_ms, int to)
{
    struct db *own = server_open(server);
    struct turn turn = {.team = &teams[number], .sums = sums};
    unsigned turns = 0;
    error_auto err = NULL;
    for (; clock_monotonic_ms() < end_ms; turns++)
        if (db_transaction(own, reserve_body, &turn, &err) < 0 ||
            db_transaction(own, end_body, &turn, &err) < 0) {
            fprintf(stderr, "%s\n", err->message);
            _exit(1);
        }
    _exit(write(to, &turns, sizeof turns) != sizeof turns);
}

static double rate(bool sums, unsigned seconds)
{
    pid_t clients[CLIENTS];
    int ends[2];
    unsigned all = 0, turns;
    int64_t end_ms = clock_monotonic_ms() + seconds * 1000;
    if (pipe(ends) < 0)
        abort();
    for (unsigned i = 0; i < CLIENTS; i++)
        if ((clients[i] = fork()) == 0)
            client(i, sums, end_ms, ends[1]);
    close(ends[1]);
    while (read(ends[0], &turns, sizeof turns) == sizeof turns)
        all += turns;
    close(ends[0]);
    for (unsigned i = 0; i < CLIENTS; i++)
        waitpid(clients[i], NULL, 0);
    return (double)all / seconds;
}

static void add_hosts(unsigned from, unsigned to)
{
    struct error *err = NULL;
    for (unsigned i = from; i < to; i++) {
        struct host host = {UNIT_HOST, .vcpus = 100000, .memory_mb = 100000000};
        snprintf(host.name, sizeof host.name, "h%u", i);
        snprintf(host.address_range, sizeof host.address_range, "10.%u.%u.0/27", i / 256, i % 256);
        assert_ok(host_put(db, &host, &err));
        assert_ok(template_source_add(db, version.id, host.id, "src", &err));
    }
    autofree char *fill = xasprintf(
        "INSERT INTO sandboxes (id, team_id, created_by, route, state, visible, reserved,"
        " incarnation, template_slug, template_version_id, timeout_s, on_timeout, auto_resume, cpu,"
        " memory_mb, disk_gb, metadata, volume_mounts, network, allow_public_traffic, host_id,"
        " instance_name, address, agent_key_id, created_at_ms, updated_at_ms)"
        " SELECT CONCAT('sbx_', h.id, '.', seq), '%s', 'u', CONCAT('r', h.id, '.', seq), 'ready', "
        "1,"
        " 1, 1, 'python', '%s', 300, 'kill', 0, 1, 512, 10, '{}', '{}', '{}', 1, h.id,"
        " CONCAT('i', h.id, '.', seq), seq, 1, 0, 0 FROM hosts h JOIN seq_1_to_%d"
        " WHERE h.sandboxes = 0",
        teams[0].id, version.id, RUNNING);
    server_say(raw, fill);
    assert_ok(reservation_reconcile(db, &err));
}

int main(int argc, char **argv)
{
    unsigned seconds = argc > 1 ? (unsigned)atoi(argv[1]) : 5;
    struct error *err = NULL;
    struct user user;
    void *state = NULL;
    if (schema_setup(&state) < 0)
        return 1;
    log_configure(LOG_LEVEL_ERROR, LOG_FORMAT_TEXT);
    server_say(raw, "UPDATE plans SET sandboxes = 100000000, vcpus = 100000000,"
                    " memory_mb = 2000000000, stopped_sandboxes = 100000000");
    assert_ok(user_create(db, "alice", &user, &err));
    for (unsigned i = 0; i < CLIENTS; i++) {
        char slug[16];
        snprintf(slug, sizeof slug, "team%u", i);
        assert_ok(team_create(db, slug, "pro", "alice", &teams[i], &err));
    }
    assert_ok(unit_template(db, &version, &err));
    printf("placements a second, %d clients, %d sandboxes a host\n", CLIENTS, RUNNING);
    printf("%8s %10s %12s %14s\n", "hosts", "counters", "of one host", "with the sums");
    double one = 0;
    for (unsigned hosts = 1, had = 0; hosts <= 1000;
         had = hosts, hosts = hosts == 1 ? 100 : hosts * 10) {
        add_hosts(had, hosts);
        double counters = rate(false, seconds), sums = rate(true, seconds);
        one = hosts == 1 ? counters : one;
        printf("%8u %10.0f %11.0f%% %14.0f\n", hosts, counters, 100 * counters / one, sums);
        fflush(stdout);
    }
    return schema_teardown(&state);
}
