# SPDX-License-Identifier: GPL-2.0-or-later
# The default template's tree as a package brings it (sandlot-template-python), so that an installation does
# not make it: that takes minutes, and on a slow machine most of an hour.
# shellcheck shell=bash disable=SC2317

# Of an installation; a source tree has none.
TEMPLATE_PACKAGE=$SOURCE_DIR/template-tree
TEMPLATE_SOURCES=rootfs/etc/apt/sources.list.d/0000sources.list

# template_package_key RELEASE: changes with everything that the tree is made from, except the mirror.
template_package_key()
{
    {
        printf '%s\n' "$1"
        dpkg --print-architecture
        cat "$SCRIPTS_DIR/packages/template.txt" "$SCRIPTS_DIR/template/customize" "$SCRIPTS_DIR/lib/template.sh"
        find "$SCRIPTS_DIR/template/files" -type f -printf '%P\n' -exec cat {} + | sort
    } | sha256sum | cut -c 1-16
}

# template_package_make RELEASE: prints the path of the tree, which is kept as long as its key is the same.
template_package_make()
{
    local release=$1 file archive updates

    file=$TEMPLATE_CACHE/package-$1-$(template_package_key "$1").tar
    if [[ ! -s $file ]]; then
        mkdir -p "$TEMPLATE_CACHE"
        rm -f "$TEMPLATE_CACHE/package-$1"-*
        archive=$(packages_base_mirror)
        updates=$(packages_mirror "$(debian_codename)-security")
        (
            # The tree is of the named release, also on a machine of another release. Callers of these functions have variables
            # "mirror" and "security" of their own.
            debian_codename() { printf '%s' "$release"; }
            packages_base_mirror() { printf '%s' "$archive"; }
            packages_mirror() { printf '%s' "$updates"; }
            template_rootfs "$file"
        ) >&2
    fi
    printf '%s' "$file"
}

# template_list_prefix URI: the beginning of the names of its lists in /var/lib/apt/lists.
template_list_prefix()
{
    local place=${1#*://}

    place=${place%/}
    place=${place//_/%5f}
    place=${place//\~/%7e}
    printf '%s_dists_' "${place//\//_}"
}

# template_lists_rename FILE STAGE: apt finds lists by the address of their mirror. Those of the package's mirror get
# the names of this machine's mirror, whose lists are the same.
template_lists_rename()
{
    local file=$1 lists=$2/rootfs/var/lib/apt/lists members='rootfs/var/lib/apt/lists/*_dists_*' here there list from to

    tar --extract --file "$file" --directory "$2" --wildcards "$members"
    tar --delete --file "$file" --wildcards "$members"
    while read -r there here; do
        from=$(template_list_prefix "$there")
        to=$(template_list_prefix "$here")
        # Two addresses may have one prefix, which has no scheme: http and https.
        for list in "$lists/$from"*; do
            [[ ! -e $list || -z $here || $to == "$from" ]] || mv "$list" "$lists/$to${list#"$lists/$from"}"
        done
    done < <(paste -d ' ' <(tar --extract --to-stdout --file "$file" "$TEMPLATE_SOURCES" | awk '{ print $2 }') \
        <(template_sources | awk '{ print $2 }') | sort -u)
}

# template_package_use: the package's tree is the one that template_build takes, with this machine's mirror.
template_package_use()
{
    local file stage key

    file=$TEMPLATE_CACHE/rootfs-$(template_inputs_hash).tar
    key=$(template_package_key "$(debian_codename)")
    if [[ -s $file ]]; then
        echo "the tree is there"
        return 0
    fi
    if [[ ! -s $TEMPLATE_PACKAGE/rootfs.tar || $(<"$TEMPLATE_PACKAGE/key") != "$key" ]]; then
        note "no package has the template's tree for this release; building it here, which takes minutes"
        return 0
    fi
    mkdir -p "$TEMPLATE_CACHE"
    cp --reflink=auto "$TEMPLATE_PACKAGE/rootfs.tar" "$file.new"
    stage=$(mktemp -d)
    template_lists_rename "$file.new" "$stage"
    mkdir -p "$stage/${TEMPLATE_SOURCES%/*}"
    template_sources >"$stage/$TEMPLATE_SOURCES"
    tar --append --file "$file.new" --directory "$stage" --numeric-owner --owner=0 --group=0 \
        "$TEMPLATE_SOURCES" rootfs/var/lib/apt/lists
    rm -rf "$stage"
    mv "$file.new" "$file"
}
