<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class PauseSandbox implements \JsonSerializable
{
    /** @param bool|null $memory false: its programs end and the disk alone is kept. Default: true. */
    public function __construct(
        public readonly ?bool $memory = null,
    ) {
    }

    public function jsonSerialize(): object
    {
        return Members::of([
            'memory' => $this->memory,
        ]);
    }
}
