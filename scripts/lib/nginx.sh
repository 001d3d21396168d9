# SPDX-License-Identifier: GPL-2.0-or-later
# nginx: a server of the stack's own, with the sites that sandlotctl renders.
# shellcheck shell=bash

# nginx_open_files: 65536, or what this machine lets a process have.
nginx_open_files()
{
    local limit

    limit=$(ulimit -Hn)
    [[ $limit != unlimited && $limit -lt 65536 ]] || limit=65536
    printf '%s' "$limit"
}

# The gate's decisions hold tokens and agents' secrets: never on a disk. Larger than nginx lets them
# become (gate_cache_mib).
nginx_cache_mount()
{
    install -d -m 700 -o "$NGINX_USER" "$GATE_CACHE_DIR"
    mountpoint -q "$GATE_CACHE_DIR" && return 0
    rm -rf "${GATE_CACHE_DIR:?}"/*
    mount -t tmpfs -o "size=256m,mode=700,uid=$(id -u "$NGINX_USER"),gid=$(id -g "$NGINX_USER"),nosuid,nodev,noexec" \
        sandlot-gate "$GATE_CACHE_DIR" ||
        note "cannot mount a tmpfs: the gate's decisions, which have tokens, are on the disk for seconds"
}

# nginx_cache_unmount: also what a killed run left, several times one above the other.
nginx_cache_unmount()
{
    while mountpoint -q "$GATE_CACHE_DIR"; do
        umount "$GATE_CACHE_DIR" 2>/dev/null || umount -l "$GATE_CACHE_DIR" || return 0
    done
}

nginx_config()
{
    mkdir -p "$NGINX_DIR/sites"
    nginx_cache_mount
    ctl nginx-config --output "$NGINX_DIR/sites"
    install -d -m 700 -o "$NGINX_USER" "$NGINX_DIR"/{body,proxy,fastcgi}
    write_file 644 root:root "$NGINX_DIR/nginx.conf" <<END
# Written by the set-up of the stack "$STACK" at each run.
load_module /usr/lib/nginx/modules/ngx_http_js_module.so;
user $NGINX_USER;
pcre_jit on;
worker_processes auto;
worker_rlimit_nofile $(nginx_open_files);
pid $RUN_DIR/nginx-master.pid;
error_log $LOG_DIR/nginx-error.log warn;

events {
    worker_connections 16384;
}

http {
    include /etc/nginx/mime.types;
    default_type application/octet-stream;
    access_log $LOG_DIR/nginx-access.log;
    client_body_temp_path $NGINX_DIR/body;
    proxy_temp_path $NGINX_DIR/proxy;
    fastcgi_temp_path $NGINX_DIR/fastcgi;
    server_tokens off;
    sendfile on;
    tcp_nopush on;

    include $NGINX_DIR/sites/*.conf;
}
END
    nft -f "$NGINX_DIR/sites/sandlot-front.nft" ||
        die "the kernel refused the nftables rules $NGINX_DIR/sites/sandlot-front.nft"
    nginx -q -t -c "$NGINX_DIR/nginx.conf" || die "nginx refuses the configuration $NGINX_DIR/nginx.conf"
}

# nginx_listens: the one that was started, not just something on its port.
nginx_listens()
{
    [[ $(<"$RUN_DIR/nginx-master.pid") == "$(service_pid nginx)" ]] &&
        curl -s -o /dev/null --max-time 2 --cacert "$TLS_DIR/ca.pem" "$BASE_URL/"
}

# Workers of a master that was killed go on to serve, and hold the port; nothing in their
# arguments says whose they are.
nginx_end_strays()
{
    strays_end nginx "$NGINX_DIR/nginx.conf"
    holders_end nginx "$STATE_ROOT/log/nginx-error.log"
}

nginx_start()
{
    local pid

    nginx_config
    if pid=$(service_pid nginx); then
        kill -HUP "$pid"
    else
        nginx_end_strays
        # One that was killed leaves its socket, which the next could not make.
        rm -f "$RUN_DIR/firewall/http.sock"
        service_start nginx root -- /usr/bin/setpriv --no-new-privs nginx -c "$NGINX_DIR/nginx.conf" -g 'daemon off;'
    fi
    service_wait nginx 15 nginx_listens ||
        die "nginx does not answer on port $PORT; check that no other program uses it, and read $LOG_DIR/nginx.log"
}

nginx_stop()
{
    service_stop nginx 5
    nginx_end_strays
    nginx_cache_unmount
}
