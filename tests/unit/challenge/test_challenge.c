/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#include "base/mem.h"
#include "challenge/challenge.h"

#define ONE "abcdefghijklmnopqrstuvwxyzABCDEFGHIJ-_01234"

static char root[] = "/tmp/sandlot-challenge-XXXXXX";
static struct settings *settings;
static struct challenge_value values[CHALLENGE_VALUES_MAX];

static int set_up(void **state)
{
    struct error *err = NULL;
    (void)state;
    if (!mkdtemp(root))
        return -1;
    autofree char *config = xasprintf("%s/conf", root);
    autofree char *directory = xasprintf("%s/acme", root);
    FILE *file = fopen(config, "w");
    if (!file || mkdir(directory, 0700) < 0)
        return -1;
    fprintf(file,
            "base_url = https://api.box.example:8443\ndata_plane_host = box.example:8443\n"
            "console_url = https://console.other.example\nkey_file = /k\nacme_dir = %s\n",
            directory);
    fclose(file);
    return settings_load(config, &settings, &err);
}

static int tear_down(void **state)
{
    (void)state;
    autofree char *command = xasprintf("%s/conf", root);
    autofree char *directory = xasprintf("%s/acme", root);
    remove(command);
    rmdir(directory);
    settings_free(settings);
    return rmdir(root);
}

static char *path_of(const char *name)
{
    return xasprintf("%s/%s", settings->acme_dir, name);
}

static void put_file(const char *name, time_t age_s)
{
    autofree char *path = path_of(name);
    struct timespec then = {.tv_sec = time(NULL) - age_s};
    struct timespec times[2] = {then, then};
    autoclose int fd = open(path, O_WRONLY | O_CREAT, 0600);
    assert_true(fd >= 0);
    assert_int_equal(futimens(fd, times), 0);
}

static void test_a_value_comes_and_goes(void **state)
{
    struct error *err = NULL;
    (void)state;
    static const char *const ours[] = {"box.example", "_acme-challenge.box.example",
                                       "api.box.example", "console.other.example"};
    for (size_t i = 0; i < ARRAY_SIZE(ours); i++) {
        assert_ok(challenge_add(settings, ours[i], ONE, &err));
        assert_ok(challenge_add(settings, ours[i], ONE, &err));
        assert_int_equal(challenge_list(settings->acme_dir, values), 1);
        assert_string_equal(values[0].text, ONE);
        assert_ok(challenge_remove(settings, ours[i], ONE, &err));
        assert_ok(challenge_remove(settings, ours[i], ONE, &err));
        assert_int_equal(challenge_list(settings->acme_dir, values), 0);
    }
}

static void test_what_is_refused(void **state)
{
    struct error *err = NULL;
    (void)state;
    static const char *const theirs[] = {"", "example", "x.box.example", "other.example",
                                         "_acme-challenge._acme-challenge.box.example"};
    static const char *const bad[] = {"",
                                      "a",
                                      ONE "5",
                                      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJ-_0123/",
                                      "../bcdefghijklmnopqrstuvwxyzABCDEFGHIJ-_012",
                                      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJ-_012\"4"};
    for (size_t i = 0; i < ARRAY_SIZE(theirs); i++) {
        assert_fails(challenge_add(settings, theirs[i], ONE, &err), ERR_INVALID_REQUEST);
        assert_string_equal(err->field, "DOMAIN");
        error_clear(&err);
    }
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        assert_fails(challenge_add(settings, "box.example", bad[i], &err), ERR_INVALID_REQUEST);
        assert_string_equal(err->field, "--value");
        error_clear(&err);
        assert_fails(challenge_remove(settings, "box.example", bad[i], &err), ERR_INVALID_REQUEST);
        error_clear(&err);
    }
    assert_int_equal(challenge_list(settings->acme_dir, values), 0);
}

/* What a hook that was killed has left. */
static void test_old_values_do_not_count(void **state)
{
    struct error *err = NULL;
    (void)state;
    static const char other[] = "zbcdefghijklmnopqrstuvwxyzABCDEFGHIJ-_01234";
    put_file(other, 2 * 3600);
    put_file("README", 2 * 3600);
    assert_int_equal(challenge_list(settings->acme_dir, values), 0);
    assert_ok(challenge_add(settings, "box.example", ONE, &err));
    autofree char *old = path_of(other), *readme = path_of("README");
    assert_int_equal(access(old, F_OK), -1);
    assert_int_equal(remove(readme), 0);
    assert_ok(challenge_remove(settings, "box.example", ONE, &err));
}

static void test_there_is_an_end_of_them(void **state)
{
    struct error *err = NULL;
    char value[CHALLENGE_VALUE_SIZE];
    (void)state;
    for (unsigned i = 0; i < CHALLENGE_VALUES_MAX; i++) {
        snprintf(value, sizeof value, "%043u", i);
        assert_ok(challenge_add(settings, "box.example", value, &err));
    }
    assert_fails_saying(challenge_add(settings, "box.example", ONE, &err), ERR_CONFIG,
                        "holds 16 values already");
    for (unsigned i = 0; i < CHALLENGE_VALUES_MAX; i++) {
        snprintf(value, sizeof value, "%043u", i);
        assert_ok(challenge_remove(settings, "box.example", value, &err));
    }
    assert_int_equal(challenge_list("/nonexistent", values), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_value_comes_and_goes),
        cmocka_unit_test(test_what_is_refused),
        cmocka_unit_test(test_old_values_do_not_count),
        cmocka_unit_test(test_there_is_an_end_of_them),
    };
    return cmocka_run_group_tests_name(__FILE__, tests, set_up, tear_down);
}
