# SPDX-License-Identifier: GPL-2.0-or-later
# One sandbox through its life: create, exec, files, preview, volume, pause with memory, resume, checkpoint and fork
# after the resume, network policy, delete.
# short
# shellcheck shell=bash disable=SC2016

begin work
[[ $(sandlot exec -n work sh -c 'echo $((6 * 7))') == 42 ]]

files_come_back work

preview_answers work

# A volume, from inside and by the API. A sandbox with volumes pauses without its memory.
sandlot volume create data
begin stores --volume data:/mnt/data
sandlot exec -n stores sh -c 'echo kept >/mnt/data/file'
[[ $(sandlot volume cat data:/file) == kept ]]
sandlot pause stores
[[ $(sandlot resume stores) == disk ]]
[[ $(sandlot exec -n stores cat /mnt/data/file) == kept ]]
sandlot rm stores
[[ $(sandlot volume cat data:/file) == kept ]]
sandlot volume rm data

# Twice, because the second pause is of a restored container.
pause_and_resume work
pause_and_resume work

# Of a sandbox that was resumed: a checkpoint with memory, and a fork. The fork has the same name.
id=$(id_of work)
api POST "/sandboxes/$id/checkpoints" '{"memory": true, "name": "kept"}' | tee /tmp/answer
[[ $(tail -n 1 /tmp/answer) == 201 ]]
api POST "/sandboxes/$id/fork" '{}' | tee /tmp/answer
[[ $(tail -n 1 /tmp/answer) == 201 ]]
fork=$(head -n 1 /tmp/answer | jq -er '.forks[0].sandbox.id // .forks[0].id')
wait_until 300 sandlot exec -n "$fork" sh -c 'kill -0 $(cat /home/user/pid)'
still_runs "$id"

# Each container has its own profile, also the ones that were restored.
for sandbox in "$id" "$fork"; do
    instance=$(sandlotctl --json sandbox list |
        jq -er --arg id "$sandbox" '.sandboxes[] | select(.id == $id) | .instance')
    label=$(label_of "$instance")
    [[ $label == *"$instance"* && $label == *enforce* ]] || fail "$sandbox has the label $label"
done

policy_holds "$id"

sandlot rm "$id"
sandlot rm "$fork"
! sandlot show "$id"

# The log of a sandbox comes from the journal and from nginx' files.
sandlotctl sandbox log "$id" >/tmp/log
grep -q '^journal .*operation=createSandbox' /tmp/log
grep -q '^sandlot-access' /tmp/log
