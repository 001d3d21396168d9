<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class CheckNetwork implements \JsonSerializable
{
    /**
     * @param string $host A host name or an address.
     * @param mixed $policy A draft to ask about instead of the policy that is stored; nothing is changed.
     */
    public function __construct(
        public readonly string $host,
        public readonly int $port,
        public readonly mixed $policy = null,
    ) {
    }

    public function jsonSerialize(): object
    {
        return Members::of([
            'host' => $this->host,
            'port' => $this->port,
            'policy' => $this->policy,
        ]);
    }
}
