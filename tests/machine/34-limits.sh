# SPDX-License-Identifier: GPL-2.0-or-later
# On one hierarchy of control groups: a sandbox has its processors, memory and processes, and no more. What exceeds them
# ends, and its sandbox and a neighbour continue.
# short
# shellcheck shell=bash disable=SC2016

sandlot create --name neighbour --timeout 1h
sandlot create --name small --cpu 1 --memory 256 --timeout 1h
[[ $(sandlot exec -n small nproc) == 1 ]]
[[ $(sandlot exec -n small sh -c 'free -m | awk "/^Mem:/ { print \$2 }"') == 256 ]]

# bounded FILE: the nearest value above the sandbox's first process that is a number.
bounded()
{
    local instance group pid

    instance=$(sandlotctl --json sandbox list | jq -er --arg id "$(id_of small)" '.sandboxes[] | select(.id == $id) | .instance')
    pid=$(incus query "/1.0/instances/$instance/state?project=sandlot" | jq -er .pid)
    group=/sys/fs/cgroup$(sed -n 's/^0:://p' "/proc/$pid/cgroup")
    until [[ -r $group/$1 && $(cat "$group/$1") != max ]]; do
        [[ $group != /sys/fs/cgroup ]] || fail "$1 is not set for $instance"
        group=${group%/*}
    done
    cat "$group/$1"
}
[[ $(bounded memory.max) == $((256 << 20)) ]]
[[ $(bounded pids.max) -gt 0 ]]

! sandlot exec -n small python3 -c 'x = bytearray(1 << 30)' || fail "a program has more memory than its sandbox"
sandlot exec -n small true

# Processes until the kernel refuses one (EAGAIN), and their end.
[[ $(sandlot exec -n small python3 -c '
import os, signal
children = []
try:
    while True:
        child = os.fork()
        if child == 0:
            signal.pause()
        children.append(child)
except OSError as error:
    print(error.errno)
for child in children:
    os.kill(child, signal.SIGKILL)') == 11 ]]
[[ $(sandlot exec -n neighbour sh -c 'echo $((6 * 7))') == 42 ]]
wait_until 120 sandlot exec -n small true
sandlot rm small
sandlot rm neighbour
