# SPDX-License-Identifier: GPL-2.0-or-later
# The packages are removed, without a purge, and installed again while a sandbox runs: the service answers as before, and
# the sandbox continues. An upgrade without the database's server fails, and `dpkg --configure -a` completes it later.
# shellcheck shell=bash

begin kept
apt-get -y -o Dpkg::Use-Pty=0 remove 'sandlot*' </dev/null
nft list table inet sandlot >/dev/null
cd /root/packages || fail "the packages are gone"
apt-get -y -o Dpkg::Use-Pty=0 -o Dpkg::Options::=--force-unsafe-io --no-install-recommends install ./*.deb </dev/null
wait_until 900 sandlotctl doctor
still_runs kept
policy_holds kept
pause_and_resume kept

systemctl stop mariadb
! apt-get -y -o Dpkg::Use-Pty=0 --no-install-recommends install --reinstall ./sandlot-api_*.deb </dev/null ||
    fail "an upgrade without a database has succeeded"
systemctl start mariadb
dpkg --configure -a
wait_until 900 sandlotctl doctor
still_runs kept
sandlot rm kept
