<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

/** Memory of the team's paused sandboxes and checkpoints. */
final class LimitsPausedMemory
{
    public function __construct(
        public readonly int $limitMb,
        public readonly int $usedMb,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            limitMb: $fields->int('limit_mb'),
            usedMb: $fields->int('used_mb'),
        );
    }
}
