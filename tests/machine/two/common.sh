# SPDX-License-Identifier: GPL-2.0-or-later
# Tests of two machines run in the front, 192.0.2.1. The second machine, 192.0.2.2, is the host h7.
# shellcheck shell=bash

# second COMMAND…: run by a shell of the second machine; standard input is passed on.
second()
{
    ssh -q -i /root/second -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o ServerAliveInterval=60 \
        root@192.0.2.2 "$@"
}

# condition_is CONDITION: of h7.
condition_is()
{
    sandlotctl --json host list | jq -e --arg is "$1" '.hosts[] | select(.name == "h7") | .condition == $is'
}

# well: doctor finds nothing wrong but the clock of h7, which the test has set wrong.
well()
{
    ! { sandlotctl doctor || true; } | grep '^WRONG' | grep -v '^WRONG *clock '
}

# host_of NAME
host_of()
{
    local id

    id=$(id_of "$1")
    sandlotctl --json sandbox list | jq -er --arg id "$id" '.sandboxes[] | select(.id == $id) | .host'
}

# refused_at_once COMMAND…: the error says that the host does not answer.
refused_at_once()
{
    ! timeout 60 "$@" >/tmp/refused 2>&1 || fail "it works without the host: $*"
    grep -E 'has not answered since|does not answer' /tmp/refused
}
