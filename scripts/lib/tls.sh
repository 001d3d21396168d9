# SPDX-License-Identifier: GPL-2.0-or-later
# Certificates for names below .localhost, from an authority of the stack's own.
# shellcheck shell=bash

TLS_DAYS=800

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

# tls_authority_valid: the authority outlives a new certificate, and its key is the one in its certificate.
tls_authority_valid()
{
    [[ -s $TLS_DIR/ca.pem && -s $TLS_DIR/ca.key ]] &&
        openssl x509 -in "$TLS_DIR/ca.pem" -noout -checkend $((TLS_DAYS * 86400)) >/dev/null 2>&1 &&
        cmp -s <(openssl x509 -in "$TLS_DIR/ca.pem" -noout -pubkey) <(openssl pkey -in "$TLS_DIR/ca.key" -pubout 2>/dev/null)
}

# tls_ensure: a new certificate is from the same authority, which clients trust. Until it is complete, the former key and
# certificate stay, with which nginx can start.
tls_ensure()
{
    local new=no

    if tls_valid "$TLS_DIR/server.pem" && [[ -s $TLS_DIR/ca.pem && -s $TLS_DIR/server.key ]]; then
        echo "certificates are there"
        return 0
    fi
    tls_authority_valid || new=yes
    (
        umask 077
        cd "$TLS_DIR" || exit
        if [[ $new == yes ]]; then
            openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 3650 \
                -subj "/CN=sandlot $STACK authority" -keyout ca.key -out ca.pem \
                -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign,cRLSign
        fi
        openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes \
            -subj "/CN=$DOMAIN" -keyout server.key.new -out server.csr
        printf 'subjectAltName=%s\nextendedKeyUsage=serverAuth\nbasicConstraints=CA:FALSE\nkeyUsage=digitalSignature\nsubjectKeyIdentifier=hash\nauthorityKeyIdentifier=keyid\n' \
            "$(tls_names)" >server.ext
        openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -set_serial "0x$(openssl rand -hex 8)" \
            -days "$TLS_DAYS" -extfile server.ext -out server.pem.new
        cat ca.pem >>server.pem.new
        chmod 644 ca.pem server.pem.new
        mv server.key.new server.key
        mv server.pem.new server.pem
        rm -f server.csr server.ext
    )
}
