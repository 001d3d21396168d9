/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/mem.h"
#include "ctl/nginx_config.h"
#include "ctl/relay_files.h"

static char root[] = "/tmp/sandlot-nginx-config-XXXXXX";
static struct settings *settings;

static void write_text(const char *name, const char *text)
{
    autofree char *path = xasprintf("%s/%s", root, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void assert_text(const char *name, const char *expected)
{
    char text[4096] = "";
    autofree char *path = xasprintf("%s/%s", root, name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    assert_string_equal(text, expected);
}

static bool is_there(const char *name)
{
    autofree char *path = xasprintf("%s/%s", root, name);
    return access(path, F_OK) == 0;
}

static int render(struct error **err)
{
    autofree char *templates = xasprintf("%s/in", root);
    autofree char *output = xasprintf("%s/out", root);
    return nginx_config_render(settings, templates, output, err);
}

static int set_up(void **state)
{
    struct error *err = NULL;
    if (!mkdtemp(root))
        return -1;
    autofree char *templates = xasprintf("%s/in", root);
    autofree char *config = xasprintf("%s/conf", root);
    if (mkdir(templates, 0700) < 0)
        return -1;
    write_text("conf", "base_url = https://api.x-y.example:8443\n"
                       "data_plane_host = box.example:8443\nkey_file = /k\nkey_rate = 7\n");
    return settings_load(config, &settings, &err);
}

static int tear_down(void **state)
{
    static const char *const names[] = {"in/host/a.conf.in",
                                        "in/host",
                                        "in/a.conf.in",
                                        "in/b.inc.in",
                                        "in/README",
                                        "out/a.conf",
                                        "out/b.inc",
                                        "conf",
                                        "in",
                                        "out",
                                        "relay/sandlot-relay.conf",
                                        "relay/host.pem",
                                        "relay"};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        autofree char *path = xasprintf("%s/%s", root, names[i]);
        remove(path);
    }
    settings_free(settings);
    return rmdir(root);
}

TEST(test_rendering)
{
    struct error *err = NULL;
    write_text("in/a.conf.in", "@api_name@ @data_plane_domain@ @data_plane_domain_regex@ "
                               "@public_port@ @listen_port@ @key_burst@ "
                               "@named_hosts@@public_authority_end@\n"
                               "@gate_cache_dir@ @preview_host_header@\n"
                               "a@b @wake; @ @@ @api_name @API@\n");
    write_text("in/b.inc.in", "");
    write_text("in/README", "@nothing@");
    assert_ok(render(&err));
    assert_text("out/a.conf", "api.x-y.example box.example box\\.example 8443 443 14 "
                              "api.x-y.example:8443\n"
                              "/run/sandlot/gate-cache $http_host\n"
                              "a@b @wake; @ @@ @api_name @API@\n");
    assert_text("out/b.inc", "");
    assert_false(is_there("out/README"));
    write_text("in/a.conf.in", "second");
    assert_ok(render(&err));
    assert_text("out/a.conf", "second");
}

TEST(test_what_is_set_replaces_what_follows)
{
    struct error *err = NULL;
    free(settings->gate_cache_dir);
    settings->gate_cache_dir = xstrdup("/dev/shm/x");
    free(settings->preview_host_header);
    settings->preview_host_header = xstrdup("localhost");
    settings->gate_cache_mib = 7;
    write_text("in/a.conf.in", "@gate_cache_dir@ @preview_host_header@ max_size=@gate_cache_mib@m");
    assert_ok(render(&err));
    assert_text("out/a.conf", "/dev/shm/x localhost:$sandlot_port max_size=7m");
    write_text("in/a.conf.in", "second");
    assert_ok(render(&err));
}

/* 46 bytes fit into a bucket of nginx' table of names. */
TEST(test_a_name_too_long_for_a_table_is_a_pattern)
{
    struct error *err = NULL;
    char *usual = settings->base_url;
    settings->base_url = xstrdup("https://api.a-department.of-a-company.with-a-names.org:8443");
    write_text("in/a.conf.in", "@api_name@ @named_hosts@ @data_plane_name@");
    assert_ok(render(&err));
    assert_text("out/a.conf", "api.a-department.of-a-company.with-a-names.org "
                              "api.a-department.of-a-company.with-a-names.org box.example");
    free(settings->base_url);
    settings->base_url = xstrdup("https://api.a-department.of-a-company.with-my-names.org:8443");
    assert_ok(render(&err));
    assert_text("out/a.conf",
                "\"~^api\\.a-department\\.of-a-company\\.with-my-names\\.org$\" "
                "\"~^api\\.a-department\\.of-a-company\\.with-my-names\\.org$\" box.example");
    free(settings->base_url);
    settings->base_url = usual;
    write_text("in/a.conf.in", "second");
    assert_ok(render(&err));
}

/* As in a kernel without it. In a process of its own: there is no way back. */
static int render_without_ipv6(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_socket, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET6, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAFNOSUPPORT),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {ARRAY_SIZE(filter), filter};
    struct error *err = NULL;
    int status;
    pid_t pid = fork();
    if (!pid)
        _exit(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
              prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0 || render(&err) < 0);
    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool has_loopback_ipv6(void)
{
    char line[128];
    bool found = false;
    FILE *file = fopen("/proc/net/if_inet6", "r");
    while (file && fgets(line, sizeof line, file))
        found |= !strncmp(line, "00000000000000000000000000000001 ", 33);
    if (file)
        fclose(file);
    return found;
}

static void set_ipv6(const char *value)
{
    free(settings->listen_ipv6);
    settings->listen_ipv6 = xstrdup(value);
}

TEST(test_ipv6_is_where_the_machine_has_it)
{
    struct error *err = NULL;
    assert_string_equal(settings->listen_ipv6, "auto");
    write_text("in/a.conf.in", "[@ipv6@]");
    assert_ok(render(&err));
    assert_text("out/a.conf", has_loopback_ipv6() ? "[]" : "[#]");
    assert_int_equal(render_without_ipv6(), 0);
    assert_text("out/a.conf", "[#]");
    set_ipv6("on");
    assert_int_equal(render_without_ipv6(), 0);
    assert_text("out/a.conf", "[]");
    set_ipv6("off");
    assert_ok(render(&err));
    assert_text("out/a.conf", "[#]");
    set_ipv6("auto");
    write_text("in/a.conf.in", "second");
    assert_ok(render(&err));
}

/* The nginx of another machine is told of it on request alone. */
TEST(test_relays_listen_on_ipv6_when_told)
{
    struct error *err = NULL;
    autofree char *templates = xasprintf("%s/in", root);
    autofree char *host = xasprintf("%s/in/host", root);
    autofree char *output = xasprintf("%s/out", root);
    const struct nginx_relay relay = {"other", "10.1.0.0/16", "/etc/sandlot/relay", 8446};
    assert_int_equal(mkdir(host, 0700), 0);
    write_text("in/host/a.conf.in", "[@ipv6@]");
    assert_ok(nginx_config_render_relay(settings, templates, &relay, output, &err));
    assert_text("out/a.conf", "[#]");
    set_ipv6("on");
    assert_ok(nginx_config_render_relay(settings, templates, &relay, output, &err));
    assert_text("out/a.conf", "[]");
    set_ipv6("auto");
    write_text("in/a.conf.in", "second");
    assert_ok(render(&err));
}

/* An upgrade of a host reads them from the file that it replaces. */
TEST(test_values_of_a_relay_are_in_its_file)
{
    struct error *err = NULL;
    struct nginx_relay_known known;
    const char *source = getenv("SANDLOT_SOURCE_DIR");
    const struct nginx_relay relay = {"h-7", "10.64.0.0/10", "/etc/sandlot/relay", 9446};
    autofree char *templates = xasprintf("%s/conf/nginx", source ? source : ".");
    autofree char *output = xasprintf("%s/relay", root);
    assert_ok(nginx_config_render_relay(settings, templates, &relay, output, &err));
    assert_ok(nginx_relay_read(output, &known, &err));
    assert_string_equal(known.host_name, relay.host_name);
    assert_string_equal(known.range, relay.range);
    assert_int_equal(known.port, relay.port);
    write_text("relay/sandlot-relay.conf", "server {\n    listen 8446 ssl;\n}\n");
    assert_fails_saying(nginx_relay_read(output, &known, &err), ERR_CONFIG, "sandlotctl host");
    assert_fails_saying(nginx_relay_read(root, &known, &err), ERR_CONFIG, "cannot read");
}

/* A host that was added by hand has no setting relay_dir: its certificate is in the usual folder.
 */
TEST(test_a_host_is_known_by_its_certificate)
{
    assert_string_equal(relay_dir_of_host(settings), "/etc/sandlot/relay");
    free(settings->relay_dir);
    settings->relay_dir = xasprintf("%s/relay", root);
    assert_string_equal(relay_dir_of_host(settings), settings->relay_dir);
    assert_false(relay_is_host_only(settings));
    write_text("relay/host.pem", "");
    assert_true(relay_is_host_only(settings));
    free(settings->key_file);
    settings->key_file = xasprintf("%s/conf", root);
    assert_false(relay_is_host_only(settings));
}

/* A set of files that does not render leaves the old set whole. */
TEST(test_unknown_placeholder)
{
    struct error *err = NULL;
    write_text("in/a.conf.in", "third");
    write_text("in/b.inc.in", "one\ntwo @lisen_port@\n");
    assert_fails_saying(render(&err), ERR_CONFIG,
                        "b.inc.in: line 2: unknown placeholder @lisen_port@");
    assert_text("out/a.conf", "second");
    write_text("in/b.inc.in", "");
}

TEST(test_values_stay_one_word)
{
    static const char *const bad[] = {"/a b", "/a;b", "/a{b", "/a\"b", "/a$b", "/a\\b", "/a#b", ""};
    struct error *err = NULL;
    write_text("in/a.conf.in", "access_log @nginx_log_dir@;");
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        free(settings->nginx_log_dir);
        settings->nginx_log_dir = xstrdup(bad[i]);
        assert_fails_saying(render(&err), ERR_CONFIG, "nginx_log_dir is");
    }
    assert_fails_saying(nginx_config_render(settings, "/nonexistent", "/tmp", &err), ERR_CONFIG,
                        "/nonexistent");
    assert_fails_saying(nginx_config_render(settings, "/tmp", "relative", &err), ERR_CONFIG,
                        "absolute");
}

TEST_GROUP(set_up, tear_down)
