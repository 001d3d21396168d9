# SPDX-License-Identifier: GPL-2.0-or-later
# What each test of a machine begins with: it runs as root in the machine, and fails with its first command
# that fails. A wait is long because the machine may be emulated; no test asserts how long anything takes.
# shellcheck shell=bash

export SANDLOT_URL=https://api.box.localhost SANDLOT_CA=/etc/sandlot/ca.pem DEBIAN_FRONTEND=noninteractive
if [[ -s /root/key ]]; then
    SANDLOT_KEY=$(cat /root/key)
    export SANDLOT_KEY
fi
trap '[[ $? == 0 ]] || journalctl --no-pager -o short-iso -n 80 -u "sandlot-*" -u "incus*"' EXIT
set -x

fail()
{
    echo "failed: $*" >&2
    exit 1
}

# wait_until SECONDS COMMAND…
wait_until()
{
    local end=$((SECONDS + $1))

    shift
    until "$@" >/dev/null 2>&1; do
        [[ $SECONDS -lt $end ]] || fail "not within the time: $*"
        sleep 1
    done
}

# api METHOD PATH [BODY]: prints the answer, and the status as its last line.
api()
{
    curl -s --max-time 300 --cacert "$SANDLOT_CA" -H "Authorization: Bearer $SANDLOT_KEY" -X "$1" \
        ${3:+-H 'Content-Type: application/json' -d "$3"} -w '\n%{http_code}\n' "$SANDLOT_URL/v1$2"
}

# begin NAME [OPTION…]: a sandbox with a process whose end would show.
begin()
{
    sandlot create --name "$1" --timeout 12h "${@:2}"
    sandlot exec -n "$1" sh -c 'setsid sleep 86400 >/dev/null 2>&1 </dev/null & echo $! >/home/user/pid'
}

# still_runs NAME: the process of begin.
still_runs()
{
    # shellcheck disable=SC2016 # the sandbox's shell
    sandlot exec -n "$1" sh -c 'kill -0 $(cat /home/user/pid)'
}

# pause_and_resume NAME: with its memory.
pause_and_resume()
{
    sandlot pause "$1"
    [[ $(sandlot resume "$1") == memory ]] || fail "$1 was not resumed from its memory"
    still_runs "$1"
}

# id_of NAME
id_of()
{
    sandlot show --json "$1" | jq -er .id
}

# label_of INSTANCE: the AppArmor label of its first process.
label_of()
{
    cat "/proc/$(incus query "/1.0/instances/$1/state?project=sandlot" | jq -er .pid)/attr/current"
}
