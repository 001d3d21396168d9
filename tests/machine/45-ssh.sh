# SPDX-License-Identifier: GPL-2.0-or-later
# SSH sessions under the enforced AppArmor profile of sandlot-ssh: a command, a terminal, SFTP and a forwarded port.
# short
# shellcheck shell=bash disable=SC2016

grep -qx 'sandlot-ssh (enforce)' /sys/kernel/security/apparmor/profiles

ssh-keygen -q -t ed25519 -N '' -f /root/id_ann
sandlotctl ssh-key add /root/id_ann.pub --user ann
port=$(sed -n 's/^ssh_port *= *//p' /etc/sandlot/sandlot.conf)
options=(-F /dev/null -i /root/id_ann -o IdentitiesOnly=yes -o BatchMode=yes -o StrictHostKeyChecking=accept-new
    -o ServerAliveInterval=60)

enter()
{
    ssh -p "${port:-2222}" "${options[@]}" "$@"
}

begin entered
wait_until 120 enter entered@127.0.0.1 true
[[ $(enter entered@127.0.0.1 'echo $((6 * 7))') == 42 ]]
! enter entered@127.0.0.1 'exit 7' || fail "the exit status of a command is lost"

# A command with a terminal, and a shell.
enter -tt entered@127.0.0.1 'test -t 0 && stty size' </dev/null | tr -d '\r' | grep -xE '[0-9]+ [0-9]+'
printf 'tty\nexit\n' | enter -tt entered@127.0.0.1 | tr -d '\r' | grep -x '/dev/pts/[0-9]*'

head -c 100000 /dev/urandom >/tmp/sent
rm -f /tmp/received
printf 'put /tmp/sent sent\nget sent /tmp/received\n' |
    sftp -b - -P "${port:-2222}" "${options[@]}" entered@127.0.0.1
cmp /tmp/sent /tmp/received

# A port of the sandbox. The session's processes are confined while it is forwarded.
sandlot exec -n entered sh -c 'mkdir -p /home/user/site && echo forwarded >/home/user/site/index.html &&
    cd /home/user/site && setsid python3 -m http.server 8000 >/dev/null 2>&1 </dev/null &'
enter -N -L 18000:localhost:8000 entered@127.0.0.1 &
client=$!
wait_until 120 curl -sf http://127.0.0.1:18000/
[[ $(curl -sf http://127.0.0.1:18000/) == forwarded ]]
pids=$(pgrep -f '^sandlot-ssh-session|^/usr/sbin/sandlot-ssh( |$)')
[[ $(wc -w <<<"$pids") -ge 2 ]] || fail "there is no process of a session"
for pid in $pids; do
    [[ $(cat "/proc/$pid/attr/current") == "sandlot-ssh (enforce)" ]] || fail "process $pid of SSH is not confined"
done
kill "$client"
sandlot rm entered
