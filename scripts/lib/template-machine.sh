# SPDX-License-Identifier: GPL-2.0-or-later
# The image of a virtual machine, from the tree of a container's image: a disk with Debian's kernel for clouds, an
# initial file system with sandlot-boot and the modules that the disk and the network card need, and the tree.
# shellcheck shell=bash

# The agent needs tcp_diag to list the ports that have servers.
TEMPLATE_MACHINE_MODULES='virtio_pci virtio_scsi sd_mod virtio_blk ext4 virtio_net virtio_rng evdev button tcp_diag'
TEMPLATE_MACHINE_FIRMWARE_MB=96
# Free space in the image. At boot, the file system grows to the size of the sandbox's disk.
TEMPLATE_MACHINE_SPARE_MB=256

# template_machine_kernel FOLDER: unpacks the newest kernel of the machine's mirror.
template_machine_kernel()
{
    local package

    package=$(apt-cache depends --important linux-image-cloud-amd64 |
        sed -n 's/^ *Depends: \(linux-image-[^ ]*\)$/\1/p' | head -n 1)
    [[ -n $package ]] || die "apt knows no package linux-image-cloud-amd64: run apt-get update"
    (cd "$1" && apt-get -q download "$package") || die "cannot fetch $package"
    dpkg-deb --extract "$1/$package"_*.deb "$1"
    rm -f "$1"/*.deb
    # Where a Debian tree without /usr merged into / has them.
    [[ ! -d $1/usr/lib/modules ]] || mv "$1/usr/lib/modules" "$1/lib/"
}

# template_machine_initrd KERNEL VERSION BOOT OUTPUT: KERNEL is the folder of template_machine_kernel, BOOT sandlot-boot.
template_machine_initrd()
{
    local kernel=$1 version=$2 boot=$3 output=$4 tree module name

    tree=$(mktemp -d "$kernel/initrd.XXXXXX")
    mkdir -p "$tree"/{dev,proc,sys,root,modules}
    install -m 755 "$boot" "$tree/init"
    depmod -b "$kernel" "$version"
    for module in $TEMPLATE_MACHINE_MODULES; do
        modprobe -d "$kernel" -S "$version" --show-depends "$module" ||
            die "kernel $version has no module $module"
    done | sed -n 's/^insmod \([^ ]*\).*/\1/p' | awk '!seen[$0]++' | while read -r module; do
        name=$(basename "$module" .xz)
        case $module in
        *.xz) xz -dc "$module" >"$tree/modules/$name" ;;
        *) cp "$module" "$tree/modules/$name" ;;
        esac
        echo "/modules/$name" >>"$tree/modules/load"
    done
    (cd "$tree" && find . -mindepth 1 | sort | cpio --quiet -o -H newc -R 0:0 | gzip -6n) >"$output"
    rm -rf "$tree"
}

# template_machine_firmware KERNEL VERSION INITRD OUTPUT: the partition that UEFI reads. systemd-boot starts the kernel.
template_machine_firmware()
{
    local kernel=$1 version=$2 initrd=$3 output=$4 work=$1/firmware

    mkdir -p "$work"
    printf 'timeout 0\n' >"$work/loader.conf"
    printf '%s\n' 'title sandlot' 'linux /vmlinuz' 'initrd /initrd' \
        'options console=ttyS0 quiet loglevel=3 net.ifnames=0 panic=-1 ipv6.disable=1' >"$work/sandlot.conf"
    truncate -s "${TEMPLATE_MACHINE_FIRMWARE_MB}M" "$output"
    mformat -i "$output" -F -v SANDLOT ::
    mmd -i "$output" ::/EFI ::/EFI/BOOT ::/loader ::/loader/entries
    mcopy -i "$output" /usr/lib/systemd/boot/efi/systemd-bootx64.efi ::/EFI/BOOT/BOOTX64.EFI
    mcopy -i "$output" "$work/loader.conf" ::/loader/loader.conf
    mcopy -i "$output" "$work/sandlot.conf" ::/loader/entries/sandlot.conf
    mcopy -i "$output" "$kernel/boot/vmlinuz-$version" ::/vmlinuz
    mcopy -i "$output" "$initrd" ::/initrd
}

# template_machine_disk FIRMWARE TREE OUTPUT: the disk, as qcow2. sandlot-boot lets the second partition end with
# the disk of its sandbox.
template_machine_disk()
{
    local firmware=$1 tree=$2 output=$3 raw=$3.raw size_mb first_mb

    size_mb=$(($(du -s --apparent-size -BM "$tree" | cut -dM -f1) * 5 / 4 + TEMPLATE_MACHINE_SPARE_MB))
    first_mb=$((1 + TEMPLATE_MACHINE_FIRMWARE_MB))
    truncate -s "${size_mb}M" "$raw.root"
    mke2fs -q -t ext4 -b 4096 -m 0 -L sandlot -E lazy_itable_init=1,lazy_journal_init=1 -d "$tree" "$raw.root"
    truncate -s "$((first_mb + size_mb))M" "$raw"
    sfdisk --quiet "$raw" <<END_OF_TEXT
label: dos
start=1MiB, size=${TEMPLATE_MACHINE_FIRMWARE_MB}MiB, type=ef, bootable
start=${first_mb}MiB, size=${size_mb}MiB, type=83
END_OF_TEXT
    dd if="$firmware" of="$raw" bs=1M seek=1 conv=notrunc,sparse status=none
    dd if="$raw.root" of="$raw" bs=1M seek="$first_mb" conv=notrunc,sparse status=none
    rm -f "$raw.root"
    qemu-img convert -O qcow2 -c "$raw" "$output"
    rm -f "$raw"
}

# template_machine_build IMAGE BOOT OUTPUT: from IMAGE, which template_build has made, OUTPUT.meta.tar and OUTPUT.qcow2
# for "incus image import OUTPUT.meta.tar OUTPUT.qcow2". BOOT is sandlot-boot.
template_machine_build()
{
    local image=$1 boot=$2 output=$3 work version

    work=$(mktemp -d "$TEMPLATE_CACHE/work.XXXXXX")
    at_exit rm -rf "$work"
    mkdir -p "$work/kernel/lib"
    template_machine_kernel "$work/kernel"
    version=$(find "$work/kernel/lib/modules" -mindepth 1 -maxdepth 1 -printf '%f\n' | sort -V | tail -n 1)
    template_machine_initrd "$work/kernel" "$version" "$boot" "$work/initrd"
    template_machine_firmware "$work/kernel" "$version" "$work/initrd" "$work/firmware.img"
    tar --extract --file "$image" --directory "$work" --numeric-owner
    mkdir -p "$work/rootfs/lib/modules"
    cp -a "$work/kernel/lib/modules/$version" "$work/rootfs/lib/modules/"
    template_machine_disk "$work/firmware.img" "$work/rootfs" "$output.qcow2"
    tar --create --file "$output.meta.tar" --directory "$work" --numeric-owner metadata.yaml
    rm -rf "$work"
}
