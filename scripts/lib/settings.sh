# SPDX-License-Identifier: GPL-2.0-or-later
# One stack: its name, its place on disk, its addresses. Two stacks run side by side
# when name, port, range and prefix differ.
# shellcheck shell=bash disable=SC2034

# What a stack was started with holds for its later runs, --stop and --purge above all: the
# links of another stack must not be taken for its own.
declare -A SETTINGS_OF_STACK=([PORT]=8443 [RANGE]=10.88.0.0/16 [NIC_PREFIX]=sl [POOL_SIZE]=20GiB
    [DOMAIN]=sandbox.localhost [TEMPLATE]=python [HOSTS]=1 [DATABASE_SERVER]=mariadb)

# Things that the stacks of one machine share.
SHARED_DIR=/var/lib/sandlot/.shared
CACHE_DIR=/var/cache/sandlot

# libexec_dir: where "make install" put the helpers: of these scripts' own prefix, or, from a source
# tree, of the usual one.
libexec_dir()
{
    local own=${SOURCE_DIR%/share/sandlot}

    if [[ $own == "$SOURCE_DIR" ]]; then
        own=/usr/local
    fi
    printf '%s/libexec/sandlot' "$own"
}

settings_defaults()
{
    STACK=${SANDLOT_STACK:-quickstart}
    PORT=${SANDLOT_PORT:-}
    RANGE=${SANDLOT_RANGE:-}
    NIC_PREFIX=${SANDLOT_NIC_PREFIX:-}
    POOL_SIZE=${SANDLOT_POOL_SIZE:-}
    DOMAIN=${SANDLOT_DOMAIN:-}
    TEMPLATE=${SANDLOT_TEMPLATE_SLUG:-}
    HOSTS=${SANDLOT_HOSTS:-}
    DATABASE_SERVER=${SANDLOT_DATABASE_SERVER:-}
    IMAGE_ALIAS=sandlot-default
    POOL=sandlot
    PROJECT=sandlot
    # Each program has a user of its own, WORKER_GROUP-NAME. The group reads the key ring, the database
    # password and the key for relays; members of RUNTIME_GROUP may call hosts and the firewall.
    WORKER_GROUP=sandlot
    RUNTIME_GROUP=sandlot-runtime
    # Whose members may use Incus' socket, and with it are root on this machine.
    INCUS_GROUP=sandlot-incus
    FIREWALL_USER=sandlot-firewall
    SSH_USER=sandlot-ssh
    NGINX_USER=www-data
    DATABASE_USER=mysql
}

# settings_recall: what neither option nor environment gave is as the stack has it, or usual.
settings_recall()
{
    local name value

    if [[ -r $STATE_ROOT/settings ]]; then
        while IFS='=' read -r name value; do
            if [[ -v SETTINGS_OF_STACK[$name] && -z ${!name} ]]; then
                printf -v "$name" '%s' "$value"
            fi
        done <"$STATE_ROOT/settings"
    fi
    for name in "${!SETTINGS_OF_STACK[@]}"; do
        if [[ -z ${!name} ]]; then
            printf -v "$name" '%s' "${SETTINGS_OF_STACK[$name]}"
        fi
    done
}

settings_remember()
{
    local name

    for name in "${!SETTINGS_OF_STACK[@]}"; do
        printf '%s=%s\n' "$name" "${!name}"
    done | write_file 644 root:root "$STATE_ROOT/settings"
}

# settings_derive: everything that follows from the name.
settings_derive()
{
    [[ $STACK =~ ^[a-z][a-z0-9-]{0,30}$ ]] ||
        die "the stack's name must be 1 to 31 of [a-z0-9-] and start with a letter: $STACK"
    STATE_ROOT=/var/lib/sandlot/$STACK
    settings_recall
    [[ $PORT =~ ^[1-9][0-9]{0,4}$ ]] || die "the port must be a number: $PORT"
    [[ $NIC_PREFIX =~ ^[a-z]{2}$ ]] || die "the NIC prefix must be two letters: $NIC_PREFIX"
    [[ $RANGE =~ ^[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+/[0-9]+$ ]] ||
        die "the range must be an IPv4 network such as 10.88.0.0/16: $RANGE"
    [[ $DATABASE_SERVER =~ ^(mariadb|mysql)$ ]] || die "the database is mariadb or mysql, not $DATABASE_SERVER"
    [[ $HOSTS =~ ^([123]|cluster)$ ]] || die "the hosts are 1, 2, 3 or cluster, not $HOSTS"

    ETC_DIR=$STATE_ROOT/etc
    RUN_DIR=$STATE_ROOT/run
    LOG_DIR=$STATE_ROOT/log
    BUILD_DIR=$STATE_ROOT/build
    PREFIX=$STATE_ROOT/prefix
    TLS_DIR=$STATE_ROOT/tls
    NGINX_DIR=$STATE_ROOT/nginx
    GATE_CACHE_DIR=$RUN_DIR/gate-cache
    MYSQL_DIR=$STATE_ROOT/mysql
    # What the database holds, as far as the set-up put it there.
    MARKS_DIR=$STATE_ROOT/marks
    INCUS_STATE=$STATE_ROOT/incus
    LXC_CONFIG_DIR=$STATE_ROOT/lxc
    INCUS_SOCKET_FILE=$INCUS_STATE/unix.socket
    INCUS_BIN=$STATE_ROOT/incus-bin
    DATABASE_SOCKET=$RUN_DIR/mysqld.sock
    NFT_TABLE=sandlot_${STACK//-/_}
    # Of each stack its own. Below 32768 where it can be: from there on ports are given to anybody's
    # connections, and each keeps a server from its port until a minute after its end.
    FIREWALL_PORT=$((PORT > 20000 ? PORT - 10000 : PORT + 10000))
    METRICS_PORT=$((PORT > 12000 ? PORT - 8000 : PORT + 20000))
    SSH_PORT=$((PORT > 17000 ? PORT - 15000 : PORT + 15000))
    REDIRECT_PORT=$((PORT > 27000 ? PORT - 5000 : PORT + 5000))
    SSH_HOST_KEY=$ETC_DIR/ssh_host_key
    # No valid beginning of a sandbox's link.
    FIREWALL_TUN=0tun-$NIC_PREFIX
    FIREWALL_STATE=/run/sandlot-firewall-$STACK
    BASE_URL=https://api.$DOMAIN:$PORT
    CONSOLE_URL=https://console.$DOMAIN:$PORT
    DATA_PLANE_HOST=$DOMAIN:$PORT
    CONFIG_FILE=$ETC_DIR/sandlot.conf
    CTL=$PREFIX/sbin/sandlotctl
    other_derive
}
