# SPDX-License-Identifier: GPL-2.0-or-later
# A template of virtual machines, made here, and one sandbox of it through its life: create, exec, files, preview, network
# policy, pause with memory, resume with the right time, checkpoint of the disk, refusals, delete.
# machines
# shellcheck shell=bash disable=SC2016

# Emulated processors are slow.
grep -q '^machine_start_s' /etc/sandlot/sandlot.conf || echo 'machine_start_s = 240' >>/etc/sandlot/sandlot.conf
systemctl restart sandlot.target
modprobe -a kvm_amd 2>/dev/null || modprobe -a kvm_intel
modprobe vhost_vsock
sandlot-build-template --machine /root/machine
systemctl restart incus
wait_until 600 sandlotctl doctor
incus image import /root/machine.meta.tar /root/machine.qcow2 --alias machine
sandlotctl template add machine --image machine --cpu 1 --memory-mb 512
rm -f /root/machine.*

sandlot create --name vm --timeout 12h machine
[[ $(sandlot show --json vm | jq -r .isolation) == vm ]]
[[ $(sandlot exec -n vm nproc) == 1 ]]
sandlot exec -n vm sh -c 'test "$(cat /proc/1/comm)" = sandlot-init && id -un'
# A kernel of its own, and the disk has the size of the sandbox.
[[ $(sandlot exec -n vm cat /proc/sys/kernel/random/boot_id) != $(cat /proc/sys/kernel/random/boot_id) ]]
[[ $(sandlot exec -n vm df --output=size -BM / | tail -n 1 | tr -dc 0-9) -gt 8000 ]]

head -c 100000 /dev/urandom >/tmp/sent
sandlot cp /tmp/sent vm:/home/user/sent
sandlot cp vm:/home/user/sent /tmp/received
cmp /tmp/sent /tmp/received

sandlot exec -n vm sh -c 'echo hello >/home/user/index.html; cd /home/user &&
    setsid python3 -m http.server 8000 >/dev/null 2>&1 </dev/null &'
address=$(sandlot open --public --print vm 8000)
host=${address#https://}
wait_until 300 curl -sf --cacert "$SANDLOT_CA" --resolve "${host%%/*}:443:127.0.0.1" "$address"

mirror=$(grep -rhoE 'https?://[^/ ]+' /etc/apt/sources.list* | head -n 1 | sed 's,.*//,,')
port=80
[[ $mirror != *:* ]] || port=${mirror##*:}
connects="timeout 60 bash -c '</dev/tcp/${mirror%:*}/$port'"
sandlot network set vm --no-internet --allow "${mirror%:*}"
sandlot exec -n vm sh -c "$connects"
sandlot network set vm --no-internet
! sandlot exec -n vm sh -c "$connects" || fail "a denied name can be reached"

# The address and the card of another sandbox do not help.
sandlot exec -n --user root vm sh -c 'ip address add 10.88.77.77/32 dev eth0'
! sandlot exec -n vm sh -c "timeout 20 curl -s --interface 10.88.77.77 http://$mirror/" || fail "another address can be used"

# Memory, and the right time after the pause.
sandlot exec -n vm sh -c 'setsid sleep 86400 >/dev/null 2>&1 </dev/null & echo $! >/home/user/pid'
sandlot pause vm
sleep 20
[[ $(sandlot resume vm) == memory ]] || fail "the virtual machine was not resumed from its memory"
sandlot exec -n vm sh -c 'kill -0 $(cat /home/user/pid)'
now=$(date +%s)
inside=$(sandlot exec -n vm date +%s)
[[ $((inside - now)) -ge -2 ]] || fail "the clock stands at $inside, and it is $now"

# The disk alone: the machine is asked to switch off, and boots again.
id=$(id_of vm)
api POST "/sandboxes/$id/pause" '{"memory": false}' | tee /tmp/answer
[[ $(tail -n 1 /tmp/answer) == 200 ]]
[[ $(sandlot resume vm) == disk ]]
cmp /tmp/sent <(sandlot exec -n vm cat /home/user/sent)

# What a virtual machine does not have is refused with the reason.
sandlot volume create data
api POST /sandboxes '{"template": "machine", "volume_mounts": {"/mnt/data": "data"}}' | tee /tmp/answer
[[ $(tail -n 1 /tmp/answer) == 422 || $(tail -n 1 /tmp/answer) == 400 ]]
head -n 1 /tmp/answer | jq -e '.message | contains("virtual machines")'
sandlot volume delete data
api POST "/sandboxes/$id/checkpoints" '{"memory": true}' | tee /tmp/answer
[[ $(tail -n 1 /tmp/answer) == 409 ]]
head -n 1 /tmp/answer | jq -e '.message | contains("virtual machine")'
api POST "/sandboxes/$id/checkpoints" '{"name": "kept"}' | tee /tmp/answer
[[ $(tail -n 1 /tmp/answer) == 201 ]]

sandlot rm vm
! sandlot show vm
wait_until 300 sh -c '! pgrep qemu-system'
