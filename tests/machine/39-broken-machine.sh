# SPDX-License-Identifier: GPL-2.0-or-later
# Images that do not become virtual machines: one with too little memory, in which the firmware writes nothing, and a
# disk without a system. `template add` says what the console showed, and leaves nothing.
# machines
# shellcheck shell=bash

# refused OPTION…: `template add` fails because no agent answered; /tmp/refused has what it says.
refused()
{
    ! sandlotctl template add broken "$@" 2>/tmp/refused || fail "it became a template: $*"
    cat /tmp/refused
    grep -q 'did not answer within 120 seconds' /tmp/refused || fail "the reason is another one: $*"
    [[ $(sources) == "$before" ]] || fail "something is left: $(sources)"
}

sources()
{
    incus list --project sandlot -f csv -c n | grep '^t[pr][ly]-' | sort
}

sed -i 's/^machine_start_s.*/machine_start_s = 120/' /etc/sandlot/sandlot.conf
before=$(sources)

refused --image machine --cpu 1 --memory-mb 64

truncate -s 64M /root/empty.raw
qemu-img convert -O qcow2 /root/empty.raw /root/empty.qcow2
incus image import /root/machine.meta.tar /root/empty.qcow2 --alias empty
refused --image empty --cpu 1 --memory-mb 512
grep -q 'its console ends with: .' /tmp/refused || fail "the console's end is missing"

sed -i 's/^machine_start_s.*/machine_start_s = 240/' /etc/sandlot/sandlot.conf
incus image delete empty
rm -f /root/empty.* /root/machine.meta.tar /root/machine.qcow2
