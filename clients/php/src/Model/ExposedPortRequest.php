<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class ExposedPortRequest implements \JsonSerializable
{
    /**
     * @param Protocol|null $protocol `https`: the server in the sandbox speaks TLS, with any certificate; it must
     *   listen on more than the loopback interface.
     * @param bool|null $public Default true.
     */
    public function __construct(
        public readonly int $port,
        public readonly ?Protocol $protocol = null,
        public readonly ?bool $public = null,
    ) {
    }

    public function jsonSerialize(): object
    {
        return Members::of([
            'port' => $this->port,
            'protocol' => $this->protocol,
            'public' => $this->public,
        ]);
    }
}
