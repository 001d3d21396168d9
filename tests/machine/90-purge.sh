# SPDX-License-Identifier: GPL-2.0-or-later
# A purge that is told to delete all sandboxes leaves nothing: no process, file, database, packet filter, unit, mount or
# link.
# shellcheck shell=bash

begin last
debconf-set-selections <<<'sandlot sandlot/purge-sandboxes boolean true'
apt-get -y -o Dpkg::Use-Pty=0 purge 'sandlot*' </dev/null
! pgrep -af 'sleep 86400|sandlot-' || fail "a process is left"
for directory in /etc/sandlot /var/lib/sandlot /var/cache/sandlot /var/log/sandlot /run/sandlot; do
    [[ ! -e $directory ]] || fail "$directory is left"
done
! mariadb -e 'USE sandlot' || fail "the database is left"
! nft list tables | grep sandlot || fail "the packet filter is left"
systemctl list-units --plain --no-legend --no-pager 'sandlot*' | tee /tmp/units
[[ ! -s /tmp/units ]] || fail "active units are left"
find /etc/systemd /etc/nginx /etc/apparmor.d /var/log -name 'sandlot*' | tee /tmp/files
[[ ! -s /tmp/files ]] || fail "files are left"
! grep sandlot /proc/self/mounts || fail "a mount is left"
! ip -o link | grep -E ': (sl[a-z0-9]+|0tun-[a-z]+)[@:]' || fail "a link is left"
! grep -E '^[^:]*sandlot' /sys/kernel/security/apparmor/profiles || fail "a profile is left"
