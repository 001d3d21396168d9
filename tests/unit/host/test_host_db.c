/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include <stdbool.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/mem.h"
#include "host/runtimes.h"
#include "http/link.h"
#include "unit/fleet.h"
#include "unit/schema.h"

#define WORKERS  6
#define ATTEMPTS 40
#define EACH_CPU 1
#define EACH_MB  100

static struct team team;
static struct template_version version;
static const struct runtime_resources resources = {EACH_CPU, EACH_MB, 10};

static struct host host_of(const char *name, const char *range, uint32_t vcpus, uint32_t memory_mb)
{
    struct host host = {UNIT_HOST, .vcpus = vcpus, .memory_mb = memory_mb};
    snprintf(host.name, sizeof host.name, "%s", name);
    snprintf(host.address_range, sizeof host.address_range, "%s", range);
    return host;
}

static int set_up(void **state)
{
    struct error *err = NULL;
    struct user user;
    if (schema_setup(state) < 0)
        return -1;
    return user_create(db, "alice", &user, &err) < 0 ||
           team_create(db, "acme", "pro", "alice", &team, &err) < 0 ||
           unit_template(db, &version, &err) < 0;
}

static long count(const char *sql)
{
    return server_ask(raw, sql);
}

static void forget_all_hosts(void)
{
    server_say(raw, "DELETE FROM sandboxes");
    server_say(raw, "DELETE FROM template_sources");
    server_say(raw, "DELETE FROM host_addresses");
    server_say(raw, "DELETE FROM hosts");
}

static void put(struct host *host)
{
    struct error *err = NULL;
    char name[64];
    assert_ok(host_put(db, host, &err));
    runtime_source_name(version.id, name);
    assert_ok(template_source_add(db, version.id, host->id, name, &err));
}

/* --- one create and one delete, as the lifecycle makes them --- */

struct placement {
    const struct runtime_resources *resources;
    char id[ID_SIZE];
    char instance[64];
    uint32_t host_id, address;
};

static int place_body(struct db *with, void *context, struct error **err)
{
    static const struct db_statement insert = {
        "test.insert",
        "INSERT INTO sandboxes (id, team_id, created_by, route, state, visible, reserved,"
        " incarnation, template_slug, template_version_id, timeout_s, on_timeout, auto_resume, cpu,"
        " memory_mb, disk_gb, metadata, volume_mounts, network,"
        " allow_public_traffic, host_id, instance_name, address, agent_key_id, created_at_ms,"
        " updated_at_ms) VALUES (?, ?, 'usr', ?, 'creating', 1, 1, 1, 'python', ?, 300, 'kill', 0,"
        " ?, ?, 10, '{}', '{}', '{}', 1, ?, ?, ?, 1, 0, 0)"};
    struct placement *placement = context;
    char route[ROUTE_TOKEN_LENGTH + 1];
    id_new("sbx_", placement->id);
    snprintf(placement->instance, sizeof placement->instance, "sbx-%s", placement->id + 4);
    if (host_place(with, version.id, placement->resources, 0, 0, placement->instance,
                   &placement->host_id, &placement->address, err) < 0)
        return -1;
    return db_exec(with, &insert,
                   DB_ARGS(db_text(placement->id), db_text(team.id),
                           db_text(route_token_new(route)), db_text(version.id),
                           db_u64(placement->resources->cpu),
                           db_u64(placement->resources->memory_mb), db_u64(placement->host_id),
                           db_text(placement->instance), db_u64(placement->address)),
                   NULL, err);
}

static int end_body(struct db *with, void *context, struct error **err)
{
    static const struct db_statement end = {
        "test.end",
        "UPDATE sandboxes SET state = 'destroyed', reserved = 0 WHERE id = ? AND reserved = 1"};
    const struct placement *placement = context;
    uint64_t ended;
    if (db_exec(with, &end, DB_ARGS(db_text(placement->id)), &ended, err) < 0 ||
        (ended && host_room_give(with, placement->host_id, placement->resources, err) < 0))
        return -1;
    return host_address_release(with, placement->host_id, placement->instance, err);
}

static struct placement place(const struct runtime_resources *wanted)
{
    struct error *err = NULL;
    struct placement placement = {.resources = wanted};
    assert_ok(db_transaction(db, place_body, &placement, &err));
    return placement;
}

static void assert_full(const struct runtime_resources *wanted)
{
    struct error *err = NULL;
    struct placement placement = {.resources = wanted};
    assert_fails(db_transaction(db, place_body, &placement, &err), ERR_NO_CAPACITY);
    assert_true(err->retry_after_s > 0);
    error_clear(&err);
}

/* --- hosts --- */

TEST(a_host_is_put_and_changed)
{
    struct error *err = NULL;
    struct host stored, host = host_of("one", "10.1.0.0/28", 4, 4096);
    forget_all_hosts();
    assert_ok(host_put(db, &host, &err));
    assert_int_equal(host.state, HOST_ACTIVE);
    uint32_t id = host.id;
    assert_int_equal(count("SELECT COUNT(*) FROM host_addresses"), 13);
    assert_int_equal(count("SELECT MIN(address) FROM host_addresses"), 0x0a010002);
    assert_int_equal(count("SELECT MAX(address) FROM host_addresses"), 0x0a01000e);
    assert_ok(host_set_state(db, "one", HOST_DRAINING, &err));
    host.vcpus = 8;
    host.server_cert = (char *)(uintptr_t) "-----BEGIN CERTIFICATE-----\n";
    assert_ok(host_put(db, &host, &err));
    assert_int_equal(host.id, id);
    assert_int_equal(host.state, HOST_DRAINING);
    assert_ok(host_get_by_name(db, "one", &stored, &err));
    assert_int_equal(stored.vcpus, 8);
    assert_non_null(stored.server_cert);
    assert_int_equal(stored.state, HOST_DRAINING);
    host_deinit(&stored);
    assert_fails_saying(host_set_state(db, "two", HOST_ACTIVE, &err), ERR_NOT_FOUND, "host");
    assert_fails_saying(host_get(db, id + 1000, &stored, &err), ERR_NOT_FOUND, "host");
    assert_fails_saying(host_get_by_name(db, "two", &stored, &err), ERR_NOT_FOUND, "host");
}

/* What the whole server was asked to insert so far: statements, not rows. */
static long inserts(void)
{
    return count("SELECT CAST(SUM(VARIABLE_VALUE) AS UNSIGNED)"
                 " FROM information_schema.GLOBAL_STATUS"
                 " WHERE VARIABLE_NAME IN ('COM_INSERT', 'COM_INSERT_SELECT')");
}

TEST(a_large_range_is_filled_in_pieces)
{
    if (getenv("SANDLOT_TEST_MYSQL"))
        return; /* Oracle's does not count what was prepared */
    struct error *err = NULL;
    struct host host = host_of("large", "10.2.0.0/18", 4, 4096);
    forget_all_hosts();
    long before = inserts();
    assert_ok(host_put(db, &host, &err));
    /* The host, and its addresses by 128, 256, … 4,096. A slow machine has more and smaller pieces.
     */
    assert_true(inserts() - before >= 10);
    assert_int_equal(count("SELECT COUNT(*) FROM host_addresses"), 16381);
    assert_int_equal(count("SELECT MAX(address) - MIN(address) FROM host_addresses"), 16380);
}

TEST(ranges_do_not_overlap_nor_change_in_use)
{
    struct error *err = NULL;
    struct host a = host_of("a", "10.3.0.0/24", 4, 4096), b = host_of("b", "10.3.0.0/25", 4, 4096);
    forget_all_hosts();
    put(&a);
    assert_fails_saying(host_put(db, &b, &err), ERR_INVALID_REQUEST, "overlaps");
    struct placement placement = place(&resources);
    a = host_of("a", "10.4.0.0/24", 4, 4096);
    assert_fails_saying(host_put(db, &a, &err), ERR_INVALID_REQUEST, "cannot change");
    assert_ok(db_transaction(db, end_body, &placement, &err));
    assert_ok(host_put(db, &a, &err));
    assert_int_equal(count("SELECT MIN(address) FROM host_addresses"), 0x0a040002);
    assert_ok(host_put(db, &b, &err));
}

TEST(all_hosts_have_one_architecture)
{
    struct error *err = NULL;
    struct host a = host_of("a", "10.3.0.0/24", 4, 4096), b = host_of("b", "10.4.0.0/24", 4, 4096);
    struct host stored;
    forget_all_hosts();
    snprintf(a.architecture, sizeof a.architecture, "x86_64");
    snprintf(b.architecture, sizeof b.architecture, "aarch64");
    put(&a);
    assert_fails_saying(host_put(db, &b, &err), ERR_INVALID_REQUEST,
                        "host b has aarch64 processors, and host a has x86_64");
    assert_int_equal(count("SELECT COUNT(*) FROM hosts"), 1);
    /* A row of an earlier release does not know it. */
    server_say(raw, "UPDATE hosts SET architecture = ''");
    assert_ok(host_put(db, &b, &err));
    assert_fails_saying(host_check_architecture(db, "a", a.architecture, &err), ERR_INVALID_REQUEST,
                        "host b has aarch64");
    server_say(raw, "UPDATE hosts SET lost_at_ms = 1 WHERE name = 'b'");
    assert_ok(host_put(db, &a, &err)); /* a lost host never starts anything again */
    assert_ok(host_get_by_name(db, "a", &stored, &err));
    assert_string_equal(stored.architecture, "x86_64");
    host_deinit(&stored);
}

/* --- moving --- */

static int rehost_body(struct db *with, void *context, struct error **err)
{
    struct placement *placement = context;
    static const struct db_statement rehost = {
        "test.rehost", "UPDATE sandboxes SET host_id = host_id + 1 WHERE id = ?"};
    if (host_address_move(with, placement->host_id, placement->host_id + 1, placement->instance,
                          err) < 0)
        return -1;
    return db_exec(with, &rehost, DB_ARGS(db_text(placement->id)), NULL, err);
}

TEST(an_address_goes_along_and_its_host_may_go)
{
    struct error *err = NULL;
    struct host a = host_of("a", "10.3.0.0/29", 4, 4096), b = host_of("b", "10.4.0.0/29", 4, 512);
    uint32_t to;
    forget_all_hosts();
    put(&a);
    struct placement placement = place(&resources);
    assert_ok(host_put(db, &b, &err));
    assert_int_equal(b.id, a.id + 1);
    assert_ok(host_move_target(db, a.id, placement.address, &resources, &to, &err));
    assert_int_equal(to, 0);
    memcpy(b.network, "10.0.0.0/8", sizeof "10.0.0.0/8");
    assert_ok(host_put(db, &b, &err));
    assert_ok(host_move_target(db, a.id, placement.address, &resources, &to, &err));
    assert_int_equal(to, b.id);
    const struct runtime_resources large = {.cpu = 1, .memory_mb = 513, .disk_gb = 1};
    assert_ok(host_move_target(db, a.id, placement.address, &large, &to, &err));
    assert_int_equal(to, 0);

    assert_fails_saying(host_remove(db, "a", &err), ERR_INVALID_REQUEST, "drain it");
    assert_ok(host_leave(db, "a", false, &err));
    assert_int_equal(count("SELECT COUNT(*) FROM hosts WHERE leaving = 1"), 1);
    assert_fails_saying(host_remove(db, "a", &err), ERR_INVALID_REQUEST, "1 sandboxes");
    assert_ok(db_transaction(db, rehost_body, &placement, &err));
    assert_fails_saying(host_remove(db, "a", &err), ERR_INVALID_REQUEST, "1 template versions");
    put(&b);
    assert_ok(host_remove(db, "a", &err));
    assert_fails_saying(host_remove(db, "a", &err), ERR_NOT_FOUND, "host");
    /* Its range is free again but for the address that is away. */
    a = host_of("a", "10.3.0.0/29", 4, 4096);
    assert_ok(host_put(db, &a, &err));
    assert_int_equal(count("SELECT COUNT(*) FROM host_addresses WHERE address >> 16 = 0x0a03"), 5);
    assert_int_equal(count("SELECT COUNT(*) FROM host_addresses a JOIN hosts h ON h.id = a.host_id"
                           " WHERE h.name = 'b' AND a.address >> 16 = 0x0a03"),
                     1);
    forget_all_hosts();
}

/* --- conditions --- */

static struct host another_machine(const char *name, const char *range)
{
    struct host host = host_of(name, range, 10, 4000);
    host.url = (char *)(uintptr_t) "https://192.0.2.7:8443";
    host.relay_url = (char *)(uintptr_t) "https://192.0.2.7:8446";
    return host;
}

TEST(a_host_that_does_not_answer_takes_no_new_sandboxes)
{
    struct error *err = NULL;
    struct host stored, away = another_machine("away", "10.40.0.0/28");
    struct host here = host_of("here", "10.41.0.0/28", 10, 150);
    const struct host_condition silent = {.silent_since_ms = 5}, up = {0};
    int64_t since_ms;
    forget_all_hosts();
    put(&away);
    put(&here);
    assert_int_equal(place(&resources).host_id, away.id);
    assert_ok(host_note_condition(db, away.id, &silent, &err));
    assert_int_equal(place(&resources).host_id, here.id);
    assert_full(&resources);
    assert_ok(host_get(db, away.id, &stored, &err));
    assert_string_equal(host_condition_name(&stored.condition, &since_ms), "silent");
    assert_int_equal(since_ms, 5);
    assert_false(host_answers(&stored));
    host_deinit(&stored);
    assert_ok(host_note_condition(db, away.id, &up, &err));
    assert_int_equal(place(&resources).host_id, away.id);
}

TEST(this_machine_is_tried_in_any_case)
{
    struct error *err = NULL;
    struct host here = host_of("here", "10.42.0.0/28", 10, 400);
    const struct host_condition silent = {.silent_since_ms = 5};
    forget_all_hosts();
    put(&here);
    assert_ok(host_note_condition(db, here.id, &silent, &err));
    assert_int_equal(place(&resources).host_id, here.id);
}

static int lose_body(struct db *with, void *context, struct error **err)
{
    return host_note_lost(with, *(const uint32_t *)context, err);
}

TEST(a_lost_host_stays_lost)
{
    struct error *err = NULL;
    struct host gone = another_machine("gone", "10.43.0.0/28");
    bool lost = true;
    forget_all_hosts();
    put(&gone);
    assert_ok(host_is_lost(db, gone.id, &lost, &err));
    assert_false(lost);
    assert_ok(db_transaction(db, lose_body, &gone.id, &err));
    assert_ok(host_is_lost(db, gone.id, &lost, &err));
    assert_true(lost);
    assert_full(&resources);
    assert_int_equal(count("SELECT COUNT(*) FROM template_sources"), 0);
    assert_fails_saying(host_set_state(db, "gone", HOST_ACTIVE, &err), ERR_INVALID_REQUEST, "lost");
    assert_fails_saying(host_put(db, &gone, &err), ERR_INVALID_REQUEST, "another name");
}

/* --- placement --- */

TEST(the_host_with_most_free_memory_is_taken)
{
    struct error *err = NULL;
    struct host small = host_of("small", "10.5.0.0/28", 10, 250);
    struct host large = host_of("large", "10.6.0.0/28", 10, 400);
    forget_all_hosts();
    put(&small);
    put(&large);
    assert_int_equal(place(&resources).host_id, large.id); /* 250, 300 left */
    assert_int_equal(place(&resources).host_id, large.id); /* 250, 200 left */
    assert_int_equal(place(&resources).host_id, small.id);
    assert_ok(host_set_state(db, "large", HOST_DRAINING, &err));
    assert_int_equal(place(&resources).host_id, small.id);
    assert_full(&resources);
    assert_ok(host_set_state(db, "large", HOST_ACTIVE, &err));
    assert_int_equal(place(&resources).host_id, large.id);
}

TEST(a_host_needs_the_source_and_vcpus)
{
    struct error *err = NULL;
    struct host host = host_of("h", "10.5.0.0/28", 2, 4096);
    const struct runtime_resources wide = {2, 100, 10};
    forget_all_hosts();
    assert_ok(host_put(db, &host, &err));
    assert_full(&resources);
    put(&host);
    place(&resources);
    assert_full(&wide);
    place(&resources);
    assert_full(&resources);
}

struct reservation {
    uint32_t host_id;
    struct runtime_resources resources;
};

static int reserve_body(struct db *with, void *context, struct error **err)
{
    const struct reservation *reservation = context;
    return host_reserve(with, reservation->host_id, &reservation->resources, err);
}

TEST(memory_may_be_promised_more_than_once)
{
    struct host host = host_of("h", "10.5.0.0/28", 100, 150);
    forget_all_hosts();
    put(&host);
    place(&resources);
    assert_full(&resources);
    host.memory_overcommit = 200;
    put(&host);
    place(&resources);
    place(&resources);
    assert_full(&resources);
}

/* Its own sandboxes come back all the same. */
TEST(a_host_that_is_low_on_memory_takes_no_new_sandboxes)
{
    struct error *err = NULL;
    struct host host = host_of("h", "10.5.0.0/28", 100, 4096);
    bool changed;
    forget_all_hosts();
    put(&host);
    place(&resources);
    assert_ok(host_set_memory_low(db, host.id, true, &changed, &err));
    assert_true(changed);
    assert_ok(host_set_memory_low(db, host.id, true, &changed, &err));
    assert_false(changed);
    assert_full(&resources);
    struct reservation stopped = {host.id, resources};
    assert_ok(db_transaction(db, reserve_body, &stopped, &err));
    assert_ok(host_set_memory_low(db, host.id, false, &changed, &err));
    assert_true(changed);
    place(&resources);
}

TEST(the_longest_free_address_is_taken)
{
    struct error *err = NULL;
    struct host host = host_of("h", "10.5.0.0/29", 100, 100000);
    struct placement all[5];
    forget_all_hosts();
    put(&host);
    for (unsigned i = 0; i < 4; i++)
        all[i] = place(&resources);
    assert_ok(db_transaction(db, end_body, &all[2], &err));
    clock_sleep_ms(2);
    assert_ok(db_transaction(db, end_body, &all[0], &err));
    assert_ok(db_transaction(db, end_body, &all[0], &err)); /* again: nothing to release */
    all[4] = place(&resources);                             /* the one never used */
    assert_int_equal(place(&resources).address, all[2].address);
    assert_int_equal(place(&resources).address, all[0].address);
    assert_full(&resources); /* no address left */
    assert_int_equal(count("SELECT COUNT(DISTINCT address) FROM sandboxes WHERE reserved = 1"), 5);
}

TEST(a_resume_reserves_on_its_own_host)
{
    struct error *err = NULL;
    struct host host = host_of("h", "10.5.0.0/28", 10, 250);
    forget_all_hosts();
    put(&host);
    place(&resources);
    struct reservation fits = {host.id, {1, 150, 10}}, too_large = {host.id, {1, 151, 10}};
    assert_fails_saying(db_transaction(db, reserve_body, &too_large, &err), ERR_NO_CAPACITY,
                        "room");
    assert_ok(db_transaction(db, reserve_body, &fits, &err));
    assert_fails_saying(db_transaction(db, reserve_body, &fits, &err), ERR_NO_CAPACITY, "room");
    assert_ok(host_room_give(db, host.id, &fits.resources, &err));
    assert_ok(host_set_state(db, "h", HOST_DRAINING, &err));
    assert_ok(db_transaction(db, reserve_body, &fits, &err));
}

TEST(the_list_says_what_is_reserved)
{
    struct error *err = NULL;
    struct host a = host_of("a", "10.5.0.0/28", 10, 1000), b = host_of("b", "10.6.0.0/28", 10, 64);
    struct host *hosts;
    unsigned number;
    forget_all_hosts();
    put(&b);
    put(&a);
    place(&resources);
    place(&resources);
    assert_ok(host_list(db, &hosts, &number, &err));
    assert_int_equal(number, 2);
    assert_string_equal(hosts[0].name, "a");
    assert_int_equal(hosts[0].sandboxes, 2);
    assert_int_equal(hosts[0].used_vcpus, 2);
    assert_int_equal(hosts[0].used_memory_mb, 200);
    assert_int_equal(hosts[1].sandboxes, 0);
    hosts_free(hosts, number);
}

/* Among many hosts a few are looked at, and whoever is there in the end finds the last room. */
TEST(many_hosts_fill_evenly_and_wholly)
{
    enum { HOSTS = 20, EACH = 3 };
    forget_all_hosts();
    for (unsigned i = 0; i < HOSTS; i++) {
        char name[16], range[32];
        snprintf(name, sizeof name, "h%u", i);
        snprintf(range, sizeof range, "10.%u.0.0/28", 10 + i);
        struct host host = host_of(name, range, 100, EACH * EACH_MB);
        put(&host);
    }
    for (unsigned i = 0; i < HOSTS; i++)
        place(&resources);
    assert_true(count("SELECT COUNT(*) FROM hosts WHERE sandboxes > 0") > HOSTS / 3);
    for (unsigned i = HOSTS; i < HOSTS * EACH; i++)
        place(&resources);
    assert_full(&resources);
    assert_int_equal(count("SELECT MIN(sandboxes) FROM hosts"), EACH);
}

/* --- several workers at once --- */

/* Creates, and deletes some of what it made; the exit status says whether all was as it should. */
static int work(unsigned seed)
{
    struct error *err = NULL;
    struct placement held[ATTEMPTS];
    unsigned holds = 0;
    struct db *own = server_open(server);
    for (unsigned i = 0; i < ATTEMPTS; i++) {
        bool remove = holds && rand_r(&seed) % 3 == 0;
        struct placement next = {.resources = &resources};
        if (remove && db_transaction(own, end_body, &held[holds - 1], &err) == 0)
            holds--;
        else if (!remove && db_transaction(own, place_body, &next, &err) == 0)
            held[holds++] = next;
        if (err && err->code != ERR_NO_CAPACITY) {
            fprintf(stderr, "# %s: %s\n", error_symbol(err->code), err->message);
            return 1;
        }
        error_clear(&err);
    }
    db_close(own);
    return 0;
}

static unsigned reap(unsigned running, unsigned *failed)
{
    int status;
    while (running && waitpid(-1, &status, WNOHANG) > 0) {
        *failed += status != 0;
        running--;
    }
    return running;
}

/* What must hold in every moment: no host holds more than it has, no address is held twice. */
static void assert_exact(void)
{
    assert_int_equal(count("SELECT COUNT(*) FROM (SELECT h.id FROM hosts h JOIN sandboxes s"
                           " ON s.host_id = h.id WHERE s.reserved = 1 GROUP BY h.id, h.vcpus,"
                           " h.memory_mb HAVING SUM(s.cpu) > h.vcpus"
                           " OR SUM(s.memory_mb) > h.memory_mb) x"),
                     0);
    assert_int_equal(count("SELECT COUNT(*) FROM hosts h WHERE h.used_vcpus > h.vcpus OR"
                           " h.used_memory_mb > h.memory_mb OR h.used_vcpus <> (SELECT"
                           " COALESCE(SUM(s.cpu), 0) FROM sandboxes s WHERE s.host_id = h.id AND"
                           " s.reserved = 1) OR h.sandboxes <> (SELECT COUNT(*) FROM sandboxes s"
                           " WHERE s.host_id = h.id AND s.reserved = 1)"),
                     0);
    assert_int_equal(count("SELECT COUNT(*) - COUNT(DISTINCT host_id, address) FROM sandboxes"
                           " WHERE reserved = 1"),
                     0);
    assert_int_equal(count("SELECT COUNT(*) FROM sandboxes s LEFT JOIN host_addresses a"
                           " ON a.host_id = s.host_id AND a.address = s.address"
                           " AND a.holder = s.instance_name"
                           " WHERE s.reserved = 1 AND a.host_id IS NULL"),
                     0);
}

TEST(workers_never_pass_the_capacity)
{
    /* One host is limited by vCPUs, one by memory, one by addresses. */
    struct host hosts[] = {host_of("a", "10.5.0.0/27", 7, 100000),
                           host_of("b", "10.6.0.0/27", 100, 550),
                           host_of("c", "10.7.0.0/29", 100, 100000)};
    unsigned running = WORKERS, failed = 0, looks = 0;
    forget_all_hosts();
    for (size_t i = 0; i < ARRAY_SIZE(hosts); i++)
        put(&hosts[i]);
    fflush(NULL);
    for (unsigned i = 0; i < WORKERS; i++)
        if (fork() == 0)
            _exit(work(i + 1));
    while ((running = reap(running, &failed))) {
        assert_exact();
        looks++;
    }
    assert_int_equal(failed, 0);
    assert_true(looks > 0);
    assert_exact();
    /* Fill the rest: exactly what the hosts have is there in the end, 7 and 5 and 5. */
    struct error *err = NULL;
    struct placement next = {.resources = &resources};
    while (db_transaction(db, place_body, &next, &err) == 0)
        continue;
    assert_int_equal(err->code, ERR_NO_CAPACITY);
    error_clear(&err);
    assert_int_equal(count("SELECT COUNT(*) FROM sandboxes WHERE reserved = 1"), 7 + 5 + 5);
    assert_exact();
}

struct waiting {
    uint32_t avoid_host, host_id;
};

static int wait_body(struct db *with, void *context, struct error **err)
{
    struct waiting *waiting = context;
    uint32_t address;
    return host_place_waiting(with, version.id, &resources, waiting->avoid_host, "warm-1",
                              &waiting->host_id, &address, err);
}

TEST(a_host_whose_last_start_failed_is_avoided_while_another_has_room)
{
    struct error *err = NULL;
    struct host hosts[] = {host_of("a", "10.5.0.0/24", 100, 100000),
                           host_of("b", "10.6.0.0/24", 2, 1000)};
    forget_all_hosts();
    for (size_t i = 0; i < ARRAY_SIZE(hosts); i++)
        put(&hosts[i]);
    struct waiting any = {.avoid_host = 0}, other = {.avoid_host = hosts[0].id};
    assert_ok(db_transaction(db, wait_body, &any, &err));
    assert_int_equal(any.host_id, hosts[0].id);
    assert_ok(db_transaction(db, wait_body, &other, &err));
    assert_int_equal(other.host_id, hosts[1].id);
    server_say(raw, "UPDATE hosts SET used_vcpus = vcpus WHERE name = 'b'");
    assert_ok(db_transaction(db, wait_body, &other, &err));
    assert_int_equal(other.host_id, hosts[0].id);
}

TEST(a_host_of_this_machine_that_is_silent_is_the_last_choice)
{
    struct host hosts[] = {host_of("a", "10.5.0.0/24", 100, 100000),
                           host_of("b", "10.6.0.0/24", 2, 1000)};
    forget_all_hosts();
    for (size_t i = 0; i < ARRAY_SIZE(hosts); i++)
        put(&hosts[i]);
    server_say(raw, "UPDATE hosts SET silent_since_ms = 1 WHERE name = 'a'");
    assert_int_equal(place(&resources).host_id, hosts[1].id);
    assert_int_equal(place(&resources).host_id, hosts[1].id);
    assert_int_equal(place(&resources).host_id, hosts[0].id); /* the other one is full */
    forget_all_hosts();
}

static int fail_on_a(void *context, const struct host *host, struct error **err)
{
    strcat(context, host->name);
    return strcmp(host->name, "b") < 0
               ? error_set(err, ERR_RUNTIME_UNAVAILABLE, "%s is away", host->name)
               : 0;
}

TEST(a_host_that_is_away_keeps_no_other_from_its_turn)
{
    struct error *err = NULL;
    char called[8] = "";
    struct host hosts[] = {host_of("a", "10.5.0.0/29", 1, 1000),
                           host_of("b", "10.6.0.0/29", 1, 1000)};
    forget_all_hosts();
    for (size_t i = 0; i < ARRAY_SIZE(hosts); i++)
        put(&hosts[i]);
    assert_fails(hosts_try_each(db, fail_on_a, called, &err), ERR_RUNTIME_UNAVAILABLE);
    assert_string_equal(err->message, "a is away");
    assert_string_equal(called, "ab");
    error_clear(&err);
}

/* An agent is asked through a link for as long as a start takes. */
TEST(a_link_outlives_a_change_of_the_host_s_address)
{
    struct error *err = NULL;
    char relay_dir[] = "/nonexistent", here[] = "https://192.0.2.1:8446",
         there[] = "https://192.0.2.2:8446", url[] = "https://192.0.2.1:8443";
    const struct settings settings = {.relay_dir = relay_dir};
    struct host host = host_of("a", "10.5.0.0/29", 1, 1000);
    const struct http_link *link, *other;
    struct curl_slist *headers = NULL;
    forget_all_hosts();
    host.url = url;
    host.relay_url = here;
    assert_ok(host_put(db, &host, &err));
    struct runtimes *runtimes = runtimes_new(&settings);
    assert_ok(runtimes_link(runtimes, db, host.id, &link, &err));
    host.relay_url = there;
    assert_ok(host_put(db, &host, &err));
    clock_sleep_ms(1100); /* a worker trusts what it has read for a second */
    assert_ok(runtimes_link(runtimes, db, host.id, &other, &err));
    assert_ptr_not_equal(link, other);
    CURL *curl = curl_easy_init();
    http_link_set(link, curl, "10.5.0.2:49983", "/health", &headers);
    assert_string_equal(headers->data, LINK_TARGET_HEADER ": 10.5.0.2:49983");
    curl_slist_free_all(headers);
    curl_easy_cleanup(curl);
    runtimes_free(runtimes);
}

LIST_TEST(every_statement_can_be_prepared, NULL, NULL)

TEST_GROUP(set_up, schema_teardown)
