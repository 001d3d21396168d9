# SPDX-License-Identifier: GPL-2.0-or-later
# Virtual machines that wait: after two creates one is kept ready, the next create takes it, and so does a client of
# E2B that names the template. Prints how long a create and the first command take with it, and with a container.
# machines
# shellcheck shell=bash

# seconds COMMAND…: prints how long it takes.
seconds()
{
    local begun=$EPOCHREALTIME

    "$@" >/dev/null
    awk "BEGIN { printf \"%.2f\n\", $EPOCHREALTIME - $begun }"
}

# first_command NAME TEMPLATE: a create, and the first command.
first_command()
{
    sandlot create --name "$1" --timeout 12h "$2" && sandlot exec -n "$1" true
}

machine_waits()
{
    sandlotctl --json status | jq -e '.warm_pool[] | select(.template == "machine") | .waiting > 0'
}

taken_warm()
{
    sandlotctl --json status | jq '[.warm_pool[] | select(.template == "machine") | .warm] | add'
}

was_measured()
{
    sandlot metrics --json warm | jq -e '[.. | .memory_used_bytes? | numbers] | max > 0'
}

is_stopped()
{
    [[ $(sandlot show --json warm | jq -r .state) == stopped ]]
}

# Of the 15 % of the machine's memory that warm instances may take, none is left for one of 512 MiB.
grep -q '^warm_memory_percent' /etc/sandlot/sandlot.conf || echo 'warm_memory_percent = 50' >>/etc/sandlot/sandlot.conf
systemctl restart sandlot-dispatcher
for name in cold1 cold2; do
    sandlot create --name "$name" --timeout 12h machine
    sandlot rm "$name"
done
wait_until 900 machine_waits
echo "a virtual machine that waited: $(seconds first_command warm machine) s"
echo "a container that waited: $(seconds first_command container python) s"
[[ $(taken_warm) -ge 1 ]] || fail "no create took the machine that waited"
sandlot rm container

# It is a sandbox as any other: metrics, a deadline that pauses it, and a resume.
wait_until 300 was_measured
id=$(id_of warm)
api PATCH "/sandboxes/$id" '{"lifecycle": {"on_timeout": "pause"}}' | tee /tmp/answer
[[ $(tail -n 1 /tmp/answer) == 200 ]]
sandlot timeout warm 5s
wait_until 300 is_stopped
[[ $(sandlot resume warm) == memory ]]
sandlot rm warm

# The calls of a client of E2B.
e2b()
{
    curl -sf --max-time 300 --cacert "$SANDLOT_CA" -H "X-API-Key: $SANDLOT_KEY" -H 'Content-Type: application/json' "$@"
}
sandbox=$(e2b -d '{"templateID": "machine", "timeout": 600}' "$SANDLOT_URL/sandboxes" | jq -er .sandboxID)
[[ $(e2b "$SANDLOT_URL/sandboxes/$sandbox" | jq -r .state) == running ]]
e2b -X DELETE "$SANDLOT_URL/sandboxes/$sandbox"
