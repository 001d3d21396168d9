# SPDX-License-Identifier: GPL-2.0-or-later
# An installation is complete, and sandlotctl doctor finds nothing.
# short
# shellcheck shell=bash

dpkg-query --show --showformat '${Package} ${db:Status-Status}\n' 'sandlot*' | tee /tmp/packages
! grep -v ' installed$' /tmp/packages || fail "a package is not configured"
wait_until 900 sandlotctl doctor
sandlotctl doctor
systemctl --failed --plain --no-legend --no-pager | tee /tmp/failed
[[ ! -s /tmp/failed ]] || fail "units have failed"
sandlotctl user create ann
sandlotctl team create acme --plan pro --owner ann
(umask 077 && sandlotctl key create --user ann --team acme --scope write >/root/key)
# The kernel can end nginx without notice; its sockets stay.
systemctl kill --signal=KILL nginx
wait_until 60 sh -c '! systemctl is-active --quiet nginx'
[[ -S /run/sandlot/firewall/http.sock ]]
systemctl start nginx
wait_until 900 sandlotctl doctor
