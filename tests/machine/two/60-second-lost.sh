# SPDX-License-Identifier: GPL-2.0-or-later
# The other machine is given up, as doc/howto/replace-lost-host.md says.
# second off
# shellcheck shell=bash

wait_until 300 condition_is down
! sandlotctl host lost h7 || fail "it needs no --yes"
sandlotctl host lost h7 --yes --powered-off
[[ $(sandlot show --json away | jq -er '.state + " " + .reason') == "stopped host_lost" ]]
for id in $(sandlotctl --json sandbox list | jq -er '.sandboxes[].id'); do
    sandlot rm "$id"
done
wait_until 300 sandlotctl host remove h7
wait_until 300 well
