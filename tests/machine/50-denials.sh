# SPDX-License-Identifier: GPL-2.0-or-later
# What the tests before did met no AppArmor rule: neither a profile that is enforced nor one of ours in complain
# mode, which would stop the program once it is enforced.
# short
# shellcheck shell=bash

journalctl -k -b all -o cat --no-pager | grep -E 'apparmor="(DENIED|ALLOWED)".*profile="[^"]*sandlot' | tee /tmp/met || true
[[ ! -s /tmp/met ]] || fail "AppArmor denied something, or would have"
