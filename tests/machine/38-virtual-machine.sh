# SPDX-License-Identifier: GPL-2.0-or-later
# A host without KVM refuses a template of virtual machines. With KVM, it is made, and one sandbox goes through its life:
# create, exec, terminal, files, preview, network policy, pause with memory, resume with the right time, checkpoint of
# the disk, drain, refusals, delete.
# machines
# shellcheck shell=bash disable=SC2016

# Emulated processors are slow.
grep -q '^machine_start_s' /etc/sandlot/sandlot.conf || echo 'machine_start_s = 240' >>/etc/sandlot/sandlot.conf
systemctl restart sandlot.target
sandlot-build-template --machine /root/machine
modprobe -r kvm_amd kvm_intel kvm || true
systemctl restart incus
wait_until 600 sandlotctl doctor
sandlotctl doctor | grep 'containers only'
incus image import /root/machine.meta.tar /root/machine.qcow2 --alias machine
! sandlotctl template add machine --image machine --cpu 1 --memory-mb 512 2>/tmp/refused || fail "made without KVM"
grep KVM /tmp/refused || fail "the refusal does not name KVM: $(cat /tmp/refused)"
modprobe -a kvm_amd 2>/dev/null || modprobe -a kvm_intel
modprobe vhost_vsock
systemctl restart incus
wait_until 600 sandlotctl doctor
sandlotctl doctor | grep 'can run virtual machines'
sandlotctl template add machine --image machine --cpu 1 --memory-mb 512

id=$(api POST /sandboxes '{"template": "machine", "name": "vm", "timeout": 43200, "envs": {"GREETING": "from create"}}' |
    tee /tmp/answer | head -n 1 | jq -er .id)
[[ $(sandlot show --json vm | jq -r .isolation) == vm ]]
[[ $(sandlot exec -n vm nproc) == 1 ]]
sandlot exec -n vm sh -c 'test "$(cat /proc/1/comm)" = sandlot-init && id -un'
[[ $(sandlot exec -n vm printenv GREETING) == "from create" ]]
script -qc 'sandlot exec -t vm tty' /dev/null </dev/null | grep /dev/pts/

# A kernel of its own, and the disk has the size of the sandbox.
[[ $(sandlot exec -n vm cat /proc/sys/kernel/random/boot_id) != $(cat /proc/sys/kernel/random/boot_id) ]]
[[ $(sandlot exec -n vm df --output=size -BM / | tail -n 1 | tr -dc 0-9) -gt 8000 ]]

files_come_back vm

preview_answers vm

policy_holds vm

# With another address than its own, the sandbox does not reach what its policy allows.
mirror=$(package_mirror)
sandlot network set vm --no-internet --allow "${mirror%:*}"
sandlot exec -n vm sh -c "timeout 60 curl -so /dev/null http://$mirror/"
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

# It does not move, and a drain says so.
sandlotctl host drain local --move-running | tee /tmp/drain
grep 'is a virtual machine' /tmp/drain
sandlotctl host activate local
sandlot exec -n vm sh -c 'kill -0 $(cat /home/user/pid)'

# The disk alone: the machine is asked to switch off, and boots again.
api POST "/sandboxes/$id/pause" '{"memory": false}' | tee /tmp/answer
[[ $(tail -n 1 /tmp/answer) == 200 ]]
[[ $(sandlot resume vm) == disk ]]
cmp /tmp/sent <(sandlot exec -n vm cat /home/user/sent)

# The API refuses volumes and memory checkpoints of a virtual machine, and says why.
sandlot volume create data
api POST /sandboxes '{"template": "machine", "volume_mounts": {"/mnt/data": "data"}}' | tee /tmp/answer
[[ $(tail -n 1 /tmp/answer) == 422 || $(tail -n 1 /tmp/answer) == 400 ]]
head -n 1 /tmp/answer | jq -e '.message | contains("virtual machines")'
sandlot volume rm data
api POST "/sandboxes/$id/checkpoints" '{"memory": true}' | tee /tmp/answer
[[ $(tail -n 1 /tmp/answer) == 409 ]]
head -n 1 /tmp/answer | jq -e '.message | contains("virtual machine")'
api POST "/sandboxes/$id/checkpoints" '{"name": "kept"}' | tee /tmp/answer
[[ $(tail -n 1 /tmp/answer) == 201 ]]

sandlot rm vm
! sandlot show vm
wait_until 300 sh -c '! pgrep qemu-system'
