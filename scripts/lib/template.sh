# SPDX-License-Identifier: GPL-2.0-or-later
# The default template's image: a tree of the machine's own Debian release, made once for
# given inputs and kept, to which the agent is added in a second, quick step.
# shellcheck shell=bash

TEMPLATE_CACHE=${SANDLOT_TEMPLATE_CACHE:-$CACHE_DIR/template}

# template_inputs_hash: changes when anything changes that the tree is made from.
template_inputs_hash()
{
    {
        debian_codename
        dpkg --print-architecture
        packages_base_mirror
        cat "$SCRIPTS_DIR/packages/template.txt" "$SCRIPTS_DIR/template/customize" \
            "$SCRIPTS_DIR/lib/template.sh"
        find "$SCRIPTS_DIR/template/files" -type f -printf '%P\n' -exec cat {} + | sort
    } | sha256sum | cut -c 1-16
}

template_sources()
{
    local codename mirror security

    codename=$(debian_codename)
    mirror=$(packages_base_mirror)
    security=$(packages_mirror "$codename-security")
    printf 'deb %s %s main\n' "$mirror" "$codename" "$mirror" "$codename-updates"
    if [[ -n $security ]]; then
        printf 'deb %s %s-security main\n' "$security" "$codename"
    fi
}

template_metadata()
{
    printf 'architecture: %s\ncreation_date: %s\n' "$(uname -m)" "$(date +%s)"
    printf 'properties:\n  os: Debian\n  release: %s\n  description: sandlot default template\n' \
        "$(debian_codename)"
}

# template_rootfs FILE: the image without the agent.
template_rootfs()
{
    local file=$1 work include

    work=$(mktemp -d "$TEMPLATE_CACHE/work.XXXXXX")
    include=$(packages_read template | awk '{ print $1 }' | paste -sd ,)
    template_sources >"$work/sources.list"
    mmdebstrap --mode=root --variant=apt --format=directory --include="$include" \
        --aptopt='APT::Install-Recommends "false"' --aptopt='Acquire::Languages "none"' \
        --aptopt='Acquire::GzipIndexes "true"' --skip=cleanup/apt/lists \
        --dpkgopt=force-unsafe-io --dpkgopt='path-exclude=/usr/share/man/*' \
        --dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-exclude=/usr/share/doc/*' \
        --customize-hook="'$SCRIPTS_DIR/template/customize' \"\$1\" '$SCRIPTS_DIR/template/files'" \
        "$(debian_codename)" "$work/rootfs" "$work/sources.list" ||
        die "mmdebstrap failed to create the template's tree"
    rm -f "$work/rootfs"/etc/dpkg/dpkg.cfg.d/99mmdebstrap "$work/rootfs"/etc/apt/apt.conf.d/99mmdebstrap
    template_metadata >"$work/metadata.yaml"
    tar --create --file "$file.new" --directory "$work" --numeric-owner --sort=name --exclude='rootfs/dev/*' \
        metadata.yaml rootfs
    rm -rf "$work"
    mv "$file.new" "$file"
}

# template_rootfs_cached_locked FILE [COPY]
template_rootfs_cached_locked()
{
    local file=$1

    mkdir -p "$TEMPLATE_CACHE"
    if [[ ! -s $file ]]; then
        # Trees of runs that were ended in the middle, and of inputs that no stack has asked for lately:
        # another stack of this machine may stand on others.
        rm -rf "$TEMPLATE_CACHE"/work.*
        find "$TEMPLATE_CACHE" -maxdepth 1 -name 'rootfs-*' -mmin +1440 -delete
        template_rootfs "$file"
    fi
    touch "$file"
    [[ -z ${2:-} ]] || cp --reflink=auto "$file" "$2"
}

# template_rootfs_file: the tree of the present inputs, as template_rootfs_cached_locked keeps it.
template_rootfs_file()
{
    printf '%s/rootfs-%s.tar' "$TEMPLATE_CACHE" "$(template_inputs_hash)"
}

# template_prepare: makes the tree, if it is not there yet. It needs only the packages of runtime.txt.
template_prepare()
{
    with_lock template template_rootfs_cached_locked "$(template_rootfs_file)"
}

# template_build AGENT OUTPUT: the image file; AGENT may be missing (then it has none).
template_build()
{
    local agent=$1 output=$2 stage

    with_lock template template_rootfs_cached_locked "$(template_rootfs_file)" "$output.new"
    stage=$(mktemp -d)
    if [[ -x $agent ]]; then
        mkdir -p "$stage/rootfs/usr/lib/sandlot"
        install -m 755 "$agent" "$stage/rootfs/usr/lib/sandlot/sandlot-agent"
        # A fixed time, so that the same agent makes the same image.
        tar --append --file "$output.new" --directory "$stage" --numeric-owner --owner=0 \
            --group=0 --mtime='2020-01-01 00:00:00Z' rootfs/usr/lib/sandlot/sandlot-agent
    else
        note "there is no agent at $agent, so the image has none"
    fi
    rm -rf "$stage"
    mv "$output.new" "$output"
}

# template_key AGENT: names the image that template_build would make.
template_key()
{
    local agent_hash=none

    [[ ! -x $1 ]] || agent_hash=$(sha256sum "$1" | cut -c 1-16)
    printf '%s-%s' "$(template_inputs_hash)" "$agent_hash"
}

# template_import: the stack's Incus has the image of the present inputs under its alias;
# STATE_ROOT/template.key names them.
template_import()
{
    local agent=$PREFIX/libexec/sandlot/sandlot-agent key image

    key=$(template_key "$agent")
    if [[ -e $STATE_ROOT/template.key && $(<"$STATE_ROOT/template.key") == "$key" ]] &&
        incus_cli image alias list --format csv | grep -q "^$IMAGE_ALIAS,"; then
        echo "image $key is there"
        return 0
    fi
    image=$STATE_ROOT/template.tar
    template_build "$agent" "$image"
    incus_cli image alias delete "$IMAGE_ALIAS" 2>/dev/null || true
    incus_cli image import "$image" --alias "$IMAGE_ALIAS" --reuse ||
        die "Incus refused the template's image"
    rm -f "$image"
    printf '%s\n' "$key" >"$STATE_ROOT/template.key"
}
