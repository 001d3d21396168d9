# SPDX-License-Identifier: GPL-2.0-or-later
# Sandboxes that burn all processors leave the services of the machine what they need: of two loops for each processor,
# one set in a sandbox each and one in a service, the service's get most of the time.
# shellcheck shell=bash disable=SC2016

# spent GROUP: microseconds of processor time.
spent()
{
    awk '$1 == "usage_usec" { print $2 }' "/sys/fs/cgroup/$1/cpu.stat"
}

[[ $(systemctl show --property Slice --value incus) == sandlot.slice ]]

names=(burns1 burns2 burns3)
trap 'systemctl stop burner; for name in "${names[@]}"; do sandlot rm "$name"; done' EXIT
for name in "${names[@]}"; do
    begin "$name"
    sandlot exec -n "$name" sh -c 'for i in 1 2; do setsid sh -c "while :; do :; done" >/dev/null 2>&1 </dev/null & done'
done
systemd-run --unit burner sh -c "for i in $(seq -s ' ' "$(nproc)"); do while :; do :; done & done; wait"
sleep 10

groups=("$(cd /sys/fs/cgroup && echo lxc.payload.*)")
read -ra groups <<<"${groups[0]}"
sandboxes() { local group sum=0; for group in "${groups[@]}"; do sum=$((sum + $(spent "$group"))); done; echo "$sum"; }
before=$(sandboxes) burner=$(spent system.slice/burner.service)
sleep 20
sandboxes=$(($(sandboxes) - before)) burner=$(($(spent system.slice/burner.service) - burner))
echo "in the sandboxes $sandboxes us, in the service $burner us"
[[ $burner -gt $((2 * sandboxes)) ]] || fail "the sandboxes took $sandboxes us, the service $burner us"
