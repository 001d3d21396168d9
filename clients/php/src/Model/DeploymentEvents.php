<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

/** Events without a number. No reader gets them yet. */
final class DeploymentEvents
{
    /** @param int $lagS Age of the oldest event without a number. */
    public function __construct(
        public readonly int $waiting,
        public readonly int $lagS,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            waiting: $fields->int('waiting'),
            lagS: $fields->int('lag_s'),
        );
    }
}
