# SPDX-License-Identifier: GPL-2.0-or-later
# Certificates for names below .localhost, from an authority of the stack's own.
# shellcheck shell=bash

tls_names()
{
    printf 'DNS:%s,DNS:*.%s' "$DOMAIN" "$DOMAIN"
}

# tls_valid FILE: not over within 30 days, and for our names.
tls_valid()
{
    openssl x509 -in "$1" -noout -checkend 2592000 >/dev/null 2>&1 &&
        openssl x509 -in "$1" -noout -checkhost "x.$DOMAIN" | grep -q 'does match'
}

tls_ensure()
{
    if tls_valid "$TLS_DIR/server.pem" && [[ -s $TLS_DIR/ca.pem && -s $TLS_DIR/server.key ]]; then
        echo "certificates are there"
        return 0
    fi
    (
        umask 077
        cd "$TLS_DIR" || exit
        openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 3650 \
            -subj "/CN=sandlot $STACK authority" -keyout ca.key -out ca.pem \
            -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign,cRLSign
        openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes \
            -subj "/CN=$DOMAIN" -keyout server.key -out server.csr
        printf 'subjectAltName=%s\nextendedKeyUsage=serverAuth\nbasicConstraints=CA:FALSE\nkeyUsage=digitalSignature\nsubjectKeyIdentifier=hash\nauthorityKeyIdentifier=keyid\n' \
            "$(tls_names)" >server.ext
        openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -set_serial "0x$(openssl rand -hex 8)" \
            -days 800 -extfile server.ext -out server.pem
        cat ca.pem >>server.pem
        rm -f server.csr server.ext
    )
    chmod 644 "$TLS_DIR/ca.pem" "$TLS_DIR/server.pem"
}
