<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class ExposedPort
{
    /**
     * @param Protocol $protocol `https`: the server in the sandbox speaks TLS, with any certificate; it must listen
     *   on more than the loopback interface.
     * @param bool $public Whether the preview needs no access token.
     */
    public function __construct(
        public readonly int $port,
        public readonly Protocol $protocol,
        public readonly bool $public,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            port: $fields->int('port'),
            protocol: $fields->enum('protocol', Protocol::class),
            public: $fields->bool('public'),
        );
    }
}
