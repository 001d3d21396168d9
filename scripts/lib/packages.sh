# SPDX-License-Identifier: GPL-2.0-or-later
# Debian packages: from the machine's own mirror, in one transaction, without a word
# in the machine's apt configuration.
#
# Lists, cache and sources file are ours, so a broken third-party source of the machine
# does no harm, and backports or a newer release can be read without being added to it.
# shellcheck shell=bash

APT_STATE=$SHARED_DIR/apt
POLICY_FILE=/usr/sbin/policy-rc.d
POLICY_MARK='made by the sandlot set-up'

# packages_read LIST…: prints "NAME [VERSION [?]]" for each line of scripts/packages/LIST.txt.
packages_read()
{
    local list

    for list in "$@"; do
        sed -e 's/#.*//' -e 's/>=//' "$SCRIPTS_DIR/packages/$list.txt" | awk 'NF { print $1, $2, $3 }'
    done | sort -u
}

# packages_missing LIST…: the lines of packages_read that are not installed, or too old.
packages_missing()
{
    local name minimum wanted have

    packages_read "$@" | while read -r name minimum wanted; do
        have=$(dpkg-query -W -f '${db:Status-Status} ${Version}' "$name" 2>/dev/null) || have=
        if [[ $have != installed\ * ]]; then
            printf '%s %s %s\n' "$name" "$minimum" "$wanted"
        elif [[ -n $minimum && -z $wanted ]] && ! dpkg --compare-versions "${have#* }" ge "$minimum"; then
            printf '%s %s\n' "$name" "$minimum"
        fi
    done
}

# packages_mirror SUITE: prints the machine's own mirror of Debian's SUITE, which is no disc of the installer. Other
# repositories may have a suite of this name, but not its updates. Without release information apt answers from its
# sources alone: it may never have been updated.
packages_mirror()
{
    local uri list

    # shellcheck disable=SC2016
    uri=$(apt-get indextargets --no-release-info \
        --format '$(CREATED_BY)|$(COMPONENT)|$(RELEASE)|$(REPO_URI)' |
        awk -F '|' -v suite="$1" '$1 != "Packages" || $2 != "main" || $4 ~ /^cdrom:/ { next }
            $3 == suite { found[count++] = $4 }
            $3 == suite "-updates" { updated[$4] = 1 }
            END {
                best = 0
                while (best < count && !(found[best] in updated))
                    best++
                if (count)
                    print found[best < count ? best : 0]
            }')
    # The sources of Debian's cloud images name a file with the mirror, which a sandbox does not have.
    if [[ $uri == mirror+file:* ]]; then
        list=${uri#mirror+file:}
        uri=$(awk '/^https?:/ { print $1; exit }' "${list%/}")
    fi
    printf '%s' "$uri"
}

debian_codename()
{
    # shellcheck disable=SC1091
    (. /etc/os-release && printf '%s' "${VERSION_CODENAME:-}")
}

# packages_base_mirror: the mirror of the release itself, under whichever name it is listed.
packages_base_mirror()
{
    local suite mirror

    for suite in "$(debian_codename)" stable oldstable testing; do
        mirror=$(packages_mirror "$suite")
        if [[ -n $mirror ]]; then
            printf '%s' "$mirror"
            return 0
        fi
    done
    die "no Debian mirror found in the machine's apt sources (apt-get indextargets)"
}

# packages_source URI SUITE…: one stanza of a sources file.
packages_source()
{
    local uri=$1 keyring=/usr/share/keyrings/debian-archive-keyring.gpg

    shift
    printf 'Types: deb\nURIs: %s\nSuites: %s\nComponents: main\n' "$uri" "$*"
    if [[ -r $keyring ]]; then
        printf 'Signed-By: %s\n' "$keyring"
    fi
    printf '\n'
}

# mmdebstrap ARGUMENTS…: the program reads no settings of the machine's apt, whose proxy may be the only way to the mirror.
# apt uses the proxy for http also for https, unless another one is set.
mmdebstrap()
(
    http='' https=''
    eval "$(apt-config shell http Acquire::http::Proxy https Acquire::https::Proxy)"
    https=${https:-$http}
    [[ -z $http || $http == DIRECT ]] || export http_proxy=$http
    [[ -z $https || $https == DIRECT ]] || export https_proxy=$https
    command mmdebstrap "$@"
)

# packages_options DIRECTORY: apt options for a state of its own below DIRECTORY. What fetches and
# reads signatures does so as apt's own user, who must reach DIRECTORY and owns where it writes.
packages_options()
{
    APT_OPTIONS=(
        -o "Dir::Etc::sourcelist=$1/debian.sources"
        -o Dir::Etc::sourceparts=-
        -o "Dir::State::lists=$1/lists"
        -o "Dir::Cache=$1/cache"
        -o Acquire::Languages=none
        -o Acquire::Retries=3
        -o DPkg::Lock::Timeout=300
        -o Dpkg::Use-Pty=0
    )
    mkdir -p "$1/lists/partial" "$1/cache/archives/partial"
    chmod 755 "$1"
    if id _apt >/dev/null 2>&1; then
        chown _apt:root "$1/lists/partial" "$1/cache/archives/partial"
        chmod 700 "$1/lists/partial" "$1/cache/archives/partial"
    fi
}

# pinned_check LIST NAME VERSION ARCHITECTURE FILE: compares what apt has fetched, and checked by the
# archive's signature, with scripts/packages/LIST.pinned. A pinned version with other contents is
# refused. Another version is what the mirror has by now: it passes with status 1, for a note, or is
# refused when SANDLOT_PINNED_ONLY=yes.
pinned_check()
{
    local list=$1 name=$2 version=$3 architecture=$4 file=$5 wanted have

    wanted=$(awk -v name="$name" -v version="$version" -v architecture="$architecture" \
        '$1 == name && $2 == version && $3 == architecture { print $4 }' "$SCRIPTS_DIR/packages/$list.pinned")
    have=$(sha256sum <"$file")
    have=${have%% *}
    if [[ $wanted == "$have" ]]; then
        return 0
    fi
    if [[ -n $wanted ]]; then
        die "$name $version is not what scripts/packages/$list.pinned says: its sum is $have, not $wanted"
    fi
    printf 'not pinned: %s %s %s %s\n' "$name" "$version" "$architecture" "$have"
    if [[ ${SANDLOT_PINNED_ONLY:-} == yes ]]; then
        die "the mirror has $name $version, which scripts/packages/$list.pinned does not name, and" \
            "SANDLOT_PINNED_ONLY is set: add the lines \"not pinned\" of this log to that file, once checked"
    fi
    return 1
}

# packages_update: our own lists of the release, its updates and its backports.
packages_update()
{
    local codename mirror security

    codename=$(debian_codename)
    mirror=$(packages_base_mirror)
    security=$(packages_mirror "$codename-security")
    {
        packages_source "$mirror" "$codename" "$codename-updates"
        if [[ -n $security ]]; then
            packages_source "$security" "$codename-security"
        fi
    } >"$APT_STATE/debian.sources"
    cp "$APT_STATE/debian.sources" "$APT_STATE/release.sources"
    packages_source "$mirror" "$codename-backports" >>"$APT_STATE/debian.sources"
    if ! apt-get "${APT_OPTIONS[@]}" -o APT::Update::Error-Mode=any update; then
        echo "without backports:"
        mv "$APT_STATE/release.sources" "$APT_STATE/debian.sources"
        apt-get "${APT_OPTIONS[@]}" update || die "the machine's package mirror does not answer"
    fi
}

# packages_backport NAME MINIMUM: whether the backports have a version that will do.
packages_backport()
{
    local version

    version=$(apt-cache "${APT_OPTIONS[@]}" madison "$1" |
        awk -F ' *[|] *' -v suite="$(debian_codename)-backports/" 'index($3, suite) { print $2; exit }')
    [[ -n $version ]] && dpkg --compare-versions "$version" ge "$2"
}

# packages_candidates NAME…: prints "NAME VERSION" for each package that the mirror has. One call for all: each start of
# apt-cache reads its whole state.
packages_candidates()
{
    apt-cache "${APT_OPTIONS[@]}" policy "$@" |
        awk '/^[^ ]/ { name = $1; sub(/:$/, "", name) }
            $1 == "Candidate:" && $2 != "(none)" { print name, $2 }'
}

# packages_target NAME MINIMUM CANDIDATE [?]: NAME, or NAME/RELEASE-backports when the release is too old.
packages_target()
{
    local candidate=$3

    [[ -n $candidate ]] || die "the machine's package mirror has no package $1"
    if [[ -z $2 ]] || dpkg --compare-versions "$candidate" ge "$2"; then
        printf '%s\n' "$1"
    elif [[ -n ${4:-} ]] && ! packages_backport "$1" "$2"; then
        note "this machine's mirror has $1 $candidate; sandlot works better with $2 or newer" >&2
        printf '%s\n' "$1"
    else
        printf '%s/%s-backports\n' "$1" "$(debian_codename)"
    fi
}

# Packaged services must not start by themselves: the stacks run their own.
packages_forbid_services()
{
    if [[ -e $POLICY_FILE ]] && ! grep -q "$POLICY_MARK" "$POLICY_FILE"; then
        mv -f "$POLICY_FILE" "$POLICY_FILE.sandlot"
    fi
    printf '#!/bin/sh\n# %s\nexit 101\n' "$POLICY_MARK" >"$POLICY_FILE"
    chmod 755 "$POLICY_FILE"
}

packages_allow_services()
{
    if [[ -e $POLICY_FILE ]] && grep -q "$POLICY_MARK" "$POLICY_FILE"; then
        rm -f "$POLICY_FILE"
    fi
    if [[ -e $POLICY_FILE.sandlot ]]; then
        mv -f "$POLICY_FILE.sandlot" "$POLICY_FILE"
    fi
}

# packages_policy_end: removes the policy file of a run that was killed: no service of the machine's later packages would
# start. A run that is not killed holds the lock until it has removed its own.
packages_policy_end()
{
    if grep -qs "$POLICY_MARK" "$POLICY_FILE" || [[ -e $POLICY_FILE.sandlot ]]; then
        with_lock packages packages_allow_services
    fi
}

# With systemd, a package enables its service for the next boot; ours are not those.
packages_disable_new_services()
{
    local name

    has_systemd || return 0
    for name in "$@"; do
        case $name in
        nginx) systemctl disable --quiet nginx.service || true ;;
        lxcfs) systemctl disable --quiet lxcfs.service || true ;;
        incus-base) systemctl disable --quiet incus.socket incus.service incus-startup.service || true ;;
        esac
    done
}

packages_install_locked()
{
    local name minimum wanted version missing targets=() names=()
    local -A candidates=()

    missing=$(packages_missing "$@") # less than before the lock, where another run had it
    [[ -n $missing ]] || return 0
    packages_options "$APT_STATE"
    # A run that was killed in the middle leaves packages half configured, or our policy file.
    packages_allow_services
    packages_forbid_services
    at_exit packages_allow_services
    dpkg --configure -a --force-confold
    packages_update
    while read -r name minimum wanted; do
        names+=("$name")
    done <<<"$missing"
    while read -r name version; do
        candidates[$name]=$version
    done < <(packages_candidates "${names[@]}")
    while read -r name minimum wanted; do
        targets+=("$(packages_target "$name" "$minimum" "${candidates[$name]:-}" "$wanted")")
    done <<<"$missing"
    apt-get "${APT_OPTIONS[@]}" -y --no-install-recommends \
        -o Dpkg::Options::=--force-unsafe-io -o Dpkg::Options::=--force-confold \
        install "${targets[@]}" || die "apt-get could not install the packages"
    rm -rf "$APT_STATE/cache/archives"
    packages_disable_new_services "${names[@]}"
    packages_allow_services
}

# packages_install LIST…: all packages of the lists are installed; quick when they are.
packages_install()
{
    local missing

    missing=$(packages_missing "$@")
    if [[ -z $missing ]]; then
        packages_policy_end
        echo "all there"
        return 0
    fi
    printf 'missing:\n%s\n' "$missing"
    with_lock packages packages_install_locked "$@"
}

# packages_for_console: Node.js and npm, from wherever the machine has them; nothing for a release,
# which has the console built.
packages_for_console()
{
    if [[ -f $SOURCE_DIR/console/prebuilt/index.html ]]; then
        echo "the console is built already"
    elif command -v npm >/dev/null && command -v node >/dev/null &&
        node -e 'process.exit(parseInt(process.versions.node) >= 18 ? 0 : 1)'; then
        echo "node $(node --version)"
    else
        packages_install console
    fi
}
