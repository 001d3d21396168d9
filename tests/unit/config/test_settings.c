/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include "base/buffer.h"
#include "base/mem.h"
#include "config/setting_table.h"
#include "config/settings.h"

#define REQUIRED                                   \
    "base_url = https://api.example.com:8443\n"    \
    "data_plane_host = sandbox.example.com:8443\n" \
    "key_file = /etc/sandlot/keyring\n"

static char path[64];

static int set_up(void **state)
{
    snprintf(path, sizeof path, "/tmp/sandlot-settings-XXXXXX");
    int fd = mkstemp(path);
    if (fd < 0)
        return -1;
    close(fd);
    return 0;
}

static int tear_down(void **state)
{
    return unlink(path);
}

static int load(const char *text, struct settings **settings, struct error **err)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    return settings_load(path, settings, err);
}

static void refuse(const char *text, const char *expected)
{
    struct settings *settings = NULL;
    struct error *err = NULL;
    assert_fails_saying(load(text, &settings, &err), ERR_CONFIG, expected);
    assert_null(settings);
}

TEST(test_values)
{
    struct error *err = NULL;
    settings_auto settings = NULL;
    assert_ok(load("# comment\n\n" REQUIRED "  lease_s=90  \n\tlog_format =json\n"
                   "database_password_file =\n",
                   &settings, &err));
    assert_string_equal(settings->base_url, "https://api.example.com:8443");
    assert_int_equal(settings->lease_s, 90);
    assert_string_equal(settings->log_format, "json");
    assert_string_equal(settings->database_password_file, "");
    assert_string_equal(settings->database_host, "127.0.0.1");
    assert_int_equal(settings->session_ttl_s, 3600);
    assert_string_equal(settings->sql_dir, SANDLOT_SQL_DIR);
    autofree char *api = settings_api_host(settings);
    autofree char *domain = settings_data_plane_domain(settings);
    autofree char *lease = settings_get(settings, "lease_s");
    autofree char *level = settings_get(settings, "log_level");
    assert_string_equal(api, "api.example.com");
    assert_string_equal(domain, "sandbox.example.com");
    assert_string_equal(lease, "90");
    assert_string_equal(level, "info");
    assert_null(settings_get(settings, "lease"));
}

TEST(test_refusals)
{
    refuse(REQUIRED "leese_s = 5\n", ":4: unknown setting \"leese_s\"; did you mean \"lease_s\"?");
    refuse(REQUIRED "something_else_entirely = 5\n",
           ":4: unknown setting \"something_else_entirely\"");
    refuse(REQUIRED "lease_s = 5\n\nlease_s = 5\n", ":6: lease_s is set a second time");
    refuse(REQUIRED "lease_s = 4\n", ":4: lease_s must be a number from 5 to 3600");
    refuse(REQUIRED "lease_s = 3601\n", "lease_s must be a number from 5 to 3600");
    refuse(REQUIRED "lease_s = 5s\n", "lease_s must be a number");
    refuse(REQUIRED "lease_s = -5\n", "lease_s must be a number");
    refuse(REQUIRED "lease_s =\n", "lease_s must be a number");
    refuse(REQUIRED "log_format = xml\n", "log_format must be one of text|json");
    refuse(REQUIRED "log_format = text|json\n", "log_format must be one of");
    refuse(REQUIRED "log_file = relative/path\n", "log_file must be an absolute path");
    refuse(REQUIRED "log_file = /a\x01\n", "log_file must be text without control characters");
    refuse(REQUIRED "[section]\nlease_s = 5\n", ":5: sections such as [section]");
    refuse(REQUIRED "just words\n", ":4: the line is not \"name = value\"");
    refuse("", "base_url must be set");
    refuse("base_url =\n", "base_url must be set");
}

TEST(test_long_lines)
{
    struct buffer text = BUFFER_INIT(100000);
    buffer_append_string(&text, REQUIRED "log_file = /");
    for (int i = 0; i < 20000; i++)
        buffer_append_char(&text, 'x');
    refuse(text.data, ":4: the line is longer than");
    buffer_deinit(&text);
}

TEST(test_hosts)
{
    static const char *const bad[] = {
        "api.example.com", "ftp://a.b",         "https://",          "https://a.b/",
        "https://a.b/v1",  "https://A.b",       "https://a..b",      "https://a.b:",
        "https://a.b:0",   "https://a.b:65536", "https://-a.b",      "https://a-.b",
        "https://a.b?c",   "https://u@a.b",     "https://a.b:8443x", "https://a b",
    };
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        autofree char *text = xasprintf("base_url = %s\n", bad[i]);
        refuse(text, ":1: base_url must be");
    }
    refuse("data_plane_host = https://a.b\n", "data_plane_host must be a host name");
    refuse("default_template = Up\n", "default_template must be 1 to 63");
    refuse("image_templates = ubuntu:22.04=python, node\n",
           "image_templates must be IMAGE=TEMPLATE");
    refuse("image_templates = =python\n", "image_templates must be IMAGE=TEMPLATE");
    refuse("image_templates = node:22=Node\n", "a template is 1 to 63");
}

TEST(test_missing_file)
{
    struct settings *settings = NULL;
    struct error *err = NULL;
    assert_fails_saying(settings_load("/nonexistent/x.conf", &settings, &err), ERR_CONFIG,
                        "/nonexistent/x.conf: No such file");
}

static char *printed_by(void (*print)(FILE *out))
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    print(out);
    fclose(out);
    return text;
}

/* Each commented-out line of the sample is itself a setting at its default. */
TEST(test_sample_is_valid)
{
    struct error *err = NULL;
    settings_auto settings = NULL;
    struct buffer text = BUFFER_INIT(100000);
    autofree char *printed = printed_by(settings_print_sample);
    char *rest = printed, *line;
    while ((line = strsep(&rest, "\n"))) {
        bool is_setting = line[0] == '#' && line[1] != ' ' && line[1];
        bool is_required = strstr(REQUIRED, line + is_setting) != NULL;
        if (is_setting && !is_required && strncmp(line, "#base_url", 9) &&
            strncmp(line, "#data_plane_host", 16) && strncmp(line, "#key_file", 9))
            buffer_printf(&text, "%s\n", line + 1);
    }
    buffer_append_string(&text, REQUIRED);
    assert_ok(load(text.data, &settings, &err));
    assert_int_equal(settings->lease_s, 60);
    buffer_deinit(&text);
}

TEST(test_manual_has_each_setting)
{
    autofree char *printed = printed_by(settings_print_manual);
    assert_true(setting_count > 100);
    for (size_t i = 0; i < setting_count; i++) {
        autofree char *entry = xasprintf("\n.It Li %s\n", setting_table[i].name);
        assert_non_null(strstr(printed, entry));
    }
}

TEST_GROUP(set_up, tear_down)
