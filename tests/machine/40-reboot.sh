# SPDX-License-Identifier: GPL-2.0-or-later
# After a reboot the service answers, doctor finds nothing, although the machine has a low setting of the kernel, and a
# sandbox that was paused before has its memory.
# short
# reboot
# shellcheck shell=bash

wait_until 900 sandlotctl doctor
rm -f /etc/sysctl.d/50-lower.conf
[[ $(systemctl show --property Slice --value lxcfs) == lxcfs.slice ]]
[[ $(sandlot resume stays) == memory ]]
still_runs stays
holds_memory stays
sandlot rm stays
