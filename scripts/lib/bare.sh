# SPDX-License-Identifier: GPL-2.0-or-later
# A machine that is no host yet, beside a stack: namespaces as of the other host (other.sh), with nothing
# in them. The steps of join.sh there.
# shellcheck shell=bash disable=SC2030,SC2031,SC2034

# bare_derive: its names and addresses in place of the other host's. Its range is the last quarter of the
# stack's.
bare_derive()
{
    other_place bare 0q 0r "198.19.$((PORT / 64 % 256))" -bare
}

bare_machine()
{
    other_network
    other_mounts
    install -d -m 755 "$OTHER_DIR" "$OTHER_DIR"/{etc,log,nginx}
}

# bare_discard: all of it, as though it had never been.
bare_discard()
(
    [[ -d $STATE_ROOT/bare ]] || return 0
    bare_derive
    other_stop
    other_discard
)

# join_places: from here on this program is on that machine.
join_places()
{
    bare_machine
    FRONT_CONFIG=$CONFIG_FILE
    FRONT_STACK=$STACK
    other_become
    JOIN_DIR=$ETC_DIR/join
    RELAY_DIR=$STATE_ROOT/relay
}

join_config()
{
    (
        CONFIG_FILE=$FRONT_CONFIG
        STACK=$FRONT_STACK
        other_config
    )
    sed -i -e "s|^relay_dir = .*|relay_dir = $RELAY_DIR|" "$CONFIG_FILE"
}

join_incus()
{
    criu_ensure
    firewall_load
    incus_start
}

join_pool()
{
    other_pool
}

join_firewall()
{
    limits_start
    firewall_start
}

join_relay()
{
    "$CTL" --config "$CONFIG_FILE" host certificate "$JOIN_NAME" --range "$RANGE" --output "$RELAY_DIR" --dir "$RELAY_DIR"
    other_relay_start
}
