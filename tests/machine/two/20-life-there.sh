# SPDX-License-Identifier: GPL-2.0-or-later
# A sandbox on the other machine through its life, through the relay.
# shellcheck shell=bash disable=SC2016

# An upgrade of the host gives nginx there the relay's configuration of the new version.
second 'echo "# of an earlier version" >>/etc/sandlot/relay/sandlot-relay.conf && cd /root/packages &&
    DEBIAN_FRONTEND=noninteractive apt-get -y -o Dpkg::Use-Pty=0 -o Dpkg::Options::=--force-unsafe-io \
        --no-install-recommends --reinstall install ./sandlot-runtime_*.deb &&
    ! grep "of an earlier version" /etc/sandlot/relay/sandlot-relay.conf' </dev/null

sandlotctl host drain local --stay
begin away
[[ $(host_of away) == h7 ]]
[[ $(sandlot exec -n away sh -c 'echo $((6 * 7))') == 42 ]]
files_come_back away
preview_answers away
pause_and_resume away
pause_and_resume away
policy_holds away

id=$(id_of away)
api POST "/sandboxes/$id/fork" '{}' | tee /tmp/answer
[[ $(tail -n 1 /tmp/answer) == 201 ]]
fork=$(head -n 1 /tmp/answer | jq -er '.forks[0].sandbox.id // .forks[0].id')
wait_until 300 still_runs "$fork"
sandlot rm "$fork"

# The clocks of the machines differ by minutes, and deadlines are the front's.
left=$(($(date -d "$(sandlot show --json away | jq -er .deadline)" +%s) - $(date +%s)))
[[ $left -gt 36000 && $left -le 43200 ]] || fail "$left seconds are left"
sandlotctl host activate local
wait_until 300 well
