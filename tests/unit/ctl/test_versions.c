/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which versions of Incus and its neighbours are newer than the tested ones. */
#include "unit/unit.h"

#include "ctl/versions.h"

TEST(a_newer_version_is_known)
{
    char next[32];
    unsigned major, minor;
    for (int i = 0; i < COMPONENT_COUNT; i++) {
        assert_int_equal(sscanf(component_tested(i), "%u.%u", &major, &minor), 2);
        assert_false(component_is_newer(i, component_tested(i)));
        snprintf(next, sizeof next, "%u.%u.99", major, minor);
        assert_false(component_is_newer(i, next));
        snprintf(next, sizeof next, "%u.%u.1", major, minor + 1);
        assert_true(component_is_newer(i, next));
        snprintf(next, sizeof next, "%u.0", major + 1);
        assert_true(component_is_newer(i, next));
        snprintf(next, sizeof next, "%u", major + 1);
        assert_true(component_is_newer(i, next));
        assert_false(component_is_newer(i, "0.99"));
        assert_false(component_is_newer(i, "unknown"));
        assert_false(component_is_newer(i, ""));
    }
}

TEST(versions_are_found_by_their_names)
{
    char version[16];
    assert_true(
        component_version_in("lxc | qemu", "5.0.2 | 7.2.0", "lxc", version, sizeof version));
    assert_string_equal(version, "5.0.2");
    assert_true(
        component_version_in("qemu | lxc", "7.2.0 | 6.0.4", "lxc", version, sizeof version));
    assert_string_equal(version, "6.0.4");
    assert_true(component_version_in("lxc", "5.0.2", "lxc", version, sizeof version));
    assert_false(component_version_in("qemu", "7.2.0", "lxc", version, sizeof version));
    assert_false(component_version_in("qemu | lxc", "7.2.0", "lxc", version, sizeof version));
    assert_false(component_version_in("", "", "lxc", version, sizeof version));
}
