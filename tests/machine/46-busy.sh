# SPDX-License-Identifier: GPL-2.0-or-later
# Sandboxes that are created, paused, resumed and deleted until the power is cut (see 47-power-cut), and one that was
# paused before.
# short
# shellcheck shell=bash

begin steady
sandlot pause steady

setsid bash -c 'while :; do
    sandlot create --name busy --timeout 1h && sandlot pause busy && sandlot resume busy
    sandlot rm busy
done' >/root/busy.log 2>&1 </dev/null &
wait_until 300 grep -q memory /root/busy.log
# The kernel writes a file after 30 seconds, and btrfs commits what was written within another 30.
sleep 65
