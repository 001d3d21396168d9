# SPDX-License-Identifier: GPL-2.0-or-later
# The commands of doc/howto/second-host.md, typed on two machines.
# shellcheck shell=bash

cat >>/etc/sandlot/sandlot.conf <<'END_OF_TEXT'
relay_dir = /etc/sandlot/relay
incus_client_cert_file = /etc/sandlot/incus-client.pem
incus_client_key_file = /etc/sandlot/incus-client.key
END_OF_TEXT
sandlotctl host authority
systemctl restart sandlot.target
sandlotctl nginx-config --output /etc/sandlot/nginx && nginx -t && systemctl reload nginx
systemctl enable --now sandlot-hosts
# With the other programs, it reads changed settings.
before=$(systemctl show --property MainPID --value sandlot-hosts)
systemctl stop sandlot.target
wait_until 300 sh -c '! systemctl is-active --quiet sandlot-hosts'
systemctl start sandlot.target
wait_until 300 systemctl is-active --quiet sandlot-hosts
[[ $(systemctl show --property MainPID --value sandlot-hosts) != "$before" ]]

sandlotctl user create ann
sandlotctl team create acme --plan pro --owner ann
(umask 077 && sandlotctl key create --user ann --team acme --scope write >/root/key)

second 'mkdir -p /root/packages && tar -x -C /root/packages -f /dev/vdb && cd /root/packages &&
    DEBIAN_FRONTEND=noninteractive apt-get -y -o Dpkg::Use-Pty=0 -o Dpkg::Options::=--force-unsafe-io \
        --no-install-recommends install ./sandlot-ctl_*.deb ./sandlot-agent_*.deb ./sandlot-runtime_*.deb' </dev/null
token=$(sandlotctl --json host token h7 --range 10.89.0.0/16 --network 10.64.0.0/10 --front 192.0.2.1:443 |
    jq -er .token)
second "sandlot-host-join --pool-size 4GiB -" <<<"$token" 2>&1 | tee /tmp/join
grep -E "is (29|30)[0-9] s behind the front" /tmp/join
sandlotctl host list
condition_is up
! sandlotctl doctor >/tmp/doctor || fail "doctor does not see the clock"
grep "clock of h7" /tmp/doctor
