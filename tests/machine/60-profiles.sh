# SPDX-License-Identifier: GPL-2.0-or-later
# Each daemon but sandlot-ssh runs under its AppArmor profile in enforce mode, and a process under such a profile
# that tries to read another program's secrets fails. The last test, because the kernel logs what it tries.
# short
# shellcheck shell=bash

profiles=/sys/kernel/security/apparmor/profiles
for name in api dispatcher events firewall gate limits; do
    grep -qx "sandlot-$name (enforce)" "$profiles" || fail "the profile sandlot-$name is not enforced"
done
# These run at all times; the others end or start with the requests.
for name in api dispatcher events firewall gate limits; do
    for pid in $(pgrep -f "^/usr/sbin/sandlot-$name( |\$)"); do
        [[ $(cat "/proc/$pid/attr/current") == "sandlot-$name (enforce)" ]] ||
            fail "process $pid of sandlot-$name is not confined: $(cat "/proc/$pid/attr/current")"
        echo "$name" >>/tmp/confined
    done
done
[[ $(sort -u /tmp/confined | wc -l) -ge 5 ]] || fail "too few daemons run: $(sort -u /tmp/confined | xargs)"

# opens PROFILE FILE: by a shell that has changed to the profile. It forks no process.
opens()
{
    bash -c 'echo "changeprofile $1" >/proc/self/attr/current && exec 3<"$2"' bash "sandlot-$1" "$2"
}

for name in api dispatcher events firewall gate limits; do
    opens "$name" /etc/sandlot/sandlot.conf || fail "sandlot-$name cannot read its settings"
    ! opens "$name" /etc/sandlot/database-admin-password || fail "sandlot-$name can read the operator's password"
    ! opens "$name" /etc/sandlot/tls/server.key || fail "sandlot-$name can read the key of nginx"
    ! opens "$name" /etc/shadow || fail "sandlot-$name can read /etc/shadow"
done
for name in firewall limits; do
    ! opens "$name" /etc/sandlot/keyring || fail "sandlot-$name can read the key ring"
done
