# SPDX-License-Identifier: GPL-2.0-or-later
# The tests before this one met no AppArmor rule: neither a profile that is enforced nor one of ours in complain
# mode, which would stop the program once it is enforced.
# short
# shellcheck shell=bash

# The kernel's own log leaves messages out when many come at once; those that journald gets as audit are complete.
journalctl -b all -o cat --no-pager _TRANSPORT=kernel + _TRANSPORT=audit | grep apparmor= >/tmp/apparmor
grep -q 'apparmor="STATUS".*name="sandlot-api"' /tmp/apparmor || fail "the journal has no messages of AppArmor"
grep -E 'apparmor="(DENIED|ALLOWED)".*(profile|label)="[^"]*sandlot' /tmp/apparmor | sort -u | tee /tmp/met || true
[[ ! -s /tmp/met ]] || fail "AppArmor denied something, or would have"

# Neither did a unit's own limits stop its program: its log would say so.
journalctl -b all -o cat --no-pager -u 'sandlot-*' |
    grep -E 'Operation not permitted|Permission denied|not supported by protocol|Read-only file system' |
    sort | uniq -c | tee /tmp/refused || true
[[ ! -s /tmp/refused ]] || fail "a unit does not let its program work"
