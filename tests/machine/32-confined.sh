# SPDX-License-Identifier: GPL-2.0-or-later
# The kernel refuses namespaces, mounts and its own settings to root in a sandbox.
# short
# shellcheck shell=bash

# refused COMMAND: by root in the sandbox.
refused()
{
    ! sandlot exec -n -u root closed sh -c "$1" || fail "a sandbox may: $1"
}

sandlot create --name closed --timeout 1h
[[ $(sandlot exec -n -u root closed id -u) == 0 ]]
refused 'mount -t tmpfs none /mnt'
refused 'unshare -Ur true'
refused 'unshare -m true'
refused 'echo 1 >/proc/sys/vm/drop_caches'
refused 'echo c >/proc/sysrq-trigger'
refused 'echo 1 >/sys/kernel/mm/ksm/run'
refused 'python3 -c "import socket; socket.socket(socket.AF_ALG, socket.SOCK_SEQPACKET)"'
refused 'python3 -c "import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW)"'
sandlot rm closed
