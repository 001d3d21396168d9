# SPDX-License-Identifier: GPL-2.0-or-later
# The other machine boots: its sandboxes are stopped and start from their disks, and new ones start there.
# second on
# shellcheck shell=bash disable=SC2016

wait_until 900 condition_is up
stopped()
{
    [[ $(sandlot show --json away | jq -er .state) == stopped ]]
}
wait_until 300 stopped
[[ $(sandlot resume away) == disk ]]
sandlot exec -n away test -s /home/user/index.html
pause_and_resume_again=$(sandlot pause away && sandlot resume away)
[[ $pause_and_resume_again == *memory* ]]
sandlotctl host drain local --stay
sandlot create --name fresh --timeout 1h
[[ $(host_of fresh) == h7 ]]
sandlot rm fresh
sandlotctl host activate local
wait_until 300 well
