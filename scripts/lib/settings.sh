# SPDX-License-Identifier: GPL-2.0-or-later
# One stack: its name, its place on disk, its addresses. Two stacks run side by side
# when name, port, range and prefix differ.
# shellcheck shell=bash disable=SC2034

# Things that the stacks of one machine share.
SHARED_DIR=/var/lib/sandlot/.shared
CACHE_DIR=/var/cache/sandlot

settings_defaults()
{
    STACK=${SANDLOT_STACK:-quickstart}
    PORT=${SANDLOT_PORT:-8443}
    RANGE=${SANDLOT_RANGE:-10.88.0.0/16}
    NIC_PREFIX=${SANDLOT_NIC_PREFIX:-sl}
    POOL_SIZE=${SANDLOT_POOL_SIZE:-20GiB}
    DOMAIN=${SANDLOT_DOMAIN:-sandbox.localhost}
    TEMPLATE=${SANDLOT_TEMPLATE_SLUG:-python}
    IMAGE_ALIAS=sandlot-default
    POOL=sandlot
    PROJECT=sandlot
    WORKER_USER=sandlot
    NGINX_USER=www-data
    DATABASE_USER=mysql
}

# settings_derive: everything that follows from the name.
settings_derive()
{
    [[ $STACK =~ ^[a-z][a-z0-9-]{0,30}$ ]] ||
        die "the stack's name must be 1 to 31 of [a-z0-9-] and start with a letter: $STACK"
    [[ $PORT =~ ^[1-9][0-9]{0,4}$ ]] || die "the port must be a number: $PORT"
    [[ $NIC_PREFIX =~ ^[a-z]{2}$ ]] || die "the NIC prefix must be two letters: $NIC_PREFIX"
    [[ $RANGE =~ ^[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+/[0-9]+$ ]] ||
        die "the range must be an IPv4 network such as 10.88.0.0/16: $RANGE"

    STATE_ROOT=/var/lib/sandlot/$STACK
    ETC_DIR=$STATE_ROOT/etc
    RUN_DIR=$STATE_ROOT/run
    LOG_DIR=$STATE_ROOT/log
    BUILD_DIR=$STATE_ROOT/build
    PREFIX=$STATE_ROOT/prefix
    TLS_DIR=$STATE_ROOT/tls
    NGINX_DIR=$STATE_ROOT/nginx
    MYSQL_DIR=$STATE_ROOT/mysql
    # What the database holds, as far as the set-up put it there.
    MARKS_DIR=$STATE_ROOT/marks
    INCUS_STATE=$STATE_ROOT/incus
    LXC_CONFIG_DIR=$STATE_ROOT/lxc
    INCUS_SOCKET_FILE=$INCUS_STATE/unix.socket
    DATABASE_SOCKET=$RUN_DIR/mysqld.sock
    NFT_TABLE=sandlot_${STACK//-/_}
    BASE_URL=https://api.$DOMAIN:$PORT
    DATA_PLANE_HOST=$DOMAIN:$PORT
    CONFIG_FILE=$ETC_DIR/sandlot.conf
    CTL=$PREFIX/sbin/sandlotctl
}
