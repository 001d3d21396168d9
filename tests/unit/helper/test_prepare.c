/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is changed in liblxc's configuration, and which links an incusd that was killed has left. */
#include "unit/folder.h"

#include <sys/stat.h>

#include "base/mem.h"
#include "helper/prepare/lxc_config.h"
#include "helper/prepare/stale_link.h"

#define OURS "/x/sandlot-mount-lxcfs"

static void assert_line(const char *line, const char *expected)
{
    autofree char *found = lxc_config_line(line, OURS);
    assert_string_equal(found, expected);
}

TEST(hooks_of_lxcfs_are_replaced)
{
    static const char *const same[] = {
        "lxc.hook.mount = /usr/share/lxcfs/lxc.mount.hook.other\n",
        "lxc.hook.mount = /elsewhere/hook\n",
        "lxc.hook.post-stop = /usr/share/other.hook\n",
        "lxc.hook.post-stopped = /usr/share/lxcfs/lxc.reboot.hook\n",
        "# lxc.hook.mount = /usr/share/lxcfs/lxc.mount.hook\n",
        "lxc.pty.max = 1024\n",
        "\n",
    };
    assert_null(lxc_config_line("lxc.hook.post-stop = /usr/share/lxcfs/lxc.reboot.hook\n", OURS));
    assert_null(lxc_config_line("lxc.hook.post-stop=/usr/share/lxcfs/lxc.reboot.hook  ", OURS));
    assert_line("lxc.hook.mount = /usr/share/lxcfs/lxc.mount.hook\n",
                "lxc.hook.mount = " OURS "\n");
    assert_line("lxc.hook.mount=/usr/share/lxcfs/lxc.mount.hook ", "lxc.hook.mount = " OURS "\n");
    for (size_t i = 0; i < ARRAY_SIZE(same); i++)
        assert_line(same[i], same[i]);
}

static void assert_file(const char *path, const char *expected)
{
    char text[256];
    autofclose FILE *file = fopen(path, "re");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    assert_string_equal(text, expected);
}

TEST(the_configuration_is_copied)
{
    assert_int_equal(mkdir("from", 0755), 0);
    assert_int_equal(mkdir("from/common.conf.d", 0755), 0);
    write_file("from/common.conf", "lxc.pty.max = 1024\n");
    write_file("from/noname", "one\n");
    write_file("from/.hidden.conf", "two\n");
    write_file("from/common.conf.d/00-lxcfs.conf", "lxc.hook.mount = " LXC_CONFIG_MOUNT_HOOK "\n"
                                                   "lxc.hook.post-stop = /y/lxc.reboot.hook\n");
    write_file("from/common.conf.d/README", "no configuration\n");
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(lxc_config_copy("from", "made/to", OURS), 0);
        assert_file("made/to/common.conf", "lxc.pty.max = 1024\n");
        assert_file("made/to/common.conf.d/00-lxcfs.conf", "lxc.hook.mount = " OURS "\n");
        assert_int_equal(access("made/to/noname", F_OK), -1);
        assert_int_equal(access("made/to/.hidden.conf", F_OK), -1);
        assert_int_equal(access("made/to/common.conf.d/README", F_OK), -1);
        assert_int_equal(access("made/to/common.conf.d/old.conf", F_OK), -1);
        write_file("made/to/common.conf.d/old.conf", "of another liblxc\n");
    }
}

TEST(links_of_no_sandbox_are_found)
{
    static const char *const others[] = {
        "12: sl0123456789abc@if11: <BROADCAST> mtu 1500",
        "12: sl0123456789abcd@veth01234567: <BROADCAST> mtu 1500",
        "12: sl0123456789ab@veth01234567: <BROADCAST> mtu 1500",
        "12: xx0123456789abc@veth01234567: <BROADCAST> mtu 1500",
        "12: veth01234567@sl0123456789abc: <BROADCAST> mtu 1500",
        "sl0123456789abc@veth01234567: <BROADCAST> mtu 1500",
        "12",
        "",
    };
    autofree char *link = stale_link_in("12: sl0123456789abc@veth01234567: <BROADCAST>", "sl");
    assert_string_equal(link, "sl0123456789abc");
    for (size_t i = 0; i < ARRAY_SIZE(others); i++)
        assert_null(stale_link_in(others[i], "sl"));
}

TEST_GROUP(make_folder, remove_folder)
