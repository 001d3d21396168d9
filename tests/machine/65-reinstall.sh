# SPDX-License-Identifier: GPL-2.0-or-later
# The packages are installed once more while a client sends requests and a sandbox runs, as an upgrade does: each
# request is answered, the sandbox continues, and a pause keeps its memory.
# shellcheck shell=bash disable=SC2016

begin kept
cat >/root/ask <<'END_OF_TEXT'
while [[ ! -e /root/asked ]]; do
    curl -s -o /dev/null --max-time 300 --cacert "$SANDLOT_CA" -H "Authorization: Bearer $SANDLOT_KEY" \
        -w '%{http_code}\n' "$SANDLOT_URL/v1/sandboxes" || true
    sleep 1
done
END_OF_TEXT
rm -f /root/asked
setsid bash /root/ask >/root/answers 2>&1 </dev/null &
cd /root/packages || fail "the packages are gone"
apt-get -y -o Dpkg::Use-Pty=0 -o Dpkg::Options::=--force-unsafe-io --no-install-recommends install --reinstall ./*.deb </dev/null
touch /root/asked
wait_until 300 sh -c '! pgrep -f "^bash /root/ask"'
sort /root/answers | uniq -c
[[ $(grep -cx 200 /root/answers) -gt 5 ]]
! grep -vx 200 /root/answers || fail "a request was not answered"
still_runs kept
wait_until 900 sandlotctl doctor
pause_and_resume kept
sandlot rm kept
