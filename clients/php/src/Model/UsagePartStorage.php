<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class UsagePartStorage
{
    public function __construct(
        public readonly float $gbSeconds,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            gbSeconds: $fields->float('gb_seconds'),
        );
    }
}
