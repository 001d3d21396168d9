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

# socket_errno FAMILY TYPE PROTOCOL: the error of socket() for root in the sandbox, as a number; 0: it may.
socket_errno()
{
    sandlot exec -n -u root closed python3 -c "import socket
try:
    socket.socket($1, $2, $3)
    print(0)
except OSError as error:
    print(error.errno)"
}

# TCP, UDP and routes work, so an error below is an answer of the filter.
[[ $(socket_errno 2 1 0) == 0 && $(socket_errno 2 2 0) == 0 && $(socket_errno 16 3 0) == 0 ]]
[[ $(socket_errno 38 5 0) == 97 ]]  # AF_ALG
[[ $(socket_errno 17 3 0) == 97 ]]  # AF_PACKET
[[ $(socket_errno 33 2 2) == 97 ]]  # AF_RXRPC
[[ $(socket_errno 15 3 2) == 97 ]]  # AF_KEY
[[ $(socket_errno 16 3 6) == 93 ]]  # NETLINK_XFRM
[[ $(socket_errno 16 3 12) == 93 ]] # NETLINK_NETFILTER
sandlot rm closed
