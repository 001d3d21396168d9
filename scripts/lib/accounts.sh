# SPDX-License-Identifier: GPL-2.0-or-later
# Rows that a stack needs before the first request: schema, host, template, and a team to
# demonstrate with. What was made is marked, and the marks
# go with the database.
# shellcheck shell=bash

accounts_host()
{
    local memory_mb network=()

    if [[ $HOSTS != 1 ]]; then
        network=(--network "$RANGE")
    fi
    memory_mb=$(awk '/^MemTotal:/ { print int($2 / 1024 * 0.8) }' /proc/meminfo)
    # Processors are shared out in time; memory is not, unless the caller says so.
    ctl host add local --url "unix://$INCUS_SOCKET_FILE" --project "$PROJECT" \
        --pool "$POOL" --range "$FIRST_RANGE" "${network[@]}" --nic-prefix "$NIC_PREFIX" \
        --vcpus "$(($(nproc) * ${HOST_VCPUS_EACH:-16}))" --memory-mb "$memory_mb" \
        --memory-overcommit "${HOST_MEMORY_OVERCOMMIT:-100}" --disk-overcommit "${HOST_DISK_OVERCOMMIT:-1000}" \
        --firewall "http+unix://$RUN_DIR/firewall/http.sock"
}

# accounts_registries: fill the profile that allow_package_registry_access opens: the hosts that the
# operator lists, and those that the package managers of this machine use.
accounts_registries()
{
    local list=$ETC_DIR/package-registries

    if [[ ! -e $list ]]; then
        write_file 644 root:root "$list" <"$SOURCE_DIR/conf/package-registries"
    fi
    "$SCRIPTS_DIR/package-registries" "$list" | ctl profile set package-registries --file -
}

# accounts_has_template: the mark may be older than the database, or of another default template.
accounts_has_template()
{
    ctl --json template list --team deployment |
        jq -e --arg slug "$TEMPLATE" 'any(.template_versions[]; .slug == $slug and .state == "ready")' >/dev/null
}

# accounts_images_drop: each upgrade gives the name of the default template's image to another image. Versions of the
# template have their own copies of the files.
accounts_images_drop()
{
    local image

    incus_cli image list --format json |
        jq -r '.[] | select(.properties.description == "sandlot default template" and (.aliases | length) == 0) | .fingerprint' |
        while read -r image; do
            incus_cli image delete "$image" </dev/null || note "cannot delete the image $image of an earlier version"
        done
}

# accounts_template: a new version when the image is a new one. The operator may have made another template the default,
# which the option --default refuses.
accounts_template()
{
    local key

    key=$(<"$STATE_ROOT/template.key")
    if [[ -e $MARKS_DIR/template && $(<"$MARKS_DIR/template") == "$key" ]] && accounts_has_template; then
        echo "version for image $key is there"
        return 0
    fi
    ctl template add "$TEMPLATE" --image "$IMAGE_ALIAS" --cpu 1 --memory-mb 512
    printf '%s\n' "$key" >"$MARKS_DIR/template"
    accounts_images_drop
}

# accounts_ready_template NAME: a new version when its files or the default template are new ones.
accounts_ready_template()
{
    local mark=$MARKS_DIR/template-$1 key

    key=$(cat "$STATE_ROOT/template.key" <(cd "$SCRIPTS_DIR/templates/$1" && find . -type f | sort | xargs sha256sum) |
        sha256sum | cut -c 1-16)
    if [[ -e $mark && $(<"$mark") == "$key" ]]; then
        echo "its version is there"
        return 0
    fi
    env -u SANDLOT_KEY SANDLOT_URL="$BASE_URL" SANDLOT_CA="$TLS_DIR/ca.pem" SANDLOT_CONFIG="$CONFIG_FILE" \
        PATH="$PREFIX/bin:$PREFIX/sbin:$PATH" "$SCRIPTS_DIR/ready-template" --base "$TEMPLATE" "$1"
    printf '%s\n' "$key" >"$mark"
}

accounts_demo()
{
    local write_key read_key

    if [[ -s $ETC_DIR/demo-keys && -e $MARKS_DIR/demo ]]; then
        echo "the demonstration team is there"
        return 0
    fi
    if [[ ! -e $MARKS_DIR/demo-team ]]; then
        ctl user create demo-owner
        ctl team create demo --plan pro --owner demo-owner
        # An operator: the console shows it the page of the deployment.
        ctl team add-member deployment --user demo-owner --role owner
        touch "$MARKS_DIR/demo-team"
    fi
    write_key=$(ctl key create --user demo-owner --team demo --scope write --name quickstart)
    read_key=$(ctl key create --user demo-owner --team demo --scope read --name quickstart-read)
    printf 'export SANDLOT_KEY=%q\nSANDLOT_READ_KEY=%q\n' "$write_key" "$read_key" |
        write_file 600 root:root "$ETC_DIR/demo-keys"
    touch "$MARKS_DIR/demo"
}
