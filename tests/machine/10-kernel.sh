# SPDX-License-Identifier: GPL-2.0-or-later
# The machine is one as users have it, and not the kernel that the other suites run on.
# short
# shellcheck shell=bash

[[ $(cat /sys/module/apparmor/parameters/enabled) == Y ]]
[[ $(stat -f -c %T /sys/fs/cgroup) == cgroup2fs ]]
[[ -d /run/systemd/system ]]
