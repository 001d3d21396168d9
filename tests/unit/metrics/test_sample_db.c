/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include "base/clock.h"
#include "metrics/sample.h"
#include "unit/schema.h"

#define BASE_MS 1800000000000

static const char *const id = "sbx_00000000000000000000000001";

static int forget(void **state)
{
    struct error *err = NULL;
    uint64_t removed;
    return sample_delete_before(db, INT64_MAX, 100000, &removed, &err);
}

static void add(struct sample_row row)
{
    struct error *err = NULL;
    row.sandbox_id = row.sandbox_id ? row.sandbox_id : id;
    row.at_ms += BASE_MS;
    assert_ok(sample_insert(db, &row, 1, &err));
}

struct answer {
    struct sample_point *points;
    size_t count;
    int64_t step_ms;
};

static struct answer read_span(int64_t from_ms, int64_t to_ms)
{
    struct error *err = NULL;
    struct answer answer;
    assert_ok(sample_read(db, id, BASE_MS + from_ms, BASE_MS + to_ms, &answer.points, &answer.count,
                          &answer.step_ms, &err));
    return answer;
}

static void near(double a, double b)
{
    if (a < b - 0.001 || a > b + 0.001)
        fail_msg("%f is not %f", a, b);
}

TEST_WITH(few_samples_come_as_they_are, NULL, forget)
{
    add((struct sample_row){.at_ms = 0, .memory_bytes = 5});
    add((struct sample_row){.at_ms = 10007,
                            .span_ms = 10007,
                            .cpu_ms = 5003,
                            .memory_bytes = 7,
                            .cache_bytes = 3,
                            .disk_bytes = 11,
                            .has_disk = true});
    add((struct sample_row){.at_ms = 10007}); /* the same time again */
    add((struct sample_row){.at_ms = 20000, .sandbox_id = "sbx_00000000000000000000000002"});
    struct answer answer = read_span(0, 10007);
    assert_int_equal(answer.count, 2);
    assert_int_equal(answer.step_ms, 0);
    assert_false(answer.points[0].has_cpu);
    assert_false(answer.points[0].has_disk);
    assert_int_equal(answer.points[0].memory_bytes, 5);
    const struct sample_point *second = &answer.points[1];
    assert_int_equal(second->at_ms, BASE_MS + 10007);
    near(second->vcpus, 0.5);
    assert_true(second->vcpus_max >= second->vcpus);
    assert_int_equal(second->memory_bytes, 7);
    assert_int_equal(second->memory_bytes_max, 7);
    assert_int_equal(second->cache_bytes, 3);
    assert_int_equal(second->disk_bytes, 11);
    free(answer.points);
    answer = read_span(1, 10006);
    assert_int_equal(answer.count, 0);
    free(answer.points);
}

/* An hour of samples every second, with ten minutes missing in the middle. */
TEST_WITH(many_samples_come_in_pieces, NULL, forget)
{
    static struct sample_row rows[3600];
    size_t count = 0;
    struct error *err = NULL;
    for (int second = 0; second < 3600; second++)
        if (second < 1200 || second >= 1800)
            rows[count++] = (struct sample_row){.sandbox_id = id,
                                                .at_ms = BASE_MS + second * 1000,
                                                .span_ms = second == 1800 ? 0 : 1000,
                                                .cpu_ms = second == 1800   ? 0
                                                          : second == 2000 ? 1000
                                                                           : 100,
                                                .memory_bytes = second == 2000 ? 1000 : 100,
                                                .disk_bytes = (uint64_t)second,
                                                .has_disk = second > 3000};
    assert_ok(sample_insert(db, rows, count, &err));
    struct answer answer = read_span(0, 3600 * 1000);
    assert_int_equal(answer.step_ms, 8000);
    assert_in_range(answer.count, 370, SAMPLE_POINTS_MAX);
    double highest = 0;
    for (size_t i = 0; i < answer.count; i++) {
        const struct sample_point *point = &answer.points[i];
        int64_t second = (point->at_ms - BASE_MS) / 1000;
        assert_true(second < 1200 || second >= 1800 - 8);
        assert_true(point->has_cpu);
        assert_true(point->vcpus_max >= point->vcpus);
        assert_true(point->has_disk == (second > 3000 - 8));
        if (point->vcpus_max > highest)
            highest = point->vcpus_max;
        if (point->vcpus_max > 0.5)
            near(point->vcpus, (7 * 100 + 1000) / 8000.0);
        else
            near(point->vcpus, 0.1);
    }
    near(highest, 1.0);
    free(answer.points);
    /* Of a shorter span each one. */
    answer = read_span(0, 400 * 1000);
    assert_int_equal(answer.count, 401);
    assert_int_equal(answer.step_ms, 0);
    free(answer.points);
}

TEST_WITH(a_span_never_has_too_many_points, NULL, forget)
{
    for (int i = 0; i < 1500; i++)
        add((struct sample_row){.at_ms = i * 613, .span_ms = 613});
    for (int64_t from_ms = 0; from_ms < 2000; from_ms += 77) {
        struct answer answer = read_span(from_ms, 1500 * 613 - from_ms / 3);
        assert_in_range(answer.count, 300, SAMPLE_POINTS_MAX);
        for (size_t i = 0; i < answer.count; i++)
            assert_true(answer.points[i].at_ms >= BASE_MS + from_ms);
        free(answer.points);
    }
}

TEST_WITH(old_ones_go_in_pieces, NULL, forget)
{
    struct error *err = NULL;
    uint64_t removed;
    for (int i = 0; i < 10; i++)
        add((struct sample_row){.at_ms = i});
    assert_ok(sample_delete_before(db, BASE_MS + 5, 3, &removed, &err));
    assert_int_equal(removed, 3);
    assert_ok(sample_delete_before(db, BASE_MS + 5, 3, &removed, &err));
    assert_int_equal(removed, 2);
    struct answer answer = read_span(0, 100);
    assert_int_equal(answer.count, 5);
    free(answer.points);
}

static void put_sandbox(const char *team_id, const char *sandbox_id)
{
    autofree char *text =
        xasprintf("INSERT INTO sandboxes (id, team_id, route, instance_name, state)"
                  " VALUES ('%s', '%s', '%.26s', '%s', 'ready')",
                  sandbox_id, team_id, sandbox_id + 4, sandbox_id);
    server_say(raw, "SET SESSION foreign_key_checks = 0, sql_mode = ''");
    server_say(raw, text);
}

/* A team that asks for all of its sandboxes leaves room to others. */
TEST(teams_that_ask_take_turns)
{
    static const char last[] = "sbx_z0000000000000000000000000";
    struct error *err = NULL;
    sample_id *ids;
    size_t count;
    for (unsigned i = 0; i < 5; i++) {
        char text[ID_SIZE];
        snprintf(text, sizeof text, "sbx_a%025u", i);
        put_sandbox("tea_1", text);
        assert_ok(sample_want(db, text, &err));
    }
    put_sandbox("tea_2", last);
    assert_ok(sample_want(db, last, &err));
    assert_ok(sample_wanted(db, 0, 3, &ids, &count, &err));
    assert_int_equal(count, 3);
    assert_string_equal(ids[2], last);
    free(ids);
    assert_ok(sample_delete_wants_before(db, INT64_MAX, &err));
}

TEST(who_is_asked_for)
{
    struct error *err = NULL;
    sample_id *ids;
    size_t count;
    int64_t now_ms = clock_now_ms();
    put_sandbox("tea_1", id);
    assert_ok(sample_want(db, id, &err));
    assert_ok(sample_want(db, id, &err));
    assert_ok(sample_wanted(db, now_ms - 1000, 10, &ids, &count, &err));
    assert_int_equal(count, 1);
    assert_string_equal(ids[0], id);
    free(ids);
    assert_ok(sample_delete_wants_before(db, INT64_MAX, &err));
    assert_ok(sample_wanted(db, 0, 10, &ids, &count, &err));
    assert_int_equal(count, 0);
    free(ids);
}

TEST_GROUP(schema_setup, schema_teardown)
