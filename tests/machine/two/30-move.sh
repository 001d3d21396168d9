# SPDX-License-Identifier: GPL-2.0-or-later
# A paused sandbox moves to the other machine with its disk. Its processor lacks features, so that the memory may not
# continue there: the sandbox starts from its disk.
# shellcheck shell=bash disable=SC2016

sandlotctl host drain h7 --stay
begin moved
[[ $(host_of moved) == local ]]
sandlotctl host activate h7
sandlot exec -n moved sh -c 'head -c 5000000 /dev/urandom >/home/user/data && sha256sum </home/user/data' >/tmp/sum
sandlot pause moved
sandlotctl sandbox move "$(id_of moved)" h7
[[ $(host_of moved) == h7 ]]
[[ $(sandlot resume moved) == disk ]]
sandlot exec -n moved sh -c 'sha256sum </home/user/data' | cmp - /tmp/sum
pause_and_resume_there=$(sandlot pause moved && sandlot resume moved)
[[ $pause_and_resume_there == *memory* ]]
sandlot rm moved
