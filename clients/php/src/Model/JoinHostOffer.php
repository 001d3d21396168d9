<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

/** The machine is set up. The offer has its addresses for the front nodes, and its size. */
final class JoinHostOffer implements \JsonSerializable
{
    /**
     * @param string $url Of its Incus.
     * @param string $serverCert PEM.
     */
    public function __construct(
        public readonly string $url,
        public readonly string $serverCert,
        public readonly string $relay,
        public readonly int $vcpus,
        public readonly int $memoryMb,
    ) {
    }

    public function jsonSerialize(): object
    {
        return Members::of([
            'url' => $this->url,
            'server_cert' => $this->serverCert,
            'relay' => $this->relay,
            'vcpus' => $this->vcpus,
            'memory_mb' => $this->memoryMb,
        ]);
    }
}
