/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "runtime/runtime_incus.h"

static const struct runtime_incus runtime = {.pool = (char[]){"pool"},
                                             .nic_prefix = (char[]){"sl"}};

static struct runtime_instance instance(void)
{
    return (struct runtime_instance){
        .name = "sbx-1",
        .address = "10.77.3.254",
        .source = "tpl-1",
        .sandbox_id = "sbx_1",
        .resources = {.cpu = 2, .memory_mb = 512, .disk_gb = 10},
    };
}

static const char *text_at(json_t *object, const char *a, const char *b, const char *c)
{
    json_t *value = json_object_get(object, a);
    if (b)
        value = json_object_get(value, b);
    if (c)
        value = json_object_get(value, c);
    return json_string_value(value);
}

TEST(host_names_are_fresh)
{
    char first[RUNTIME_HOST_NAME_SIZE], second[RUNTIME_HOST_NAME_SIZE];

    runtime_host_name("sl", first);
    runtime_host_name("sl", second);
    assert_int_equal(strlen(first), 15);
    assert_memory_equal(first, "sl", 2);
    assert_int_equal(strspn(first, "abcdefghijklmnopqrstuvwxyz234567"), 15);
    assert_string_not_equal(first, second);
    runtime_host_name("x", first);
    assert_int_equal(strlen(first), 14);
}

TEST(a_copy_takes_the_disk_alone)
{
    json_auto_t *devices = json_pack("{s:{s:s}, s:{s:s}, s:{s:s}}", "root", "type", "disk", "eth0",
                                     "type", "nic", "volume-1", "type", "disk");
    json_auto_t *body = runtime_copy_body("ckp-1", "sbx-1", devices, false, "ckp_1");

    assert_string_equal(text_at(body, "source", "source", NULL), "sbx-1");
    assert_true(json_is_true(json_object_get(json_object_get(body, "source"), "instance_only")));
    assert_null(json_object_get(body, "start"));
    assert_null(json_object_get(json_object_get(body, "devices"), "root"));
    assert_string_equal(text_at(body, "devices", "eth0", "type"), "none");
    assert_string_equal(text_at(body, "devices", "volume-1", "type"), "none");
    /* Until it is whole it is no sandbox, and no checkpoint either. */
    assert_string_equal(text_at(body, "config", RUNTIME_KEY_ROLE, NULL), "copying");
    assert_string_equal(text_at(body, "config", RUNTIME_KEY_SANDBOX, NULL), "ckp_1");
}

TEST(what_moves_is_the_same_elsewhere)
{
    json_auto_t *original = json_pack(
        "{s:s, s:s, s:s, s:b, s:[s], s:s, s:{s:s, s:s, s:s, s:s, s:s, s:s}, s:{s:{s:s, s:s}, "
        "s:{s:s, s:s}}}",
        "name", "sbx-1", "type", "container", "architecture", "x86_64", "stateful", 1, "profiles",
        RUNTIME_PROFILE, "status", "Stopped", "config", RUNTIME_KEY_ROLE, "sandbox",
        RUNTIME_KEY_TAKEN, "arc_1", "limits.cpu", "2", "volatile.last_state.idmap", "[]",
        "volatile.eth0.host_name", "old", "volatile.uuid", "u", "devices", "root", "pool", "there",
        "size", "11GiB", "eth0", "ipv4.address", "10.77.3.254", "host_name", "old");
    json_auto_t *body = runtime_move_body(&runtime, original, "building", "mov_1");

    assert_string_equal(text_at(body, "name", NULL, NULL), "sbx-1");
    assert_true(json_is_true(json_object_get(body, "stateful")));
    assert_null(json_object_get(body, "status"));
    assert_string_equal(text_at(body, "config", "limits.cpu", NULL), "2");
    assert_string_equal(text_at(body, "config", "volatile.last_state.idmap", NULL), "[]");
    assert_string_equal(text_at(body, "config", "volatile.uuid", NULL), "u");
    assert_null(text_at(body, "config", "volatile.eth0.host_name", NULL));
    /* What it is for now, and whose move it is. */
    assert_string_equal(text_at(body, "config", RUNTIME_KEY_ROLE, NULL), "building");
    assert_string_equal(text_at(body, "config", "user.sandlot.move", NULL), "mov_1");
    /* Half of it is not what was fetched from the archive. */
    assert_null(text_at(body, "config", RUNTIME_KEY_TAKEN, NULL));
    assert_string_equal(text_at(body, "devices", "root", "pool"), "pool");
    assert_string_equal(text_at(body, "devices", "root", "size"), "11GiB");
    assert_string_equal(text_at(body, "devices", "eth0", "ipv4.address"), "10.77.3.254");
    assert_memory_equal(text_at(body, "devices", "eth0", "host_name"), "sl", 2);
    assert_string_equal(text_at(original, "devices", "eth0", "host_name"), "old");
}

TEST(hardware_addresses_follow_addresses)
{
    char out[RUNTIME_HWADDR_SIZE];

    assert_int_equal(runtime_hwaddr("10.77.3.254", out), 0);
    assert_string_equal(out, "10:66:6a:4d:03:fe");
    assert_int_equal(runtime_hwaddr("10.0.0.1", out), 0);
    assert_string_equal(out, "10:66:6a:00:00:01");
    assert_int_equal(runtime_hwaddr("10.0.0", out), -1);
    assert_int_equal(runtime_hwaddr("", out), -1);
    assert_int_equal(runtime_hwaddr("10.0.0.1/32", out), -1);
}

TEST(a_paused_root_has_room_for_the_memory)
{
    struct runtime_resources resources = {.cpu = 1, .memory_mb = 512, .disk_gb = 10};
    char size[RUNTIME_SIZE_SIZE];

    runtime_root_size(&resources, size);
    assert_string_equal(size, "10GiB");
    runtime_root_size_paused(&resources, size);
    assert_string_equal(size, "10816MiB");
    resources = (struct runtime_resources){.memory_mb = UINT32_MAX, .disk_gb = UINT32_MAX};
    runtime_root_size_paused(&resources, size);
    assert_string_equal(size, "4402341477439MiB");
}

TEST(a_container_is_one_request)
{
    struct runtime_instance wanted = instance();
    json_auto_t *body = runtime_create_body(&runtime, &wanted);

    assert_string_equal(text_at(body, "name", NULL, NULL), "sbx-1");
    assert_string_equal(text_at(body, "type", NULL, NULL), "container");
    assert_string_equal(text_at(body, "source", "type", NULL), "copy");
    assert_string_equal(text_at(body, "source", "source", NULL), "tpl-1");
    assert_true(json_is_true(json_object_get(body, "start")));
    assert_string_equal(text_at(body, "config", "limits.cpu", NULL), "2");
    assert_string_equal(text_at(body, "config", "limits.cpu.allowance", NULL), "50%");
    assert_string_equal(text_at(body, "config", "limits.memory", NULL), "512MiB");
    assert_string_equal(text_at(body, "config", RUNTIME_KEY_SANDBOX, NULL), "sbx_1");
    assert_string_equal(text_at(body, "config", RUNTIME_KEY_ROLE, NULL), "sandbox");
    assert_string_equal(text_at(body, "config", "security.idmap.isolated", NULL), "true");
    assert_string_equal(text_at(body, "devices", "root", "size"), "10GiB");
    /* Lines of its own replace the profile's, so they confine it as well. */
    const char *lxc = text_at(body, "config", "raw.lxc", NULL);
    assert_non_null(strstr(lxc, "mode=1777,create=dir,size=256m 0 0\n"));
    autofree char *resized = runtime_lxc_resized(lxc, 1664);
    const char *changed = strstr(resized, "mode=1777,create=dir,size=832m 0 0\n");
    assert_non_null(changed);
    assert_string_equal(strchr(changed, '\n'), strchr(strstr(lxc, ",size=256m"), '\n'));
    assert_memory_equal(resized, lxc, (size_t)(changed - resized));
    assert_non_null(strstr(lxc, "lxc.cap.keep=chown "));
    assert_non_null(strstr(lxc, "lxc.seccomp.allow_nesting=1\n"));
    assert_non_null(strstr(lxc, "lxc.uts.name=sandbox\n"));
    assert_non_null(strstr(lxc, "=/run/sandlot-disks/sbx-1 sys/fs/btrfs none bind,ro,optional "));
    assert_string_equal(text_at(body, "devices", "root", "pool"), "pool");
    assert_null(text_at(body, "devices", "root", "size.state"));
    assert_string_equal(text_at(body, "devices", "eth0", "nictype"), "routed");
    assert_string_equal(text_at(body, "devices", "eth0", "ipv4.address"), "10.77.3.254");
    assert_string_equal(text_at(body, "devices", "eth0", "hwaddr"), "10:66:6a:4d:03:fe");
    assert_true(str_starts_with(text_at(body, "devices", "eth0", "host_name"), "sl"));
    wanted.address = "somewhere";
    assert_null(runtime_create_body(&runtime, &wanted));
}

TEST(a_machine_keeps_its_memory_apart)
{
    struct runtime_instance wanted = instance();
    wanted.virtual_machine = true;
    json_auto_t *body = runtime_create_body(&runtime, &wanted);
    json_auto_t *profile = runtime_profile_config(true);

    assert_string_equal(text_at(body, "type", NULL, NULL), "virtual-machine");
    assert_string_equal(text_at(body, "devices", "root", "size.state"), "576MiB");
    assert_string_equal(text_at(body, "devices", "eth0", "mtu"), "1500");
    assert_string_equal(text_at(profile, "security.secureboot", NULL, NULL), "false");
    assert_string_equal(text_at(profile, "migration.stateful", NULL, NULL), "true");
    assert_null(json_object_get(profile, "raw.lxc"));
    assert_null(json_object_get(profile, "security.syscalls.deny"));
}

TEST(a_console_ends_in_plain_words)
{
    char tail[RUNTIME_CONSOLE_SIZE], many[2048];
    runtime_console_tail("", tail);
    assert_string_equal(tail, "");
    runtime_console_tail("\033[0;31mfirst\033[0m\r\n\r\n\tsecond \x80\007", tail);
    assert_string_equal(tail, "first / second ");
    runtime_console_tail("\n1\n2\n3\n4\n5\n6\n7\n\033[", tail);
    assert_string_equal(tail, "2 / 3 / 4 / 5 / 6 / 7");
    memset(many, 'x', sizeof many - 1);
    many[sizeof many - 1] = '\0';
    runtime_console_tail(many, tail);
    assert_true(strlen(tail) > RUNTIME_CONSOLE_SIZE / 2);
    memset(many, '\n', sizeof many - 1);
    runtime_console_tail(many, tail);
    assert_string_equal(tail, "");
}

TEST(a_machine_has_an_address_that_its_card_tells)
{
    struct runtime_instance wanted = instance();
    error_auto err = NULL;
    wanted.virtual_machine = true;
    wanted.address = "10.255.3.4";
    assert_int_equal(runtime_check_address(&wanted, &err), 0);
    wanted.address = "172.16.3.4";
    assert_int_equal(runtime_check_address(&wanted, &err), -1);
    assert_non_null(strstr(err->message, "172.16.3.4"));
    error_clear(&err);
    wanted.virtual_machine = false;
    assert_int_equal(runtime_check_address(&wanted, &err), 0);
}

TEST(the_profile_is_hardened)
{
    json_auto_t *profile = runtime_profile_config(false);
    const char *denied = text_at(profile, "security.syscalls.deny", NULL, NULL);

    assert_string_equal(text_at(profile, "security.privileged", NULL, NULL), "false");
    assert_string_equal(text_at(profile, "security.nesting", NULL, NULL), "false");
    assert_string_equal(text_at(profile, "security.guestapi", NULL, NULL), "false");
    assert_string_equal(text_at(profile, "boot.autostart", NULL, NULL), "false");
    assert_string_equal(text_at(profile, "migration.stateful", NULL, NULL), "true");
    assert_non_null(strstr(denied, "unshare errno 1\n"));
    assert_non_null(strstr(denied, "io_uring_setup errno 38\n"));
    assert_non_null(strstr(denied, "socket errno 97 [0,16,SCMP_CMP_GT]\n"));
    assert_string_equal(text_at(profile, "limits.processes", NULL, NULL), "500");
    assert_string_equal(text_at(profile, "limits.kernel.core", NULL, NULL), "1");
    assert_non_null(strstr(text_at(profile, "raw.lxc", NULL, NULL), "lxc.cap.keep=chown "));
}

TEST(a_memory_that_is_not_kept_has_its_cause)
{
    assert_int_equal(runtime_memory_refusal("(00.05) Error (compel/src/lib/infect.c:358): Unable "
                                            "to connect to 17: Operation not permitted"),
                     ERR_MEMORY_NOT_KEPT);
    assert_int_equal(runtime_memory_refusal("(00.05) Error (criu/files-ext.c:98): Can't dump file"),
                     ERR_MEMORY_NOT_KEPT);
    assert_int_equal(runtime_memory_refusal("Error (sandlot-criu): the dump did not end within 60 "
                                            "s and was killed (timed out)"),
                     ERR_RUNTIME_SHORT);
    assert_int_equal(runtime_memory_refusal("(00.02) Error (criu/image.c:553): No space left on "
                                            "device"),
                     ERR_RUNTIME_SHORT);
    assert_int_equal(runtime_memory_refusal("(00.02) Error (criu/sockets.c:455): Can't get 1:16 "
                                            "opt: Operation not supported"),
                     ERR_HOST_KEEPS_NO_MEMORY);
    assert_int_equal(runtime_memory_refusal("snapshot dump failed"), ERR_HOST_KEEPS_NO_MEMORY);
}

/* liblxc needs the capability to load the filter, with the profile in force. */
TEST(the_rules_for_apparmor_leave_what_a_start_needs)
{
    json_auto_t *config = runtime_confinement();
    const char *rules = json_string_value(json_object_get(config, "raw.apparmor"));
    assert_null(strstr(rules, "sys_admin"));
    assert_non_null(strstr(rules, "deny capability sys_module,"));
    assert_non_null(strstr(rules, "deny mount,"));
}

/* Incus puts them into a profile like this one when the host has AppArmor. */
TEST(the_rules_for_apparmor_are_understood)
{
    json_auto_t *config = runtime_confinement();
    if (access("/sbin/apparmor_parser", X_OK) < 0)
        skip();
    FILE *parser = popen("/sbin/apparmor_parser --skip-kernel-load --skip-cache "
                         "--policy-features /etc/apparmor.d/abi/3.0",
                         "w");
    assert_non_null(parser);
    fprintf(parser,
            "abi <abi/3.0>,\n@{PROC}=/proc/\n"
            "profile \"incus-1\" flags=(attach_disconnected,mediate_deleted) {\n"
            "capability,\nfile,\nmount,\numount,\npivot_root,\nnetwork,\n%s}\n",
            json_string_value(json_object_get(config, "raw.apparmor")));
    assert_int_equal(pclose(parser), 0);
}

TEST(a_volume_has_the_user_ids_inside)
{
    json_auto_t *config = runtime_volume_config(5);
    assert_string_equal(text_at(config, "size", NULL, NULL), "5GiB");
    assert_string_equal(text_at(config, "security.shifted", NULL, NULL), "true");
    assert_string_equal(text_at(config, "initial.uid", NULL, NULL), "1000");
    assert_string_equal(text_at(config, "initial.gid", NULL, NULL), "1000");
}

TEST(addresses_have_user_ids_of_their_own)
{
    static const struct {
        const char *address, *base;
    } cases[] = {
        {"10.77.3.254", "224870976"}, {"10.77.3.255", "224936512"}, {"0.0.0.0", "1065536"},
        {"0.0.59.152", "1000882752"}, /* the last range; the next address has the first */
        {"0.0.59.153", "1065536"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        json_auto_t *config = runtime_users_config(cases[i].address);
        assert_string_equal(text_at(config, "security.idmap.isolated", NULL, NULL), "true");
        assert_string_equal(text_at(config, "security.idmap.base", NULL, NULL), cases[i].base);
    }
    assert_null(runtime_users_config("somewhere"));
}

TEST(statuses_tell_paused_from_stopped)
{
    struct incus_instance found = {.status = INCUS_STOPPED, .stateful = true};

    assert_int_equal(runtime_status_of(&found), RUNTIME_PAUSED);
    found.stateful = false;
    assert_int_equal(runtime_status_of(&found), RUNTIME_STOPPED);
    found.status = INCUS_RUNNING;
    assert_int_equal(runtime_status_of(&found), RUNTIME_RUNNING);
    found.status = INCUS_FROZEN;
    assert_int_equal(runtime_status_of(&found), RUNTIME_FROZEN);
    found.status = INCUS_IN_BETWEEN;
    assert_int_equal(runtime_status_of(&found), RUNTIME_OTHER);
}

TEST(a_daemon_that_cannot_measure_has_lost_no_memory)
{
    struct error *err = NULL;
    char cause[MEMORY_LOSS_SIZE] = "of another instance";
    assert_ok(runtime_no_measures.memory_loss(NULL, "sbx-1", cause, &err));
    assert_string_equal(cause, "");
}
