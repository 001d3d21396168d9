# SPDX-License-Identifier: GPL-2.0-or-later
# After a power cut in the middle of creates, pauses and deletes the service answers, doctor finds nothing, and no
# sandbox is in the middle of a change.
# short
# cut
# shellcheck shell=bash disable=SC2016

# listed FIELD: of each sandbox.
listed()
{
    sandlotctl --json sandbox list | jq -er --arg field "$1" '.sandboxes[][$field]'
}

# settled: each sandbox is running or paused.
settled()
{
    ! listed state | grep -vxE 'ready|stopped'
}

wait_until 900 sandlotctl doctor
wait_until 300 settled
[[ $(sandlot resume steady) == memory ]]
still_runs steady
sandlot create --name after --timeout 1h
[[ $(sandlot exec -n after sh -c 'echo $((6 * 7))') == 42 ]]
for id in $(listed id); do
    sandlot rm "$id"
done
wait_until 300 sandlotctl doctor
