# SPDX-License-Identifier: GPL-2.0-or-later
# The machine's own filter begins with "flush ruleset": sandlot's packet filters come back, and the policies of sandboxes
# are in force again.
# short
# shellcheck shell=bash

# filters_come_back: also the file that asks for them is deleted.
filters_come_back()
{
    wait_until 120 nft list table inet sandlot
    wait_until 120 nft list table inet sandlot_front
    wait_until 120 test ! -e /run/sandlot-firewall/table.missing
}

begin flushed
nft flush ruleset
filters_come_back
policy_holds flushed
[[ $(head -n 20 /etc/nftables.conf) == *'flush ruleset'* ]]
systemctl restart nftables
filters_come_back
systemctl reload nftables
filters_come_back
systemctl stop nftables
filters_come_back
policy_holds flushed
systemctl list-units --failed --plain --no-legend --no-pager 'sandlot*' | tee /tmp/failed
[[ ! -s /tmp/failed ]] || fail "units have failed"
wait_until 900 sandlotctl doctor
still_runs flushed
sandlot rm flushed
