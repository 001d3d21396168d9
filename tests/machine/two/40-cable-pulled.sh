# SPDX-License-Identifier: GPL-2.0-or-later
# The cable between the machines is pulled: it is known, no request waits for the host, and others continue.
# cable off
# shellcheck shell=bash disable=SC2016

wait_until 300 condition_is down
refused_at_once sandlot exec -n away true
refused_at_once sandlot pause away
begin here
[[ $(host_of here) == local ]]
pause_and_resume here
sandlot rm here
! sandlotctl doctor >/tmp/doctor || fail "doctor finds nothing"
grep h7 /tmp/doctor
