# SPDX-License-Identifier: GPL-2.0-or-later
# The storage pool on dm-crypt, where the kernel has it: the disks of sandboxes, and the memory of
# paused ones, are then nowhere in clear. The key lies beside the key ring and is root's.
#
# pool file (LUKS2) -> /dev/mapper/sandlot-STACK -> btrfs of Incus
# shellcheck shell=bash

crypt_paths()
{
    CRYPT_FILE=$STATE_ROOT/pool.luks
    CRYPT_KEY=$ETC_DIR/pool.key
    CRYPT_NAME=sandlot-$STACK
}

# crypt_possible: the kernel has dm-crypt, there is a udev that names what it makes, and cryptsetup is
# installed.
crypt_possible()
{
    modprobe -q dm_crypt 2>/dev/null || true
    grep -qs ' device-mapper$' /proc/devices && [[ -d /run/udev/data ]] || return 1
    command -v cryptsetup >/dev/null && return
    note "the storage pool is not encrypted: install cryptsetup-bin to encrypt a new one"
    return 1
}

crypt_is_open()
{
    [[ -e /dev/mapper/$CRYPT_NAME ]]
}

# crypt_open: the pool's device, from what was made before; nothing when there is none.
crypt_open()
{
    crypt_paths
    if [[ ! -s $CRYPT_FILE ]] || crypt_is_open; then
        return 0
    fi
    # Blocks that the pool gives back go back to the file, as without encryption.
    cryptsetup open --type luks2 --key-file "$CRYPT_KEY" --allow-discards "$CRYPT_FILE" \
        "$CRYPT_NAME" || die "cannot open the encrypted storage pool $CRYPT_FILE with $CRYPT_KEY"
}

# crypt_make SIZE: a new device of that size; sets CRYPT_DEVICE.
crypt_make()
{
    crypt_paths
    crypt_close
    (umask 077 && head -c 64 /dev/urandom >"$CRYPT_KEY")
    rm -f "$CRYPT_FILE"
    (umask 077 && truncate -s "$(numfmt --from=auto "${1%B}")" "$CRYPT_FILE")
    # The key is random: nothing has to be made slow for who guesses.
    if cryptsetup luksFormat --batch-mode --type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 \
        --key-file "$CRYPT_KEY" "$CRYPT_FILE" && crypt_open; then
        CRYPT_DEVICE=/dev/mapper/$CRYPT_NAME
        return 0
    fi
    crypt_discard
    return 1
}

# crypt_close: after the pool is unmounted; also what a run that was killed has left open.
crypt_close()
{
    crypt_paths
    if crypt_is_open; then
        cryptsetup close "$CRYPT_NAME" || echo "the encrypted pool $CRYPT_NAME is still in use"
    fi
}

crypt_discard()
{
    crypt_close
    rm -f "$CRYPT_FILE" "$CRYPT_KEY"
}
