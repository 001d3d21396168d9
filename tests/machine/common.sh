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

# files_come_back NAME: a file goes there and back; /tmp/sent has it.
files_come_back()
{
    head -c 100000 /dev/urandom >/tmp/sent
    sandlot cp /tmp/sent "$1:/home/user/sent"
    sandlot cp "$1:/home/user/sent" /tmp/received
    cmp /tmp/sent /tmp/received
}

# preview_answers NAME: a server in it, with the certificate that nginx shows.
preview_answers()
{
    local address host

    sandlot exec -n "$1" sh -c 'echo hello >/home/user/index.html; cd /home/user &&
        setsid python3 -m http.server 8000 >/dev/null 2>&1 </dev/null &'
    address=$(sandlot open --public --print "$1" 8000)
    host=${address#https://}
    wait_until 300 curl -sf --cacert "$SANDLOT_CA" --resolve "${host%%/*}:443:127.0.0.1" "$address"
    [[ $(curl -sf --cacert "$SANDLOT_CA" --resolve "${host%%/*}:443:127.0.0.1" "$address") == hello ]]
}

# package_mirror: prints its name, with the port if it has one.
package_mirror()
{
    grep -rhoE 'https?://[^/ ]+' /etc/apt/sources.list* | head -n 1 | sed 's,.*//,,'
}

# policy_holds NAME: the package mirror can be reached while its name is allowed, and then not. Each change ends before
# the next connection.
policy_holds()
{
    local mirror port=80 connects

    mirror=$(package_mirror)
    [[ $mirror != *:* ]] || port=${mirror##*:}
    connects="timeout 60 bash -c '</dev/tcp/${mirror%:*}/$port'"
    sandlot network set "$1" --no-internet --allow "${mirror%:*}"
    sandlot exec -n "$1" sh -c "$connects"
    sandlot network set "$1" --no-internet
    ! sandlot exec -n "$1" sh -c "$connects" || fail "a denied name can be reached"
}

# hold_memory NAME: a process with random bytes, enough for the page server.
hold_memory()
{
    cat >/tmp/hold.py <<'END_OF_TEXT'
import hashlib, os, time
held = os.urandom(192 << 20)
def write(name):
    with open("/home/user/new", "w") as file:
        file.write(hashlib.sha256(held).hexdigest())
    os.rename("/home/user/new", name)
write("/home/user/sum")
while True:
    time.sleep(0.1)
    if os.path.exists("/home/user/ask"):
        os.unlink("/home/user/ask")
        write("/home/user/answer")
END_OF_TEXT
    sandlot cp /tmp/hold.py "$1:/home/user/hold.py"
    sandlot exec -n "$1" sh -c 'setsid python3 /home/user/hold.py >/dev/null 2>&1 </dev/null &'
    wait_until 300 sandlot exec -n "$1" test -e /home/user/sum
}

# holds_memory NAME: the process has its bytes, after a resume in which the page server has copied them.
holds_memory()
{
    local pages='page server: .* has all its memory'

    [[ ! -c /dev/userfaultfd ]] || wait_until 300 sh -c "journalctl -b -t criu | grep -q '$pages'"
    sandlot exec -n "$1" sh -c 'rm -f /home/user/answer; touch /home/user/ask'
    wait_until 300 sandlot exec -n "$1" cmp /home/user/sum /home/user/answer
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

# ask_all_the_time: a client lists the sandboxes, one request after the other, until all_were_answered.
ask_all_the_time()
{
    cat >/root/ask <<'END_OF_TEXT'
while [[ ! -e /root/asked ]]; do
    curl -s -o /dev/null --max-time 300 --cacert "$SANDLOT_CA" -H "Authorization: Bearer $SANDLOT_KEY" \
        -w '%{http_code}\n' "$SANDLOT_URL/v1/sandboxes" || true
    sleep 1
done
END_OF_TEXT
    rm -f /root/asked
    setsid bash /root/ask >/root/answers 2>&1 </dev/null &
}

all_were_answered()
{
    touch /root/asked
    wait_until 300 sh -c '! pgrep -f "^bash /root/ask"'
    sort /root/answers | uniq -c
    [[ $(grep -cx 200 /root/answers) -gt 5 ]]
    ! grep -vx 200 /root/answers || fail "a request was not answered"
}
