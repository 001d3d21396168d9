# SPDX-License-Identifier: GPL-2.0-or-later
# The packages are installed once more while a client sends requests and a sandbox runs, as an upgrade does: each
# request is answered, the sandbox continues, and a pause keeps its memory.
# shellcheck shell=bash

begin kept
ask_all_the_time
cd /root/packages || fail "the packages are gone"
apt-get -y -o Dpkg::Use-Pty=0 -o Dpkg::Options::=--force-unsafe-io --no-install-recommends install --reinstall ./*.deb </dev/null
all_were_answered
still_runs kept
wait_until 900 sandlotctl doctor
pause_and_resume kept
sandlot rm kept
