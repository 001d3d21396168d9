<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class UsageStorageCheckpoints
{
    public function __construct(
        public readonly int $checkpoints,
        public readonly float $seconds,
        public readonly float $gbSeconds,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            checkpoints: $fields->int('checkpoints'),
            seconds: $fields->float('seconds'),
            gbSeconds: $fields->float('gb_seconds'),
        );
    }
}
