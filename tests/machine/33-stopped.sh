# SPDX-License-Identifier: GPL-2.0-or-later
# A process that was stopped (Ctrl-Z) does not cost the memory, and stays stopped.
# short
# shellcheck shell=bash disable=SC2016

begin halted
sandlot exec -n halted sh -c 'kill -STOP $(cat /home/user/pid)'
pause_and_resume halted
[[ $(sandlot exec -n halted sh -c 'cut -d " " -f 3 "/proc/$(cat /home/user/pid)/stat"') == T ]]
sandlot rm halted
