# SPDX-License-Identifier: GPL-2.0-or-later
# Prints what the encryption of the pool costs here: the cipher alone, 128 MiB written to the pool and to a plain pool
# beside it, a create, and a pause with 128 MiB of random memory.
# encrypted
# shellcheck shell=bash disable=SC2016

# seconds COMMAND…: prints how long it takes.
seconds()
{
    local begun=$EPOCHREALTIME

    "$@" >/dev/null
    awk "BEGIN { printf \"%.2f s\n\", $EPOCHREALTIME - $begun }"
}

# fill FOLDER: writes 128 MiB of random bytes there, to the disk.
fill()
{
    dd if=/root/random of="$1/filled" bs=1M conv=fsync status=none
    rm "$1/filled"
}

head -c 128M /dev/urandom >/root/random
pool=$(sandlotctl --json host list | jq -er '.hosts[0].pool')
mounted=/var/lib/incus/storage-pools/$pool
[[ $(readlink -f "$(findmnt -no SOURCE "$mounted")") == /dev/dm-* ]] || fail "the pool is not on dm-crypt"
truncate -s 1G /root/plain.img
mkfs.btrfs -q /root/plain.img
mkdir -p /mnt/plain
mount -o loop /root/plain.img /mnt/plain

cryptsetup benchmark --cipher aes-xts --key-size 512
sandlotctl doctor | grep -i encryption
for _ in 1 2 3; do
    echo "128 MiB to the plain pool: $(seconds fill /mnt/plain)"
    echo "128 MiB to the encrypted pool: $(seconds fill "$mounted")"
done
echo "create: $(seconds sandlot create --name heavy --timeout 12h)"
sandlot cp /root/random heavy:/home/user/random
sandlot exec -n heavy sh -c 'setsid python3 -c "
import time
held = open(\"/home/user/random\", \"rb\").read()
time.sleep(86400)" >/dev/null 2>&1 </dev/null &'
sleep 20
echo "pause: $(seconds sandlot pause heavy)"
echo "resume: $(seconds sandlot resume heavy)"
sandlot rm heavy
umount /mnt/plain
rm -f /root/plain.img /root/random
