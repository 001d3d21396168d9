# SPDX-License-Identifier: GPL-2.0-or-later
# Without its key the pool stays closed, and doctor and the API say so. With the key the paused sandbox has its memory.
# encrypted
# reboot
# shellcheck shell=bash

! sandlotctl doctor >/tmp/doctor || fail "doctor finds nothing wrong"
cat /tmp/doctor
grep -E '^WRONG +(pool|runtime|hosts?|incus|reserve)' /tmp/doctor
api POST /sandboxes '{}' | tee /tmp/answer
[[ $(tail -n 1 /tmp/answer) == 503 ]]
mv /root/pool.key /etc/sandlot/pool.key
systemctl start 'systemd-cryptsetup@sandlot\x2dpool.service'
systemctl restart incus.service
wait_until 900 sandlotctl doctor
[[ $(sandlot resume behind) == memory ]]
still_runs behind
sandlot rm behind
