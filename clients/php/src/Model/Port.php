<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class Port
{
    /**
     * @param Protocol $protocol `https`: the server in the sandbox speaks TLS, with any certificate; it must listen
     *   on more than the loopback interface.
     * @param string $host Public host, with the port when it is not 443.
     * @param GatewayStatus $gatewayStatus `ready`: a server listens. `no_listener`: no server listens yet.
     *   `loopback_only`: a server with protocol https listens on the loopback interface only, and cannot be reached
     *   there. `blocked`: public traffic is not allowed.
     */
    public function __construct(
        public readonly int $port,
        public readonly Protocol $protocol,
        public readonly bool $public,
        public readonly string $host,
        public readonly string $url,
        public readonly GatewayStatus $gatewayStatus,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            port: $fields->int('port'),
            protocol: $fields->enum('protocol', Protocol::class),
            public: $fields->bool('public'),
            host: $fields->string('host'),
            url: $fields->string('url'),
            gatewayStatus: $fields->enum('gateway_status', GatewayStatus::class),
        );
    }
}
