# SPDX-License-Identifier: GPL-2.0-or-later
# A whole Debian machine in QEMU: its own kernel with AppArmor, cgroup v2 and systemd. It runs with KVM if Debian's
# kernel boots with it here, and otherwise with QEMU's emulator, which is ten to twenty times slower.
# shellcheck shell=bash

QEMU_CACHE=$CACHE_DIR/machines
QEMU_PROGRAM=${SANDLOT_QEMU:-qemu-system-x86_64}
QEMU_PORT=${SANDLOT_MACHINE_PORT:-2322}
QEMU_CONSOLE=$QEMU_CACHE/console.log
QEMU_MONITOR=$QEMU_CACHE/monitor.sock
QEMU_DISK_SIZE=14G
QEMU_MEMORY_MB=5120
# Waits are for a machine that is emulated on two busy processors.
QEMU_BOOT_S=1800
QEMU_SSH_OPTIONS=(-q -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o ConnectTimeout=60
    -o ServerAliveInterval=30 -o ServerAliveCountMax=20)

# What a bare installation has, and what the tests below need of it.
QEMU_PACKAGES='apparmor apt-utils ca-certificates cryptsetup dbus debconf ifupdown initramfs-tools iproute2 kmod logrotate
    openssh-server procps systemd systemd-sysv udev'

# qemu_sources RELEASE: lines for apt, from this machine's own mirror.
qemu_sources()
{
    local mirror security

    mirror=$(packages_base_mirror)
    security=$(packages_mirror "$(debian_codename)-security")
    printf 'deb %s %s main\n' "$mirror" "$1" "$mirror" "$1-updates" "$mirror" "$1-backports"
    [[ -z $security ]] || printf 'deb %s %s-security main\n' "$security" "$1"
}

# qemu_newer RELEASE: what the release has too old, and its backports have.
qemu_newer()
{
    [[ $1 != bookworm ]] ||
        printf '%s/bookworm-backports\n' incus-base incus-client btrfs-progs
}

# qemu_later RELEASE: the kernel that the set-up will ask for. It is installed here, because an emulated machine takes
# ten minutes for that, but Debian's own kernel boots first.
qemu_later()
{
    [[ $1 != bookworm ]] || echo linux-image-cloud-amd64/bookworm-backports
}

# qemu_needs DIRECTORY: what the packages in it depend on, as "apt-get satisfy" reads it.
qemu_needs()
{
    local package

    for package in "$1"/*.deb; do
        dpkg-deb --field "$package" Depends | tr , '\n'
    done | sed 's/^ *//' | grep -v '^sandlot' | grep . | sort -u | paste -sd ,
}

# qemu_base_key RELEASE DIRECTORY: names the disk that qemu_base would make.
qemu_base_key()
{
    {
        qemu_sources "$1"
        qemu_newer "$1"
        qemu_later "$1"
        qemu_needs "$2"
        declare -p QEMU_PACKAGES QEMU_DISK_SIZE
        declare -f qemu_tree qemu_initrd qemu_settle qemu_base
    } | sha256sum | cut -c 1-16
}

# qemu_initrd ROOT FOLDER: puts the newest kernel of ROOT into FOLDER, with an initrd that only loads the disk's modules
# and mounts the disk. Debian's own initrd takes an emulated machine minutes to make.
qemu_initrd()
{
    local root=$1 folder=$2 version tree module

    mkdir -p "$folder"
    version=$(find "$root/lib/modules" -mindepth 1 -maxdepth 1 -printf '%f\n' | sort -V | tail -n 1)
    tree=$(mktemp -d "$QEMU_CACHE/work.XXXXXX")
    at_exit rm -rf "$tree"
    mkdir -p "$tree"/{bin,dev,proc,root,modules}
    cp "$root/bin/busybox" "$tree/bin/busybox"
    for module in virtio_pci virtio_blk ext4; do
        modprobe -d "$root" -S "$version" --show-depends "$module"
    done | sed -n 's/^insmod \([^ ]*\).*/\1/p' | awk '!seen[$0]++' | while read -r module; do
        cp "$module" "$tree/modules/"
        echo "/bin/busybox insmod /modules/$(basename "$module" .xz)" >>"$tree/modules/load"
    done
    find "$tree/modules" -name '*.xz' -exec xz -d {} +
    cat >"$tree/init" <<'END_OF_TEXT'
#!/bin/busybox sh
/bin/busybox mount -t devtmpfs dev /dev
/bin/busybox mount -t proc proc /proc
. /modules/load
while [ ! -b /dev/vda ]; do /bin/busybox sleep 1; done
/bin/busybox mount -t ext4 /dev/vda /root
/bin/busybox umount /proc
exec /bin/busybox switch_root /root /sbin/init
END_OF_TEXT
    chmod 755 "$tree/init"
    touch "$tree/modules/load"
    (cd "$tree" && find . | bin/busybox cpio -o -H newc | gzip -1) >"$folder/initrd"
    cp "$root/boot/vmlinuz-$version" "$folder/vmlinuz"
    rm -rf "$tree"
}

# qemu_tree RELEASE DIRECTORY ROOT: the machine's file system, made here because it takes seconds here. No initrd is made
# in it, neither here nor in the machine.
qemu_tree()
{
    local release=$1 root=$3 newer later include

    newer=$(qemu_newer "$release" | paste -sd ' ')
    later=$(qemu_later "$release")
    include=$(tr -s "[:space:]" , <<<"$QEMU_PACKAGES linux-image-cloud-amd64")
    # Debian 13 opens the devices of /etc/crypttab with a package of its own.
    [[ $release == bookworm ]] || include+=systemd-cryptsetup
    qemu_sources "$release" >"${root%/*}/sources.list"
    # shellcheck disable=SC2016 # mmdebstrap's shell
    mmdebstrap --mode=root --variant=minbase --format=directory --dpkgopt=force-unsafe-io \
        --essential-hook='ln -s /bin/true "$1/usr/local/sbin/update-initramfs"' --include="${include%,}" \
        "$release" "$root" "${root%/*}/sources.list" ||
        die "mmdebstrap could not make the machine's root"
    cp -L /etc/resolv.conf "$root/etc/resolv.conf"
    printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
    chmod 755 "$root/usr/sbin/policy-rc.d"
    # shellcheck disable=SC2016 # the inner shell's
    within_root "$root" -- sh -euc '
        PATH=/usr/local/sbin:$PATH
        install="apt-get -y -q -o Dpkg::Use-Pty=0 -o Dpkg::Options::=--force-unsafe-io --no-install-recommends"
        apt-get -q update
        $install install $1 mariadb-server
        $install satisfy "$2"
        apt-get clean' sh "$newer" "$(qemu_needs "$2")" ||
        die "what the packages depend on could not be installed"
    qemu_initrd "$root" "${root%/*}"
    # shellcheck disable=SC2016 # the inner shell's
    [[ -z $later ]] || within_root "$root" -- sh -euc '
        PATH=/usr/local/sbin:$PATH
        apt-get -y -q -o Dpkg::Use-Pty=0 -o Dpkg::Options::=--force-unsafe-io --no-install-recommends install "$1"
        apt-get clean' sh "$later" || die "the newer kernel could not be installed"
    qemu_initrd "$root" "${root%/*}/newer"
    rm -f "$root/usr/sbin/policy-rc.d"
}

# qemu_settle ROOT: how this script reaches it.
qemu_settle()
{
    local root=$1

    [[ -s $QEMU_CACHE/key ]] || ssh-keygen -q -t ed25519 -N '' -f "$QEMU_CACHE/key"
    install -d -m 700 "$root/root/.ssh"
    install -m 600 "$QEMU_CACHE/key.pub" "$root/root/.ssh/authorized_keys"
    printf '[Match]\nName=e*\n[Network]\nDHCP=yes\n' >"$root/etc/systemd/network/lan.network"
    ln -sf /lib/systemd/system/systemd-networkd.service "$root/etc/systemd/system/multi-user.target.wants/"
    # An emulated machine is slower than systemd's time-outs for services and devices.
    install -d -m 755 "$root/etc/systemd/system.conf.d"
    printf '[Manager]\nDefaultTimeoutStartSec=900\nDefaultDeviceTimeoutSec=900\n' >"$root/etc/systemd/system.conf.d/slow.conf"
    echo nameserver 10.0.2.3 >"$root/etc/resolv.conf"
    echo machine >"$root/etc/hostname"
    echo '127.0.0.1 localhost machine' >"$root/etc/hosts"
    echo '/dev/vda / ext4 rw,noatime 0 1' >"$root/etc/fstab"
}

# qemu_base RELEASE DIRECTORY: sets BASE, a folder with disk, kernel and initrd. Its folder "newer" has the kernel that
# the set-up asks for.
qemu_base()
{
    local work

    BASE=$QEMU_CACHE/$1-$(qemu_base_key "$1" "$2")
    if [[ -s $BASE/disk.raw ]]; then
        echo "the disk is there"
        return 0
    fi
    mkdir -p "$QEMU_CACHE"
    rm -rf "$QEMU_CACHE"/work.* "$QEMU_CACHE/$1"-*
    work=$(mktemp -d "$QEMU_CACHE/work.XXXXXX")
    at_exit rm -rf "$work"
    qemu_tree "$1" "$2" "$work/root"
    qemu_settle "$work/root"
    truncate -s "$QEMU_DISK_SIZE" "$work/disk.raw"
    mke2fs -q -t ext4 -d "$work/root" "$work/disk.raw"
    rm -rf "$work/root"
    mv "$work" "$BASE"
}

# qemu_kvm FOLDER: whether the kernel in FOLDER says a word with KVM. A kernel with KVM_PVM has a /dev/kvm that starts
# QEMU and boots no kernel but its own.
qemu_kvm()
{
    local console=$QEMU_CACHE/kvm.log

    [[ -c /dev/kvm ]] || return 1
    timeout 20 "$QEMU_PROGRAM" -accel kvm -cpu max -m 512 -kernel "$1/vmlinuz" \
        -append "console=ttyS0 earlyprintk=ttyS0 panic=-1" -no-reboot -display none -serial "file:$console" \
        -monitor none </dev/null >"$QEMU_CACHE/kvm-qemu.log" 2>&1 || true
    grep -q 'Linux version' "$console"
}

# qemu_accelerator FOLDER: sets QEMU_ACCELERATOR and QEMU_CPU, once. QEMU_KVM=needed refuses the emulator.
qemu_accelerator()
{
    [[ -z ${QEMU_ACCELERATOR:-} ]] || return 0
    if qemu_kvm "$1"; then
        QEMU_ACCELERATOR=kvm
        QEMU_CPU=max
        return 0
    fi
    [[ ${QEMU_KVM:-} != needed ]] || die "Debian's kernel does not boot with KVM here: $QEMU_CACHE/kvm-qemu.log"
    QEMU_ACCELERATOR=tcg,thread=multi,tb-size=1024
    # QEMU 7.2 emulates cmpxchg16b wrongly: a kernel of 6.12 uses it without a lock and then panics.
    QEMU_CPU=max,la57=off,-cx16
}

# qemu_boot DISK FOLDER [OPTION…]: until it lets us in. FOLDER has its kernel and initrd; options are QEMU's.
qemu_boot()
{
    local disk=$1 folder=$2

    shift 2
    qemu_accelerator "$folder"
    # On a busy machine the kernel's check of the timer sees no tick, and the kernel panics. A panic ends QEMU.
    nice -n 5 setsid "$QEMU_PROGRAM" -accel "$QEMU_ACCELERATOR" -cpu "$QEMU_CPU" -smp 2 \
        -m "$QEMU_MEMORY_MB" -kernel "$folder/vmlinuz" -initrd "$folder/initrd" \
        -append "root=/dev/vda rw console=ttyS0 mitigations=off net.ifnames=0 no_timer_check panic=-1" -no-reboot \
        -drive "file=$disk,format=qcow2,if=virtio,cache=unsafe" "$@" \
        -nic "user,model=virtio-net-pci,hostfwd=tcp:127.0.0.1:$QEMU_PORT-:22" -display none \
        -serial "file:$QEMU_CONSOLE" -monitor "unix:$QEMU_MONITOR,server=on,wait=off" \
        >"$QEMU_CONSOLE.qemu" 2>&1 </dev/null 30>&- 38>&- 39>&- &
    QEMU_PID=$!
    wait_for "$QEMU_BOOT_S" qemu_is_up || die "the machine does not come up: $QEMU_CONSOLE"
}

# qemu_lan HERE THERE: prints the options of a network card at a cable to another machine. HERE and THERE are UDP ports.
# The slot is one after those that QEMU chooses, so that the card is eth1.
qemu_lan()
{
    echo "-netdev socket,id=lan,localaddr=127.0.0.1:$1,udp=127.0.0.1:$2" \
        "-device virtio-net-pci,netdev=lan,id=lan-card,addr=0x1d,mac=52:54:00:00:02:$(printf %02x "$(($1 % 256))")"
}

# qemu_cable on|off: the other machine hears nothing while it is off.
qemu_cable()
{
    perl -MIO::Socket::UNIX -e '
        my $monitor = IO::Socket::UNIX->new(Peer => $ARGV[0]) or die "no monitor: $!";
        print $monitor "set_link lan-card $ARGV[1]\n";
        $monitor->flush;
        $monitor->shutdown(1);
        1 while <$monitor>' "$QEMU_MONITOR" "$1"
}

# within_qemu COMMAND…: run by a shell of the machine; standard input is passed on.
within_qemu()
{
    ssh "${QEMU_SSH_OPTIONS[@]}" -i "$QEMU_CACHE/key" -p "$QEMU_PORT" root@127.0.0.1 "$@"
}

qemu_is_up()
{
    local state

    process_gone "$QEMU_PID" && die "QEMU ended: $QEMU_CONSOLE.qemu"
    state=$(within_qemu systemctl is-system-running </dev/null) || true
    [[ $state == running || $state == degraded ]]
}

# qemu_halt: in order; what does not end is killed.
qemu_halt()
{
    [[ -n ${QEMU_PID:-} ]] || return 0
    within_qemu systemctl poweroff </dev/null || true
    wait_for 600 process_gone "$QEMU_PID" || kill -KILL "$QEMU_PID" || true
    QEMU_PID=
}

# qemu_kill: as a power cut does.
qemu_kill()
{
    kill -KILL "$QEMU_PID"
    wait_for 30 process_gone "$QEMU_PID" || die "QEMU does not end"
    # Its last thread may still hold the lock of the disk.
    wait "$QEMU_PID" 2>/dev/null || true
    QEMU_PID=
}

# qemu_stop: also after a failure. QEMU writes its cached disk blocks when it gets SIGTERM.
qemu_stop()
{
    [[ -n ${QEMU_PID:-} ]] || return 0
    kill -TERM "$QEMU_PID" 2>/dev/null || true
    wait_for 30 process_gone "$QEMU_PID" || kill -KILL "$QEMU_PID" 2>/dev/null || true
    QEMU_PID=
}

# qemu_encrypt: a device for the storage pool, as doc/howto/encrypt-the-pool.md makes it, here on a file.
qemu_encrypt()
{
    # shellcheck disable=SC2016 # the machine's
    within_qemu bash -euo pipefail -s <<'END_OF_TEXT'
install -d -m 755 /etc/sandlot
(umask 077 && head -c 64 /dev/urandom >/etc/sandlot/pool.key && truncate -s 6G /var/lib/pool.luks)
cryptsetup luksFormat --batch-mode --type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 \
    --key-file /etc/sandlot/pool.key /var/lib/pool.luks
cryptsetup open --key-file /etc/sandlot/pool.key /var/lib/pool.luks sandlot-pool
echo 'sandlot-pool /var/lib/pool.luks /etc/sandlot/pool.key luks,headless' >>/etc/crypttab
echo 'sandlot sandlot/pool-device string /dev/mapper/sandlot-pool' | debconf-set-selections
END_OF_TEXT
}

# qemu_install DOMAIN: the packages on the second drive, as an operator does. An emulated machine decrypts slowly what
# comes by SSH.
qemu_install()
{
    # shellcheck disable=SC2016 # the machine's
    within_qemu bash -euo pipefail -s "$1" <<'END_OF_TEXT'
rm -rf /root/packages
mkdir /root/packages
tar -x -C /root/packages -f /dev/vdb
export DEBIAN_FRONTEND=noninteractive
echo "sandlot sandlot/domain string $1" | debconf-set-selections
cd /root/packages
apt-get -y -o Dpkg::Use-Pty=0 -o Dpkg::Options::=--force-unsafe-io --no-install-recommends install ./*.deb </dev/null
END_OF_TEXT
}

# qemu_printed_kernel: prints the command that the set-up has printed about the kernel, if it has.
qemu_printed_kernel()
{
    grep -o 'run "apt-get install -t [a-z]*-backports linux-image-[a-z0-9-]*", reboot, and run "sandlot-setup"' "$STEP_LOG" |
        tail -n 1 | cut -d '"' -f 2 || true
}

# qemu_newer_kernel FOLDER COMMAND: runs the command that the set-up has printed, which finds the kernel installed, boots
# that kernel, and runs the set-up. FOLDER has the kernel afterwards.
qemu_newer_kernel()
{
    within_qemu "DEBIAN_FRONTEND=noninteractive ${2/install/install -y -o Dpkg::Use-Pty=0}" </dev/null ||
        die "this command of the set-up fails: $2"
    # This machine has no boot loader.
    cp "$BASE/newer/vmlinuz" "$BASE/newer/initrd" "$1"
    qemu_halt
    qemu_boot "$1/disk.qcow2" "$1"
    within_qemu sandlot-setup </dev/null || die "the set-up fails with the newer kernel"
}

# qemu_installed DIRECTORY DOMAIN KERNEL POOL: sets INSTALLED, a folder with a disk that has the packages, set up and
# switched off, and with its kernel. KERNEL is the one that the packages are installed on: "own" or "newer". POOL is the
# storage pool: "plain" or "encrypted".
qemu_installed()
{
    local key new command kernel=$BASE

    [[ $3 == own ]] || kernel=$BASE/newer
    key=$({
        printf '%s\n' "$BASE" "$2" "$3" "$4"
        cat "$1"/*.deb
    } | sha256sum | cut -c 1-16)
    INSTALLED=$BASE/installed-$key
    if [[ -d $INSTALLED ]]; then
        echo "the disk with these packages is there"
        return 0
    fi
    new=$BASE/installing
    rm -rf "$BASE"/installed-* "$new"
    mkdir "$new"
    cp "$kernel/vmlinuz" "$kernel/initrd" "$new"
    qemu-img create -q -f qcow2 -b "$BASE/disk.raw" -F raw "$new/disk.qcow2"
    tar -c -C "$1" -f "$new/packages.tar" --exclude='*-dbgsym*' .
    qemu_boot "$new/disk.qcow2" "$new" -drive "file=$new/packages.tar,format=raw,if=virtio,readonly=on"
    [[ $4 == plain ]] || qemu_encrypt || die "the encrypted device could not be made"
    qemu_install "$2" || die "the packages could not be installed"
    command=$(qemu_printed_kernel)
    [[ -z $command ]] || qemu_newer_kernel "$new" "$command"
    qemu_halt
    rm -f "$new/packages.tar"
    mv "$new" "$INSTALLED"
}
